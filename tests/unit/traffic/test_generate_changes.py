"""Changes as Arrow record batches: the same for the same numbers, whatever is made beside them."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lawful_fold import violations

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.changes import plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_names, sample_schema


def history_of(sql: str, **settings: Any) -> History:
    """Return generated traffic of several tables as a history."""
    plan = plan_traffic(sql, Settings(**settings | {"model": read_model(settings.get("model"))}))
    rows = [row for batch in plan.changes(np.arange(settings["rows"])) for row in batch.to_pylist()]
    for row in rows:
        row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
    return History(sql, rows, plan.ddl, time_zone=settings.get("time_zone", "UTC"))


def of_several(name: str) -> str:
    """Return a sample's SQL, with a second table."""
    return f"{sample_schema(name)}; create table test.toggles (id int primary key, ok tinyint(1) not null)"


@pytest.mark.parametrize("name", ["shop", "generated_columns"])
def test_changes_obey_keys_and_foreign_keys(name: str) -> None:
    changes = history_of(
        sample_schema(name), rows=6000, seed=3, model="load.transaction_size=4\ntables.'*'.deletes=0.8"
    ).rows
    assert violations(source_tables(catalog_from_sql(sample_schema(name)), None, Refusals()), changes) == []
    assert {change["op"] for change in changes} == {"c", "u", "d"}
    assert len({change["commit_ts"] for change in changes}) < 4000


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_becomes_messages(name: str) -> None:
    history = history_of(of_several(name), rows=400, rate=100, model="load={ddl_rate=1, transaction_size=2}")
    config = load_changefeed("memory://x?protocol=canal-json&enable-tidb-extension=true&partition-num=2")
    consumer = ReferenceConsumer(config, history.catalog(), partitions=2)
    consumer.take_all(history.messages(config))
    consumer.finish()
    assert consumer.tables == history.tables()


@pytest.mark.parametrize("name", ["sysbench", "bank"])
def test_an_update_changes_the_row_as_it_was_with_the_columns_of_its_version(name: str) -> None:
    history = history_of(
        of_several(name), rows=3000, rate=1000, model={"load": {"ddl_rate": 100}, "tables": {"*": {"updates": 10}}}
    )
    fold, waiting, updates = Database(history.catalog(), "UTC"), list(history.ddl), Counter[str]()
    assert len(waiting) == 299
    by_table = itemgetter("commit_ts", "schema", "table")
    for (commit_ts, *table), own in groupby(sorted(history.rows, key=by_table), key=by_table):
        while waiting and waiting[0][0] < commit_ts:
            fold.apply(*waiting.pop(0))
        changes = list(own)
        rows = list(fold.tables[table[0], table[1]].values())
        for change in changes:
            assert change["before"] in (None, *rows), "with the default of a new column in older rows"
            assert change["before"] != change["after"]
            updates[change["table"]] += change["op"] == "u"
        fold.commit(changes)
    assert min(updates.values()) > 10


def test_a_typed_image_has_null_in_columns_of_other_versions() -> None:
    plan = plan_traffic(
        sample_schema("sysbench"), Settings(400, tables=("sbtest.sbtest1",), model=read_model("load.ddl_rate=20"))
    )
    [added, _, renamed, *_] = [stamp for stamp, _ in plan.ddl]
    for row in plan.tables[0].typed(np.arange(400)).to_pylist():
        image = row["after"] or row["before"]
        assert (image["extra_1"] is not None) == (added < row["commit_ts"] <= renamed)


def test_texts_are_in_the_time_zone_of_the_changefeed() -> None:
    sql = "create table a (id int primary key, created_at timestamp(3) not null); create table b (id int primary key)"
    history = history_of(sql, rows=40, time_zone="Asia/Tokyo")
    clocks = {row["created_at"][:16] for row in history.tables()["test", "a"].values()}
    assert clocks == {"2024-01-01 09:00"}


@pytest.mark.parametrize("name", sample_names())
def test_a_change_is_the_same_alone_and_among_others(name: str) -> None:
    model = read_model("load={ddl_rate=10, transaction_size=2}\ntrouble.shared_commits=0.6")
    plan = plan_traffic(sample_schema(name), Settings(rows=5_000, model=model))
    numbers = np.arange(2_000)
    for table in plan.tables:
        for form in (table.typed, table.generic):
            whole = form(numbers)
            whole.validate(full=True)
            some = np.array([7, 1_999, 8, 0])
            assert form(some).equals(whole.take(pa.array(some)))


def test_a_stream_of_numbers_has_the_changes_of_the_tables() -> None:
    plan = plan_traffic(sample_schema("bank"), Settings(rows=900, seed=5))
    streamed = pa.Table.from_batches(
        [each for at in range(0, 900, 100) for each in plan.changes(np.arange(at, at + 100))]
    )
    whole = [table.generic(np.arange(plan.cycle.count(table.number, 900))) for table in plan.tables]
    by_time = [("commit_ts", "ascending")]
    assert streamed.sort_by(by_time).equals(pa.Table.from_batches(whole).sort_by(by_time))


def test_fewer_rows_are_the_first_of_more_and_batches_change_nothing() -> None:
    more, fewer = (generate_arrow("bank", rows=rows, seed=2) for rows in (20_000, 900))
    for table, changes in fewer.changes.items():
        few = pa.Table.from_batches(list(changes))
        many = pa.Table.from_batches(list(more.changes[table]))
        assert 0 < few.num_rows < many.num_rows
        assert few == many.slice(0, few.num_rows)
        assert sum(len(batch) for batch in more.changes[table]) == many.num_rows, "it can be read again"


@pytest.mark.parametrize("shared", [0, 0.6])
@pytest.mark.parametrize("rows", [1, 700, 2_500])
def test_final_rows_are_the_last_images_of_rows_that_live(rows: int, shared: float) -> None:
    model = read_model(f"tables.accounts.deletes=0.8\nload.transaction_size=3\ntrouble.shared_commits={shared}")
    plan = plan_traffic(sample_schema("bank"), Settings(rows=rows, seed=2, model=model))
    for table in plan.tables:
        numbers = np.arange(plan.cycle.count(table.number, rows))
        live = {}
        for change in table.typed(numbers).to_pylist():
            live[(change["after"] or change["before"])["id"]] = change["after"]
        final = table.final(numbers, rows, 0).to_pylist()
        assert sorted(map(repr, final)) == sorted(repr(row) for row in live.values() if row is not None)


def test_repr_names_the_tables() -> None:
    bank = generate_arrow("bank", rows=10)
    assert repr(bank) == "<ArrowTraffic of bank.customers, bank.accounts, bank.transfers, 0 statements>"


def test_generated_columns_have_their_computed_values() -> None:
    traffic = generate_arrow("generated_columns", rows=900)
    for table, batches in traffic.changes.items():
        for change in pa.Table.from_batches(list(batches)).to_pylist():
            row = change["after"] or change["before"]
            if table == "gen.people":
                assert row["full_name"] == f"{row['first_name']} {row['last_name']}"
                assert row["search_name"] == row["full_name"].lower()
                assert (row["birth_year"], row["name_length"]) == (row["birthday"].year, len(row["full_name"]))
            else:
                assert row["total"] == row["price"] * row["quantity"] - (row["discount"] or 0)
                assert row["is_large"] == (row["price"] * row["quantity"] > 5000)


def test_operands_of_generated_columns_are_small() -> None:
    sql = "create table t (id int primary key, a int not null, b int not null, c int as (a * b) stored, d int)"
    (changes,) = generate_arrow(sql, rows=20_000).changes.values()
    rows = [row for row in pa.Table.from_batches(list(changes))["after"].to_pylist() if row is not None]
    assert all(row["c"] == row["a"] * row["b"] for row in rows)
    assert max(row["d"] or 0 for row in rows) == (1 << 31) - 1


def test_what_does_not_fit_in_a_generated_column_is_refused() -> None:
    sql = "create table t (id int primary key, a int not null, c tinyint as (a + 1) stored)"
    with pytest.raises(SchemaError, match=r"cannot be computed: .*column='c'"):
        list(*generate_arrow(sql, rows=2_000).changes.values())
    model: Any = {"columns": {"a": {"range": [-100, 100]}}}
    assert list(*generate_arrow(sql, rows=2_000, model=model).changes.values())
    sql = "create table t (id int primary key, a int not null, b int not null, c int as (a + b) stored)"
    model = {"columns": {name: {"range": [1 << 30, (1 << 31) - 1]} for name in "ab"}}
    with pytest.raises(SchemaError, match=r"cannot be computed: .*column='c'"):
        list(*generate_arrow(sql, rows=2_000, model=model).changes.values())


def test_one_table_by_its_name_alone() -> None:
    one, listed = (generate_arrow("sysbench", rows=9, tables=names) for names in ("sbtest.sbtest2", ["sbtest.sbtest2"]))
    assert list(one.changes) == list(listed.changes) == ["sbtest.sbtest2"]


def test_a_foreign_key_to_nothing_is_named_with_its_columns() -> None:
    schema = "create table a (id int primary key, b int, foreign key (b) references c (x))"
    with pytest.raises(SchemaError, match=r"the foreign key fk_1 \(b\) refers to test\.c, which is not generated"):
        generate_arrow(schema, rows=1)


def test_transactions_of_one_commit_ts_have_a_start_ts_each() -> None:
    traffic = generate_arrow("bank", rows=3_000, seed=4, rate=1_000_000, model="trouble.shared_commits=0.78")
    starts: dict[int, int] = {}
    rows = set()
    for table, changes in traffic.changes.items():
        for change in pa.Table.from_batches(list(changes)).to_pylist():
            commit_ts, start_ts = change["commit_ts"], change["start_ts"]
            assert starts.setdefault(start_ts, commit_ts) == commit_ts > start_ts
            key = (change["after"] or change["before"])["id"]
            assert (table, key, commit_ts) not in rows
            rows.add((table, key, commit_ts))
    commits = list(starts.values())
    together = sum(commits.count(commit_ts) > 1 for commit_ts in commits)
    assert together / len(commits) == pytest.approx(0.78, abs=0.05)
    assert "start_ts" not in generate_arrow("bank", rows=10).changes["bank.accounts"].first.schema.names
