"""Every refusal of DDL names a remedy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ticdc_emit.schema

ROOT = Path(ticdc_emit.schema.__file__).parent
GIVEN_BY_THE_CALLER = ("inference", "intervals.py", "ranges.py", "stored_views.py")
"""These raise only the cause. What catches it adds the remedy; test_ddl_alter and its neighbours look at that."""
KINDS = {"DdlError", "SchemaError", "UnknownTableError", "UnprintableDdlError"}


def without_remedy(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        is_error = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS
        if is_error and "remedy" not in {keyword.arg for keyword in node.keywords}:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_error_is_raised_with_a_remedy() -> None:
    paths = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in GIVEN_BY_THE_CALLER]
    assert len(paths) > 50
    assert [place for path in paths for place in without_remedy(path)] == []
