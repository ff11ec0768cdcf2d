"""Open Protocol, written: a key and a value of JSON per row change, DDL or watermark, each after its length.

:class:`OpenPacking` joins up to ``max-batch-size`` rows to a message. Rule sources: "TiCDC Open Protocol";
``pingcap/tiflow: pkg/sink/codec/open``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntFlag
from functools import cached_property, partial, reduce
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Codec, ControlMessage, Starts, refuse_empty
from ticdc_emit.changes.model import Changes, Encoded, Op, json_overhead
from ticdc_emit.changes.row_keys import row_ids_of
from ticdc_emit.columnar.assemble import NULL, Fragment, Mask, ObjectLayout, blank_where, join, reuse_equal
from ticdc_emit.columnar.binary_text import base64_text, go_quoted_json
from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.columnar.escape import GO_STD, JSONITER, JsonWriter, quoted
from ticdc_emit.columnar.floats import number_text
from ticdc_emit.columnar.integers import integer_text
from ticdc_emit.columnar.packed_fields import LENGTH_BYTES, drop_prefix, framed, joined
from ticdc_emit.columnar.times import without_fraction
from ticdc_emit.columnar.values import json_content, plain_text
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import OpenSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.open_protocol.schema import VERSION, Flag, Kind, frame, key_frame
from ticdc_emit.protocols.row_images import Members
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    BLOB_TYPES,
    DATE_TYPES,
    FLOAT_TYPES,
    INT64_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    ColumnFlag,
    MySQLType,
)


def writer_of(switches: OpenSwitches) -> JsonWriter:
    """Return the characters that the lineage's JSON library escapes."""
    return GO_STD if switches.json == "encoding/json" else JSONITER


def column_flags(table: TableInfo, column: Column, switches: OpenSwitches) -> int:
    """Return a column's flags: TiCDC's, or TiDB's where the lineage leaves a generated column as it is."""
    of_tidb = column.generated is not None and switches.generated_columns == "unmarked"
    flags = Flag.NONE
    if column.charset == BINARY_CHARSET:
        flags |= Flag.BINARY
    if column.generated is not None:
        flags |= Flag.GENERATED
    if column.is_primary_key:
        flags |= Flag.PRIMARY_KEY
    if column in table.shown_handle_key and not (of_tidb and not table.pk_is_handle):
        flags |= Flag.HANDLE_KEY
    if column.nullable:
        flags |= Flag.NULLABLE
    if column.unsigned:
        flags |= Flag.UNSIGNED
    if switches.zerofill_flag and column.zerofill:
        flags |= Flag.ZEROFILL
    for index in table.indexes:
        flags |= _of_first(index, column)
        if not of_tidb:
            flags |= _of_any(index, column)
    return int(flags)


def _of_first(index: Index, column: Column) -> Flag:
    """Return TiDB's marks: the first column of an index."""
    if index.primary or not index.marks or index.columns[0] != column.name:
        return Flag.NONE
    return Flag.UNIQUE_KEY if index.unique and len(index.columns) == 1 else Flag.MULTIPLE_KEY


def _of_any(index: Index, column: Column) -> Flag:
    """Return TiCDC's marks: every column of an index."""
    if column.name not in index.columns:
        return Flag.NONE
    flags = Flag.UNIQUE_KEY if index.unique and not index.primary else Flag.NONE
    return flags | Flag.MULTIPLE_KEY if len(index.columns) > 1 else flags


MEMBER_BEGIN, MEMBER_END = b"{", b"}"

_BARE = INT64_TYPES | FLOAT_TYPES


def members_of(table: TableInfo, columns: tuple[Column, ...], switches: OpenSwitches) -> Members:
    """Return these columns of a table as the members of objects, in the lineage's order."""
    if switches.column_order == "name":
        columns = tuple(sorted(columns, key=lambda column: column.name.encode()))
    names = tuple(_opening(table, column, column_flags(table, column, switches), switches) for column in columns)
    content = partial(_content, writer=writer_of(switches), switches=switches)
    return Members(columns, names, f"open-protocol, {switches.json}", content, _around, behind=MEMBER_END)


def _opening(table: TableInfo, column: Column, flags: int, switches: OpenSwitches) -> bytes:
    handle = b',"h":true' if column in table.shown_handle_key else b""
    return b'%s:%s"t":%d%s,"f":%d,"v":' % (
        quoted(column.name, writer_of(switches)),
        MEMBER_BEGIN,
        column.type,
        handle,
        flags,
    )


def _around(column: Column) -> tuple[bytes, bytes]:
    return (b"", b"") if column.type in _BARE else (b'"', b'"')


def _content(column: Column, values: pa.Array, *, writer: JsonWriter, switches: OpenSwitches) -> pa.Array:
    if column.type in BLOB_TYPES:
        return base64_text(values.view(pa.binary()))
    if column.is_binary:
        return go_quoted_json(values, writer)
    if column.type in FLOAT_TYPES:
        return number_text(values, exponent_digits=1 if switches.json == "encoding/json" else 2)
    text = json_content(column, values, writer)
    if column.type is MySQLType.DURATION and column.fraction_digits and not switches.time_fraction:
        return without_fraction(text)
    return text


def updated_columns(changes: Changes, members: Members, switches: OpenSwitches) -> list[Fragment]:
    """Lay out ``p`` with what comes before it; what of it is empty is shown or left out."""
    members_shown: list[tuple[bytes, tuple[bytes, bytes], bytes, pa.Array, Mask]] = []
    for name, column in zip(members.names, members.columns, strict=True):
        text = changes.old.rendered(column, members.form, members.content)
        rows = _changed(changes, members, column, switches)
        around = members.around(column)
        nulled = _nulled(changes, column, rows) if switches.nulled_columns == "nameless" else None
        if nulled is not None:
            members_shown.append((name.split(MEMBER_BEGIN)[-1], around, b"", blank_where(text, ~nulled), nulled))
            rows = rows & ~nulled
        if switches.before_values == "raw":
            name = _opening(changes.table, column, _mysql_flags(changes.table, column), switches)
            text, rows = _raw(changes, column, text, rows)
        members_shown.append((name, around, MEMBER_END, blank_where(text, ~rows), rows))
    names, arounds, behinds, texts, shown = zip(*members_shown, strict=True)
    laid = [b',"p":', *ObjectLayout(names, arounds, behinds).sparse_fragments(texts, shown)]
    shows_any = reduce(np.logical_or, shown)
    if shows_any.all() or switches.empty_before == "shown":
        return laid
    return [blank_where(join(laid, len(changes), NULL), ~shows_any)]


def _changed(changes: Changes, members: Members, column: Column, switches: OpenSwitches) -> Mask:
    if column.type is MySQLType.DURATION:  # by its fraction too, even if that is not shown
        return changes.old.changed(column, "text", plain_text)
    by_text = column.type is MySQLType.VECTOR_FLOAT32 and switches.compared_vectors == "text"
    return changes.old.changed(column, members.form, members.content, by_text=by_text)


def _raw(changes: Changes, column: Column, text: pa.Array, rows: Mask) -> tuple[pa.Array, Mask]:
    """Return what ``p`` shows of a changed column, and where: ``null`` if empty, a BIT only if it was NULL."""
    before = changes.old.values(column)
    if column.type is MySQLType.BIT:
        nulls = null_mask(before)
        return text, np.zeros(len(rows), np.bool_) if nulls is None else rows & nulls
    empty = _is_empty(column, before)
    return (text if empty is None else pc.if_else(empty, pa.scalar(None, text.type), text)), rows


def _is_empty(column: Column, values: pa.Array) -> pa.Array | None:
    """Return where accepted values are empty texts or the zero of their type; ``None`` for types that have neither."""
    kind = column.type
    if kind in STRING_TYPES:
        return pc.equal(pc.binary_length(values), 0)
    if kind in LABEL_TYPES:
        numbers = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        return pc.equal(numbers, 0)
    if kind is MySQLType.NEWDECIMAL:
        return pc.equal(values, pa.scalar(Decimal(0), values.type))
    return pc.match_substring_regex(values, _EMPTY[kind]) if kind in _EMPTY else None


_EMPTY = {
    **dict.fromkeys(MOMENT_TYPES | DATE_TYPES, "^[-0:. ]*$"),
    MySQLType.DURATION: r"^-?0+:00:00(\.|$)",  # its fraction does not count
    MySQLType.JSON: r"^-?0(\.0)?$",
    MySQLType.VECTOR_FLOAT32: r"^\[\]$",
}
"""Texts that Go's types call zero."""


class _MySQLFlag(IntFlag):
    UNIQUE_KEY = 4
    MULTIPLE_KEY = 8
    BINARY = 128
    NO_DEFAULT_VALUE = 4096


_MARKS = {Flag.UNIQUE_KEY: _MySQLFlag.UNIQUE_KEY, Flag.MULTIPLE_KEY: _MySQLFlag.MULTIPLE_KEY}


def _mysql_flags(table: TableInfo, column: Column) -> int:
    flags = int(column.flags)
    for index in table.indexes:
        flags |= _MARKS.get(_of_first(index, column), 0)
    if column.is_binary or column.type in _BINARY_TYPES:
        flags |= _MySQLFlag.BINARY
    zero_year = column.type is MySQLType.YEAR and column.default == "0000"  # TiDB's own, without a DEFAULT
    if not column.nullable and (column.default is None or zero_year) and not flags & ColumnFlag.AUTO_INCREMENT:
        flags |= _MySQLFlag.NO_DEFAULT_VALUE
    return flags


_BINARY_TYPES = MOMENT_TYPES | DATE_TYPES | {MySQLType.DURATION, MySQLType.JSON, MySQLType.VECTOR_FLOAT32}


def _nulled(changes: Changes, column: Column, rows: Mask) -> Mask | None:
    nulls = null_mask(changes.current.values(column))
    if nulls is None or not (rows & nulls).any():
        return None
    return rows & nulls


@dataclass(frozen=True)
class OpenPacking:
    """See ``changes.codec.Packing``. ``max_rows``: ``max-batch-size``."""

    max_rows: int
    shared: int = len(VERSION)

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return values with what is in their frames changed; an empty one is that of a watermark."""
        if len(values) and pc.max(pc.binary_length(values)).as_py() == LENGTH_BYTES:
            return values
        return framed([change(drop_prefix(values, LENGTH_BYTES))], len(values))

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the frames of each message's rows, after one version."""
        return joined(keys, starts, VERSION), joined(values, starts)


_KEY_BYTES = 256  # of a key, but for the names and a location


@dataclass(frozen=True)
class OpenRows:
    table: TableInfo
    options: CodecConfig
    switches: OpenSwitches
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = False

    @property
    def reads_old(self) -> bool:
        return self.options.output_old_value

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: a column's name is in both images."""
        return json_overhead(self.table, name_uses=2, label_uses=0) + len(self._names) + _KEY_BYTES

    @cached_property
    def _all(self) -> Members:
        return members_of(self.table, self.table.data_columns, self.switches)

    @cached_property
    def _handle_key(self) -> Members:
        return members_of(self.table, self.table.handle_key, self.switches)

    @cached_property
    def _names(self) -> bytes:
        return name_members(self.table.schema, self.table.name, self.switches)

    @cached_property
    def _shown_handle(self) -> Column | None:
        key = self.table.whole_primary_key
        return key[0] if self.table.pk_is_handle and not key[0].unsigned and key[0] in self.table.handle_key else None

    def check(self, changes: Changes) -> None:
        """Refuse what would show no column, and what ``row_ids_of`` refuses."""
        refuse_empty(self.table)
        if changes.op is Op.DELETE and self.options.delete_only_output_handle_key_columns:
            self._refuse_keyless()
        if self.switches.row_ids:
            _ = changes.once(row_ids_of)

    def encode(self, changes: Changes) -> Encoded:
        reduces = changes.op is Op.DELETE and self.options.delete_only_output_handle_key_columns
        return self._encoded(changes, self._handle_key if reduces else self._all, [])

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with the handle key's columns, of which there must be one, and where the whole is stored."""
        self._refuse_keyless()
        marks: list[Fragment] = [b',"ohk":true']
        if locations is not None:
            stored = [quoted(location, writer_of(self.switches)) for location in locations]
            flags = b',"ohk":true,"ohk":false' if self.switches.claims == "flagged" else b""
            marks = [flags + b',"ccl":', pa.array(stored, pa.binary())]
        return self._encoded(changes, self._handle_key, marks)

    def _refuse_keyless(self) -> None:
        if not self.table.handle_key:
            raise SchemaError(
                "messages with the handle key alone would show no column",
                remedy="Keep the handle key's columns, or give the table a key",
                code="CDC:ErrOpenProtocolCodecInvalidData",
                table=self.table.full_name,
            )

    def _encoded(self, changes: Changes, members: Members, marks: list[Fragment]) -> Encoded:
        count = len(changes)
        key = self._key(changes, members, marks)
        return Encoded(framed(self._value(changes, members), count, NULL), framed(key, count))

    def _key(self, changes: Changes, members: Members, marks: list[Fragment]) -> list[Fragment]:
        names = changes.constant(lambda encoder: encoder._names)
        partition: list[Fragment] = []
        if self.table.partitions:
            partition = [b',"ptn":', integer_text(changes.physical_table_ids)]
        row_id = self._row_id(changes, members) if self.switches.row_ids else []
        behind = [b',"t":1', *marks, *partition, b"}"]
        if self.switches.partition == "before-type":
            behind = [*partition, b',"t":1', *marks, b"}"]
        return [b'{"ts":', changes.commit_ts_text, names, *row_id, *behind]

    def _row_id(self, changes: Changes, members: Members) -> list[Fragment]:
        numbers = changes.once(row_ids_of)
        if numbers.null_count == len(numbers):
            return []
        known = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
        if known.all():
            column = self._shown_handle
            return [b',"rid":', integer_text(numbers) if column is None else members.text(changes.current, column)]
        texts = pc.binary_join_element_wise(
            pa.scalar(b',"rid":'), integer_text(numbers).view(pa.binary()), pa.scalar(b"")
        )
        return [blank_where(texts, known == 0)]

    def _value(self, changes: Changes, members: Members) -> list[Fragment]:
        shown = members.laid(changes.current)
        if changes.op is Op.DELETE:
            return [b'{"d":', *shown, b"}"]
        if changes.op is Op.INSERT or not self.options.output_old_value:
            return [b'{"u":', *shown, b"}"]
        if self.options.only_output_updated_columns:
            return [b'{"u":', *shown, *updated_columns(changes, members, self.switches), b"}"]
        new, old = reuse_equal(list(shown), list(members.laid(changes.old, shown)), len(changes), NULL)
        return [b'{"u":', *new, b',"p":', *old, b"}"]


def name_members(schema: str, table: str, switches: OpenSwitches) -> bytes:
    """Return a key's members with the names of schema and table."""
    names = ((b"scm", schema), (b"tbl", table))
    return b"".join(
        b',"%s":%s' % (member, quoted(name, writer_of(switches)))
        for member, name in names
        if name or switches.empty_names == "shown"
    )


@dataclass(frozen=True)
class OpenProtocol(Codec):
    options: CodecConfig
    switches: OpenSwitches
    packing: OpenPacking
    compressed_parts: ClassVar[tuple[str, ...]] = ("value",)

    def rows(self, table: TableInfo) -> OpenRows:
        return OpenRows(table, self.options, self.switches)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL. The statement is printed as given."""
        names = name_members(event.schema, event.table, self.switches)
        key = b'{"ts":%d%s,"t":%d}' % (event.commit_ts, names, Kind.DDL)
        value = b'{"q":%s,"t":%d}' % (quoted(event.query, writer_of(self.switches)), event.action_code)
        return ControlMessage(key_frame(key), frame(value), event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        return ControlMessage(key_frame(b'{"ts":%d,"t":%d}' % (ts, Kind.WATERMARK)), frame(b""), ts)


def make_codec(changefeed: ChangefeedConfig) -> OpenProtocol:
    codec = changefeed.codec
    return OpenProtocol(codec, changefeed.release.open_protocol, OpenPacking(codec.max_batch_size))
