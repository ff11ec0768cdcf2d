"""The type of an expression index's hidden column. In: an expression and the table. Out: a :class:`Column` without a
name.

``rewriting`` turns the statement's syntax tree into functions, ``typing`` walks them, ``functions`` has a row for each,
and the other modules have the rules that the rows name. Debezium and Simple messages contain hidden columns, so an
unknown type is a ``DdlError``, never a guess. Rule source: pingcap/tidb ``pkg/ddl/create_table.go``
(``BuildHiddenColumnInfo``), ``pkg/ddl/index.go`` (``checkIndexColumn``) and ``pkg/expression``.
"""

from __future__ import annotations

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.inference.operands import MAX_FSP, UNSPECIFIED, Operand
from ticdc_emit.schema.inference.tree import Reference, rewritten
from ticdc_emit.schema.inference.typing import type_of
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.nodes.expressions import Expression
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    BLOB_TYPES,
    TEMPORAL_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["infer_column"]

_MAX_TEXT = 100_000
_REMEDY = "Index a generated column of a declared type instead"


def infer_column(expression: Expression, state: TableState, index: str = "") -> Column:
    """Return an expression's type as a column; ``DdlError`` if TiDB would refuse it or if its type is not known."""
    text = expression.text
    try:
        if len(text) > _MAX_TEXT:
            raise DdlError("it is too long")
        node = rewritten(expression.node)
        if isinstance(node, Reference):
            raise DdlError("a bare column is not allowed; name the column without parentheses")
        operand = type_of(node, state)
        _check(operand)
        _ = operand.is_not_null
    except SchemaError as error:
        message, remedy = error.message, error.remedy or _REMEDY
    except RecursionError:
        message, remedy = "it is nested too deeply", _REMEDY
    else:
        return _column(operand)
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    place = {"table": state.info.full_name, **({"index": index} if index else {})}
    raise DdlError(f"expression index on {shown!r}: {message}", remedy=remedy, **place)


def _check(operand: Operand) -> None:
    if not operand.collate:
        raise DdlError(
            f"CHARACTER SET {operand.charset} leaves the collation open",
            remedy="Add a COLLATE clause to the expression",
        )
    if operand.is_array:
        return
    if operand.type is MySQLType.JSON:
        raise DdlError("TiDB cannot index a JSON value", remedy="Cast it to an array or to a scalar type")
    if operand.type in BLOB_TYPES:
        raise DdlError("TiDB cannot index a BLOB or TEXT value", remedy="Cast it to CHAR(n) first")
    if operand.type is MySQLType.NULL:
        raise DdlError("it is NULL")


def _column(operand: Operand) -> Column:
    decimal = operand.decimal
    if operand.type in TEMPORAL_TYPES and not operand.is_array and decimal == UNSPECIFIED:
        decimal = MAX_FSP
    charset, collate = (BINARY_CHARSET,) * 2 if operand.is_array else (operand.charset, operand.collate)
    flags = operand.flags & ~(ColumnFlag.PRIMARY_KEY | ColumnFlag.AUTO_INCREMENT)
    kind = MySQLType.JSON if operand.is_array else operand.type
    return Column(0, "", kind, operand.flen, decimal, charset, collate, flags, operand.elems)
