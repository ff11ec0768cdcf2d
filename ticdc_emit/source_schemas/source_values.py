"""Defaults of other systems in TiDB's SQL, and what both they and generated columns ask of a type.

In: an expression of a dialect, as sqlglot parses it, and TiDB's type of its column. Out: the text after DEFAULT;
``None`` where TiDB has no equal. A cast may be dropped only where it changes nothing.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.source_schemas.source_types import SourceType, tidb_type
from ticdc_emit.sql.words import string_literal

INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
NUMBERS = (*INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_TEXTS = ("VARCHAR", "CHAR")
ALL_TEXTS = (*_TEXTS, "LONGTEXT")
_MOMENTS = ("DATE", "DATETIME")
BOOLEAN = "TINYINT(1)"
_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\d{8}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}")
_CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_NOW_NAMES = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "sysdatetime", "getdate")
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Systimestamp)
_UUID_NAMES = ("uuid_generate_v4", "uuid_generate_v1", "uuid_generate_v1mc", "newsequentialid", "uuidv4", "uuidv7")
_UUID_LENGTH = 36
_STRINGS = (exp.National, exp.RawString, exp.ByteString, exp.BitString)
_PADDED = (exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR, exp.DataType.Type.BIT)
_ISO_FORM = "%Y-%m-%d %H:%M:%S"
_MERIDIEM = re.compile(r"\b[AP]M\b", re.IGNORECASE)
_WHOLE_DAY = re.compile(r"(?=.*%Y)(?=.*%d)(?=.*%[mbB])|(?=.*%Y)(?=.*%j)")


class Default(NamedTuple):
    """``text``: after DEFAULT, ``None`` for no default. ``counts``: the next value of a sequence. ``is_equal``: whether
    TiDB gives a new row the same value.
    """

    text: str | None = None
    counts: bool = False
    is_equal: bool = True


@lru_cache(maxsize=4096)
def parsed(text: str, reader: str) -> exp.Expr | None:
    """Return the tree of an expression, which nobody changes; ``None`` if sqlglot does not read it."""
    try:
        return parse_one(text, read=reader)
    except (SqlglotError, RecursionError, ValueError):
        return None


def kind_of(type_text: str) -> str:
    """Return the first word of a type of TiDB."""
    found = re.match(r"[A-Z]+", type_text)
    return found[0] if found is not None else ""


def default_of(expression: exp.Expr | None, type_text: str, *, dialect: str, is_padded: bool = False) -> Default:
    """Return TiDB's default for a dialect's, in a column of TiDB's type. ``is_padded``: it keeps the spaces of CHAR."""
    if expression is None:
        return Default(is_equal=False)
    value, casts = _without_casts(expression)
    if isinstance(value, exp.Null) or (dialect == "oracle" and _text_of(value) == ""):  # which is NULL there
        return Default()
    if _is_next_value(value):
        return Default(counts=True)
    if not all(_changes_nothing(cast, value, type_text, dialect) for cast in casts):
        return Default(is_equal=False)
    text = (
        _moment_now(value, type_text, dialect) or _new_uuid(value, type_text) or _constant(value, type_text, is_padded)
    )
    return Default(text, is_equal=text is not None)


def _without_casts(value: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return what is inside parentheses and casts, and the types of the casts."""
    casts: list[exp.Expr] = []
    while True:
        match value:
            case exp.Paren():
                value = value.this
            case exp.Cast():
                casts.append(value.to)
                value = value.this
            case exp.Convert():
                casts.append(value.this)
                value = value.expression
            case exp.TsOrDsToDate() | exp.DateStrToDate():
                casts.append(exp.DataType.build("date"))
                value = value.this
            case exp.StrToDate():
                return value, [*casts, exp.DataType.build("date")]
            case _:
                return value, casts


def _changes_nothing(cast: exp.Expr, value: exp.Expr, type_text: str, dialect: str) -> bool:
    """Return whether a value is the same after a cast, in a column of TiDB's type."""
    target = cast_type(cast, dialect)
    if target is None:
        return True
    if kind_of(type_text) in _MOMENTS and (_is_now(value, dialect) or isinstance(value, exp.CurrentDate)):
        return _keeps_now(target, value, type_text)
    kind, own, text = kind_of(target), kind_of(type_text), _text_of(value)
    if text is None:
        return kind == "LONGTEXT" or (kind in _TEXTS and size_of(target) >= _UUID_LENGTH)
    if kind in ALL_TEXTS:
        is_same = value.is_string or isinstance(value, _STRINGS) or (text.isdigit() and own in ALL_TEXTS)
        return is_same and _fits(text, target, value, cast)
    if kind == "DATE":
        return own == "DATE" or (own == "DATETIME" and _DAY.fullmatch(text) is not None)
    if kind in ("DATETIME", "TIME"):
        return len(text.partition(".")[2]) <= size_of(target) and (own == kind or own in _MOMENTS)
    if target == BOOLEAN:
        return text.lower() in (*_TRUE, *_FALSE) and own in NUMBERS
    if kind in NUMBERS:
        return own in NUMBERS and not isinstance(value, exp.HexString) and _is_exact(text, target, own)
    return kind == own and (not isinstance(value, exp.HexString) or len(text) <= 2 * size_of(target))


def _keeps_now(target: str, value: exp.Expr, type_text: str) -> bool:
    """Return whether a cast keeps the current time as a column of a date or time has it."""
    kind = kind_of(target)
    if kind in ALL_TEXTS:
        return value.is_string  # 'now'::text
    if kind_of(type_text) == "DATE":
        return kind in _MOMENTS
    return kind == "DATETIME" and size_of(target) >= size_of(type_text)


def cast_type(cast: exp.Expr, dialect: str) -> str | None:
    """Return TiDB's type of a cast; ``None`` for one that only the script knows, which is that of the column."""
    shown = cast.sql(dialect=dialect).upper()
    arguments = re.search(r"\(([^()]*)\)", shown)
    name = re.sub(r"\s*\([^()]*\)", "", shown).rpartition(".")[2]
    given = () if arguments is None else tuple(each.strip() for each in arguments[1].split(","))
    try:
        choice = tidb_type(dialect, SourceType(name, given, shown))
    except UnsupportedTypeError:
        return None
    return None if choice is None else choice.text


def exact_size(type_text: str) -> tuple[int, int] | None:
    """Return digits and decimals of an exact number; ``None`` for FLOAT and DOUBLE."""
    if found := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_text):
        return int(found[1]), int(found[2])
    digits = {"TINYINT": 3, "SMALLINT": 5, "MEDIUMINT": 8, "INT": 10, "BIGINT": 20}.get(kind_of(type_text))
    return None if digits is None else (digits, 0)


def size_of(type_text: str) -> int:
    """Return the length of a text, the fraction digits of a time; 0 without any."""
    found = re.search(r"\d+", type_text)
    return 0 if found is None else int(found[0])


def _fits(text: str, target: str, value: exp.Expr, cast: exp.Expr) -> bool:
    """Return whether a cast to text neither cuts a text nor adds spaces to it."""
    if kind_of(target) == "LONGTEXT":
        return True
    if isinstance(value, exp.BitString) and not cast.expressions:  # "bit" in quotes has no length
        return True
    is_padded = isinstance(cast, exp.DataType) and cast.this in _PADDED
    return len(text) == size_of(target) if is_padded else len(text) <= size_of(target)


def _is_exact(text: str, target: str, own: str) -> bool:
    """Return whether a number type holds all digits of a number."""
    if not _NUMBER.fullmatch(text):
        return False
    size = exact_size(target)
    if size is None:
        return kind_of(target) == "DOUBLE" or own == "FLOAT"
    return decimals_of(text) <= size[1]


def decimals_of(text: str) -> int:
    """Return how many decimals a number has, without zeros at its end."""
    _, digits, exponent = Decimal(text).as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    zeros = len(digits) - len(significant)
    return max(-exponent - zeros, 0) if significant and isinstance(exponent, int) else 0


def _is_next_value(value: exp.Expr) -> bool:
    if isinstance(value, exp.NextValueFor):
        return True
    if isinstance(value, exp.Column):
        return bool(value.table) and value.name.upper() == "NEXTVAL"
    return isinstance(value, exp.Anonymous) and value.name.lower() == "nextval"


def _is_now(value: exp.Expr, dialect: str) -> bool:
    if isinstance(value, _NOW):
        is_utc = dialect == "snowflake" and value.args.get("sysdate")
        is_of_zone = isinstance(value, exp.CurrentDatetime) and value.this is not None
        return not is_utc and not is_of_zone
    if isinstance(value, exp.Anonymous):
        return value.name.lower() in _NOW_NAMES and not value.expressions
    return isinstance(value, exp.Literal) and value.is_string and value.name.lower() == "now"


def _moment_now(value: exp.Expr, type_text: str, dialect: str) -> str | None:
    """Return the default of a column that gets the time of its row."""
    kind = kind_of(type_text)
    is_today = isinstance(value, exp.CurrentDate) and value.this is None  # no zone
    if kind == "DATE" and (is_today or _is_now(value, dialect)):
        return "CURRENT_DATE"
    if kind != "DATETIME" or not _is_now(value, dialect):
        return None
    digits = value.this if isinstance(value, _NOW) else None
    if isinstance(digits, exp.Literal) and int(digits.name) < size_of(type_text):
        return None
    return "CURRENT_TIMESTAMP" + type_text.removeprefix("DATETIME")


def _new_uuid(value: exp.Expr, type_text: str) -> str | None:
    is_uuid = isinstance(value, exp.Uuid) or (isinstance(value, exp.Anonymous) and value.name.lower() in _UUID_NAMES)
    length = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", type_text)
    return "(UUID())" if is_uuid and length is not None and int(length[1]) >= _UUID_LENGTH else None


def _constant(value: exp.Expr, type_text: str, is_padded: bool) -> str | None:
    """Return a constant as TiDB writes it for a type."""
    kind = kind_of(type_text)
    text = _text_of(value)
    if text is None:
        return None
    if type_text == BOOLEAN:
        return str(int(text.lower() in _TRUE)) if text.lower() in (*_TRUE, *_FALSE) else None
    if kind in NUMBERS:
        if isinstance(value, exp.HexString):
            return str(int(text, 16))
        is_kept = _NUMBER.fullmatch(text) and not (kind in INTEGERS and decimals_of(text))
        return text if is_kept else None
    if kind in (*_TEXTS, "ENUM"):
        if isinstance(value, exp.HexString | exp.Boolean):
            return None
        return string_literal(text.ljust(size_of(type_text)) if is_padded else text)
    if kind in _MOMENTS:
        return f"'{text}'" if _MOMENT.fullmatch(text) else None
    if kind == "TIME":
        return f"'{text}'" if _CLOCK.fullmatch(text) else None
    if kind in ("BINARY", "VARBINARY") and isinstance(value, exp.HexString) and len(text) % 2 == 0:
        return f"x'{text}'" if text else "''"
    return None


def _text_of(value: exp.Expr) -> str | None:
    """Return the text of a constant: digits of a number, the value of a string."""
    if isinstance(value, exp.Neg):
        number, casts = _without_casts(value.this)
        inner = _text_of(number)
        return None if inner is None or casts or isinstance(number, exp.Boolean) else f"-{inner}"
    if isinstance(value, exp.Boolean):
        return str(bool(value.this)).lower()
    if isinstance(value, exp.StrToDate | exp.StrToTime):
        return _formatted(value)
    if isinstance(value, exp.TimeStrToTime):
        return _text_of(value.this)
    return str(value.this) if isinstance(value, (exp.Literal, exp.HexString, *_STRINGS)) else None


def _formatted(value: exp.Expr) -> str | None:
    """Return the moment of ``TO_DATE('31.12.1999', 'DD.MM.YYYY')`` as TiDB writes it."""
    text = str(value.this.name)
    form = str(value.args["format"].name) if value.args.get("format") else ""
    if _MOMENT.fullmatch(text) and form.startswith("%Y-%m-%d") and _ISO_FORM.startswith(form[: len(_ISO_FORM)]):
        return text
    if not _WHOLE_DAY.search(form):
        return None
    try:
        moment = dt.datetime.strptime(text, _MERIDIEM.sub("%p", form))
    except ValueError:
        return None
    return moment.isoformat(" ") if moment.time() != dt.time() else moment.date().isoformat()


def unnested(expression: exp.Expr | None) -> exp.Expr | None:
    """Return an expression without the parentheses around it."""
    while isinstance(expression, exp.Paren):
        expression = expression.this
    return expression
