"""Defaults of other systems in TiDB's SQL: constants, the current time and date, new UUIDs, the next of a sequence.

In: an expression of a dialect, as sqlglot reads it, and TiDB's type of its column. Out: the text after DEFAULT;
``None`` where TiDB has no equal. A cast is dropped only where it changes nothing.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.frames.source_table import KEEPS_SPACES, TypeChoice
from ticdc_emit.schema.script_types import tidb_type
from ticdc_emit.sql.words import string_literal

_INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
_NUMBERS = (*_INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_MOMENTS = ("DATE", "DATETIME")
_BOOLEAN = "TINYINT(1)"
_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\d{8}")
_CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Systimestamp)
_NOW_NAMES = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "sysdatetime", "getdate")
_UUID_NAMES = ("uuid_generate_v4", "uuid_generate_v1", "uuid_generate_v1mc", "newsequentialid", "uuidv4", "uuidv7")
_STRINGS = (exp.National, exp.RawString, exp.ByteString, exp.BitString)


def counts_up(value: exp.Expr) -> bool:
    """Return whether a default is the next value of a sequence."""
    value = _uncalled(value)
    if isinstance(value, exp.Column):
        return bool(value.table) and value.name.upper() == "NEXTVAL"
    return isinstance(value, exp.NextValueFor) or (isinstance(value, exp.Anonymous) and value.name.lower() == "nextval")


def default_of(value: exp.Expr, choice: TypeChoice, dialect: str) -> str | None:
    """Return TiDB's default for a dialect's, in a column of TiDB's type; "" for NULL, ``None`` without an equal."""
    casts: list[exp.DataType] = []
    while isinstance(value := _uncalled(value), exp.Cast):
        casts.append(value.to)
        value = value.this
    if isinstance(value, exp.Null) or (dialect == "oracle" and _constant(value) == ""):  # which is NULL there
        return ""
    if not all(_changes_nothing(cast, value, choice.text, dialect) for cast in casts):
        return None
    return _function(value, choice.text) or _literal(value, choice)


def _uncalled(value: exp.Expr) -> exp.Expr:
    while isinstance(value, exp.Paren) or (isinstance(value, exp.Dot) and isinstance(value.expression, exp.Anonymous)):
        value = value.this if isinstance(value, exp.Paren) else value.expression
    return value


def _kind(type_text: str) -> str:
    return re.split(r"\W", type_text)[0]


def _changes_nothing(cast: exp.DataType, value: exp.Expr, own: str, dialect: str) -> bool:
    """Return whether a value is the same after a cast, in a column of TiDB's type."""
    try:
        target = tidb_type(cast, dialect).text
    except UnsupportedTypeError:  # one of the script's, which is that of the column
        return True
    text = _constant(value)
    if target == own or (target == "LONGTEXT" and (text is None or value.is_string or isinstance(value, _STRINGS))):
        return True
    if text is None or cast.expressions:
        return False
    kind = _kind(target)
    if kind in _NUMBERS and _kind(own) in _NUMBERS and target != _BOOLEAN and own != _BOOLEAN:
        return _WHOLE.fullmatch(text) is not None or kind == "DECIMAL"
    if kind == "DATE":
        return _kind(own) == "DATETIME" and _DAY.fullmatch(text) is not None
    return kind == _kind(own) and (kind in ("DATETIME", "TIME") or cast.this is exp.DType.BIT)


def _function(value: exp.Expr, own: str) -> str | None:
    kind, name = _kind(own), value.name.lower() if isinstance(value, exp.Anonymous) and not value.expressions else ""
    is_now = (isinstance(value, _NOW) and not isinstance(value.this, exp.Expr)) or name in _NOW_NAMES
    is_now |= value.is_string and value.name.lower() == "now"
    is_today = isinstance(value, exp.CurrentDate) and value.this is None  # no zone
    if kind == "DATE" and (is_now or is_today):
        return "CURRENT_DATE"
    if kind == "DATETIME" and is_now:
        return f"CURRENT_TIMESTAMP{own.removeprefix('DATETIME')}"
    length = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", own)
    is_uuid = isinstance(value, exp.Uuid) or name in _UUID_NAMES
    return "(UUID())" if is_uuid and length is not None and int(length[1]) >= 36 else None


def _literal(value: exp.Expr, choice: TypeChoice) -> str | None:
    """Return a constant as TiDB writes it for a type."""
    own, kind, text = choice.text, _kind(choice.text), _constant(value)
    if text is None:
        return None
    if own == _BOOLEAN:
        return str(int(text.lower() in _TRUE)) if text.lower() in (*_TRUE, *_FALSE) else None
    if kind in _NUMBERS:
        if isinstance(value, exp.HexString):
            return str(int(text, 16))
        return text if (_WHOLE if kind in _INTEGERS else _NUMBER).fullmatch(text) else None
    if kind in ("VARCHAR", "CHAR", "ENUM"):
        length = re.search(r"\d+", own)
        is_padded = choice.assumption == KEEPS_SPACES and length is not None
        is_text = not isinstance(value, exp.HexString | exp.Boolean)
        return string_literal(text.ljust(int(length[0])) if is_padded and length else text) if is_text else None
    forms = {"DATE": _MOMENT, "DATETIME": _MOMENT, "TIME": _CLOCK}
    if kind in forms:
        return f"'{text}'" if forms[kind].fullmatch(text) else None
    if kind in ("BINARY", "VARBINARY") and isinstance(value, exp.HexString) and len(text) % 2 == 0:
        return f"x'{text}'" if text else "''"
    return None


def _constant(value: exp.Expr) -> str | None:
    if isinstance(value, exp.Neg):
        inner = _constant(value.this)
        return None if inner is None or isinstance(value.this, exp.Boolean) else f"-{inner}"
    if isinstance(value, exp.Boolean):
        return str(bool(value.this)).lower()
    return str(value.this) if isinstance(value, (exp.Literal, exp.HexString, *_STRINGS)) else None
