"""The bench of statements in a small form: every figure is of statements that are applied and printed."""

from __future__ import annotations

import statements


def test_every_work_does_what_it_counts() -> None:
    histories = statements.cases(20)
    assert statements.catalog_of(histories) == statements.restored(histories) == sum(map(len, histories)) > 3
    assert statements.planned(statements.definitions(5)) > 0
