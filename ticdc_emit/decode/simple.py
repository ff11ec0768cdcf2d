"""Reader of TiCDC's Simple messages in either encoding: the value of a Kafka record in, a record of what it says out.

A Simple message has no key: that of a row is empty, that of a DDL or watermark null. Rule sources: "TiCDC Simple
Protocol" (message format); reference ``pingcap/tiflow: pkg/sink/codec/simple/decoder.go``. Row values stay as the
encoding has them, for their types are in another message: see :mod:`ticdc_emit.decode.simple_values`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.simple_avro import AvroMembers
from ticdc_emit.decode.simple_records import (
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
_REQUIRED: Any = object()
_T = TypeVar("_T")


class SimpleReader:
    """Reads the records of a topic. ``encoding``: the changefeed's ``encoding-format``, ``json`` or ``avro``.

    Raises :class:`~ticdc_emit.errors.ConfigError` for another one, for ``avro``
    :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro.
    """

    def __init__(self, encoding: Literal["json", "avro"] = "json") -> None:
        if encoding not in ("json", "avro"):
            raise ConfigError(f"Simple has no encoding {encoding!r}", remedy="Use json or avro", option="encoding")
        self._members: Callable[[bytes], Mapping[str, Any]] = AvroMembers() if encoding == "avro" else _json_members

    def read(self, key: bytes | None, value: bytes | None) -> SimpleMessage:
        """Return what a record says. Raises :class:`DecodeError` for one that is no Simple message of the encoding."""
        if key:
            raise DecodeError("a Simple message has no key", part="key")
        if not value:
            raise DecodeError("a Simple message has a value", part="value")
        members = self._members(value)
        version, kind = _member(members, "version", int), _member(members, "type", str)
        if version != _VERSION:
            raise DecodeError(f"version {version} of the Simple protocol is not known", part="value")
        if kind in _ROWS:
            return _row(kind, members)
        if kind in _DDL:
            return _ddl(kind, members)
        if kind == "WATERMARK":
            return SimpleWatermark(_member(members, "commitTs", int), _member(members, "buildTs", int))
        if kind == "BOOTSTRAP":
            return SimpleBootstrap(
                _member(members, "buildTs", int), _table_schema(_member(members, "tableSchema", dict))
            )
        raise DecodeError(f"a Simple message has no type {kind!r}", part="value")


def _json_members(value: bytes) -> Mapping[str, Any]:
    try:
        members = json.loads(value)
    except (ValueError, RecursionError) as fault:  # UnicodeDecodeError is a ValueError
        raise DecodeError(f"the value is no JSON: {fault}", part="value") from fault
    if not isinstance(members, dict):
        raise DecodeError("the value is no JSON object", part="value")
    for name in ("data", "old"):
        image = members.get(name)
        if isinstance(image, dict):
            members[name] = {column: _json_value(column, cell) for column, cell in image.items()}
    return members


def _json_value(column: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 2:
        return SimpleTimestamp(_member(value, "location", str), _member(value, "value", str))
    raise DecodeError("a value of Simple JSON is text, null or a TIMESTAMP", part="value", field=column)


def _member(members: Mapping[str, Any], name: str, kind: type[_T], default: _T = _REQUIRED) -> _T:
    """Return a member, which must be of a type; one without default must be there."""
    found: Any = members.get(name, default)
    if found is _REQUIRED:
        raise DecodeError("the message lacks a member", part="value", member=name)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise DecodeError(f"a member is no {kind.__name__}: {found!r:.100}", part="value", member=name)
    return found


def _optional(members: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return _member(members, name, kind) if name in members else None


def _row(op: str, members: Mapping[str, Any]) -> SimpleRow:
    images = {name: _optional(members, name, dict) for name in ("data", "old")}
    stray = [name for name, image in images.items() if image is not None and name not in _ROWS[op]]
    if stray:
        raise DecodeError(f"{op} has no {stray[0]}", part="value")
    checksum = _optional(members, "checksum", dict)
    return SimpleRow(
        database=_member(members, "database", str),
        table=_member(members, "table", str),
        table_id=_member(members, "tableID", int),
        op=op,
        commit_ts=_member(members, "commitTs", int),
        build_ts=_member(members, "buildTs", int),
        schema_version=_member(members, "schemaVersion", int),
        checksum=None if checksum is None else _checksum(checksum),
        data=images["data"],
        old=images["old"],
        handle_key_only=_member(members, "handleKeyOnly", bool, False),
        claim_check=_optional(members, "claimCheckLocation", str),
    )


def _checksum(members: Mapping[str, Any]) -> SimpleChecksum:
    return SimpleChecksum(
        _member(members, "version", int),
        _member(members, "corrupted", bool),
        _member(members, "current", int),
        _member(members, "previous", int),
    )


def _ddl(kind: str, members: Mapping[str, Any]) -> SimpleDdl:
    table, pre_table = (_optional(members, name, dict) for name in ("tableSchema", "preTableSchema"))
    return SimpleDdl(
        kind,
        _member(members, "sql", str),
        _member(members, "commitTs", int),
        _member(members, "buildTs", int),
        None if table is None else _table_schema(table),
        None if pre_table is None else _table_schema(pre_table),
    )


def _table_schema(members: Mapping[str, Any]) -> SimpleTableSchema:
    return SimpleTableSchema(
        _member(members, "schema", str),
        _member(members, "table", str),
        _member(members, "tableID", int),
        _member(members, "version", int),
        tuple(_column(column) for column in _objects(members, "columns")),
        tuple(_index(index) for index in _objects(members, "indexes")),
    )


def _objects(members: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = _member(members, name, list)
    if not all(isinstance(each, Mapping) for each in found):
        raise DecodeError("a member is no list of objects", part="value", member=name)
    return found


def _texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = _member(members, name, list)
    if not all(isinstance(each, str) for each in found):
        raise DecodeError("a member is no list of texts", part="value", member=name)
    return tuple(found)


def _column(members: Mapping[str, Any]) -> SimpleColumn:
    kind = _member(members, "dataType", dict)
    default = members.get("default")
    if isinstance(default, bool) or not isinstance(default, str | int | None):
        raise DecodeError("a default is neither text nor number", part="value", member="default")
    return SimpleColumn(
        name=_member(members, "name", str),
        mysql_type=_member(kind, "mysqlType", str),
        charset=_member(kind, "charset", str),
        collate=_member(kind, "collate", str),
        nullable=_member(members, "nullable", bool),
        default=default,
        length=_member(kind, "length", int, 0),
        decimal=_member(kind, "decimal", int, 0),
        elements=_texts(kind, "elements") if "elements" in kind else (),
        unsigned=_member(kind, "unsigned", bool, False),
        zerofill=_member(kind, "zerofill", bool, False),
    )


def _index(members: Mapping[str, Any]) -> SimpleIndex:
    return SimpleIndex(
        _member(members, "name", str),
        _member(members, "unique", bool),
        _member(members, "primary", bool),
        _member(members, "nullable", bool),
        _texts(members, "columns"),
    )
