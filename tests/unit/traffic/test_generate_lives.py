"""Lives of rows by a model: states, keys of a form, updates of keys, TRUNCATE; on the way to a consumer's tables."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.changes import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import physical_ms

SQL = """
create table s.customers (id bigint primary key, name varchar(40));
create table s.orders (id bigint primary key, customer bigint not null, state varchar(20) not null, net decimal(10,2),
  packed_at datetime(3), done_at timestamp(3) null, foreign key (customer) references customers (id));
create table s.parts (o bigint, n tinyint, v int, primary key (o, n), foreign key (o) references orders (id));
create table s.codes (code varchar(20) primary key, a char(36), b binary(16), c char(26), d bigint, mail varchar(80),
  v int, unique (a), unique (b), unique (c), unique (d), unique (mail));
create table s.jobs (id int primary key, phase enum('new', 'run', 'done') not null, note varchar(60));
"""
STATES = {"states": {"new": {"packed": 0.9, "void": 0.1}, "packed": {"done": 1}}}
MODEL: dict[str, Any] = {
    "tables": {
        "customers": {"deletes": 0},
        "orders": {"children": {"of": "customers", "distribution": "poisson", "mean": 2}},
        "parts": {"children": {"of": "orders", "range": [1, 3]}},
    },
    "columns": {
        "orders": {
            "state": STATES | {"after": {"new": "3s", "packed": {"distribution": "exponential", "mean": "1.5s"}}},
            "packed_at": {"entered": "packed"},
            "done_at": {"entered": "done"},
        },
        "jobs.phase": {"states": {"new": {"run": 1}, "run": {"done": 3, "new": 1}}, "after": {"done": "5s"}},
        "codes": {
            "code": {"pattern": "A-####-??"},
            "a": {"identifier": "uuid7"},
            "b": {"identifier": "uuid4"},
            "c": {"identifier": "ulid"},
            "d": {"identifier": "snowflake"},
            "mail": {"pattern": "??????##@example.org"},
        },
    },
    "load": {"ddl_rate": 5, "transaction_size": 3},
    "trouble": {
        **dict.fromkeys(("key_updates", "extremes"), 0.03),
        **dict.fromkeys(("truncates", "drops", "swaps"), 0.15),
        **dict.fromkeys(("shared_commits", "replaces", "multi_row"), 0.4),
    },
}


def planned(rows: int, model: Any = MODEL, rate: float = 3_000, sql: str = SQL) -> TrafficPlan:
    return plan_traffic(sql, Settings(rows, seed=5, rate=rate, model=read_model(model)))


def history_of(plan: TrafficPlan) -> History:
    rows = [row for batch in plan.changes(np.arange(plan.rows or 0)) for row in batch.to_pylist()]
    for row in rows:
        row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
    return History(plan.schema, rows, plan.ddl)


@pytest.mark.parametrize("protocol", ["canal-json&enable-tidb-extension=true", "simple", "debezium"])
def test_a_consumer_has_the_tables_that_the_model_leaves(protocol: str) -> None:
    rows = 12_000
    plan = planned(rows)
    for word in ("TRUNCATE", "DROP TABLE"):
        assert {query.split()[2] for _, query in plan.ddl if word in query} == {"`s`.`codes`", "`s`.`jobs`"}
    history = history_of(plan)
    config = load_changefeed(f"memory://x?protocol={protocol}&partition-num=3")
    consumer = ReferenceConsumer(config, history.catalog(), partitions=3)
    consumer.take_all(history.messages(config))
    consumer.finish()
    assert consumer.tables == history.tables()
    for table in plan.tables:
        left = table.final(np.arange(plan.cycle.count(table.number, rows)), rows, len(plan.schema_changes))
        assert left.num_rows == len(history.tables()[table.info.schema, table.info.name])


def test_a_share_of_rows_is_at_the_ends_of_types_where_nothing_else_rules() -> None:
    sql = """create table s.wide (id bigint primary key, u int unsigned not null, d decimal(6,2) not null,
      f double not null, day date not null, t time(3) not null, c varchar(9) not null, b binary(2) not null,
      k double not null check (k > -1), own varchar(9) not null, n int, g int as (n % 2) stored)"""
    model = {"columns": {"own": {"labels": ["x"]}}, "trouble": {"extremes": 0.05}}
    rows = [each["after"] for each in changes_of(planned(20_000, model, sql=sql), "wide") if each["after"]]
    greatest = float(np.finfo(np.float64).max)
    ends: dict[str, set[Any]] = {
        "d": {Decimal("-9999.99"), Decimal("9999.99")},
        "f": {-greatest, greatest},
        "day": {dt.date(1000, 1, 1), dt.date(9999, 12, 31)},
        "c": {"", "z" * 9},
        "b": {b"\0\0", b"\xff\xff"},
    }
    extreme = [row for row in rows if row["f"] in ends["f"]]
    numbers = [{row["id"] for row in some} for some in (extreme, rows)]
    assert len(numbers[0]) / len(numbers[1]) == pytest.approx(0.05, abs=0.012)
    assert {name: {row[name] for row in extreme} for name in ends} == ends
    assert {row["u"] for row in extreme} == {0, 2**32 - 1}
    assert {row["t"] for row in extreme} == {"-838:59:59.000", "838:59:59.000"}
    assert all(abs(row["k"]) < 1e30 and row["own"] == "x" for row in rows)
    assert not any(row[name] in ends[name] for row in rows if row["f"] not in ends["f"] for name in ("d", "day", "c"))


def changes_of(plan: TrafficPlan, name: str) -> list[dict[str, Any]]:
    table = next(each for each in plan.tables if each.info.name == name)
    return table.typed(np.arange(plan.cycle.count(table.number, plan.rows or 0))).to_pylist()


def test_rows_pass_their_states_in_the_time_and_with_the_shares_asked_for() -> None:
    plan = planned(100_000, MODEL | {"load": {}, "trouble": {}}, rate=10_000)
    cycle = plan.cycle.size / 10_000
    entered: dict[int, dict[str, int]] = {}
    for change in changes_of(plan, "orders"):
        row = change["after"]
        passed = entered.setdefault(row["id"], {})
        passed.setdefault(row["state"], physical_ms(change["commit_ts"]))
        for shown, state in ((row["packed_at"], "packed"), (row["done_at"], "done")):
            assert (shown and round(shown.replace(tzinfo=dt.timezone.utc).timestamp() * 1000)) == passed.get(state)
    assert {tuple(passed) for passed in entered.values()} <= {
        *(("new", "packed", "done")[:count] for count in (1, 2, 3)),
        ("new", "void"),
    }
    begin = min(passed["new"] for passed in entered.values())
    old = [passed for passed in entered.values() if passed["new"] < begin + 2_000]
    assert sum("void" in passed for passed in old) / len(old) == pytest.approx(0.1, abs=0.01)
    stays = [(passed.get("packed", passed.get("void", 0)) - passed["new"]) / 1000 for passed in old]
    assert np.mean(stays) == pytest.approx(3, abs=cycle / 4)
    assert max(abs(stay - 3) for stay in stays) < cycle
    packed = [(passed["done"] - passed["packed"]) / 1000 for passed in old if "done" in passed]
    assert np.mean(packed) == pytest.approx(1.5, abs=cycle / 4)


def test_keys_have_their_forms_and_are_of_one_row() -> None:
    plan = planned(60_000, {**MODEL, "load": {}, "trouble": {}})
    rows = [each["after"] for each in changes_of(plan, "codes") if each["op"] == "c"]
    assert all(re.fullmatch(r"A-\d{4}-[a-z]{2}", row["code"]) for row in rows)
    assert all(re.fullmatch(r"[a-z]{6}\d\d@example\.org", row["mail"]) for row in rows)
    assert all(UUID(row["a"]).version == 7 and UUID(bytes=row["b"]).version == 4 for row in rows)
    for name in ("code", "a", "b", "c", "d", "mail"):
        assert len({row[name] for row in rows}) == len(rows)
    born = [physical_ms(each["commit_ts"]) for each in changes_of(plan, "codes") if each["op"] == "c"]
    assert [UUID(row["a"]).int >> 80 for row in rows] == born == [row["d"] >> 22 for row in rows]
    ordered = sorted(rows, key=lambda row: row["d"] >> 22)
    assert [row["c"][:10] for row in ordered] == sorted(row["c"][:10] for row in rows)


def test_a_change_is_the_same_alone_and_a_prefix_is_one() -> None:
    model = {**MODEL, "load": {}, "trouble": {"key_updates": 0.05}}
    plan, longer = planned(9_000, model), planned(20_000, model)
    some = np.array([8_000, 3, 5_999, 0, 4_000])
    for table, other in zip(plan.tables, longer.tables, strict=True):
        count = min(plan.cycle.count(table.number, 9_000), 3_000)
        names = table.info.full_name
        assert table.typed(np.arange(count)).equals(other.typed(np.arange(count))), names
        chosen = some[some < count]
        assert table.typed(chosen).equals(table.typed(np.arange(count)).take(pa.array(chosen)))


def test_the_share_of_updates_changes_keys() -> None:
    sql = "create table t (id bigint primary key, code varchar(12) unique, v int)"
    (batches,) = generate_arrow(sql, rows=60_000, model="trouble.key_updates = 0.03").changes.values()
    updates = [each for each in pa.Table.from_batches(list(batches)).to_pylist() if each["op"] == "u"]
    moved = [each for each in updates if each["before"]["id"] != each["after"]["id"]]
    assert all(each["before"]["code"] != each["after"]["code"] for each in moved)
    assert len(moved) / len(updates) == pytest.approx(0.03, rel=0.03)


def statements_of(plan: TrafficPlan, name: str) -> list[list[dict[str, Any]]]:
    by_commit = itertools.groupby(changes_of(plan, name), key=itemgetter("commit_ts"))
    return [list(each) for _, each in by_commit]


def test_the_share_of_updates_is_in_statements_of_several_rows() -> None:
    sql = "create table t (id bigint primary key, v int); create table u (id bigint primary key, v int)"
    plan = planned(60_000, {"trouble": {"multi_row": 0.3}}, sql=sql)
    for table in ("t", "u"):
        together = [each for each in statements_of(plan, table) if len(each) > 1]
        assert all({change["op"] for change in each} == {"u"} for each in together)
        assert all(len({change["after"]["id"] for change in each}) == len(each) for each in together)
        updates = sum(change["op"] == "u" for change in changes_of(plan, table))
        assert sum(map(len, together)) / updates == pytest.approx(0.3, abs=0.02)
        assert max(map(len, together)) > 5


def test_rows_swap_their_keys_in_one_transaction() -> None:
    sql = "create table t (id bigint primary key, code varchar(12) not null unique, v int)"
    plan = planned(60_000, {"trouble": {"swaps": 0.1, "key_updates": 0.02}}, sql=sql)
    swapping = [each for each in statements_of(plan, "t") if len(each) > 1]
    for one, other in swapping:
        for name in ("id", "code"):
            assert one["before"][name] == other["after"][name] != one["after"][name] == other["before"][name]
    updates = [each for each in changes_of(plan, "t") if each["op"] == "u"]
    moved = [each for each in updates if each["before"]["id"] != each["after"]["id"]]
    assert 2 * len(swapping) / len(updates) == pytest.approx(0.1, abs=0.02)
    assert len(moved) > 2 * len(swapping)


def test_replace_deletes_a_row_and_inserts_one_with_its_unique_key() -> None:
    sql = "create table t (id bigint primary key, code varchar(12) not null unique, mail varchar(20) unique, v int)"
    plan = planned(60_000, {"trouble": {"replaces": 0.5}}, sql=sql)
    pairs = [each for each in statements_of(plan, "t") if len(each) > 1]
    for gone, new in pairs:
        assert (gone["op"], new["op"]) == ("d", "c")
        assert gone["before"]["id"] != new["after"]["id"]
        assert all(gone["before"][name] == new["after"][name] for name in ("code", "mail"))
    deletes = sum(each["op"] == "d" for each in changes_of(plan, "t"))
    assert len(pairs) / deletes == pytest.approx(0.5, abs=0.03)


def test_a_table_that_is_created_again_has_a_free_name_in_between() -> None:
    sql = "create table t (id int primary key); create table T_new (v int)"
    plan = planned(2_000, {"load": {"ddl_rate": 10}, "trouble": {"drops": 0.5}}, sql=sql)
    assert "CREATE TABLE `test`.`t_new1` LIKE `test`.`t`" in [query for _, query in plan.ddl]


FAKER = {"t.n": {"faker": "company", "locale": "de_DE"}}


def test_names_are_of_faker_also_in_keys() -> None:
    sql = "create table t (id bigint primary key, n varchar(60) not null, {}v int)"
    for unique in ("", "unique (n), "):
        (batches,) = generate_arrow(sql.format(unique), rows=2_000, model={"columns": FAKER}).changes.values()
        rows = [row for row in pa.Table.from_batches(list(batches))["after"].to_pylist() if row is not None]
        assert any("GmbH" in row["n"] for row in rows)
        owners = {(row["n"], row["id"]) for row in rows}
        assert not unique or len({name for name, _ in owners}) == len(owners)
    with pytest.raises(TicdcEmitError, match=r"can need more than the [\d,]+ values of a key"):
        generate_arrow(sql.format("unique (n), "), rows=1_000_000, model={"columns": FAKER})


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"columns": {"orders.state": {"states": {"a": "b"}}}}, "write what follows each state"),
        ({"columns": {"orders.state": {"states": {"a": {"b": 0}}}}}, "a: shares are numbers above 0"),
        ({"columns": {"orders.state": STATES | {"after": {"nev": "1s"}}}}, "'nev' is not a state"),
        ({"columns": {"orders.state": STATES | {"after": {"new": "1 week"}}}}, "'1 week' is not a time"),
        ({"columns": {"orders.state": STATES | {"after": {"new": {"mean": "1s"}}}}}, "uniform needs range"),
        ({"columns": {"orders.state": STATES | {"nulls": 0.1}}}, "nulls: cannot be combined with states"),
        ({"columns": {"orders.state": STATES | {"after": {"done": "1s"}}}}, "others refer to its rows"),
        ({"columns": {"orders.packed_at": {"entered": "packed"}}}, "'packed' is not a state"),
        ({"columns": {"orders.net": {"entered": "packed"}}}, "entered: is not possible for this column"),
        ({"columns": {"jobs.phase": STATES}}, "labels: 'packed'"),
        ({"columns": {"codes.d": {"identifier": "uuid4"}}}, "uuid4 does not fit the column"),
        ({"columns": {"codes.a": {"identifier": "guid"}}}, "'guid' is not known"),
        ({"columns": {"orders.state": {"identifier": "ulid"}}}, "ulid does not fit"),
        ({"columns": {"customers.name": {"identifier": "ulid"}}}, "identifier is for a key"),
        ({"columns": {"codes.code": {"pattern": "X#"}}}, "more than the 10 values of a key"),
        ({"columns": {"customers.name": {"faker": "compani"}}}, "'compani' in 'en_US' is not known"),
        ({"trouble": {"truncates": 0.1}}, "truncates is a share of the schema changes"),
        ({"trouble": {"drops": 0.1}}, "drops is a share of the schema changes"),
        ({"trouble": {"drops": 0.3, "truncates": 0.4}, "load": {"ddl_rate": 1}}, "are 0.7 of schema changes"),
        ({"tables": {"orders": MODEL["tables"]["orders"]}, "columns": {"orders.state": STATES}}, "deletes = 0"),
    ],
)
def test_what_cannot_be_is_refused(sections: dict[str, Any], why: str) -> None:
    with pytest.raises(TicdcEmitError, match=why):
        planned(10_000, sections)


def test_keys_that_cannot_change_are_refused() -> None:
    parent = "create table a (id int primary key, v int)"
    sql = f"{parent}; create table b (id int primary key, foreign key (id) references a (id));"
    for option, what in (
        ("key_updates", "a key that an update may change"),
        ("swaps", "keys of one column that rows can swap"),
        ("replaces", "a unique key of one column beside the primary key"),
    ):
        with pytest.raises(TicdcEmitError, match=f"{option}: no table has {what}"):
            planned(100, {"trouble": {option: 0.1}}, sql=parent if option == "replaces" else sql)
    with pytest.raises(TicdcEmitError, match="no other column can show an update"):
        planned(100, {"columns": {"t.s": STATES}}, sql="create table t (id int primary key, s varchar(9) not null)")


def test_labels_are_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("Bonn\nLyon\n\nBonn\n", encoding="utf-8")
    pq.write_table(pa.table({"city": ["Rome", None, "Oslo"]}), tmp_path / "cities.parquet")
    for name, cities in (("cities.txt", {"Bonn", "Lyon"}), ("cities.parquet", {"Rome", "Oslo"})):
        model = {"columns": {"city": {"labels": str(tmp_path / name), "nulls": 0}}, "trouble": "realistic"}
        (batches,) = generate_arrow(
            "create table t (id int primary key, city text)", rows=300, model=model
        ).changes.values()
        rows = pa.Table.from_batches(list(batches))["after"].to_pylist()
        assert {row["city"] for row in rows if row} == cities
    with pytest.raises(TicdcEmitError, match=r"labels: cannot read .*none\.txt"):
        generate_arrow(
            "create table t (id int primary key, c text)", rows=9, model={"columns": {"c": {"labels": "none.txt"}}}
        )
