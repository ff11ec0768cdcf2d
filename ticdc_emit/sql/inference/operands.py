"""An operand: the type of an expression in TiDB's type inference, with its collation and constant value.

Rule source: pingcap/tidb ``pkg/parser/types``, ``pkg/expression/{builtin,collation}.go`` (``getRetTp`` ...).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Final

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.types import BINARY_CHARSET, TYPES, ColumnFlag, MySQLType

UNSPECIFIED: Final = -1
MAX_INT_WIDTH, MAX_REAL_WIDTH, MAX_DECIMAL, MAX_SCALE, MAX_FSP = 20, 23, 65, 30, 6
MAX_BLOB_WIDTH, MAX_LONG_BLOB_WIDTH = 16777216, 4294967295
_MEDIUM_BLOB_WIDTH = 65536
CONNECTION = ("utf8mb4", "utf8mb4_bin")  # charset and collation of the session that runs DDL
UNKNOWN: Final = object()  # the value of a constant that TiDB folds and this library does not evaluate


class Eval(Enum):
    INT = "int"
    REAL = "real"
    DECIMAL = "decimal"
    STRING = "string"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    JSON = "json"
    VECTOR = "vector"

    @property
    def is_text(self) -> bool:
        """TiDB's ``IsStringKind``: everything but numbers."""
        return self not in (Eval.INT, Eval.REAL, Eval.DECIMAL)


class Coercibility(IntEnum):
    """The precedence of collations; a lower value is stronger."""

    EXPLICIT = 0
    IMPLICIT = 2
    COERCIBLE = 4
    NUMERIC = 5
    IGNORABLE = 6


_EVALS = {kind: Eval(facts.eval) for kind, facts in TYPES.items()}
_HYBRIDS = frozenset({MySQLType.BIT, MySQLType.ENUM, MySQLType.SET})


@dataclass(frozen=True)
class Operand:
    """The type of a (sub)expression. ``collate`` is "" if TiDB leaves it open until a COLLATE defines it."""

    type: MySQLType
    flen: int
    decimal: int
    charset: str = BINARY_CHARSET
    collate: str = BINARY_CHARSET
    flags: ColumnFlag = ColumnFlag.NONE
    elems: tuple[str, ...] = ()
    is_array: bool = False
    coercibility: Coercibility = Coercibility.NUMERIC
    is_constant: bool = False
    value: object = None  # of a constant; ``UNKNOWN`` if only TiDB can fold it
    is_column: bool = False
    maybe_null: bool = False  # a folded constant; only TiDB knows whether it is NULL

    @property
    def eval(self) -> Eval:
        return Eval.JSON if self.is_array else _EVALS[self.type]

    @property
    def is_hybrid(self) -> bool:
        return self.type in _HYBRIDS and not self.is_array

    @property
    def is_unsigned(self) -> bool:
        return bool(self.flags & ColumnFlag.UNSIGNED)

    @property
    def is_not_null(self) -> bool:
        if self.maybe_null:
            raise DdlError("whether a constant in it is NULL is known only to TiDB")
        return bool(self.flags & ColumnFlag.NOT_NULL)

    @property
    def is_null(self) -> bool:
        return self.type is MySQLType.NULL

    def flag(self, flag: ColumnFlag, on: bool = True) -> Operand:
        return replace(self, flags=self.flags | flag if on else self.flags & ~flag)

    def known(self) -> object:
        """Return the value of a constant; ``DdlError`` if only TiDB knows it."""
        if self.value is UNKNOWN:
            raise DdlError("its type depends on the value of a constant that only TiDB computes")
        return self.value


def with_length(operand: Operand, flen: int) -> Operand:
    """Return a function's result with its length; text that is too long for a VARCHAR becomes a blob."""
    kind = operand.type
    if operand.eval is Eval.STRING and flen >= MAX_BLOB_WIDTH:
        kind = MySQLType.LONG_BLOB
    elif operand.eval is Eval.STRING and flen >= _MEDIUM_BLOB_WIDTH:
        kind = MySQLType.MEDIUM_BLOB
    if kind is MySQLType.NEWDECIMAL:
        flen = min(flen, MAX_DECIMAL)
    return replace(operand, type=kind, flen=flen)


@dataclass(frozen=True)
class Collation:
    charset: str
    collate: str
    coercibility: Coercibility


TEXT = Collation(*CONNECTION, Coercibility.COERCIBLE)
BYTES = Collation(BINARY_CHARSET, BINARY_CHARSET, Coercibility.NUMERIC)


def text_collation(operand: Operand) -> Collation:
    """Return the collation of a text that a function makes of an operand; ``DdlError`` if it is open."""
    if not operand.collate:
        raise DdlError(
            f"CHARACTER SET {operand.charset} in it leaves the collation open",
            remedy="Add a COLLATE clause to the expression",
        )
    if operand.coercibility is Coercibility.NUMERIC:
        return TEXT
    charset, collate = operand.charset, operand.collate
    if operand.eval is Eval.JSON:
        charset, collate = CONNECTION
    elif operand.type is MySQLType.BIT:
        charset = collate = BINARY_CHARSET
    return Collation(charset, collate, operand.coercibility)
