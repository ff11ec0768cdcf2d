"""Every golden vector of the next lineage matches, and nothing of what this library writes is left out."""

from __future__ import annotations

from conformance import run_conformance
from vector_files import VECTORS


def test_every_vector_of_the_next_lineage_matches() -> None:
    report = run_conformance([VECTORS.parent / "next"])
    assert report.mismatches == []
    assert report.total.matched == report.total.total >= 15_100
    assert report.registrations.matched == report.registrations.total >= 1_700
    assert report.routes.matched == report.routes.total >= 1_800
    assert report.catalog.matched == report.catalog.total >= 230
    assert set(report.protocols()) >= {"avro", "canal-json", "debezium", "debezium-avro", "simple"}
    assert report.left_out == {}
