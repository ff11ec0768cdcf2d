"""A small history that still fails, out of a large one: whole parts are left out, then single ones.

In: a history, and what says whether one fails. Out: the smallest that was found in the time given.

Hypothesis makes examples smaller by how they were drawn. A history has parts that say more: its tables, the lives of
rows, statements, columns. Of each kind all but one are left out, then half, a quarter, down to one (delta
debugging), so a failure that needs one row of eight tables is found in some dozens of tries. What is left is still a
history that TiCDC could send: where a change is left out, the next one of its row begins where it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ticdc_emit.changes.model import Op
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.sql.nodes.base import Style
from ticdc_emit.sql.script import split_statements
from ticdc_emit.traffic.history import History, tables_of

_Change: TypeAlias = Mapping[str, Any]
_Cut: TypeAlias = "tuple[Callable[[History], Sequence[Any]], Callable[[History, Sequence[Any]], History]]"

_IMAGES = ("before", "after")
_READABLE = Style(upper=True, spaced=True, qualified=False, sent=False, introduced=False)


def smaller(history: History, fails: Callable[[History], bool], *, seconds: float) -> History:
    """Return the smallest history that was found to fail, which may be ``history`` itself.

    ``fails``: called with valid histories, none of them twice, until ``seconds`` are over. A value may not fit its
    column any more, where a MODIFY COLUMN is gone: encoding then raises another error than the one that is looked for.
    """
    ends, tried, keyed = time.monotonic() + seconds, {history.to_json()}, _has_keys(history)

    def is_one(candidate: History) -> bool:
        text = candidate.to_json()
        is_new = text not in tried
        tried.add(text)
        return is_new and _is_valid(candidate, keyed=keyed) and fails(candidate)

    while time.monotonic() <= ends:
        before = history
        for cut in _CUTS:
            history = _reduced(history, cut, is_one, ends)
        if history == before:
            break
    return history


def _is_valid(history: History, *, keyed: bool) -> bool:
    """Return whether rows fit tables and each other; ``keyed``: and every table has a handle key."""
    try:
        history.tables()
        rows = [(row, history.table_at(row["schema"], row["table"], row["commit_ts"])) for row in history.rows]
        must = ((row, column.name) for row, info in rows for column in info.columns if not column.nullable)
        lacks = any((row.get("after") or {}).get(name, "") is None for row, name in must)
        return not lacks and (not keyed or _has_keys(history))
    except (TicdcEmitError, KeyError):  # something else needs what was left out
        return False


def _has_keys(history: History) -> bool:
    """Return whether every table has a handle key: at the beginning, where it has rows, and at the end."""
    infos = [info for info in history.catalog().tables() if not info.is_view]
    infos += [history.table_at(row["schema"], row["table"], row["commit_ts"]) for row in history.rows]
    return all([*history.keys().values(), *(info.handle_key_names for info in infos)])


def _reduced(history: History, cut: _Cut, is_one: Callable[[History], bool], ends: float) -> History:
    """Leave out parts of one kind: in runs of all but one, of half, …, of one."""
    parts_of, without = cut
    parts = parts_of(history)
    size = len(parts) - 1 or 1
    while parts and size:
        start = 0
        while start < len(parts) and time.monotonic() <= ends:
            candidate = without(history, parts[start : start + size])
            if is_one(candidate):
                history, parts = candidate, parts_of(candidate)
            else:
                start += size
        size //= 2
    return history


# -- changes ---------------------------------------------------------------------------------------------------------


def _groups(names: Sequence[Any]) -> list[list[int]]:
    """Return the positions of rows by what they have in common, the latest first: what fails is often early."""
    groups: dict[Any, list[int]] = {}
    for number in reversed(range(len(names))):
        groups.setdefault(names[number], []).append(number)
    return list(groups.values())


def _lives(history: History) -> list[int]:
    """Return for each change the number of its row's life: an update of the key goes on with it."""
    keys, lives = history.keys(), [0] * len(history.rows)
    found: dict[Any, int] = {}
    for number in _in_order(history):
        row = history.rows[number]
        key = keys.get((row["schema"], row["table"]), ())
        before, after = (
            image and (row["schema"], row["table"], *(str(image.get(name)) for name in key or sorted(image)))
            for image in (row.get("before"), row.get("after"))
        )
        lives[number] = found.pop(before, number)
        found[after or before] = lives[number]
    return lives


def _in_order(history: History) -> list[int]:
    def place(number: int) -> tuple[int, int, bool]:
        row = history.rows[number]
        return row["commit_ts"], row.get("seq") or 0, row.get("before") is None  # a key is given up before it is taken

    return sorted(range(len(history.rows)), key=place)


def _without_changes(history: History, groups: Sequence[Collection[int]]) -> History:
    gone = {number for group in groups for number in group}
    lives = _lives(history)
    kept: dict[int, _Change] = {}
    begins: dict[int, Any] = {}  # by life: the image before what was left out of it
    for number in _in_order(history):
        row, life = history.rows[number], lives[number]
        before = begins.pop(life, row.get("before"))
        if number in gone:
            begins[life] = before
        elif before is not None or row.get("after") is not None:
            op = Op.INSERT if before is None else Op.DELETE if row.get("after") is None else Op.UPDATE
            kept[number] = {**row, "op": op.value, "before": before}
    return replace(history, rows=[kept[number] for number in sorted(kept)])


def _without_seq(history: History, _: Sequence[str]) -> History:
    return replace(history, rows=[{name: row[name] for name in row if name != "seq"} for row in history.rows])


# -- statements, tables, and their columns ---------------------------------------------------------------------------


def _without_statements(history: History, gone: Sequence[Any]) -> History:
    return replace(history, ddl=tuple(each for each in history.ddl if each not in gone))


def _without_tables(history: History, gone: Sequence[str]) -> History:
    return replace(history, schema=";\n".join(each for each in split_statements(history.schema) if each not in gone))


def _elements(history: History) -> list[tuple[int, Any]]:
    tables = [(number, node) for number, (_, node) in enumerate(tables_of(history.schema)) if node is not None]
    return [(number, each) for number, node in tables for each in (*node.constraints, *reversed(node.columns))]


def _without_elements(history: History, gone: Sequence[tuple[int, Any]]) -> History:
    statements, dropped = [], set()
    for number, (text, node) in enumerate(tables_of(history.schema)):
        mine = [each for own, each in gone if own == number]
        if node is not None and mine:
            columns = tuple(each for each in node.columns if each not in mine)
            constraints = tuple(each for each in node.constraints if each not in mine)
            text = replace(node, columns=columns, constraints=constraints).restore(_READABLE)
            dropped |= {(node.table.name, each.name) for each in node.columns if each not in columns}
        statements.append(text)

    def kept(table: str, image: Mapping[str, Any] | None) -> Any:
        return image and {name: text for name, text in image.items() if (table, name) not in dropped}

    rows = [{**row, **{which: kept(row["table"], row.get(which)) for which in _IMAGES}} for row in history.rows]
    return replace(history, schema=";\n".join(statements), rows=rows)


_CUTS: tuple[_Cut, ...] = (
    (lambda history: _groups([(row["schema"], row["table"]) for row in history.rows]), _without_changes),
    (lambda history: history.ddl[::-1], _without_statements),
    (lambda history: split_statements(history.schema), _without_tables),
    (lambda history: _groups(_lives(history)), _without_changes),
    (lambda history: _groups(range(len(history.rows))), _without_changes),
    (lambda history: ["seq"], _without_seq),
    (_elements, _without_elements),
)
