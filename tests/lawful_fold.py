"""A database that obeys its constraints: row changes in commit order go in, what they violate comes out.

Spark-free and without the library's own folding: a dictionary per table. Foreign keys are checked at the end of each
transaction; values of unique keys must be of one row for ever, as docs/traffic.md says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from ticdc_emit.traffic.generate.tables import Name, SourceTable

Row = dict[str, Any]


def violations(tables: Iterable[SourceTable], changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with changes that have ``schema``, ``table``, ``op``, ``commit_ts`` and images."""
    known = {table.name: table for table in tables}
    rows: dict[Name, dict[tuple[Any, ...], Row]] = {name: {} for name in known}
    owners: dict[tuple[Name, str], dict[tuple[Any, ...], Any]] = defaultdict(dict)
    found: list[str] = []
    for stamp, transaction in groupby(sorted(changes, key=_stamp), key=_stamp):
        touched = set()
        for change in transaction:
            name = (change["schema"], change["table"])
            key = _apply(known[name], rows[name], change, found)
            if (name, key) in touched:
                found.append(f"{name} {key}: two changes at {stamp}")
            touched.add((name, key))
            found += _shared(known[name], key, change["after"], owners)
        for table in known.values():
            for reference in table.references:
                found += _orphans(table.name, reference, rows)
    return found


def _stamp(change: Mapping[str, Any]) -> int:
    return int(change["commit_ts"])


def _key(table: SourceTable, image: Row) -> tuple[Any, ...]:
    return tuple(image[column.name] for column in table.info.whole_handle_key)


def _apply(table: SourceTable, rows: dict[tuple[Any, ...], Row], change: Mapping[str, Any], found: list[str]) -> Any:
    op, before, after = change["op"], change["before"], change["after"]
    if (before is None) != (op == "c") or (after is None) != (op == "d"):
        found.append(f"{table.name} {op} at {change['commit_ts']}: wrong images")
        return None
    key = _key(table, after or before)
    if op == "c" and key in rows:
        found.append(f"{table.name} {key}: inserted twice")
    if op != "c" and rows.get(key) != before:
        found.append(f"{table.name} {key}: {before} before, there was {rows.get(key)}")
    if op == "u" and _key(table, before) != key:
        found.append(f"{table.name} {key}: the key changed")
    if op == "d":
        rows.pop(key, None)
    else:
        rows[key] = after
        found += [f"{table.name} {key}: {c.name} is NULL" for c in table.info.row_columns if _wrongly_null(c, after)]
    return key


def _wrongly_null(column: Any, image: Row) -> bool:
    return not column.nullable and image[column.name] is None


def _orphans(name: Name, reference: Any, rows: Mapping[Name, Any]) -> list[str]:
    parents = {tuple(row[column] for column in reference.parent_columns) for row in rows[reference.parent].values()}
    wanted = (tuple(row[column] for column in reference.columns) for row in rows[name].values())
    return [f"{name} refers to {value}" for value in wanted if None not in value and value not in parents]


def _shared(table: SourceTable, row: Any, after: Row | None, owners: Mapping[Any, dict[Any, Any]]) -> list[str]:
    """Return values of unique keys that another row has, or had; NULL is nobody's."""
    found = []
    for key in table.unique_keys if after is not None else ():
        value = tuple(after[column] for column in key.columns)
        if None not in value and owners[table.name, key.name].setdefault(value, row) != row:
            found.append(f"{table.name}: {key.name} {value} is of two rows")
    return found
