"""Flink SQL in a child JVM: statements in, the changes of each SELECT out, and the tables that the changes leave."""

from __future__ import annotations

import struct
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from ticdc_emit.testing.java import short_lived_jvm

FLINK = Path(__file__).parent / "flink"
_JVM = ("-Xmx1g", *short_lived_jvm())
_OPENED = ("java.util", "java.lang", "java.lang.invoke", "java.net", "java.time")
_TIMEOUT_S = 240

Change = tuple[str, list[str | None]]


class FlinkError(Exception):
    """What Flink printed when a statement failed."""


def sql_command(java: Path, jars: Path) -> list[str]:
    """Return the command of ``Query.java``, which documents what goes in and out."""
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    return [str(java), *_JVM, *opened, "-cp", str(jars / "*"), str(FLINK / "Query.java")]


def run_sql(java: Path, jars: Path, statements: str) -> list[list[Change]]:
    """Run statements and return the changes of each SELECT; raises :class:`FlinkError`."""
    command = sql_command(java, jars)
    answer = subprocess.run(command, input=statements.encode(), capture_output=True, check=False, timeout=_TIMEOUT_S)
    if answer.returncode:
        raise FlinkError(answer.stderr.decode(errors="replace"))
    results: list[list[Change]] = []
    for line in answer.stdout.decode().splitlines():
        if line == "=":
            results.append([])
        else:
            kind, *values = line.split(" ")
            results[-1].append((kind, [None if one == "-" else b64decode(one[1:]).decode() for one in values]))
    return results


def folded(
    changes: Sequence[Change], columns: Sequence[str], key: Sequence[str], added: Collection[str]
) -> tuple[dict[Any, dict[str, str | None]], list[str]]:
    """Return the rows that are left by key, and where -U or -D was another row than the one that was there.

    ``added``: columns that may be NULL in a row and have their DEFAULT when the row is taken back.
    """
    rows: dict[Any, dict[str, str | None]] = {}
    wrong: list[str] = []
    for kind, values in changes:
        row = dict(zip(columns, values, strict=True))
        place = tuple(row[name] for name in key)
        if kind in ("+I", "+U"):
            rows[place] = row
            continue
        there = rows.pop(place, {})
        known = {name: value for name, value in there.items() if value is not None or name not in added}
        if known != {name: row[name] for name in known} or not there:
            wrong.append(f"{kind} {row}, there was {there}")
    return rows, wrong


def typed(flink_type: str, value: Any) -> Any:
    """Return what a column of this type holds of a protocol's value, or of the text that Flink shows."""
    if value is None:
        return None
    name = flink_type.partition("(")[0]
    text = b64encode(value).decode() if isinstance(value, bytes) else str(value)
    readers: dict[str, Callable[[str], Any]] = {
        "BIGINT": int,
        "INT": int,
        "DECIMAL": Decimal,
        "DOUBLE": float,
        "FLOAT": lambda text: struct.unpack("f", struct.pack("f", float(text)))[0],
        "BOOLEAN": lambda text: text.lower() == "true",
        "TIMESTAMP": datetime.fromisoformat,
    }
    return readers.get(name, str)(text)
