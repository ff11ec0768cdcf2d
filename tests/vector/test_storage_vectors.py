"""The recorded files of TiCDC's storage sink: every write, its path and its bytes, in both lineages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conformance import Report, run_conformance
from vector_files import VECTORS

STORAGE = VECTORS.parent / "storage"
CHECKS = {"classic": 1342, "next": 1356}


@pytest.mark.parametrize("lineage", CHECKS)
def test_every_write_of_the_storage_sink(lineage: str) -> None:
    report = run_conformance([STORAGE / lineage])
    assert report.mismatches == []
    assert (report.files, report.total.total) == (33, CHECKS[lineage])
    assert report.catalog.matched == report.catalog.total == 57
    assert [left.variants for left in report.left_out.values()] == [1]  # times of the clean-up job


def edited(tmp_path: Path, name: str, change: Any) -> Report:
    document = json.loads(gzip.decompress((STORAGE / "classic" / f"{name}.json.gz").read_bytes()))
    change(document)
    path = tmp_path / "classic" / f"{name}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    return run_conformance([path])


def test_a_row_of_a_table_that_is_not_replicated_writes_nothing(tmp_path: Path) -> None:
    def skip(document: Any) -> None:
        document["events"].append({"kind": "skipped", "schema": "test", "table": "keyless"})

    assert edited(tmp_path, "st_restart", skip).mismatches == []


def _other_byte(document: Any) -> None:
    write = document["variants"][0]["writes"][2]
    write["text"] = write["text"].replace("1", "2", 1)


def _other_path(document: Any) -> None:
    write = document["variants"][0]["writes"][2]
    write["path"] += "x"


def _other_order(document: Any) -> None:
    writes = document["variants"][0]["writes"]
    writes[1], writes[2] = writes[2], writes[1]


def _missing(document: Any) -> None:
    del document["variants"][0]["writes"][-1]


def _other_files(document: Any) -> None:
    document["variants"][0]["files"].append("x")


def _no_refusal(document: Any) -> None:
    document["variants"][0]["config_error"] = "refused"


@pytest.mark.parametrize("change", [_other_byte, _other_path, _other_order, _missing, _other_files, _no_refusal])
def test_a_difference_is_found(change: Any, tmp_path: Path) -> None:
    report = edited(tmp_path, "st_restart", change)
    assert report.mismatches
    assert {mismatch.variant for mismatch in report.mismatches} == {"csv"}
