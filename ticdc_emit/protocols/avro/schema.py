"""Names in Avro messages: namespaces and subjects.

Rule sources: semantics 2.1 "Naming"; reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go`` (getAvroNamespace,
sanitizeTopic).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.avro import Union
from ticdc_emit.config.lineages import AvroSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.names import escaped_label, sanitize
from ticdc_emit.protocols.schema_texts import float_text, json_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TYPES,
    UNSPECIFIED_LENGTH,
    AvroType,
    MySQLType,
)

__all__ = [
    "AvroOptions",
    "avro_type",
    "branches",
    "default_text",
    "key_schema",
    "namespace",
    "subject",
    "value_columns",
    "value_schema",
]


_CHANGEFEED_NAMESPACE = "default"


def namespace(schema: str) -> str:
    """Return the namespace of a record: that of the changefeed, then the database."""
    return f"{_CHANGEFEED_NAMESPACE}.{sanitize(schema)}"


def subject(topic: str, part: str) -> str:
    """Return the subject of a topic's ``key`` or ``value``; without the topic's dots, which have a meaning for
    connectors.
    """
    return f"{topic.replace('.', '_')}-{part}"


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
    if kind is MySQLType.LONGLONG and column.unsigned and options.bigint_unsigned_handling_mode == "string":
        return "string"
    if kind is MySQLType.LONG and column.unsigned:
        return "long"
    if kind is MySQLType.NEWDECIMAL and options.decimal_handling_mode != "precise":
        return "string"
    if kind in STRING_TYPES and column.is_binary:
        return "bytes"
    avro = TYPES[kind].avro
    if avro is not None:
        return avro
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


_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_LONG_LIMIT = 1 << 63


def default_text(column: Column, kind: AvroType, options: AvroOptions) -> str | None:
    """Return the default as JSON text; ``None`` if the schema has none; :class:`SchemaError` for an invalid one."""
    default = column.default
    if default is None:
        return None
    if column.type is MySQLType.VECTOR_FLOAT32 and options.switches.vector_default == "refused":
        raise _refused(column, "a VECTOR default has no Avro value")
    if kind == "decimal":
        _parsed(column, _NUMBER)
        return None
    if kind == "bytes":
        raw = default if isinstance(default, bytes) else default.encode()
        return json_text(base64.b64encode(raw).decode())
    if kind == "string":
        return json_text(default if isinstance(default, str) else default.decode("utf-8", "replace"))
    if kind in ("float", "double"):
        return float_text(_float(column, single=kind == "float"))
    return str(_integer(column, kind))


def _parsed(column: Column, form: re.Pattern[str]) -> str:
    text = column.default
    if not isinstance(text, str) or not form.fullmatch(text):
        raise _refused(column, f"the default {text!r} is not a {column.type.name} value")
    return text


def _float(column: Column, *, single: bool) -> float:
    text = _parsed(column, _NUMBER)
    with np.errstate(over="ignore"):
        value = float(np.float32(text)) if single else float(text)
    if value in (float("inf"), float("-inf")):
        raise _refused(column, f"the default {text} is out of range")
    return value


def _integer(column: Column, kind: AvroType) -> int:
    number = int(_parsed(column, _INTEGER))
    if kind == "int":
        return number
    limit = _LONG_LIMIT * 2 if column.unsigned else _LONG_LIMIT
    if number >= limit:
        raise _refused(column, f"the default {number} is out of range")
    wrapped = number - 2 * _LONG_LIMIT if number >= _LONG_LIMIT else number
    if column.nullable and float(wrapped) >= _LONG_LIMIT:
        raise _refused(column, f"the default {number} of a nullable column loses its value as a double")
    return wrapped


def _refused(column: Column, why: str) -> SchemaError:
    return SchemaError(why, remedy="Change the column's DEFAULT", column=column.name)


_EXTENSION = (
    ("_tidb_op", "string", '""'),
    ("_tidb_commit_ts", "long", "0"),
    ("_tidb_commit_physical_time", "long", "0"),
)
_BEFORE = "_ticdc_before"
_CHECKSUM = (
    ("_tidb_row_level_checksum", "string", '""'),
    ("_tidb_corrupted", "boolean", "false"),
    ("_tidb_checksum_version", "int", "0"),
)


def value_columns(table: TableInfo, options: AvroOptions) -> tuple[Column, ...]:
    """Return the columns of a value in its order: by column id with row checksums, so that readers can verify them."""
    columns = table.data_columns if options.switches.virtual_columns == "left-out" else table.shown_columns
    return tuple(sorted(columns, key=lambda column: column.id)) if options.enable_row_checksum else columns


def key_schema(table: TableInfo, options: AvroOptions) -> str:
    """Return the schema of a table's keys; :class:`SchemaError` for one that is not valid."""
    if not options.key_of(table):
        raise SchemaError(
            "a column selector drops the whole primary key, and Avro has no record without fields: TiCDC fails here",
            remedy="Keep a column of the primary key",
            table=table.full_name,
        )
    return _record(table, options.key_of(table), (), options)


def value_schema(table: TableInfo, options: AvroOptions) -> str:
    """Return the schema of a table's values; :class:`SchemaError` for one that is not valid."""
    extra: tuple[tuple[str, str, str], ...] = ()
    if options.enable_tidb_extension:
        extra = _EXTENSION + _CHECKSUM if options.enable_row_checksum else _EXTENSION
    elif options.include_before_value:
        extra = _EXTENSION[:1]
    columns = value_columns(table, options)
    before = _record(table, columns, (), options, suffix="_before") if options.include_before_value else None
    return _record(table, columns, extra, options, before=before)


def _record(
    table: TableInfo,
    columns: Iterable[Column],
    extra: Iterable[tuple[str, str, str]],
    options: AvroOptions,
    *,
    before: str | None = None,
    suffix: str = "",
) -> str:
    """Return a record's schema. ``before``: the schema of the previous row; ``suffix``: the end of its name."""
    fields: dict[str, str] = {}
    try:
        for column in columns:
            _add(fields, sanitize(column.name), _field(column, options), column)
        if before is not None:
            _add(fields, _BEFORE, f'{{"default":null,"name":"{_BEFORE}","type":["null",{before}]}}', None)
        for name, kind, default in extra:
            _add(fields, name, f'{{"default":{default},"name":"{name}","type":"{kind}"}}', None)
        if not fields:
            raise SchemaError("an Avro record has no field", remedy="Keep a column in [sink] column-selectors")
    except SchemaError as fault:
        raise SchemaError(fault.message, remedy=fault.remedy, table=table.full_name, **fault.context) from None
    return '{{"type":"record","name":"{}","namespace":"{}","fields":[{}]}}'.format(
        sanitize(table.name) + suffix, namespace(table.schema), ",".join(fields.values())
    )


def _add(fields: dict[str, str], name: str, text: str, column: Column | None) -> None:
    if name in fields:
        raise SchemaError(
            f"the Avro schema has two fields {name!r}",
            remedy="Rename a column: what Avro does not allow in names becomes an underscore",
            column=name if column is None else column.name,
        )
    fields[name] = text


def _field(column: Column, options: AvroOptions) -> str:
    kind = avro_type(column, options)
    name, described, default = sanitize(column.name), _type(column, kind), default_text(column, kind, options)
    if column.nullable:
        union = branches(column, kind)
        ordered = f'["null",{described}]' if union is not None and union.null == 0 else f'[{described},"null"]'
        return f'{{"default":{default or "null"},"name":"{name}","type":{ordered}}}'
    shown = "" if default is None else f'"default":{default},'
    return f'{{{shown}"name":"{name}","type":{described}}}'


def _type(column: Column, kind: AvroType) -> str:
    parameters = {"tidb_type": _tidb_type(column)}
    if column.type is MySQLType.BIT:
        parameters["length"] = str(_flen(column))
    if column.type in LABEL_TYPES:
        parameters["allowed"] = ",".join(escaped_label(label) for label in column.elems)
    printed = ",".join(f'"{name}":{json_text(parameters[name])}' for name in sorted(parameters))
    logical = (
        f',"logicalType":"decimal","precision":{_flen(column)},"scale":{_scale(column)}' if kind == "decimal" else ""
    )
    return f'{{"type":"{"bytes" if kind == "decimal" else kind}","connect.parameters":{{{printed}}}{logical}}}'


def _tidb_type(column: Column) -> str:
    name = TYPES[column.type].avro_name or ("BLOB" if column.is_binary else "TEXT")
    return f"{name} UNSIGNED" if column.unsigned and column.type in INTEGER_TYPES else name


def _flen(column: Column) -> int:
    return TYPES[column.type].length if column.flen == UNSPECIFIED_LENGTH else column.flen


def _scale(column: Column) -> int:
    return TYPES[column.type].decimals if column.decimal == UNSPECIFIED_LENGTH else column.decimal
