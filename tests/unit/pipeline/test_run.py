"""A changefeed across batches and restarts: what the last watermark covers, and what its options refuse."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, LateRowError, MessageTooLargeError, StateError, UnknownTopicError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.plan import table_plans as plan
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

SCHEMA = "create table s.t (id int primary key)"
START = 1_700_000_000_000
ROWS = pa.schema(
    [("op", pa.string()), ("commit_ts", pa.int64()), ("query", pa.string()), ("after", pa.struct([("id", pa.int64())]))]
)


def tso(ms: int) -> int:
    return compose(START + ms)


def batch(*ms: int, ddl: tuple[tuple[int, str], ...] = ()) -> ArrowBatch:
    rows: list[dict[str, Any]] = [{"op": "c", "commit_ts": tso(at), "after": {"id": at}} for at in ms]
    rows += [{"op": "ddl", "commit_ts": tso(at), "query": query} for at, query in ddl]
    return ArrowBatch(pa.Table.from_pylist(rows, schema=ROWS), "s.t")


def feed(store: str, state: Path | None = None, **options: Any) -> Changefeed:
    config = load_changefeed(f"memory://{store}/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1")
    where = None if state is None else Secret(str(state))
    return Changefeed(config, MemorySink(store), SCHEMA, options=RunOptions(state_uri=where, **options))


def watermarks(store: str) -> list[int]:
    found = [json.loads(message.value or b"") for message in messages(store)]
    return [each["_tidb"]["watermarkTs"] for each in found if each["type"] == "TIDB_WATERMARK"]


def test_a_batch_may_end_after_its_last_row(store: str, tmp_path: Path) -> None:
    first = feed(store, tmp_path)
    assert first.complete_before(0) == -1
    first.run(batch(10_000), 0, final=True, until=tso(15_000))
    first.run(batch(), 1, final=True)
    assert watermarks(store) == [tso(15_000)]
    assert [feed(store, tmp_path).complete_before(each) for each in (0, 1, 2)] == [-1, tso(15_000), tso(15_000)]


def test_finish_covers_earlier_batches_after_a_restart_with_a_smaller_one(store: str, tmp_path: Path) -> None:
    feed(store, tmp_path, allowed_lateness=5).run(batch(10_000, 20_000), 0, final=False)
    resumed = feed(store, tmp_path, allowed_lateness=5)
    resumed.run(batch(16_000), 1, final=False)
    report = resumed.finish()
    assert (report.batch_id, report.watermark) == (1, tso(20_000))
    again = feed(store, tmp_path, allowed_lateness=5).finish()
    assert again.messages == 0
    assert watermarks(store) == [tso(15_000) - 1, tso(20_000)]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("empty", [batch(), ArrowBatch([], "s.t")], ids=["no rows", "no batches"])
def test_an_empty_last_batch_sends_the_last_watermark(
    store: str, tmp_path: Path, empty: ArrowBatch, restarted: bool
) -> None:
    changefeed = feed(store, tmp_path)
    changefeed.run(batch(10, 5), 0, final=False)
    if restarted:
        changefeed = feed(store, tmp_path)
    report = changefeed.run(empty, 1, final=True)
    assert (report.rows, report.watermark) == (0, tso(10))
    assert watermarks(store) == [tso(10) - 1, tso(10)]
    replayed = feed(store, tmp_path).run(empty, 1, final=True)
    assert replayed.watermark == tso(10)
    assert watermarks(store) == [tso(10) - 1, tso(10), tso(10)]


@pytest.mark.parametrize(("interval", "marks"), [(0, []), (1, [2_000, 3_000, 4_000, 5_000])])
def test_a_batch_without_its_watermark_leaves_it_to_a_later_one(store: str, interval: float, marks: list[int]) -> None:
    changefeed = feed(store, watermark_interval=interval)
    changefeed.run(batch(1_500), 0, final=False, until=tso(3_500), watermark=False)
    changefeed.run(batch(3_700), 1, final=False, until=tso(4_500), watermark=False)
    changefeed.run(batch(), 2, final=False, until=tso(5_200), watermark=False)
    assert watermarks(store) == [tso(ms) for ms in marks]
    changefeed.finish()  # up to the last moment asked for
    assert watermarks(store) == [*(tso(ms) for ms in marks), tso(5_200)]
    changefeed.run(batch(), 3, final=False, until=tso(5_400), watermark=True)
    assert watermarks(store)[-1] == tso(5_400)


def test_without_any_row_there_is_no_watermark(store: str) -> None:
    changefeed = feed(store)
    assert changefeed.finish() is None
    assert changefeed.run(batch(), 0, final=True).watermark is None
    report = changefeed.finish()
    assert (report.watermark, report.messages) == (None, 0)


def test_finish_sends_ddl_behind_the_last_row_after_a_restart(store: str, tmp_path: Path) -> None:
    statement = (30, "alter table s.t add column v int")
    feed(store, tmp_path).run(batch(10, ddl=(statement,)), 0, final=False)
    report = feed(store, tmp_path).finish()
    assert (report.ddl_events, report.watermark) == (1, tso(30))


def test_finish_waits_for_a_batch_that_was_begun(store: str, tmp_path: Path) -> None:
    changefeed = feed(store, tmp_path)
    changefeed.run(batch(10), 0, final=False)
    with pytest.raises(LateRowError):
        changefeed.run(batch(1, 20), 1, final=False)
    with pytest.raises(StateError, match="begun and not finished") as refused:
        changefeed.finish()
    assert refused.value.batch_id == 1
    assert watermarks(store) == [tso(10) - 1]


@pytest.mark.parametrize("option", ["allowed_lateness", "watermark_interval"])
@pytest.mark.parametrize("value", [-5, -0.001, float("nan"), float("inf"), 1e306, "5"])
def test_seconds_out_of_range_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=option) as refused:
        RunOptions(**{option: value})
    assert refused.value.option == option
    assert refused.value.remedy


def test_an_interval_below_a_millisecond_is_refused() -> None:
    with pytest.raises(ConfigError, match="less than a millisecond") as refused:
        RunOptions(watermark_interval=0.0001)
    assert refused.value.option == "watermark_interval"
    assert RunOptions(watermark_interval=0.001).interval_ms == 1
    assert RunOptions(watermark_interval=0).interval_ms == 0
    assert RunOptions(allowed_lateness=2.5).lateness == compose(2_500)


def test_a_rehearsal_opens_writers_and_sends_nothing(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int | None] = []
    really = MemorySink.open
    monkeypatch.setattr(MemorySink, "open", lambda self, limit=None: (opened.append(limit), really(self, limit))[1])
    changefeed = feed(store, tmp_path, bad_rows="skip")
    broken = pa.Table.from_pylist([{"op": "c", "commit_ts": tso(2), "after": None}], schema=ROWS)
    changefeed.rehearse(ArrowBatch(broken, "s.t"))
    assert (len(opened), list(messages(store)), list(tmp_path.glob("batch-*"))) == (2, [], [])
    assert changefeed.run(ArrowBatch(broken, "s.t"), 0, final=True).skipped == {"s.t": 1}


def test_a_rehearsal_stores_no_large_message(store: str, tmp_path: Path) -> None:
    large = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{tmp_path}/claims"}
    config = load_changefeed(
        f"memory://{store}/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1&max-message-bytes=800",
        {"sink": {"kafka-config": {"large-message-handle": large}}},
    )
    schema = "create table s.t (id int primary key, v text)"
    after = pa.array([{"id": 1, "v": "x" * 1_000}], pa.struct([("id", pa.int64()), ("v", pa.string())]))
    row = ArrowBatch(pa.table({"op": ["c"], "commit_ts": [tso(1)], "after": after}), "s.t")
    changefeed = Changefeed(config, MemorySink(store), schema)
    changefeed.rehearse(row)
    assert not list(tmp_path.rglob("*.json"))
    assert changefeed.run(row, 0, final=True).claims == len(list(tmp_path.rglob("*.json"))) == 1


def test_topics_are_asked_for_again_after_a_batch_that_could_not_be_delivered(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changefeed = feed(store)
    changefeed.run(batch(1), 0, final=False)
    clear(store)
    with pytest.raises(UnknownTopicError, match="Run the batch again, which creates it"):
        changefeed.run(batch(2), 1, final=False)
    assert changefeed.run(batch(2), 1, final=False).rows == 1

    asked: list[dict[str, int | None]] = []
    prepare = MemorySink.prepare
    monkeypatch.setattr(MemorySink, "prepare", lambda self, topics: asked.append(topics) or prepare(self, topics))
    with pytest.raises(LateRowError):
        changefeed.run(batch(1), 2, final=False)
    changefeed.run(batch(3), 2, final=False)
    assert asked == []  # what is wrong with rows is not the sink's fault

    class FailingEngine(ArrowBatch):
        def run(self, *tasks: Any) -> Any:
            raise RuntimeError("a worker failed")

    with pytest.raises(RuntimeError):
        changefeed.run(FailingEngine(pa.Table.from_pylist([], schema=ROWS), "s.t"), 3, final=False)
    changefeed.run(batch(4), 3, final=False)
    assert asked == [{"ticdc": 1}]


@pytest.mark.parametrize("after", [(), (30,)], ids=["after the rows", "among the rows"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "debezium", "simple"])
def test_a_ddl_that_is_too_large_says_so(store: str, protocol: str, after: tuple[int, ...]) -> None:
    config = load_changefeed(f"memory://{store}/t?protocol={protocol}&max-message-bytes=5000&partition-num=1")
    columns = ", ".join(f"c{number} int comment '{'x' * 900}'" for number in range(7))
    changefeed = Changefeed(config, sink_for(config), SCHEMA)
    with pytest.raises(MessageTooLargeError) as refused:
        changefeed.run(
            batch(10, *after, ddl=((20, f"create table s.u (id int primary key,\n{columns})"),)), 0, final=True
        )
    error = refused.value
    assert error.message.startswith("the message of a DDL is too large: ")
    assert error.statement.startswith("CREATE TABLE `s`.`u` (`id` INT PRIMARY KEY,`c0` INT COMMENT 'xxx")
    assert len(error.statement) == 80
    assert error.table == "s.u"
    assert error.remedy == "Raise max-message-bytes in the sink URI: large-message-handle-option is for rows only"
    assert pickle.loads(pickle.dumps(error)).remedy == error.remedy


@pytest.mark.parametrize("protocol", ["canal-json", "debezium", "simple"])
def test_a_row_that_is_too_large_is_not_a_ddl(store: str, protocol: str) -> None:
    config = load_changefeed(f"memory://{store}/t?protocol={protocol}&max-message-bytes=5000&partition-num=1")
    rows = [{"op": "c", "commit_ts": tso(1), "after": {"id": 1, "body": "x" * 5_000}}]
    changefeed = Changefeed(config, sink_for(config), "create table s.t (id int primary key, body text)")
    with pytest.raises(MessageTooLargeError) as refused:
        changefeed.run(ArrowBatch(pa.Table.from_pylist(rows), "s.t"), 0, final=True)
    assert "DDL" not in str(refused.value)


def test_what_a_batch_does_does_not_grow_with_the_ddl_before_it(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied: list[str] = []
    versions: list[object] = []
    usual_apply, usual_checked = Catalog.apply, plan._checked

    def apply(catalog: Catalog, query: str, **options: Any) -> Any:
        applied.append(query)
        return usual_apply(catalog, query, **options)

    monkeypatch.setattr(Catalog, "apply", apply)

    def checked(codec: Any, info: Any, *rules: Any) -> Any:
        versions.append(info)
        return usual_checked(codec, info, *rules)

    monkeypatch.setattr(plan, "_checked", checked)
    running = feed(store, tmp_path)
    counts, sizes = [], []
    for number in range(70):
        applied.clear()
        versions.clear()
        statement = 10 * number, f"alter table s.t comment = '{number}'"
        running.run(batch(10 * number + 5, ddl=(statement,)), number, final=False)
        counts.append((len(applied), len(versions)))
        sizes.append((tmp_path / f"batch-{number}.json").stat().st_size)
    assert set(counts[1:]) == {(1, 1)}, "one statement, which makes one version"
    assert max(sizes) < 500
    applied.clear()
    versions.clear()
    running.run(batch(705), 70, final=False)
    assert (applied, versions) == ([], [])
    running.close()
    resumed = feed(store, tmp_path)
    resumed.run(batch(715), 71, final=False)
    assert len([query for query in applied if "comment" in query]) == 70, "a new process applies each once"


@pytest.mark.parametrize("interval", [None, 1])
def test_all_partitions_of_a_topic_have_the_same_watermarks(interval: float | None) -> None:
    """Also those whose first row comes after the batch's first watermark, in a topic that the table then leaves."""
    config = load_changefeed(
        "memory://m/?protocol=simple&partition-num=2",
        changefeed={"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "table", "topic": "{schema}_{table}"}]}},
    )
    start = compose(1_700_000_000_500)
    rows = [
        {"schema": "test", "table": table, "op": "c", "commit_ts": start + compose(after), "after": {"id": 1}}
        for table, after in (("a", 0), ("b", 600))
    ]
    schema = "create table test.a (id int primary key); create table test.b (id int primary key)"
    ddl = ((start + compose(700), "rename table test.b to test.c"),)
    watermarks: dict[tuple[str, int], list[int]] = {}
    for message in History(schema, rows, ddl).messages(config, watermark_interval=interval):
        content = json.loads(message.value or b"")
        if content["type"] == "WATERMARK":
            watermarks.setdefault((message.topic, message.partition), []).append(content["commitTs"])
    assert watermarks["test_b", 0] == watermarks["test_b", 1] == [compose(1_700_000_001_000)]
