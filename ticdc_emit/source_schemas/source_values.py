"""Defaults and generated columns of other systems in TiDB's SQL.

In: an expression of a dialect, as sqlglot parses it, and TiDB's type of its column. Out: the text after DEFAULT, or an
expression that gives the same values in TiDB; ``None`` where neither exists. Only what has the same meaning everywhere
becomes an expression: sums and products of numbers, text joined and in one case, ``coalesce`` and ``abs``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.columns import MAX_DECIMAL, MAX_SCALE
from ticdc_emit.source_schemas.source_table import LONGEST_VARCHAR
from ticdc_emit.source_schemas.source_types import SourceType, tidb_type
from ticdc_emit.sql.words import quoted, string_literal

_INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
_NUMBERS = (*_INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_TEXTS = ("VARCHAR", "CHAR")
_ALL_TEXTS = (*_TEXTS, "LONGTEXT")
_MOMENTS = ("DATE", "DATETIME")
_BOOLEAN = "TINYINT(1)"
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


def _kind(type_text: str) -> str:
    found = re.match(r"[A-Z]+", type_text)
    return found[0] if found is not None else ""


def default_of(expression: exp.Expr | None, type_text: str, *, dialect: str) -> Default:
    """Return TiDB's default for a dialect's, in a column of TiDB's type."""
    if expression is None:
        return Default(is_equal=False)
    value, casts = _without_casts(expression)
    if isinstance(value, exp.Null):
        return Default()
    if _is_next_value(value):
        return Default(counts=True)
    if not all(_changes_nothing(cast, value, type_text, dialect) for cast in casts):
        return Default(is_equal=False)
    text = _moment_now(value, type_text, dialect) or _new_uuid(value, type_text) or _constant(value, type_text)
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
    target = _type_of(cast, dialect)
    if target is None:
        return True
    kind, own, text = _kind(target), _kind(type_text), _text_of(value)
    if own in _MOMENTS and (_is_now(value, dialect) or isinstance(value, exp.CurrentDate)):
        if own == "DATETIME":
            return (kind == own and _size(target) >= _size(type_text)) or (kind in _ALL_TEXTS and text is not None)
        return kind in _MOMENTS or (kind in _ALL_TEXTS and text is not None)
    if text is None:
        return kind == "LONGTEXT" or (kind in _TEXTS and _size(target) >= _UUID_LENGTH)
    if kind in _ALL_TEXTS:
        is_same = value.is_string or isinstance(value, _STRINGS) or (text.isdigit() and own in _ALL_TEXTS)
        return is_same and _fits(text, target, value, cast)
    if kind == "DATE":
        return own == "DATE" or (own == "DATETIME" and _DAY.fullmatch(text) is not None)
    if kind in ("DATETIME", "TIME"):
        return len(text.partition(".")[2]) <= _size(target) and (own == kind or own in _MOMENTS)
    if target == _BOOLEAN:
        return text.lower() in (*_TRUE, *_FALSE) and own in _NUMBERS
    if kind in _NUMBERS:
        return own in _NUMBERS and not isinstance(value, exp.HexString) and _is_exact(text, target, own)
    return kind == own and (not isinstance(value, exp.HexString) or len(text) <= 2 * _size(target))


def _type_of(cast: exp.Expr, dialect: str) -> str | None:
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


def _size(type_text: str) -> int:
    """Return the length of a text, the fraction digits of a time; 0 without any."""
    found = re.search(r"\d+", type_text)
    return 0 if found is None else int(found[0])


def _fits(text: str, target: str, value: exp.Expr, cast: exp.Expr) -> bool:
    """Return whether a cast to text neither cuts a text nor adds spaces to it."""
    if _kind(target) == "LONGTEXT":
        return True
    if isinstance(value, exp.BitString) and not cast.expressions:  # "bit" in quotes has no length
        return True
    is_padded = isinstance(cast, exp.DataType) and cast.this in _PADDED
    return len(text) == _size(target) if is_padded else len(text) <= _size(target)


def _is_exact(text: str, target: str, own: str) -> bool:
    """Return whether a number type holds all digits of a number."""
    if not _NUMBER.fullmatch(text):
        return False
    size = _decimal(target)
    if size is None:
        return _kind(target) == "DOUBLE" or own == "FLOAT"
    return _decimals(text) <= size[1]


def _decimals(text: str) -> int:
    """Return how many decimals a number has, without zeros at its end."""
    exponent = Decimal(text).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


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
    kind = _kind(type_text)
    is_today = isinstance(value, exp.CurrentDate) and value.this is None  # no zone
    if kind == "DATE" and (is_today or _is_now(value, dialect)):
        return "CURRENT_DATE"
    if kind != "DATETIME" or not _is_now(value, dialect):
        return None
    digits = value.this if isinstance(value, _NOW) else None
    if isinstance(digits, exp.Literal) and int(digits.name) < _size(type_text):
        return None
    return "CURRENT_TIMESTAMP" + type_text.removeprefix("DATETIME")


def _new_uuid(value: exp.Expr, type_text: str) -> str | None:
    is_uuid = isinstance(value, exp.Uuid) or (isinstance(value, exp.Anonymous) and value.name.lower() in _UUID_NAMES)
    length = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", type_text)
    return "(UUID())" if is_uuid and length is not None and int(length[1]) >= _UUID_LENGTH else None


def _constant(value: exp.Expr, type_text: str) -> str | None:
    """Return a constant as TiDB writes it for a type."""
    kind = _kind(type_text)
    text = _text_of(value)
    if text is None:
        return None
    if type_text == _BOOLEAN:
        return str(int(text.lower() in _TRUE)) if text.lower() in (*_TRUE, *_FALSE) else None
    if kind in _NUMBERS:
        if isinstance(value, exp.HexString):
            return str(int(text, 16))
        is_kept = _NUMBER.fullmatch(text) and not (kind in _INTEGERS and _decimals(text))
        return text if is_kept else None
    if kind in (*_TEXTS, "ENUM"):
        return None if isinstance(value, exp.HexString | exp.Boolean) else string_literal(text)
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


# -- generated columns -------------------------------------------------------------------------------------------------


class Generated(NamedTuple):
    """An expression in TiDB's SQL, and TiDB's type for all its values."""

    text: str
    type: str


def generated_of(
    expression: exp.Expr | None, types: Mapping[str, str], name_of: Callable[[exp.Identifier], str], reader: str
) -> Generated | None:
    """Return an expression over columns in TiDB's SQL; ``None`` unless it has the same values there.

    ``types``: TiDB's types of the columns. ``name_of``: the name in ``types`` of an identifier.
    """
    if expression is None:
        return None
    match expression:
        case exp.Paren():
            inner = generated_of(expression.this, types, name_of, reader)
            if inner is None or not isinstance(expression.this, exp.Binary):
                return inner
            return inner._replace(text=f"({inner.text})")
        case exp.Column() if not expression.table and isinstance(expression.this, exp.Identifier):
            name = name_of(expression.this)
            return Generated(quoted(name), types[name]) if name in types else None
        case exp.Literal() if expression.is_string:
            return Generated(string_literal(expression.name), f"VARCHAR({max(len(expression.name), 1)})")
        case exp.National():
            return Generated(string_literal(expression.name), f"VARCHAR({max(len(expression.name), 1)})")
        case exp.Literal() if re.fullmatch(r"\d+(\.\d+)?", expression.name):
            whole, _, decimals = expression.name.partition(".")
            return Generated(expression.name, f"DECIMAL({len(whole) + len(decimals)},{len(decimals)})")
        case exp.Cast() if isinstance(unnested(expression.this), exp.Literal) and not expression.this.is_string:
            return generated_of(unnested(expression.this), types, name_of, reader)
        case exp.Cast() if _is_text(expression.to):  # pg_dump writes lower((email)::text)
            inner = generated_of(expression.this, types, name_of, reader)
            return inner if inner is not None and _kind(inner.type) in _ALL_TEXTS else None
    parts = [generated_of(part, types, name_of, reader) for part in _parts(expression)]
    members = [part for part in parts if part is not None]
    if not members or len(members) < len(parts):
        return None
    kinds = {_kind(member.type) for member in members}
    if kinds <= set(_NUMBERS):
        return _of_numbers(expression, members)
    return _of_texts(expression, members, reader) if kinds <= set(_ALL_TEXTS) else None


def _is_text(kind: exp.DataType) -> bool:
    return not kind.expressions and kind.this in (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR)


def _parts(expression: exp.Expr) -> list[exp.Expr]:
    if isinstance(expression, exp.Coalesce):
        return [expression.this, *expression.expressions]
    if isinstance(expression, exp.Binary):
        return [expression.left, expression.right]
    return [expression.this] if isinstance(expression, exp.Unary | exp.Lower | exp.Upper | exp.Abs) else []


def _of_numbers(expression: exp.Expr, members: list[Generated]) -> Generated | None:
    texts = [member.text for member in members]
    types = [member.type for member in members]
    match expression:
        case exp.Neg():
            return Generated(f"-{texts[0]}", types[0])
        case exp.Abs():
            return Generated(f"abs({texts[0]})", types[0])
        case exp.Coalesce():
            return Generated(f"coalesce({', '.join(texts)})", _widest(types, 0))
        case exp.Add():
            return Generated(f"{texts[0]} + {texts[1]}", _widest(types, 1))
        case exp.Sub():
            return Generated(f"{texts[0]} - {texts[1]}", _widest(types, 1))
        case exp.Mul():
            sizes = [_decimal(each) for each in types]
            if any(size is None for size in sizes):
                return Generated(f"{texts[0]} * {texts[1]}", "DOUBLE")
            digits, decimals = (sum(size[place] for size in sizes if size is not None) for place in (0, 1))
            return Generated(f"{texts[0]} * {texts[1]}", _decimal_type(digits, decimals))
    return None


def _of_texts(expression: exp.Expr, members: list[Generated], reader: str) -> Generated | None:
    texts = [member.text for member in members]
    lengths = [re.search(r"\d+", member.type) for member in members]
    total = sum(int(length[0]) if length is not None else LONGEST_VARCHAR + 1 for length in lengths)
    joined = f"VARCHAR({total})" if total <= LONGEST_VARCHAR else "LONGTEXT"
    match expression:
        case exp.Lower() | exp.Upper():
            return Generated(f"{type(expression).__name__.lower()}({texts[0]})", members[0].type)
        case exp.Coalesce():
            return Generated(f"coalesce({', '.join(texts)})", joined)
        case exp.DPipe() if reader != "oracle":  # whose NULL is an empty text
            return Generated(f"concat({texts[0]}, {texts[1]})", joined)
        case exp.Add() if reader == "tsql":
            return Generated(f"concat({texts[0]}, {texts[1]})", joined)
    return None


def _decimal(type_text: str) -> tuple[int, int] | None:
    """Return digits and decimals of an exact number; ``None`` for FLOAT and DOUBLE."""
    if found := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_text):
        return int(found[1]), int(found[2])
    digits = {"TINYINT": 3, "SMALLINT": 5, "MEDIUMINT": 8, "INT": 10, "BIGINT": 20}.get(_kind(type_text))
    return None if digits is None else (digits, 0)


def _decimal_type(digits: int, decimals: int) -> str:
    scale = min(decimals, MAX_SCALE)
    return f"DECIMAL({min(digits - decimals + scale, MAX_DECIMAL)},{scale})"


def _widest(types: list[str], carry: int) -> str:
    """Return a type for a value of any of the types, with ``carry`` more digits."""
    if len(set(types)) == 1 and _kind(types[0]) != "DECIMAL":
        return types[0]
    sizes = [_decimal(each) for each in types]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return "DOUBLE"
    decimals = max(size[1] for size in known)
    return _decimal_type(max(size[0] - size[1] for size in known) + carry + decimals, decimals)
