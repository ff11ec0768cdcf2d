"""Values of expressions as a column holds them when they are assigned to it, in TiDB's strict SQL mode.

Out: accepted forms (``columnar/values.py``). Rule source: pingcap/tidb ``pkg/table/column.go`` (``CastValue``),
``pkg/types/{datum,convert,time,mydecimal,enum,set}.go`` (``Datum.ConvertTo``).
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import shown
from ticdc_emit.schema.defaults import (
    Moment,
    SkippedTimeError,
    duration_text,
    enum_label,
    fixed_float,
    float_text,
    moment_of_number,
    normalise_duration,
    number_of,
    parse_moment,
    set_labels,
    time_zone_of,
)
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.charsets import python_codec
from ticdc_emit.sql.evaluation.values import (
    TRUNCATED,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    byte_size,
    check_bytes,
    map_values,
    to_integer,
    to_text,
)
from ticdc_emit.sql.json_document import normalise
from ticdc_emit.sql.nodes.expressions import Literal
from ticdc_emit.sql.types import (
    BLOB_TYPES,
    CALENDAR_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LATIN1_CHARSET,
    STRING_TYPES,
    TYPES,
    MySQLType,
    full_year,
    integer_range,
)

NOT_NULL, WRONG_DATA, BEYOND_RANGE, WRONG_VALUE, TOO_LONG, BAD_JSON = 1048, 1265, 1264, 1366, 1406, 3140
"""Numbers of TiDB's errors."""
_EXACT = Context(prec=160)
_BMP = 0x10000
_BIGINT_DIGITS = 20
_SECONDS_OF_NUMBER = re.compile(r"-?\d{1,7}")
_NUMBER_PREFIX = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3}(?!\d))?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,20}", re.ASCII)


@dataclass(frozen=True)
class SqlRules:
    """What the SQL mode allows. ``casts``: values are cast to the column's type first, as UPDATE does. ``nearest``: a
    value that does not fit becomes the nearest one that does, as IGNORE says.
    """

    zero_dates: bool = False
    zero_in_dates: bool = False
    casts: bool = False
    nearest: bool = False


STRICT = SqlRules()


def assign(column: Column, value: Value, count: int, how: Rendering, rules: SqlRules = STRICT) -> pa.Array:
    """Return ``value`` in accepted form in ``count`` rows. Raises :class:`NotExactError`, :class:`EvaluationError`."""
    try:
        return accept(column, _convert(column, value, count, how, rules), how)
    except ValueRefused as fault:
        raise EvaluationError(fault.reason, _number_of(column, fault)) from None
    except pa.ArrowInvalid as fault:
        raise EvaluationError(str(fault)) from None


def assign_each(column: Column, values: Sequence[Value], how: Rendering, rules: SqlRules = STRICT) -> pa.Array:
    """Return one scalar per row in accepted form; errors as in :func:`assign`."""
    kind = _plain_type(column)
    items = [_item(column, value, rules, how) for value in values]
    try:
        return accept(column, pa.array(items, kind), how)
    except ValueRefused as fault:
        raise EvaluationError(fault.reason, _number_of(column, fault)) from None


def _item(column: Column, value: Value, rules: SqlRules, how: Rendering) -> str | bytes | None:
    item = value.data.as_py()
    try:
        return plain(column, value, rules, how)(item)
    except EvaluationError:
        if not rules.nearest:
            raise
        return _nearest(column, value, how, item)


def _nearest(column: Column, value: Value, how: Rendering, item: Any) -> str | bytes | None:
    """Return what TiDB stores of a value that does not fit, where that is a warning."""
    to, is_text = column.type, value.kind is Kind.TEXT and not value.is_literal
    if to in (MySQLType.ENUM, MySQLType.SET):
        return ""
    if to in CALENDAR_TYPES:
        zero = Moment(0, 0, 0)
        return zero.date_text() if to is MySQLType.DATE else zero.text(column.fraction_digits)
    if to in STRING_TYPES and is_text:
        raw: bytes = item.encode() if isinstance(item, str) else item
        limit = _most_bytes(column) if to in BLOB_TYPES else column.flen
        if column.is_binary:
            return raw[:limit]
        text = raw[:limit].decode(errors="ignore") if to in BLOB_TYPES else _string(value, item)[:limit]
        return _characters(column, text)
    if to in INTEGER_TYPES:
        low, high = map(Decimal, integer_range(to, unsigned=column.unsigned))
    elif to is MySQLType.NEWDECIMAL:
        high = Decimal(10**column.flen - 1).scaleb(-max(column.decimal, 0), _EXACT)
        low = Decimal(0) if column.unsigned else -high
    elif to in FLOAT_TYPES and column.decimal < 0:
        low, high = Decimal(0 if column.unsigned else "-Infinity"), Decimal("Infinity")
    else:
        raise _unknown(column, value)
    if is_text:
        found = _NUMBER_PREFIX.match(_string(value, item))
        number = number_of(found[0]) if found else Decimal(0)
    elif value.kind in (Kind.INT, Kind.REAL, Kind.DECIMAL):
        number = Decimal(item)
    else:
        raise _unknown(column, value)
    return plain(column, replace(value, kind=Kind.DECIMAL), STRICT, how)(min(max(number, low), high))


def _number_of(column: Column, fault: ValueRefused) -> int:
    if "NULL" in fault.reason:
        return NOT_NULL
    if column.type in STRING_TYPES or column.type is MySQLType.BIT:
        return TOO_LONG
    return BEYOND_RANGE if column.type in (INTEGER_TYPES | FLOAT_TYPES | {MySQLType.NEWDECIMAL}) else 0


def _plain_type(column: Column) -> pa.DataType:
    return pa.binary() if column.is_binary else pa.string()


def _convert(column: Column, value: Value, count: int, how: Rendering, rules: SqlRules) -> pa.Array:
    if isinstance(value.data, pa.Scalar):
        check_bytes("values", byte_size(value.data) * count)
        value = replace(value, data=pa.repeat(value.data, count))
    kind, data = column.type, value.data
    if value.kind is Kind.NULL:
        return pa.nulls(count, pa.string())
    if value.kind is Kind.INT and (kind in INTEGER_TYPES or kind is MySQLType.NEWDECIMAL):
        return data.cast(pa.int64()) if pa.types.is_boolean(data.type) else data
    if value.kind is Kind.DECIMAL and (kind in INTEGER_TYPES or kind is MySQLType.NEWDECIMAL):
        scale = 0 if kind in INTEGER_TYPES else column.fraction_digits
        rounded = pc.round(data, scale, "half_towards_infinity") if data.type.scale > scale else data
        return rounded if kind is MySQLType.NEWDECIMAL else rounded.cast(pa.decimal128(38, 0))
    if value.kind is Kind.REAL and kind in FLOAT_TYPES and column.decimal < 0:
        return data
    if value.kind is Kind.LABEL and kind in INTEGER_TYPES:
        return to_integer(value)
    if value.kind is Kind.JSON and kind is MySQLType.JSON:
        return data
    is_same = kind in BLOB_TYPES and column.is_binary == value.is_binary and not value.is_literal
    if value.kind is Kind.TEXT and is_same and column.charset in ("utf8mb4", "binary"):
        return data
    if value.kind in (Kind.LABEL, Kind.INT, Kind.BIT):
        data = to_text(value).data if value.kind is Kind.LABEL else to_integer(value)
    return map_values(plain(column, value, rules, how), _plain_type(column), data)


# -- one value ---------------------------------------------------------------------------------------------------------


_OF_JSON = CALENDAR_TYPES | INTEGER_TYPES | FLOAT_TYPES | {MySQLType.NEWDECIMAL, MySQLType.YEAR}


def plain(column: Column, value: Value, rules: SqlRules, how: Rendering) -> Callable[[Any], str | bytes | None]:
    """Return what makes canonical text (bytes of a binary column) of an ``as_py`` item, or of the label of a LABEL."""
    kind, to = value.kind, column.type
    if kind is Kind.NULL:
        return lambda item: None
    kinds, convert = _CONVERSIONS.get(to, (frozenset(), _text))
    if kind is Kind.JSON and to in _OF_JSON:
        convert = _of_json
    elif kind not in kinds:
        raise _unknown(column, value)
    elif to in STRING_TYPES and kind is Kind.INT:
        to_text(replace(value, data=pa.scalar(0, pa.int64())))  # refuses a column with leading zeros
    return lambda item: None if item is None else convert(column, value, rules, how, item)


def _unknown(column: Column, value: Value) -> NotExactError:
    return NotExactError(f"{value.kind.value} in a column of {column.type.name}")


def _string(value: Value, item: Any) -> str:
    try:
        return item.decode() if isinstance(item, bytes) else str(item)
    except UnicodeDecodeError:
        raise NotExactError("bytes that are not text") from None


def _out_of_range(column: Column, item: Any) -> EvaluationError:
    return EvaluationError(f"Out of range value for column '{column.name}': {shown(item)}", BEYOND_RANGE)


def _wrong(what: str, item: Any, column: Column, number: int) -> EvaluationError:
    return EvaluationError(f"Incorrect {what} value: {shown(item)} for column '{column.name}'", number)


def _too_long(length: int, unit: str, limit: int) -> EvaluationError:
    return EvaluationError(f"the value has {length} {unit}, more than {limit}", TOO_LONG)


def _bits_number(item: bytes) -> int:
    if len(item.lstrip(b"\0")) > 8:
        raise NotExactError("a hex or bit literal of more than 64 bits as a number")
    return int.from_bytes(item, "big")


# -- numbers -----------------------------------------------------------------------------------------------------------


def _integer(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    low, high = integer_range(column.type, unsigned=column.unsigned)
    number = _whole(column, value, rules, item)
    if rules.casts and column.unsigned and number < 0:
        raise NotExactError(f"the negative number {number} in an unsigned column")
    if not low <= number <= high:
        raise _out_of_range(column, item)
    return str(number)


def _whole(column: Column, value: Value, rules: SqlRules, item: Any) -> int:
    if value.kind in (Kind.INT, Kind.BIT):
        return int(item)
    if value.kind is Kind.REAL:
        if abs(item) >= 1 << 70:
            raise _out_of_range(column, item)
        return round(float(item))
    if value.kind is Kind.DECIMAL:
        return int(Decimal(item).quantize(Decimal(1), ROUND_HALF_UP, _EXACT))
    if value.is_literal:
        return _bits_number(item)
    if value.kind is Kind.TEXT:
        text = _string(value, item).strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        number = _number(column, "integer", rules, item)
        if rules.casts:
            raise NotExactError(f"the text {shown(item)} in a column of integers")
        if number and number.adjusted() > _BIGINT_DIGITS:
            raise _out_of_range(column, item)
        return int(number.quantize(Decimal(1), ROUND_HALF_UP, _EXACT))
    if value.kind is Kind.DATETIME and value.fsp == 0:
        return int(re.sub(r"\D", "", item))
    raise _unknown(column, value)


def _number(column: Column, what: str, rules: SqlRules, item: Any) -> Decimal:
    try:
        return number_of(item if isinstance(item, str) else item.decode())
    except (ValueError, UnicodeDecodeError):
        raise _wrong(what, item, column, TRUNCATED if rules.casts else WRONG_VALUE) from None


def _any_number(column: Column, value: Value, what: str, rules: SqlRules, item: Any) -> Any:
    if value.kind is not Kind.TEXT:
        return item
    return _bits_number(item) if value.is_literal else _number(column, what, rules, item)


def _decimal(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    number = _any_number(column, value, "decimal", rules, item)
    number = Decimal(repr(number) if isinstance(number, float) else number)
    if number and number.adjusted() >= column.flen:
        raise _out_of_range(column, item)
    scale = max(column.decimal, 0)
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    if (rounded and rounded.adjusted() >= column.flen - scale) or (column.unsigned and rounded < 0):
        raise _out_of_range(column, item)
    return format(rounded if rounded else abs(rounded), "f")


def _float(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    number = float(_any_number(column, value, "double", rules, item))
    if column.unsigned and number < 0:
        raise _out_of_range(column, item)
    try:
        return repr(fixed_float(number, column.flen, column.decimal))
    except ValueError:
        raise _out_of_range(column, item) from None


def _year(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    if value.kind is Kind.DATETIME:
        return _year(column, replace(value, kind=Kind.INT), rules, how, item[:4])
    text = _string(value, item) if value.kind is Kind.TEXT and not value.is_literal else ""
    number = _whole(column, value, rules, item)
    if 0 < number < 100 or (number == 0 and text.strip().startswith("0") and len(text) != 4):  # '0000' is zero
        number = full_year(number)
    if number and not 1901 <= number <= 2155:
        raise EvaluationError(f"{number} is neither 0 nor in 1901..2155", BEYOND_RANGE)
    return str(number)


def _bits(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    raw = item.encode() if isinstance(item, str) else item
    number = _bits_number(raw) if value.kind is Kind.TEXT else int(raw)
    if number < 0:
        raise NotExactError("a negative number in a BIT column")
    if number >= 1 << column.flen:
        raise _too_long(number.bit_length(), "bits", column.flen)
    return str(number)


# -- text and labels ---------------------------------------------------------------------------------------------------


def _text(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str | bytes:
    raw = item  # of TEXT, LABEL, DATETIME and JSON
    if value.kind is Kind.REAL:
        raw = float_text(item, single=value.type is not None and value.type.type is MySQLType.FLOAT)
    elif value.kind is Kind.DECIMAL:
        raw = format(item, "f")
    elif value.kind is Kind.INT:
        raw = str(int(item))
    elif value.kind is Kind.DURATION:
        raw = duration_text(item, value.fsp)
    if column.is_binary:
        return _bytes(column, raw.encode() if isinstance(raw, str) else raw)
    if isinstance(raw, bytes):
        try:
            raw = raw.decode()
        except UnicodeDecodeError:
            raise _wrong("string", item, column, WRONG_VALUE) from None
    return _characters(column, raw)


def _most_bytes(column: Column) -> int:
    limit = TYPES[column.type].length
    return limit if column.flen < 0 else min(column.flen, limit)


def _bytes(column: Column, raw: bytes) -> bytes:
    limit = _most_bytes(column) if column.type in BLOB_TYPES else column.flen
    if len(raw) > limit >= 0:
        raise _too_long(len(raw), "bytes", limit)
    return raw.ljust(column.flen, b"\0") if column.type is MySQLType.STRING else raw


def _characters(column: Column, text: str) -> str:
    if not _fits_charset(column.charset, text):
        raise _wrong("string", text, column, WRONG_VALUE)
    if column.type in BLOB_TYPES:
        limit = _most_bytes(column)
        if len(text.encode()) > limit:
            raise _too_long(len(text.encode()), "bytes", limit)
        return text
    if len(text) > column.flen >= 0:
        if len(text.rstrip(" ")) > column.flen:
            raise _too_long(len(text), "characters", column.flen)
        text = text[: column.flen]
    return text.rstrip(" ") if column.type is MySQLType.STRING else text


def _fits_charset(charset: str, text: str) -> bool:
    if text.isascii() or charset in ("utf8mb4", LATIN1_CHARSET):
        return True
    if charset == "utf8":
        return all(ord(char) < _BMP for char in text)
    if charset == "ascii":
        return False
    try:
        text.encode(python_codec(charset))
    except UnicodeEncodeError:
        return False
    return True


def _label(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    find = enum_label if column.type is MySQLType.ENUM else set_labels
    if value.kind in (Kind.INT, Kind.BIT):
        if not int(item) and column.type is MySQLType.SET:
            return ""
        literal = Literal("integer", int(item))
    else:
        text = _string(value, item)
        labels = (text, *column.elems)
        if column.collate.endswith("_ci") and not all(label.isascii() for label in labels):
            raise NotExactError(f"labels of the collation {column.collate} that are not ASCII")
        literal = Literal("string", text)
    try:
        return find(literal, column)
    except ValueError:
        raise EvaluationError(f"Data truncated for column '{column.name}': {shown(item)}", WRONG_DATA) from None


def _of_json(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str | bytes | None:
    document = json.loads(item)
    for kind, python_type in ((Kind.INT, int), (Kind.REAL, float), (Kind.TEXT, str)):
        if isinstance(document, python_type):
            return plain(column, replace(value, kind=kind), rules, how)(document)
    raise _wrong("JSON", item, column, TRUNCATED if rules.casts else WRONG_VALUE)


def _json(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    if value.kind is Kind.JSON or (value.kind is Kind.INT and not isinstance(item, bool)):
        return str(item)
    if value.kind is not Kind.TEXT or value.is_binary:
        raise _unknown(column, value)
    try:
        return normalise(item, how.switches.json_doubles)
    except ValueError:
        raise EvaluationError(f"Invalid JSON text: {shown(item)}", BAD_JSON) from None


# -- dates and times ---------------------------------------------------------------------------------------------------

IN_GAP = 8179
"""Number of TiDB's error for an UPDATE with a time that the clocks of the session's zone skip."""
_FIRST_TIMESTAMP, _LAST_TIMESTAMP = (1970, 1, 1, 0, 0, 1), (2038, 1, 19, 3, 14, 7)


def _date(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    zone = time_zone_of(how.session_zone)
    fsp = column.fraction_digits if column.type is not MySQLType.DATE else 6
    what = "date" if column.type is MySQLType.DATE else "datetime"
    try:
        if value.kind is Kind.INT and not isinstance(item, bool):
            moment = moment_of_number(item)
        elif value.kind is Kind.DATETIME or (value.kind is Kind.TEXT and not value.is_literal):
            moment = parse_moment(_string(value, item), fsp, zone)
        else:
            raise _unknown(column, value)
        if moment.is_zero or not (moment.year or moment.month or moment.day):
            if not rules.zero_dates:
                raise ValueError("a zero date")
        elif not (moment.month and moment.day) and not rules.zero_in_dates:
            raise ValueError("a month or day of zero")
        if column.type is MySQLType.TIMESTAMP and not moment.is_zero:
            utc = moment.in_zone(zone)
            fields = utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second
            if not _FIRST_TIMESTAMP <= fields <= _LAST_TIMESTAMP:
                raise ValueError("outside TIMESTAMP's range")
            if how.session_zone != how.zone:
                moment = utc.in_zone(dt.timezone.utc, time_zone_of(how.zone))
    except SkippedTimeError:
        raise _wrong("timestamp", item, column, IN_GAP if rules.casts else TRUNCATED) from None
    except (EvaluationError, NotExactError):
        raise
    except (ValueError, OverflowError):
        raise _wrong(what, item, column, TRUNCATED) from None
    return moment.date_text() if column.type is MySQLType.DATE else moment.text(fsp)


def _duration(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    fsp = column.fraction_digits
    if value.kind is Kind.DURATION:
        unit = 10 ** (6 - fsp)
        item = duration_text((abs(item) + unit // 2) // unit * unit * (-1 if item < 0 else 1), 6)
    elif value.kind is Kind.INT and not isinstance(item, bool) and _SECONDS_OF_NUMBER.fullmatch(str(item)):
        item = str(item)
    elif value.kind is not Kind.TEXT or value.is_literal:
        raise _unknown(column, value)
    try:
        return normalise_duration(_string(value, item), fsp)
    except ValueError:
        raise _wrong("time", item, column, TRUNCATED) from None


def _vector(column: Column, value: Value, rules: SqlRules, how: Rendering, item: Any) -> str:
    if value.is_binary:
        raise _unknown(column, value)
    return str(item)


_NUMBERS = frozenset({Kind.INT, Kind.BIT, Kind.REAL, Kind.DECIMAL, Kind.TEXT})
_LABELS = frozenset({Kind.INT, Kind.BIT, Kind.TEXT, Kind.LABEL}), _label
_CONVERSIONS: Mapping[MySQLType, tuple[frozenset[Kind], Callable[..., str | bytes | None]]] = {
    **dict.fromkeys(INTEGER_TYPES, (_NUMBERS | {Kind.DATETIME}, _integer)),
    **dict.fromkeys(FLOAT_TYPES, (_NUMBERS, _float)),
    MySQLType.NEWDECIMAL: (_NUMBERS, _decimal),
    MySQLType.YEAR: (_NUMBERS | {Kind.DATETIME}, _year),
    **dict.fromkeys(
        STRING_TYPES, (_NUMBERS - {Kind.BIT} | {Kind.LABEL, Kind.DATETIME, Kind.DURATION, Kind.JSON}, _text)
    ),
    **dict.fromkeys(CALENDAR_TYPES, (frozenset({Kind.INT, Kind.DATETIME, Kind.TEXT}), _date)),
    MySQLType.DURATION: (frozenset({Kind.DURATION, Kind.INT, Kind.TEXT}), _duration),
    MySQLType.BIT: (frozenset({Kind.INT, Kind.BIT, Kind.TEXT}), _bits),
    MySQLType.ENUM: _LABELS,
    MySQLType.SET: _LABELS,
    MySQLType.JSON: (frozenset({Kind.JSON, Kind.INT, Kind.TEXT}), _json),
    MySQLType.VECTOR_FLOAT32: (frozenset({Kind.TEXT}), _vector),
}
"""The kinds of values that columns take, by type, and what converts an item."""
