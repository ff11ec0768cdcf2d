"""Values of Debezium's rows in Avro, and their bytes. Source: pingcap/ticdc ``pkg/sink/codec/debezium/avro.go``."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.avro import (
    INT64_END,
    Union,
    bit_flag_pieces,
    decimal_pieces,
    float_pieces,
    label_pieces,
    little_endian_pieces,
    long_pieces,
    text_pieces,
)
from ticdc_emit.columnar.epochs import clock_micros
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.value_errors import refuse_any
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.protocols.debezium_avro.schema import connect_of
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings
from ticdc_emit.protocols.debezium_common.values import (
    Value,
    days,
    decimal_default_text,
    null_value,
    refused_at,
    ticks,
    zoned,
)
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import DATE_TYPES, INTEGER_TYPES, LABEL_TYPES, STRING_TYPES, MySQLType

_UNION = Union.null_at(0)
NULL, VALUE = bytes([_UNION.null]), bytes([_UNION.value])
_Native: TypeAlias = Callable[[Column, pa.Array, DebeziumSettings], pa.Array]
_Pieces: TypeAlias = Callable[[Column, pa.Array], list[Piece]]


class _Row(NamedTuple):
    """``pieces``: the encoding of numbers or texts. ``native``: makes them of accepted values, if these are not."""

    pieces: _Pieces
    native: _Native | None = None


def _longs(column: Column, values: pa.Array) -> list[Piece]:
    return long_pieces(values, _UNION)


def _texts(column: Column, values: pa.Array) -> list[Piece]:
    return text_pieces(values, _UNION)


def _labels(column: Column, values: pa.Array) -> list[Piece]:
    numbers = pa.types.is_dictionary(values.type) or pa.types.is_integer(values.type)
    return label_pieces(column, values, _UNION) if numbers else text_pieces(values, _UNION)


def _bits(column: Column, values: pa.Array) -> list[Piece]:
    if column.flen == 1:
        return bit_flag_pieces(values, _UNION)
    return little_endian_pieces(values, -(-column.flen // 8), _UNION)


_FLOAT_ROW = _Row(lambda column, values: float_pieces(values, _UNION))
_NUMBER_AS_TEXT = _Row(_texts, lambda column, values, settings: plain_text(column, values))
_TYPES = {
    **dict.fromkeys(INTEGER_TYPES | {MySQLType.YEAR}, _Row(_longs)),
    # a FLOAT with a scale is a double
    MySQLType.FLOAT: _FLOAT_ROW._replace(
        native=lambda column, values, settings: values.cast(pa.float64()) if column.decimal >= 0 else values
    ),
    MySQLType.DOUBLE: _FLOAT_ROW,
    MySQLType.NEWDECIMAL: _Row(lambda column, values: decimal_pieces(values, _UNION)),
    **dict.fromkeys(DATE_TYPES, _Row(_longs, days)),
    MySQLType.DATETIME: _Row(_longs, ticks),
    MySQLType.TIMESTAMP: _Row(_texts, zoned),
    MySQLType.DURATION: _Row(_longs, lambda column, values, settings: clock_micros(values)),
    **dict.fromkeys(LABEL_TYPES, _Row(_labels)),
    MySQLType.BIT: _Row(_bits),
    **dict.fromkeys(STRING_TYPES | {MySQLType.JSON, MySQLType.VECTOR_FLOAT32}, _Row(_texts)),
}
_EXACT = Context(prec=120)
_NUMBERS_THAT_MAY_BE_TEXT = {MySQLType.NEWDECIMAL, MySQLType.LONGLONG}


def can_fail(column: Column) -> bool:
    """Return whether an accepted value may have none: a local time that does not exist, or an unfit default."""
    return column.type is MySQLType.TIMESTAMP or (column.nullable and column.default is not None)


def value_pieces(column: Column, values: pa.Array, settings: DebeziumSettings) -> list[Piece]:
    """Return pieces. Raises :class:`ValueRefused` for local times that do not exist and for unfit defaults."""
    row = _TYPES[column.type]
    if column.type in _NUMBERS_THAT_MAY_BE_TEXT and connect_of(column, settings).type == "string":
        row = _NUMBER_AS_TEXT
    native = values if row.native is None else row.native(column, values, settings)
    if values.null_count and column.default is not None:
        native = _with_defaults(column, values, native, settings)
    return row.pieces(column, native)


def _with_defaults(column: Column, values: pa.Array, native: pa.Array, settings: DebeziumSettings) -> pa.Array:
    nulls = pc.is_null(values)
    with refused_at(nulls):
        value = null_value(column, settings)
    if value is None:
        return native
    if column.type in LABEL_TYPES:
        native = label_text(column, native)
    if isinstance(value, str | bytes):  # a default may not be UTF-8
        native = native.cast(pa.binary())
    return pc.if_else(nulls, _scalar(column, value, native.type), native)


def _scalar(column: Column, value: Value, kind: pa.DataType) -> pa.Scalar:
    if isinstance(value, str):
        return pa.scalar(f"{value}Z".encode() if column.type is MySQLType.TIMESTAMP else value.encode(), kind)
    if isinstance(value, Decimal):
        # a stored default may have more digits than its column
        if pa.types.is_string(kind):
            return pa.scalar(decimal_default_text(value), kind)
        value = value.quantize(Decimal(1).scaleb(-column.fraction_digits), ROUND_FLOOR, _EXACT)
    elif pa.types.is_string(kind):  # a number as text
        value = str(value)
    return pa.scalar(value, kind)


def refuse_beyond_long(values: pa.Array) -> None:
    """Raise :class:`ValueRefused` for a BIGINT UNSIGNED beyond Avro's ``long``."""
    if values.type == pa.uint64() and (pc.max(values).as_py() or 0) >= INT64_END:
        beyond = pc.greater_equal(values, pa.scalar(INT64_END, pa.uint64())).fill_null(False)
        refuse_any(
            np.asarray(beyond.to_numpy(zero_copy_only=False)),
            "the BIGINT UNSIGNED is beyond what Avro's long holds: TiCDC fails here",
            "Set avro-bigint-unsigned-handling-mode=string",
        )
