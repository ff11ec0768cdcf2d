"""The counts of a batch's rows: those of its messages, however the rows are cut; every delivering task has all."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import by_target, generic
from shuffled_chunks import in_bucket

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.arrange.row_counts import COUNT_SCHEMA, RowCounts
from ticdc_emit.pipeline.arrange.sort_key import stamps_and_tables
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules, CountedRows
from ticdc_emit.pipeline.deliver.control_events import ControlRules, ControlSchedule, counted_rows
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, TaskResult, read_results
from ticdc_emit.pipeline.encode.chunks import Buckets, ChunkStore, from_ipc
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.tso import compose, physical_ms

START = 1_700_000_000_000
TICK = 1_000
ALTERED = compose(START + 4_300)
SCHEMA = "create table s.a (id int primary key, u int); create table s.b (id int primary key, u int);" + "".join(
    f"create table s.t{number} (k varchar(9) primary key);" for number in range(3)
)
BY_VALUE = "[sink]\ndispatchers = [{ matcher = ['*.*'], partition = 'index-value' }]"
RULES = BootstrapRules(interval_ms=2_000, message_count=7, tick_ms=TICK)

Row = dict[str, Any]


def plan_of() -> Plan:
    catalog = catalog_from_sql(SCHEMA)
    catalog.apply("alter table s.a add index i (u)", schema="s", commit_ts=ALTERED)
    config = load_changefeed("memory://counts?protocol=simple", BY_VALUE)
    return make_plan(config, catalog.histories(), {"ticdc": 4})


def history(seed: int, *, physical: bool = False) -> list[Row]:
    """Rows of tables that are encoded together and of others, in ten seconds; some updates change their key.

    The last two are on both sides of the DDL: at its TSO, and above it.
    """
    dice, rows = random.Random(seed), []
    for number in range(150):
        table = dice.choice("ab") if dice.random() < 0.6 else f"t{number % 3}"
        old = {"id": str(number), "u": "1"} if table in "ab" else {"k": str(number)}
        new = old | ({"id": str(1000 + number)} if table in "ab" and dice.random() < 0.5 else {})
        op = dice.choice("cuud") if table in "ab" else "c"
        stamp = compose(START + dice.randint(0, 10_000), number)
        row = {"schema": "s", "table": table, "op": op, "commit_ts": stamp}
        row |= {"before": None if op == "c" else old, "after": None if op == "d" else new}
        rows.append(row | {"physical_table_id": dice.choice([None, 900, 901]) if physical else None})
    own = {"schema": "s", "table": "a", "op": "c", "before": None, "physical_table_id": None}
    sides = ((2_000, ALTERED), (2_001, ALTERED + 1))
    return rows + [own | {"commit_ts": ts, "after": {"id": key, "u": 1}} for key, ts in sides]


def encoded(plan: Plan, parts: Sequence[Sequence[Row]], buckets: int = 1, **options: Any) -> list[pa.RecordBatch]:
    encode = EncodeTask(plan, options.pop("late", "error"), options.pop("until", None), Buckets(plan.targets, buckets))
    task = pickle.dumps(EncodeTask(**{**vars(encode), "tick_ms": TICK, **options}))
    made = [chunk for part in parts for chunk in pickle.loads(task)(iter(generic(part).to_batches(13)))]
    return [batch.slice(row, 1) for batch in made for row in range(batch.num_rows)]


def told(plan: Plan, chunks: Sequence[pa.RecordBatch]) -> list[CountedRows]:
    united = RowCounts(TICK)
    with closing(ChunkStore(1 << 20)) as store:
        for chunk in chunks:
            store.add(chunk)
        for counts in store.counts():
            united.add(counts)
    return counted_rows(united.sums(), plan)


def by_messages(plan: Plan, chunks: Sequence[pa.RecordBatch]) -> dict[tuple[str, int, int], tuple[int, int]]:
    found: dict[tuple[str, int, int], list[int]] = {}
    with closing(ChunkStore(1 << 20)) as store:
        for chunk in chunks:
            store.add(chunk)
        for _, chunks_of_target in store.chunks():
            for each in chunks_of_target:
                stamps, places = stamps_and_tables(store.order_keys(each).column("order_key"))
                for stamp, place in zip(stamps.tolist(), places.tolist(), strict=True):
                    info = plan.in_order[place].encoder_at(stamp).table
                    found.setdefault((info.name, info.version, physical_ms(stamp) // TICK), []).append(stamp)
    return {key: (min(stamps), len(stamps)) for key, stamps in found.items()}


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_what_is_counted_is_what_becomes_messages(parts: int) -> None:
    plan, rows = plan_of(), history(parts)
    chunks = encoded(plan, [rows[number::parts] for number in range(parts)])
    counted, expected = told(plan, chunks), by_messages(plan, chunks)
    slots = {(each.table.name, each.table.version, physical_ms(each.first_ts) // TICK): each for each in counted}
    assert {slot: (each.first_ts, each.count) for slot, each in slots.items()} == expected
    assert len(counted) == len(expected)
    assert sum(each.count for each in counted) > len(rows)
    assert len({version for name, version, _ in expected if name == "a"}) == 2
    assert all((each.key, each.topic, each.partitions) == (each.table.id, "ticdc", 4) for each in counted)


def test_rows_that_are_late_or_bad_do_not_count() -> None:
    plan, rows = plan_of(), history(8)
    until = compose(START + 3_000)
    good = encoded(plan, [[row for row in rows if row["commit_ts"] > until]])
    bad = {"id": "bad", "u": "bad", "k": "far too long"}
    rows += [{**rows[number], "op": "c", "before": None, "after": bad} for number in (5, 40, 77)]
    mixed = encoded(plan, [rows[::2], rows[1::2]], late="drop", until=until, bad_rows="skip")
    assert told(plan, mixed) == told(plan, good)


def test_each_physical_table_counts_for_itself() -> None:
    plan, rows = plan_of(), history(2, physical=True)
    counted = told(plan, encoded(plan, [rows[:50], rows[50:]]))
    plain = told(plan, encoded(plan, [rows]))
    assert counted == plain
    keys = Counter({each.key: 0 for each in counted})
    for each in counted:
        keys[each.key] += each.count
    assert {900, 901} < set(keys)
    named = [row for row in rows if row["physical_table_id"] == 900]
    splits = [row for row in named if row["op"] == "u" and row["before"]["id"] != row["after"]["id"]]
    assert keys[900] == len(named) + len(splits)


def test_many_counts_are_added_up_on_the_way() -> None:
    counts = RowCounts(TICK)
    columns = {"place": [0] * 60_000, "version": 0, "physical": None, "first_ts": compose(START), "count": 1}
    part = pa.table({name: value if isinstance(value, list) else [value] * 60_000 for name, value in columns.items()})
    (batch,) = part.cast(COUNT_SCHEMA).to_batches()
    for _ in range(5):
        counts.add(batch)
    assert sum(each.num_rows for each in counts._parts) < 120_000
    for _ in range(2_500):
        counts.add(batch.slice(0, 1))
    assert len(counts._parts) < 1_010
    assert counts.sums().to_pylist() == [
        {"place": 0, "version": 0, "physical": None, "first_ts": compose(START), "count": 302_500}
    ]
    assert not RowCounts(TICK)
    assert RowCounts(TICK).sums().num_rows == 0


@pytest.mark.parametrize("buckets", [1, 3, 4])
def test_every_delivering_task_schedules_alike_and_one_hands_the_counts_back(buckets: int) -> None:
    plan, rows = plan_of(), history(4)
    rules = pickle.loads(pickle.dumps(ControlRules(RULES, default_ticks=True)))
    parts = [rows[number::5] for number in range(5)]
    made = encoded(plan, parts, buckets)
    random.Random(buckets).shuffle(made)
    results: dict[tuple[str, int], TaskResult] = {}
    try:
        MemorySink("counts").prepare({"ticdc": 4})
        for bucket in range(buckets):
            deliver = DeliverTask(plan, ControlSchedule(), MemorySink("counts"), rules=rules)
            own = read_results(deliver(iter(in_bucket(made, bucket))))
            assert any(result.counts for result in own.values()) == (bucket == 0)
            results |= own
        sent = {target: [] for target in plan.targets} | by_target(messages("counts"))
    finally:
        clear("counts")
    united = next(result.counts for result in results.values() if result.counts)
    assert counted_rows(from_ipc(united), plan) == told(plan, encoded(plan, [rows]))
    schedule, state = rules.with_rows(ControlSchedule(), plan, united)
    assert schedule.interval_ms == 1_000
    assert state is not None
    bootstraps = [bootstrap.occasion for _, bootstrap in schedule.bootstraps]
    assert bootstraps.count("first-row") == 5
    assert bootstraps.count("tick") > 5
    for (_, partition), found in sent.items():
        result = results["ticdc", partition]
        assert result.controls["bootstrap"] == sum(b"BOOTSTRAP" in value for _, value in found if value)
        before = [after for after, _ in schedule.bootstraps if after < result.max_commit_ts]
        assert result.controls["bootstrap"] == len(before)
        assert result.controls["watermark"] >= 5
