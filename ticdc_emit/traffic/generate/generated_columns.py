"""Translate expressions of generated columns to Spark SQL with the same result, or refuse them with the reason.

In: a column with its canonical expression text, and SQL of the columns that it may use. Out: SQL of the column's native
type. Translated is what MySQL and Spark compute alike: integers and decimals with + - *, comparisons, text functions,
years and months of dates, IF, CASE, IFNULL. Rule source: MySQL's reference on each; lengths in bytes and characters
differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import INTEGER_TYPES, STRING_TYPES, MySQLType
from ticdc_emit.traffic.generate.sql import native_type, text_of

__all__ = ["add_computed", "generated"]


_EXACT = INTEGER_TYPES | {MySQLType.NEWDECIMAL, MySQLType.YEAR}
_TEXTS = STRING_TYPES | {MySQLType.ENUM}
_USABLE = _EXACT | _TEXTS | {MySQLType.DATE, MySQLType.DATETIME}
_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<",
    exp.LTE: "<=", exp.And: "and", exp.Or: "or",
}  # fmt: skip
_CALLS: dict[type[exp.Expr], str] = {
    exp.Lower: "lower", exp.Upper: "upper", exp.Left: "left", exp.Right: "right", exp.Substring: "substring",
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.Quarter: "quarter",
    exp.Concat: "concat", exp.Coalesce: "coalesce", exp.Abs: "abs", exp.If: "if", exp.TsOrDsToDate: "date",
    exp.Trim: "trim",
}  # fmt: skip
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul)


def generated(column: Column, columns: Mapping[str, Column], values: Mapping[str, str], table: str) -> str:
    """Return the value of a generated column from the ``values`` of others, by name in lower case.

    Raises :class:`SchemaError` for an expression that may not give the same result in MySQL and in Spark.
    """
    try:
        tree = sqlglot.parse_one(column.generated_expr, dialect="mysql")
    except SqlglotError:
        raise _refusal(column, table, "its expression is not understood") from None
    expression = _Translation(column, columns, values, table).of(tree)
    if column.type in INTEGER_TYPES and isinstance(tree.unnest(), exp.Condition) and _is_truth(tree.unnest()):
        expression = f"if({expression}, 1, 0)"
    return f"cast({expression} as {native_type(column)})"


class _Translation:
    def __init__(self, column: Column, columns: Mapping[str, Column], values: Mapping[str, str], table: str) -> None:
        self._column = column
        self._columns = columns
        self._values = values
        self._table = table

    def of(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Paren):
            return f"({self.of(node.this)})"
        if isinstance(node, exp.Introducer):
            return self.of(node.expression)
        if isinstance(node, exp.Literal):
            return text_of(node.this) if node.is_string else self._number(node.this)
        if isinstance(node, exp.Null):
            return "null"
        if isinstance(node, exp.Neg):
            return f"(-{self.of(node.this)})"
        if isinstance(node, exp.Not):
            return f"(not {self.of(node.this)})"
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return f"({self.of(node.this)} is null)"
        if isinstance(node, exp.Column):
            return self._value(node)
        if isinstance(node, exp.Case) and node.this is None:
            return self._case(node)
        if isinstance(node, exp.Length):
            return f"{'octet' if node.args.get('binary') else 'char'}_length({self.of(node.this)})"
        if type(node) in _BINARY:
            return f"({self.of(node.this)} {_BINARY[type(node)]} {self.of(node.expression)})"
        if type(node) in _CALLS:
            arguments = ", ".join(self.of(each) for each in _arguments(node))
            return f"{_CALLS[type(node)]}({arguments})"
        raise _refusal(self._column, self._table, f"{node.sql(dialect='mysql')} is not known to be the same in Spark")

    def _value(self, node: exp.Column) -> str:
        name = node.name.lower()
        source = self._columns.get(name)
        if source is None or name not in self._values:
            raise _refusal(self._column, self._table, f"it names {node.name}, which has no value here")
        arithmetic = isinstance(_outer(node), _ARITHMETIC)
        native = native_type(source)
        inexact = native == "binary" or (source.type is MySQLType.NEWDECIMAL and native == "string")
        if inexact or source.type not in (_EXACT if arithmetic else _USABLE):
            raise _refusal(self._column, self._table, f"{node.name} is a {source.type.name} column")
        # the sums and products of integers are of 64 bits
        return f"cast({self._values[name]} as bigint)" if arithmetic and native == "int" else self._values[name]

    def _case(self, node: exp.Case) -> str:
        branches = " ".join(f"when {self.of(each.this)} then {self.of(each.args['true'])}" for each in node.args["ifs"])
        default = node.args.get("default")
        return f"(case {branches}{f' else {self.of(default)}' if default is not None else ''} end)"

    @staticmethod
    def _number(digits: str) -> str:
        return digits if digits.isdigit() else f"{digits}BD"


def _outer(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    return parent


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.If):
        return [node.this, node.args["true"], node.args.get("false") or exp.Null()]
    if isinstance(node, exp.Substring):
        return [node.this, *(node.args[name] for name in ("start", "length") if node.args.get(name) is not None)]
    if isinstance(node, exp.Concat):
        return list(node.expressions)
    return [each for each in (node.this, node.args.get("expression")) if each is not None] + list(node.expressions)


def _is_truth(node: exp.Expr) -> bool:
    return isinstance(node, exp.Predicate | exp.And | exp.Or | exp.Not)


def _refusal(column: Column, table: str, why: str) -> SchemaError:
    return SchemaError(
        f"the generated column cannot be computed: {why}",
        remedy="Leave the column out of the schema, or write it with + - *, comparisons, CONCAT, LOWER, UPPER, LEFT, "
        "RIGHT, SUBSTRING, LENGTH, YEAR, MONTH, IF, CASE or IFNULL over integers, decimals, text and dates",
        table=table,
        column=column.name,
    )


def add_computed(info: TableInfo, values: dict[str, str]) -> None:
    """Add the values of generated columns to ``values``, by name in lower case, in order of dependency.

    Raises :class:`SchemaError` for an expression that cannot be translated, and for cyclic dependencies.
    """
    held = {column.name.lower(): column for column in info.columns}
    waiting = [column for column in info.columns if column.generated is not None and not column.hidden]
    while waiting:
        ready = [each for each in waiting if not (_named(each, held) & {other.name.lower() for other in waiting})]
        if not ready:
            raise SchemaError(
                "generated columns refer to each other in a cycle",
                remedy="Let each refer to columns before it only",
                table=info.full_name,
            )
        for column in ready:
            if column.generated == "stored" or _is_used(column, waiting):
                values[column.name.lower()] = generated(column, held, values, info.full_name)
            waiting.remove(column)


def _named(column: Column, held: Mapping[str, Column]) -> set[str]:
    return {name.lower() for name in column_names(column.generated_expr)} & held.keys()


def _is_used(column: Column, among: Sequence[Column]) -> bool:
    return any(column.name.lower() in _named(other, {column.name.lower(): column}) for other in among)
