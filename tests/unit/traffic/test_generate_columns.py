"""What a user says of columns: read from TOML or a mapping, checked against the tables, and kept by the values' SQL."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate.changes import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.column_options import Control, controls_of, pattern_parts
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.sql import Alternating
from ticdc_emit.traffic.generate.tables import source_tables
from ticdc_emit.traffic.generate.values import controlled

SQL = """
create table shop.orders (
  id bigint primary key, region char(2) not null, status enum('new','paid','void') not null, total decimal(8,2),
  code varchar(10), placed datetime(3), day date, share double, raw varbinary(8), twice bigint as (id * 2) stored,
  hue set('red','green'), flags bit(4), unique key (region, id), unique key (code)
);
create table shop.users (id int primary key, status varchar(10));
"""


def controls(columns: Any) -> dict[str, Control]:
    tables = source_tables(catalog_from_sql(SQL), SQL)
    return {f"{table[1]}.{column}": each for (table, column), each in controls_of(columns, tables).items()}


def planned(columns: Any, sql: str = SQL) -> TrafficPlan:
    return plan_traffic(sql, Settings(rows=1000, columns=columns))


def test_a_file_says_what_a_mapping_says(tmp_path: Path) -> None:
    file = tmp_path / "columns.toml"
    file.write_text(
        """
        [shop.orders.total]
        range = [5, 99.99]
        distribution = "zipf"
        nulls = 0.25
        [shop.orders.status]
        labels = ["new", "void"]
        weights = [9, 1]
        [shop.orders.placed]
        range = [2026-01-01T00:00:00, 2026-01-01T00:00:01Z]
        [orders.day]
        range = [2026-01-01, 2026-01-31]
        """,
        encoding="utf-8",
    )
    found = controls(file)
    assert found == controls(
        {
            "shop.orders.total": {"range": (5, 99.99), "distribution": "zipf", "nulls": 0.25},
            "shop.orders": {"status": {"labels": ["new", "void"], "weights": [9, 1]}},
            "orders.placed": {"range": ["2026-01-01", dt.datetime(2026, 1, 1, 0, 0, 1)]},
            "day": {"range": [dt.date(2026, 1, 1), "2026-01-31"]},
        }
    )
    assert found["orders.total"] == Control(500, 9_500, distribution="zipf", nulls=0.25)
    assert (found["orders.placed"].count, found["orders.day"].count) == (1001, 31)


@pytest.mark.parametrize(
    ("column", "options", "why"),
    [
        (
            "orders.totl",
            {"range": [1, 2]},
            r"no column 'orders.totl' .*Did you mean shop.orders.total",
        ),
        (
            "status",
            {"nulls": 0},
            r"2 tables have the column 'status'.* shop.orders.status, shop.users.status",
        ),
        (
            "total",
            {"rnge": [1, 2]},
            r"rnge: is not an option \[table='shop.orders'.* Did you mean range",
        ),
        ("total", {"range": [9, 1]}, r"range: 9 is above 1 \[table='shop.orders', column='total', option='range'\]"),
        ("total", {"range": [0, 1_000_000]}, r"range: \[0, 1000000\] is outside the column's type"),
        ("total", {"range": "1-9"}, r"range: '1-9' is not a pair .* Write \[lowest, highest\]"),
        ("total", {"range": ["1", 2]}, r"range: '1' is not a number"),
        ("orders.id", {"range": [1.5, 2]}, r"range: 1.5 is not an integer"),
        ("placed", {"range": ["soon", "later"]}, r"range: 'soon' is not a date or time.*ISO form"),
        ("code", {"range": [1, 2]}, r"range: is not possible for this type"),
        ("total", {"range": [1, 2], "labels": [1]}, r"labels: cannot be combined with range"),
        ("total", {"distribution": "zipf"}, r"distribution: needs a range or labels"),
        (
            "total",
            {"range": [1, 2], "distribution": "gauss"},
            r"distribution: 'gauss' is not known.*normal, zipf",
        ),
        ("total", {"labels": ["x"]}, r"labels: 'x': .* \[table='shop.orders', column='total', option='labels'\]"),
        (
            "orders.status",
            {"labels": ["new", "2"]},
            r"labels: '2': '2' is not a label of the ENUM",
        ),
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
        controls({column: options})


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[a", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not TOML"):
        controls(tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match="cannot read the file of columns"):
        controls(str(tmp_path / "no.toml"))
    with pytest.raises(ConfigError, match=r"'range' is not in the table of a column.*\[schema.table.column\]"):
        controls({"range": [1, 2]})


def test_keys_decide_their_own_values() -> None:
    with pytest.raises(ConfigError, match=r"in a key, which determines its values \[table='shop.orders', column='id'"):
        planned({"orders.id": {"range": [1, 9]}})
    assert "'KE|PT'" in "".join(
        text for layer in planned({"region": {"labels": ["KE", "PT"]}}).tables[0].layers(typed=False) for text in layer
    ), "a part of a key that does not make it unique can be chosen"


def test_a_table_whose_columns_cannot_change_is_not_updated() -> None:
    sql = "create table t (id int primary key, a int, b varchar(9) not null)"
    still = planned({"a": {"nulls": 1.0}, "b": {"labels": ["only"]}}, sql).cycle.tables[0]
    assert {visits - deleted for visits, deleted in zip(still.visits, still.deleted, strict=True)} == {1}
    moving = planned({"a": {"nulls": 1.0}, "b": {"labels": ["one", "other"]}}, sql)
    assert max(moving.cycle.tables[0].visits) > 2


def test_a_column_that_is_not_controlled_shows_the_updates() -> None:
    sql = "create table t (id int primary key, a int not null, b int not null)"
    for controlled_one, other in (("a", "b"), ("b", "a")):
        layers = planned({controlled_one: {"range": [1, 9]}}, sql).tables[0].layers(typed=True)
        made = {
            name: text for layer in layers for text in layer for name in ("_a2", "_a3") if text.endswith(f"as {name}")
        }
        alternating = {"a": "_a2", "b": "_a3"}[other]
        assert [name for name, text in made.items() if "pmod(_s1, 2L)" in text] == [alternating]


def test_without_columns_the_plan_is_as_ever() -> None:
    one, two = (
        [text for table in plan.tables for layer in table.layers(typed=False) for text in layer]
        for plan in (planned(None), planned({}))
    )
    assert one == two


def test_a_pattern_has_placeholders_and_the_rest() -> None:
    assert list(pattern_parts("A-##?^\\#?")) == [
        (False, "A-"), (True, "##"), (True, "?"), (True, "^"), (False, "#"), (True, "?"),
    ]  # fmt: skip
    column = catalog_from_sql(SQL).table("shop", "orders").column("code")
    made = controlled(column, Control(pattern="O'##-^"), lambda nth: f"h{nth}")
    assert made == (
        r"concat('O\'', lpad(cast(pmod(h0, 100L) as string), 2, '0'), '-', "
        "substring('ABCDEFGHIJKLMNOPQRSTUVWXYZ', cast(pmod(h1, 26L) as int) + 1, 1))"
    )


@pytest.mark.parametrize("count", [2, 3, 7])
def test_points_that_must_alternate_do(count: int) -> None:
    """The SQL's arithmetic, in Python: parity is kept, and no point is beyond the last."""
    column = catalog_from_sql(SQL).table("shop", "users").column("status")
    labels = tuple("abcdefg"[:count])
    control = Control(labels=labels, weights=tuple(range(1, count + 1)))
    made = controlled(column, control, lambda _: Alternating("h", "s"))
    assert f"& -2L | pmod(s, 2L)) >= {count}L, 2L, 0L)" in made
    for point in range(count):
        for parity in (0, 1):
            paired = point & -2 | parity
            shown = paired - (2 if paired >= count else 0)
            assert 0 <= shown < count
            assert shown % 2 == parity
