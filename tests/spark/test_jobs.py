"""What a micro-batch costs Spark: two jobs at most, and no adaptive execution."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from spark_history import FIRST_TSO

from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import MemorySink, MemoryWriter, clear
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.spark import TicdcSink
from ticdc_emit.spark import worker as worker_module
from ticdc_emit.spark.worker import freeze_gc
from ticdc_emit.testing import EmbeddedRegistry

pytestmark = pytest.mark.spark

SCHEMA = "create table test.a (id bigint primary key); create table test.b (id bigint primary key);"
CANAL = "protocol=canal-json&enable-tidb-extension=true&partition-num=3"
SIMPLE = "protocol=simple&partition-num=3"
AVRO = "protocol=avro&partition-num=3"
OFTEN = "[sink]\nsend-bootstrap-interval-in-sec = 1\nsend-bootstrap-in-msg-count = 5\n"
APART = "[sink]\ndispatchers = [{ matcher = ['*.*'], topic = '{schema}_{table}' }]\n"
BATCHES = 3

Form = Callable[[Any], Any]


def typed(numbers: Any) -> Any:
    return numbers.selectExpr(
        "'c' as op", f"{FIRST_TSO}L + value * 26214400L as commit_ts", "named_struct('id', value) as after"
    )


def side_by_side(numbers: Any) -> Mapping[str, Any]:
    return {f"test.{name}": typed(numbers.filter(f"value % 2 = {rest}")) for rest, name in enumerate("ab")}


def generic(numbers: Any) -> Any:
    images = "map('id', cast(value as string)) as after"
    names = ["'test' as schema", "if(value % 2 = 0, 'a', 'b') as table"]
    return numbers.selectExpr(*names, "'c' as op", f"{FIRST_TSO}L + value * 26214400L as commit_ts", images)


def with_query(form: Form) -> Form:
    return lambda numbers: form(numbers).selectExpr("*", "cast(null as string) as query")


def side_by_side_with_query(numbers: Any) -> Mapping[str, Any]:
    return {name: df.selectExpr("*", "cast(null as string) as query") for name, df in side_by_side(numbers).items()}


def settings(spark: Any) -> list[str]:
    names = ("spark.sql.adaptive.enabled", "spark.sql.codegen.useIdInClassName")
    return [spark.conf.get(name, "true") for name in names]


def jobs_of_batches(spark: Any, folder: Path, form: Form, sink: TicdcSink) -> list[int]:
    """Run a query over numbers; return how many jobs each of its first batches took."""
    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=20, numPartitions=2).load()
    tracker = spark.sparkContext.statusTracker()
    jobs: dict[int, int] = defaultdict(int)
    runs: list[str] = []

    def send(df: Any, number: int) -> None:
        runs.append(df.sparkSession.sparkContext.getLocalProperty("spark.jobGroup.id"))
        before = len(tracker.getJobIdsForGroup(runs[0]))
        assert settings(df.sparkSession) == ["true", "true"]
        sink(form(df), number)
        assert settings(df.sparkSession) == ["true", "true"]
        jobs[number] = len(tracker.getJobIdsForGroup(runs[0])) - before

    query = source.writeStream.foreachBatch(send).option("checkpointLocation", str(folder)).start()
    try:
        while len(jobs) < BATCHES and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    assert query.exception() is None, query.exception()
    return [jobs[number] for number in range(BATCHES)]


@pytest.mark.parametrize("state", [False, True], ids=["no state", "state"])
@pytest.mark.parametrize("clock", ["commit", "wall"])
@pytest.mark.parametrize(
    "form",  # of a constant op Spark knows that no row is DDL
    [side_by_side, generic, with_query(generic), side_by_side_with_query],
    ids=["typed", "generic", "generic with query", "typed with query"],
)
def test_a_micro_batch_is_one_job(spark: Any, tmp_path: Path, form: Form, clock: Any, state: bool) -> None:
    if not hasattr(spark, "_jsc"):
        pytest.skip("a client of Spark Connect is not told of jobs")
    uri = str(tmp_path / "state") if state else None
    sink = TicdcSink(f"jsonl://{tmp_path}/out?{CANAL}", SCHEMA, clock=clock, state_uri=uri)
    assert jobs_of_batches(spark, tmp_path / "checks", form, sink) == [1] * BATCHES


@pytest.mark.parametrize(
    ("protocol", "form", "jobs"),
    [
        (SIMPLE, side_by_side, 1),
        (SIMPLE, generic, 1),
        (SIMPLE, with_query(generic), 1),
        (AVRO, side_by_side, 1),
        (AVRO, generic, 2),
        (AVRO, with_query(generic), 2),
    ],
    ids=["simple typed", "simple", "simple with query", "avro typed", "avro", "avro with query"],
)
def test_what_is_counted_costs_no_job_and_what_is_registered_no_third_one(
    spark: Any, tmp_path: Path, protocol: str, form: Form, jobs: int
) -> None:
    if not hasattr(spark, "_jsc"):
        pytest.skip("a client of Spark Connect is not told of jobs")
    with EmbeddedRegistry() as registry:
        changefeed, url = (APART, registry.url) if protocol == AVRO else (OFTEN, None)
        sink = TicdcSink(f"jsonl://{tmp_path}/out?{protocol}", SCHEMA, changefeed=changefeed, schema_registry=url)
        assert jobs_of_batches(spark, tmp_path / "checks", form, sink) == [jobs] * BATCHES


@dataclass(frozen=True)
class Watching(MemorySink):
    """Notes the session's settings when it is opened, which is in this process."""

    look: Callable[[], list[str]] = list
    seen: list[list[str]] = field(default_factory=list)

    def open(self, message_limit: int | None = None) -> MemoryWriter:
        self.seen.append(self.look())
        return super().open(message_limit)


def test_the_settings_hold_while_rows_are_sent(spark: Any) -> None:
    sink = Watching("settings", look=lambda: settings(spark))
    try:
        emitter = TicdcSink(f"memory://settings?{CANAL}", SCHEMA, sink=sink, table="test.a")
        rows = typed(spark.range(1).withColumnRenamed("id", "value"))
        emitter(rows, 0)
        assert sink.seen[0] == ["false", "false"]
        sink.seen.clear()
        emitter.write(rows, batch_id=0)
        assert sink.seen[0] == ["true", "false"]
        assert settings(spark) == ["true", "true"]
    finally:
        clear("settings")


def test_a_column_for_ddl_changes_no_byte(spark: Any, tmp_path: Path) -> None:
    numbers = spark.range(40).withColumnRenamed("id", "value")
    ddl = spark.sql(f"""
        select 'test' as schema, null as table, 'ddl' as op, {FIRST_TSO}L + 20 * 26214400L + 1 as commit_ts,
               cast(null as map<string,string>) as after, 'create table test.c (id int primary key)' as query
        union all
        select 'test', 'c', 'c', {FIRST_TSO}L + 30 * 26214400L + 1, map('id', '1'), null""")
    plain, asked = (TicdcSink(f"jsonl://{tmp_path}/{name}?{SIMPLE}", SCHEMA, changefeed=OFTEN) for name in "xy")
    plain(generic(numbers), 0)
    asked(with_query(generic)(numbers), 0)
    assert list(read_files(tmp_path / "x")) == list(read_files(tmp_path / "y"))
    # a batch whose own DDL makes the table of its rows
    fresh = TicdcSink(f"jsonl://{tmp_path}/z?{SIMPLE}", SCHEMA, changefeed=OFTEN)
    fresh(with_query(generic)(numbers).unionByName(ddl), 0)
    assert (fresh.total.rows, fresh.total.ddl_events) == (41, 1)


@pytest.mark.parametrize("column", ["query", "schema"])
def test_ddl_that_is_not_text(spark: Any, tmp_path: Path, column: str) -> None:
    df = with_query(generic)(spark.range(1).withColumnRenamed("id", "value")).withColumn(column, F.lit(5))
    with pytest.raises(UnsupportedTypeError, match=f"the {column} of DDL rows is int, not text"):
        TicdcSink(f"jsonl://{tmp_path}?{CANAL}", SCHEMA)(df, 0)


def test_a_worker_sets_its_modules_aside_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_done", False)
    try:
        freeze_gc()
        frozen = gc.get_freeze_count()
        assert frozen > 0
        kept = [[] for _ in range(10_000)]  # type: ignore[var-annotated]
        freeze_gc()
        assert gc.get_freeze_count() <= frozen, len(kept)
    finally:
        gc.unfreeze()
