"""Sequences of a running changefeed: what becomes of every job and row, from the inputs alone."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conformance import Report, run_conformance
from vector_files import VECTORS

SEQUENCES = VECTORS.parent / "wire"
SENT = ("canal-json", "open-protocol")
LINEAGES = {"classic": (858, 529, 529), "next": (849, 515, 514)}


def run(path: Path, **options: Any) -> Report:
    return run_conformance([path], protocol="canal-json", **options)


@pytest.mark.parametrize("lineage", LINEAGES)
def test_what_becomes_of_jobs_and_rows_and_what_is_sent(lineage: str) -> None:
    report = run_conformance([SEQUENCES / lineage])
    assert report.mismatches == []
    verdicts, *events = LINEAGES[lineage]
    assert (report.files, report.verdicts.total) == (122, verdicts)
    assert [sum(each.total for each in report.protocols()[name].values()) for name in SENT] == events


def edited(tmp_path: Path, name: str, change: Any) -> Path:
    document = json.loads(gzip.decompress((SEQUENCES / "classic" / f"{name}.json.gz").read_bytes()))
    change(document)
    path = tmp_path / "classic" / "edited.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    return path


def test_events_are_never_read(tmp_path: Path) -> None:
    def strip(document: dict[str, Any]) -> None:
        del document["events"]
        for variant in document["variants"]:
            variant["messages"] = None
        for given in document["inputs"]:
            given["events"] = None

    stream = io.StringIO()
    report = run(edited(tmp_path, "expr_two", strip), dump=stream)
    assert report.verdicts.matched == report.verdicts.total == 7
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [0, 1]


def test_a_wrong_verdict_is_told(tmp_path: Path) -> None:
    def flip(document: dict[str, Any]) -> None:
        document["inputs"][1]["rows"][1]["result"] = "filtered"

    report = run(edited(tmp_path, "expr_two", flip))
    (mismatch,) = [each for each in report.mismatches if each.protocol == "changefeed"]
    assert "TiCDC: filtered, the library: sent" in mismatch.detail
    assert not report.ok
