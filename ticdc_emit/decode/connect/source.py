"""The source of a Debezium message, as far as JSON and Avro have it alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.connect.records import DebeziumSource
from ticdc_emit.decode.members import member, millis, tso

__all__ = ["source_of"]


def source_of(members: Mapping[str, Any], **others: Any) -> DebeziumSource:
    """Return the source of a message. ``others``: fields that the formats read differently.

    Raises :class:`~ticdc_emit.decode.errors.DecodeError` for a missing member and for one of another type.
    """
    return DebeziumSource(
        version=member(members, "version", str),
        connector=member(members, "connector", str),
        name=member(members, "name", str),
        ts_ms=millis(members, "ts_ms"),
        db=member(members, "db", str),
        table=member(members, "table", str),
        commit_ts=tso(members, "commit_ts"),
        cluster_id=member(members, "cluster_id", str),
        file=member(members, "file", str),
        pos=member(members, "pos", int),
        row=member(members, "row", int),
        **others,
    )
