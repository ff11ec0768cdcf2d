"""Calls of functions, aggregates, windows and casts, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/functions.go`` (the ``Restore`` methods), ``pkg/parser/types/field_type.go``
(``RestoreAsCastType``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined

__all__ = [
    "Aggregate",
    "Call",
    "Cast",
    "CastType",
    "DateArithmetic",
    "KeywordCall",
    "MemberOf",
    "QualifiedCall",
    "TemporalLiteral",
    "Window",
    "WindowCall",
    "Word",
]


@dataclass(frozen=True)
class Word:
    """A word among a call's arguments: a time unit, DATE, LEADING ..."""

    text: str

    def restore(self, style: Style = WIRE) -> str:
        return style.word(self.text)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word(self.name)}({joined(self.arguments, style, ', ')})"


@dataclass(frozen=True)
class QualifiedCall:
    """``schema.function(...)``; a name that is not a keyword prints as a name."""

    schema: str
    name: str
    is_word: bool
    arguments: tuple[Node, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        name = style.word(self.name) if self.is_word else quoted(self.name)
        return f"{quoted(self.schema)}.{name}({joined(self.arguments, style, ', ')})"


@dataclass(frozen=True)
class KeywordCall:
    """A call with keywords between its arguments: TRIM(LEADING a FROM b), CONVERT(a USING b), EXTRACT(DAY FROM a).

    ``pieces`` are nodes and the words between them, one blank apart.
    """

    name: str
    pieces: tuple[Node, ...]

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word(self.name)}({joined(self.pieces, style, ' ')})"


@dataclass(frozen=True)
class DateArithmetic:
    """DATE_ADD and related functions, and ``a + INTERVAL 1 DAY``."""

    name: str
    moment: Node
    amount: Node
    unit: str

    def restore(self, style: Style = WIRE) -> str:
        interval = f"{style.word('INTERVAL')} {self.amount.restore(style)} {style.word(self.unit)}"
        return f"{style.word(self.name)}({self.moment.restore(style)}, {interval})"


@dataclass(frozen=True)
class TemporalLiteral:
    """DATE '...', TIME '...' or TIMESTAMP '...'."""

    word: str
    value: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"{self.word} {self.value.restore(style)}"


@dataclass(frozen=True)
class MemberOf:
    value: Node
    array: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"{self.value.restore(style)}{style.word(' MEMBER OF ')}({self.array.restore(style)})"


@dataclass(frozen=True)
class Aggregate:
    """``separator`` and ``order`` are GROUP_CONCAT's."""

    name: str
    arguments: tuple[Node, ...]
    distinct: bool = False
    order: Node | None = None
    separator: Node | None = None

    def restore(self, style: Style = WIRE) -> str:
        text = (style.word("DISTINCT ") if self.distinct else "") + joined(self.arguments, style, ", ")
        if self.order is not None:
            text += " " + self.order.restore(style)
        if self.separator is not None:
            text += style.word(" SEPARATOR ") + self.separator.restore(style)
        return f"{style.word(self.name)}({text})"


@dataclass(frozen=True)
class CastType:
    """The type of a CAST: ``precision`` has the numbers in parentheses; TiDB's own charset is not printed.

    CHAR(n) CHARSET binary prints as BINARY(n), which is another type.
    """

    word: str
    precision: tuple[int, ...] = ()
    charset: str = ""
    array: bool = False

    def restore(self, style: Style = WIRE) -> str:
        is_binary = self.charset == "binary"
        text = style.word("BINARY" if is_binary else self.word)
        if self.precision:
            text += f"({', '.join(map(str, self.precision))})"
        if self.charset not in ("", "utf8mb4", "binary"):
            text += style.word(f" CHARSET {self.charset}")
        return text + (" " + style.word("ARRAY") if self.array else "")


@dataclass(frozen=True)
class Cast:
    """``form``: CAST(a AS type), CONVERT(a, type), BINARY a, JSON_SUM_CRC32(a AS type)."""

    form: str
    operand: Node
    type: CastType

    def restore(self, style: Style = WIRE) -> str:
        operand = self.operand.restore(style)
        if self.form == "BINARY":
            return style.word("BINARY ") + operand
        separator = ", " if self.form == "CONVERT" else style.word(" AS ")
        return f"{style.word(self.form)}({operand}{separator}{self.type.restore(style)})"


@dataclass(frozen=True)
class Window:
    """A window's name alone (``only_name``), or its definition."""

    name: str = ""
    only_name: bool = False
    based_on: str = ""
    partition_by: tuple[Node, ...] = ()
    order_by: Node | None = None
    frame: Node | None = None

    def restore(self, style: Style = WIRE) -> str:
        if self.only_name:
            return quoted(self.name)
        parts = [quoted(self.based_on)] if self.based_on else []
        if self.partition_by:
            parts.append(style.word("PARTITION BY ") + joined(self.partition_by, style, ", "))
        parts += [part.restore(style) for part in (self.order_by, self.frame) if part is not None]
        name = quoted(self.name) + style.word(" AS ") if self.name else ""
        return f"{name}({' '.join(parts)})"


@dataclass(frozen=True)
class WindowCall:
    name: str
    arguments: tuple[Node, ...]
    window: Window
    distinct: bool = False
    from_last: bool = False
    ignore_nulls: bool = False

    def restore(self, style: Style = WIRE) -> str:
        distinct = style.word("DISTINCT ") if self.distinct and self.arguments else ""
        text = f"{style.word(self.name)}({distinct}{joined(self.arguments, style, ', ')})"
        if self.from_last:
            text += style.word(" FROM LAST")
        if self.ignore_nulls:
            text += style.word(" IGNORE NULLS")
        return text + style.word(" OVER ") + self.window.restore(style)
