"""The Avro types of columns.

In: a column and the handling modes. Out: the Avro type, the order of a nullable column's branches. Rule sources:
protocol document "Data type mapping"; semantics 2.1; reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go``
(columnToAvroSchema).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.avro import Union
from ticdc_emit.config.lineages import AvroSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    INTEGER_TYPES,
    STRING_TYPES,
    TEMPORAL_TYPES,
    MySQLType,
)

__all__ = ["AvroOptions", "AvroType", "avro_type", "branches"]

AvroType: TypeAlias = Literal["int", "long", "string", "bytes", "float", "double", "decimal"]
"""A primitive type, or ``decimal``: ``bytes`` of the logical type."""

_FIXED: dict[MySQLType, AvroType] = {
    MySQLType.FLOAT: "float",
    MySQLType.DOUBLE: "double",
    MySQLType.BIT: "bytes",
    MySQLType.YEAR: "int",
}
_TEXTS = TEMPORAL_TYPES | {MySQLType.ENUM, MySQLType.SET, MySQLType.JSON, MySQLType.VECTOR_FLOAT32}


@dataclass(frozen=True)
class AvroOptions:
    """The options of Avro from the sink URI, the changefeed and its profile."""

    enable_tidb_extension: bool = False
    enable_row_checksum: bool = False
    enable_watermark: bool = False
    include_before_value: bool = False
    decimal_handling_mode: Literal["precise", "string"] = "precise"
    bigint_unsigned_handling_mode: Literal["long", "string"] = "long"
    switches: AvroSwitches = AvroSwitches()

    def key_of(self, table: TableInfo) -> tuple[Column, ...]:
        """Return the columns of a table's keys, in table order."""
        return table.handle_key if self.switches.key_columns == "handle-key" else table.primary_key

    @property
    def marks_deletes(self) -> bool:
        """Whether a delete has a value of nine bytes with only its commit_ts."""
        return self.enable_watermark and self.switches.delete_mark and not self.include_before_value

    def has_value(self, op: Op) -> bool:
        """Return whether messages of this kind have a value of a registered schema."""
        return op is not Op.DELETE or self.include_before_value

    def has_key(self, table: TableInfo) -> bool:
        """Return whether messages of the table have keys. A key without columns after selectors has no valid schema."""
        return bool(self.key_of(table) or (self.switches.empty_keys == "failing" and table.whole_primary_key))


def avro_type(column: Column, options: AvroOptions) -> AvroType:
    """Return the Avro type of a column's values; :class:`SchemaError` for a type that no row change carries."""
    kind = column.type
    if kind is MySQLType.LONGLONG:
        as_text = column.unsigned and options.bigint_unsigned_handling_mode == "string"
        return "string" if as_text else "long"
    if kind in INTEGER_TYPES:
        return "long" if kind is MySQLType.LONG and column.unsigned else "int"
    if kind is MySQLType.NEWDECIMAL:
        return "decimal" if options.decimal_handling_mode == "precise" else "string"
    if kind in STRING_TYPES:
        return "bytes" if column.is_binary else "string"
    if kind in _TEXTS:
        return "string"
    if kind in _FIXED:
        return _FIXED[kind]
    raise SchemaError(
        f"the type {kind.name} has no Avro type",
        remedy="Leave the column out with a column selector",
        column=column.name,
    )


def branches(column: Column, kind: AvroType) -> Union | None:
    """Return the union of a nullable column: a schema's default belongs to the first branch, and decimals have none."""
    if not column.nullable:
        return None
    return Union.null_at(0 if column.default is None or kind == "decimal" else 1)
