"""Statements of typical applications do what a real TiDB does with them, or are refused by the part's name."""

from __future__ import annotations

from conformance.run import run_conformance
from vector_files import VECTORS

RUN = 117


def test_what_runs_leaves_the_rows_of_tidb() -> None:
    report = run_conformance(VECTORS.parent / "sql")
    assert report.mismatches == []
    assert report.statements.matched == RUN
    refused = [what for what, left in report.left_out.items() for _ in range(left.events)]
    assert len(refused) == 136 - RUN
    assert all(what.startswith("statements: ") for what in refused)
