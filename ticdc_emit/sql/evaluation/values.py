"""Values of expressions over Arrow, and their conversions (pingcap/tidb:
``pkg/expression/{builtin_cast,collation}.go``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial, wraps
from itertools import repeat
from typing import Any, ParamSpec, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import shown
from ticdc_emit.sql.inference.operands import Coercibility, Operand
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGERS_AND_YEAR,
    LABEL_TYPES,
    MOMENT_TYPES,
    ColumnFlag,
    MySQLType,
    label_of,
)

Data: TypeAlias = "pa.Array | pa.Scalar"

MAX_DIGITS = 76  # of Arrow's widest decimal
_INT64, _UINT64 = 1 << 63, 1 << 64
_BIGINT_DIGITS = 20
_DURATION = re.compile(r"(-?)(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class NotExactError(ValueError):
    """The expression cannot be evaluated exactly: the cause, and a ``remedy`` besides another expression."""

    def __init__(self, cause: str, *, remedy: str = "") -> None:
        super().__init__(cause)
        self.remedy = remedy


class EvaluationError(ValueError):
    """TiDB fails at a value, and so does the changefeed. ``number``: its error in strict SQL mode, 0 if not known."""

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.number = number


OUT_OF_RANGE, TRUNCATED = 1690, 1292
"""Numbers of TiDB's errors: a result that its type cannot hold, a text that is not what it is read as."""


class Kind(Enum):
    """The kinds of values in TiDB. The context decides whether LABEL and BIT are text or a number."""

    INT = "an integer"
    DECIMAL = "a decimal"
    REAL = "a float"
    TEXT = "text"
    DATETIME = "a date"
    DURATION = "a time"
    JSON = "JSON"
    LABEL = "a label"
    BIT = "bits"
    NULL = "NULL"


@dataclass(frozen=True)
class Value:
    """``data``: an array of the rows, or a scalar for a constant, of an Arrow type by kind: INT (u)int64 or bool;
    DECIMAL decimal; REAL float64; TEXT string or binary; DATETIME and JSON canonical text; DURATION int64 microseconds;
    LABEL uint64 or a dictionary of it; BIT uint64. ``fsp``: digits after the second of a DATETIME, -1 of a DATE.
    ``type``: that of a column, if its text or a comparison depends on it. ``is_literal``: a bit or hex literal.
    """

    kind: Kind
    data: Data
    collate: str = BINARY_CHARSET
    strength: Coercibility = Coercibility.NUMERIC
    fsp: int = 0
    type: Operand | None = None
    is_literal: bool = False

    @property
    def is_constant(self) -> bool:
        return isinstance(self.data, pa.Scalar)

    @property
    def is_binary(self) -> bool:
        return bool(pa.types.is_binary(self.data.type))


# -- memory ------------------------------------------------------------------------------------------------------------

MOST_BYTES = 256 << 20
"""Of the values of one expression over all rows, and of the rows that a transaction writes."""


def check_bytes(what: str, count: int) -> None:
    if count > MOST_BYTES:
        raise EvaluationError(f"{what} with {count:,} bytes (at most {MOST_BYTES:,})")


def byte_size(data: Data) -> int:
    if isinstance(data, pa.Array):
        return int(data.nbytes)
    text = data.as_buffer() if isinstance(data, pa.StringScalar | pa.BinaryScalar) else None
    return text.size if text is not None else 0


def _counted(values: Iterable[Any]) -> Iterator[Any]:
    total = 0
    for value in values:
        if isinstance(value, str | bytes):
            total += len(value)
            check_bytes("a result", total)
        yield value


# -- making values -----------------------------------------------------------------------------------------------------


def null() -> Value:
    return Value(Kind.NULL, pa.scalar(None, pa.null()), strength=Coercibility.IGNORABLE)


def boolean(data: Data) -> Value:
    return Value(Kind.INT, data)


def constant(value: int | Decimal | float | str | bytes | None, collate: str = "utf8mb4_bin") -> Value:
    """Return a literal; a text has the connection's collation."""
    if value is None:
        return null()
    if isinstance(value, bool):
        return boolean(pa.scalar(value))
    if isinstance(value, str):
        return Value(Kind.TEXT, pa.scalar(value, pa.string()), collate, Coercibility.COERCIBLE)
    if isinstance(value, bytes):
        return Value(Kind.TEXT, pa.scalar(value, pa.binary()), strength=Coercibility.COERCIBLE, is_literal=True)
    if isinstance(value, float):
        return Value(Kind.REAL, pa.scalar(value, pa.float64()))
    if isinstance(value, int) and -_INT64 <= value < _UINT64:
        return Value(Kind.INT, pa.scalar(int(value), pa.int64() if value < _INT64 else pa.uint64()))
    exact = Decimal(value)
    scale = max(0, -int(exact.as_tuple().exponent))
    digits = max(len(exact.as_tuple().digits), scale + 1)
    if digits > MAX_DIGITS:
        raise NotExactError(f"the number {shown(exact)} has too many digits")
    return Value(Kind.DECIMAL, pa.scalar(exact, pa.decimal256(digits, scale)))


def column_value(column: Operand, data: pa.Array) -> Value:
    kind, text = column.type, partial(Value, collate=column.collate, strength=Coercibility.IMPLICIT)
    if kind in INTEGERS_AND_YEAR:
        return Value(Kind.INT, data, type=column)
    if kind is MySQLType.NEWDECIMAL:
        return Value(Kind.DECIMAL, data)
    if kind in FLOAT_TYPES:
        return Value(Kind.REAL, data.cast(pa.float64()), type=column)
    if kind in LABEL_TYPES:
        return text(Kind.LABEL, data, type=column)
    if kind is MySQLType.BIT:
        return Value(Kind.BIT, data)
    if kind in DATE_TYPES:
        return Value(Kind.DATETIME, data, fsp=-1)
    if kind in MOMENT_TYPES:
        return Value(Kind.DATETIME, data, fsp=max(column.decimal, 0))
    if kind is MySQLType.DURATION:
        return Value(Kind.DURATION, map_values(parse_duration, pa.int64(), data), fsp=max(column.decimal, 0))
    if kind is MySQLType.JSON:
        return Value(Kind.JSON, data)
    return text(Kind.TEXT, data)


def parse_duration(text: str) -> int:
    """Return a time as microseconds; :class:`NotExactError` for a text without hours and minutes."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise NotExactError(f"the time {text!r}")
    sign, hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    if int(minutes) > 59 or int(seconds or 0) > 59:
        raise NotExactError(f"the time {text!r}")
    return (-1 if sign else 1) * (whole * 1_000_000 + int((fraction or "").ljust(6, "0")))


# -- applying functions ------------------------------------------------------------------------------------------------

_Parameters = ParamSpec("_Parameters")


def null_for_null(kernel: Callable[_Parameters, Value]) -> Callable[_Parameters, Value]:
    """Have a kernel return the literal NULL if one of its arguments is that, whatever the others are."""

    @wraps(kernel)
    def compute(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> Value:
        if any(isinstance(each, Value) and each.kind is Kind.NULL for each in arguments):
            return null()
        return kernel(*arguments, **options)

    return compute


def map_values(function: Callable[..., Any], kind: pa.DataType, *data: Data) -> Data:
    """Apply a function row by row; if all values but one are constant, once for each distinct one. NULL gives NULL."""

    def of(*values: Any) -> Any:
        return None if any(value is None for value in values) else function(*values)

    arrays = [each for each in data if isinstance(each, pa.Array)]
    if not arrays:
        return pa.scalar(of(*(each.as_py() for each in data)), kind)
    if len(arrays) == 1:
        (array,) = arrays
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        fixed = [None if each is array else each.as_py() for each in data]
        place = next(index for index, each in enumerate(data) if each is array)
        results = (of(*fixed[:place], value, *fixed[place + 1 :]) for value in encoded.dictionary.to_pylist())
        array = _one_array(results, kind)
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            lengths = pc.cast(pc.binary_length(array), pa.int64()).take(encoded.indices)
            check_bytes("a result", pc.sum(lengths).as_py() or 0)
        return array.take(encoded.indices)
    columns: list[Iterable[Any]] = [
        each.to_pylist() if isinstance(each, pa.Array) else repeat(each.as_py()) for each in data
    ]
    return _one_array((of(*values) for values in zip(*columns, strict=False)), kind)


def _one_array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(list(_counted(values)), kind)


# -- conversions -------------------------------------------------------------------------------------------------------


def to_integer(value: Value) -> Data:
    """Return INT, LABEL, BIT and bit literals as int64 or uint64."""
    if value.kind is Kind.INT:
        return value.data.cast(pa.int64()) if pa.types.is_boolean(value.data.type) else value.data
    if value.kind in (Kind.LABEL, Kind.BIT):
        is_dictionary = pa.types.is_dictionary(value.data.type)
        return value.data.dictionary_decode() if is_dictionary else value.data
    if value.is_literal and len(value.data.as_py()) <= 8:
        return pa.scalar(int.from_bytes(value.data.as_py(), "big"), pa.uint64())
    raise NotExactError(f"{value.kind.value} as an integer")


def to_decimal(value: Value) -> Data:
    """Return a number as a decimal with as many digits as its type can have."""
    return value.data if value.kind is Kind.DECIMAL else to_integer(value).cast(pa.decimal128(_BIGINT_DIGITS, 0))


def to_real(value: Value) -> Data:
    """Return a float64; :class:`EvaluationError` for a text that is not wholly a number."""
    if value.kind is Kind.REAL:
        return value.data
    if value.kind is Kind.DECIMAL:
        return pc.cast(_text_of_decimal(value.data), pa.float64())
    if value.kind is Kind.TEXT and not value.is_literal:
        if value.is_binary:
            raise NotExactError("binary text as a number")
        return map_values(_parse_number, pa.float64(), value.data)
    return pc.cast(to_integer(value), pa.float64(), safe=False)


def _parse_number(text: str) -> float:
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise EvaluationError(f"Truncated incorrect DOUBLE value: {shown(text)}", TRUNCATED)
    number = float(stripped)
    if math.isinf(number):
        raise EvaluationError(f"DOUBLE value is out of range: {shown(text)}", OUT_OF_RANGE)
    return number


_NUMBER_TEXT = partial(Value, Kind.TEXT, collate="utf8mb4_bin")


def to_text(value: Value) -> Value:
    """Return a text; a number's has the connection's collation."""
    if value.kind is Kind.TEXT:
        return value
    if value.kind is Kind.LABEL:
        assert value.type is not None
        labels = map_values(partial(label_of, value.type.type, value.type.elems), pa.string(), value.data)
        return replace(value, kind=Kind.TEXT, data=labels, type=None)
    column = value.type
    if value.kind is Kind.INT and (column is None or (column.flen >= 0 and not column.flags & ColumnFlag.ZEROFILL)):
        return _NUMBER_TEXT(pc.cast(to_integer(value), pa.string()))
    if value.kind is Kind.DECIMAL:
        return _NUMBER_TEXT(_text_of_decimal(value.data))
    if value.kind is Kind.DATETIME:
        return _NUMBER_TEXT(value.data)
    if value.kind is Kind.REAL:
        single = value.type is not None and value.type.type is MySQLType.FLOAT
        return _NUMBER_TEXT(map_values(partial(_float_text, single), pa.string(), value.data))
    raise NotExactError(f"{value.kind.value} as text")


def _float_text(single: bool, number: float) -> str:
    """Go's 'f' form of the shortest digits, which never has an exponent."""
    exact = np.float32(number) if single else np.float64(number)
    return str(np.format_float_positional(exact, unique=True, trim="-"))


_PLAIN_SCALE = 6  # Arrow prints decimals near zero with an exponent from the next scale on
_AS_TEXT = pc.CastOptions.safe(pa.string())


def decimal_text(values: pa.Array) -> pa.Array:
    """Return TiDB's text of a decimal array: exactly the digits of its scale, no exponent, no negative zero."""
    text, scale = pc.call_function("cast", [values], _AS_TEXT), values.type.scale
    if scale <= _PLAIN_SCALE:
        return text
    scientific = pc.match_substring(text, "E")
    if not pc.any(scientific).as_py():
        return text
    plain = [f"{value:.{scale}f}" for value in values.filter(scientific).to_pylist() if value is not None]
    return pc.replace_with_mask(text, scientific.fill_null(False), pa.array(plain, pa.string()))


def _text_of_decimal(data: Data) -> Data:
    if isinstance(data, pa.Array):
        return decimal_text(data)
    return map_values(lambda number: format(number, "f"), pa.string(), data)


# -- collations --------------------------------------------------------------------------------------------------------


def common_collation(left: Value, right: Value) -> str:
    """Return the collation of a comparison of two texts; :class:`NotExactError` if neither's wins."""
    if left.is_literal or right.is_literal:
        return "binary" if left.is_literal and right.is_literal else (right if left.is_literal else left).collate
    if left.strength != right.strength:
        return (left if left.strength < right.strength else right).collate
    if left.collate == right.collate:
        return left.collate
    if left.strength is not Coercibility.EXPLICIT and "binary" in (left.collate, right.collate):
        return "binary"
    raise NotExactError(f"texts of the collations {left.collate} and {right.collate}")


def ignores_case(collate: str) -> bool:
    return collate.endswith("_ci")
