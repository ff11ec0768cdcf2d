"""Partitioning of a table, and how it prints.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``PartitionOptions``, ``PartitionMethod`` and their parts).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import TypeAlias

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.expressions import ColumnName, Default
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined
from ticdc_emit.schema.nodes.table_options import TableOption
from ticdc_emit.schema.nodes.values import Expression

__all__ = [
    "MAX_PARTITIONS",
    "Interval",
    "PartitionDefinition",
    "PartitionKey",
    "PartitionMethod",
    "PartitionValues",
    "Partitioning",
]

MAX_PARTITIONS = 8192
"""TiDB's limit for one table."""
PartitionMethod: TypeAlias = Choice["", "range", "list", "hash", "key", "system_time"]


@dataclass(frozen=True)
class PartitionValues:
    """``kind``: LESS THAN, IN, DEFAULT, HISTORY or CURRENT; ``rows`` of one value each, or of one for each column."""

    kind: str
    rows: tuple[tuple[Node, ...], ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        is_default = self.kind == "IN" and len(self.rows) == 1 and self.rows[0] == (Default(),)
        if not self.rows or is_default:
            return style.word(" DEFAULT" if is_default else f" {self.kind}")
        rows = (joined(row, style, ", ") if len(row) == 1 else f"({joined(row, style, ', ')})" for row in self.rows)
        return style.word(f" VALUES {self.kind} ") + f"({', '.join(rows)})"


@dataclass(frozen=True)
class PartitionDefinition:
    """A partition or (``word``) subpartition."""

    name: str
    values: PartitionValues | None = None
    options: tuple[TableOption, ...] = ()
    subpartitions: tuple[PartitionDefinition, ...] = ()
    word: str = "PARTITION"

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(f"{self.word} ") + quoted(self.name)
        if self.values is not None:
            text += self.values.restore(style)
        text += "".join(" " + option.restore(style) for option in self.options)
        return text + (f" ({joined(self.subpartitions, style)})" if self.subpartitions else "")


@dataclass(frozen=True)
class Interval:
    """INTERVAL partitioning: TiDB makes the partitions itself, from ``first`` to ``last``.

    ``start`` and ``end``: where the clause is in the statement.
    """

    amount: Node
    unit: str = ""
    first: Node | None = None
    last: Node | None = None
    null_partition: bool = False
    max_partition: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def restore(self, style: Style = WIRE) -> str:
        unit = " " + style.word(self.unit) if self.unit else ""
        text = f" INTERVAL ({self.amount.restore(style)}{unit})"
        if self.first is not None:
            text += f" FIRST PARTITION LESS THAN ({self.first.restore(style)})"
        if self.last is not None:
            text += f" LAST PARTITION LESS THAN ({self.last.restore(style)})"
        text += " NULL PARTITION" if self.null_partition else ""
        return text + (" MAXVALUE PARTITION" if self.max_partition else "")


@dataclass(frozen=True)
class PartitionKey:
    """The method and its expression or columns. ``count``: the number of partitions, 0 if not given."""

    method: PartitionMethod
    columns: tuple[ColumnName, ...] = ()
    expression: Expression | None = None
    linear: bool = False
    algorithm: int | None = None
    count: int = 0
    interval: Interval | None = None
    unit: str = ""
    limit: int = 0

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(("LINEAR " if self.linear else "") + self.method)
        if self.algorithm is not None:
            text += style.word(" ALGORITHM") + f" = {self.algorithm}"
        if self.method == "system_time":
            if self.expression is not None:
                text += style.word(" INTERVAL ") + self.expression.restore(style) + " " + style.word(self.unit)
            return text + (style.word(" LIMIT ") + str(self.limit) if self.limit else "")
        if self.expression is not None:
            text += f" ({self.expression.restore(style)})"
        else:
            by_columns = style.word(" COLUMNS") if self.method in ("range", "list") else ""
            text += f"{by_columns} ({joined(self.columns, style)})"
        return text + (self.interval.restore(style) if self.interval is not None else "")


@dataclass(frozen=True)
class Partitioning:
    """PARTITION BY. ``names``: those of the definitions, or p0 ... for HASH and KEY."""

    key: PartitionKey
    definitions: tuple[PartitionDefinition, ...] = ()
    sub: PartitionKey | None = None
    update_indexes: tuple[tuple[str, bool], ...] = ()
    offset: int = 0

    @property
    def method(self) -> PartitionMethod:
        return self.key.method

    @property
    def names(self) -> tuple[str, ...]:
        if self.definitions:
            return tuple(definition.name for definition in self.definitions)
        return tuple(f"p{number}" for number in range(self.key.count))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.key.columns)

    @property
    def expression(self) -> Expression | None:
        return self.key.expression

    def restore(self, style: Style = WIRE) -> str:
        text = style.word("PARTITION BY ") + self.key.restore(style)
        if self.key.count and not self.definitions:
            text += style.word(" PARTITIONS ") + str(self.key.count)
        if self.sub is not None:
            text += style.word(" SUBPARTITION BY ") + self.sub.restore(style)
            if self.sub.count:
                text += style.word(" SUBPARTITIONS ") + str(self.sub.count)
        if self.definitions:
            text += f" ({joined(self.definitions, style)})"
        if self.update_indexes:
            updates = (
                f"{quoted(name)} {'GLOBAL' if is_global else 'LOCAL'}" for name, is_global in self.update_indexes
            )
            text += f" UPDATE INDEXES ({','.join(updates)})"
        return text
