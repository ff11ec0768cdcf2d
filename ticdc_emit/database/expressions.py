"""Expressions of statements: what their names and calls mean in a session, and their values.

In call trees, what the session knows is constant (NOW(), @variable, LAST_INSERT_ID()). Raises
``UnsupportedStatementError`` for what cannot be evaluated exactly, ``StatementError`` for what TiDB refuses. Rule
source: pingcap/tidb ``pkg/planner/core/expression_rewriter.go``, ``pkg/expression/builtin_{time,info}.go``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.errors import DdlError, StatementError, UnsupportedStatementError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql import nodes
from ticdc_emit.sql.call_tree import Call, CallTree, Cast, Collated, Reference, call_tree
from ticdc_emit.sql.evaluation.comparisons import truth
from ticdc_emit.sql.evaluation.values import EvaluationError, NotExactError, Value
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.nodes.base import Node, with_children
from ticdc_emit.sql.words import to_lower

UNKNOWN_COLUMN, DIVISION_BY_ZERO, OF_GENERATED = 1054, 1365, 3105
REMEDY = "Write it as statements of one table with the values themselves"

_MOMENTS = frozenset({"NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "SYSDATE"})
_TODAY, _CLOCK = frozenset({"CURDATE", "CURRENT_DATE"}), frozenset({"CURTIME", "CURRENT_TIME"})
_DATABASE = frozenset({"DATABASE", "SCHEMA"})
_CHOICES = frozenset({"if", "ifnull", "nullif", "coalesce", "case", "case_of", "and", "or", "xor", "interval"})
_DIVISIONS = frozenset({"/", "div", "mod"})


@dataclass
class SessionValues:
    """``now``: in the session's time zone. ``variables``: by name in lower case; an unknown one is its own node."""

    now: dt.datetime
    database: str = ""
    last_insert_id: int = 0
    uuids: int = 0
    divisions_fail: bool = True
    variables: dict[str, nodes.Constant | nodes.SystemVariable] = field(default_factory=dict)

    def moment(self, fsp: int, zone: dt.tzinfo | None = None) -> str:
        """Return NOW(fsp), which cuts further digits off. ``zone``: by default the session's."""
        now = self.now if zone is None else self.now.astimezone(zone)
        text = now.strftime("%Y-%m-%d %H:%M:%S")
        return text + f".{now.microsecond:06}"[: fsp + 1] if fsp else text


class Scope:
    """The names that an expression of one statement may use: the columns of one table, under its name or alias."""

    def __init__(self, values: SessionValues, info: TableInfo | None = None, alias: str = "") -> None:
        self._values = values
        self._info = info
        self._alias = alias

    def column(self, name: nodes.ColumnName) -> Column:
        """Return the column of a name; a :class:`StatementError` if there is none."""
        *qualifier, own = name.parts
        if self._info is None:
            raise unsupported(f"the column {own} in a value")
        wanted = to_lower(own)
        for column in self._info.columns:
            if to_lower(column.name) == wanted and not column.hidden and self._is_own(qualifier):
                return column
        raise StatementError(
            f"Unknown column '{'.'.join(name.parts)}'",
            remedy=f"Name a column of {self._info.full_name}",
            number=UNKNOWN_COLUMN,
        )

    def refuse_generated(self, column: Column) -> None:
        if column.generated:
            raise StatementError(
                f"The value specified for generated column '{column.name}' is not allowed",
                remedy="Leave the column out, or write DEFAULT",
                number=OF_GENERATED,
            )

    def _is_own(self, qualifier: list[str]) -> bool:
        assert self._info is not None
        if not qualifier:
            return True
        *schema, table = qualifier
        if self._alias:
            return not schema and to_lower(table) == to_lower(self._alias)
        names = [self._info.name, self._info.schema]
        return [to_lower(each) for each in (table, *schema)] == [to_lower(each) for each in names[: len(qualifier)]]

    def bind(self, node: Node) -> CallTree:
        try:
            if isinstance(node, nodes.UserVariable):
                return call_tree(self._bound(self._variable(node.name)))
            return call_tree(self._bound(node))
        except DdlError as fault:
            raise UnsupportedStatementError(
                fault.message.replace("is not allowed in it", "is not executed here"), remedy=fault.remedy or REMEDY
            ) from None

    def _bound(self, node: Any) -> Any:
        match node:
            case nodes.ColumnName():
                return nodes.ColumnName((self.column(node).name,))
            case nodes.Subquery() | nodes.Exists() | nodes.Comparison():
                raise unsupported("a subquery")
            case nodes.UserVariable(name):
                value = self._variable(name)
                if getattr(value, "kind", "") == "string":  # its collation is not that of a literal
                    raise unsupported(f"the variable @{name}, which holds text, in an expression", "Write the text")
                return value
            case nodes.SystemVariable(name):
                raise unsupported(f"the value of @@{name}", "Write the value itself")
            case nodes.Call():
                return self._call(node)
            case nodes.In(nodes.Row() as row, members, negated):
                if not isinstance(members, tuple) or not all(isinstance(each, nodes.Row) for each in members):
                    raise unsupported("a subquery")
                either = [_equal_rows(row, member) for member in members]
                found = nodes.Parenthesised(_chain("OR", either))
                return self._bound(nodes.Unary("NOT", found) if negated else found)
            case nodes.Assignment():
                raise unsupported("an assignment to a variable in an expression")
        return with_children(node, self._bound)

    def _variable(self, name: str) -> nodes.Constant | nodes.SystemVariable:
        return self._values.variables.get(name.lower(), nodes.Constant("null"))

    def _call(self, node: nodes.Call) -> Any:
        name, arguments = node.name.upper(), node.arguments
        digits = arguments[0].value if len(arguments) == 1 and isinstance(arguments[0], nodes.Constant) else 0
        fsp = int(str(digits)) if str(digits).isdecimal() else 0
        if name in _MOMENTS:
            return nodes.TemporalLiteral("TIMESTAMP", nodes.Constant("string", self._values.moment(fsp)))
        if name in _TODAY:
            return nodes.TemporalLiteral("DATE", nodes.Constant("string", self._values.moment(0)[:10]))
        if name in _CLOCK:
            return nodes.TemporalLiteral("TIME", nodes.Constant("string", self._values.moment(fsp)[11:]))
        if name in _DATABASE and not arguments:
            return nodes.Constant("string", self._values.database)
        if name == "UNIX_TIMESTAMP" and not arguments:
            return nodes.Constant("integer", str(int(self._values.now.timestamp())))
        if name == "LAST_INSERT_ID" and not arguments:
            return nodes.Constant("integer", str(self._values.last_insert_id))
        return with_children(node, self._bound)


def _equal_rows(left: nodes.Row, right: Node) -> Node:
    assert isinstance(right, nodes.Row)
    if len(left.members) != len(right.members):
        raise StatementError("Operand should contain as many columns as the other", remedy=REMEDY, number=1241)
    pairs = zip(left.members, right.members, strict=True)
    return nodes.Parenthesised(_chain("AND", [nodes.Binary(one, (("=", other),)) for one, other in pairs]))


def _chain(operator: str, parts: list[Node]) -> Node:
    return reduce(lambda one, other: nodes.Binary(one, ((operator, nodes.Parenthesised(other)),)), parts)


# -- values ------------------------------------------------------------------------------------------------------------


def calls_of(tree: CallTree) -> Iterator[Call]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            yield node
            pending += node.arguments
        elif isinstance(node, Cast | Collated):
            pending.append(node.operand)


def has_choices(tree: CallTree) -> bool:
    """Return whether TiDB may leave a part of an expression unevaluated."""
    return any(call.name in _CHOICES for call in calls_of(tree))


def value_of(tree: CallTree, columns: ColumnValues | None, values: SessionValues) -> Value:
    """Return the value of an expression that is assigned, over rows or without any."""
    resolve = no_column if columns is None else columns.resolve
    chooses = has_choices(tree)
    with expression_errors():
        try:
            if values.divisions_fail:
                check_divisions(tree, resolve, chooses=chooses)
            return evaluate(tree, resolve)
        except EvaluationError as fault:
            if chooses:
                raise NotExactError(f"a choice of which one branch fails ({fault})") from None
            raise


def matching(tree: CallTree, columns: ColumnValues, count: int) -> list[int]:
    """Return the numbers of the rows for which a condition is true."""
    with expression_errors():
        try:
            check_divisions(tree, columns.resolve, chooses=True)
            matches = truth(evaluate(tree, columns.resolve))
        except EvaluationError as fault:
            raise NotExactError(f"WHERE: {fault}") from None
    if isinstance(matches, pa.Scalar):
        return list(range(count)) if matches.as_py() else []
    places: list[int] = pc.indices_nonzero(pc.fill_null(matches, False)).to_pylist()
    return places


def check_divisions(tree: CallTree, resolve: Callable[[Reference], Value], *, chooses: bool) -> None:
    """Raise TiDB's error if something is divided by zero, which is NULL elsewhere."""
    for call in calls_of(tree):
        if call.name not in _DIVISIONS or len(call.arguments) != 2:
            continue
        dividend, divisor = (evaluate(each, resolve) for each in call.arguments)
        zero = pc.invert(truth(divisor))
        is_zero = pc.and_(pc.fill_null(zero, False), pc.is_valid(dividend.data))
        if pc.any(is_zero).as_py() if isinstance(is_zero, pa.Array) else is_zero.as_py():
            if chooses:
                raise NotExactError("a division by zero that TiDB may not reach")
            raise EvaluationError("Division by 0", DIVISION_BY_ZERO)


def no_column(reference: Reference) -> Value:
    raise NotExactError(f"the column {reference.name} in a value")


# -- errors ------------------------------------------------------------------------------------------------------------


def unsupported(part: str, remedy: str = REMEDY, column: str | None = None) -> UnsupportedStatementError:
    return UnsupportedStatementError(f"{part} is not executed here", remedy=remedy, column=column)


@contextmanager
def expression_errors(column: str | None = None) -> Iterator[None]:
    """Turn the evaluator's errors into those of statements; ``column``: to which a value is assigned."""
    try:
        yield
    except NotExactError as fault:
        raise unsupported(str(fault), fault.remedy or "Write the value itself", column) from None
    except EvaluationError as fault:
        if fault.number:
            remedy = "Give a value that fits the column"
            raise StatementError(str(fault), remedy=remedy, number=fault.number, column=column) from None
        raise unsupported(str(fault), "Write the value itself", column) from None
