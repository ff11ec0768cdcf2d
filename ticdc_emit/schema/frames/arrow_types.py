"""Arrow's types as TiDB's: the schema of Arrow tables, pandas and polars frames as a :class:`SourceTable`.

A type holds all values in a form that the encoder accepts (docs/types.md). Dictionaries and run-end encoded columns
have the type of their values, extension types that of their storage, but JSON is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from ticdc_emit.schema.columns import MAX_CHAR_LENGTH, MAX_DECIMAL, MAX_SCALE, MAX_VARCHAR_BYTES
from ticdc_emit.schema.frames.source_table import (
    CHAR_VARCHAR,
    JSON_TEXT,
    MICROSECONDS,
    ONLY_NULLS,
    SourceColumn,
    SourceTable,
    TypeChoice,
    char_or_varchar,
    equal_fields,
    keys_without_text,
    moment_type,
    own_types,
    time_span_type,
    unsupported,
)

_FRACTION_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 6}
_PLAIN = {
    pa.bool_(): "TINYINT(1)",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "TINYINT UNSIGNED",
    pa.uint16(): "SMALLINT UNSIGNED",
    pa.uint32(): "INT UNSIGNED",
    pa.uint64(): "BIGINT UNSIGNED",
    pa.float16(): "FLOAT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "LONGTEXT",
    pa.large_string(): "LONGTEXT",
    pa.string_view(): "LONGTEXT",
    pa.binary(): "LONGBLOB",
    pa.large_binary(): "LONGBLOB",
    pa.binary_view(): "LONGBLOB",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
}
"""Arrow's types without parameters."""

_EXTENSIONS = {"arrow.json": "JSON", "arrow.bool8": "TINYINT(1)"}
_EXTENSION_NAME = "ARROW:extension:name"
_SPARKS_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


def arrow_type(kind: pa.DataType, *, column: str, table: str | None = None) -> TypeChoice:
    """Return TiDB's type for one of Arrow's; :class:`~ticdc_emit.errors.UnsupportedTypeError` names ``column``."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return arrow_type(kind.value_type, column=column, table=table)
    if isinstance(kind, pa.BaseExtensionType):
        own = _EXTENSIONS.get(kind.extension_name)
        return TypeChoice(own) if own else arrow_type(kind.storage_type, column=column, table=table)
    if kind in _PLAIN:
        return TypeChoice(_PLAIN[kind])
    if pa.types.is_null(kind):
        return TypeChoice("LONGTEXT", ONLY_NULLS)
    if pa.types.is_decimal(kind):
        return _decimal(kind, column, table)
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        kinds = ((MAX_CHAR_LENGTH, f"BINARY({width})"), (MAX_VARCHAR_BYTES, f"VARBINARY({width})"))
        return TypeChoice(next((text for most, text in kinds if width <= most), "LONGBLOB"))
    if pa.types.is_timestamp(kind):
        choice = moment_type(_FRACTION_DIGITS[kind.unit], is_instant=kind.tz is not None)
        return _with_unit(choice, kind.unit)
    if pa.types.is_time(kind):
        return _with_unit(
            TypeChoice(f"TIME({digits})" if (digits := _FRACTION_DIGITS[kind.unit]) else "TIME"), kind.unit
        )
    if pa.types.is_duration(kind):
        return _with_unit(time_span_type(_FRACTION_DIGITS[kind.unit]), kind.unit)
    if _is_nested(kind):
        return TypeChoice("JSON", JSON_TEXT if any(list(_text_in_json(kind, column, table))) else "")
    to = "list" if "list_view" in str(kind) else "string"
    raise unsupported(str(kind), "TiDB has no such type", f"Cast it to {to} first", column, table)


def _decimal(kind: pa.DataType, column: str, table: str | None) -> TypeChoice:
    scale = max(kind.scale, 0)
    digits = max(kind.precision - min(kind.scale, 0), scale)
    if scale > MAX_SCALE or digits > MAX_DECIMAL:
        cause = f"a DECIMAL of TiDB has at most {MAX_DECIMAL} digits, {MAX_SCALE} of them decimals"
        raise unsupported(str(kind), cause, "Cast it to a smaller decimal or to string first", column, table)
    return TypeChoice(f"DECIMAL({digits},{scale})")


def _with_unit(choice: TypeChoice, unit: str) -> TypeChoice:
    if unit != "ns":
        return choice
    return choice._replace(assumption=f"{choice.assumption} It {MICROSECONDS}" if choice.assumption else MICROSECONDS)


def _is_nested(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_struct, pa.types.is_map)
    return any(test(kind) for test in tests)


def _text_in_json(kind: pa.DataType, column: str, table: str | None) -> Iterator[bool]:
    if pa.types.is_struct(kind):
        inside = [field.type for field in kind]
        if len({field.name for field in kind}) < len(inside):
            raise equal_fields(str(kind), column, table)
    elif pa.types.is_map(kind):
        inside = [kind.key_type, kind.item_type]
        key = _stored(kind.key_type)
        if _is_nested(key) or _is_bytes(key):
            raise keys_without_text(str(kind), column, table)
    else:
        inside = [kind.value_type]
    for each in inside:
        if _is_nested(each):
            yield from _text_in_json(each, column, table)
            continue
        own = _stored(each)
        if _is_nested(own) or any(test(own) for test in _NOT_IN_JSON):
            cause = "JSON has no such type"
            raise unsupported(str(kind), cause, "Cast it to string first", column, table)
        if not pa.types.is_decimal(own):
            arrow_type(own, column=column, table=table)
        yield pa.types.is_decimal(own) or pa.types.is_temporal(own) or _is_bytes(own)


_NOT_IN_JSON = (pa.types.is_duration, pa.types.is_interval, pa.types.is_run_end_encoded)


def _stored(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _stored(kind.value_type)
    return _stored(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_fixed_size_binary(kind) or _PLAIN.get(kind) == "LONGBLOB"


def arrow_table(
    schema: pa.Schema, name: tuple[str, str], keys: str | Iterable[str] = (), *, types: Mapping[str, str] | None = None
) -> SourceTable:
    """Return a schema as the table ``name``. ``types``: TiDB's types of some columns, by name. A field's metadata
    ``comment`` is its column's. Raises the family of ``SchemaError``.
    """
    full_name = ".".join(name)
    given = own_types(types, schema.names, full_name)
    columns = [_column(field, full_name, given.get(field.name)) for field in with_sparks_metadata(schema)]
    return SourceTable.of(*name, columns, keys)


def with_sparks_metadata(schema: pa.Schema) -> pa.Schema:
    """Return a schema of Parquet with the comments and lengths of CHAR and VARCHAR that Spark wrote with it."""
    try:
        fields = json.loads((schema.metadata or {})[_SPARKS_SCHEMA])["fields"]
        known = {each["name"]: {name: str(value) for name, value in each["metadata"].items()} for each in fields}
    except (KeyError, TypeError, ValueError):  # another writer
        return schema
    return pa.schema([field.with_metadata({**known.get(field.name, {}), **(field.metadata or {})}) for field in schema])


def _column(field: pa.Field, table: str, type: str | None) -> SourceColumn:
    metadata = {name.decode(): value.decode(errors="replace") for name, value in (field.metadata or {}).items()}
    own = type or _EXTENSIONS.get(metadata.get(_EXTENSION_NAME, ""))
    choice = TypeChoice(own) if own else char_or_varchar(metadata.get(CHAR_VARCHAR, ""))
    choice = choice or arrow_type(field.type, column=field.name, table=table)
    comment = metadata.get("comment", "")
    return SourceColumn(field.name, choice.text, field.nullable, comment=comment, assumption=choice.assumption)
