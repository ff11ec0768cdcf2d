"""What is planned, and refused, of a schema: keys, foreign keys, DDL, values' SQL. No Spark."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.errors import ConfigError, SchemaError, UnknownTableError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate.changes import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.keys import Digit, Fixed, Follows, Serial, plan_keys
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables
from ticdc_emit.traffic.generate.texts import meaning, tokens
from ticdc_emit.traffic.sample_schemas import sample_names, sample_schema, schema_text
from ticdc_emit.tso import tso_from_datetime


def planned(sql: str, rows: int | None = 1000, ddl_rate: float = 0, **settings: object) -> TrafficPlan:
    model = read_model({"load": {"ddl_rate": ddl_rate}})
    return plan_traffic(sql, Settings(rows=rows, model=model, **settings))  # type: ignore[arg-type]


def rows_of(plan: TrafficPlan, table: int = 0) -> pa.RecordBatch:
    return plan.tables[table].typed(np.arange(300), physical=plan.physical)


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_is_planned_the_same_each_time(name: str) -> None:
    one, two = (planned(sample_schema(name), ddl_rate=10) for _ in range(2))
    assert [rows_of(one, n) for n in range(len(one.tables))] == [rows_of(two, n) for n in range(len(two.tables))]
    assert len(one.ddl) == 9


def test_samples_are_found_by_name_path_and_text(tmp_path: Path) -> None:
    assert {"sysbench", "bank", "shop", "wide", "all_types", "partitioned", "generated_columns"} <= set(sample_names())
    file = tmp_path / "mine.sql"
    file.write_text("create table t (id int primary key)", encoding="utf-8")
    assert schema_text(file) == schema_text(str(file)) == schema_text("create table t (id int primary key)")
    assert "CREATE TABLE bank.accounts" in schema_text("bank")
    with pytest.raises(SchemaError, match="bank"):
        schema_text("bnak")


def test_roles_of_key_columns() -> None:
    sql = sample_schema("shop")
    keys = plan_keys(source_tables(catalog_from_sql(sql), None, Refusals()), {}, Refusals())
    roles = {name[1]: each.roles for name, each in keys.items()}
    assert roles["customers"] == {"id": Serial(), "username": Serial(), "email": Serial()}
    assert roles["tags"] == {"label": Serial(), "region": Fixed()}
    assert roles["order_items"]["order_id"] == Follows(0, "id")
    assert roles["order_items"]["line"] == Digit(16)
    assert keys["shop", "shipments"].shape.slots == 16  # one for each anchor of orders
    assert keys["shop", "product_tags"].digits == {0: (1, 16, False), 1: (16, 16, False)}
    assert [name[1] for name in keys].index("orders") < [name[1] for name in keys].index("order_items")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("create table t (id tinyint primary key)", "more than the 128 values"),
        ("create table t (a enum('x','y') primary key)", "no column that can hold different values"),
        ("create table t (id int primary key, a int, foreign key (a) references u (id))", "not generated"),
        ("create table t (id int primary key, b double, a double as (sqrt(b)) stored)", "cannot be computed"),
        ("create table t (a varchar(9), b varchar(9) as (lower(a)) stored, unique (b))", "no column that can hold"),
        (
            "create table t (id int primary key) partition by list (id) (partition p values in (1))",
            "no column that can hold",
        ),
        (
            "create table t (id int, a int, primary key (id, a)) partition by list (a % 2) (partition p values in (1))",
            "LIST",
        ),
        (
            "create table a (id int primary key, b int not null); create table b (id int primary key, a int not null);"
            "alter table a add foreign key (b) references b (id); alter table b add foreign key (a) references a (id)",
            "closes a cycle",
        ),
    ],
)
def test_what_cannot_be_obeyed_is_refused_early(sql: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        planned(sql, rows=200_000)


def test_what_refers_to_one_of_two_that_change_together_cannot_be_between_them() -> None:
    sql = "create table a (id int primary key, v int); create table b (id int primary key, a int, foreign key (a) "
    sql += "references a (id)); create table c (id int primary key, a int, b int, foreign key (a) references a (id), "
    model = read_model({"tables": {"a": {"together": "c"}, "c": {"children": {"of": "a", "count": 2}}}})
    with pytest.raises(ConfigError, match="together: a table between them refers to one of them"):
        plan_traffic(sql + "foreign key (b) references b (id))", Settings(100, model=model))


def test_a_cycle_of_tables_is_left_open_where_it_may_be_null() -> None:
    plan = planned(
        "create table a (id int primary key, b int unique); create table b (id int primary key, a int not null);"
        "alter table a add foreign key (b) references b (id); alter table b add foreign key (a) references a (id)"
    )
    assert [table.info.name for table in plan.tables] == ["a", "b"]


@pytest.mark.parametrize(
    "wrong", [*({"rows": 0}, {"rate": 0}, {"ddl_rate": 2000}, {"rate": "x"}, {"rows": "5"}, {"rate": float("nan")})]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SchemaError, match="out of its range") as caught:
        planned("create table t (id bigint primary key)", **({"rows": 10} | wrong))  # type: ignore[arg-type]
    assert caught.value.option == next(iter(wrong))


def test_tables_are_chosen_by_name() -> None:
    plan = planned(sample_schema("sysbench"), tables=("sbtest.sbtest3",))
    assert plan.is_typed
    assert plan.tables[0].info.name == "sbtest3"
    with pytest.raises(UnknownTableError):
        planned(sample_schema("sysbench"), tables=("sbtest.nope",))
    with pytest.raises(SchemaError, match="not generated"):
        planned(sample_schema("bank"), tables=("bank.accounts",))


def test_ddl_stands_between_changes_and_its_names_are_free() -> None:
    start = dt.datetime(2025, 5, 5, tzinfo=dt.timezone.utc)
    plan = planned("create table t (id bigint primary key, extra_1 int)", rows=1000, rate=100, ddl_rate=1, start=start)
    first = tso_from_datetime(start)
    tick = 2_621_440
    assert [(stamp - first) % tick for stamp, _ in plan.ddl] == [tick // 2] * 9
    assert [(stamp - first) // tick for stamp, _ in plan.ddl] == list(range(100, 1000, 100))
    statements = [query.split("`t` ")[1] for _, query in plan.ddl]
    assert statements[:6] == [
        "ADD COLUMN `extra1_1` INT NOT NULL DEFAULT 7",
        "ADD INDEX `by_extra1_1` (`extra1_1`)",
        "RENAME COLUMN `extra1_1` TO `extra1_1_renamed`",
        "DROP INDEX `by_extra1_1`",
        "DROP COLUMN `extra1_1_renamed`",
        "ADD COLUMN `extra1_2` VARCHAR(40) NOT NULL DEFAULT 'none'",
    ]
    names = [f"extra1_{n}{end}" for n in range(1, 3) for end in ("", "_renamed")]
    assert [field.name for field in rows_of(plan).schema.field("after").type] == ["id", "extra_1", *names]


def test_rows_do_not_grow_with_the_schema_changes() -> None:
    sql = sample_schema("sysbench")
    period = 5 * 5 * len(planned(sql).tables)
    some, many = planned(sql, rows=200_000, ddl_rate=1), planned(sql, rows=10_000_000, ddl_rate=1)
    assert period < len(some.ddl) == 199
    assert len(many.ddl) == 9_999
    assert [rows_of(some, n) for n in range(len(some.tables))] == [rows_of(many, n) for n in range(len(many.tables))]
    assert many.ddl[: len(some.ddl)] == some.ddl
    assert many.ddl[period][1] == many.ddl[0][1]  # the column has gone, and comes again


@pytest.mark.parametrize(("rate", "ddl_rate"), [(1000, 1000), (1000, 999), (7, 3), (0.5, 0.1), (1_000_000, 0.37)])
def test_schema_changes_stand_between_two_changes(rate: float, ddl_rate: float) -> None:
    plan = planned("create table t (id bigint primary key)", rows=20_000, rate=rate, ddl_rate=ddl_rate)
    stamps = [stamp for stamp, _ in plan.ddl]
    assert stamps == sorted(set(stamps))
    tick = round((1000 << 18) / rate)
    first = tso_from_datetime(dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc))
    places = [(stamp - first) // tick for stamp in stamps]
    assert all((stamp - first) % tick == tick // 2 for stamp in stamps)
    before = plan.clock.schema_changes_before(np.array([first, first + 19_998 * tick]))
    assert before.tolist() == [0, sum(place < 19_998 for place in places)]
    assert all(abs(place - (number + 1) * rate / ddl_rate) <= 1 for number, place in enumerate(places))
    assert all(place < 19_999 for place in places)


@pytest.mark.parametrize(
    ("name", "kind", "means"),
    [
        ("email", "varchar(99)", "email"),
        ("customerEmail", "varchar(99)", "email"),
        ("first_name", "varchar(40)", "first"),
        ("company_name", "varchar(40)", "company"),
        ("country", "char(2)", "country_code"),
        ("country", "varchar(40)", "country"),
        ("c", "char(120)", "digits"),
        ("c_varchar", "varchar(20)", "title"),
        ("whatever", "text", "prose"),
        ("phone2", "varchar(20)", "phone"),
    ],
)
def test_what_names_mean(name: str, kind: str, means: str) -> None:
    info = catalog_from_sql(f"create table t (id int primary key, {name} {kind})").table("test", "t")
    assert meaning(info.column(name)) == means


def test_names_are_taken_apart() -> None:
    assert tokens("billingZipCode_2") == ["billing", "zip", "code"]


def test_rows_of_hash_partitions_carry_their_partitions_id() -> None:
    plan = planned(sample_schema("partitioned"))
    users = next(table for table in plan.tables if table.info.name == "users")
    numbers = np.arange(900)
    made = users.generic(numbers, physical=True)
    rows = made["after"].to_pylist()
    ids = [partition.id for partition in users.info.partitions]
    key = users.hashed_by
    assert key is not None
    for row, physical in zip(rows, made["physical_table_id"].to_pylist(), strict=True):
        assert row is None or physical == ids[abs(int(dict(row)[key.name])) % len(ids)]
    other = next(table for table in plan.tables if table.info.name == "events")
    assert other.typed(numbers, physical=True)["physical_table_id"].null_count == 900
