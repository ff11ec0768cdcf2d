"""Defaults and generated columns of other systems in TiDB's SQL.

In: an expression of a dialect, as sqlglot parses it, and TiDB's type of its column. Out: the text after DEFAULT, or an
expression that gives the same values in TiDB; ``None`` where neither exists. Only what has the same meaning everywhere
becomes an expression: sums and products of numbers, text joined and in one case, ``coalesce`` and ``abs``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ticdc_emit.schema.columns import MAX_DECIMAL, MAX_SCALE
from ticdc_emit.source_schemas.source_table import LONGEST_VARCHAR
from ticdc_emit.sql.words import quoted, string_literal

_INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
_NUMBERS = (*_INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_TEXTS = ("VARCHAR", "CHAR")
_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\d{8}")
_CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_NOW_NAMES = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "sysdatetime", "getdate")
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Systimestamp)
_UUID_NAMES = ("uuid_generate_v4", "uuid_generate_v1", "uuid_generate_v1mc", "newsequentialid", "uuidv4", "uuidv7")
_UUID_LENGTH = 36


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


def default_of(expression: exp.Expr | None, type_text: str, *, reader: str) -> Default:
    """Return TiDB's default for a dialect's, in a column of TiDB's type."""
    value = None if expression is None else _bare(expression)
    if isinstance(value, exp.Null):
        return Default()
    if value is None:
        return Default(is_equal=False)
    if _is_next_value(value):
        return Default(counts=True)
    text = _moment_now(value, type_text, reader) or _new_uuid(value, type_text) or _constant(value, type_text)
    return Default(text, is_equal=text is not None)


def _bare(value: exp.Expr) -> exp.Expr:
    """Return what is inside parentheses and casts."""
    while True:
        if isinstance(value, exp.Paren | exp.Cast):
            value = value.this
        elif isinstance(value, exp.Convert):
            value = value.expression
        else:
            return value


def _is_next_value(value: exp.Expr) -> bool:
    if isinstance(value, exp.NextValueFor):
        return True
    if isinstance(value, exp.Column):
        return bool(value.table) and value.name.upper() == "NEXTVAL"
    return isinstance(value, exp.Anonymous) and value.name.lower() == "nextval"


def _moment_now(value: exp.Expr, type_text: str, reader: str) -> str | None:
    """Return the default of a column that gets the time of its row."""
    is_now = isinstance(value, _NOW) and not (reader == "snowflake" and value.args.get("sysdate"))  # that is UTC
    is_now |= isinstance(value, exp.Anonymous) and value.name.lower() in _NOW_NAMES and not value.expressions
    is_now |= isinstance(value, exp.Literal) and value.is_string and value.name.lower() == "now"
    if isinstance(value, exp.CurrentDatetime) and value.this is not None:  # of a zone
        return None
    kind = _kind(type_text)
    if kind == "DATETIME" and is_now:
        return "CURRENT_TIMESTAMP" + type_text.removeprefix("DATETIME")
    if kind == "DATE" and (is_now or isinstance(value, exp.CurrentDate)):
        return "CURRENT_DATE"
    return None


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
    if type_text == "TINYINT(1)":
        if text.lower() in (*_TRUE, *_FALSE):
            return str(int(text.lower() in _TRUE))
        return text if _NUMBER.fullmatch(text) else None
    if kind in _NUMBERS:
        if isinstance(value, exp.HexString):
            return str(int(text, 16))
        return text if _NUMBER.fullmatch(text) else None
    if kind in (*_TEXTS, "ENUM"):
        return None if isinstance(value, exp.HexString | exp.Boolean) else string_literal(text)
    if kind in ("DATE", "DATETIME"):
        return f"'{text}'" if _MOMENT.fullmatch(text) else None
    if kind == "TIME":
        return f"'{text}'" if _CLOCK.fullmatch(text) else None
    if kind in ("BINARY", "VARBINARY") and isinstance(value, exp.HexString) and len(text) % 2 == 0:
        return f"x'{text}'" if text else "''"
    return None


def _text_of(value: exp.Expr) -> str | None:
    """Return the text of a constant: digits of a number, the value of a string."""
    if isinstance(value, exp.Neg):
        inner = _text_of(_bare(value.this))
        return None if inner is None or isinstance(value.this, exp.Boolean) else f"-{inner}"
    if isinstance(value, exp.Boolean):
        return str(bool(value.this)).lower()
    if isinstance(value, exp.StrToDate | exp.StrToTime):
        return _formatted(value)
    if isinstance(value, exp.DateStrToDate | exp.TsOrDsToDate | exp.TimeStrToTime):
        return _text_of(value.this)
    constants = (exp.Literal, exp.National, exp.RawString, exp.ByteString, exp.BitString, exp.HexString)
    return str(value.this) if isinstance(value, constants) else None


def _formatted(value: exp.Expr) -> str | None:
    """Return the moment of ``TO_DATE('31.12.1999', 'DD.MM.YYYY')`` as TiDB writes it."""
    text = str(value.this.name)
    form = str(value.args["format"].name) if value.args.get("format") else ""
    if _MOMENT.fullmatch(text) and "%Y-%m-%d" in form:
        return text
    try:
        moment = dt.datetime.strptime(text, form)
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
            return inner if inner is not None and _kind(inner.type) in (*_TEXTS, "LONGTEXT") else None
    parts = [generated_of(part, types, name_of, reader) for part in _parts(expression)]
    members = [part for part in parts if part is not None]
    if not members or len(members) < len(parts):
        return None
    kinds = {_kind(member.type) for member in members}
    if kinds <= set(_NUMBERS):
        return _of_numbers(expression, members)
    return _of_texts(expression, members, reader) if kinds <= {*_TEXTS, "LONGTEXT"} else None


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
