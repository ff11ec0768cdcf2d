"""Recorded sequences of a running changefeed: the statements in TiDB, and TiCDC's output.

In: JSON documents with ``inputs`` (docs/cli.md). Out: :class:`Sequence`. The library's output is made from the inputs
only. Of the recorded events, only the messages are read, for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ticdc_emit.config import CLASSIC, PROFILES, Profile
from ticdc_emit.conformance.files import VectorError, read_document, vector_name
from ticdc_emit.conformance.vectors import Variant, read_variant
from ticdc_emit.errors import TicdcEmitError

__all__ = ["Sequence", "is_sequence", "read_sequence"]


@dataclass(frozen=True)
class Sequence:
    """One file. ``before``: SQL from before the changefeed's start. ``pipeline``: TiCDC's TOML, "" without.

    ``inputs``: sessions, DDL and transactions in order, with TiCDC's verdicts. ``config_error``: why TiCDC refuses the
    changefeed, if it does.
    """

    name: str
    profile: Profile
    time_zone: str
    now_ms: int
    changefeed: str
    config_error: str | None
    force_replicate: bool
    before: Many[str]
    inputs: Many[Mapping[str, Any]]
    variants: Many[Variant]


def is_sequence(document: object) -> bool:
    """Return whether a document is a sequence, not a vector of codecs."""
    return isinstance(document, Mapping) and ("inputs" in document or "config_error" in document)


def read_sequence(path: Path, profile: str | Profile | None = None) -> Sequence:
    """Read one file; :class:`VectorError` if it is not one. ``profile``: as for ``vectors.read_case``."""
    data = read_document(path)
    try:
        named = data.get("lineage", path.resolve().parent.name)
        lineage = PROFILES.get(named, CLASSIC) if profile is None else Profile.parse(profile)
        return Sequence(
            name=data.get("name", vector_name(path)),
            profile=lineage,
            time_zone=data.get("timezone", "UTC"),
            now_ms=data["now_ms"],
            changefeed=data.get("changefeed") or "",
            config_error=data.get("config_error"),
            force_replicate=bool(data.get("force_replicate")),
            before=tuple(data.get("before") or ()),
            inputs=tuple(data.get("inputs") or ()),
            variants=tuple(read_variant(entry) for entry in data.get("variants") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        if isinstance(fault, TicdcEmitError):
            raise
        raise VectorError(
            f"not a vector file: {type(fault).__name__}: {fault}",
            remedy="Give a file as in tests/vectors",
            path=str(path),
        ) from fault
