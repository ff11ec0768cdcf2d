"""What a model asks for and what a million generated changes have, side by side, for five schemas (``models/``).

    python tests/scale/models.py [--rows 1000000] [--consumed 30000] [bank shop sakila erp fleet]

In: how many changes (whole cycles of them), and how many of these a consumer reads. Out: a line for each thing asked
for, with its error: of distributions the Kolmogorov-Smirnov distance that one sample in 1,000 exceeds, of shares four
standard deviations, of what a cycle rounds (rates, stays) a row, or half a cycle. Then what is wrong with the rows that
are left: unique keys, foreign keys, NULLs, checks, and the reference consumer's tables against the history's.
"""

from __future__ import annotations

import argparse
import math
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.profile.columns import distance, numbers_of
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, MySQLType
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.changes import TableChanges, TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.results import ArrowChanges
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import schema_text

SCHEMAS = ("bank", "shop", "sakila", "erp", "fleet")
MODULES = ("hr", "sales", "stock", "finance", "plant", "projects", "service", "buying")
CHECKS = {"fleet.depots": "docks > 0", "fleet.trips": "(kilometres >= 5) & (kilometres <= 3000)"}
CHECKS |= {"erp.sales_lines": "quantity >= 1"}
MODELS = Path(__file__).with_name("models")
DRAWN = 1_000_000
LONG_AGO = 0.7  # of the traffic: rows inserted before have all their children, and have left their states
Model = dict[str, Any]


class Line(NamedTuple):
    what: str
    asked: float
    measured: float
    error: float


def share(what: str, asked: float, measured: float, count: float, times: float = 1) -> Line:
    return Line(what, asked, measured, 4 * math.sqrt(asked * (1 - asked) * times / count))


def sources(name: str) -> tuple[str, Model]:
    """Return a schema and its model. An ERP has eight modules of five tables, each with clerks of the one before."""
    form = (MODELS / "erp_module.sql").read_text(encoding="utf-8")
    modules = (form.replace("OWN", own).replace("BEFORE", MODULES[at - (at > 0)]) for at, own in enumerate(MODULES))
    path = MODELS / f"{name}.sql"
    schema = (
        "CREATE DATABASE erp;" + "".join(modules) if name == "erp" else schema_text(path if path.exists() else name)
    )
    return schema, tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))


class Measured:
    """The changes of a table: images ``before`` them and after them (``rows``), and what the plan says of it."""

    def __init__(self, plan: TrafficPlan, table: TableChanges) -> None:
        data = pa.Table.from_batches(list(ArrowChanges(plan, table)))
        self.info, self.own, self.is_emptied = table.info, table._own, table._emptied is not None
        self.slots, self.cycle = plan.cycle.tables[table.number].slots, plan.cycle.size / 1000
        self.op, self.commit = data["op"].to_numpy(), data["commit_ts"].to_numpy()
        self.starts = data["start_ts"].to_numpy() if "start_ts" in data.column_names else self.commit
        images = (pa.Table.from_struct_array(data[name].combine_chunks()) for name in ("before", "after"))
        self.before, self.rows = images
        self.inserted = self.rows.filter(pa.array(self.op == "c"))


def apart(what: str, found: Any, asked: Any) -> Line:
    return Line(what, 0, distance(found, asked), 1.95 * math.sqrt(1 / len(found) + 1 / len(asked)))


def fit(what: str, column: Column, options: Model, values: pa.ChunkedArray) -> Line:
    """Compare values with a million that are drawn as the options say."""
    draw = np.random.default_rng(1)
    if "labels" in options:
        labels = pa.array(map(str, options["labels"])).cast(values.type)
        weights = np.array(options.get("weights") or [1] * len(labels))
        drawn = draw.choice(len(labels), DRAWN, p=weights / weights.sum())
        return apart(what, pc.index_in(values, labels).to_numpy(), drawn)
    unit = 86_400.0 if column.type is MySQLType.DATE else 1.0
    if column.type is MySQLType.NEWDECIMAL or column.type in FLOAT_TYPES:
        unit = 10.0 ** -(2 if column.type in FLOAT_TYPES else column.fraction_digits)
    ends = options.get("range", (-math.inf, math.inf))
    low, high = ((np.datetime64(each, "s").astype(float) if isinstance(each, str) else each) / unit for each in ends)
    ranks = np.arange(1, high - low + 2) if options.get("distribution") == "zipf" else np.ones(1)
    weights = ranks ** -float(options.get("exponent", 1))
    sample: Callable[[], Any] = {
        "normal": lambda: draw.normal(options["mean"], options["deviation"], DRAWN) / unit,
        "lognormal": lambda: draw.lognormal(math.log(options["median"]), options["sigma"], DRAWN) / unit,
        "exponential": lambda: draw.exponential(options["mean"], DRAWN) / unit,
        "uniform": lambda: draw.uniform(low - 0.5, high + 0.5, DRAWN),
        "zipf": lambda: low - 1 + draw.choice(ranks, DRAWN, p=weights / weights.sum()),
    }[options.get("distribution", "uniform")]
    asked, found = np.rint(sample()), numbers_of(column, values)
    assert found is not None
    return apart(what, np.rint(found / unit), asked[(asked >= low) & (asked <= high)])


def of_columns(table: Measured, columns: Model) -> Iterator[Line]:
    for name, options in columns.items():
        where, column, values = f"{table.info.name}.{name}", table.info.column(name), table.inserted[name]
        if "nulls" in options:
            yield share(f"{where} NULL", options["nulls"], values.null_count / len(values), len(values))
        values = values.drop_null()
        if {"range", "distribution", "labels"} & options.keys():
            yield fit(f"{where} distance", column, options, values)
        if "states" in options:
            yield from of_states(table, name, options)


def of_states(table: Measured, name: str, options: Model) -> Iterator[Line]:
    """Compare which states follow a state, and its median stay, of rows that came into it long ago."""
    key = table.rows[table.info.whole_handle_key[0].name]
    visits = pa.table({"key": key, "at": table.commit >> 18, "state": table.rows[name]})
    visits = visits.filter(pc.is_valid(visits["state"])).sort_by([("key", "ascending"), ("at", "ascending")])
    keys, at, states = (each.to_numpy() for each in visits.columns)
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (states[1:] != states[:-1])))
    keys, at, states = keys[first], at[first], states[first]
    until = at.min() + np.ptp(at) * LONG_AGO
    for state, following in options["states"].items():
        left = np.flatnonzero((states[:-1] == state) & (keys[1:] == keys[:-1]) & (at[:-1] < until))
        for after, part in following.items():
            yield share(
                f"{table.info.name}.{name} {state}, {after}", part, (states[left + 1] == after).mean(), len(left)
            )
        after = options["after"][state]
        text = after if isinstance(after, str) else after["median"]
        asked, stay = float(text[:-1]) * {"s": 1, "m": 60}[text[-1]], np.median(at[left + 1] - at[left]) / 1000
        yield Line(f"{table.info.name}.{name} {state} lasts", asked, stay, table.cycle / 2)


def of_children(table: Measured, parent: Measured, children: Model) -> Line:
    """Compare the numbers of children of parents that were inserted long ago."""
    reference = next(each for each in table.own.table.references if each.parent[1] == children["of"])
    links = table.inserted.group_by(list(reference.columns)).aggregate([([], "count_all")])
    old = (parent.op == "c") & (parent.commit < parent.commit[0] + np.ptp(parent.commit) * LONG_AGO)
    born = parent.rows.filter(pa.array(old)).select(reference.parent_columns)
    joined = born.join(links, list(reference.parent_columns), list(reference.columns))["count_all"]
    counts, draw, what = joined.fill_null(0).to_numpy(), np.random.default_rng(1), f"{table.info.name} by parent"
    if children.get("distribution") == "zipf":  # all cycles have the same counts
        every = max(round(len(counts) / parent.slots), 1)
        some = np.sort(counts)[::-1][every // 2 :: every]
        some = some[some >= 8]
        slope = -np.polyfit(np.log(np.arange(len(some)) + 1), np.log(some), 1)[0]
        return Line(f"{what}, exponent", children["exponent"], slope, 0.05 * children["exponent"])
    low, high = children.get("range", [children.get("count", 0)] * 2)
    asked = draw.poisson(children["mean"], DRAWN) if "mean" in children else draw.integers(low, high + 1, DRAWN)
    return apart(f"{what}, distance", counts, asked)


def of_tables(tables: dict[str, Measured], model: Model) -> Iterator[Line]:
    """Compare weights, children, and rates of operations. What rows with states and emptied tables do is not asked."""
    asked = {name: model["tables"].get("*", {}) | model["tables"].get(name, {}) for name in tables}
    weights = {name: own["weight"] for name, own in asked.items() if "weight" in own}
    changes = sum(len(tables[name].op) for name in weights)
    walking = {name for name, own in model["columns"].items() if any("states" in each for each in own.values())}
    for name, own in asked.items():
        table, op = tables[name], Counter(tables[name].op.tolist())
        error = 1 / table.slots + 0.01
        if name in weights:
            part = weights[name] / sum(weights.values())
            yield Line(f"{name} weight", part, len(table.op) / changes, part * error)
        if "children" in own:
            yield of_children(table, tables[own["children"]["of"]], own["children"])
        if "together" in own:
            born, parents = (each.commit[each.op == "c"] for each in (tables[own["together"]], table))
            yield Line(f"{own['together']} inserted together with {name}", 1, np.isin(born, parents).mean(), 0)
        if own and name not in walking and not table.is_emptied:
            updates = own.get("updates", 3)
            yield Line(f"{name} updates", updates, op["u"] / op["c"], error * max(updates, 1))
            if "children" not in own:
                yield Line(f"{name} deletes", own.get("deletes", 0.5), op["d"] / op["c"], error)


def of_trouble(name: str, tables: dict[str, Measured], plan: TrafficPlan) -> Iterator[Line]:
    (schema, model), rows = sources(name), plan.rows or 0
    load, trouble, statements = model["load"], model.get("trouble", {}), [query for _, query in plan.ddl]
    both = np.concatenate([np.stack([each.commit, each.starts]) for each in tables.values()], axis=1)
    _, sizes = np.unique(np.unique(both, axis=1)[0], return_counts=True)
    if not any("together" in own for own in model["tables"].values()) and "multi_row" not in trouble:  # one change each
        asked = load["transaction_size"]
        yield Line("transaction size, or slightly fewer", asked, rows / sizes.sum(), 0.06 * asked)
    if asked := trouble.get("shared_commits"):
        yield Line("shared commits", asked, sizes[sizes > 1].sum() / sizes.sum(), 0.1 * asked)
    if asked := load.get("ddl_rate"):
        yield Line("DDL each second", asked, len(plan.schema_changes) / rows * 1000, 1001 / rows)
    for option, word in (("truncates", "TRUNCATE"), ("drops", "DROP TABLE")):
        if asked := trouble.get(option):
            found = sum(word in each for each in statements) / len(plan.schema_changes)
            yield Line(option, asked, found, 1 / len(plan.schema_changes))
    for table in tables.values() if "extremes" in trouble else ():
        for column in table.info.row_columns:
            if column.type in FLOAT_TYPES and column.name not in model["columns"].get(table.info.name, {}):
                ends = pc.greater(pc.abs(table.inserted[column.name]), 1e30)
                where = f"{table.info.name}.{column.name} at an end"
                yield share(where, trouble["extremes"], pc.mean(ends).as_py(), len(table.inserted))
    for table in tables.values() if "key_updates" in trouble else ():
        if table.own.moves:
            key, is_update = table.info.whole_handle_key[0].name, pa.array(table.op == "u")
            moved = pc.not_equal(*(each[key].filter(is_update) for each in (table.before, table.rows)))
            yield share(f"{table.info.name} key updates", trouble["key_updates"], pc.mean(moved).as_py(), len(moved))
    for table in tables.values():
        yield from of_statements(table, trouble, rows / plan.cycle.size)
    if asked := trouble.get("redelivery"):
        sent = []
        for noise in ({}, {"redelivery": asked}):
            traffic = generate_arrow(schema, rows=30_000, model=model | {"trouble": noise})
            traffic.sink("memory://noise?protocol=canal-json&partition-num=2").write(traffic.changes)
            sent.append(len(messages("noise")))
            clear("noise")
        yield share("redelivery", asked, sent[1] / sent[0] - 1, sent[0], times=5.7)  # 1 to 8 at once


def of_statements(table: Measured, trouble: Model, cycles: float) -> Iterator[Line]:
    """Compare the shares of changes that are in statements of several rows, to what a cycle rounds."""
    name, key = table.info.name, table.info.whole_handle_key[0].name
    of_op = {op: np.flatnonzero(table.op == op) for op in "cud"}

    def keys(image: pa.Table, op: str, column: str) -> list[tuple[int, Any]]:
        return list(zip(table.commit[of_op[op]].tolist(), image[column].take(of_op[op]).to_pylist(), strict=True))

    if "multi_row" in trouble:
        _, at, sizes = np.unique(table.commit, return_inverse=True, return_counts=True)
        found = (sizes[at] > 1)[of_op["u"]]
        yield Line(f"{name} multi-row", trouble["multi_row"], found.mean(), 2 * cycles / len(found))
    if "swaps" in trouble and table.own.traded:
        there, gone = (keys(image, "u", key) for image in (table.rows, table.before))
        before = set(gone)
        swapped = [new in before for old, new in zip(gone, there, strict=True) if old != new]
        yield Line(f"{name} swaps", trouble["swaps"], sum(swapped) / len(there), 3 * cycles / len(there))
    if "replaces" in trouble and table.own.replaced:
        column = min(table.own.replaced)
        gone, there = keys(table.before, "d", column), set(keys(table.rows, "c", column))
        replaced = sum(each in there for each in gone) / len(gone)
        yield Line(f"{name} replaced", trouble["replaces"], replaced, 3 * cycles / len(gone))


def lawless(plan: TrafficPlan) -> Iterator[str]:
    """Yield what is wrong with the rows that the changes leave: keys that rows share, orphans, NULLs, checks."""
    left = {}
    for each in plan.tables:
        numbers = np.arange(plan.cycle.count(each.number, plan.rows or 0))
        left[each.info.full_name] = pa.table(each.final(numbers, plan.rows or 0, len(plan.ddl)))
    for table in source_tables(catalog_from_sql(plan.schema), None, Refusals()):
        name, values = table.info.full_name, left[table.info.full_name]
        for key in table.unique_keys:
            some = values.select(list(key.columns)).drop_null()
            if some.group_by(list(key.columns)).aggregate([]).num_rows < some.num_rows:
                yield f"{name}: rows share {key.name}"
        for link in table.references:
            some, parents = values.select(list(link.columns)).drop_null(), left[".".join(link.parent)]
            if some.join(parents, list(link.columns), list(link.parent_columns), "left anti").num_rows:
                yield f"{name}: orphans of {link.name}"
        for column in table.info.row_columns:
            if not column.nullable and values[column.name].null_count:
                yield f"{name}.{column.name} is NULL"
        if check := CHECKS.get(name):
            columns = {each: numbers_of(table.info.column(each), values[each]) for each in re.findall("[a-z]+", check)}
            if not np.all(eval(check, {}, columns)):
                yield f"{name}: {check}"


def unequal(name: str, rows: int) -> Iterator[str]:
    """Yield the protocols over which the reference consumer gets other tables than those of the history."""
    schema, model = sources(name)
    plan = plan_traffic(schema, Settings(rows, seed=1, model=read_model(model)))
    made = [row for batch in plan.changes(np.arange(rows)) for row in batch.to_pylist()]
    for row in made:
        row |= {which: None if row[which] is None else dict(row[which]) for which in ("before", "after")}
    history = History(plan.schema, made, plan.ddl)
    for protocol in ("canal-json&enable-tidb-extension=true", "simple"):
        config = load_changefeed(f"memory://x?protocol={protocol}&partition-num=3")
        consumer = ReferenceConsumer(config, history.catalog(), partitions=3)
        consumer.take_all(history.messages(config))
        consumer.finish()
        if consumer.tables != history.tables():
            yield f"tables over {protocol}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("schemas", nargs="*", default=SCHEMAS)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--consumed", type=int, default=30_000)
    given = arguments.parse_args()
    for name in given.schemas:
        schema, model = sources(name)
        size = plan_traffic(schema, Settings(1, seed=1, model=read_model(model))).cycle.size
        plan = plan_traffic(schema, Settings(given.rows // size * size, seed=1, model=read_model(model)))
        begun = time.process_time()
        tables = {each.info.name: Measured(plan, each) for each in plan.tables}
        print(f"{name}: {plan.rows:,} changes, {(plan.rows or 0) / (time.process_time() - begun):,.0f} in a CPU-second")
        lines = [*of_tables(tables, model), *of_trouble(name, tables, plan)]
        lines += [line for table, own in model["columns"].items() for line in of_columns(tables[table], own)]
        for line in lines:
            is_met = abs(line.asked - line.measured) <= line.error
            print("  {:<44} {:9.4f} {:9.4f} +-{:.4f}".format(*line), "" if is_met else " NOT MET")
        print(f"  wrong: {[*lawless(plan), *unequal(name, given.consumed)] or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
