"""Columns that are added and dropped in a table's history, and their values in older rows.

In: rows with the columns of all versions (a source written over the whole history, or a snapshot of its beginning), and
the DDL. Out: the rows with TiDB's values for rows older than a DDL: an added column's default, a renamed column's
value. A row's next change needs them in its before image.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import SchemaError, UnknownTableError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.planning import current_database, ddl_statements
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import split_name
from ticdc_emit.traffic.altered import value_of_old_rows
from ticdc_emit.traffic.replay.moments import Moment, TimeUnit, commit_ts_of, named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Versions", "backfilled", "versions_of"]

Versions = tuple[tuple[int, TableInfo], ...]
"""A table's versions with the TSO since which each is valid."""


def versions_of(
    catalog: Catalog, ddl: Iterable[tuple[Any, ...]], table: str, *, database: str | None = None
) -> Versions:
    """Return the versions of ``schema.name``; the catalog gets the DDL applied, as a changefeed of its tables does.

    ``ddl``: (commit_ts, statement) or (commit_ts, statement, schema). ``database``: for statements without one; by
    default the database of all tables, else ``test``, as in a replay of several tables (a replay of one table uses that
    table's). Raises the family of :class:`~ticdc_emit.errors.SchemaError` for DDL that does not apply or an unknown
    table.
    """
    for commit_ts, schema, query in sorted(ddl_statements(ddl, database or current_database(None, catalog))):
        catalog.apply(query, schema=schema, commit_ts=commit_ts)
    histories = catalog.histories()
    versions = tuple((since, info) for since, info in histories.get(split_name(table, []), ()) if info is not None)
    if not versions:
        known = [".".join(name) for name in histories]
        alike = [name for name in known if name.rpartition(".")[2] == table.rpartition(".")[2]]
        hint = f"Did you mean {alike[0]}? " if len(alike) == 1 else did_you_mean(table, known)
        raise UnknownTableError(
            "the schema has no such table",
            remedy=f"{hint}Name it as schema.name, or add its CREATE TABLE to the schema",
            table=table,
        )
    return versions


def backfilled(
    df: DataFrame, versions: Versions, at: Moment, *, unit: TimeUnit = "tso", zone: str = "UTC"
) -> DataFrame:
    """Return the rows with the values of older rows in columns that a later version added or renamed.

    ``at``: each row's time (a row at a DDL's own TSO is older). A column that ``df`` lacks is added if a later version
    gives old rows a value. Raises :class:`SchemaError` for a default that only TiDB knows.
    """
    from pyspark.sql import functions as F  # noqa: N812

    stamp = commit_ts_of(df, at, unit)
    for (_, before), (since, after) in pairwise(versions):
        columns: dict[str, Column] = {}
        for column in after.row_columns:
            old = next((other for other in before.row_columns if other.id == column.id), None)
            if old is not None and (old.name == column.name or old.name not in df.columns):
                continue
            same_name = any(other.name == column.name for other in before.row_columns)
            if old is None and same_name:  # MODIFY COLUMN may give a new id
                continue
            value = named(old.name) if old is not None else _default(df, column, zone)
            if column.name in df.columns:
                kind = df.schema[column.name].dataType
                columns[column.name] = F.when(stamp <= F.lit(since), value.cast(kind)).otherwise(named(column.name))
            elif old is not None:
                columns[column.name] = value
            else:
                columns[column.name] = F.when(stamp <= F.lit(since), value)
        df = df.withColumns(columns) if columns else df
    return df


def _default(df: DataFrame, column: TableColumn, zone: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BinaryType

    try:
        value = F.lit(value_of_old_rows(column, zone))
    except SchemaError as error:
        if column.name in df.columns:  # the source may have the value that only TiDB knows
            return named(column.name)
        raise error
    kind = df.schema[column.name].dataType if column.name in df.columns else None
    return F.unbase64(value) if isinstance(kind, BinaryType) and column.is_binary else value
