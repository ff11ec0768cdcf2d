"""Histories as change scripts of SQL, and back. What SQL does not know (the TSO of each commit, the order of changes
inside a transaction, an update that changes nothing) stands in comments, which ``database/session.py`` reads.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from ticdc_emit.changes.attributes import ATTRIBUTES, START_TS
from ticdc_emit.changes.model import Op
from ticdc_emit.database.session import DEFAULT_START, Session
from ticdc_emit.database.tables import Database
from ticdc_emit.database.transaction import AppliedDdl, Transaction
from ticdc_emit.database.update import differs
from ticdc_emit.errors import HistoryError, TicdcEmitError
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql.types import CALENDAR_TYPES, FLOAT_TYPES, STRING_TYPES, WHOLE_TYPES, ColumnFlag, MySQLType
from ticdc_emit.sql.words import RESERVED_WORDS, quoted, string_literal

Ddl: TypeAlias = "tuple[int, str] | tuple[int, str, str]"
"""commit_ts and statement, and its current database if that is not the one of all tables."""

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_ESCAPES = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"})
_NUMBERS = WHOLE_TYPES | FLOAT_TYPES | {MySQLType.NEWDECIMAL}
_LONGEST_NUMBER = 60
_SQL_MODE = "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO"  # with dates of zero
_ORDER = {Op.DELETE: 0, Op.UPDATE: 1, Op.INSERT: 2}


def run_script(
    sql: str, catalog: Catalog, time_zone: str, start: int = DEFAULT_START
) -> tuple[list[Mapping[str, Any]], list[Ddl]]:
    """Execute a script over empty tables, the first statement at TSO ``start``; return its row changes and its DDL.
    What is not committed at the end is lost. Raises what :meth:`~ticdc_emit.database.session.Session.run` does.
    """
    database = current_database(None, catalog)
    session = Session(Database(catalog, time_zone), start=start)
    rows: list[Mapping[str, Any]] = []
    ddl: list[Ddl] = []
    failures: list[TicdcEmitError] = []
    for result in session.run(sql, failures):
        for each in result.committed:
            if isinstance(each, Transaction):
                rows += each.changes
            elif isinstance(each, AppliedDdl):
                own = each.schema == database
                ddl.append((each.commit_ts, each.query) if own else (each.commit_ts, each.query, each.schema))
    if failures:
        first, *others = failures
        first.others = others
        raise first
    return rows, ddl


# -- a history as SQL --------------------------------------------------------------------------------------------------


def script_of(rows: Sequence[Mapping[str, Any]], ddl: Iterable[Ddl], catalog: Catalog) -> str:
    """Return a history's statements, one a line; ``rows`` are canonical, ``catalog`` is changed. Raises
    :class:`~ticdc_emit.errors.HistoryError` for rows without a key, with a checksum, or with the id of a partition.
    """
    default = current_database(None, catalog)
    statements = sorted(ddl, key=lambda each: each[0])
    for commit_ts, query, *schema in statements:
        catalog.apply(query, schema=schema[0] if schema else default, commit_ts=commit_ts)
    lines: list[tuple[int, int, list[str]]] = []
    database = default
    for commit_ts, query, *schema in statements:
        wanted = schema[0] if schema else default
        use = [] if wanted == database else [f"USE {quoted(wanted)};"]
        database = wanted
        lines.append((commit_ts, 1, [*use, f"{_facts(commit_ts=commit_ts)} {query.strip().rstrip(';')};"]))
    has_seq = any(row.get("seq") is not None for row in rows)
    needs_mode = False
    for (commit_ts, start_ts), own in groupby(sorted(rows, key=_transaction), key=_transaction):
        changes = list(own)
        lines.append((commit_ts, 0, list(_transaction_lines(changes, commit_ts, start_ts, catalog, has_seq=has_seq))))
        needs_mode = needs_mode or any(_has_zeros(change, catalog, commit_ts) for change in changes)
    mode = [f"SET sql_mode = '{_SQL_MODE}';"] if needs_mode else []
    keys = ["SET foreign_key_checks = 0;"] if any(state.foreign_keys for state in catalog.states()) else []
    ordered = sorted(lines, key=lambda each: each[:2])
    return "".join(f"{line}\n" for line in (*mode, *keys, *(line for *_, own in ordered for line in own)))


def _transaction(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["commit_ts"], row.get(START_TS) or 0


def _facts(**facts: int | None) -> str:
    given = " ".join(f"{name}={number}" for name, number in facts.items() if number is not None)
    return f"/* ticdc-emit: {given} */"


def _transaction_lines(
    changes: list[Mapping[str, Any]], commit_ts: int, start_ts: int, catalog: Catalog, *, has_seq: bool
) -> Iterator[str]:
    if has_seq and len(changes) > 1:
        least = min((change["seq"] for change in changes if change.get("seq") is not None), default=1)
        changes = [{**change, "seq": least - 1} if change.get("seq") is None else change for change in changes]
    changes = sorted(changes, key=lambda change: (change.get("seq") or 0, _ORDER[_op(change)]))
    stamps = {"commit_ts": commit_ts, "start_ts": start_ts or None}
    is_alone = len(changes) == 1
    if not is_alone:
        yield "BEGIN;"
    for change in changes:
        _check(change)
        info = catalog.at(change["schema"], change["table"], commit_ts - 1)
        facts = {"seq": change.get("seq"), "unchanged": 1 if _is_unchanged(change, info) else None}
        facts = {**(stamps if is_alone else {}), **facts}
        given = any(number is not None for number in facts.values())
        yield f"{_facts(**facts) + ' ' if given else ''}{_statement(change, info)};"
    if not is_alone:
        yield f"{_facts(commit_ts=commit_ts, start_ts=start_ts or commit_ts - 1)} COMMIT;"


def _check(change: Mapping[str, Any]) -> None:
    beyond = [name for name in ATTRIBUTES if name != START_TS and change.get(name) is not None]
    if beyond:
        raise HistoryError(
            f"SQL does not give the {beyond[0]} of a row change",
            remedy=f"Leave {beyond[0]} out",
            table=f"{change['schema']}.{change['table']}",
            commit_ts=change["commit_ts"],
        )


def _op(change: Mapping[str, Any]) -> Op:
    op = Op.parse(change["op"])
    assert op is not None
    return op


def _is_unchanged(change: Mapping[str, Any], info: TableInfo) -> bool:
    if _op(change) is not Op.UPDATE:
        return False
    before, after = change["before"], change["after"]
    return not any(differs(column, before[column.name], after[column.name]) for column in info.row_columns)


def _has_zeros(change: Mapping[str, Any], catalog: Catalog, commit_ts: int) -> bool:
    info = catalog.at(change["schema"], change["table"], commit_ts - 1)
    after = change.get("after") or {}
    for column in info.row_columns:
        text = after.get(column.name)
        if text is not None and _has_zero_part(column, text):
            return True
        if text == "0" and column.flags & ColumnFlag.AUTO_INCREMENT:
            return True
    return False


# -- one change --------------------------------------------------------------------------------------------------------


def _statement(change: Mapping[str, Any], info: TableInfo) -> str:
    op = _op(change)
    before: Row = change.get("before") or {}
    after: Row = change.get("after") or {}
    table = f"{_name(info.schema)}.{_name(info.name)}"
    if op is Op.DELETE:
        return f"DELETE FROM {table} WHERE {_condition(info, before, change)}"
    if op is Op.UPDATE:
        return f"UPDATE {table} SET {_assigned(info, before, after)} WHERE {_condition(info, before, change)}"
    columns = [column for column in info.row_columns if not column.generated]
    names = "" if len(columns) == len(info.columns) else f" ({', '.join(_name(column.name) for column in columns)})"
    values = ", ".join(literal(column, after[column.name]) for column in columns)
    return f"INSERT INTO {table}{names} VALUES ({values})"


def _assigned(info: TableInfo, before: Row, after: Row) -> str:
    """Return the assignments of an UPDATE: columns that differ, and those that would change by themselves."""
    columns = [column for column in info.row_columns if not column.generated]
    changed = [
        column
        for column in columns
        if before[column.name] != after[column.name] or column.flags & ColumnFlag.ON_UPDATE_NOW
    ]
    return ", ".join(f"{_name(each.name)} = {literal(each, after[each.name])}" for each in changed or columns[:1])


def _condition(info: TableInfo, row: Row, change: Mapping[str, Any]) -> str:
    if not info.whole_handle_key:
        raise HistoryError(
            "SQL cannot name a row of a table without a primary or unique key",
            remedy="Give the table a primary key",
            table=info.full_name,
            commit_ts=change["commit_ts"],
        )
    return " AND ".join(_equal(column, row[column.name]) for column in info.whole_handle_key)


def _equal(column: Column, text: str | None) -> str:
    if text is not None and (column.type is MySQLType.FLOAT or _has_zero_part(column, text)):
        # a FLOAT is not equal to its own digits, and an SQL mode may refuse a month or day of zero
        return f"CAST({_name(column.name)} AS CHAR) = {string_literal(text)}"
    return f"{_name(column.name)} = {literal(column, text)}"


def _has_zero_part(column: Column, text: str) -> bool:
    return column.type in CALENDAR_TYPES and (text.startswith("0000-") or "-00" in text[:10])


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED_WORDS else quoted(name)


def literal(column: Column, text: str | None) -> str:
    """Return a value in canonical text as a literal of SQL, which the column holds as that value."""
    if text is None:
        return "NULL"
    if column.type in _NUMBERS and len(text) <= _LONGEST_NUMBER and text != "-0":
        return text
    if column.type in STRING_TYPES and column.is_binary:
        raw = base64.b64decode(text)
        return f"x'{raw.hex()}'" if raw else "''"
    return f"'{text.translate(_ESCAPES)}'"
