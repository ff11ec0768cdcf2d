"""The rows that real consumers read for the cookbook, and the tables that they must end up with.

Out: DDL, row changes in the generic form (docs/types.md: images in canonical text) and the final tables, which are kept
while the changes are drawn and never read from messages. Three tables: ``kinds`` has a column of nearly every type and
values at the ends of each; ``orders`` and ``lines`` change together in transactions, move keys, and get columns between
their rows. One seed, so that the figures of the cookbook are the same each night.
"""

from __future__ import annotations

import random
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATABASE = "shop"
TIME_ZONE = "Europe/Berlin"
_FIRST_TSO = 450_000_000_262_144_000
_MS = 1 << 18
_STEPS = 1_500
_SEED = 19

Row = dict[str, str | None]
Key = tuple[str | None, ...]

SCHEMA = (Path(__file__).parents[3] / "examples/cookbook.sql").read_text(encoding="utf-8")

COLUMNS: dict[str, dict[str, str]] = {
    table: dict(re.findall(r"^  (?!primary)(\w+) (.+),$", body, re.MULTILINE))
    for table, body in re.findall(r"^create table shop\.(\w+) \((.+?)^\);", SCHEMA, re.MULTILINE | re.DOTALL)
}
"""The columns of each table before the first change, with their types."""

ADDED = {
    "orders": {"channel": ("varchar(10)", None), "points": ("int not null default 5", "5")},
    "lines": {"discount": ("decimal(6,2) not null default 1.50", "1.50")},
}
"""The columns that ADD COLUMN adds between the changes: type, and what a row has that was written before."""

KEYS = {"kinds": ("id",), "orders": ("id",), "lines": ("order_id", "sku")}

_ADDED_AT = {"channel": 500, "points": 800, "discount": 1_000}


def _base64(content: bytes) -> str:
    return b64encode(content).decode()


_ENDS: dict[str, tuple[str, ...]] = {
    "tiny": ("-128", "127", "0"),
    "count": ("0", "4294967295"),
    "big": ("-9223372036854775808", "9223372036854775807"),
    "huge": ("0", "9223372036854775807", "18446744073709551615"),
    "flag": ("0", "1"),
    "bits": ("0", "1", "258", "4095"),
    "price": ("-9999999999.9999", "9999999999.9999", "0.0000", "0.1000"),
    "wide": ("9999999999999999999999999999.9999999999", "-0.0000000001"),
    "ratio": ("0", "0.1", "-1.5", "16777216"),
    "mass": ("0", "0.1", "-2.5", "123456789.125", "0.000001"),
    "name": ("", "null", "né à Łódź", 'a "quoted" \\ word', "𝄞 <&>", "two\nlines\tand a tab"),
    "code": ("", "abc", "Łódź"),
    "body": ("", "x" * 3000, "'; -- not a comment", "\x01\x7f"),
    "raw": ("", _base64(b"\x00\x01\xfe\xff"), _base64(bytes(range(120, 140)))),
    "day": ("1000-01-01", "9999-12-31", "1970-01-01", "1969-12-31", "2024-02-29"),
    "at": ("1000-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.000001"),
    "seen": ("1970-01-01 01:00:01.000", "2038-01-19 04:14:07.999", "2024-07-01 12:00:00.120"),
    "clock": ("-838:59:59.000", "838:59:59.000", "00:00:00.001", "12:34:56.500"),
    "born": ("1901", "2155", "2024"),
    "state": ("new", "paid", "it's"),
    "tags": ("", "a", "a,c", "a,b,c"),
    "doc": ('{"a": 1, "b": [1, null, "x"]}', "[]", '"text"', "null", "1.5"),
}


@dataclass(frozen=True)
class DataSet:
    """``rows``: changes in the generic form, in commit order. ``ddl``: (commit_ts, statement)."""

    schema: str
    rows: tuple[Mapping[str, Any], ...]
    ddl: tuple[tuple[int, str], ...]
    _written: Mapping[str, Mapping[Key, Row]] = field(repr=False)

    def tables(self, *, defaults: bool = True) -> dict[str, dict[Key, Row]]:
        """Return the final rows of each table by key, in canonical text.

        A row that was last written before ADD COLUMN has the column's default, as in TiDB. With ``defaults=False`` it
        has None, as for a consumer that reads no DDL and no schema.
        """
        return {
            table: {
                key: {**{name: old if defaults else None for name, (_, old) in ADDED.get(table, {}).items()}, **row}
                for key, row in rows.items()
            }
            for table, rows in self._written.items()
        }


def data_set() -> DataSet:
    """Draw the changes; the same each time."""
    return _Drawing().whole()


class _Drawing:
    def __init__(self) -> None:
        self._chance = random.Random(_SEED)
        self._rows: list[Mapping[str, Any]] = []
        self._ddl: list[tuple[int, str]] = []
        self._tables: dict[str, dict[Key, Row]] = {table: {} for table in COLUMNS}
        self._columns = {table: list(columns) for table, columns in COLUMNS.items()}
        self._stamp = _FIRST_TSO
        self._kinds = 0

    def whole(self) -> DataSet:
        for step in range(_STEPS):
            self._stamp += self._chance.randint(1, 40) * _MS
            for table, added in ADDED.items():
                for name, (kind, _) in added.items():
                    if _ADDED_AT[name] == step:
                        self._ddl.append((self._stamp, f"alter table {DATABASE}.{table} add column {name} {kind}"))
                        self._columns[table].append(name)
                        self._stamp += _MS
            self._kind_of_row() if step % 3 == 0 else self._transaction()
        return DataSet(SCHEMA, tuple(self._rows), tuple(self._ddl), self._tables)

    def _change(self, table: str, old: Key | None, row: Row | None) -> None:
        """Record a change: an insert without ``old``, a delete without ``row``, else an update of one or the key."""
        rows = self._tables[table]
        before = None
        if old is not None:
            defaults = {name: ADDED[table][name][1] for name in self._columns[table] if name not in COLUMNS[table]}
            before = {**defaults, **rows[old]}
            if row == before:
                return  # TiDB writes nothing either
            del rows[old]
        self._rows.append(
            {
                "schema": DATABASE,
                "table": table,
                "op": "u" if before and row else "c" if row else "d",
                "commit_ts": self._stamp,
                "before": before,
                "after": None if row is None else dict(row),
            }
        )
        if row is not None:
            rows[tuple(row[name] for name in KEYS[table])] = dict(row)

    def _kind_of_row(self) -> None:
        old = self._some("kinds", 0.5 if self._kinds > 40 else 0)
        if old is not None and self._chance.random() < 0.3:
            return self._change("kinds", old, None)
        row: Row = {"id": str(self._kinds * 7_919 - 1_000) if old is None else old[0]}
        for name, ends in _ENDS.items():
            place = self._kinds % (len(ends) + 1)
            row[name] = [*ends, None][place] if old is None else self._chance.choice([*ends, None])
        self._kinds += old is None
        return self._change("kinds", old, row)

    def _transaction(self) -> None:
        """An order and some of its lines, with one commit_ts: new, changed, moved to another key, or gone."""
        old = self._some("orders", 0.6)
        what = "new" if old is None else self._chance.choice(["changed", "changed", "changed", "moved", "gone"])
        number = old[0] if old is not None and what != "moved" else str(len(self._rows) + 10_000)
        lines = [key for key in self._tables["lines"] if old is not None and key[0] == old[0]]
        self._change("orders", old, None if what == "gone" else self._order(str(number)))
        for line in lines:
            row = dict(self._tables["lines"][line]) | {"order_id": number}
            if what == "gone":
                self._change("lines", line, None)
            elif what == "moved" or self._chance.random() < 0.5:
                self._change("lines", line, self._with_added("lines", row | {"pieces": str(len(self._rows) % 90 + 1)}))
        if what == "new":
            for place in range(self._chance.randint(1, 3)):
                row = {"order_id": number, "sku": f"SKU-{place}-é", "pieces": str(place + 1)}
                self._change("lines", None, self._with_added("lines", row))

    def _order(self, number: str) -> Row:
        place = len(self._rows)
        row: Row = {
            "id": number,
            "customer": f"customer {place % 37}",
            "total": f"{self._chance.randint(0, 99_999_999) / 100:.2f}",
            "note": self._chance.choice([None, "plain", 'a "note"', "ünïcode"]),
            "placed": f"2024-03-{place % 28 + 1:02} 0{place % 10}:30:00",
        }
        return self._with_added("orders", row)

    def _with_added(self, table: str, row: Row) -> Row:
        values: dict[str, Callable[[], str | None]] = {
            "channel": lambda: self._chance.choice(["web", "app", None]),
            "points": lambda: str(self._chance.randint(0, 100)),
            "discount": lambda: f"{self._chance.randint(0, 999) / 100:.2f}",
        }
        return row | {name: values[name]() for name in self._columns[table] if name in values}

    def _some(self, table: str, share: float) -> Key | None:
        """Return the key of a row that is there, in ``share`` of all cases."""
        rows = self._tables[table]
        return self._chance.choice(list(rows)) if rows and self._chance.random() < share else None
