"""Statements per CPU-second of the catalog and of ``restore_ddl``, and planning a changefeed of 10,000 tables.

    python tests/scale/statements.py [--against TREE] [--rounds 3]

prints a line for each figure. With ``--against`` (another checkout of this repository) the two trees take turns in
processes of their own, and the ratio of their medians is printed. The statements are those of ``tests/vectors``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

TREE = Path(__file__).parents[2]
TABLES = 10_000
COLUMNS = 12


def cases(most: int | None = None) -> list[list[str]]:
    """The DDL of each vector of codecs, in order, of ``most`` of them."""
    sys.path.insert(0, str(TREE / "tests"))
    from vector_files import load_vector, vector_names

    found = []
    for name in vector_names()[:most]:
        events = load_vector(name).get("events", ())
        found.append([event["query"] for event in events if event["kind"] == "ddl"])
    return [queries for queries in found if queries]


def definitions(count: int) -> str:
    """A script of ``count`` tables, each of several types and keys."""
    kinds = ("bigint unsigned", "varchar(255)", "decimal(20,4)", "datetime(3)", "json", "int not null default 0")
    columns = ", ".join(
        f"c{number} {kinds[number % len(kinds)]} comment 'column {number}'" for number in range(COLUMNS)
    )
    body = f"(id bigint primary key auto_increment, {columns}, key k (c0, c1), unique key u (c5))"
    return ";\n".join(f"create table t{number} {body} engine=InnoDB default charset=utf8mb4" for number in range(count))


def catalog_of(histories: list[list[str]]) -> int:
    from ticdc_emit.errors import SchemaError
    from ticdc_emit.schema.catalog import Catalog

    for queries in histories:
        catalog = Catalog()
        for query in queries:
            with suppress(SchemaError):
                catalog.apply(query)
    return sum(map(len, histories))


def restored(histories: list[list[str]]) -> int:
    from ticdc_emit import restore_ddl
    from ticdc_emit.errors import SchemaError

    for queries in histories:
        for query in queries:
            with suppress(SchemaError):
                restore_ddl(query)
    return sum(map(len, histories))


def planned(script: str) -> int:
    from ticdc_emit import Encoder

    return len(Encoder("memory://plan/?protocol=canal-json", script).catalog.tables())


def timed(work: Callable[[], int]) -> float:
    """Return how many statements or tables are done in a CPU-second."""
    before = time.process_time()
    count = work()
    return count / (time.process_time() - before)


def figures() -> Iterator[tuple[str, float]]:
    """Measure the tree that is imported."""
    import ticdc_emit

    histories, script = cases(), definitions(TABLES)
    catalog_of(histories[:5])
    yield "catalog, statements/CPU-s", timed(lambda: catalog_of(histories))
    if hasattr(ticdc_emit, "restore_ddl"):
        restored(histories[:5])
        yield "restore_ddl, statements/CPU-s", timed(lambda: restored(histories))
    yield f"planning {TABLES} tables, tables/CPU-s", timed(lambda: planned(script))


def measured(tree: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"}
    child = [sys.executable, __file__, "--child"]
    out = subprocess.run(child, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=tree)
    return json.loads(out.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="a checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(dict(figures())))
        return
    trees = [TREE, *([options.against.resolve()] if options.against else [])]
    rounds = [[measured(tree) for tree in trees] for _ in range(options.rounds)]
    for name in rounds[0][0]:
        here = statistics.median(tree[0][name] for tree in rounds)
        line = f"{name}: {here:,.0f}"
        if options.against and name in rounds[0][1]:
            there = statistics.median(tree[1][name] for tree in rounds)
            line += f", {there:,.0f} there, ratio {here / there:.2f}"
        print(line)


if __name__ == "__main__":
    main()
