"""DDL texts as TiCDC prints them. In: a file of texts. Out: a check for each text and profile.

A line holds ``query``, ``sql_mode`` and ``charset`` of its session, and ``restored``, or ``error`` if TiCDC's parser
fails; its text is not compared. ``next`` has the outcome of the new architecture if it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticdc_emit.config import PROFILES, Profile
from ticdc_emit.conformance.compare import first_difference
from ticdc_emit.conformance.dump import Dump
from ticdc_emit.conformance.files import read_lines, vector_name
from ticdc_emit.conformance.report import Mismatch, Report
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.plan import restore_ddl

__all__ = ["check_texts"]

_MAX_SHOWN = 60


def check_texts(file: Path, profile: str | Profile | None, report: Report, dump: Dump | None) -> None:
    """Restore every text of ``file``; ``profile`` None: in both."""
    profiles = list(PROFILES.values()) if profile is None else [Profile.parse(profile)]
    name = vector_name(file)
    for index, entry in enumerate(read_lines(file)):
        for each in profiles:
            got, error = _restored(entry, each)
            if dump is not None:
                dump.text(name, each.name, index, got, error)
            detail = _difference(_expected(entry, each), got, error)
            report.texts.count(matched=detail is None)
            if detail is not None:
                what = f"{each.name}: {entry['query'][:_MAX_SHOWN]}"
                report.mismatches.append(Mismatch(name, "", "texts", index, what, detail))


def _expected(entry: Mapping[str, Any], profile: Profile) -> str | None:
    outcome = entry.get(profile.name, entry)
    text: str | None = outcome.get("restored")
    return text


def _restored(entry: Mapping[str, Any], profile: Profile) -> tuple[str | None, str | None]:
    session = {"sql_mode": entry.get("sql_mode", ""), "charset": entry.get("charset", "utf8mb4")}
    try:
        return restore_ddl(entry["query"], profile=profile, **session), None
    except TicdcEmitError as error:
        return None, str(error)


def _difference(expected: str | None, got: str | None, error: str | None) -> str | None:
    if got is None:
        return None if expected is None else f"refused: {error}\nexpected: {expected}"
    return f"TiCDC refuses it, got: {got}" if expected is None else first_difference(got, expected)
