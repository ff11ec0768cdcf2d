"""Every vector of Open Protocol matches in both lineages, messages of several rows too."""

from __future__ import annotations

import pytest
from conformance import run_conformance
from vector_files import VECTORS

OPEN = VECTORS.parent / "open"
VARIANTS = {"open", "open-noold", "open-delete-key", "open-updated", "open-handle-key"}
BATCHES = {"open-batch4", "open-batch", "open-batch-bytes", "open-batch-claim"}


@pytest.mark.parametrize(
    ("lineage", "variants", "events"), [("classic", VARIANTS | BATCHES, 2726), ("next", VARIANTS, 2076)]
)
def test_every_vector_matches(lineage: str, variants: set[str], events: int) -> None:
    report = run_conformance([OPEN / lineage])
    assert report.mismatches == []
    assert set(report.protocols()["open-protocol"]) == variants
    assert report.total.matched == report.total.total == events
    assert report.left_out == {}
