"""DDL with times: read from a file, and what statements mean for rows that are older than they.

The file is SQL with comments that give the time of the following statements, ISO time with an offset, ``Z`` or ``UTC``,
or a TSO; statements of one moment are one logical tick apart:

    -- at 2026-01-05T08:00:00Z
    ALTER TABLE shop.orders ADD COLUMN tip decimal(8,2) NOT NULL DEFAULT 0;

A comment line that begins with ``at`` and has no valid moment is refused: its statements would get the previous time.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import DdlError, SchemaError, UnknownTableError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.plan.ddl import ddl_statements
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.model import TableInfo, schema_and_name
from ticdc_emit.schema.row_versions import value_of_old_rows
from ticdc_emit.spark.functions import F, T
from ticdc_emit.spark.row_changes import Moment, TimeUnit, column_named, commit_ts_of
from ticdc_emit.sql.script import split_statements
from ticdc_emit.tso import MAX_LONG_TSO, tso_from_datetime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_MARK = r"(?:-{2,}|#)[ \t]*at(?![A-Za-z_])"
_AT = re.compile(rf"^[ \t]*{_MARK}(.*)$", re.MULTILINE | re.IGNORECASE)
_MISPLACED = re.compile(_MARK, re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:(?:--|#)[^\n]*(?:\n|$)|/\*(?![!+]|T!).*?\*/\s*)", re.DOTALL)
_UTC = re.compile(r"\s*(?:z|utc)$", re.IGNORECASE)


def read_ddl(text: str) -> tuple[tuple[int, str], ...]:
    """Return (commit_ts, statement) in order; :class:`~ticdc_emit.errors.DdlError` for a statement without a time."""
    marks = list(_AT.finditer(text))
    before = text[: marks[0].start()] if marks else text
    for statement in split_statements(before):
        raise DdlError(
            "a statement has no time",
            remedy="Write -- at <ISO time or TSO> on the line above it",
            statement=statement,
            place=_line(text, text.find(_without_comments(statement, "line 1").lstrip())),
        )
    statements: list[tuple[int, str]] = []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        try:
            commit_ts = parse_moment(mark[1])
        except DdlError as error:
            remedy = f"{error.remedy}. If the line is an ordinary comment, begin it with another word than 'at'"
            raise DdlError(error.message, remedy=remedy, place=_line(text, mark.start())) from None
        for number, statement in enumerate(split_statements(text[mark.end() : end])):
            line = _line(text, text.find(statement, mark.end()))
            statements.append((commit_ts + number, _without_comments(statement, line)))
    return tuple(sorted(statements))


def _line(text: str, position: int) -> str:
    return f"line {text.count(chr(10), 0, max(position, 0)) + 1}"


def _without_comments(statement: str, place: str) -> str:
    """Return the statement without the comments before it; those that TiDB executes are part of it."""
    while comment := _COMMENT.match(statement):
        if _MISPLACED.match(comment[0].strip()):
            raise DdlError(
                "a time comes after another statement on the same line",
                remedy="Write -- at <ISO time or TSO> on a line of its own",
                statement=statement,
                place=place,
            )
        statement = statement[comment.end() :]
    return statement


def parse_moment(text: str) -> int:
    """Return the TSO of ISO time with an offset, ``Z`` or ``UTC``, or of digits; :class:`DdlError` for other text."""
    moment = time_or_number(text)
    if isinstance(moment, dt.datetime):
        return tso_from_datetime(moment)
    if not 0 < moment <= MAX_LONG_TSO:
        raise _no_time(text.strip())
    return moment


def time_or_number(text: str) -> dt.datetime | int:
    """Return the aware datetime of ISO time, or the number of digits; :class:`DdlError` for other text."""
    given = text.strip()
    if given.isascii() and given.isdigit():
        return int(given)
    try:  # Python knows no blank before an offset
        moment = dt.datetime.fromisoformat(re.sub(r"\s+(?=[+-]\d\d:)", "", _UTC.sub("+00:00", given)))
    except ValueError:
        raise _no_time(given) from None
    if moment.tzinfo is None:
        whole = given if ":" in given else f"{given} 00:00:00"
        raise DdlError(f"{given!r} has no time zone", remedy=f"Add Z or an offset: {whole}Z or {whole}+02:00")
    return moment


def _no_time(given: str) -> DdlError:
    return DdlError(
        f"{given!r} is not a time", remedy="Give ISO time with Z or an offset (2026-01-05T08:00:00Z), or a TSO"
    )


Versions = tuple[tuple[int, TableInfo], ...]
"""A table's versions with the TSO since which each is valid."""


def versions_of(
    catalog: Catalog, ddl: Iterable[tuple[Any, ...]], table: str, *, database: str | None = None
) -> Versions:
    """Return the versions of ``schema.name``; the catalog gets the DDL applied, as a changefeed of its tables does.

    ``ddl``: (commit_ts, statement) or (commit_ts, statement, schema). ``database``: for statements without one; by
    default that of all tables, else ``test``, as in a replay of several tables (a replay of one table uses that
    table's). Raises the family of :class:`~ticdc_emit.errors.SchemaError`.
    """
    for commit_ts, schema, query in sorted(ddl_statements(ddl, database or current_database(None, catalog))):
        catalog.apply(query, schema=schema, commit_ts=commit_ts)
    histories = catalog.histories()
    versions = tuple((since, info) for since, info in histories.get(schema_and_name(table, []), ()) if info is not None)
    if not versions:
        known = [".".join(name) for name in histories]
        alike = [name for name in known if name.rpartition(".")[2] == table.rpartition(".")[2]]
        hint = f"Did you mean {alike[0]}? " if len(alike) == 1 else did_you_mean(table, known)
        raise UnknownTableError(
            "the schema has no such table",
            remedy=f"{hint}Name it as schema.name, or add its CREATE TABLE to the schema",
            table=table,
        )
    return versions


def backfilled(
    df: DataFrame, versions: Versions, at: Moment, *, unit: TimeUnit = "tso", zone: str = "UTC"
) -> DataFrame:
    """Return the rows with the values of older rows in columns that a later version added or renamed, also columns that
    ``df`` lacks. ``at``: each row's time (a row at a DDL's own TSO is older). Raises :class:`SchemaError` for a default
    that only TiDB knows.
    """
    stamp = commit_ts_of(df, at, unit)
    for (_, before), (since, after) in pairwise(versions):
        columns: dict[str, Column] = {}
        for column in after.row_columns:
            old = next((other for other in before.row_columns if other.id == column.id), None)
            if old is not None and (old.name == column.name or old.name not in df.columns):
                continue
            same_name = any(other.name == column.name for other in before.row_columns)
            if old is None and same_name:  # MODIFY COLUMN may give a new id
                continue
            value = column_named(old.name) if old is not None else _default(df, column, zone)
            if column.name in df.columns:
                kind = df.schema[column.name].dataType
                columns[column.name] = F.when(stamp <= F.lit(since), value.cast(kind)).otherwise(
                    column_named(column.name)
                )
            elif old is not None:
                columns[column.name] = value
            else:
                columns[column.name] = F.when(stamp <= F.lit(since), value)
        df = df.withColumns(columns) if columns else df
    return df


def _default(df: DataFrame, column: TableColumn, zone: str) -> Column:
    try:
        value = F.lit(value_of_old_rows(column, zone))
    except SchemaError as error:
        if column.name in df.columns:  # the source may have the value that only TiDB knows
            return column_named(column.name)
        raise error
    kind = df.schema[column.name].dataType if column.name in df.columns else None
    return F.unbase64(value) if isinstance(kind, T.BinaryType) and column.is_binary else value
