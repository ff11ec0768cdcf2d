"""The model of generated traffic: what is asked for is measured, what is no model is refused."""

from __future__ import annotations

import math
from collections import Counter
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lawful_fold import violations

from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.changes import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables

SQL = """
create table s.customers (id bigint primary key, name varchar(40), boss bigint,
  foreign key (boss) references customers (id));
create table s.orders (id bigint primary key, customer bigint not null, net decimal(10,2),
  foreign key (customer) references customers (id));
create table s.lines (o bigint, n tinyint, v int, primary key (o, n), foreign key (o) references orders (id));
create table s.parts (o bigint, n tinyint, m int, v int, primary key (o, n, m),
  foreign key (o, n) references `lines` (o, n));
create table s.ships (id bigint primary key, o bigint, v int, foreign key (o) references orders (id));
"""
KIN: dict[str, Any] = {
    "orders": {"children": {"of": "customers", "distribution": "poisson", "mean": 3}},
    "s.lines": {"children": {"of": "s.orders", "count": 3}},
    "parts": {"children": {"of": "lines", "range": [0, 2]}},
}


def planned(tables: Any, rows: int, **sections: Any) -> TrafficPlan:
    return plan_traffic(SQL, Settings(rows, seed=1, model=read_model({"tables": tables, **sections})))


def final(plan: TrafficPlan, rows: int) -> dict[str, list[dict[str, Any]]]:
    return {
        table.info.name: table.final(np.arange(plan.cycle.count(table.number, rows)), rows, 0).to_pylist()
        for table in plan.tables
    }


def test_changes_are_shared_by_weight() -> None:
    weights = {"customers": 1, "orders": 9, "lines": 30, "parts": 0.5, "ships": 2}
    tables = {"*": {"updates": 2}} | {name: {"weight": weight} for name, weight in weights.items()}
    tables["orders"] |= {"children": {"of": "customers", "distribution": "zipf", "exponent": 1.1}, "updates": 5}
    plan, rows = planned(tables, 400_000), 400_000
    for table in plan.tables:
        share = plan.cycle.count(table.number, rows) / rows
        assert share == pytest.approx(weights[table.info.name] / sum(weights.values()), rel=0.02)


def test_children_per_parent_have_the_distribution() -> None:
    rows = 400_000
    tables = final(planned(KIN, rows), rows)
    orders = Counter(row["customer"] for row in tables["orders"])
    counts = Counter(orders[row["id"]] for row in tables["customers"])
    for count in range(9):
        share = math.exp(-3) * 3**count / math.factorial(count)
        assert counts[count] / len(tables["customers"]) == pytest.approx(share, abs=0.012)
    numbers: dict[int, set[int]] = {row["id"]: set() for row in tables["orders"]}
    for row in tables["lines"]:
        numbers[row["o"]].add(row["n"])
    assert all(found == set(range(1, len(found) + 1)) for found in numbers.values())
    assert sum(len(found) == 3 for found in numbers.values()) / len(numbers) > 0.99
    parts = Counter((row["o"], row["n"]) for row in tables["parts"])
    held = Counter(parts[row["o"], row["n"]] for row in tables["lines"])
    assert all(held[count] / len(tables["lines"]) == pytest.approx(1 / 3, abs=0.012) for count in range(3))


@pytest.mark.parametrize("deletes", [0, 0.7, 1])
def test_children_obey_their_foreign_keys_in_transactions_of_any_size(deletes: float) -> None:
    sections = {"load": {"transaction_size": 4}, "trouble": {"shared_commits": 0.6}}
    plan = planned(KIN | {"customers": {"deletes": deletes}}, 9_000, **sections)
    changes = [row for batch in plan.changes(np.arange(9_000)) for row in batch.to_pylist()]
    for row in changes:
        row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
    assert violations(source_tables(catalog_from_sql(SQL), None, Refusals()), changes) == []
    table = plan.tables[2]
    some = np.array([7, 1_999, 8, 0])
    assert table.typed(some).equals(table.typed(np.arange(2_000)).take(pa.array(some)))


@pytest.mark.parametrize("size", [1, 3])
def test_an_order_and_its_lines_change_in_one_transaction(size: float) -> None:
    tables = KIN | {"orders": KIN["orders"] | {"together": ["lines", "ships"], "updates": 5}, "*": {"skew": 0}}
    tables |= {"lines": KIN["s.lines"] | {"together": "parts"}, "ships": {"children": {"of": "orders", "count": 1}}}
    plan = planned(tables, 30_000, load={"transaction_size": size}, trouble={"shared_commits": 0.3})
    changes = [row for batch in plan.changes(np.arange(9_000)) for row in batch.to_pylist()]
    known, parents = source_tables(catalog_from_sql(SQL), None, Refusals()), set()
    for row in changes:
        row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
        if row["table"] == "orders":
            parents.add((row["op"], row["start_ts"], row["after" if row["op"] == "c" else "before"]["id"]))
    counts: dict[tuple[str, str], list[bool]] = {}
    for row in changes:
        if row["table"] in ("lines", "parts", "ships"):
            order = row["op"], row["start_ts"], row["after" if row["op"] == "c" else "before"]["o"]
            counts.setdefault((row["table"], row["op"]), []).append(order in parents)
    assert violations(known, changes) == []
    assert {key: all(found) for key, found in counts.items() if key[1] != "u"} == {
        (name, op): True for name in ("lines", "parts", "ships") for op in "cd"
    }
    assert all(np.mean(found) > 0.9 for found in counts.values())  # a line has fewer updates than its order
    for end in range(1_000, 1_020):  # also inside of a transaction nothing is without what it refers to
        prefix = [row for batch in plan.changes(np.arange(end)) for row in batch.to_pylist()]
        for row in prefix:
            row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
        assert violations(known, prefix) == []


def distance(values: list[float], share_below: Any) -> float:
    """Return the Kolmogorov-Smirnov distance of rounded values."""
    points, counts = np.unique(np.array(values, float), return_counts=True)
    return float(max(abs(np.cumsum(counts) / len(values) - [share_below(point) for point in points])))


NORMAL = NormalDist()


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside-others"])
@pytest.mark.parametrize(
    ("kind", "options", "share_below"),
    [
        ("int", {"distribution": "normal", "mean": 300, "deviation": 40}, lambda v: NORMAL.cdf((v - 299.5) / 40)),
        ("double", {"distribution": "normal", "mean": -5, "deviation": 2.5}, lambda v: NORMAL.cdf((v + 5.005) / 2.5)),
        (
            "decimal(12,2)",
            {"distribution": "lognormal", "median": 50, "sigma": 1},
            lambda v: NORMAL.cdf(math.log((v + 0.005) / 50)),
        ),
        ("bigint", {"distribution": "exponential", "mean": 1000}, lambda v: 1 - math.exp(-(v + 0.5) / 1000)),
        (
            "int",
            {"distribution": "zipf", "exponent": 1, "range": [1, 400]},
            lambda v: sum(1 / k for k in range(1, int(v) + 1)) / sum(1 / k for k in range(1, 401)),
        ),
        ("int", {"range": [1, 50]}, lambda v: v / 50),
    ],
)
def test_values_have_the_distribution_also_where_they_show_every_update(
    kind: str, options: Any, share_below: Any, alone: bool
) -> None:
    sql = f"create table t (id bigint primary key, v {kind} not null{'' if alone else ', w int'})"
    (batches,) = generate_arrow(sql, rows=30_000, model={"columns": {"v": options}}).changes.values()
    changes = pa.Table.from_batches(list(batches)).to_pylist()
    assert not alone or all(each["before"]["v"] != each["after"]["v"] for each in changes if each["op"] == "u")
    values = [float(each["after"]["v"]) for each in changes if each["op"] == "cu"[alone]]
    assert distance(values, share_below) < (0.04 if "exponent" in options and alone else 1.95 / math.sqrt(len(values)))


def test_times_have_deviations_in_seconds_and_expressions_are_of_the_row() -> None:
    sql = (
        "create table t (id bigint primary key, at datetime(3) not null, net decimal(9,2) not null, vat decimal(12,4))"
    )
    columns = {
        "at": {"distribution": "normal", "mean": "2026-01-01T00:00:00", "deviation": 86_400},
        "vat": {"expression": "net * 0.19"},
    }
    (batches,) = generate_arrow(sql, rows=5_000, model={"columns": columns}).changes.values()
    rows = [row for row in pa.Table.from_batches(list(batches))["after"].to_pylist() if row is not None]
    assert all(row["vat"] * 100 == row["net"] * 19 for row in rows)
    stamps = pa.array([row["at"] for row in rows]).cast(pa.int64()).to_numpy()
    assert np.std(stamps) / 1e6 == pytest.approx(86_400, rel=0.05)


def test_expressions_have_values_that_the_parent_was_inserted_with() -> None:
    sql = """
    create table t.customers (id bigint primary key, rate int, name varchar(40), stage varchar(9) not null);
    create table t.orders (id bigint primary key, customer bigint, net int not null, vat int, seen varchar(80),
      foreign key (customer) references customers (id));
    create table t.lines (id bigint primary key, o bigint not null, tax int, foreign key (o) references orders (id));
    """
    columns = {
        "customers": {"rate": {"range": [1, 9]}, "stage": {"states": {"new": {"old": 1}}}},
        "orders.net": {"range": [1, 99]},
        "orders.vat": {"expression": "net * parent.Customers.rate"},
        "seen": {"expression": "concat(parent.customers.stage, ' parent.customers.name ', parent.customers.name)"},
        "lines.tax": {"expression": "parent.orders.vat * 2"},  # which is of a parent, too
    }
    traffic = generate_arrow(sql, rows=6_000, model={"columns": columns, "load": {"transaction_size": 3}})
    rows = {name: pa.Table.from_batches(list(batches)).to_pylist() for name, batches in traffic.changes.items()}
    inserted = {
        name: {each["after"]["id"]: each["after"] for each in changes if each["op"] == "c"}
        for name, changes in rows.items()
    }
    nobody = {"rate": None, "name": None}
    assert {each["after"]["stage"] for each in rows["t.customers"] if each["after"]} == {"new", "old"}
    for row in (each[which] for each in rows["t.orders"] for which in ("before", "after") if each[which]):
        parent = inserted["t.customers"].get(row["customer"], nobody)
        assert row["vat"] == (parent["rate"] and row["net"] * parent["rate"])
        assert row["seen"] == (parent["name"] and f"new parent.customers.name {parent['name']}")
    for row in (each["after"] for each in rows["t.lines"] if each["after"]):
        vat = inserted["t.orders"][row["o"]]["vat"]
        assert row["tax"] == (vat and vat * 2)


OF_FUNCTIONS = """create table t (id bigint primary key, n int not null, name varchar(40), code varchar(60) not null,
  twice int, at timestamp(3) null, loud varchar(60) as (upper(code)) stored, more int)"""


def test_functions_make_values_of_the_other_columns() -> None:
    def coded(row: dict[str, pa.Array]) -> pa.Array:
        assert set(row) == {"id", "n", "name"}
        return pc.binary_join_element_wise(row["name"], row["id"].cast(pa.string()), "-", null_handling="skip")

    columns = {
        "code": {"values": coded},
        "twice": {"values": lambda row: row["n"].to_numpy() * 2},
        "at": {
            "values": lambda row: pa.chunked_array([pc.multiply(row["id"], 1_000_000).cast(pa.timestamp("us", "UTC"))])
        },
        "more": {"expression": "twice + 1"},
        "n": {"range": [1, 99]},
    }
    model = read_model({"columns": columns})
    (table,) = plan_traffic(OF_FUNCTIONS, Settings(3_000, model=model)).tables
    changes = table.typed(np.arange(3_000))
    assert table.typed(np.array([7, 2_999, 8])).equals(changes.take(pa.array([7, 2_999, 8])))
    for row in (each[which] for each in changes.to_pylist() for which in ("before", "after") if each[which]):
        assert row["code"] == "-".join(filter(None, [row["name"], str(row["id"])]))
        assert (row["twice"], row["more"], row["loud"]) == (row["n"] * 2, row["n"] * 2 + 1, row["code"].upper())
        assert row["at"].timestamp() == row["id"]


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        (
            "n",
            lambda row: pa.array([1]),
            r"returned 1 values for 16 rows \[table='test.t', column='n'\].*of any length",
        ),
        ("n", lambda row: 1 / 0, "the function of values failed: ZeroDivisionError: division by zero"),
        ("n", lambda row: ["x"] * len(row["id"]), "it returned 'x': "),
        ("n", lambda row: pa.nulls(len(row["id"])), "it returned None: NULL in a NOT NULL column"),
        ("at", lambda row: row["id"], "the function of values failed: "),
        ("n", "random()", r"'random\(\)' is not a function"),
        ("id", lambda row: row["n"], "the column is in a key, which determines its values"),
    ],
)
def test_what_a_function_must_not_make_is_refused_before_the_first_row(name: str, values: Any, why: str) -> None:
    with pytest.raises(TicdcEmitError, match=why):
        plan_traffic(OF_FUNCTIONS, Settings(100, model=read_model({"columns": {name: {"values": values}}})))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"tabels": {}}, "'tabels' is not a section.* Did you mean tables"),
        ({"load": {"ddl_rat": 1}}, r"\[load\] ddl_rat: is not an option.* Did you mean ddl_rate"),
        ({"load": {"transaction_size": 0.5}}, "transaction_size is out of its range: 0.5"),
        ({"trouble": {"lag": "much"}}, "lag is out of its range: 'much'"),
        ({"load": 3}, r"\[load\] is not a table"),
        ({"tables": {"order": {"weight": 1}}}, "no table 'order'.* Did you mean s.orders"),
        ({"tables": {"orders": {"rows": 5}}}, "rows: is not an option.* weight"),
        ({"tables": {"orders": {"children": {"of": "ships", "count": 1}}}}, "no foreign key refers to s.ships"),
        ({"tables": {"orders": {"children": {"count": 1}}}}, "children needs of and count"),
        ({"tables": {"orders": {"children": {"of": "customers", "mean": 1}}}}, "children mean: is not an option"),
        ({"tables": {"lines": {"deletes": 1, **KIN["s.lines"]}}}, "cannot be combined with deletes"),
        ({"tables": KIN | {"customers": {"together": "lines"}}}, "s.customers and lines cannot"),
        ({"tables": KIN | {"orders": KIN["orders"] | {"together": "parts"}}}, "s.orders and parts cannot"),
        ({"tables": {"lines": {"together": 3}}}, "3 is not a name"),
        ({"tables": {"lines": {"children": {"of": "orders", "count": 200}}}}, "96,000 rows for 480 parents"),
        ({"columns": {"net": {"distribution": "normal", "mean": 3}}}, "deviation: is missing"),
        ({"columns": {"net": {"distribution": "exponential", "mean": 3, "sigma": 1}}}, "sigma: is not of the"),
        ({"columns": {"net": {"distribution": "exponential", "mean": 1, "range": [99, 100]}}}, "nearly nothing"),
        ({"columns": {"name": {"distribution": "lognormal", "median": 1, "sigma": 1}}}, "not possible for this type"),
        ({"columns": {"net": {"expression": "nett * 2"}}}, "no column 'nett'.* Did you mean net"),
        ({"columns": {"net": {"expression": "net +"}}}, "expression"),
        ({"columns": {"net": {"expression": "parent.customer.id"}}}, "0 foreign keys of the table refer to"),
        ({"columns": {"net": {"expression": "parent.customers.no"}}}, "there is no column 'no' in 'customers'"),
        ({"columns": {"net": {"expression": "parent.customers"}}}, "parent.customers names no column"),
        ({"columns": {"parts.v": {"expression": "parent.lines.orders.id"}}}, "not of a parent's parent"),
        ({"columns": {"name": {"expression": "parent.customers.id"}}}, "'customers' can be parents of each other"),
        ({"columns": {"net": {"expression": "net + 1"}}}, "expression cannot be computed: .* computed from itself"),
        ({"columns": {"orders.id": {"expression": "net"}}}, "in a key, which determines"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(model: Any, why: str) -> None:
    with pytest.raises(TicdcEmitError, match=why):
        plan_traffic(SQL, Settings(100, model=read_model(model)))


def test_a_table_that_cannot_show_the_updates_it_is_asked_for_is_told() -> None:
    schema = "create table h.patients (id int primary key, name varchar(40), email varchar(60), birthday date)"
    with pytest.warns(ConfigWarning, match=r"h\.patients has no updates"):
        generate_arrow(schema, rows=10, model={"tables": {"patients": {"updates": 5}}})
    generate_arrow(schema, rows=10, model={"tables": {"*": {"updates": 5}}})
