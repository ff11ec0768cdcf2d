"""The notebook of the examples runs from its first cell to its last, and is stored without what it printed."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples/consumer.ipynb"


@pytest.mark.slow
def test_the_notebook_finds_the_bug_and_repairs_it() -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "rows that the table does not have: ['1', '2']" in printed
    assert "{'3': {'id': '3', 'status': 'paid', 'total': '3.00'}}" in printed
