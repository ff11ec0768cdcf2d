"""Simple Avro's constants, and its values one by one.

In: Python values. Out: bytes of the binary encoding. The numbers are indexes in ``schemas/simple_message.avsc``: of a
message's branch in the schema's union, of a kind in ``Message``, of a symbol in an enum. Rule sources: Avro
specification "Binary Encoding"; semantics 2.3; reference ``pingcap/tiflow: pkg/sink/codec/simple/message.json``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import Encoded
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.columnar.avro import Union, float_pieces, long_pieces, number_pieces, text_pieces, zigzag_bytes
from ticdc_emit.columnar.packed_fields import PackedField, Piece, join_pieces, share_pieces
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.protocols.row_images import BinaryImages, build_time_pieces, commit_ts_pieces
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
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, LABEL_TYPES, MySQLType, type_name

__all__ = [
    "DDL_TYPES",
    "DML_TYPES",
    "NULL_BRANCH",
    "VALUE_BRANCH",
    "Branch",
    "Kind",
    "SimpleAvroRows",
    "avro_array",
    "avro_flag",
    "avro_long",
    "avro_string",
    "bootstrap_avro",
    "ddl_avro",
    "envelope",
    "watermark_avro",
]


NULL_BRANCH, VALUE_BRANCH = zigzag_bytes(0), zigzag_bytes(1)
"""The branches of an optional field."""

DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
DML_TYPES = ("INSERT", "UPDATE", "DELETE")
_MESSAGE_BRANCH = 11
_INT64_END = 1 << 63


class Kind(IntEnum):
    """The kinds of messages; ``Message`` has a kind twice, as its type and as the branch of its payload."""

    WATERMARK = 0
    BOOTSTRAP = 1
    DDL = 2
    DML = 3


class Branch(IntEnum):
    """The branches of a column's value."""

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
    return zigzag_bytes(number if number < _INT64_END else number - 2 * _INT64_END)


def avro_string(text: str | bytes) -> bytes:
    """Return a ``string``, which may have any bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return zigzag_bytes(len(raw)) + raw


def avro_flag(value: bool) -> bytes:
    """Return a ``boolean``."""
    return b"\x01" if value else b"\x00"


def avro_array(items: Iterable[bytes]) -> bytes:
    """Return an ``array``: one block of all items; none if it is empty."""
    made = list(items)
    return (zigzag_bytes(len(made)) + b"".join(made) if made else b"") + zigzag_bytes(0)


_PIECES = "simple-avro pieces"
_ENTRY_BYTES = 256  # maximum bytes of a fixed-width value, a location, lengths
_END_OF_MAP = avro_long(0)


@dataclass(frozen=True)
class SimpleAvroRows:
    """The row encoder of one table version (see ``changes.codec.RowEncoder``)."""

    table: TableInfo
    options: SimpleOptions
    reads_old: ClassVar[bool] = True
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = True

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

    def check(self, changes: Changes) -> None:
        """Refuse values without a checksum (:class:`~ticdc_emit.errors.InvalidValueError`); every value has a
        branch.
        """
        if self.options.enable_row_checksum:
            _ = changes.checksums  # kept for the messages

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change; the key of a Simple row is always empty."""
        return self._messages(changes, self._columns, [NULL_BRANCH, NULL_BRANCH])

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with only the handle key's columns, and the location of each stored whole message."""
        stored: list[Piece] = [NULL_BRANCH]
        if locations is not None:
            stored = [VALUE_BRANCH, *text_pieces(pa.array(locations, pa.string()))]
        return self._messages(changes, self._handle_key, [*stored, VALUE_BRANCH + avro_flag(True)])

    def _messages(self, changes: Changes, columns: tuple[Column, ...], told: list[Piece]) -> Encoded:
        """Return messages that show ``columns``; ``told`` are claimCheckLocation and handleKeyOnly."""
        prefix = changes.constant(lambda encoder: encoder._prefix)
        laid: list[Piece] = [prefix, *_number(changes.physical_table_ids)]
        laid += [avro_long(DML_TYPES.index(changes.op.value.upper())), *commit_ts_pieces(changes)]
        version = changes.constant(lambda encoder: avro_long(encoder.table.update_ts))
        laid += [*build_time_pieces(changes), version, *told]
        laid += _checksum(changes) if self.options.enable_row_checksum else [NULL_BRANCH]
        data, old = self._images(changes, columns)
        return Encoded(join_pieces([*laid, *data, *old], len(changes)))

    def _images(self, changes: Changes, columns: tuple[Column, ...]) -> tuple[list[Piece], list[Piece]]:
        if changes.op is Op.UPDATE:
            data, old = share_pieces(*self._laid.both(changes, columns), len(changes))
            return _map(data, len(columns)), _map(old, len(columns))
        image = changes.current
        entries = self._laid.entries(columns, image)
        shown = _map(entries, len(columns))
        return (shown, [NULL_BRANCH]) if changes.op is Op.INSERT else ([NULL_BRANCH], shown)

    def _value(self, column: Column, values: pa.Array) -> list[Piece]:
        kind = column.type
        if kind is MySQLType.LONGLONG and column.unsigned:
            return long_pieces(values, _union(Branch.UNSIGNED_BIGINT))
        if kind in LABEL_TYPES:
            return number_pieces(values, _union(Branch.LONG))
        if kind in INTEGER_TYPES or kind is MySQLType.YEAR or self._is_long_bit(column):
            return long_pieces(values, _union(Branch.LONG))
        if kind in FLOAT_TYPES:
            return float_pieces(values, _union(Branch.FLOAT if kind is MySQLType.FLOAT else Branch.DOUBLE))
        if kind is MySQLType.TIMESTAMP:
            return text_pieces(values, _union(Branch.TIMESTAMP, avro_string(self.options.location)))
        branch = Branch.BYTES if column.is_binary else Branch.STRING
        return text_pieces(plain_text(column, values), _union(branch))

    def _is_long_bit(self, column: Column) -> bool:
        return column.type is MySQLType.BIT and self.options.switches.avro_bit == "long"


def _map(entries: list[Piece], count: int) -> list[Piece]:
    """Lay out a map of one block; an empty one has none."""
    return [VALUE_BRANCH + (avro_long(count) if count else b""), *entries, _END_OF_MAP]


def _union(branch: Branch, first: bytes = b"") -> Union:
    return Union(2 * branch, 2 * Branch.NULL, first)


def _number(numbers: pa.Array) -> list[Piece]:
    constant = constant_of(numbers)
    return long_pieces(numbers) if constant is None else [avro_long(constant)]


def _checksum(changes: Changes) -> list[Piece]:
    """Lay out the optional ``Checksum``, null if a row has none."""
    sums = changes.checksums
    present = sums.present
    version, current, previous = (
        pa.array(numbers.astype(np.int64), mask=~present) for numbers in (sums.version, sums.current, sums.previous)
    )
    corrupted = PackedField(sums.corrupted.view(np.uint8), 1 if present.all() else present.view(np.uint8))
    union = Union(value=VALUE_BRANCH[0], null=NULL_BRANCH[0])
    return [*long_pieces(version, union), corrupted, *long_pieces(current), *long_pieces(previous)]


_SIGNED_TYPES = INTEGER_TYPES | {
    MySQLType.FLOAT,
    MySQLType.DOUBLE,
    MySQLType.BIT,
    MySQLType.YEAR,
    MySQLType.NEWDECIMAL,
}
"""The types with UNSIGNED and ZEROFILL."""


def watermark_avro(ts: int, build_ts: int) -> bytes:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return envelope(Kind.WATERMARK) + avro_long(VERSION) + avro_long(ts) + avro_long(build_ts)


def bootstrap_avro(table: TableInfo, build_ts: int, options: SimpleOptions) -> bytes:
    """Return the bootstrap message of a table."""
    return envelope(Kind.BOOTSTRAP) + avro_long(VERSION) + avro_long(build_ts) + _table_schema(table, options)


def ddl_avro(event: DdlEvent, build_ts: int, options: SimpleOptions) -> bytes:
    """Return a DDL's message. The statement is printed as given; a database's DDL has no schema."""
    parts = [
        envelope(Kind.DDL),
        avro_long(VERSION),
        avro_long(DDL_TYPES.index(ddl_type(event, options))),
        avro_string(event.query),
        avro_long(event.commit_ts),
        avro_long(build_ts),
    ]
    for table in (event.table_info, shown_pre_table(event, options)):
        parts.append(_optional(None if table is None else _table_schema(table, options)))
    return b"".join(parts)


def _optional(value: bytes | None) -> bytes:
    """Return a field of the union of null and one type."""
    return NULL_BRANCH if value is None else VALUE_BRANCH + value


def _table_schema(table: TableInfo, options: SimpleOptions) -> bytes:
    parts = [
        avro_string(table.schema),
        avro_string(table.name),
        avro_long(table.id),
        avro_long(table.update_ts),
        avro_array(_column(column, options) for column in shown_columns(table, options)),
        avro_array(_index(index) for index in shown_indexes(table)),
    ]
    return b"".join(parts)


def _column(column: Column, options: SimpleOptions) -> bytes:
    default = None if column.default is None else avro_string(column.default)
    return b"".join(
        (avro_string(column.name), _data_type(column, options), avro_flag(column.nullable), _optional(default))
    )


def _data_type(column: Column, options: SimpleOptions) -> bytes:
    kind = column.type
    has_fsp = kind is MySQLType.TIMESTAMP and options.switches.avro_timestamp_decimal
    has_decimal = kind is MySQLType.NEWDECIMAL or has_fsp
    labelled = kind in LABEL_TYPES
    signed = kind in _SIGNED_TYPES
    parts = [
        avro_string(type_name(kind, column.charset)),
        avro_string(column.charset),
        avro_string(column.collate),
        avro_long(column.flen),
        _optional(avro_long(column.decimal) if has_decimal else None),
        _optional(avro_array(map(avro_string, column.elems)) if labelled else None),
        _optional(avro_flag(column.unsigned) if signed else None),
        _optional(avro_flag(column.zerofill) if signed else None),
    ]
    return b"".join(parts)


def _index(index: ShownIndex) -> bytes:
    flags = map(avro_flag, (index.unique, index.primary, index.nullable))
    return b"".join((avro_string(index.name), *flags, avro_array(map(avro_string, index.columns))))
