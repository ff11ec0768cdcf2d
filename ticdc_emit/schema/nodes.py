"""What the TiDB grammar yields below the statement: one immutable node per clause, spec and literal.

Nodes hold what the SQL says, nothing that TiDB derives from it (that is :mod:`ticdc_emit.schema.columns` and its
neighbours). Names keep the case in which they were written; lengths that were not written are -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as Choice
from typing import TypeAlias

from ticdc_emit.schema.types import MySQLType

__all__ = [
    "MAX_PARTITIONS",
    "AddColumn",
    "AddConstraint",
    "AddPartitions",
    "AlterOptions",
    "AlterSpec",
    "ChangeColumn",
    "ChangePartitions",
    "ColumnDef",
    "ColumnOption",
    "Constraint",
    "DefaultExpression",
    "DropColumn",
    "DropForeignKey",
    "DropIndex",
    "ExchangePartition",
    "Expression",
    "KeyPart",
    "Literal",
    "NoSchemaChange",
    "PartitionMethod",
    "Partitioning",
    "Position",
    "RemoveTtl",
    "RenameColumn",
    "RenameIndex",
    "RenameTo",
    "SetColumnDefault",
    "SetIndexVisibility",
    "TableName",
    "TableOption",
    "TypeSpec",
]


@dataclass(frozen=True)
class TableName:
    """``schema`` is "" where the statement leaves it to the current database."""

    schema: str
    name: str


@dataclass(frozen=True)
class Expression:
    """Source text of an expression (without its outer parentheses)."""

    text: str


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


@dataclass(frozen=True)
class TypeSpec:
    """A column type as written; ``binary`` is the BINARY attribute, bytes labels come from hex or bit literals."""

    type: MySQLType
    flen: int = -1
    decimal: int = -1
    unsigned: bool = False
    zerofill: bool = False
    charset: str = ""
    binary: bool = False
    elems: tuple[str | bytes, ...] = ()


MAX_PARTITIONS = 8192
"""TiDB's limit for one table."""
PartitionMethod: TypeAlias = Choice["", "range", "list", "hash", "key"]
OptionValue: TypeAlias = "Literal | DefaultExpression | Expression | str | int | bool | None"
OptionKind: TypeAlias = Choice[
    "not null",
    "null",
    "auto_increment",
    "auto_random",
    "primary key",
    "unique",
    "default",
    "on update",
    "comment",
    "collate",
    "generated virtual",
    "generated stored",
    "check",
    "references",
]


@dataclass(frozen=True)
class ColumnOption:
    """One column option, in the order written; ``value`` for PRIMARY KEY: clustered (True, False or None)."""

    kind: OptionKind
    value: OptionValue = None


@dataclass(frozen=True)
class ColumnDef:
    name: str
    type: TypeSpec
    options: tuple[ColumnOption, ...] = ()
    offset: int = 0  # of the definition in the statement, for errors


@dataclass(frozen=True)
class KeyPart:
    """A column, perhaps a prefix of ``length``, or an expression."""

    column: str = ""
    length: int = -1
    expression: Expression | None = None


@dataclass(frozen=True)
class Constraint:
    kind: Choice["primary", "unique", "index", "foreign", "check", "fulltext", "columnar"]
    name: str = ""
    keys: tuple[KeyPart, ...] = ()
    clustered: bool | None = None
    visible: bool = True
    if_not_exists: bool = False
    references: TableName | None = None
    reference_columns: tuple[str, ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class TableOption:
    """A table option that matters to the schema or to the action; the rest is parsed and dropped."""

    name: str
    value: str | int = ""


@dataclass(frozen=True)
class Partitioning:
    """PARTITION BY ``expression`` or ``columns``: ``names`` of the definitions, or p0 ... for HASH and KEY."""

    method: PartitionMethod
    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    expression: Expression | None = None


@dataclass(frozen=True)
class Position:
    """FIRST (``after`` is "") or AFTER a column."""

    after: str = ""


@dataclass(frozen=True)
class AddColumn:
    column: ColumnDef
    position: Position | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumn:
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn:
    """MODIFY and CHANGE COLUMN; ``old_name`` is the column's name before."""

    old_name: str
    column: ColumnDef
    position: Position | None = None
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    old_name: str
    new_name: str


@dataclass(frozen=True)
class SetColumnDefault:
    """ALTER COLUMN SET DEFAULT, or DROP DEFAULT (``default`` is None)."""

    column: str
    default: Literal | DefaultExpression | None


@dataclass(frozen=True)
class AddConstraint:
    constraint: Constraint


@dataclass(frozen=True)
class DropIndex:
    """DROP INDEX, or DROP PRIMARY KEY (``name`` is ``PRIMARY``)."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DropForeignKey:
    name: str


@dataclass(frozen=True)
class RenameIndex:
    old_name: str
    new_name: str


@dataclass(frozen=True)
class SetIndexVisibility:
    name: str
    visible: bool


@dataclass(frozen=True)
class AlterOptions:
    """Table options; ``convert`` is CONVERT TO CHARACTER SET, which rewrites the columns too."""

    options: tuple[TableOption, ...]
    convert: bool = False


@dataclass(frozen=True)
class RenameTo:
    table: TableName


@dataclass(frozen=True)
class AddPartitions:
    """ADD PARTITION: definitions by ``names``, or ``count`` more of HASH or KEY."""

    names: tuple[str, ...] = ()
    count: int = 0
    if_not_exists: bool = False


@dataclass(frozen=True)
class ChangePartitions:
    """DROP, TRUNCATE, REORGANIZE, COALESCE, REMOVE PARTITIONING, PARTITION BY; ``names`` empty: all of them."""

    kind: Choice["drop", "truncate", "reorganize", "coalesce", "remove", "partition by"]
    names: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    count: int = 0
    if_exists: bool = False
    by: Partitioning | None = None


@dataclass(frozen=True)
class ExchangePartition:
    partition: str
    table: TableName


@dataclass(frozen=True)
class RemoveTtl:
    pass


@dataclass(frozen=True)
class NoSchemaChange:
    """A spec that leaves columns and indexes alone; ``action`` is its ActionType, "" where TiDB ignores the spec."""

    action: str = ""


AlterSpec: TypeAlias = (
    "AddColumn | DropColumn | ChangeColumn | RenameColumn | SetColumnDefault | AddConstraint | DropIndex"
    " | DropForeignKey | RenameIndex | SetIndexVisibility | AlterOptions | RenameTo | AddPartitions"
    " | ChangePartitions | ExchangePartition | RemoveTtl | NoSchemaChange"
)
