"""Avro schemas of tables, as the text that TiCDC registers.

In: a table version, the columns of a key or a value, options. Out: the schema text, byte for byte. Schemas that goavro
refuses are refused, because TiCDC parses its own schemas with goavro before it registers them.

Rule sources: protocol document "TiCDC Avro Protocol"; semantics 2.1 "Schema text"; reference ``pingcap/tiflow:
pkg/sink/codec/avro/avro.go`` (columns2AvroSchema, schemaWithExtension), ``linkedin/goavro: record.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.avro.defaults import default_text
from ticdc_emit.protocols.avro.naming import namespace
from ticdc_emit.protocols.avro.types import AvroOptions, AvroType, avro_type, branches
from ticdc_emit.protocols.gojson import json_text
from ticdc_emit.protocols.naming import escaped_label, sanitize
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.type_names import UNSPECIFIED_LENGTH, default_length
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, MySQLType

__all__ = ["key_schema", "value_columns", "value_schema"]

_TIDB_TYPES = {
    MySQLType.LONGLONG: "BIGINT",
    MySQLType.NEWDECIMAL: "DECIMAL",
    MySQLType.DURATION: "TIME",
    MySQLType.VECTOR_FLOAT32: "TiDBVECTORFloat32",
} | {
    kind: kind.name
    for kind in (
        MySQLType.FLOAT,
        MySQLType.DOUBLE,
        MySQLType.BIT,
        MySQLType.ENUM,
        MySQLType.SET,
        MySQLType.JSON,
        MySQLType.DATE,
        MySQLType.DATETIME,
        MySQLType.TIMESTAMP,
        MySQLType.YEAR,
    )
}
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
    if column.type in INTEGER_TYPES:
        name = _TIDB_TYPES.get(column.type, "INT")
        return f"{name} UNSIGNED" if column.unsigned else name
    return _TIDB_TYPES.get(column.type) or ("BLOB" if column.is_binary else "TEXT")


def _flen(column: Column) -> int:
    return default_length(column.type)[0] if column.flen == UNSPECIFIED_LENGTH else column.flen


def _scale(column: Column) -> int:
    return default_length(column.type)[1] if column.decimal == UNSPECIFIED_LENGTH else column.decimal
