"""Live traffic in this process: the changes of every other form, whenever and in whatever pieces they are taken."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery import memory
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate import live as live_module
from ticdc_emit.traffic.generate.live import LiveTraffic, send_live
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.tso import compose

START = compose(1_700_000_000_000)
SECOND = compose(1_000)
SETTINGS = {"load.transaction_size": 3.0, "trouble.shared_commits": 0.5}
ALONE = {"load.transaction_size": 1.0, "trouble.shared_commits": 0.0}


def after(seconds: float) -> int:
    return START + round(seconds * SECOND)


def model_of(given: dict[str, float]) -> str:
    return "\n".join(f"{name}={value}" for name, value in (SETTINGS | given).items())


def live(schema: str = "bank", model: dict[str, float] | None = None, **given: Any) -> LiveTraffic:
    settings = {"rows": None, "start": START, "rate": 200.0, "model": read_model(model_of(model or {}))}
    return LiveTraffic(schema, Settings(**settings | given))


def rows_of(pieces: list[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all pieces by table."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for piece in pieces:
        for table, batches in piece.changes.items():
            rows.setdefault(table, []).extend(row for batch in batches for row in batch.to_pylist())
    return rows


def count(piece: Any) -> int:
    return sum(batch.num_rows for batches in piece.changes.values() for batch in batches)


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """Return a change without what is NULL in its images, as columns are that the table does not have yet."""
    images = {name: row[name] and {k: v for k, v in row[name].items() if v is not None} for name in ("before", "after")}
    return {**row, **images}


@pytest.mark.parametrize(("schema", "drops"), [("bank", 0.2), ("sysbench", 0.5), ("partitioned", 0)])
def test_it_has_the_changes_and_ddl_of_a_whole_run(schema: str, drops: float) -> None:
    model = {"load.ddl_rate": 2.0, "trouble.drops": drops, "trouble.multi_row": 0.2}
    whole = generate_arrow(schema, rows=3_000, start=START, rate=200.0, seed=3, model=model_of(model))
    traffic = live(schema, model, rows=3_000, seed=3)
    pieces = [traffic.take(after(0.013 * n)) for n in range(1_300)]
    assert traffic.is_ended
    assert traffic.taken == 3_000
    expected = {
        table: [without_nulls(row) for batch in batches for row in batch.to_pylist()]
        for table, batches in whole.changes.items()
    }
    assert {table: [without_nulls(row) for row in own] for table, own in rows_of(pieces).items()} == expected
    assert tuple(each for piece in pieces for each in piece.ddl) == whole.ddl
    assert len(whole.ddl) > 20


def test_what_is_due_depends_on_time_alone() -> None:
    once, often = live(), live()
    assert count(once.take(START - 1)) == 0
    (pieces, whole) = [often.take(after(n / 10)) for n in range(31)], once.take(after(3))
    assert rows_of(pieces) == rows_of([whole])
    assert count(whole) >= 601
    again = once.take(after(1))  # an earlier moment
    assert (count(again), again.until) == (0, whole.until)


def test_nothing_later_is_at_or_below_a_moment_asked_for() -> None:
    traffic, reached = live(model={"load.ddl_rate": 5.0}), START - 1
    for n in range(200):
        piece = traffic.take(after(n * 0.0317))
        stamps = [
            stamp for batches in piece.changes.values() for batch in batches for stamp in batch["commit_ts"].to_pylist()
        ]
        stamps += [stamp for stamp, _ in piece.ddl]
        assert all(reached < stamp <= piece.until for stamp in stamps)
        reached = piece.until


def test_a_piece_has_whole_transactions() -> None:
    traffic, moment = live(model={"load.transaction_size": 40.0}), after(2)
    pieces = [traffic.take(moment, most=3)]
    while pieces[-1].until < moment:
        pieces.append(traffic.take(moment, most=3))
    assert all(count(piece) or piece.until == moment for piece in pieces)
    seen = set[int]()
    for piece in pieces:
        own = {
            stamp for batches in piece.changes.values() for each in batches for stamp in each["commit_ts"].to_pylist()
        }
        assert not own & seen
        seen |= own
    assert rows_of(pieces) == rows_of([live(model={"load.transaction_size": 40.0}).take(moment)])


def test_traffic_without_end_has_schema_changes_again_and_again() -> None:
    traffic = live("sysbench", {"load.ddl_rate": 20.0})
    statements = [each for n in range(12) for each in traffic.take(after(n)).ddl]
    assert len(statements) == 219
    assert statements[100][1] == statements[0][1]  # four tables, 25 statements each
    assert [stamp for stamp, _ in statements] == sorted(stamp for stamp, _ in statements)


def test_a_pause_and_another_rate_move_only_times() -> None:
    traffic = live(model={"load.ddl_rate": 5.0})
    pieces = [traffic.take(after(1)), traffic.pause(after(2))]
    assert traffic.is_paused
    pieces.append(traffic.take(after(50)))
    assert count(pieces[-1]) == 0
    assert pieces[-1].until == after(50)
    with pytest.raises(ConfigError, match="was taken"):
        traffic.resume(after(50))
    traffic.resume(after(60), rate=1_000)
    taken = traffic.taken
    pieces += [traffic.take(after(60) - 1), traffic.take(after(60))]
    assert [count(each) > 0 for each in pieces[-2:]] == [False, True]
    pieces += [traffic.take(after(60 + n / 7)) for n in range(15)]
    assert abs(traffic.taken - taken - 2_001) < 30
    traffic.resume(after(62.5), rate=10)
    pieces.append(traffic.take(after(70)))

    def timeless(pieces: list[Any]) -> Any:
        times = ("commit_ts", "start_ts")
        rows = rows_of(pieces)
        return {table: [{**row, **dict.fromkeys(times)} for row in own] for table, own in rows.items()}

    plain = live(model={"load.ddl_rate": 5.0})
    whole = plain.take(after(1_000))
    assert traffic.taken < plain.taken
    for table, rows in timeless(pieces).items():
        others = timeless([whole])[table][: len(rows)]
        assert [row["op"] for row in rows] == [row["op"] for row in others]
        assert [(row["before"] or {}).get("id") for row in rows] == [(row["before"] or {}).get("id") for row in others]
    queries = [query for piece in pieces for _, query in piece.ddl]
    assert queries == [query for _, query in whole.ddl][: len(queries)]
    with pytest.raises(SchemaError, match="rate is out of its range"):
        traffic.resume(after(80), rate=-1)


def test_the_images_before_are_those_after_the_last_change_across_a_pause() -> None:
    traffic = live(
        "create table t (id bigint primary key, v int, at datetime(6) not null)", {"load.ddl_rate": 1.0}, rate=50.0
    )
    pieces = [traffic.pause(after(3))]
    traffic.resume(after(1_000), rate=200)
    pieces += [traffic.take(after(1_000 + n)) for n in range(9)]
    known: dict[int, Any] = {}
    (rows,) = rows_of(pieces).values()
    for row in rows:
        before, own = row["before"], ("id", "v", "at")
        if before is not None:
            assert {name: before[name] for name in own} == known[before["id"]]
        if row["after"] is not None:
            known[row["after"]["id"]] = {name: row["after"][name] for name in own}
    assert len(rows) > 1_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only this module's sleeping moves, in seconds; other threads have their own."""
    moments = [0.0]

    def sleep(seconds: float) -> None:
        moments[0] += seconds

    fake = SimpleNamespace(
        time_ns=lambda: 1_700_000_000_000_000_000 + round(moments[0] * 1e9), monotonic=lambda: moments[0], sleep=sleep
    )
    monkeypatch.setattr(live_module, "time", fake)
    return moments


def sent(name: str) -> list[dict[str, Any]]:
    return [json.loads(message.value or b"") for message in memory.messages(name)]


def test_sending_keeps_to_the_clock_with_a_watermark_a_second(clock: list[float]) -> None:
    uri = "memory://live-clock?topic=t&protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    traffic = live(rate=100.0, model=ALONE | {"load.ddl_rate": 1.0})
    feed = traffic.changefeed(load_changefeed(uri))
    total = send_live(traffic, feed, stop=lambda: clock[0] >= 10)
    assert 990 <= total.rows == traffic.taken <= 1_001
    messages = sent("live-clock")
    marks = [each["_tidb"]["watermarkTs"] for each in messages if each["type"] == "TIDB_WATERMARK"]
    assert 18 <= len(marks) <= 21  # one each second, and one of each DDL
    assert marks == sorted(set(marks))
    reached = 0
    for each in messages:
        if each["type"] == "TIDB_WATERMARK":
            reached = each["_tidb"]["watermarkTs"]
        else:
            assert each["_tidb"]["commitTs"] > reached
    assert reached >= max(each["_tidb"].get("commitTs", 0) for each in messages)
    assert sum(each["isDdl"] for each in messages if each["type"] != "TIDB_WATERMARK") == 9


def test_watermarks_come_while_nothing_changes(clock: list[float]) -> None:
    uri = "memory://live-idle?topic=t&protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    traffic = live(rate=0.1, model=ALONE)
    send_live(traffic, traffic.changefeed(load_changefeed(uri)), stop=lambda: clock[0] >= 9.5)
    messages = sent("live-idle")
    assert [each["type"] for each in messages][:2] == ["INSERT", "TIDB_WATERMARK"]
    assert len(messages) >= 9


def test_a_changefeed_of_another_time_zone_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"UTC.*Asia/Tokyo"):
        live(time_zone="Asia/Tokyo").changefeed(load_changefeed("memory://x?protocol=canal-json"))


def test_messages_come_again_at_the_given_share(clock: list[float]) -> None:
    uri = "memory://live-noise?topic=t&protocol=canal-json&partition-num=1"
    traffic = live(rows=500, model={"trouble.redelivery": 0.5})
    total = send_live(traffic, traffic.changefeed(load_changefeed(uri)), stop=lambda: False)
    assert total.rows == 500
    assert total.messages > 600


def test_tables_without_changes_are_left_out() -> None:
    piece = live(rate=1.0, model=ALONE).take(START)
    assert count(piece) == 1
    assert len(piece.changes) == 1
    (batches,) = piece.changes.values()
    assert all(isinstance(batch, pa.RecordBatch) and batch.num_rows for batch in batches)
