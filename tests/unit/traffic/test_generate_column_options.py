"""What a user says of columns: read from TOML or a mapping, checked against the tables, and kept by the values."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate.changes import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.column_options import ColumnOptions, options_by_column, pattern_parts
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables

SQL = """
create table shop.orders (
  id bigint primary key, region char(2) not null, status enum('new','paid','void') not null, total decimal(8,2),
  code varchar(10), placed datetime(3), day date, share double, raw varbinary(8), twice bigint as (id * 2) stored,
  hue set('red','green'), flags bit(4), unique key (region, id), unique key (code)
);
create table shop.users (id int primary key, status varchar(10));
"""


def options_of(columns: Any) -> dict[str, ColumnOptions]:
    refusals = Refusals()
    tables = source_tables(catalog_from_sql(SQL), None, refusals)
    model = read_model({"columns": columns} if isinstance(columns, dict) else columns)
    checked = options_by_column(model.columns, tables, refusals)
    refusals.raise_all()
    return {f"{table[1]}.{column}": each for (table, column), each in checked.items()}


def rows_of(plan: TrafficPlan, count: int = 400) -> list[dict[str, Any]]:
    """Return the rows that changes of the first table insert."""
    made = plan.tables[0].typed(np.arange(count))
    return [row for op, row in zip(made["op"].to_pylist(), made["after"].to_pylist(), strict=True) if op == "c"]


def planned(columns: Any, sql: str = SQL) -> TrafficPlan:
    return plan_traffic(sql, Settings(rows=1000, model=read_model({"columns": columns or {}})))


def test_a_file_says_what_a_mapping_says(tmp_path: Path) -> None:
    file = tmp_path / "columns.toml"
    file.write_text(
        """
        [columns.shop.orders.total]
        range = [5, 99.99]
        distribution = "zipf"
        nulls = 0.25
        [columns.shop.orders.status]
        labels = ["new", "void"]
        weights = [9, 1]
        [columns.shop.orders.placed]
        range = [2026-01-01T00:00:00, 2026-01-01T00:00:01Z]
        [columns.orders.day]
        range = [2026-01-01, 2026-01-31]
        """,
        encoding="utf-8",
    )
    found = options_of(file)
    assert found == options_of(
        {
            "shop.orders.total": {"range": (5, 99.99), "distribution": "zipf", "nulls": 0.25},
            "shop.orders": {"status": {"labels": ["new", "void"], "weights": [9, 1]}},
            "orders.placed": {"range": ["2026-01-01", dt.datetime(2026, 1, 1, 0, 0, 1)]},
            "day": {"range": [dt.date(2026, 1, 1), "2026-01-31"]},
        }
    )
    assert found["orders.total"] == ColumnOptions(500, 9_500, distribution="zipf", nulls=0.25, parameters=(1.0,))
    assert (found["orders.placed"].count, found["orders.day"].count) == (1001, 31)


@pytest.mark.parametrize(
    ("column", "options", "why"),
    [
        ("orders.totl", {"range": [1, 2]}, r"no column 'orders.totl' .*Did you mean shop.orders.total"),
        ("status", {"nulls": 0}, r"2 columns have the name 'status'.* shop.orders.status, shop.users.status"),
        ("total", {"rnge": [1, 2]}, r"rnge: is not an option \[table='shop.orders'.* Did you mean range"),
        ("total", {"range": [9, 1]}, r"range: 9 is above 1 \[table='shop.orders', column='total', option='range'\]"),
        ("total", {"range": [0, 1_000_000]}, r"range: \[0, 1000000\] is outside the column's type"),
        ("total", {"range": "1-9"}, r"range: '1-9' is not a pair .* Write \[lowest, highest\]"),
        ("total", {"range": ["1", 2]}, r"range: '1' is not a number"),
        ("orders.id", {"range": [1.5, 2]}, r"range: 1.5 is not an integer"),
        ("placed", {"range": ["soon", "later"]}, r"range: 'soon' is not a date or time.*ISO form"),
        ("code", {"range": [1, 2]}, r"range: is not possible for this type"),
        ("total", {"range": [1, 2], "labels": [1]}, r"labels: cannot be combined with range"),
        ("total", {"distribution": "zipf"}, r"distribution: needs a range or labels"),
        ("total", {"range": [1, 2], "distribution": "gauss"}, r"distribution: 'gauss' is not known.*exponential, zipf"),
        ("total", {"labels": ["x"]}, r"labels: 'x': .* \[table='shop.orders', column='total', option='labels'\]"),
        ("orders.status", {"labels": ["new", "2"]}, r"labels: '2': '2' is not a label of the ENUM"),
        ("orders.status", {"labels": ["new", "new"]}, r"labels: has a value twice"),
        ("raw", {"labels": ["a"]}, r"labels: is not possible for this type"),
        ("hue", {"labels": ["red", "blue"]}, r"labels: 'blue'"),
        ("code", {"labels": ["a"], "weights": [1, 2]}, r"weights: \[1, 2\] does not fit 1 labels"),
        ("code", {"labels": ["a"], "weights": [0]}, r"weights: \[0\] does not fit"),
        ("code", {"pattern": "ORD-########"}, r"pattern: makes 12 characters, the column has 10"),
        ("total", {"pattern": "#"}, r"pattern: is not possible for this type.* CHAR, VARCHAR and TEXT"),
        ("orders.status", {"nulls": 0.5}, r"nulls: the column is NOT NULL"),
        ("total", {"nulls": 2}, r"nulls: 2 is not a share"),
        ("twice", {"range": [1, 2]}, r"a generated column has computed values"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_with_its_place(column: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        options_of({column: options})


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[a", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not TOML"):
        options_of(tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match="cannot read the model"):
        options_of(str(tmp_path / "no.toml"))
    with pytest.raises(ConfigError, match=r"'range' is not in the table of a column.*\[columns.schema.table"):
        options_of({"range": [1, 2]})


def test_keys_decide_their_own_values() -> None:
    with pytest.raises(ConfigError, match=r"in a key, which determines its values \[table='shop.orders', column='id'"):
        planned({"orders.id": {"range": [1, 9]}})
    made = rows_of(planned({"region": {"labels": ["KE", "PT"]}}))
    assert {row["region"] for row in made} == {"KE", "PT"}, "a part of a key that does not make it unique can be chosen"


def test_a_table_whose_columns_cannot_change_is_not_updated() -> None:
    sql = "create table t (id int primary key, a int, b varchar(9) not null)"
    still = planned({"a": {"nulls": 1.0}, "b": {"labels": ["only"]}}, sql).cycle.tables[0]
    assert {visits - deleted for visits, deleted in zip(still.visits, still.deleted, strict=True)} == {1}
    moving = planned({"a": {"nulls": 1.0}, "b": {"labels": ["one", "other"]}}, sql)
    assert max(moving.cycle.tables[0].visits) > 2


def test_a_column_that_is_not_controlled_shows_the_updates() -> None:
    sql = "create table t (id int primary key, a int not null, b int not null)"
    for controlled_one, other in (("a", "b"), ("b", "a")):
        made = planned({controlled_one: {"range": [1, 9]}}, sql).tables[0].typed(np.arange(900))
        updates = [
            (before, after)
            for op, before, after in zip(*(made[name].to_pylist() for name in ("op", "before", "after")), strict=True)
            if op == "u"
        ]
        assert all(before[other] != after[other] for before, after in updates)
        assert any(before[controlled_one] == after[controlled_one] for before, after in updates)


def test_without_columns_the_plan_is_as_ever() -> None:
    assert rows_of(planned(None)) == rows_of(planned({}))


def test_a_pattern_has_placeholders_and_the_rest() -> None:
    assert list(pattern_parts("A-##?^\\#?")) == [
        (False, "A-"), (True, "##"), (True, "?"), (True, "^"), (False, "#"), (True, "?"),
    ]  # fmt: skip
    sql = "create table t (id int primary key, code varchar(40) not null, ends varchar(40) not null)"
    made = rows_of(planned({"code": {"pattern": "O'é##-^"}, "ends": {"pattern": "###########?"}}, sql))
    assert all(re.fullmatch("O'é[0-9]{2}-[A-Z]", row["code"]) for row in made)
    assert all(re.fullmatch("[0-9]{11}[a-z]", row["ends"]) for row in made)
    assert len({row["ends"][-3:-1] for row in made}) > 20, "digits beyond those of one hash vary"


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("how", [{"weights": True}, {"distribution": "normal"}, {"distribution": "zipf"}, {}])
def test_points_that_must_alternate_do(count: int, how: dict[str, Any]) -> None:
    """The only column that varies shows every update; it has no value beyond the last."""
    labels = list("abcdefg"[:count])
    options = {name: list(range(1, count + 1)) if name == "weights" else value for name, value in how.items()}
    sql = "create table t (id int primary key, v varchar(9) not null)"
    made = planned({"v": {"labels": labels} | options}, sql).tables[0].typed(np.arange(3_000))
    before, after = (made[name].to_pylist() for name in ("before", "after"))
    assert {row["v"] for row in after if row} == set(labels)
    assert all(one["v"] != other["v"] for one, other in zip(before, after, strict=True) if one and other)


def test_columns_have_the_values_that_were_asked_for() -> None:
    sql = """
        create table a.t (id int primary key, kind enum('x','y','z') not null, n int, price decimal(8,2) not null,
        low bigint not null, mid double not null, at timestamp(3) not null, day date not null,
        code varchar(20) not null, gone varchar(9), word text not null, y year not null, s set('p','q') not null,
        moves int not null)"""
    columns = {
        "kind": {"labels": ["z", "x"], "weights": [1, 9]},
        "n": {"range": [-3, 3], "nulls": 0.5},
        "price": {"range": [0.5, 1]},
        "low": {"range": [1, 1_000_000], "distribution": "zipf"},
        "mid": {"range": [0, 100], "distribution": "normal"},
        "at": {"range": ["2026-01-01T00:00:00", "2026-01-01T00:00:00.009"]},
        "day": {"range": ["2026-02-27", "2026-03-01"]},
        "code": {"pattern": "ORD-####-?^\\#"},
        "gone": {"nulls": 1.0},
        "word": {"labels": ["a|b;c~d\x01", "it's", "\\", ""]},
        "y": {"range": [1999, 2001]},
        "s": {"labels": ["p,q", ""]},
    }
    rows = rows_of(planned(columns, sql), 3_000)
    seen = {name: Counter(row[name] for row in rows) for name in rows[0]}
    assert set(seen["kind"]) == {"x", "z"}
    assert 0.85 < seen["kind"]["x"] / len(rows) < 0.95
    assert set(seen["n"]) == {None, *range(-3, 4)}
    assert 0.42 < seen["n"][None] / len(rows) < 0.58
    assert (float(min(seen["price"])), float(max(seen["price"])), len(seen["price"])) == (0.5, 1.0, 51)
    assert 0.4 < sum(count for value, count in seen["low"].items() if value < 1000) / len(rows) < 0.6
    assert 0.6 < sum(count for value, count in seen["mid"].items() if 35 < value < 65) / len(rows) < 0.8
    assert {moment.isoformat(timespec="milliseconds") for moment in seen["at"]} == {
        f"2026-01-01T00:00:00.{ms:03}+00:00" for ms in range(10)
    }
    assert {day.isoformat() for day in seen["day"]} == {"2026-02-27", "2026-02-28", "2026-03-01"}
    assert all(re.fullmatch(r"ORD-[0-9]{4}-[a-z][A-Z]#", code) for code in seen["code"])
    assert len(seen["code"]) > len(rows) / 2
    assert set(seen["gone"]) == {None}
    assert set(seen["word"]) == {"a|b;c~d\x01", "it's", "\\", ""}
    assert (set(seen["y"]), set(seen["s"])) == ({1999, 2000, 2001}, {"p,q", ""})


def test_a_controlled_column_alone_still_shows_every_update() -> None:
    sql = "create table a.t (id int primary key, kind varchar(9), n int)"
    columns = {"kind": {"labels": ["a", "b", "c"], "weights": [8, 1, 1], "nulls": 0.3}, "n": {"labels": [7]}}
    changes = planned(columns, sql).tables[0].typed(np.arange(2_000)).to_pylist()
    updates = [change for change in changes if change["op"] == "u"]
    assert len(updates) > 1000
    assert all(change["before"]["kind"] != change["after"]["kind"] for change in updates)
    assert {change["after"]["kind"] for change in updates} == {"a", "b", "c", None}
    inserts = [change["after"]["kind"] for change in changes if change["op"] == "c"]
    assert 0.2 < inserts.count(None) / len(inserts) < 0.4
