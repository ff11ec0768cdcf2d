"""Simple, written: one message per row change, DDL, BOOTSTRAP or watermark, in JSON or in Avro. Keys are empty.

Rule sources: protocol document "DML Event"; semantics 2.2, 2.3, 3.3; Avro specification "Binary Encoding";
``pingcap/tiflow: pkg/sink/codec/simple`` (``message.go``, ``message.json``). Order of a JSON message's members::

    version database table tableID type commitTs [startTs] buildTs schemaVersion [claimCheckLocation] [handleKeyOnly]
    [checksum] [data] [old]

``data`` and ``old`` are Go maps, which print in bytewise order of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Codec, ControlMessage
from ticdc_emit.changes.integrity import checksums_of
from ticdc_emit.changes.model import Changes, Encoded, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, blank_where, gather, join, reuse_equal
from ticdc_emit.columnar.avro import (
    Union,
    float_pieces,
    long_pieces,
    number_pieces,
    sized_bytes,
    text_pieces,
    wrapped,
    zigzag_bytes,
)
from ticdc_emit.columnar.binary_text import base64_text
from ticdc_emit.columnar.escape import GO_STD, quoted
from ticdc_emit.columnar.floats import fixed_text, general_text
from ticdc_emit.columnar.packed_fields import PackedField, Piece, join_pieces, share_pieces
from ticdc_emit.columnar.values import json_content, plain_text
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.protocols.json_values import Json, json_value
from ticdc_emit.protocols.row_images import BinaryImages, Members, build_time_pieces, commit_ts_pieces
from ticdc_emit.protocols.simple.schema import (
    DDL_TYPES,
    DML_TYPES,
    VERSION,
    SimpleIndex,
    ddl_type,
    named_columns,
    shown_columns,
    shown_indexes,
    shown_pre_table,
)
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGERS_AND_YEAR, LABEL_TYPES, NUMBER_TYPES, MySQLType, type_name

ENVELOPE_BYTES = 512
"""The maximum bytes of a row message besides the table's names and the images: numbers, a checksum."""


def constant_of(numbers: pa.Array) -> int | None:
    """Return the only distinct number in an integer array without nulls; ``None`` if there are several."""
    bounds = pc.min_max(numbers)
    least: int | None = bounds["min"].as_py()
    return least if least == bounds["max"].as_py() else None


_FORM = "simple-json"


def _json_content(column: Column, values: pa.Array, *, floats: Callable[[pa.Array], pa.Array]) -> pa.Array:
    if column.type in FLOAT_TYPES:
        return floats(values)
    return base64_text(values) if column.is_binary else json_content(column, values, GO_STD)


@dataclass(frozen=True)
class _SimpleRows:
    """The row encoder of one table version. ``location``: the changefeed's time zone, which every TIMESTAMP names."""

    table: TableInfo
    options: CodecConfig
    location: str
    switches: SimpleSwitches
    reads_old: ClassVar[bool] = True
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = True

    def check(self, changes: Changes) -> None:
        """Refuse values without a checksum and starts that are no numbers. Every value has a text and a branch."""
        if self.options.enable_row_checksum:
            _ = changes.once(checksums_of)  # kept for the messages
        if self.options.simple_include_start_ts:
            _ = changes.start_tsos


class SimpleJsonRows(_SimpleRows):
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
        names = tuple(quoted(column.name, GO_STD) + b":" for column in shown)
        floats = general_text if self.switches.floats == "exponent" else fixed_text
        return Members(shown, names, _FORM, partial(_json_content, floats=floats), self._around)

    def _around(self, column: Column) -> tuple[bytes, bytes]:
        if column.type is not MySQLType.TIMESTAMP:
            return b'"', b'"'
        return b'{"location":%s,"value":"' % quoted(self.location, GO_STD), b'"}'

    @cached_property
    def _prefix(self) -> bytes:
        names = quoted(self.table.schema, GO_STD), quoted(self.table.name, GO_STD)
        return b'{"version":%d,"database":%s,"table":%s,"tableID":' % (VERSION, *names)

    def encode(self, changes: Changes) -> Encoded:
        return Encoded(join(self._fragments(changes, self._all, []), len(changes), NULL))

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        marks: list[Fragment] = [b',"handleKeyOnly":true']
        if locations is not None:
            stored = pa.array([quoted(location, GO_STD) for location in locations], pa.binary())
            marks = [b',"claimCheckLocation":', stored, *marks]
        return Encoded(join(self._fragments(changes, self._handle_key, marks), len(changes), NULL))

    def _fragments(self, changes: Changes, members: Members, marks: list[Fragment]) -> list[Fragment]:
        prefix = changes.constant(lambda encoder: encoder._prefix)
        laid: list[Fragment] = [prefix, _json_number(changes.physical_table_ids)]
        laid += [b',"type":"', changes.op.value.upper().encode(), b'","commitTs":', changes.commit_ts_text]
        version = changes.constant(lambda encoder: b"%d" % encoder.table.update_ts)
        if self.options.simple_include_start_ts:
            laid += _json_start(changes)
        laid += [b',"buildTs":', changes.build_ms_text, b',"schemaVersion":', version, *marks]
        if self.options.enable_row_checksum:
            laid += _json_checksum(changes)
        return [*laid, *_json_images(changes, members), b"}"]


def _json_images(changes: Changes, members: Members) -> list[Fragment]:
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


def _json_start(changes: Changes) -> list[Fragment]:
    """Lay out ``,"startTs":``, nothing where it is 0. No message of TiCDC was seen that shows its place."""
    starts = changes.start_tsos
    laid: list[Fragment] = [b',"startTs":', _json_number(starts)]
    unknown = np.asarray(pc.equal(starts, 0))
    return [blank_where(join(laid, len(changes)), unknown)] if unknown.any() else laid


def _json_number(numbers: pa.Array) -> Fragment:
    constant = constant_of(numbers)
    return numbers.cast(pa.string()) if constant is None else b"%d" % constant


def _json_checksum(changes: Changes) -> list[Fragment]:
    sums = changes.once(checksums_of)
    if not sums.present.any():
        return []
    parts: list[Fragment] = [b',"checksum":{"version":', _json_number(pa.array(sums.version)), b',"corrupted":']
    parts += [gather([b"false", b"true"], sums.corrupted.view(np.uint8))]
    parts += [
        b',"current":',
        _json_number(pa.array(sums.current)),
        b',"previous":',
        _json_number(pa.array(sums.previous)),
        b"}",
    ]
    return parts if sums.present.all() else [blank_where(join(parts, len(changes)), ~sums.present)]


def _json_message(kind: str, commit_ts: int, build_ts: int, schemas: Mapping[str, Json], sql: str = "") -> bytes:
    statement = {"sql": sql} if sql else {}
    members = {"version": VERSION, "type": kind, **statement, "commitTs": commit_ts, "buildTs": build_ts, **schemas}
    return json_value(members, GO_STD)


def _json_table_schema(table: TableInfo, switches: SimpleSwitches) -> Json:
    return {
        "schema": table.schema,
        "table": table.name,
        "tableID": table.id,
        "version": table.update_ts,
        "columns": [
            {
                "name": column.name,
                "dataType": _json_data_type(column),
                "nullable": column.nullable,
                "default": _json_default(column),
            }
            for column in shown_columns(table, switches)
        ],
        "indexes": [index._asdict() for index in shown_indexes(table)],
    }


def _json_data_type(column: Column) -> Json:
    data_type: dict[str, Json] = {
        "mysqlType": type_name(column.type, column.charset),
        "charset": column.charset,
        "collate": column.collate,
    }
    if column.flen:
        data_type["length"] = column.flen
    if column.decimal and column.type not in FLOAT_TYPES:
        data_type["decimal"] = column.decimal
    if column.elems:
        data_type["elements"] = column.elems
    if column.unsigned:
        data_type["unsigned"] = True
    if column.zerofill:
        data_type["zerofill"] = True
    return data_type


def _json_default(column: Column) -> Json:
    """Return the default as TiDB stores it; the bytes of a BIT as a number."""
    default = column.default
    if default is None:
        return None
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        return int.from_bytes(raw, "big")
    # TiDB itself stores U+FFFD for invalid UTF-8
    return default if isinstance(default, str) else default.decode(errors="replace")


NULL_BRANCH, VALUE_BRANCH = zigzag_bytes(0), zigzag_bytes(1)
_MESSAGE_BRANCH = 11


class Kind(IntEnum):
    """The kinds of messages; ``Message`` has a kind twice, as its type and as the branch of its payload."""

    WATERMARK = 0
    BOOTSTRAP = 1
    DDL = 2
    DML = 3


class Branch(IntEnum):
    NULL = 0
    LONG = 1
    FLOAT = 2
    DOUBLE = 3
    STRING = 4
    BYTES = 5
    TIMESTAMP = 6
    UNSIGNED_BIGINT = 7


def envelope(kind: Kind) -> bytes:
    """Return the beginning of every message of a kind."""
    return zigzag_bytes(_MESSAGE_BRANCH) + zigzag_bytes(kind) * 2


def avro_long(number: int) -> bytes:
    """Return an ``int``, ``long`` or enum; numbers from 2^63 on wrap, as Go's conversion to int64 does."""
    return zigzag_bytes(wrapped(number))


def avro_string(text: str | bytes) -> bytes:
    """Return a ``string``, which may have any bytes."""
    return sized_bytes(text.encode() if isinstance(text, str) else text)


def avro_flag(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def avro_array(items: Iterable[bytes]) -> bytes:
    """Return an ``array``: one block of all items; none if it is empty."""
    made = list(items)
    return (zigzag_bytes(len(made)) + b"".join(made) if made else b"") + zigzag_bytes(0)


_PIECES = "simple-avro pieces"
_ENTRY_BYTES = 256  # maximum bytes of a fixed-width value, a location, lengths
_END_OF_MAP = avro_long(0)


class SimpleAvroRows(_SimpleRows):
    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: names, lengths and fixed widths, in data and old."""
        entries = sum(_ENTRY_BYTES + len(column.name.encode()) for column in self.table.columns)
        return 2 * entries + len(self._prefix) + ENVELOPE_BYTES

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return named_columns(self.table.data_columns)

    @cached_property
    def _handle_key(self) -> tuple[Column, ...]:
        return named_columns(self.table.handle_key)

    @cached_property
    def _laid(self) -> BinaryImages:
        return BinaryImages(
            _PIECES, self._value, {column.name: avro_string(column.name) for column in self.table.columns}
        )

    @cached_property
    def _prefix(self) -> bytes:
        names = avro_string(self.table.schema) + avro_string(self.table.name)
        return envelope(Kind.DML) + avro_long(VERSION) + names

    def encode(self, changes: Changes) -> Encoded:
        return self._messages(changes, self._columns, [NULL_BRANCH, NULL_BRANCH])

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        stored: list[Piece] = [NULL_BRANCH]
        if locations is not None:
            stored = [VALUE_BRANCH, *text_pieces(pa.array(locations, pa.string()))]
        return self._messages(changes, self._handle_key, [*stored, VALUE_BRANCH + avro_flag(True)])

    def _messages(self, changes: Changes, columns: tuple[Column, ...], told: list[Piece]) -> Encoded:
        prefix = changes.constant(lambda encoder: encoder._prefix)
        laid: list[Piece] = [prefix, *_avro_number(changes.physical_table_ids)]
        laid += [avro_long(DML_TYPES.index(changes.op.value.upper())), *commit_ts_pieces(changes)]
        version = changes.constant(lambda encoder: avro_long(encoder.table.update_ts))
        laid += [*build_time_pieces(changes), version, *told]
        laid += _avro_checksum(changes) if self.options.enable_row_checksum else [NULL_BRANCH]
        data, old = self._images(changes, columns)
        return Encoded(join_pieces([*laid, *data, *old], len(changes)))

    def _images(self, changes: Changes, columns: tuple[Column, ...]) -> tuple[list[Piece], list[Piece]]:
        if changes.op is Op.UPDATE:
            data, old = share_pieces(*self._laid.both(changes, columns), len(changes))
            return _avro_map(data, len(columns)), _avro_map(old, len(columns))
        image = changes.current
        entries = self._laid.entries(columns, image)
        shown = _avro_map(entries, len(columns))
        return (shown, [NULL_BRANCH]) if changes.op is Op.INSERT else ([NULL_BRANCH], shown)

    def _value(self, column: Column, values: pa.Array) -> list[Piece]:
        kind = column.type
        if kind is MySQLType.LONGLONG and column.unsigned:
            return long_pieces(values, _avro_union(Branch.UNSIGNED_BIGINT))
        if kind in LABEL_TYPES:
            return number_pieces(values, _avro_union(Branch.LONG))
        if kind in INTEGERS_AND_YEAR or (kind is MySQLType.BIT and self.switches.avro_bit == "long"):
            return long_pieces(values, _avro_union(Branch.LONG))
        if kind in FLOAT_TYPES:
            return float_pieces(values, _avro_union(Branch.FLOAT if kind is MySQLType.FLOAT else Branch.DOUBLE))
        if kind is MySQLType.TIMESTAMP:
            return text_pieces(values, _avro_union(Branch.TIMESTAMP, avro_string(self.location)))
        branch = Branch.BYTES if column.is_binary else Branch.STRING
        return text_pieces(plain_text(column, values), _avro_union(branch))


def _avro_map(entries: list[Piece], count: int) -> list[Piece]:
    return [VALUE_BRANCH + (avro_long(count) if count else b""), *entries, _END_OF_MAP]


def _avro_union(branch: Branch, first: bytes = b"") -> Union:
    return Union(2 * branch, 2 * Branch.NULL, first)


def _avro_number(numbers: pa.Array) -> list[Piece]:
    constant = constant_of(numbers)
    return long_pieces(numbers) if constant is None else [avro_long(constant)]


def _avro_checksum(changes: Changes) -> list[Piece]:
    sums = changes.once(checksums_of)
    present = sums.present
    version, current, previous = (
        pa.array(numbers.astype(np.int64), mask=~present) for numbers in (sums.version, sums.current, sums.previous)
    )
    corrupted = PackedField(sums.corrupted.view(np.uint8), 1 if present.all() else present.view(np.uint8))
    union = Union(value=VALUE_BRANCH[0], null=NULL_BRANCH[0])
    return [*long_pieces(version, union), corrupted, *long_pieces(current), *long_pieces(previous)]


def _ddl_avro(event: DdlEvent, build_ts: int, switches: SimpleSwitches) -> bytes:
    parts = [
        envelope(Kind.DDL),
        avro_long(VERSION),
        avro_long(DDL_TYPES.index(ddl_type(event, switches))),
        avro_string(event.query),
        avro_long(event.commit_ts),
        avro_long(build_ts),
    ]
    for table in (event.table_info, shown_pre_table(event, switches)):
        parts.append(_avro_optional(None if table is None else _avro_table_schema(table, switches)))
    return b"".join(parts)


def _avro_optional(value: bytes | None) -> bytes:
    return NULL_BRANCH if value is None else VALUE_BRANCH + value


def _avro_table_schema(table: TableInfo, switches: SimpleSwitches) -> bytes:
    names = avro_string(table.schema) + avro_string(table.name) + avro_long(table.id) + avro_long(table.update_ts)
    columns = avro_array(_avro_column(column, switches) for column in shown_columns(table, switches))
    return names + columns + avro_array(map(_avro_index, shown_indexes(table)))


def _avro_column(column: Column, switches: SimpleSwitches) -> bytes:
    default = None if column.default is None else avro_string(column.default)
    told = avro_flag(column.nullable) + _avro_optional(default)
    return avro_string(column.name) + _avro_data_type(column, switches) + told


def _avro_data_type(column: Column, switches: SimpleSwitches) -> bytes:
    kind = column.type
    has_fsp = kind is MySQLType.TIMESTAMP and switches.avro_timestamp_decimal
    has_decimal = kind is MySQLType.NEWDECIMAL or has_fsp
    labelled = kind in LABEL_TYPES
    signed = kind in NUMBER_TYPES
    parts = [
        avro_string(type_name(kind, column.charset)),
        avro_string(column.charset),
        avro_string(column.collate),
        avro_long(column.flen),
        _avro_optional(avro_long(column.decimal) if has_decimal else None),
        _avro_optional(avro_array(map(avro_string, column.elems)) if labelled else None),
        _avro_optional(avro_flag(column.unsigned) if signed else None),
        _avro_optional(avro_flag(column.zerofill) if signed else None),
    ]
    return b"".join(parts)


def _avro_index(index: SimpleIndex) -> bytes:
    flags = map(avro_flag, (index.unique, index.primary, index.nullable))
    return b"".join((avro_string(index.name), *flags, avro_array(map(avro_string, index.columns))))


@dataclass(frozen=True)
class Simple(Codec):
    """The codec (see ``changes.codec.Codec``). ``location``: the changefeed's time zone."""

    options: CodecConfig
    location: str
    switches: SimpleSwitches
    compressed_parts: ClassVar[tuple[str, ...]] = ("value",)
    refuses_large_schemas: ClassVar[bool] = True

    @property
    def _avro(self) -> bool:
        return self.options.encoding_format == "avro"

    def rows(self, table: TableInfo) -> SimpleAvroRows | SimpleJsonRows:
        make = SimpleAvroRows if self._avro else SimpleJsonRows
        return make(table, self.options, self.location, self.switches)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL. The statement is printed as given; a database's DDL has no schema."""
        if self._avro:
            return ControlMessage(None, _ddl_avro(event, build_ts, self.switches), event.commit_ts)
        tables = {"tableSchema": event.table_info, "preTableSchema": shown_pre_table(event, self.switches)}
        schemas = {name: _json_table_schema(table, self.switches) for name, table in tables.items() if table}
        kind = ddl_type(event, self.switches)
        value = _json_message(kind, event.commit_ts, build_ts, schemas, event.query)
        return ControlMessage(None, value, event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the watermark message, which Simple always has."""
        if self._avro:
            head = envelope(Kind.WATERMARK) + avro_long(VERSION)
            return ControlMessage(None, head + avro_long(ts) + avro_long(build_ts), ts)
        return ControlMessage(None, _json_message("WATERMARK", ts, build_ts, {}), ts)

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage:
        """Return the message with a table's schema, which has no commit time."""
        if self._avro:
            head = envelope(Kind.BOOTSTRAP) + avro_long(VERSION) + avro_long(build_ts)
            return ControlMessage(None, head + _avro_table_schema(table, self.switches), 0)
        schema = {"tableSchema": _json_table_schema(table, self.switches)}
        return ControlMessage(None, _json_message("BOOTSTRAP", 0, build_ts, schema), 0)


def make_codec(changefeed: ChangefeedConfig) -> Simple:
    return Simple(changefeed.codec, changefeed.time_zone, changefeed.release.simple)
