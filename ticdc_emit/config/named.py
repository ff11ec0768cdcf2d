"""The keyword arguments that public functions pass on: their types for editors, and a check for misspelt names.

``LoadOptions`` has those of :func:`~ticdc_emit.load_changefeed`; other functions extend it. A signature spells its
keywords out, for help and completion; its body passes them on together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ticdc_emit.config.load import load_changefeed
from ticdc_emit.config.options import ChangefeedConfig
from ticdc_emit.config.profiles import Profile
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = ["LoadOptions", "config_of", "load_options", "refuse_unknown"]


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of :func:`~ticdc_emit.load_changefeed`; ``None`` stands for its default."""

    profile: str | Profile | None
    time_zone: str | None
    cluster_id: str | None
    integrity: bool | None
    force_replicate: bool | None
    schema_registry: str | None


def load_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the :class:`LoadOptions` among a call's arguments (its ``locals()``), without those that are ``None``."""
    return {name: arguments[name] for name in LoadOptions.__annotations__ if arguments.get(name) is not None}


def config_of(arguments: Mapping[str, Any], **defaults: Any) -> ChangefeedConfig:
    """Return the configuration that a call's arguments (its ``locals()``) describe.

    These are ``sink_uri``, ``pipeline``, ``registry`` and the :class:`LoadOptions`; ``defaults`` are of the latter. A
    ``sink_uri`` that is a loaded configuration is returned; :class:`~ticdc_emit.errors.ConfigError` if the call has
    options beside it.
    """
    sink_uri, changefeed, options = arguments["sink_uri"], arguments["changefeed"], load_options(arguments)
    if not isinstance(sink_uri, ChangefeedConfig):
        own_registry = arguments["registry"] is not None
        return load_changefeed(sink_uri, changefeed, own_registry=own_registry, **(defaults | options))
    if ignored := [*(["changefeed"] if changefeed is not None else ()), *options]:
        raise ConfigError(
            f"a loaded changefeed has its options already: {', '.join(ignored)} would be ignored",
            remedy="Give them to load_changefeed, or give a sink URI",
            option=ignored[0],
        )
    return sink_uri


def refuse_unknown(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raise ``TypeError``, which names the ``function``, for an option that ``known`` does not have."""
    for name in options:
        if name not in known.__annotations__:
            hint = did_you_mean(name, known.__annotations__).strip()
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}. {hint}".rstrip(" ."))
