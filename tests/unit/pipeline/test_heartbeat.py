"""Between batches: watermarks, DDL and BOOTSTRAPs by the wall clock, what is recorded of them, and the thread."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.base import MessageWriter, Sink
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import ConfigError, DeliveryError, LateRowError, StateError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.heartbeat import PeriodicTask
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.tso import compose

START = 1_700_000_000_000
SCHEMA = "create table s.t (id int primary key)"
CANAL = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"
ROWS = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("after", pa.struct([("id", pa.int64())]))])


def tso(ms: int) -> int:
    return compose(START + ms)


def batch(*ms: int, kind: type[ArrowBatch] = ArrowBatch) -> ArrowBatch:
    rows: list[dict[str, Any]] = [{"op": "c", "commit_ts": tso(at), "after": {"id": at}} for at in ms]
    return kind(pa.Table.from_pylist(rows, schema=ROWS), "s.t")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Milliseconds behind START."""
    now = [0]
    monkeypatch.setattr(time, "time_ns", lambda: (START + now[0]) * 1_000_000)
    return now


class Failing:
    def __init__(self, store: str) -> None:
        self._sink = MemorySink(store)
        self.fails = False

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return self._sink.prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        return self._sink.message_limit(topics)

    def open(self, max_message_bytes: int) -> MessageWriter:
        if self.fails:
            raise DeliveryError("the broker is away", remedy="Wait")
        return self._sink.open(max_message_bytes)


def feed(
    sink: Sink, state: Path | None = None, uri: str = CANAL, changefeed: str | None = None, **options: Any
) -> Changefeed:
    config = load_changefeed(f"memory://x/t?{uri}", changefeed)
    where = None if state is None else Secret(str(state))
    ddl = options.pop("ddl", ())
    how = RunOptions(**({"clock": "wall", "allowed_lateness": 5.0, "state_uri": where} | options))
    return Changefeed(config, sink, SCHEMA, options=how, ddl=ddl)


def told(store: str, partition: int = 0) -> list[Any]:
    found: list[Any] = []
    for message in messages(store):
        if message.partition == partition:
            value = json.loads(message.value or b"")
            if value["isDdl"]:
                found.append(value["sql"])
            elif "watermarkTs" in value["_tidb"]:
                found.append(("W", ((value["_tidb"]["watermarkTs"] + 1) >> 18) - START))
            else:
                found.append(int(value["data"][0]["id"]))
    return found


def test_the_watermark_follows_the_clock_on_every_partition(store: str, clock: list[int]) -> None:
    changefeed = feed(MemorySink(store))
    assert changefeed.beat() is None  # there was no batch yet
    changefeed.run(batch(10_000), 0, final=False)
    clock[0] = 10_500
    first = changefeed.beat()
    assert (first.batch_id, first.rows, first.messages, first.watermark) == (0, 0, 2, tso(5_500) - 1)
    assert changefeed.beat() is None  # the clock stands still
    clock[0] = 60_000
    changefeed.beat()
    assert told(store, 0)[-3:] == told(store, 1)[-3:] == [("W", 5_000), ("W", 5_500), ("W", 55_000)]
    assert list(changefeed.reports) == [changefeed.reports[0]]


def test_the_watermark_is_recorded_before_it_is_sent(store: str, tmp_path: Path, clock: list[int]) -> None:
    sink = Failing(store)
    changefeed = feed(sink, tmp_path)
    changefeed.run(batch(10_000), 0, final=False)
    clock[0], sink.fails = 30_000, True
    with pytest.raises(DeliveryError):
        changefeed.beat()
    record = json.loads((tmp_path / "batch-0.json").read_bytes())
    assert record["end_watermark"] == tso(25_000) - 1
    with pytest.raises(LateRowError):
        feed(MemorySink(store), tmp_path).run(batch(20_000), 1, final=False)


def test_a_replayed_batch_sends_the_same_behind_a_heartbeat(store: str, tmp_path: Path, clock: list[int]) -> None:
    changefeed = feed(MemorySink(store), tmp_path)
    changefeed.run(batch(10_000, 11_000), 0, final=False)
    before = [(m.partition, m.key, m.value) for m in messages(store)]
    clock[0] = 40_000
    changefeed.beat()
    clear(store)
    again = feed(MemorySink(store), tmp_path)
    again.run(batch(10_000, 11_000), 0, final=False)
    assert [(m.partition, m.key, m.value) for m in messages(store)] == before
    with pytest.raises(LateRowError):
        again.run(batch(34_000), 1, final=False)


def test_behind_a_batch_that_was_not_finished_nothing_is_sent(store: str, clock: list[int]) -> None:
    sink = Failing(store)
    changefeed = feed(sink)
    changefeed.run(batch(10_000), 0, final=False)
    sink.fails = True
    with pytest.raises(DeliveryError):
        changefeed.run(batch(12_000), 1, final=False)
    clock[0], sink.fails = 60_000, False
    assert changefeed.beat() is None
    assert changefeed.run(batch(12_000), 1, final=False).rows == 1


def test_ddl_waits_for_the_clock_and_is_not_lost(store: str, tmp_path: Path, clock: list[int]) -> None:
    add = "ALTER TABLE `s`.`t` ADD COLUMN `v` INT"
    sink = Failing(store)
    changefeed = feed(sink, tmp_path, ddl=[(tso(20_000), add)])
    changefeed.run(batch(10_000), 0, final=False)
    clock[0] = 24_999
    changefeed.beat()
    assert add not in told(store)
    clock[0], sink.fails = 26_000, True
    with pytest.raises(DeliveryError):
        changefeed.beat()
    sink.fails, clock[0] = False, 27_000
    again = feed(sink, tmp_path, ddl=[(tso(20_000), add)])
    again.beat()
    assert told(store)[-2:] == [add, ("W", 22_000)]
    clock[0] = 28_000
    again.beat()
    assert told(store).count(add) == 1


def test_bootstraps_fall_due_without_rows(store: str, tmp_path: Path, clock: list[int]) -> None:
    rules = "[sink]\nsend-bootstrap-interval-in-sec = 10\nsend-bootstrap-in-msg-count = 1000\n"
    simple = "protocol=simple&partition-num=1"
    changefeed = feed(MemorySink(store), tmp_path, simple, rules)
    changefeed.run(batch(0), 0, final=False)

    def kinds() -> list[str]:
        return [json.loads(message.value or b"")["type"] for message in messages(store)]

    assert kinds() == ["BOOTSTRAP", "INSERT", "WATERMARK"]
    clock[0] = 6_000
    changefeed.beat()
    clock[0] = 16_000
    feed(MemorySink(store), tmp_path, simple, rules).beat()
    assert kinds()[3:] == ["WATERMARK", "BOOTSTRAP", "WATERMARK"]
    clock[0] = 17_000
    feed(MemorySink(store), tmp_path, simple, rules).beat()
    assert kinds()[6:] == ["WATERMARK"]
    feed(MemorySink(store), tmp_path, simple, rules).run(batch(0), 0, final=False)  # a replay takes nothing back
    clock[0] = 18_000
    feed(MemorySink(store), tmp_path, simple, rules).beat()
    assert kinds()[-1] == "WATERMARK"
    assert kinds().count("BOOTSTRAP") == 3


def test_no_heartbeat_comes_while_a_batch_runs(store: str, clock: list[int]) -> None:
    changefeed = feed(MemorySink(store))
    changefeed.run(batch(10_000), 0, final=False)
    clock[0] = 60_000
    seen: list[Any] = []

    class Slow(ArrowBatch):
        def run(self, encode: Any, deliver: Any) -> Any:
            other = threading.Thread(target=lambda: seen.append(changefeed.beat()))
            other.start()
            other.join()
            return super().run(encode, deliver)

    changefeed.run(batch(12_000, kind=Slow), 1, final=False)
    assert seen == [None]


def test_the_thread_beats_from_the_first_batch_until_the_end(store: str) -> None:
    changefeed = feed(MemorySink(store), allowed_lateness=3600, heartbeat=0.001)
    changefeed.run(batch(10_000), 0, final=False)
    deadline = time.monotonic() + 60
    while len(told(store)) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    changefeed.finish()
    sent = told(store)
    assert len(sent) >= 5
    marks = [mark for kind, mark in sent[1:]]
    assert marks == sorted(marks)
    assert not any(thread.name == "heartbeat" for thread in threading.enumerate())
    assert told(store) == sent


def test_what_a_heartbeat_meets_is_raised_by_the_next_batch() -> None:
    calls, failed = [], threading.Event()

    def call() -> None:
        calls.append(1)
        failed.set()
        raise StateError("the state is another's", remedy="Stop one")

    pulse = PeriodicTask(call, 0.001)
    with pulse.batch():
        pass
    assert failed.wait(60)
    pulse.stop()
    with pytest.raises(StateError, match="is another"), pulse.batch():
        pass
    assert calls == [1]
    failed.clear()
    with pulse.batch():
        pass
    assert failed.wait(60)
    pulse.stop()


def test_no_call_while_the_source_has_more_to_read() -> None:
    answers, log, over = iter([False, False, True]), list[object](), threading.Event()

    def is_idle() -> bool:
        answer = next(answers, None)
        if answer is None:
            over.set()
            return False
        log.append(answer)
        return answer

    pulse = PeriodicTask(lambda: log.append("call"), 0.001)
    with pulse.batch(is_idle):
        pass
    assert over.wait(60)
    pulse.stop()
    assert log == [False, False, True, "call"]


def test_a_batch_waits_for_the_call_at_hand() -> None:
    entered, leave, order = threading.Event(), threading.Event(), []

    def call() -> None:
        with pulse.between_batches() as is_free:
            if is_free:  # the batch that started the calls may not be over
                entered.set()
                assert leave.wait(60)
                order.append("call")

    pulse = PeriodicTask(call, 0.001)
    with pulse.batch():
        pass
    assert entered.wait(60)

    def run() -> None:
        with pulse.batch():
            order.append("batch")
            pulse.stop()

    other = threading.Thread(target=run)
    other.start()
    leave.set()
    other.join(60)
    pulse.stop()
    assert order.index("call") < order.index("batch")


def test_a_pickled_changefeed_has_no_thread(store: str) -> None:
    changefeed = feed(MemorySink(store), allowed_lateness=3600, heartbeat=60)
    changefeed.run(batch(10_000), 0, final=False)
    copy = pickle.loads(pickle.dumps(changefeed))
    changefeed.close()
    assert not any(thread.name == "heartbeat" for thread in threading.enumerate())
    copy.run(batch(11_000), 1, final=False)
    assert any(thread.name == "heartbeat" for thread in threading.enumerate())
    copy.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"heartbeat": 1, "allowed_lateness": 1}, "needs the wall clock"),
        ({"heartbeat": 1, "clock": 5, "allowed_lateness": 1}, "needs the wall clock"),
        ({"heartbeat": 1, "clock": "wall"}, "still under way would be late"),
        ({"heartbeat": 0, "clock": "wall", "allowed_lateness": 1}, "without a pause"),
        ({"heartbeat": -1, "clock": "wall", "allowed_lateness": 1}, "not a number of seconds"),
    ],
)
def test_what_cannot_be_promised_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        RunOptions(**options)
    assert refused.value.option == "heartbeat"
