"""The database that obeys its constraints sees what breaks them, also while it lasts for some transactions only."""

from __future__ import annotations

from typing import Any

from lawful_fold import violations

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate.tables import Refusals, source_tables

SQL = "create table t.p (id int primary key, mail varchar(20), unique key own (mail))"


def found(*changes: tuple[int, int, str | None, str | None]) -> list[str]:
    """Return what is wrong with changes: commit_ts, id, mail before and after; ``""`` is NULL."""

    def image(key: int, mail: str | None) -> dict[str, Any] | None:
        return None if mail is None else {"id": key, "mail": mail or None}

    rows = [
        {
            "schema": "t",
            "table": "p",
            "op": "c" if before is None else "d" if after is None else "u",
            "commit_ts": commit,
            "before": image(key, before),
            "after": image(key, after),
        }
        for commit, key, before, after in changes
    ]
    return violations(source_tables(catalog_from_sql(SQL), None, Refusals()), rows)


def test_lawful_changes() -> None:
    assert found((1, 1, None, "a"), (2, 2, None, ""), (2, 3, None, ""), (3, 1, "a", "b"), (4, 1, "b", None)) == []


def test_a_value_of_two_rows_that_live_at_one_time_and_are_gone_at_the_end() -> None:
    wrong = ["('t', 'p'): own ('a',) is of two rows"]
    assert found((1, 1, None, "a"), (2, 2, None, "a"), (3, 1, "a", None), (3, 2, "a", None)) == wrong


def test_a_value_that_comes_back_with_another_row() -> None:
    assert len(found((1, 1, None, "a"), (2, 1, "a", None), (3, 2, None, "a"))) == 1
