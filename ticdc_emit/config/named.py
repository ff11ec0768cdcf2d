"""The keyword arguments that public functions pass on: their types for editors, and a check for misspelt names.

``LoadOptions`` has those of :func:`~ticdc_emit.load_changefeed`; other functions extend it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ticdc_emit.config.profiles import Profile
from ticdc_emit.hints import did_you_mean

__all__ = ["LoadOptions", "given_options", "refuse_unknown"]


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of :func:`~ticdc_emit.load_changefeed`; ``None`` stands for its default."""

    profile: str | Profile | None
    time_zone: str | None
    cluster_id: str | None
    integrity: bool | None
    force_replicate: bool | None
    schema_registry: str | None


def given_options(**options: Any) -> dict[str, Any]:
    """Return the options that are not ``None``."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_unknown(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raise ``TypeError``, which names the ``function``, for an option that ``known`` does not have."""
    for name in options:
        if name not in known.__annotations__:
            hint = did_you_mean(name, known.__annotations__).strip()
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}. {hint}".rstrip(" ."))
