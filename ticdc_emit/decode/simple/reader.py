"""Reader of TiCDC's Simple messages in either encoding: from the value of a Kafka record to a record with its content.

A Simple message has no key: it is empty for a row, null for a DDL or watermark. Rule sources: "TiCDC Simple Protocol"
(message format); reference ``pingcap/tiflow: pkg/sink/codec/simple/decoder.go``. Row values stay as they are in the
encoding, because their types are in another message: see :mod:`ticdc_emit.decode.simple.values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from ticdc_emit.decode.compression import MAX_DECOMPRESSED_BYTES, decompressor
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.members import document, member, objects, texts, tso
from ticdc_emit.decode.simple.avro import AvroMembers
from ticdc_emit.decode.simple.records import (
    SimpleBootstrap,
    SimpleChecksum,
    SimpleColumn,
    SimpleDdl,
    SimpleIndex,
    SimpleMessage,
    SimpleRow,
    SimpleTableSchema,
    SimpleTimestamp,
    SimpleWatermark,
)
from ticdc_emit.errors import ConfigError

__all__ = ["SimpleReader"]

_VERSION = 1
_ROWS = {"INSERT": ("data",), "UPDATE": ("data", "old"), "DELETE": ("old",)}
_DDL = ("CREATE", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "ALTER", "QUERY")
_T = TypeVar("_T")


class SimpleReader:
    """Reads the records of a topic.

    ``encoding``: the changefeed's ``encoding-format``, ``json`` or ``avro``; ``compression``: its
    ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a value. Raises
    :class:`~ticdc_emit.errors.ConfigError` for another encoding or compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro for ``avro``, without cramjam for a compression.
    """

    def __init__(
        self,
        encoding: Literal["json", "avro"] = "json",
        compression: str = "none",
        *,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        if encoding not in ("json", "avro"):
            raise ConfigError(f"Simple has no encoding {encoding!r}", remedy="Use json or avro", option="encoding")
        self.encoding = encoding
        self.packed = compression != "none"
        """Whether values may be compressed."""
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        self._members: Callable[[bytes], Mapping[str, Any]] = AvroMembers() if encoding == "avro" else _json_members

    def read(self, key: bytes | None, value: bytes | None) -> SimpleMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Simple message."""
        if key:
            raise DecodeError("not a Simple message: its key should be empty", part="key")
        if not value:
            raise DecodeError("not a Simple message: it has no value", part="value")
        members = self._members(self._unpacked(value))
        version, kind = member(members, "version", int), member(members, "type", str)
        if version != _VERSION:
            raise DecodeError(
                f"version {version} of the Simple protocol is unknown",
                remedy="Use a newer release of ticdc_emit",
                part="value",
            )
        if kind in _ROWS:
            return _row(kind, members)
        if kind in _DDL:
            return _ddl(kind, members)
        if kind == "WATERMARK":
            return SimpleWatermark(tso(members, "commitTs"), member(members, "buildTs", int))
        if kind == "BOOTSTRAP":
            return SimpleBootstrap(member(members, "buildTs", int), _table_schema(member(members, "tableSchema", dict)))
        raise DecodeError(f"{kind!r} is not a type of Simple messages", part="value")


def _json_members(value: bytes) -> Mapping[str, Any]:
    members = document(value, "value")
    for name in ("data", "old"):
        image = members.get(name)
        if isinstance(image, dict):
            members[name] = {column: _json_value(column, cell) for column, cell in image.items()}
    return members


def _json_value(column: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 2:
        return SimpleTimestamp(member(value, "location", str), member(value, "value", str))
    raise DecodeError("a value of Simple JSON is text, null or a TIMESTAMP", part="value", field=column)


def _optional(members: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return member(members, name, kind) if name in members else None


def _row(op: str, members: Mapping[str, Any]) -> SimpleRow:
    images = {name: _optional(members, name, dict) for name in ("data", "old")}
    for name, image in images.items():
        if (image is not None) != (name in _ROWS[op]):
            raise DecodeError(f"{op} {'lacks' if image is None else 'has no'} {name}", part="value")
    checksum = _optional(members, "checksum", dict)
    return SimpleRow(
        database=member(members, "database", str),
        table=member(members, "table", str),
        table_id=member(members, "tableID", int),
        op=op,
        commit_ts=tso(members, "commitTs"),
        build_ts=member(members, "buildTs", int),
        schema_version=tso(members, "schemaVersion"),
        checksum=None if checksum is None else _checksum(checksum),
        data=images["data"],
        old=images["old"],
        handle_key_only=member(members, "handleKeyOnly", bool, False),
        claim_check=_optional(members, "claimCheckLocation", str),
    )


def _checksum(members: Mapping[str, Any]) -> SimpleChecksum:
    return SimpleChecksum(
        member(members, "version", int),
        member(members, "corrupted", bool),
        member(members, "current", int),
        member(members, "previous", int),
    )


def _ddl(kind: str, members: Mapping[str, Any]) -> SimpleDdl:
    table, pre_table = (_optional(members, name, dict) for name in ("tableSchema", "preTableSchema"))
    return SimpleDdl(
        kind,
        member(members, "sql", str),
        tso(members, "commitTs"),
        member(members, "buildTs", int),
        None if table is None else _table_schema(table),
        None if pre_table is None else _table_schema(pre_table),
    )


def _table_schema(members: Mapping[str, Any]) -> SimpleTableSchema:
    return SimpleTableSchema(
        member(members, "schema", str),
        member(members, "table", str),
        member(members, "tableID", int),
        tso(members, "version"),
        tuple(_column(column) for column in objects(members, "columns")),
        tuple(_index(index) for index in objects(members, "indexes")),
    )


def _column(members: Mapping[str, Any]) -> SimpleColumn:
    kind = member(members, "dataType", dict)
    default = members.get("default")
    if isinstance(default, bool) or not isinstance(default, str | int | None):
        raise DecodeError("a default is neither text nor number", part="value", member="default")
    return SimpleColumn(
        name=member(members, "name", str),
        mysql_type=member(kind, "mysqlType", str),
        charset=member(kind, "charset", str),
        collate=member(kind, "collate", str),
        nullable=member(members, "nullable", bool),
        default=default,
        length=member(kind, "length", int, 0),
        decimal=member(kind, "decimal", int, 0),
        elements=texts(kind, "elements") if "elements" in kind else (),
        unsigned=member(kind, "unsigned", bool, False),
        zerofill=member(kind, "zerofill", bool, False),
    )


def _index(members: Mapping[str, Any]) -> SimpleIndex:
    return SimpleIndex(
        member(members, "name", str),
        member(members, "unique", bool),
        member(members, "primary", bool),
        member(members, "nullable", bool),
        texts(members, "columns"),
    )
