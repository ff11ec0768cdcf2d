"""DDL with its times, as a file: SQL in which comments ``-- at <moment>`` date the statements behind them.

    -- at 2026-01-05T08:00:00Z
    ALTER TABLE shop.orders ADD COLUMN tip decimal(8,2) NOT NULL DEFAULT 0;

A moment is ISO time with an offset or ``Z``, or a TSO. Statements of one moment follow each other by one logical tick.
"""

from __future__ import annotations

import datetime as dt
import re

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.dialect import split_statements
from ticdc_emit.tso import tso_from_datetime

__all__ = ["parse_moment", "read_ddl"]

_AT = re.compile(r"^[ \t]*--[ \t]*at[ \t]+(\S+(?:[ \t]+[\d:.+Z-]+)?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


def read_ddl(text: str) -> tuple[tuple[int, str], ...]:
    """Return (commit_ts, statement) in order; :class:`~ticdc_emit.errors.DdlError` for a statement without a time."""
    marks = list(_AT.finditer(text))
    before = text[: marks[0].start()] if marks else text
    for statement in split_statements(before):
        raise DdlError("a statement has no time", remedy="Write -- at <ISO time or TSO> above it", statement=statement)
    found: list[tuple[int, str]] = []
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        commit_ts = parse_moment(mark[1])
        for number, statement in enumerate(split_statements(text[mark.end() : end])):
            found.append((commit_ts + number, statement))
    return tuple(sorted(found))


def parse_moment(text: str) -> int:
    """Return the TSO of ISO time with an offset or ``Z``, or of digits; :class:`DdlError` for anything else."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    try:
        return tso_from_datetime(dt.datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text)))
    except ValueError:
        raise DdlError(
            f"{text!r} is no moment", remedy="Give ISO time with Z or an offset (2026-01-05T08:00:00Z), or a TSO"
        ) from None
