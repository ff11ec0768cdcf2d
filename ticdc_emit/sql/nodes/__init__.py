"""The syntax tree of DDL: one immutable node per clause, change and expression. Each node can print itself.

Nodes have the content of the SQL, without anything that TiDB derives from it (that is :mod:`ticdc_emit.schema.columns`
and its neighbours). ``restore`` returns TiDB's canonical text, under one of the two styles of :mod:`.style`.
"""

from __future__ import annotations

from ticdc_emit.sql.nodes.alter import (
    AddColumn,
    AddColumns,
    AddConstraint,
    AddPartitions,
    AlterOptions,
    AlterSpec,
    ChangeColumn,
    ChangePartitions,
    DropColumn,
    DropForeignKey,
    DropIndex,
    ExchangePartition,
    NoSchemaChange,
    Position,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetColumnDefault,
    SetIndexVisibility,
)
from ticdc_emit.sql.nodes.base import STORED, WIRE, Node, Style, TableName
from ticdc_emit.sql.nodes.expressions import DefaultExpression, Expression, Literal
from ticdc_emit.sql.nodes.tables import (
    MAX_PARTITIONS,
    ColumnDef,
    ColumnOption,
    Constraint,
    IndexOptions,
    KeyPart,
    PartitionDefinition,
    Partitioning,
    PartitionMethod,
    Reference,
    TableOption,
    TypeSpec,
)

__all__ = [
    "MAX_PARTITIONS",
    "STORED",
    "WIRE",
    "AddColumn",
    "AddColumns",
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
    "IndexOptions",
    "KeyPart",
    "Literal",
    "NoSchemaChange",
    "Node",
    "PartitionDefinition",
    "PartitionMethod",
    "Partitioning",
    "Position",
    "Reference",
    "RemoveTtl",
    "RenameColumn",
    "RenameIndex",
    "RenameTo",
    "SetColumnDefault",
    "SetIndexVisibility",
    "Style",
    "TableName",
    "TableOption",
    "TypeSpec",
]
