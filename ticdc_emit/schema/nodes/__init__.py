"""The syntax tree of DDL: one immutable node per clause, change and expression. Each node can print itself.

Nodes have the content of the SQL, without anything that TiDB derives from it (that is :mod:`ticdc_emit.schema.columns`
and its neighbours). ``restore`` returns TiDB's canonical text, under one of the two styles of :mod:`.style`.
"""

from __future__ import annotations

from ticdc_emit.schema.nodes.alter import (
    AddColumn,
    AddColumns,
    AddConstraint,
    AlterOptions,
    AlterSpec,
    ChangeColumn,
    DropColumn,
    DropForeignKey,
    DropIndex,
    Position,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetColumnDefault,
    SetIndexVisibility,
)
from ticdc_emit.schema.nodes.columns import ColumnDef, ColumnOption, TypeSpec
from ticdc_emit.schema.nodes.keys import Constraint, IndexOptions, KeyPart, Reference
from ticdc_emit.schema.nodes.minor_changes import AlterAttributes, NoSchemaChange, PartitionOptions
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.partition_changes import AddPartitions, ChangePartitions, ExchangePartition
from ticdc_emit.schema.nodes.partitions import MAX_PARTITIONS, PartitionDefinition, Partitioning, PartitionMethod
from ticdc_emit.schema.nodes.style import STORED, WIRE, Node, Style
from ticdc_emit.schema.nodes.table_options import TableOption
from ticdc_emit.schema.nodes.values import DefaultExpression, Expression, Literal

__all__ = [
    "MAX_PARTITIONS",
    "STORED",
    "WIRE",
    "AddColumn",
    "AddColumns",
    "AddConstraint",
    "AddPartitions",
    "AlterAttributes",
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
    "PartitionOptions",
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
