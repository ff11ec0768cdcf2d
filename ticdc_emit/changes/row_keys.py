"""The keys of rows in TiKV: ``t``, the physical table id, ``_r`` and the row's handle.

A handle is the primary key where that is clustered, or ``_tidb_rowid``, which only TiDB knows: then the optional input
column ``row_key`` (binary) must be given. One that is given and differs is refused. A handle that is one integer has
64 bits, big-endian, the sign bit turned over; any other has of each column, in the key's order, a byte for its kind,
then bytes that sort as the values do, at least 9 bytes in all.

Rule sources: reference ``pingcap/tidb: pkg/tablecodec/tablecodec.go`` (EncodeRowKeyWithHandle), ``pkg/util/codec``
(EncodeKey, EncodeBytes, EncodeDecimal), ``pkg/types/core_time.go`` (ToPackedUint), ``pkg/kv/key.go`` (NewCommonHandle).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ROW_KEY
from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.columnar.times import in_utc
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.errors import InvalidValueError, UnsupportedTypeError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.evaluation.values import parse_duration
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INT64_TYPES,
    INTEGERS_AND_YEAR,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

_SIGN, _MASK = 1 << 63, (1 << 64) - 1
_BYTES, _INT, _UINT, _FLOAT, _DECIMAL, _DURATION = b"\x01", b"\x03", b"\x04", b"\x05", b"\x06", b"\x07"
_TRIMMED = frozenset({"utf8_bin", "utf8mb4_bin", "ascii_bin", "latin1_bin"})
_WHOLE = frozenset({"binary", "utf8mb4_0900_bin"})
_GROUP = 8  # bytes that stand together in the key of a text
_SHORTEST_HANDLE = 9
_ID_BYTES = 8  # of a handle that is one integer
_BYTES_WITH_ID = 1 + _ID_BYTES + len("_r") + _ID_BYTES
_UNKNOWN = "only TiDB knows the row's handle in TiKV", "Give row_key with the row"
_WORD_DIGITS, _BYTES_OF_DIGITS = 9, (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def row_keys_of(changes: Changes) -> pa.Array:
    """Return the key of each row, ``binary``; InvalidValueError for one that is needed and not given, or wrong."""
    given = _given(changes)
    computed = _computed(changes)
    if computed is None:
        _refuse(changes, given.is_null(), *_UNKNOWN)
        return given
    wrong = pc.fill_null(pc.not_equal(given, computed), False)
    _refuse(changes, wrong, "row_key does not match the row's values", "Leave it out")
    return computed


def row_ids_of(changes: Changes) -> pa.Array:
    """Return each row's handle if it is one known integer (``_tidb_rowid`` by ``row_key``), ``int64``, else null."""
    table, count = changes.table, len(changes)
    if table.pk_is_handle:
        (column,) = table.whole_primary_key
        numbers = changes.current.values(column)
        return numbers.view(pa.int64()) if numbers.type == pa.uint64() else numbers
    given = pa.nulls(count, pa.binary()) if table.common_handle else _given(changes)
    if given.null_count == count:
        return pa.nulls(count, pa.int64())
    lengths, known = text_buffers(given).lengths, np.asarray(given.is_valid())
    wrong = known & (lengths != _BYTES_WITH_ID)
    _refuse(changes, wrong, "row_key does not belong to a row with _tidb_rowid", "Leave it out")
    numbers = np.zeros(count, np.uint64)
    keys = text_buffers(given.drop_null()).data.reshape(-1, _BYTES_WITH_ID)
    numbers[known] = np.ascontiguousarray(keys[:, -_ID_BYTES:]).view(">u8").ravel() ^ np.uint64(_SIGN)
    return pa.array(numbers.view(np.int64), mask=~known)


def handle_texts(changes: Changes) -> pa.Array:
    """Return each row's handle as TiDB prints it, ``binary``: a number, or ``{1, abc}`` of a key with more parts."""
    table = changes.table
    if not table.common_handle:
        numbers = row_ids_of(changes)
        _refuse(changes, numbers.is_null(), *_UNKNOWN)
        return numbers.cast(pa.string()).cast(pa.binary())
    columns = _handle_columns(table) or ()
    unknown = np.full(len(changes), not columns)
    _refuse(changes, unknown, "the text of the row's handle in TiKV is not known", "Turn off output-handle-key")
    image = changes.current
    parts = [
        [_part_text(column, value) for value in _plain(column, length, image.values(column), image.how.zone)]
        for column, length in columns
    ]
    return pa.array([b"{" + b", ".join(row) + b"}" for row in zip(*parts, strict=True)], pa.binary())


def _part_text(column: Column, value: Any) -> bytes:
    """Return a part of a handle: dates as TiDB's number, a TIME with all fraction digits, text without end blanks."""
    kind = column.type
    if isinstance(value, bytes):
        return value
    if kind in DATE_TYPES or kind in MOMENT_TYPES:
        return b"%d" % _packed_moment(value)
    if kind is MySQLType.DURATION:
        whole, _, fraction = value.partition(".")
        return f"{whole}.{fraction:0<6}".encode()
    if kind in FLOAT_TYPES:
        return format(Decimal(repr(float(value))), "f").removesuffix(".0").encode()
    text = str(value)
    return (text.rstrip(" ") if kind in STRING_TYPES and column.collate in _TRIMMED else text).encode()


def _given(changes: Changes) -> pa.Array:
    column = changes.attributes.get(ROW_KEY)
    if column is None or pa.types.is_null(column.type):
        return pa.nulls(len(changes), pa.binary())
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        raise UnsupportedTypeError(
            f"{ROW_KEY} is {column.type}, not binary",
            remedy="Cast it to binary",
            table=changes.table.full_name,
            column=ROW_KEY,
        )
    return column.cast(pa.binary())


def _refuse(changes: Changes, bad: pa.Array | Mask, reason: str, remedy: str) -> None:
    rows = np.flatnonzero(np.asarray(bad))

    def error(number: int) -> InvalidValueError:
        row = changes.current.row_key(int(rows[number]))
        table = changes.table_of(int(rows[number])).full_name
        return InvalidValueError(reason, remedy=remedy, table=table, column=ROW_KEY, row=row)

    if len(rows):
        raise changes.current.refused(rows, error)


def _computed(changes: Changes) -> pa.Array | None:
    table, image = changes.table, changes.current
    columns = _handle_columns(table)
    if columns is None:
        return None
    encoders = [_encoder(column) for column, _ in columns]
    values = [_plain(column, length, image.values(column), image.how.zone) for column, length in columns]
    prefixes = [b"t" + _int(number) + b"_r" for number in changes.physical_table_ids.to_pylist()]
    if table.pk_is_handle:
        return pa.array([prefix + _int(value) for prefix, value in zip(prefixes, values[0], strict=True)], pa.binary())
    keys = []
    for prefix, *row in zip(prefixes, *values, strict=True):
        handle = b"".join(encode(value) for encode, value in zip(encoders, row, strict=True) if encode is not None)
        keys.append(prefix + handle.ljust(_SHORTEST_HANDLE, b"\0"))
    return pa.array(keys, pa.binary())


def _handle_columns(table: TableInfo) -> Sequence[tuple[Column, int]] | None:
    """Return a clustered primary key's columns, each with how many characters (-1: all) are in it, or ``None``."""
    if table.pk_is_handle:
        return [(column, -1) for column in table.whole_primary_key]
    index = next((index for index in table.indexes if index.primary), None)
    if not table.common_handle or index is None:
        return None
    columns = [table.column(name) for name in index.columns]
    lengths = index.lengths or [-1] * len(columns)
    return list(zip(columns, lengths, strict=True)) if all(map(_encoder, columns)) else None


def _plain(column: Column, length: int, values: pa.Array, zone: str) -> list[Any]:
    """Return values as text, bytes or numbers, of text and bytes the first ``length``."""
    kind = column.type
    if kind in STRING_TYPES and length >= 0:
        return [value[:length] for value in plain_text(column, values).to_pylist()]
    if kind in INT64_TYPES or kind in FLOAT_TYPES:
        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    else:
        plain = in_utc(column, values, zone) if kind is MySQLType.TIMESTAMP else plain_text(column, values)
    return list(plain.to_pylist())


def _encoder(column: Column) -> Callable[[Any], bytes] | None:
    """Return what makes the key of a column's value, ``None`` for a collation whose weights are not known here."""
    kind = column.type
    if kind in STRING_TYPES:
        if column.collate in _WHOLE:
            return lambda value: _BYTES + _grouped(value if isinstance(value, bytes) else value.encode())
        return (lambda value: _BYTES + _grouped(value.rstrip(" ").encode())) if column.collate in _TRIMMED else None
    if kind in INTEGERS_AND_YEAR:
        unsigned = column.unsigned and kind is not MySQLType.YEAR
        return (lambda value: _UINT + _uint(value)) if unsigned else (lambda value: _INT + _int(value))
    if kind in INT64_TYPES:
        return lambda value: _UINT + _uint(value)
    if kind in FLOAT_TYPES:
        return _float
    if kind in DATE_TYPES or kind in MOMENT_TYPES:
        return lambda value: _UINT + _uint(_packed_moment(value))
    if kind is MySQLType.DURATION:
        return lambda value: _DURATION + _int(parse_duration(value) * 1000)
    return (lambda value: _decimal(value, column.flen, column.decimal)) if kind is MySQLType.NEWDECIMAL else None


def _uint(number: int) -> bytes:
    return struct.pack(">Q", number)


def _int(number: int) -> bytes:
    return struct.pack(">Q", (number & _MASK) ^ _SIGN)


def _float(value: float) -> bytes:
    (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
    return _FLOAT + _uint(~bits & _MASK if bits & _SIGN else bits | _SIGN)


def _grouped(raw: bytes) -> bytes:
    groups = [raw[start : start + _GROUP] for start in range(0, len(raw) + 1, _GROUP)]
    return b"".join(group.ljust(_GROUP, b"\0") + bytes([0xFF - _GROUP + len(group)]) for group in groups)


def _packed_moment(text: str) -> int:
    date, _, clock = text.partition(" ")
    year, month, day = map(int, date.split("-"))
    whole, _, fraction = (clock or "00:00:00").partition(".")
    hour, minute, second = map(int, whole.split(":"))
    days = (year * 13 + month) << 5 | day
    return (days << 17 | hour << 12 | minute << 6 | second) << 24 | int(fraction.ljust(6, "0"))


def _decimal(text: str, precision: int, scale: int) -> bytes:
    """Return a DECIMAL as TiDB's binary form: nine digits in four bytes, what is left over in as few as hold it."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    digits = whole.lstrip("0").rjust(precision - scale, "0") if precision > scale else ""
    head = len(digits) % _WORD_DIGITS
    parts = [digits[:head], *(digits[at : at + _WORD_DIGITS] for at in range(head, len(digits), _WORD_DIGITS))]
    fraction = fraction.ljust(scale, "0")
    parts += [fraction[at : at + _WORD_DIGITS] for at in range(0, len(fraction), _WORD_DIGITS)]
    raw = bytearray(b"".join(int(part).to_bytes(_BYTES_OF_DIGITS[len(part)], "big") for part in parts if part))
    if text.startswith("-"):
        raw = bytearray(byte ^ 0xFF for byte in raw)
    raw[0] ^= 0x80
    return _DECIMAL + bytes([precision, scale]) + bytes(raw)
