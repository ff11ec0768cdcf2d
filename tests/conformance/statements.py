"""Statements of typical applications, and what a real TiDB did with them.

In: a file with ``setups`` (statements by group) and ``cases``, each with its ``statements``, the ``status`` of each
(``["ok"]`` or ``["err", number]``) and all rows at the end as text. Out: counts. A case runs in a session of the
library after its group's setup: it must give the same errors and leave the same rows, or be refused with the part that
is not executed. Values that TiDB draws, UUIDs and the time of the statement, are only compared by their form.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ticdc_emit.database.row_values import canonical_texts, column_values
from ticdc_emit.database.session import Session
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import SchemaError, StatementError, UnsupportedStatementError
from ticdc_emit.schema.catalog import Catalog

from .report import Mismatch, Report
from .vectors import read_document, vector_name

_Table: TypeAlias = "list[tuple[str | None, ...]]"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOW = re.compile(r"(?:2026-11-\d\d|2024-01-01 00:00:\d\d)[\d:. ]*")
_GIVEN = frozenset({"2024-01-01 00:00:00.123456"})  # a time like those of statements, which a setup gives


def are_statements(document: object) -> bool:
    """Return whether a document has statements, and not a vector of codecs."""
    return isinstance(document, Mapping) and {"setups", "cases"} <= document.keys()


def run_statements(path: Path, report: Report) -> None:
    """Run the cases of one file."""
    document = read_document(path)
    for case in document["cases"]:
        refusal, difference = _run(case, document["setups"][case["group"]])
        if refusal is not None:
            report.leave_out(f"statements: {refusal}", events=1)
            continue
        report.statements.count(matched=difference is None)
        if difference is not None:
            name = f"{vector_name(path)} {case['id']}"
            report.mismatches.append(Mismatch(name, "", "statements", None, case["statements"][-1], difference))


def _run(case: Mapping[str, Any], setup: Iterable[str]) -> tuple[str | None, str | None]:
    """Return why a case is refused, and how it differs from TiDB; ``None`` for what does not apply."""
    session = Session(Database(Catalog(), "UTC"), schema="test")
    for statement in setup:
        session.execute(statement)
    for statement, expected in zip(case["statements"], case["status"], strict=True):
        status: list[Any] = ["ok"]
        try:
            (*_, result) = session.execute(statement)
            if result.kind == "skipped" and status != expected:  # it changes no row, but TiDB does not know it
                return f"{statement.split()[0].upper()} is skipped", None
        except StatementError as fault:
            status = ["err", fault.number]
        except (UnsupportedStatementError, SchemaError) as fault:
            return fault.message, None
        if status != expected:
            return None, f"{statement}\n  expected  {expected}\n  got       {status}"
    session.rollback()
    for name, rows in case["tables"].items():
        expected, got = _masked(map(tuple, rows)), _masked(_rows(session.database, name))
        if expected != got:
            return None, f"{name} has other rows\n  expected  {expected}\n  got       {got}"
    return None, None


def _rows(database: Database, name: str) -> _Table:
    """Return the rows of a table as TiDB shows them, virtual columns too."""
    info = database.catalog.table("test", name)
    rows = list(database.rows(info).values())
    values = column_values(info, rows, database.rendering)
    columns: list[Sequence[str | None]] = []
    for column in (each for each in info.columns if not each.hidden):
        texts = canonical_texts(column, values.accepted(column))
        columns.append([_shown(text) for text in texts] if column.is_binary else texts)
    return list(zip(*columns, strict=True)) if rows else []


def _shown(text: str | None) -> str | None:
    if text is None:
        return None
    raw = base64.b64decode(text)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"0x{raw.hex().upper()}"


def _masked(rows: Iterable[Sequence[str | None]]) -> _Table:
    return sorted((tuple(map(_mask, row)) for row in rows), key=lambda row: [(cell is not None, cell) for cell in row])


def _mask(cell: str | None) -> str | None:
    if cell is None or cell in _GIVEN:
        return cell
    return "(uuid)" if _UUID.fullmatch(cell) else "(now)" if _NOW.fullmatch(cell) else cell
