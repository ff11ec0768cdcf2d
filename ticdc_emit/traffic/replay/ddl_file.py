"""DDL with times, as a file: SQL with comments ``-- at <moment>`` that give the time of the following statements.

    -- at 2026-01-05T08:00:00Z
    ALTER TABLE shop.orders ADD COLUMN tip decimal(8,2) NOT NULL DEFAULT 0;

A moment is ISO time with an offset, ``Z`` or ``UTC``, or a TSO. Statements of one moment are one logical tick apart.
Every comment line that begins with ``at`` is such a mark. One without a valid moment is refused, because its statements
would otherwise get the previous time. Other comments before a statement are not part of it.
"""

from __future__ import annotations

import datetime as dt
import re

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.script import split_statements
from ticdc_emit.tso import MAX_LONG_TSO, tso_from_datetime

__all__ = ["parse_moment", "read_ddl"]

_MARK = r"(?:-{2,}|#)[ \t]*at(?![A-Za-z_])"
_AT = re.compile(rf"^[ \t]*{_MARK}(.*)$", re.MULTILINE | re.IGNORECASE)
_MISPLACED = re.compile(_MARK, re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:(?:--|#)[^\n]*(?:\n|$)|/\*(?![!+]|T!).*?\*/\s*)", re.DOTALL)
_UTC = re.compile(r"\s*(?:z|utc)$", re.IGNORECASE)
_FRACTION = re.compile(r"\.(\d+)")


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
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
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
    given = text.strip()
    if given.isascii() and given.isdigit() and 0 < int(given) <= MAX_LONG_TSO:
        return int(given)
    # Python 3.10 accepts only three or six fraction digits, and no blank before an offset
    exact = _FRACTION.sub(lambda digits: f".{digits[1][:6]:0<6}", _UTC.sub("+00:00", given), count=1)
    try:
        moment = dt.datetime.fromisoformat(re.sub(r"\s+(?=[+-]\d\d:)", "", exact))
        if moment.tzinfo is None:
            whole = given if ":" in given else f"{given} 00:00:00"
            raise DdlError(f"{given!r} has no time zone", remedy=f"Add Z or an offset: {whole}Z or {whole}+02:00")
        return tso_from_datetime(moment)
    except ValueError as error:
        if isinstance(error, DdlError):
            raise
        raise DdlError(
            f"{given!r} is not a time",
            remedy="Give ISO time with Z or an offset (2026-01-05T08:00:00Z), or a TSO",
        ) from None
