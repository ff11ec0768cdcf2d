"""Generated columns of other systems in TiDB's SQL.

In: an expression of a dialect, as sqlglot parses it, and its columns (:class:`Generated`). Out: an expression with the
same values in TiDB, and TiDB's type for them; ``None`` if TiDB does not have one. Only what has the same meaning
everywhere becomes an expression: sums and products of numbers, text joined and in one case, ``coalesce`` and ``abs``.
Rule sources: the systems' manuals, such as Transact-SQL's "Precision, scale, and length", ISNULL, + and - (string
concatenation, unary minus).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sqlglot import exp

from ticdc_emit.schema.columns import MAX_DECIMAL, MAX_SCALE
from ticdc_emit.schema.frames.source_table import LONGEST_VARCHAR
from ticdc_emit.source_schemas.source_values import (
    ALL_TEXTS,
    BOOLEAN,
    INTEGERS,
    NUMBERS,
    cast_type,
    decimals_of,
    exact_size,
    kind_of,
    size_of,
    unnested,
)
from ticdc_emit.sql.words import string_literal

_ROUNDED_BEYOND = {"tsql": 38, "spark": 38, "oracle": 39}
"""The digits of a result that a system computes exactly; the others refuse what they cannot."""

_SNOWFLAKE_SCALE = 12
_CUT_BEYOND = 4000
"""The characters of joined text that SQL Server keeps; of varchar it keeps 8,000."""

_LARGEST_INT = 2**31 - 1
_OPERATORS: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


class Generated(NamedTuple):
    """An expression in TiDB's SQL, and TiDB's type for all its values. ``is_money``: of SQL Server's money, whose
    products have four decimals. ``is_constant``: a number that is written out.
    """

    text: str
    type: str
    is_money: bool = False
    is_constant: bool = False


def generated_of(
    expression: exp.Expr | None,
    columns: Mapping[str, Generated],
    name_of: Callable[[exp.Identifier], str],
    dialect: str,
) -> Generated | None:
    """Return an expression over columns in TiDB's SQL; ``None`` unless it has the same values there.

    ``name_of``: the name in ``columns`` of an identifier.
    """
    if expression is None:
        return None
    match expression:
        case exp.Paren():
            inner = generated_of(expression.this, columns, name_of, dialect)
            if inner is None or not isinstance(expression.this, exp.Binary):
                return inner
            return inner._replace(text=f"({inner.text})")
        case exp.Column() if not expression.table and isinstance(expression.this, exp.Identifier):
            return columns.get(name_of(expression.this))
        case exp.Literal() if expression.is_string:
            return _text(expression.name)
        case exp.National():
            return _text(expression.name)
        case exp.Literal() if re.fullmatch(r"\d+(\.\d+)?", expression.name):
            whole, _, decimals = expression.name.partition(".")
            kind = f"DECIMAL({len(whole) + len(decimals)},{len(decimals)})"
            return Generated(expression.name, kind, is_constant=True)
        case exp.Cast() if isinstance(unnested(expression.this), exp.Literal) and not expression.this.is_string:
            number = generated_of(unnested(expression.this), columns, name_of, dialect)
            return None if number is None else _cast_number(number, cast_type(expression.to, dialect) or "")
        case exp.Cast() if _is_text(expression.to, dialect):  # pg_dump writes lower((email)::text)
            inner = generated_of(expression.this, columns, name_of, dialect)
            return inner if inner is not None and kind_of(inner.type) in ALL_TEXTS else None
    parts = [generated_of(part, columns, name_of, dialect) for part in _parts(expression)]
    members = [part for part in parts if part is not None]
    if not members or len(members) < len(parts):
        return None
    kinds = {kind_of(member.type) for member in members}
    if isinstance(expression, exp.Coalesce) and expression.args.get("is_null"):
        return _isnull(members) if kinds <= set(NUMBERS) or kinds <= set(ALL_TEXTS) else None
    if kinds <= set(NUMBERS):
        return _of_numbers(expression, members, dialect)
    return _of_texts(expression, members, dialect) if kinds <= set(ALL_TEXTS) else None


def holds(type_text: str, generated: Generated) -> bool:
    """Return whether a column of TiDB's type takes values of an expression as every system does."""
    own, kind = kind_of(type_text), kind_of(generated.type)
    if kind in ALL_TEXTS:
        return own in ALL_TEXTS
    if kind in ("FLOAT", "DOUBLE"):
        return own in ("FLOAT", "DOUBLE")
    return type_text == generated.type or (own in NUMBERS and own != "FLOAT" and type_text != BOOLEAN)


def _text(text: str) -> Generated:
    return Generated(string_literal(text), f"VARCHAR({max(len(text), 1)})")


def _cast_number(number: Generated, target: str) -> Generated | None:
    """Return a number as a type has it; ``None`` if that changes it."""
    if kind_of(target) == "DOUBLE":
        return Generated(f"{number.text}e0", "DOUBLE", is_constant=True)
    size = exact_size(target)
    return number if size is not None and target != BOOLEAN and decimals_of(number.text) <= size[1] else None


def _is_text(kind: exp.Expr, dialect: str) -> bool:
    """Return whether a type is text of any length."""
    target = cast_type(kind, dialect)
    return target == "LONGTEXT" and isinstance(kind, exp.DataType) and kind.this in exp.DataType.TEXT_TYPES


def _parts(expression: exp.Expr) -> list[exp.Expr]:
    if isinstance(expression, exp.Coalesce):
        return [expression.this, *expression.expressions]
    if isinstance(expression, exp.Binary):
        return [expression.left, expression.right]
    return [expression.this] if isinstance(expression, exp.Unary | exp.Lower | exp.Upper | exp.Abs) else []


# -- numbers -----------------------------------------------------------------------------------------------------------


def _of_numbers(expression: exp.Expr, members: list[Generated], dialect: str) -> Generated | None:
    first, texts = members[0], [member.text for member in members]
    match expression:
        case exp.Neg():
            kind = "SMALLINT" if first.type == "TINYINT UNSIGNED" else first.type
            return None if "UNSIGNED" in kind else first._replace(text=f"-{first.text}", type=kind)
        case exp.Abs():
            return first._replace(text=f"abs({first.text})")
        case exp.Coalesce() if len({member.type for member in members}) == 1:
            return first._replace(text=f"coalesce({', '.join(texts)})", is_constant=False)
        case exp.Coalesce() if not any(kind_of(member.type) == "FLOAT" for member in members):
            return _result(f"coalesce({', '.join(texts)})", _widest(members), members, dialect)
        case exp.Add() | exp.Sub() | exp.Mul():
            if any(kind_of(member.type) == "FLOAT" or "UNSIGNED" in member.type for member in members):
                return None  # TiDB computes in DOUBLE, and refuses negative results of UNSIGNED
            text = f"{texts[0]} {_OPERATORS[type(expression)]} {texts[1]}"
            if not isinstance(expression, exp.Mul):
                return _result(text, _widest(members, 1), members, dialect)
            return None if all(member.is_money for member in members) else _product(text, members, dialect)
    return None


def _result(text: str, size: tuple[int, int] | None, members: list[Generated], dialect: str) -> Generated | None:
    """Return the result of numbers with its type. ``size``: digits and decimals, ``None`` in DOUBLE."""
    if size is None:
        return None if dialect == "oracle" else Generated(text, "DOUBLE")  # whose FLOAT is decimal
    digits, decimals = size
    if all(map(_is_whole, members)):
        kinds = [kind_of(member.type) if not member.is_constant else "INT" for member in members]
        return Generated(text, max(kinds, key=INTEGERS.index))
    moneys = [member for member in members if member.is_money]
    if moneys and all(member.is_money or _is_whole(member) for member in members):
        return Generated(text, max((each.type for each in moneys), key=_digits), is_money=True)
    if decimals > MAX_SCALE or digits > _ROUNDED_BEYOND.get(dialect, digits):
        return None
    return Generated(text, f"DECIMAL({min(digits, MAX_DECIMAL)},{decimals})")


def _product(text: str, members: list[Generated], dialect: str) -> Generated | None:
    sizes = [exact_size(member.type) for member in members]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return _result(text, None, members, dialect)
    digits, decimals = sum(size[0] for size in known), sum(size[1] for size in known)
    if dialect == "snowflake" and decimals > max(_SNOWFLAKE_SCALE, *(size[1] for size in known)):
        return None
    return _result(text, (digits + (dialect in ("tsql", "spark")), decimals), members, dialect)


def _digits(type_text: str) -> int:
    size = exact_size(type_text)
    return 0 if size is None else size[0]


def _is_whole(member: Generated) -> bool:
    if member.is_constant:
        return member.text.lstrip("-").isdigit() and abs(int(member.text)) <= _LARGEST_INT
    return kind_of(member.type) in INTEGERS


def _widest(members: list[Generated], carry: int = 0) -> tuple[int, int] | None:
    """Return digits and decimals for a value of any of the members, with ``carry`` more digits; ``None``: DOUBLE."""
    sizes = [exact_size(member.type) for member in members]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    decimals = max(size[1] for size in known)
    return max(size[0] - size[1] for size in known) + carry + decimals, decimals


# -- text, and the first of several ------------------------------------------------------------------------------------


def _of_texts(expression: exp.Expr, members: list[Generated], dialect: str) -> Generated | None:
    texts = [member.text for member in members]
    is_long = any(kind_of(member.type) == "LONGTEXT" for member in members)
    lengths = [size_of(member.type) for member in members]
    match expression:
        case exp.Lower() | exp.Upper():
            return Generated(f"{type(expression).__name__.lower()}({texts[0]})", members[0].type)
        case exp.Coalesce():
            return Generated(f"coalesce({', '.join(texts)})", "LONGTEXT" if is_long else f"VARCHAR({max(lengths)})")
        case exp.Add() if dialect == "tsql" and (is_long or sum(lengths) <= _CUT_BEYOND):
            pass
        case exp.DPipe() if dialect != "oracle":  # whose NULL is an empty text
            pass
        case _:
            return None
    is_long |= sum(lengths) > LONGEST_VARCHAR
    return Generated(f"concat({', '.join(texts)})", "LONGTEXT" if is_long else f"VARCHAR({sum(lengths)})")


def _isnull(members: list[Generated]) -> Generated | None:
    """Return ISNULL of SQL Server, which has the type of its first argument and cuts the other to it."""
    first, other = members
    if not _fits(other, first.type):
        return None
    return first._replace(text=f"coalesce({first.text}, {other.text})", is_constant=False)


def _fits(member: Generated, type_text: str) -> bool:
    """Return whether a type holds all values of a member as they are."""
    kind = kind_of(type_text)
    if member.type == type_text or kind == "LONGTEXT":
        return True
    if kind in ALL_TEXTS:
        return kind_of(member.type) != "LONGTEXT" and size_of(member.type) <= size_of(type_text)
    if type_text == BOOLEAN:
        return member.text in ("0", "1")
    own, size = exact_size(type_text), exact_size(member.type)
    if own is None or size is None:
        return kind == "DOUBLE" and member.is_constant
    is_negative = member.is_constant and member.text.startswith("-")
    if is_negative and "UNSIGNED" in type_text:
        return False
    return size[1] <= own[1] and size[0] - size[1] <= own[0] - own[1]
