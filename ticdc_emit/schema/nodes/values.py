"""The catalog's values of expressions: source text, or the constant or time of a default.

Nodes have the content of the SQL, without anything that TiDB derives from it (that is :mod:`ticdc_emit.schema.columns`
and its neighbours).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as Choice

from ticdc_emit.schema.nodes.style import WIRE, Node, Style

__all__ = ["DefaultExpression", "Expression", "Literal", "negated"]


@dataclass(frozen=True)
class Expression:
    """Source text of an expression (without its outer parentheses), and its syntax tree."""

    text: str
    node: Node

    def restore(self, style: Style = WIRE) -> str:
        return self.node.restore(style)


@dataclass(frozen=True)
class Literal:
    """A constant. ``value`` by kind: str (string), int (integer), Decimal, float, bytes (bits), None (null)."""

    kind: Choice["null", "string", "integer", "decimal", "float", "bits"]
    value: str | int | Decimal | float | bytes | None


@dataclass(frozen=True)
class DefaultExpression:
    """A default that is computed: CURRENT_TIMESTAMP(``fsp``), CURRENT_DATE, or a function call (``text``)."""

    kind: Choice["now", "today", "call"]
    fsp: int = 0
    text: str = ""


def negated(number: int | Decimal | float) -> int | Decimal | float:
    """Return ``-number``, with all its digits: ``-`` would round a decimal to 28. A decimal has no negative zero."""
    if isinstance(number, Decimal):
        return number.copy_negate() if number else number
    return -number
