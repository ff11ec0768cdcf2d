"""The syntax of an expression after rewriting: one immutable node per operand."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from ticdc_emit.schema.types import MySQLType

__all__ = ["Call", "Cast", "CastType", "Collated", "Constant", "Node", "Reference"]


@dataclass(frozen=True)
class Reference:
    """A column, with its qualifying table and database ("" for none)."""

    name: str
    table: str = ""
    schema: str = ""


@dataclass(frozen=True)
class Constant:
    """A literal: int, Decimal, float, str, bytes (a hex or bit literal), bool or None (NULL)."""

    value: int | Decimal | float | str | bytes | None
    charset: str = ""  # of an introducer
    is_hex: bool = False
    kind: MySQLType | None = None  # of DATE '...', TIME '...', TIMESTAMP '...'


@dataclass(frozen=True)
class Call:
    """A function or operator by TiDB's name of it, in lower case; units and charsets are arguments too."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class CastType:
    """The type after CAST ... AS; ``flen`` and ``decimal`` are -1 if the statement has none."""

    type: MySQLType
    flen: int = -1
    decimal: int = -1
    is_unsigned: bool = False
    charset: str = ""
    is_array: bool = False


@dataclass(frozen=True)
class Cast:
    operand: Node
    to: CastType


@dataclass(frozen=True)
class Collated:
    """``operand COLLATE collation``."""

    operand: Node
    collation: str


Node: TypeAlias = "Reference | Constant | Call | Cast | Collated"
