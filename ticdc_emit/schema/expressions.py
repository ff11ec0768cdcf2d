"""Expressions inside DDL: the text that TiDB keeps, and the columns that they name.

Rule source: pingcap/tidb ``pkg/ddl`` (``restoreExpr`` flags: :data:`~ticdc_emit.schema.nodes.style.STORED`).
"""

from __future__ import annotations

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.dialect import parse_expression
from ticdc_emit.schema.nodes.expressions import ColumnName
from ticdc_emit.schema.nodes.style import STORED, Node
from ticdc_emit.schema.nodes.walk import every_node

__all__ = ["column_names", "function_name", "named_columns", "stored_text"]


def function_name(text: str) -> str:
    """Return the lower-case name of the function that ``text`` calls."""
    return text.split("(", 1)[0].strip().lower()


def column_names(text: str) -> tuple[str, ...]:
    """Return the columns that an expression names, in order of appearance, unquoted, without their table."""
    return named_columns(parse_expression(text))


def named_columns(node: Node) -> tuple[str, ...]:
    """Return the columns that a tree names, in order of appearance, without their table."""
    return tuple(dict.fromkeys(each.name for each in every_node(node) if isinstance(each, ColumnName)))


def stored_text(expression: Node | str) -> str:
    """Return an expression as TiDB keeps it in a schema."""
    node = parse_expression(expression) if isinstance(expression, str) else expression
    try:
        return node.restore(STORED)
    except RecursionError:
        raise DdlError("the expression is nested too deeply", remedy="Use fewer parentheses") from None
