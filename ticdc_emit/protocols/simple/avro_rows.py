"""The layout of Simple Avro row messages: constants, columns, in the order of the schema's fields.

In: changes. Out: values. Rule sources: semantics 2.3, 3.3; reference ``pingcap/tiflow: pkg/sink/codec/simple/avro.go``
(newDMLMessageMap, collectColumns) and ``message.go`` (encodeValue4Avro). Field order of a message::

    version database table tableID type commitTs buildTs schemaVersion claimCheckLocation handleKeyOnly checksum
    data old

``data`` and ``old`` are maps of one block; TiCDC's are in random order, these in bytewise order of names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import Encoded
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.columnar.avro import (
    Union,
    float_pieces,
    long_pieces,
    number_pieces,
    text_pieces,
)
from ticdc_emit.columnar.packed_fields import (
    Cell,
    Piece,
    join_pieces,
    share_pieces,
)
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.protocols.binary_images import BinaryImages
from ticdc_emit.protocols.binary_stamps import build_time_pieces, commit_ts_pieces
from ticdc_emit.protocols.simple.avro_values import (
    DML_TYPES,
    NULL_BRANCH,
    VALUE_BRANCH,
    Branch,
    Kind,
    avro_flag,
    avro_long,
    avro_string,
    envelope,
)
from ticdc_emit.protocols.simple.options import VERSION, SimpleOptions
from ticdc_emit.protocols.simple.rows import ENVELOPE_BYTES, constant_of, named_columns
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MySQLType,
)

__all__ = ["SimpleAvroRows"]

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
        prefix = changes.constant(self, lambda encoder: encoder._prefix)
        laid: list[Piece] = [prefix, *_number(changes.physical_table_ids)]
        laid += [avro_long(DML_TYPES.index(changes.op.value.upper())), *commit_ts_pieces(changes)]
        version = changes.constant(self, lambda encoder: avro_long(encoder.table.update_ts))
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
    corrupted = Cell(sums.corrupted.view(np.uint8), 1 if present.all() else present.view(np.uint8))
    union = Union(value=VALUE_BRANCH[0], null=NULL_BRANCH[0])
    return [*long_pieces(version, union), corrupted, *long_pieces(current), *long_pieces(previous)]
