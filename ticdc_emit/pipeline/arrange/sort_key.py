r"""The total order of row changes, as one binary value per change whose bytes compare as the order does.

The order is (commit_ts, table, transaction, rank, ``seq``, handle key). It never depends on a row's place in a
DataFrame, so that partition counts and retries cannot change a byte. A key has three sections:

=========  =====  ==================================================================================================
section    bytes  what it holds
=========  =====  ==================================================================================================
head       8      commit_ts, a TSO
\          4      the table's place among the plan's tables (``Plan.places``)
\          18     ``physical_table_id`` and ``start_ts``, which tell transactions apart; 9 bytes each, NULL is least
\          1      the rank inside the transaction (``transactions.ranks``), at :data:`RANK_AT`
\          9      ``seq``, NULL is least
cells      any    each column of the handle key, or of the whole row where a table has none: numbers and moments by
\                 value (those given as text too, where they are numbers), text bytewise, NULL is least
kind       1      delete 0, update 1, insert 2; :data:`HALF` for one half of a split update; :data:`NAMELESS` for a
\                 change that no key tells from another
=========  =====  ==================================================================================================

The head has one width and every cell ends itself, so two keys differ first where their changes do. BIT, YEAR, ENUM, SET
and moments that are given as text compare as that text. Where control messages come among the rows is in
``pipeline.deliver.control_events``.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from enum import IntEnum
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, SPLIT, START_TS
from ticdc_emit.changes.images import image_column
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import as_text, from_bytes, is_binary_like, null_mask, order_of_pairs, text_buffers
from ticdc_emit.columnar.decimals import accept_decimal, decimal_type
from ticdc_emit.columnar.floats import accept_float, fixed_text, floats_to_integers
from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.columnar.value_errors import ValueRefused, bad_places
from ticdc_emit.pipeline.arrange.transactions import DELETED, kind_ranks
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, MySQLType

STAMP_BYTES = 8
"""The first bytes of a key: the commit_ts, big-endian."""

TABLE_BYTES = STAMP_BYTES + 4
"""The first bytes of a key: commit_ts and table."""

_NUMBER_BYTES = 9  # of an integer's cell
_PHYSICAL_TABLE_ID_AT = TABLE_BYTES
_START_TS_AT = _PHYSICAL_TABLE_ID_AT + _NUMBER_BYTES
TRANSACTION_BYTES = _START_TS_AT + _NUMBER_BYTES
"""The first bytes of a key: two changes of one transaction have the same ones."""

RANK_AT = TRANSACTION_BYTES
_SEQ_AT = RANK_AT + 1
HEAD_BYTES = _SEQ_AT + _NUMBER_BYTES
KIND_MASK, HALF, NAMELESS = 0x03, 0x04, 0x08

_LONGEST_TEXT = 1024  # of a change without a key; handle keys are compared whole


def order_keys(batch: pa.RecordBatch, table: TablePlan, place: int, rank: npt.NDArray[np.int8]) -> pa.Array:
    """Return the order key of each change of one table; ``place``: the table's, ``rank``: in its transaction."""
    stamps = np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
    head, kind = _heads_and_kinds(batch, stamps, np.uint32(place), rank)
    keys = [
        _join_sections(
            head[start : start + length], batch.slice(start, length), encoder.table, kind[start : start + length]
        )
        for start, length, encoder in table.spans(pa.array(stamps))
    ]
    if len(keys) == 1:
        return keys[0]
    return pa.concat_arrays(keys) if keys else pa.array([], pa.binary())


def order_keys_of(
    batch: pa.RecordBatch, info: TableInfo, places: npt.NDArray[np.uint32], rank: npt.NDArray[np.int8]
) -> pa.Array:
    """Return the order key of each change of tables whose keys are as those of ``info``; ``places``: of each row's."""
    stamps = np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
    head, kind = _heads_and_kinds(batch, stamps, places, rank)
    return _join_sections(head, batch, info, kind)


def _heads_and_kinds(
    batch: pa.RecordBatch,
    stamps: npt.NDArray[np.uint64],
    places: np.uint32 | npt.NDArray[np.uint32],
    rank: npt.NDArray[np.int8],
) -> tuple[Bytes, Bytes]:
    count = batch.num_rows
    head = np.zeros((count, HEAD_BYTES), np.uint8)
    head[:, :STAMP_BYTES] = big_endian(stamps)
    head[:, STAMP_BYTES:TABLE_BYTES] = np.asarray(places).astype(">u4").reshape(-1, 1).view(np.uint8)
    names = batch.schema.names
    for name, start in ((PHYSICAL_TABLE_ID, _PHYSICAL_TABLE_ID_AT), (START_TS, _START_TS_AT), ("seq", _SEQ_AT)):
        if name in names:
            head[:, start : start + _NUMBER_BYTES] = number_cells(batch.column(name))
    head[:, RANK_AT] = rank
    kinds = kind_ranks(batch)
    kind = np.where(kinds < 0, 0, kinds).astype(np.uint8)
    if SPLIT in names:
        halves = np.asarray(batch.column(SPLIT).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
        kind |= halves.astype(np.uint8) * np.uint8(HALF)
    return head, kind


def order_of(keys: pa.Array) -> pa.Array | None:
    """Return the places of keys in order, ``None`` where they are; commit_ts and table alone decide most of it."""
    if len(keys) < 2:
        return None
    if int(text_buffers(keys).lengths.min()) < TABLE_BYTES:
        return None if _are_in_order(keys) else pc.array_sort_indices(keys)
    stamps, tables = stamps_and_tables(keys)
    equal, later = _steps(stamps, tables)
    if later.all() or ((equal | later).all() and _are_in_order(keys)):
        return None
    order = order_of_pairs(stamps, tables)
    equal, _ = _steps(stamps[order], tables[order])
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    if len(tied):
        rows = order[tied]
        order[tied] = rows[np.asarray(pc.array_sort_indices(keys.take(pa.array(rows))))]
    return pa.array(order)


def _are_in_order(keys: pa.Array) -> bool:
    return bool(pc.all(pc.less_equal(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py())


def _steps(stamps: npt.NDArray[np.uint64], tables: npt.NDArray[np.uint32]) -> tuple[Mask, Mask]:
    same = stamps[1:] == stamps[:-1]
    return same & (tables[1:] == tables[:-1]), (stamps[1:] > stamps[:-1]) | (same & (tables[1:] > tables[:-1]))


def commit_stamps(keys: pa.Array) -> npt.NDArray[np.uint64]:
    return _heads(keys, STAMP_BYTES).view(">u8").ravel().astype(np.uint64)


def stamps_and_tables(keys: pa.Array) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    heads = _heads(keys, TABLE_BYTES)
    stamps, tables = heads[:, :STAMP_BYTES].view(">u8"), heads[:, STAMP_BYTES:].view(">u4")
    return stamps.ravel().astype(np.uint64), tables.ravel().astype(np.uint32)


def stamp_and_table(key: bytes) -> tuple[int, int]:
    return int.from_bytes(key[:STAMP_BYTES], "big"), int.from_bytes(key[STAMP_BYTES:TABLE_BYTES], "big")


def kinds_of(keys: pa.Array) -> Bytes:
    buffers = text_buffers(keys)
    return buffers.data[buffers.offsets[1:] - 1]


def rank_by_kind(keys: pa.Array, transactions: pa.Array) -> pa.Array:
    """Return the keys in which the rows of these transactions (their first bytes) rank by their kind."""
    of_split = pc.is_in(pc.binary_slice(keys, 0, TRANSACTION_BYTES), value_set=transactions)
    rows = np.flatnonzero(np.asarray(of_split.to_numpy(zero_copy_only=False)))
    if not len(rows):
        return keys
    buffers = text_buffers(keys)
    data = buffers.data.copy()
    data[buffers.offsets[rows] + RANK_AT] = data[buffers.offsets[rows + 1] - 1] & np.uint8(KIND_MASK)
    return from_bytes(buffers.offsets, data, binary=True)


def key_values(key: bytes, table: TableInfo) -> dict[str, Any]:
    """Return the handle key's values in an order key of this table version, by column: for errors."""
    values, rest = {}, key[HEAD_BYTES:]
    for column in table.whole_handle_key:
        values[column.name], rest = value_of(rest, column)
    return values


def _heads(keys: pa.Array, width: int) -> Bytes:
    buffers = text_buffers(keys)
    size, rest = divmod(len(buffers.data), max(len(keys), 1))
    if size >= width and not rest and (buffers.lengths == size).all():
        return buffers.data.reshape(len(keys), size)[:, :width]
    heads: Bytes = buffers.data[buffers.offsets[:-1, None] + np.arange(width)]
    return heads


def _join_sections(head: Bytes, batch: pa.RecordBatch, info: TableInfo, kind: Bytes) -> pa.Array:
    columns = key_columns(batch, info.order_columns)
    nameless = np.full(len(head), not info.whole_handle_key or len(columns) < len(info.order_columns))
    parts: list[pa.Array | list[Bytes]] = [[head]]
    for column in info.order_columns:
        if column.name not in columns:
            continue
        values = sortable(column, columns[column.name])
        nulls = null_mask(values)
        if nulls is not None:
            nameless |= nulls
        cell = cells_of(values, nulls, limit=None if info.whole_handle_key else _LONGEST_TEXT)
        if isinstance(cell, pa.Array):
            parts += [cell, []]
        else:
            parts[-1].append(cell)  # neighbours of fixed width become one matrix
    kind = kind | nameless.astype(np.uint8) * np.uint8(NAMELESS)
    parts[-1].append(kind[:, None])
    arrays = []
    for part in filter(len, parts):
        if not isinstance(part, pa.Array):
            matrix = np.hstack(part)
            offsets = np.arange(len(matrix) + 1, dtype=np.int32) * np.int32(matrix.shape[1])
            part = from_bytes(offsets, matrix.ravel(), binary=True)
        arrays.append(part)
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, b"")


Bytes: TypeAlias = npt.NDArray[np.uint8]
Nulls: TypeAlias = "npt.NDArray[np.bool_] | None"
_EXACT = Context(prec=80)
_SIGN = np.uint64(1 << 63)
_END, _ZERO = b"\x00\x00", b"\x00\xff"  # a text's end, and a zero byte inside it: in this order


class Mark(IntEnum):
    """The first byte of a cell: what its bytes are. A NULL is this byte alone, or zero bytes in the cell's width."""

    NULL = 0
    SIGNED = 1
    UNSIGNED = 2
    DECIMAL = 3
    FLOAT = 4
    DAYS = 5
    TIMESTAMP = 6
    DURATION = 7
    TEXT = 8


def cells_of(values: pa.Array, nulls: Nulls, limit: int | None) -> Bytes | pa.Array:
    """Return a column as bytes that compare as its values do: a matrix of one width, or texts that end themselves."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros((len(values), 1), np.uint8)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_binary_like(kind):
        return _texts(as_text(values).cast(pa.binary()), nulls, limit)
    if pa.types.is_decimal(kind):
        return _decimals(values, nulls)
    if pa.types.is_floating(kind):
        return _floats(values, nulls)
    if pa.types.is_date32(kind):
        return number_cells(values.cast(pa.int32()), Mark.DAYS)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return number_cells(_micros(values, pa.timestamp("us")), Mark.TIMESTAMP)
    if pa.types.is_time(kind):
        return number_cells(_micros(values, pa.time64("us")), Mark.DURATION)
    if pa.types.is_duration(kind):
        return number_cells(_micros(values, pa.duration("us")), Mark.DURATION)
    return number_cells(values.cast(pa.uint8()) if pa.types.is_boolean(kind) else values)


def _micros(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        kind = pa.timestamp("us", values.type.tz)
    return values.cast(kind, safe=False).cast(pa.int64())


def number_cells(values: pa.Array, mark: Mark = Mark.SIGNED) -> Bytes:
    """Return nine bytes for each integer: its mark, and the number with its sign turned round."""
    unsigned = pa.types.is_unsigned_integer(values.type)
    nulls = null_mask(values)
    filled = values if nulls is None else values.fill_null(0)
    numbers = np.asarray(filled.cast(pa.uint64() if unsigned else pa.int64())).view(np.uint64)
    return _with_mark(Mark.UNSIGNED if unsigned else mark, big_endian(numbers if unsigned else numbers ^ _SIGN), nulls)


def _floats(values: pa.Array, nulls: Nulls) -> Bytes:
    filled = values if nulls is None else values.fill_null(0)
    bits = (np.asarray(filled.cast(pa.float64())) + 0.0).view(np.uint64)  # -0 is 0
    # IEEE 754: the bits of positive numbers ascend, those of negative ones descend
    return _with_mark(Mark.FLOAT, big_endian(np.where(bits & _SIGN, ~bits, bits | _SIGN)), nulls)


def _decimals(values: pa.Array, nulls: Nulls) -> Bytes:
    """Return the unscaled number of each DECIMAL, its sign turned round: all of a column have one scale."""
    width = values.type.bit_width // 8
    data = np.frombuffer(values.buffers()[1], np.uint8, len(values) * width, values.offset * width)
    digits = data.reshape(len(values), width)[:, ::-1].copy()
    digits[:, 0] ^= 0x80
    return _with_mark(Mark.DECIMAL, digits, nulls)


def _with_mark(mark: Mark, digits: Bytes, nulls: Nulls) -> Bytes:
    cells = np.empty((len(digits), digits.shape[1] + 1), np.uint8)
    cells[:, 0], cells[:, 1:] = mark, digits
    if nulls is not None:
        cells[nulls] = 0
    return cells


def _texts(values: pa.Array, nulls: Nulls, limit: int | None) -> pa.Array:
    if limit is not None and int(text_buffers(values).lengths.max(initial=0)) > limit:
        values = pa.array([_shorten(text, limit) for text in values.to_pylist()], pa.binary())
    if (text_buffers(values).data == 0).any():
        values = pc.replace_substring(values, b"\x00", _ZERO)
    mark, end, nothing = (pa.scalar(text, pa.binary()) for text in (bytes([Mark.TEXT]), _END, b""))
    cells = pc.binary_join_element_wise(mark, values, end, nothing)
    return cells if nulls is None else cells.fill_null(pa.scalar(b"\x00", pa.binary()))


def _shorten(text: bytes | None, limit: int) -> bytes | None:
    """Return a text by which long ones still differ; how they compare then means nothing, but never changes."""
    if text is None or len(text) <= limit:
        return text
    return text[:limit] + hashlib.sha256(text).digest()


def big_endian(numbers: npt.NDArray[np.uint64]) -> Bytes:
    return numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)


def value_of(cells: bytes, column: Column) -> tuple[Any, bytes]:
    """Return the value of a column whose cell comes first, and the cells after it."""
    mark, rest = Mark(cells[0]), cells[1:]
    if mark is Mark.TEXT:
        text, rest = _text_end(rest)
        return (text if column.is_binary else _readable(text)), rest
    # of all cells only a DECIMAL has another width than eight bytes
    width = 8 if mark is not Mark.DECIMAL else decimal_type(column).bit_width // 8
    return _value(mark, rest[:width], column), rest[width:]


def _readable(text: bytes) -> str | bytes:
    """Return text as ``str``; latin1 columns may hold any bytes."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _text_end(cells: bytes) -> tuple[bytes, bytes]:
    end = cells.index(_END[:1])
    while cells[end : end + 2] != _END:
        end = cells.index(_END[:1], end + 2)
    return cells[:end].replace(_ZERO, b"\x00"), cells[end + 2 :]


def _value(mark: Mark, digits: bytes, column: Column) -> Any:
    number = int.from_bytes(digits, "big")
    signed = number - (1 << (8 * len(digits) - 1))
    if mark is Mark.UNSIGNED:
        return number
    if mark is Mark.DECIMAL:
        return Decimal(signed).scaleb(-column.fraction_digits, _EXACT)
    if mark is Mark.FLOAT:
        bits = number ^ (1 << 63) if signed >= 0 else ~number & ((1 << 64) - 1)
        return struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    if mark is Mark.DAYS:
        return dt.date(1970, 1, 1) + dt.timedelta(signed)
    if mark is Mark.TIMESTAMP:
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=signed)
    return dt.timedelta(microseconds=signed) if mark is Mark.DURATION else signed


def key_columns(batch: pa.RecordBatch, columns: Iterable[Column]) -> dict[str, pa.Array]:
    """Return the columns that the batch has of these, from the after image, or the before image of a delete."""
    images = [batch.column(name) for name in ("after", "before") if name in batch.schema.names]
    after = None
    if len(images) == 2:
        after = pc.and_(images[0].is_valid(), pa.array(kind_ranks(batch) != DELETED))
    keys = {}
    for column in columns:
        of_images = [values for image in images if (values := image_column(image, column.name)) is not None]
        if len({values.type for values in of_images}) > 1:
            of_images = [_text_of_floats(column, values) for values in of_images]
            are_bytes = any(is_binary_like(values.type) for values in of_images)  # which need not be text
            of_images = [values if is_binary_like(values.type) else values.cast(pa.string()) for values in of_images]
            of_images = [values.cast(pa.binary()) for values in of_images] if are_bytes else of_images
        if of_images:
            keys[column.name] = pc.if_else(after, *of_images) if len(of_images) > 1 else of_images[0]
    return keys


def _text_of_floats(column: Column, values: pa.Array) -> pa.Array:
    is_other = column.type not in FLOAT_TYPES and values.type in (pa.float32(), pa.float64())
    return fixed_text(values) if is_other else values


def sortable(column: Column, key: pa.Array) -> pa.Array:
    """Return a key in a form that Arrow sorts by value; what is no number is NULL, and refused when values are read."""
    key = key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
    parse = _number_parser(column, key.type)
    try:
        while parse is not None:
            try:
                return parse(key)
            except ValueRefused as fault:
                bad = np.zeros(len(key), np.bool_)
                bad[bad_places(key, fault, parse)] = True
                key = pc.if_else(pa.array(bad), pa.scalar(None, key.type), key)
    except TypeError:
        return key  # refused likewise
    return key.cast(pa.string()) if pa.types.is_nested(key.type) else key


def _number_parser(column: Column, kind: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    if column.type in INTEGER_TYPES and not pa.types.is_integer(kind):
        return lambda key: parse_integers(floats_to_integers(key), unsigned=column.unsigned)
    is_float = pa.types.is_floating(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_float:
        if column.type == MySQLType.NEWDECIMAL:
            return partial(accept_decimal, column)
        if column.type in FLOAT_TYPES and not is_float:
            return partial(accept_float, column)
    return None
