"""CREATE TABLE of anything with a schema: Spark's, Arrow's, frames, tables of Spark's catalog. No row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ticdc_emit.errors import ConfigError, TicdcEmitWarning, UnsupportedTypeError, importing, warn_caller
from ticdc_emit.hints import names
from ticdc_emit.schema.frames.source_table import SourceTable
from ticdc_emit.schema.frames.spark_types import name_parts, spark_table, table_facts
from ticdc_emit.schema.model import schema_and_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

KEYS = "ticdc_emit.keys"
"""The metadata of an image's column: the names of its table's key columns."""

Keys: TypeAlias = "str | Iterable[str] | Mapping[str, str | Iterable[str]]"
"""The columns of a key; or of several tables by ``schema.name``."""


def keys_of(keys: Keys, table: str | None) -> tuple[str, ...]:
    return names(keys.get(str(table), ()) if isinstance(keys, Mapping) else keys, "keys")


class AssumedSchemaWarning(TicdcEmitWarning):
    """No schema was given, so it was made from the columns of the rows; the warning has its text."""


def table_sql(
    source: Any,
    name: str | None = None,
    keys: str | Iterable[str] = (),
    *,
    types: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> str:
    """Return the CREATE TABLE of TiDB for a schema, with a comment for each thing that it assumes.

    ``source``: Spark's DataFrame or StructType; Arrow's schema, table or record batch; a pandas or polars DataFrame, or
    anything with Arrow's C interface; or the name of a table in the catalog of ``spark`` (default: the active session),
    which also gives comments, the lengths of CHAR and VARCHAR, keys and partitions. ``name``: ``schema.name`` in TiDB;
    without a dot it is in ``test``; default, for a table of a catalog: its own. ``keys``: the primary key; without one,
    TiCDC sends the table only with ``force-replicate``. ``types``: TiDB's types of some columns (``{"at":
    "timestamp(6)"}``) instead of those in docs/types.md.

    The encoder accepts the frame's values without a cast. Raises :class:`~ticdc_emit.errors.UnsupportedTypeError` and
    :class:`~ticdc_emit.errors.SchemaError`, each with the column.
    """
    return table_of(source, name, keys, types=types, spark=spark).script()


def table_of(
    source: Any,
    name: str | None = None,
    keys: str | Iterable[str] = (),
    *,
    types: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> SourceTable:
    """Return what :func:`table_sql` prints, as data. Its arguments and errors are the same."""
    if isinstance(source, str):
        session = spark or _active_session(source)
        facts = table_facts(session, source)
        own = name or ".".join(name_parts(source)[-2:])
        return spark_table(session.table(source).schema, _name(own), keys, types=types, facts=facts)
    if name is None:
        raise ConfigError("the table has no name", remedy="Give name='schema.name' (ticdc-emit: --name)", option="name")
    if _is_spark(source):
        schema = source if type(source).__name__ == "StructType" else source.schema
        return spark_table(schema, _name(name), keys, types=types)
    from ticdc_emit.schema.frames.arrow_types import arrow_table

    return arrow_table(_arrow_schema(source), _name(name), keys, types=types)


def _name(name: str) -> tuple[str, str]:
    return schema_and_name(name, [])


def _is_spark(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pyspark" and (
        hasattr(source, "sparkSession") or type(source).__name__ == "StructType"
    )


def _active_session(table: str) -> SparkSession:
    with importing("a table of a catalog needs pyspark", extra="spark", source=table):
        from pyspark.sql import SparkSession
    session = SparkSession.getActiveSession()
    if session is None:
        raise ConfigError(
            "no session of Spark is active to look the table up",
            remedy="Give spark=, or a schema or a frame instead of a name",
            option="spark",
            source=table,
        )
    return session


def _arrow_schema(source: Any) -> pa.Schema:
    import pyarrow as pa

    if isinstance(source, pa.Schema):
        return source
    try:
        if isinstance(getattr(source, "schema", None), pa.Schema):
            return source.schema
        if type(source).__module__.partition(".")[0] == "pandas":
            return pa.Schema.from_pandas(source, preserve_index=False)
        if _column_of_objects(source) is not None:
            raise TypeError("a column holds objects of Python")
        if hasattr(source, "__arrow_c_schema__"):
            return pa.schema(source)
        if hasattr(source, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(source).schema
        cause = "it has no schema"
    except (pa.ArrowException, TypeError, ValueError) as fault:
        cause = str(fault)
    column = _column_of_objects(source)
    raise UnsupportedTypeError(
        f"{type(source).__name__} cannot be read as an Arrow schema: {cause}",
        remedy="Give a schema or a frame of Spark, Arrow, pandas or polars, or the name of a table in Spark's catalog"
        if column is None
        else "Give the values of the column one type, or leave the column out",
        column=column,
    )


def _column_of_objects(source: Any) -> str | None:
    import pyarrow as pa

    package = type(source).__module__.partition(".")[0]
    if package == "polars":  # which gives Arrow its own references to the objects
        kinds = getattr(source, "schema", {})
        return next((name for name, kind in kinds.items() if str(kind) == "Object"), None)
    for place, name in enumerate(source.columns if package == "pandas" and hasattr(source, "columns") else ()):
        try:
            pa.Schema.from_pandas(source.iloc[:, [place]], preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError):
            return str(name)
    return None


def schema_of_changes(changes: Mapping[Any, Any], keys: Keys = (), *, keyless: bool = False) -> str:
    """Return the CREATE TABLE of the tables of row changes, and warn once of what was assumed, with its text.

    ``changes``: frames in the typed form, or their schemas, of Spark or Arrow, by ``schema.name``. ``keys``: default:
    those that ``traffic.replay`` was given. ``keyless``: tables without a key are sent. Raises :class:`ConfigError` for
    rows that do not show their columns, and for unknown keys.
    """
    unknown = next((name for name in keys if name not in changes), None) if isinstance(keys, Mapping) else None
    if unknown is not None:
        raise ConfigError(
            f"keys= names {unknown}, but there are no rows of that table",
            remedy=f"There are rows of {', '.join(map(str, changes))}",
            option="keys",
        )
    tables = [_table_of(frame, name, keys_of(keys, name)) for name, frame in changes.items()]
    without = next((table.full_name for table in tables if not table.keys), None)
    if without is not None and not keyless:
        raise ConfigError(
            f"the key of {without} is not known, because no schema was given",
            remedy="Give keys= (ticdc-emit: --keys), the columns that identify a row; without a key, only "
            "force-replicate sends a table",
            option="keys",
        )
    text = "\n".join(table.script() for table in tables)
    listed = ", ".join(table.full_name for table in tables)
    warn_caller(f"no schema was given, so that of {listed} is made from the columns:\n{text}", AssumedSchemaWarning)
    return text


def _table_of(changes: Any, name: str | None, keys: tuple[str, ...]) -> SourceTable:
    import pyarrow as pa

    if name is None:
        raise ConfigError(
            "no schema was given, and the table of the rows has no name",
            remedy="Give schema=, the DDL of the tables; or table='schema.name' and keys=",
            option="schema",
        )
    is_spark = _is_spark(changes)
    schema = changes.schema if is_spark and hasattr(changes, "sparkSession") else changes
    schema = schema if is_spark else _arrow_schema(schema)
    for image in () if {"schema", "table"} <= set(schema.names) else ("after", "before"):
        if image not in schema.names:
            continue
        field = schema[image] if is_spark else schema.field(image)
        if is_spark and type(field.dataType).__name__ == "StructType":
            return table_of(field.dataType, name, keys or tuple((field.metadata or {}).get(KEYS, ())))
        if not is_spark and pa.types.is_struct(field.type):
            return table_of(pa.schema(list(field.type)), name, keys)
    raise ConfigError(
        f"no schema was given, and the rows of {name} do not show the columns of their table",
        remedy="Give schema=, the DDL of the tables (table_sql makes it from a frame); or images as structs",
        option="schema",
    )
