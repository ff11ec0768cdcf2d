"""Column defaults as TiDB stores them. In: a DEFAULT and its column. Out: text (bytes for BIT).

Rule source: pingcap/tidb ``pkg/ddl/add_column.go`` (``getDefaultValue``, ``SetDefaultValue``, ``checkDefaultValue``)
with ``sql_mode=''``. Some stored texts are the literal's own (DECIMAL, YEAR, CHAR), others the converted value's
(integers, floats, dates, ENUM, SET); TIMESTAMP is stored in UTC, BINARY padded with zero bytes.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NoReturn

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.charsets import collation_key, python_codec
from ticdc_emit.schema.expressions import function_name, stored_text
from ticdc_emit.schema.literals import go_utf8, integer_text, number_of, plain_text, rounded_float
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.nodes import DefaultExpression, Literal
from ticdc_emit.schema.temporal import moment_of_number, normalise_duration, parse_moment
from ticdc_emit.schema.types import BLOB_TYPES, FLOAT_TYPES, INTEGER_TYPES, LABEL_TYPES, STRING_TYPES, MySQLType

__all__ = ["stored_default"]

_DATE_TIMES = frozenset({MySQLType.DATE, MySQLType.DATETIME, MySQLType.TIMESTAMP})
_WITHOUT_LITERAL = frozenset({MySQLType.JSON, *BLOB_TYPES, MySQLType.VECTOR_FLOAT32})
_ALLOWED_CALLS = frozenset(
    {
        "rand",
        "uuid",
        "uuid_to_bin",
        "date_format",
        "replace",
        "upper",
        "str_to_date",
        "json_object",
        "json_array",
        "json_quote",
        "vec_from_text",
        "nextval",
        "lastval",
        "setval",
    }
)
_FIRST_TIMESTAMP = dt.datetime(1970, 1, 1, 0, 0, 1)
_LAST_TIMESTAMP = dt.datetime(2038, 1, 19, 3, 14, 7, 999999)
_MAX_YEAR, _MIN_YEAR = 2155, 1901
_YEAR = re.compile(r"\s*[+-]?0*\d{1,4}\s*", re.ASCII)
_LABEL_NUMBER = re.compile(r"0|[1-9]\d{0,9}|0[xX][\da-fA-F]{1,9}|0[bB][01]{1,32}|0[oO][0-7]{1,11}", re.ASCII)
_MAX_SHOWN = 60


def stored_default(default: Literal | DefaultExpression, column: Column, zone: dt.tzinfo) -> str | bytes | None:
    """Return what TiDB keeps for ``default`` (None for NULL); ``DdlError`` if the column cannot take it.

    ``column`` needs its final type, length, charset and flags; ``zone`` is the session's time zone.
    """
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


def _refuse(column: Column, why: str, remedy: str = "Give a value that the column can hold") -> NoReturn:
    raise DdlError(f"invalid default value for {column.name!r}: {why}", remedy=remedy, column=column.name)


def _expression_default(default: DefaultExpression, column: Column) -> str:
    if default.kind == "now":
        if column.type not in (MySQLType.TIMESTAMP, MySQLType.DATETIME):
            _refuse(
                column, "CURRENT_TIMESTAMP is allowed in TIMESTAMP and DATETIME columns only", "Use one of these types"
            )
        if default.fsp != column.decimal:
            _refuse(
                column,
                f"CURRENT_TIMESTAMP({default.fsp}) in a column with fsp {column.decimal}",
                "Give both the same number of fractional digits",
            )
        return "CURRENT_TIMESTAMP"
    if default.kind == "today":
        if column.type not in _DATE_TIMES:
            _refuse(column, "CURRENT_DATE is allowed in DATE columns only", "Use DATE")
        return "CURRENT_DATE"
    name = function_name(default.text)
    if name not in _ALLOWED_CALLS and not name.startswith("next value"):
        _refuse(
            column, f"TiDB does not allow the function {name!r} there", "Give a constant, or set the value in the rows"
        )
    return stored_text(default.text)


def _literal_default(literal: Literal, column: Column, zone: dt.tzinfo) -> str | bytes:
    kind = column.type
    if kind in _WITHOUT_LITERAL:
        return _empty_default(literal, column)
    if kind in _DATE_TIMES:
        return _date_time_default(literal, column, zone)
    if kind is MySQLType.BIT:
        return _bit_default(literal, column)
    if isinstance(literal.value, bytes) and kind in STRING_TYPES:
        return _text_default(_decoded(literal.value, column), column)
    if isinstance(literal.value, bytes) and kind in LABEL_TYPES:
        literal = Literal("string", go_utf8(_decoded(literal.value, column)))
    if kind is MySQLType.ENUM:
        return _enum_default(literal, column)
    if kind is MySQLType.SET:
        return _set_default(literal, column)
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
        _check_year(text)
    elif kind in STRING_TYPES:
        return _text_default(text.encode(), column)
    return text


def _empty_default(literal: Literal, column: Column) -> str:
    # sql_mode='' lets an empty string pass, and TiDB keeps it (JSON: null).
    if literal.value == "" and column.type is not MySQLType.VECTOR_FLOAT32:
        return "null" if column.type is MySQLType.JSON else ""
    _refuse(column, "BLOB, TEXT, JSON and VECTOR columns cannot have a literal default", "Leave the default out")


def _date_time_default(literal: Literal, column: Column, zone: dt.tzinfo) -> str:
    fsp = max(column.decimal, 0) if column.type is not MySQLType.DATE else 6
    number = literal.value if isinstance(literal.value, int) else None
    moment = parse_moment(plain_text(literal), fsp, zone) if number is None else moment_of_number(number)
    if column.type is MySQLType.DATE:
        return moment.date_text()
    if column.type is MySQLType.TIMESTAMP and not moment.is_zero:
        moment = moment.to_utc(zone)
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
    """Convert a hex or bit literal from the column's charset to UTF-8; binary columns keep the bytes."""
    codec = python_codec(column.charset)
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


def _enum_default(literal: Literal, column: Column) -> str:
    if isinstance(literal.value, int):
        return _label_at(literal.value, column)
    text = plain_text(literal).rstrip(" ")
    key = collation_key(text, column.collate)
    for label in column.elems:
        if collation_key(label, column.collate) == key:
            return label
    if not _LABEL_NUMBER.fullmatch(text):
        raise ValueError(f"{text[:_MAX_SHOWN]!r} is not a label")
    return _label_at(int(text, 0), column)


def _label_at(number: int, column: Column) -> str:
    if not 1 <= number <= len(column.elems):
        raise ValueError(f"there is no label {number}")
    return column.elems[number - 1]


def _set_default(literal: Literal, column: Column) -> str:
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
        raise ValueError(f"{text[:_MAX_SHOWN]!r} has a label that the set lacks")
    return ",".join(chosen)


def _check_decimal(text: str, column: Column) -> None:
    number = number_of(text)
    if column.unsigned and number < 0:
        raise ValueError("negative for an unsigned column")
    if number and number.adjusted() >= column.flen - column.decimal:
        raise ValueError(f"{text[:_MAX_SHOWN]} is out of range")


def _check_year(text: str) -> None:
    year = int(text) if _YEAR.fullmatch(text) else -1
    if not (_MIN_YEAR <= year <= _MAX_YEAR or 0 <= year < 100):
        raise ValueError(f"{text[:_MAX_SHOWN]!r} is not a year of 1901 to 2155")
