"""The partition of each row of a DataFrame.

Where all rows of a table go to one partition it is a constant, and for the ``ts`` dispatcher an expression of Spark's
own. A dispatcher by value runs ``arrange.dispatch`` over just the columns that it hashes, as an Arrow UDF, so that
there is one implementation of the hash. What it cannot tell is raised with its type where the row is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.dispatch import UNKNOWN, hashed_names, partitions_of_keys
from ticdc_emit.changes.tables import rows_by_table
from ticdc_emit.plan.tables import Plan, TablePlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["partition_of_generic", "partition_of_typed"]


def partition_of_typed(df: DataFrame, plan: Plan, table: TablePlan, commit_ts: Column, image: Column) -> Column:
    """Return the partition of each row of one table; ``image``: the one that counts."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    if not table.rule.by_value:
        by_time: Column = F.pmod(commit_ts, F.lit(table.partitions)).cast("int")
        return by_time
    names = hashed_names(table)
    kinds = [df.schema[name].dataType for name in ("after", "before") if name in df.columns]
    held = {name for kind in kinds if isinstance(kind, StructType) for name in kind.names}
    is_struct = bool(held)
    names = [name for name in names if not is_struct or name in held]
    values = [(image[name] if is_struct else F.try_element_at(image, F.lit(name))).alias(name) for name in names]
    how = plan.rendering

    def partitions(stamps: pa.Array, keys: pa.Array) -> pa.Array:
        columns = dict(zip(names, keys.flatten(), strict=True)) if names else {}
        return partitions_of_keys(table, stamps, columns, how)

    keys: Column = F.struct(*values) if values else F.struct(F.lit(0).alias("none"))
    return _udf(partitions)(commit_ts, keys)


def partition_of_generic(plan: Plan, commit_ts: Column, image: Column) -> Column:
    """Return the partition of each row of many tables, which have been joined with what is known of their tables."""
    from pyspark.sql import functions as F  # noqa: N812

    tables = [table for table in plan.tables.values() if table.partition is None and any(table.encoders)]
    fixed = F.coalesce(F.col("_fixed"), F.lit(0))
    if not tables:
        return fixed
    routes = {(table.schema, table.name): (table, hashed_names(table)) for table in tables}
    how = plan.rendering

    def partitions(schemas: pa.Array, names: pa.Array, stamps: pa.Array, given: pa.Array, keys: pa.Array) -> pa.Array:
        found = np.array(given.fill_null(UNKNOWN), np.int32)
        for key, rows in rows_by_table(schemas, names):
            if key not in routes:
                continue
            table, hashed = routes[key]
            index = pa.array(rows)
            part = keys.take(index)
            starts = np.asarray(part.offsets)[:-1]
            columns = {name: part.values.take(pa.array(starts + at)) for at, name in enumerate(hashed)}
            found[rows] = np.asarray(partitions_of_keys(table, stamps.take(index), columns, how))
        return pa.array(found)

    values = F.transform("_hashed", lambda name: F.try_element_at(image, name))
    routed = _udf(partitions)(F.col("schema"), F.col("table"), commit_ts, F.col("_fixed"), values)
    return F.coalesce(routed, fixed)


def _udf(function: Callable[..., pa.Array]) -> Callable[..., Column]:
    from pyspark.sql import functions as F  # noqa: N812

    made: Callable[..., Column] = cast("Any", F).arrow_udf(function, "int")  # which its stubs do not know
    return made
