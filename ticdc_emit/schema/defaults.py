"""Expressions and defaults in DDL, in the text that TiDB keeps.

Literals are converted to the column's type as TiDB does it: numbers, dates and times in a time zone, labels, bytes.
Rule source: pingcap/tidb ``pkg/ddl`` (``restoreExpr`` flags: :data:`~ticdc_emit.sql.nodes.base.STORED`;
``getDefaultValue``), ``pkg/types/{convert,time}.go``.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import NoReturn
from zoneinfo import ZoneInfo

import numpy as np

from ticdc_emit.errors import DdlError, SchemaError, shown
from ticdc_emit.schema.model import NOW, Column, TableInfo
from ticdc_emit.sql.charsets import collation_key, python_codec
from ticdc_emit.sql.lexer import JobText
from ticdc_emit.sql.nodes.base import STORED, Node, every_node
from ticdc_emit.sql.nodes.expressions import ColumnName, DefaultExpression, Literal
from ticdc_emit.sql.script import parse_expression
from ticdc_emit.sql.types import (
    BLOB_TYPES,
    CALENDAR_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    TYPES,
    MySQLType,
    full_year,
    integer_range,
)

# -- expressions -------------------------------------------------------------------------------------------------------


def function_name(text: str) -> str:
    return text.split("(", 1)[0].strip().lower()


def column_names(text: str) -> tuple[str, ...]:
    """Return the columns that an expression names, in order of appearance, unquoted, without their table."""
    return named_columns(parse_expression(text))


def named_columns(node: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.name for each in every_node(node) if isinstance(each, ColumnName)))


def stored_text(expression: Node | str) -> str:
    node = parse_expression(expression) if isinstance(expression, str) else expression
    try:
        return node.restore(STORED)
    except RecursionError:
        raise DdlError("the expression is nested too deeply", remedy="Use fewer parentheses") from None


# -- numbers -----------------------------------------------------------------------------------------------------------

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_MAX_INTEGER_BYTES, _MAX_INTEGER_DIGITS = 8, 20
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


NOT_UTF8 = re.compile("([\udc80-\udcff])")
"""A byte that is not UTF-8, in text that was decoded with ``errors="surrogateescape"``."""


def go_utf8(raw: bytes) -> str:
    """Decode UTF-8 as Go's JSON writer does: every invalid byte becomes U+FFFD (TiDB keeps its schemas as JSON)."""
    return NOT_UTF8.sub("\ufffd", raw.decode(errors="surrogateescape"))


def plain_text(literal: Literal) -> str:
    """Return the literal's own text, independent of any column: ``5``, ``1.50``, ``100`` for 1e2, a string as it is."""
    value = literal.value
    if isinstance(value, bytes):
        return str(bits_number(value))
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return format(value if value else abs(value), "f")
    return str(value)


def float_text(value: float, *, single: bool = False) -> str:
    """Return the shortest digits that round-trip as float64 (or float32), without an exponent."""
    return str(np.format_float_positional(np.float32(value) if single else np.float64(value), unique=True, trim="-"))


def bits_number(raw: bytes) -> int:
    """Return the number of a hex or bit literal; ``ValueError`` above 64 bits, as in TiDB."""
    significant = raw.lstrip(b"\0")
    if len(significant) > _MAX_INTEGER_BYTES:
        raise ValueError("a hex or bit literal of more than 64 bits is out of range")
    return int.from_bytes(significant, "big")


def number_of(text: str) -> Decimal:
    """Return the number in a text, or ``ValueError``; ``int()`` of a huge exponent writes out all its digits."""
    try:
        number = Decimal(text.strip()) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:  # an exponent beyond 18 digits
        raise ValueError(f"{shown(text)} is out of range") from None
    if number is None:
        raise ValueError(f"{shown(text)} is not a number")
    return number


def _number(literal: Literal) -> Decimal:
    value = literal.value
    if isinstance(value, bytes):
        return Decimal(bits_number(value))
    return Decimal(value) if isinstance(value, float) else number_of(str(value))


def integer_text(literal: Literal, kind: MySQLType, *, unsigned: bool) -> str:
    """Return the text of an integer default; ``ValueError`` if it is out of the type's range."""
    if isinstance(literal.value, float):
        number = round(literal.value)
    else:
        exact = _number(literal)
        if exact.adjusted() >= _MAX_INTEGER_DIGITS and exact:
            raise ValueError(f"{shown(str(literal.value))} is out of range")
        number = int(exact.to_integral_value(ROUND_HALF_UP))
    low, high = integer_range(kind, unsigned=unsigned)
    if not low <= number <= high:
        raise ValueError(f"{number} is out of range")
    return str(number)


def fixed_float(value: float, flen: int, decimal: int) -> float:
    """Return a number as FLOAT(flen, decimal) and DOUBLE hold it; ``ValueError`` if it has too many digits."""
    if decimal < 0:
        return value
    rounded = float(np.rint(value * 10**decimal) / 10**decimal)
    if abs(rounded) > 10.0 ** (flen - decimal) - 10.0**-decimal:
        raise ValueError(f"{rounded} is out of range")
    return rounded


def rounded_float(literal: Literal, kind: MySQLType, flen: int, decimal: int, *, unsigned: bool) -> str:
    """Return the text of a FLOAT or DOUBLE default, rounded to ``decimal`` digits if the type has them."""
    value = float(_number(literal))
    if isinstance(literal.value, Decimal) and not value:
        value = 0.0  # a decimal has no negative zero
    if unsigned and value < 0:
        raise ValueError("negative for an unsigned column")
    value = fixed_float(value, flen, decimal)
    single = kind is MySQLType.FLOAT
    if value in (float("inf"), float("-inf")) or (single and abs(value) > _FLOAT32_MAX):
        raise ValueError(f"{value} is out of range")
    return float_text(value, single=single)


# -- dates and times ---------------------------------------------------------------------------------------------------

_SEPARATED = re.compile(
    r"(\d{1,4})[^\w\s]+(\d{1,2})[^\w\s]+(\d{1,2})"
    r"(?:(?:[T\s]\s*)(\d{1,2})(?:[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?)?"
    r"(Z|[+-]\d{2}(?::?\d{2})?)?",
    re.ASCII,
)
_PACKED = re.compile(r"(\d+)(?:\.(\d*))?(Z|[+-]\d{2}(?::?\d{2})?)?", re.ASCII)
_DURATION = re.compile(r"(?:(\d+)\s+)?(\d+)(?::(\d{1,2}))?(?::(\d{1,2}))?(?:\.(\d*))?", re.ASCII)
_PACKED_WIDTHS = {  # digits -> fields of a date and time without separators
    14: (4, 2, 2, 2, 2, 2),
    12: (2, 2, 2, 2, 2, 2),
    11: (2, 2, 2, 2, 2, 1),
    10: (2, 2, 2, 2, 2),
    9: (2, 2, 2, 2, 1),
    8: (4, 2, 2),
    7: (2, 2, 2, 1),
    6: (2, 2, 2),
    5: (2, 2, 1),
}
# (from, to, addend, factor) converts a number to YYYYMMDDHHMMSS; two-digit years switch at 70
_NUMBER_RANGES = (
    (101, 691231, 20_000_000, 1_000_000),
    (700101, 991231, 19_000_000, 1_000_000),
    (10_000_101, 99_991_231, 0, 1_000_000),
    (101_000_000, 691_231_235_959, 20_000_000_000_000, 1),
    (700_101_000_000, 991_231_235_959, 19_000_000_000_000, 1),
    (10_000_101_000_000, 99_991_231_235_959, 0, 1),
)
_MAX_HOURS = 838
_OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})")


class SkippedTimeError(ValueError):
    """A time that the clocks of a zone skip."""


@dataclass(frozen=True)
class Moment:
    """Date and time fields, with zero parts allowed; ``micro`` is rounded to the fsp."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    micro: int = 0

    @property
    def is_zero(self) -> bool:
        return not any((self.year, self.month, self.day, self.hour, self.minute, self.second, self.micro))

    def date_text(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02}"

    def text(self, fsp: int) -> str:
        clock = f"{self.hour:02}:{self.minute:02}:{self.second:02}"
        return f"{self.date_text()} {clock}{_fraction(self.micro, fsp)}"

    def in_zone(self, zone: dt.tzinfo, target: dt.tzinfo = dt.timezone.utc) -> Moment:
        """Return this local time of ``zone`` (the first of two) in another. Raises :class:`SkippedTimeError`."""
        local = dt.datetime(
            self.year, self.month, self.day, self.hour, self.minute, self.second, self.micro, tzinfo=zone
        )
        utc = local.astimezone(dt.timezone.utc)
        if utc.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
            raise SkippedTimeError("the time falls into a daylight-saving gap")
        return _moment_of(utc.astimezone(target))


def time_zone_of(name: str) -> dt.tzinfo:
    """Return the zone of a name (``Asia/Shanghai``, ``UTC``) or an offset (``+08:00``); ``ValueError`` if unknown."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        delta = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return dt.timezone(delta if offset[1] == "+" else -delta)
    if name.upper() == "UTC" or not name:
        return dt.timezone.utc
    try:
        return ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError(f"unknown time zone {name!r}") from None


def parse_moment(text: str, fsp: int, zone: dt.tzinfo = dt.timezone.utc) -> Moment:
    """Parse a date or date-time text, converting an offset suffix to ``zone``; ``ValueError`` if it is impossible."""
    text = text.strip()
    separated = _SEPARATED.fullmatch(text)
    if separated:
        fields = [int(part or 0) for part in separated.groups()[:6]]
        if len(separated[1]) <= 2:
            fields[0] = _full_year(fields)
        return _checked(fields, separated[7] or "", fsp, separated[8], zone)
    packed = _PACKED.fullmatch(text)
    if not packed or len(packed[1]) not in _PACKED_WIDTHS:
        raise ValueError(f"{text!r} is not a date")
    digits, fields, at = packed[1], [], 0
    for width in _PACKED_WIDTHS[len(digits)]:
        fields.append(int(digits[at : at + width]))
        at += width
    if len(digits) not in (14, 8):
        fields[0] = _full_year(fields)
    fraction = packed[2] or ""
    return _checked(fields + [0] * (6 - len(fields)), fraction if len(digits) > 8 else "", fsp, packed[3], zone)


def moment_of_number(number: int) -> Moment:
    """Read YYMMDD, YYYYMMDD, YYMMDDHHMMSS or YYYYMMDDHHMMSS written as a number; ``ValueError`` for any other text."""
    if number == 0:
        return Moment(0, 0, 0)
    for low, high, offset, factor in _NUMBER_RANGES:
        if low <= number <= high:
            return parse_moment(f"{(number + offset) * factor:014}", 0)
    raise ValueError(f"{number} is not a date")


def _full_year(fields: list[int]) -> int:
    return full_year(fields[0]) if any(fields) else 0


def _checked(fields: list[int], fraction: str, fsp: int, offset: str | None, zone: dt.tzinfo) -> Moment:
    year, month, day, hour, minute, second = fields
    last = calendar.monthrange(year, month)[1] if year and 1 <= month <= 12 else 31
    if month > 12 or day > last or hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such date or time")
    micro, carry = _round_fraction(fraction, fsp)
    moment = Moment(year, month, day, hour, minute, second, micro)
    if not carry and not offset:
        return moment
    if not (year and month and day):
        raise ValueError("a zero date cannot be rounded or shifted")
    exact = dt.datetime(year, month, day, hour, minute, second, micro) + dt.timedelta(seconds=carry)
    if offset:
        shift = dt.timezone.utc if offset == "Z" else time_zone_of(offset if len(offset) > 3 else offset + ":00")
        exact = exact.replace(tzinfo=shift).astimezone(zone)
    return _moment_of(exact)


def _moment_of(exact: dt.datetime) -> Moment:
    return Moment(exact.year, exact.month, exact.day, exact.hour, exact.minute, exact.second, exact.microsecond)


def _round_fraction(fraction: str, fsp: int) -> tuple[int, int]:
    digits = fraction[:7].ljust(7, "0")
    unit = 10 ** (7 - fsp)
    rounded = (int(digits) + unit // 2) // unit * unit // 10
    return rounded % 1_000_000, rounded // 1_000_000


def _fraction(micro: int, fsp: int) -> str:
    return f".{micro:06}"[: fsp + 1] if fsp > 0 else ""


def normalise_duration(text: str, fsp: int) -> str:
    """Return TiDB's text of a TIME value (``-12:34:56.500``); ``ValueError`` if ``text`` is not a time."""
    text = text.strip()
    negative = text.startswith("-")
    parsed = _DURATION.fullmatch(text.lstrip("-") if negative else text)
    if parsed and not (parsed[3] is None and parsed[1] is None and len(parsed[2]) > 7):
        hours, minutes, seconds, fraction = _duration_fields(parsed)
    else:  # a date-time is read for its time
        moment = parse_moment(text, fsp)
        hours, minutes, seconds, fraction = moment.hour, moment.minute, moment.second, f"{moment.micro:06}"
    micro, carry = _round_fraction(fraction, fsp)
    total = hours * 3600 + minutes * 60 + seconds + carry
    if minutes > 59 or seconds > 59 or total > _MAX_HOURS * 3600 + 3599 or (total == 3_020_399 and micro):
        raise ValueError(f"{text!r} is outside TIME's range")
    sign = "-" if negative and (total or micro) else ""
    return f"{sign}{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}{_fraction(micro, fsp)}"


def duration_text(micros: int, fsp: int) -> str:
    seconds, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06}"[: fsp + 1] if fsp > 0 else ""
    sign = "-" if micros < 0 else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _duration_fields(parsed: re.Match[str]) -> tuple[int, int, int, str]:
    days, first, second, third, fraction = parsed.groups()
    if second is None and days is None:  # packed: HHMMSS, MMSS or SS
        packed = int(first)
        return packed // 10000, packed // 100 % 100, packed % 100, fraction or ""
    return int(days or 0) * 24 + int(first), int(second or 0), int(third or 0), fraction or ""


# -- defaults ----------------------------------------------------------------------------------------------------------

_WITHOUT_LITERAL = frozenset({MySQLType.JSON, *BLOB_TYPES, MySQLType.VECTOR_FLOAT32})
_ALLOWED_CALL = re.compile(
    r"rand\(.*|uuid\(\)|uuid_to_bin\(.*|json_(object|array|quote)\(.*|vec_from_text\(.*|nextval\(.*"
    r"|date_format\(now\(\d?\), (_\w+)?'%Y-%m(-%d( %H[.:]%i[.:]%s)?)?'\)"
    r"|replace\((convert\()?(upper\()?uuid\(\).*|upper\(substring_index\(user\(\), (_\w+)?'@'.*|str_to_date\([^()]*\)",
    re.DOTALL,
)
INVALID, NO_LITERAL, NOT_ALLOWED = 1067, 1101, 3770
"""Numbers of TiDB's errors: a default that the column cannot hold, a literal for a BLOB, an expression."""
_FIRST_TIMESTAMP = dt.datetime(1970, 1, 1, 0, 0, 1)
_LAST_TIMESTAMP = dt.datetime(2038, 1, 19, 3, 14, 7, 999999)
_MAX_YEAR, _MIN_YEAR = 2155, 1901
_YEAR = re.compile(r"\s*[+-]?0*\d{1,4}\s*", re.ASCII)
_LABEL_NUMBER = re.compile(r"0|[1-9]\d{0,9}|0[xX][\da-fA-F]{1,9}|0[bB][01]{1,32}|0[oO][0-7]{1,11}", re.ASCII)


def stored_default(default: Literal | DefaultExpression, column: Column, zone: dt.tzinfo) -> str | bytes | None:
    """Return what TiDB keeps for ``default`` (None for NULL) of a column of its final type. Raises ``DdlError``."""
    if isinstance(default, DefaultExpression):
        return _expression_default(default, column)
    if default.kind == "null":
        return None
    try:
        return _literal_default(default, column, zone)
    except DdlError:
        raise
    except (ValueError, OverflowError) as error:
        _refuse(column, str(error))


def original_default(column: Column) -> str | bytes | None:
    """Return what existing rows read of an added column: its default, or the zero of a NOT NULL type. TiDB keeps it
    when the default changes, until a statement rewrites the column.
    """
    if column.default is not None or column.nullable:
        return column.default
    if column.type is MySQLType.ENUM:
        return column.elems[0]
    if column.type is MySQLType.BIT:
        return b""
    if column.type is MySQLType.STRING and column.is_binary:
        return "\0" * column.flen
    return "[]" if column.type is MySQLType.VECTOR_FLOAT32 else TYPES[column.type].zero


def with_original_defaults(table: TableInfo) -> TableInfo:
    """Return a table whose columns without a default have their original one; the same object if none differs. Raises
    ``SchemaError`` for CURRENT_TIMESTAMP, whose time only TiDB knows.
    """
    columns = tuple(
        column if column.default is not None or column.original_default is None else _with_original(column, table)
        for column in table.columns
    )
    return table if columns == table.columns else replace(table, columns=columns)


def _with_original(column: Column, table: TableInfo) -> Column:
    if column.original_default == NOW:
        raise SchemaError(
            "the release shows the time at which the column was added as its DEFAULT, and only TiDB knows it",
            remedy="Add the column without DEFAULT CURRENT_TIMESTAMP, or keep that DEFAULT",
            table=table.full_name,
            column=column.name,
        )
    return replace(column, default=column.original_default)


def check_default_in_mode(column: Column, sql_mode: str) -> None:
    """Refuse a stored default that a strict SQL mode does not allow."""
    modes = sql_mode.upper()
    if "STRICT_" not in modes and "TRADITIONAL" not in modes:
        return
    if column.default in ("", "null") and column.type in _WITHOUT_LITERAL:
        _refuse(column, "BLOB, TEXT and JSON columns cannot have a literal default", "Leave it out", NO_LITERAL)
    day = column.default[:10] if isinstance(column.default, str) and column.type in CALENDAR_TYPES else ""
    refuses = "NO_ZERO_DATE" if day == "0000-00-00" else "NO_ZERO_IN_DATE"
    if "-00" in day and (refuses in modes or "TRADITIONAL" in modes):
        _refuse(column, f"{day} is not a date in this SQL mode", f"Give a date, or set sql_mode without {refuses}")


def _refuse(
    column: Column, why: str, remedy: str = "Give a value that the column can hold", number: int = INVALID
) -> NoReturn:
    message = f"invalid default value for {column.name!r}: {why}"
    raise DdlError(message, remedy=remedy, column=column.name, number=number)


def _expression_default(default: DefaultExpression, column: Column) -> str:
    if default.kind == "now":
        if column.type not in MOMENT_TYPES:
            _refuse(
                column, "CURRENT_TIMESTAMP is allowed in TIMESTAMP and DATETIME columns only", "Use one of these types"
            )
        if default.fsp != column.decimal:
            _refuse(
                column,
                f"CURRENT_TIMESTAMP({default.fsp}) in a column with fsp {column.decimal}",
                "Give both the same number of fractional digits",
            )
        return NOW
    if default.kind == "today":
        if column.type not in CALENDAR_TYPES:
            _refuse(column, "CURRENT_DATE is allowed in DATE columns only", "Use DATE")
        return "CURRENT_DATE"
    text = stored_text(default.text)
    if not _ALLOWED_CALL.fullmatch(text):
        why = f"TiDB does not allow {shown(text)} there"
        _refuse(column, why, "Give a constant, or set the value in the rows", NOT_ALLOWED)
    return text


def _literal_default(literal: Literal, column: Column, zone: dt.tzinfo) -> str | bytes:
    kind = column.type
    if kind in _WITHOUT_LITERAL:
        return _empty_default(literal, column)
    if kind in CALENDAR_TYPES:
        return _date_time_default(literal, column, zone)
    if kind is MySQLType.BIT:
        return _bit_default(literal, column)
    if isinstance(literal.value, bytes) and kind in STRING_TYPES:
        return _text_default(_decoded(literal.value, column), column)
    if isinstance(literal.value, bytes) and kind in LABEL_TYPES:
        literal = Literal("string", go_utf8(_decoded(literal.value, column)))
    if kind is MySQLType.ENUM:
        return enum_label(literal, column)
    if kind is MySQLType.SET:
        return set_labels(literal, column)
    if isinstance(literal.value, JobText) and _NUMBER.fullmatch(text := literal.value.decode()):
        literal = Literal("string", text)
    if kind is MySQLType.DURATION:
        return normalise_duration(plain_text(literal), column.decimal)
    if kind in INTEGER_TYPES:
        return integer_text(literal, kind, unsigned=column.unsigned)
    if kind in FLOAT_TYPES:
        return rounded_float(literal, kind, column.flen, column.decimal, unsigned=column.unsigned)
    text = plain_text(literal)
    if kind is MySQLType.NEWDECIMAL:
        _check_decimal(text, column)
    elif kind is MySQLType.YEAR:
        year = int(text) if _YEAR.fullmatch(text) else -1
        if not (_MIN_YEAR <= year <= _MAX_YEAR or 0 <= year < 100):
            raise ValueError(f"{shown(text)} is not a year of 1901 to 2155")
    elif kind in STRING_TYPES:
        return _text_default(text.encode(), column)
    return text


def _empty_default(literal: Literal, column: Column) -> str:
    # sql_mode='' lets an empty string pass, and TiDB keeps it (JSON: null).
    if literal.value == "" and column.type is not MySQLType.VECTOR_FLOAT32:
        return "null" if column.type is MySQLType.JSON else ""
    why = "BLOB, TEXT, JSON and VECTOR columns cannot have a literal default"
    _refuse(column, why, "Leave the default out", NO_LITERAL)


def _date_time_default(literal: Literal, column: Column, zone: dt.tzinfo) -> str:
    fsp = column.fraction_digits if column.type is not MySQLType.DATE else 6
    number = literal.value if isinstance(literal.value, int) else None
    moment = parse_moment(plain_text(literal), fsp, zone) if number is None else moment_of_number(number)
    if column.type is MySQLType.DATE:
        return moment.date_text()
    if column.type is MySQLType.TIMESTAMP and not moment.is_zero:
        moment = moment.in_zone(zone)
        exact = dt.datetime(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)
        if not _FIRST_TIMESTAMP <= exact.replace(microsecond=moment.micro) <= _LAST_TIMESTAMP:
            raise ValueError("outside TIMESTAMP's range")
    return moment.text(fsp)


def _bit_default(literal: Literal, column: Column) -> bytes:
    value = literal.value
    if isinstance(value, bytes):
        raw = value
    elif isinstance(value, int):
        if value < 0:
            raise ValueError("negative")
        raw = value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big")
    else:
        raw = plain_text(literal).encode()
    if int.from_bytes(raw, "big") >= 1 << column.flen:
        raise ValueError(f"more than {column.flen} bits")
    return raw


def _decoded(raw: bytes, column: Column) -> bytes:
    codec = None if isinstance(raw, JobText) else python_codec(column.charset)
    return raw.decode(codec).encode() if codec else raw


def _text_default(raw: bytes, column: Column) -> str:
    """Check the length and pad BINARY; ``raw`` is UTF-8 unless the column is binary."""
    binary = column.is_binary
    length = len(raw) if binary else len(raw.decode())
    if length > column.flen >= 0 and (binary or len(raw.decode().rstrip(" ")) > column.flen):
        raise ValueError(f"longer than {column.flen}")
    if binary and column.type is MySQLType.STRING:
        raw = raw.ljust(column.flen, b"\0")
    return go_utf8(raw)


def enum_label(literal: Literal, column: Column) -> str:
    """Return the label that a text or a number means in an ENUM column; ``ValueError`` if there is none."""
    if isinstance(literal.value, int):
        return _label_at(literal.value, column)
    text = plain_text(literal).rstrip(" ")
    key = collation_key(text, column.collate)
    for label in column.elems:
        if collation_key(label, column.collate) == key:
            return label
    if not _LABEL_NUMBER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a label")
    return _label_at(int(text, 0), column)


def _label_at(number: int, column: Column) -> str:
    if not 1 <= number <= len(column.elems):
        raise ValueError(f"there is no label {number}")
    return column.elems[number - 1]


def set_labels(literal: Literal, column: Column) -> str:
    """Return the labels that a text or a number means in a SET column; ``ValueError`` if one is missing."""
    if isinstance(literal.value, int):
        mask = literal.value
        if not 1 <= mask < 1 << len(column.elems):
            raise ValueError(f"{mask} is not a combination of the labels")
        return ",".join(label for bit, label in enumerate(column.elems) if mask >> bit & 1)
    text = plain_text(literal)
    if text == "":
        return ""
    wanted = {collation_key(part, column.collate) for part in text.split(",")}
    chosen = [label for label in column.elems if collation_key(label, column.collate) in wanted]
    if len(chosen) != len(wanted):
        raise ValueError(f"{shown(text)} has a label that the set lacks")
    return ",".join(chosen)


def _check_decimal(text: str, column: Column) -> None:
    number = number_of(text)
    if column.unsigned and number < 0:
        raise ValueError("negative for an unsigned column")
    if number and number.adjusted() >= column.flen - column.decimal:
        raise ValueError(f"{shown(text)} is out of range")
