"""Statements per CPU-second of the catalog and of ``restore_ddl``, and planning a changefeed of 10,000 tables.

    python tests/scale/statements.py

prints a line for each figure. The statements are those of ``tests/vectors``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path

from ticdc_emit import Encoder, restore_ddl
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.catalog import Catalog

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
    for queries in histories:
        catalog = Catalog()
        for query in queries:
            with suppress(SchemaError):
                catalog.apply(query)
    return sum(map(len, histories))


def restored(histories: list[list[str]]) -> int:
    for query in chain.from_iterable(histories):
        with suppress(SchemaError):
            restore_ddl(query)
    return sum(map(len, histories))


def planned(script: str) -> int:
    return len(Encoder("memory://plan/?protocol=canal-json", script).catalog.tables())


def timed(work: Callable[[], int]) -> float:
    """Return how many statements or tables are done in a CPU-second."""
    before = time.process_time()
    count = work()
    return count / (time.process_time() - before)


def main() -> None:
    histories, script = cases(), definitions(TABLES)
    catalog_of(histories[:5])
    restored(histories[:5])
    print(f"catalog, statements/CPU-s: {timed(lambda: catalog_of(histories)):,.0f}")
    print(f"restore_ddl, statements/CPU-s: {timed(lambda: restored(histories)):,.0f}")
    print(f"planning {TABLES} tables, tables/CPU-s: {timed(lambda: planned(script)):,.0f}")


if __name__ == "__main__":
    main()
