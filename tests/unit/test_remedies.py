"""Every error that the library raises names a remedy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ticdc_emit
from ticdc_emit import errors

ROOT = Path(ticdc_emit.__file__).parent
GIVEN_BY_THE_CALLER = (
    *("sql/call_tree.py", "sql/expressions.py", "sql/functions.py", "sql/inference"),
    *("schema/expression_types.py", "schema/ranges.py"),
)
"""These raise only the cause. What catches it adds the remedy, as tests of expression indexes and of views show."""
NOT_FOR_USERS = ("testing/kraft.py",)
"""A server's own log."""
KINDS = {name for name in errors.__all__ if issubclass(getattr(errors, name), errors.TicdcEmitError)} - {
    "MissingDependencyError"  # whose extra is the remedy
}


def without_remedy(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS):
            continue
        if not {keyword.arg for keyword in node.keywords} & {"remedy", None}:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_error_is_raised_with_a_remedy() -> None:
    exempt = tuple(str(ROOT / place) for place in (*GIVEN_BY_THE_CALLER, *NOT_FOR_USERS))
    paths = [path for path in ROOT.rglob("*.py") if not str(path).startswith(exempt)]
    assert len(paths) > 200
    assert [place for path in paths for place in without_remedy(path)] == []


def test_an_error_says_each_thing_once() -> None:
    refused = errors.ConfigError("[CDC:ErrX]no", remedy="Do", option="protocol", code="CDC:ErrX")
    assert str(refused) == "[CDC:ErrX]no [option='protocol']. Do"
    placed = errors.DdlError("no", remedy="Do", position=7, place="line 1, column 8")
    assert str(placed) == "no [place='line 1, column 8']. Do"
    assert (refused.code, placed.position) == ("CDC:ErrX", 7)
    assert str(errors.DdlError("no", remedy="Do", position=7)) == "no [position=7]. Do"
    assert str(errors.ConfigError("no", remedy="Do", code="CDC:ErrX")) == "no [code='CDC:ErrX']. Do"
