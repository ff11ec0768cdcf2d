"""Changefeeds of unusual size: many tables, many columns, large rows, one busy key.

Each case makes its input in Spark, sends it to files (so that everything can be read back), checks what arrived and
says how fast it was and how much memory the Python processes took.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peak_memory import PeakMemory

from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.spark import TicdcSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TS = 450_000_000_262_144_000
_MIB = 1 << 20


@dataclass(frozen=True)
class Measured:
    """What a case took. ``setup_s``: schemas and plan; memory in MiB, of the driver and of the largest worker."""

    case: str
    rows: int
    messages: int
    mib: float
    setup_s: float
    seconds: float
    rows_per_s: float
    driver_mib: float
    worker_mib: float

    def as_dict(self) -> dict[str, Any]:
        return {name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(self).items()}


def many_tables(spark: SparkSession, folder: Path, *, tables: int = 10_000, rows: int = 100_000) -> Measured:
    """One changefeed of ``tables`` tables in the generic form; neighbouring rows are of 60 tables at a time."""
    columns = "id bigint primary key, name varchar(40), amount decimal(12,2), at datetime(3), note text"
    sql = ";".join(f"create table s{n % 20}.t{n} ({columns})" for n in range(tables))
    df = (
        spark.range(rows)
        .selectExpr(f"(id + (id div 10000) * 60) % 60 + (id div 10000) * 60 % {tables} as n", "id")
        .selectExpr(
            f"concat('s', (n % {tables}) % 20) as schema",
            f"concat('t', n % {tables}) as table",
            "'c' as op",
            f"{_TS} + id as commit_ts",
            "map('id', cast(id as string), 'name', concat('name ', id), 'amount', concat(id % 1000, '.50'),"
            " 'at', '2024-05-05 12:34:56.789', 'note', repeat('x', cast(id % 50 as int))) as after",
        )
    )
    return _measured("many tables", folder, sql, df, _each_table_in_order)


def many_columns(spark: SparkSession, folder: Path, *, columns: int = 1_000, rows: int = 5_000) -> Measured:
    """Updates of a table of ``columns`` columns of five types, each row with a before image."""
    kinds = ("int", "varchar(20)", "decimal(12,2)", "double", "date")
    named = [(f"c{n}", kinds[n % len(kinds)]) for n in range(columns - 1)]
    sql = f"create table test.wide (id bigint primary key, {', '.join(f'{name} {kind}' for name, kind in named)})"
    made = {
        "int": "cast(id % 1000 + {n} as int)",
        "varchar(20)": "concat('v', id + {n})",
        "decimal(12,2)": "cast(id % 1000 + {n} as decimal(12,2))",
        "double": "cast(id + {n} as double) / 7",
        "date": "date_add(date'2024-01-01', cast((id + {n}) % 300 as int))",
    }
    fields = ", ".join(f"'{name}', {made[kind].format(n=n)}" for n, (name, kind) in enumerate(named))
    df = spark.range(rows).selectExpr(
        "'u' as op",
        f"{_TS} + id as commit_ts",
        f"named_struct('id', id, {fields}) as before",
        f"named_struct('id', id, {fields.replace('concat(', 'concat(1, ')}) as after",
    )
    return _measured("many columns", folder, sql, df, _each_table_in_order)


def large_rows(spark: SparkSession, folder: Path, *, size: int = 10 * _MIB, rows: int = 12) -> Measured:
    """Rows of one text of ``size`` bytes, beyond TiCDC's own default limit."""
    sql = "create table test.large (id bigint primary key, body longtext)"
    df = spark.range(rows).selectExpr(
        "'c' as op", f"{_TS} + id as commit_ts", f"named_struct('id', id, 'body', repeat('<é>', {size // 4})) as after"
    )
    return _measured("large rows", folder, sql, df, _each_table_in_order, f"&max-message-bytes={size * 8}")


def one_key(spark: SparkSession, folder: Path, *, rows: int = 1_000_000) -> Measured:
    """One key, updated again and again: everything goes to one topic-partition."""
    sql = "create table test.counter (id bigint primary key, n bigint, note varchar(40))"
    image = "named_struct('id', cast(1 as bigint), 'n', id + {step}, 'note', concat('value ', id + {step}))"
    df = spark.range(rows).selectExpr(
        "'u' as op", f"{_TS} + id as commit_ts", f"{image.format(step=0)} as before", f"{image.format(step=1)} as after"
    )
    return _measured("one key", folder, sql, df.repartition(8, "commit_ts"), _each_table_in_order)


CASES: dict[str, Callable[..., Measured]] = {
    "tables": many_tables,
    "columns": many_columns,
    "large": large_rows,
    "key": one_key,
}


def _measured(
    case: str, folder: Path, sql: str, df: DataFrame, check: Callable[[Path], int], more: str = ""
) -> Measured:
    started = time.monotonic()
    catalog: Catalog = catalog_from_sql(sql)
    names = {(info.schema, info.name) for info in catalog.tables()}
    uri = f"jsonl://{folder}?protocol=canal-json&enable-tidb-extension=true&partition-num=3{more}"
    sink = TicdcSink(uri, catalog, table=".".join(next(iter(names))) if len(names) == 1 else None)
    setup = time.monotonic() - started
    with PeakMemory() as memory:
        report = sink.write(df)
    assert check(folder) == report.rows
    return Measured(
        case,
        report.rows,
        report.messages,
        report.bytes / _MIB,
        setup,
        report.seconds,
        report.rows_per_second,
        memory.driver / _MIB,
        memory.worker / _MIB,
    )


def _each_table_in_order(folder: Path) -> int:
    """Return how many rows the files hold; in each, commit_ts must rise."""
    rows = 0
    for path in sorted(folder.rglob("*.jsonl")):
        last = 0
        for commit_ts in _commits(path):
            assert commit_ts > last, path
            last, rows = commit_ts, rows + 1
    return rows


def _commits(path: Path) -> Iterator[int]:
    with path.open() as lines:
        for line in lines:
            value = json.loads(line)["value"]
            _, _, tail = value.rpartition('"_tidb":{"')
            if tail.startswith("commitTs"):
                yield int(tail.removeprefix('commitTs":').rstrip("}"))
