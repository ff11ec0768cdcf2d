"""A reader of Open Protocol.

In: key and value of a Kafka record. Out: a record with its content. Rule sources: reference ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_decoder.go``, ``pkg/sink/codec/internal/message_key.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ticdc_emit.decode.compression import MAX_DECOMPRESSED_BYTES, decompressor
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import Part
from ticdc_emit.decode.events import RowOp
from ticdc_emit.decode.members import document, member, tso
from ticdc_emit.decode.open_protocol.frames import contents, records_of
from ticdc_emit.decode.open_protocol.records import OpenColumn, OpenDdl, OpenMessage, OpenRow, OpenWatermark

__all__ = ["OpenProtocolReader"]

_ROW, _DDL, _WATERMARK = 1, 2, 3
_OF_COLUMN = frozenset("thfv")
_VALUES = frozenset({str, int, float, type(None)})
_Told: TypeAlias = "list[tuple[str, Any, Any, Any]]"


class OpenProtocolReader:
    """Reads the records of a topic.

    ``compression``: the changefeed's ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a
    value. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """

    def __init__(self, compression: str = "none", *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        self._told: dict[tuple[str, str], tuple[_Told, dict[str, OpenColumn]]] = {}

    def read_all(self, key: bytes | None, value: bytes | None) -> list[OpenMessage]:
        """Return the content of a record: one statement or watermark, or its rows.

        Raises :class:`DecodeError` for a record that is not a message of Open Protocol.
        """
        return [self._message(*content) for content in contents(key, value)]

    def read(self, key: bytes | None, value: bytes | None) -> OpenMessage:
        """Return the content of a record with one row, a statement or a watermark; raises the errors of
        :meth:`read_all`.
        """
        parts = contents(key, value)
        if len(parts) > 1:
            raise DecodeError(f"the record holds {len(parts)} rows", remedy="Read it with read_all")
        return self._message(*parts[0])

    def parts(self, key: bytes | None, value: bytes | None) -> list[Part]:
        """Return one record per row of a record."""
        return records_of(key, value)

    def _message(self, key: bytes, value: bytes) -> OpenMessage:
        key_members = document(key, "key")
        commit_ts, kind = tso(key_members, "ts"), member(key_members, "t", int, part="key")
        if kind == _WATERMARK:
            if value:
                raise DecodeError("a watermark has no value", part="value")
            return OpenWatermark(commit_ts)
        schema, table = member(key_members, "scm", str, "", part="key"), member(key_members, "tbl", str, "", part="key")
        if kind == _DDL:
            value_members = document(self._unpacked(value), "value")
            return OpenDdl(schema, table, member(value_members, "q", str), member(value_members, "t", int), commit_ts)
        if kind != _ROW:
            raise DecodeError(f"{kind} is not a kind of Open Protocol messages", part="key")
        value_members = document(self._unpacked(value), "value", parse_int=_whole, parse_constant=_no_number)
        op, shown, before = _images(value_members)
        data, columns = _values(shown, "d" if op == "delete" else "u"), self._columns(schema, table, shown)
        old = None
        if before is not None:
            before = {name: each for name, each in before.items() if isinstance(each, dict) or name not in _OF_COLUMN}
            old = _values(before, "p")
        claim = member(key_members, "ccl", str, "", part="key") or None
        return OpenRow(
            schema,
            table,
            op,
            commit_ts,
            data,
            old,
            columns,
            member(key_members, "rid", int, 0, part="key"),
            member(key_members, "ptn", int, part="key") if "ptn" in key_members else None,
            claim is not None or key_members.get("ohk") is True,
            claim,
        )

    def _columns(self, schema: str, table: str, image: Mapping[str, Any]) -> dict[str, OpenColumn]:
        described = [(name, each.get("t"), each.get("f"), each.get("h")) for name, each in image.items()]
        known = self._told.get((schema, table))
        # most rows of a table have the same, so it is checked and stored once
        if known is None or known[0] != described:
            known = self._told[schema, table] = described, {name: _column(each) for name, each in image.items()}
        return known[1]


def _images(images: Mapping[str, Any]) -> tuple[RowOp, dict[str, Any], dict[str, Any] | None]:
    """Return the operation, the current or last image of the row, and the image before an update.

    ``p`` may have members of columns that lost their names (the next lineage, for values that become NULL); they are
    ignored.
    """
    if "d" in images:
        return "delete", member(images, "d", dict), None
    if "p" in images:
        return "update", member(images, "u", dict), member(images, "p", dict)
    return "insert", member(images, "u", dict), None


def _values(image: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        values = {column: each["v"] for column, each in image.items()}
    except (TypeError, KeyError) as fault:
        raise DecodeError("a column is not an object with a value", part="value", member=name) from fault
    if not _VALUES.issuperset(map(type, values.values())):
        raise DecodeError("a value is neither text, number nor null", part="value", member=name)
    return values


def _column(column: Mapping[str, Any]) -> OpenColumn:
    return OpenColumn(member(column, "t", int), member(column, "f", int), member(column, "h", bool, False))


def _whole(text: str) -> int | float:
    """Return a number without fraction; as a DOUBLE it may be negative zero."""
    return -0.0 if text == "-0" else int(text)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")
