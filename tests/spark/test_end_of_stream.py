"""The end of a stream: ``sink.stop(query)`` ends it between two batches; one that ended within a batch can go on."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from spark_session import ON_CONNECT

from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

FIRST, STEP = 450_000_000_000_000_000, 1 << 18
ROWS = (
    "'c' as op",
    f"cast({FIRST} + value * {STEP} as bigint) as commit_ts",
    "cast(null as struct<id:bigint,v:string>) as before",
    "named_struct('id', value, 'v', cast(value as string)) as after",
)
STATE = pytest.mark.parametrize("has_state", [False, True], ids=["memory", "state_uri"])


class Stream:
    """A stream of the rate source, which never ends, its sink, and what was sent."""

    def __init__(self, spark: Any, folder: Path, *, has_state: bool) -> None:
        self.spark, self.folder = spark, folder
        self.sink = TicdcSink(
            f"jsonl://{folder}/out?protocol=canal-json&enable-tidb-extension=true",
            "create table a.t (id bigint primary key, v text)",
            state_uri=str(folder / "state") if has_state else None,
        )

    def start(self, send: Any = None, **trigger: Any) -> Any:
        source = self.spark.readStream.format("rate").option("rowsPerSecond", 50).load()
        writer = source.selectExpr(*ROWS).writeStream.foreachBatch(send or self.sink).trigger(**trigger)
        return writer.option("checkpointLocation", str(self.folder / "checks")).start()

    def await_batches(self, query: Any, count: int) -> None:
        while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < count):
            query.awaitTermination(0.1)
        assert query.exception() is None

    def events(self, kind: str) -> list[dict[str, Any]]:
        found = (json.loads(message.value or b"") for message in read_files(self.folder / "out"))
        return [each for each in found if each["type"] == kind]

    def is_whole(self) -> bool:
        """Whether every row was sent up to the last watermark, and none after it."""
        rows = {int(each["data"][0]["id"]) for each in self.events("INSERT")}
        last = max(each["_tidb"]["watermarkTs"] for each in self.events("TIDB_WATERMARK"))
        return rows == set(range(max(rows) + 1)) and last == FIRST + max(rows) * STEP


@STATE
@pytest.mark.parametrize("interval", ["0 seconds", "1 second"])
def test_a_stream_ends_between_two_batches(spark: Any, tmp_path: Path, interval: str, has_state: bool) -> None:
    stream = Stream(spark, tmp_path, has_state=has_state)
    if ON_CONNECT and not has_state:
        pytest.skip("refused, see below")
    query = stream.start(processingTime=interval)
    stream.await_batches(query, 1)
    report = stream.sink.stop(query)
    assert report is not None
    assert (query.isActive, query.exception(), stream.is_whole()) == (False, None, True)
    assert stream.sink.stop(query) is not None, "of a query that has ended"
    if ON_CONNECT:
        return
    sent = len(stream.events("INSERT"))
    assert sent == stream.sink.total.rows
    query = stream.start(processingTime=interval)  # goes on after the last batch, which is committed
    stream.await_batches(query, report.batch_id + 2)
    stream.sink.stop(query)
    assert len(stream.events("INSERT")) == stream.sink.total.rows > sent
    assert stream.is_whole()


@STATE
def test_the_batch_at_hand_is_sent_whole(spark: Any, tmp_path: Path, has_state: bool) -> None:
    if ON_CONNECT:
        pytest.skip("needs the threads of the batches")
    stream, begun = Stream(spark, tmp_path, has_state=has_state), []

    def send(batch: Any, number: int) -> None:
        begun.append(number)
        time.sleep(1)  # a long batch
        stream.sink(batch, number)

    query = stream.start(send, processingTime="0 seconds")
    while len(begun) < 3 and query.isActive:
        time.sleep(0.01)
    report = stream.sink.stop(query)
    assert (report.batch_id, query.exception()) == (begun[-1], None)
    assert [each.batch_id for each in stream.sink.reports] == [*begun, begun[-1]]
    assert stream.is_whole()


@STATE
def test_a_stream_that_was_stopped_within_a_batch(spark: Any, tmp_path: Path, has_state: bool) -> None:
    """What the error says makes its end whole."""
    if ON_CONNECT:
        pytest.skip("needs the threads of the batches")
    stream = Stream(spark, tmp_path, has_state=has_state)
    query = stream.start(processingTime="0 seconds")
    stream.await_batches(query, 1)
    deliver, is_within = stream.sink.changefeed._end_batch, threading.Event()

    def end_batch(*_: Any, **__: Any) -> Any:
        is_within.set()  # its rows are sent, its watermark is not
        while query.isActive:
            time.sleep(0.01)
        raise ConnectionError("Spark cancels what the batch does")

    stream.sink.changefeed._end_batch = end_batch  # type: ignore[method-assign]
    assert is_within.wait(60)
    query.stop()
    stream.sink.changefeed._end_batch = deliver  # type: ignore[method-assign]
    with pytest.raises(StateError, match="begun and not finished") as refused:
        stream.sink.finish()
    assert refused.value.remedy is not None
    assert "start the query again on its checkpoint with trigger(availableNow=True)" in refused.value.remedy
    stream.start(availableNow=True).awaitTermination()
    assert stream.sink.finish() is not None
    assert stream.is_whole()


def test_a_query_that_failed(spark: Any, tmp_path: Path) -> None:
    if ON_CONNECT:
        pytest.skip("the function would be a copy")
    stream = Stream(spark, tmp_path, has_state=False)

    def send(batch: Any, number: int) -> None:
        raise ValueError("of this batch")

    query = stream.start(send, processingTime="0 seconds")
    while query.isActive:
        time.sleep(0.01)
    with pytest.raises(Exception, match="of this batch"):
        stream.sink.stop(query)


def test_a_query_without_rows_and_one_of_another_sink(spark: Any, tmp_path: Path) -> None:
    if ON_CONNECT:
        pytest.skip("the sink needs a state_uri")
    stream = Stream(spark, tmp_path, has_state=False)
    query = stream.start(lambda batch, number: None, processingTime="0 seconds")
    assert stream.sink.stop(query) is None
    query = stream.start(lambda batch, number: None, processingTime="1 hour")
    while query.lastProgress is None:
        time.sleep(0.01)
    assert (stream.sink.stop(query), query.isActive) == (None, False)


def test_over_connect_the_state_is_needed(tmp_path: Path) -> None:
    class Query:
        """As a client of Spark Connect has it: without a Java object."""

    with pytest.raises(ConfigError, match="over Spark Connect") as refused:
        Stream(None, tmp_path, has_state=False).sink.stop(Query())
    assert refused.value.option == "state_uri"
