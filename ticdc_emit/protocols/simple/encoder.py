"""The layout of Simple JSON row messages: which constants, which rendered columns, in which order.

In: changes. Out: values. Rule sources: protocol document "DML Event"; semantics 2.2, 3.3; reference ``pingcap/tiflow:
pkg/sink/codec/simple/message.go`` (newDMLMessage, encodeValue). Key order of a message::

    version database table tableID type commitTs buildTs schemaVersion [claimCheckLocation] [handleKeyOnly] [checksum]
    [data] [old]

Every value is a JSON string or null, a TIMESTAMP an object of two. ``data`` and ``old`` are Go maps, which print in
bytewise order of the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, cast

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import ControlMessage, Encoded
from ticdc_emit.changes.model import Changes, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, blank_where, gather, join, reuse_equal
from ticdc_emit.columnar.binary_text import base64_text
from ticdc_emit.columnar.escape import GO_STD, quoted
from ticdc_emit.columnar.values import json_content
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.row_images import Members
from ticdc_emit.protocols.simple.avro_encoder import SimpleAvroRows, bootstrap_avro, ddl_avro, watermark_avro
from ticdc_emit.protocols.simple.schema import (
    ENVELOPE_BYTES,
    VERSION,
    ShownIndex,
    SimpleOptions,
    constant_of,
    ddl_type,
    named_columns,
    shown_columns,
    shown_indexes,
    shown_pre_table,
)
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, MySQLType, type_name

__all__ = ["Simple", "SimpleJsonRows", "bootstrap_json", "ddl_json", "json_string", "make_codec", "watermark_json"]


_FORM = "simple-json"
_STRING = (b'"', b'"')


def _content(column: Column, values: pa.Array) -> pa.Array:
    return base64_text(values) if column.is_binary else json_content(column, values, GO_STD)


@dataclass(frozen=True)
class SimpleJsonRows:
    """The row encoder of one table version (see ``changes.codec.RowEncoder``)."""

    table: TableInfo
    options: SimpleOptions
    reads_old: ClassVar[bool] = True
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = True

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: a column's name is in data and old."""
        return json_overhead(self.table, name_uses=2, label_uses=0) + len(self._prefix) + ENVELOPE_BYTES

    @cached_property
    def _all(self) -> Members:
        return self._members(self.table.data_columns)

    @cached_property
    def _handle_key(self) -> Members:
        return self._members(self.table.handle_key)

    def _members(self, columns: tuple[Column, ...]) -> Members:
        shown = named_columns(columns)
        names = tuple(json_string(column.name) + b":" for column in shown)
        return Members(shown, names, _FORM, _content, self._around)

    def _around(self, column: Column) -> tuple[bytes, bytes]:
        return self._located if column.type is MySQLType.TIMESTAMP else _STRING

    @cached_property
    def _located(self) -> tuple[bytes, bytes]:
        return b'{"location":%s,"value":"' % json_string(self.options.location), b'"}'

    @cached_property
    def _prefix(self) -> bytes:
        names = json_string(self.table.schema), json_string(self.table.name)
        return b'{"version":%d,"database":%s,"table":%s,"tableID":' % (VERSION, *names)

    def check(self, changes: Changes) -> None:
        """Refuse values without a checksum (:class:`~ticdc_emit.errors.InvalidValueError`); every value has a text."""
        if self.options.enable_row_checksum:
            _ = changes.checksums  # kept for the messages

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change; the key of a Simple row is always empty."""
        return Encoded(join(self._fragments(changes, self._all, []), len(changes), NULL))

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with only the handle key's columns, and the location of each stored whole message."""
        marks: list[Fragment] = [b',"handleKeyOnly":true']
        if locations is not None:
            stored = pa.array([json_string(location) for location in locations], pa.binary())
            marks = [b',"claimCheckLocation":', stored, *marks]
        return Encoded(join(self._fragments(changes, self._handle_key, marks), len(changes), NULL))

    def _fragments(self, changes: Changes, members: Members, marks: list[Fragment]) -> list[Fragment]:
        """Lay out messages with ``members``, and with ``marks`` before the checksum."""
        prefix = changes.constant(lambda encoder: encoder._prefix)
        laid: list[Fragment] = [prefix, _number(changes.physical_table_ids)]
        laid += [b',"type":"', changes.op.value.upper().encode(), b'","commitTs":', changes.commit_ts_text]
        version = changes.constant(lambda encoder: b"%d" % encoder.table.update_ts)
        laid += [b',"buildTs":', changes.build_ms_text, b',"schemaVersion":', version, *marks]
        if self.options.enable_row_checksum:
            laid += _checksum(changes)
        return [*laid, *_images(changes, members), b"}"]


def _images(changes: Changes, members: Members) -> list[Fragment]:
    """Lay out ``data`` and ``old``, or nothing if they would be empty."""
    if not members.columns:
        return []
    shown = members.laid(changes.current)
    if changes.op is Op.DELETE:
        return [b',"old":', *shown]
    if changes.op is Op.INSERT:
        return [b',"data":', *shown]
    before = members.laid(changes.old, shown)
    data, old = reuse_equal(list(shown), list(before), len(changes), NULL)
    return [b',"data":', *data, b',"old":', *old]


def _number(numbers: pa.Array) -> Fragment:
    constant = constant_of(numbers)
    return numbers.cast(pa.string()) if constant is None else b"%d" % constant


def _checksum(changes: Changes) -> list[Fragment]:
    """Lay out ``,"checksum":{...}``, or nothing if a row has none."""
    sums = changes.checksums
    if not sums.present.any():
        return []
    parts: list[Fragment] = [b',"checksum":{"version":', _number(pa.array(sums.version)), b',"corrupted":']
    parts += [gather([b"false", b"true"], sums.corrupted.view(np.uint8))]
    parts += [b',"current":', _number(pa.array(sums.current)), b',"previous":', _number(pa.array(sums.previous)), b"}"]
    return parts if sums.present.all() else [blank_where(join(parts, len(changes)), ~sums.present)]


def json_string(text: str) -> bytes:
    """Return ``text`` as a JSON string with quotes, as Go's ``encoding/json`` writes it."""
    return quoted(text, GO_STD)


def watermark_json(ts: int, build_ts: int) -> bytes:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return _message("WATERMARK", ts, build_ts)


def bootstrap_json(table: TableInfo, build_ts: int, options: SimpleOptions) -> bytes:
    """Return the bootstrap message of a table, which has no commit time."""
    return _message("BOOTSTRAP", 0, build_ts, (b"tableSchema", _table_schema(table, options)))


def ddl_json(event: DdlEvent, build_ts: int, options: SimpleOptions) -> bytes:
    """Return a DDL's message. The statement is printed as given; a database's DDL has no schema."""
    schemas = []
    for name, table in ((b"tableSchema", event.table_info), (b"preTableSchema", shown_pre_table(event, options))):
        if table is not None:
            schemas.append((name, _table_schema(table, options)))
    return _message(ddl_type(event, options), event.commit_ts, build_ts, *schemas, sql=event.query)


def _message(kind: str, commit_ts: int, build_ts: int, *schemas: tuple[bytes, bytes], sql: str = "") -> bytes:
    members = [(b"version", b"%d" % VERSION), (b"type", json_string(kind))]
    if sql:
        members.append((b"sql", json_string(sql)))
    return _object(*members, (b"commitTs", b"%d" % commit_ts), (b"buildTs", b"%d" % build_ts), *schemas)


def _table_schema(table: TableInfo, options: SimpleOptions) -> bytes:
    return _object(
        (b"schema", json_string(table.schema)),
        (b"table", json_string(table.name)),
        (b"tableID", b"%d" % table.id),
        (b"version", b"%d" % table.update_ts),
        (b"columns", _array(_column(column) for column in shown_columns(table, options))),
        (b"indexes", _array(_index(index) for index in shown_indexes(table))),
    )


def _column(column: Column) -> bytes:
    return _object(
        (b"name", json_string(column.name)),
        (b"dataType", _data_type(column)),
        (b"nullable", _flag(column.nullable)),
        (b"default", _default(column)),
    )


def _data_type(column: Column) -> bytes:
    members = [
        (b"mysqlType", json_string(type_name(column.type, column.charset))),
        (b"charset", json_string(column.charset)),
        (b"collate", json_string(column.collate)),
    ]
    if column.flen:
        members.append((b"length", b"%d" % column.flen))
    if column.decimal and column.type not in FLOAT_TYPES:
        members.append((b"decimal", b"%d" % column.decimal))
    if column.elems:
        members.append((b"elements", _array(map(json_string, column.elems))))
    if column.unsigned:
        members.append((b"unsigned", b"true"))
    if column.zerofill:
        members.append((b"zerofill", b"true"))
    return _object(*members)


def _default(column: Column) -> bytes:
    """Return the default as TiDB stores it; the bytes of a BIT as a number."""
    default = column.default
    if default is None:
        return b"null"
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        return b"%d" % int.from_bytes(raw, "big")
    # TiDB itself stores U+FFFD for invalid UTF-8
    return json_string(default if isinstance(default, str) else default.decode(errors="replace"))


def _index(index: ShownIndex) -> bytes:
    return _object(
        (b"name", json_string(index.name)),
        (b"unique", _flag(index.unique)),
        (b"primary", _flag(index.primary)),
        (b"nullable", _flag(index.nullable)),
        (b"columns", _array(map(json_string, index.columns))),
    )


def _flag(value: bool) -> bytes:
    return b"true" if value else b"false"


def _array(items: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def _object(*members: tuple[bytes, bytes]) -> bytes:
    return b"{" + b",".join(b'"%s":%s' % member for member in members) + b"}"


@dataclass(frozen=True)
class Simple:
    """The codec (see ``changes.codec.Codec``)."""

    options: SimpleOptions
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ("value",)
    refuses_large_schemas: bool = True

    @property
    def _avro(self) -> bool:
        return self.options.encoding == "avro"

    def rows(self, table: TableInfo) -> SimpleAvroRows | SimpleJsonRows:
        """Return the row encoder of one table version."""
        return SimpleAvroRows(table, self.options) if self._avro else SimpleJsonRows(table, self.options)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL."""
        make = ddl_avro if self._avro else ddl_json
        return ControlMessage(None, make(event, build_ts, self.options), event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the watermark message, which Simple always has."""
        make = watermark_avro if self._avro else watermark_json
        return ControlMessage(None, make(ts, build_ts), ts)

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage:
        """Return the message with a table's schema."""
        make = bootstrap_avro if self._avro else bootstrap_json
        return ControlMessage(None, make(table, build_ts, self.options), 0)


def make_codec(changefeed: ChangefeedConfig) -> Simple:
    """Return the codec that a changefeed configures; its ``encoding-format`` is validated there."""
    codec = changefeed.codec
    return Simple(
        SimpleOptions(
            encoding=cast('Literal["json", "avro"]', codec.encoding_format),
            location=changefeed.time_zone,
            enable_row_checksum=codec.enable_row_checksum,
            switches=changefeed.profile.simple,
        )
    )
