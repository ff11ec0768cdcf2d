"""Facts about a batch's rows that PLAN needs before the batch runs, collected in one Spark job.

In: DataFrames of row changes with DDL, and the questions. Out: the DDL and, if requested, names of tables. Each
question is a branch of one union, so they take one job together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import DDL_OP
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.pipeline.batch import null_in_ddl
from ticdc_emit.pipeline.state import DdlStatement
from ticdc_emit.spark.frame import commit_ts_column, in_pairs, without_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Survey", "named_tables"]

_DDL, _TABLE = "ddl", "table"
_COLUMNS = {"kind": "string", "schema": "string", "table": "string", "commit_ts": "long", "query": "string"}


class Survey:
    """The results of one job. ``frames``: those with DDL. ``named``: those whose tables are wanted."""

    def __init__(self, frames: Sequence[DataFrame], *, named: Iterable[DataFrame] = ()) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        parts = [_ddl_of(df) for df in frames]
        parts += [_columns(named_tables(df), kind=F.lit(_TABLE)) for df in named]
        self._found = in_pairs(lambda one, other: one.union(other), parts).toArrow()

    def ddl(self, database: str) -> list[DdlStatement]:
        """Return the DDL in order; ``database``: for statements without one."""
        statements: list[DdlStatement] = []
        for row in self._of(_DDL).to_pylist():
            commit_ts, query = row["commit_ts"], row["query"]
            if commit_ts is None or query is None:
                raise null_in_ddl(row["table"] if commit_ts is None else "query", commit_ts, query)
            statements.append((commit_ts, row["schema"] or database, query))
        return sorted(statements)

    def tables(self) -> list[tuple[str, str]]:
        """Return the table names in rows."""
        return [(row["schema"], row["table"]) for row in self._of(_TABLE).to_pylist()]

    def _of(self, kind: str) -> pa.Table:
        return self._found.filter(pc.equal(self._found.column("kind"), kind))


def named_tables(df: DataFrame) -> DataFrame:
    """Return the names of the tables of rows in the generic form."""
    return without_ddl(df).select("schema", "table").distinct().dropna()


def _ddl_of(df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    for column in {"schema", "query"} & set(df.columns):
        _refuse_other_than_text(df, column)
    schema = F.col("schema") if "schema" in df.columns else F.lit(None)
    time = "commit_ts" if "commit_ts" in df.columns else "commit_time"
    ddl = df.filter(F.lower("op") == F.lit(DDL_OP))
    found = ddl.select(schema.alias("schema"), commit_ts_column(df).alias("commit_ts"), "query")
    return _columns(found, kind=F.lit(_DDL), table=F.lit(time))


def _refuse_other_than_text(df: DataFrame, column: str) -> None:
    from pyspark.sql.types import CharType, NullType, StringType, VarcharType

    kind = df.schema[column].dataType
    if not isinstance(kind, StringType | CharType | VarcharType | NullType):
        raise UnsupportedTypeError(
            f"the {column} of DDL rows is {kind.simpleString()}, not text",
            remedy=f"Cast {column} to string first",
            column=column,
        )


def _columns(df: DataFrame, **others: Any) -> DataFrame:
    """Return the columns that every branch of the union has."""
    from pyspark.sql import functions as F  # noqa: N812

    held = {name: others.get(name, F.col(name) if name in df.columns else F.lit(None)) for name in _COLUMNS}
    return df.select(*(column.cast(_COLUMNS[name]).alias(name) for name, column in held.items()))
