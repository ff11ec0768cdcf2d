"""Generated changes in the generic form, and as the rows of a table allow them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.tables import Rows
from ticdc_emit.emulator.source import Commits, fitted, generic_changes
from ticdc_emit.schema.catalog import catalog_from_sql

INFO = catalog_from_sql("create table s.t (id int primary key, b blob, e enum('x', 'y'), d decimal(6,2))").table(
    "s", "t"
)
KEYLESS = catalog_from_sql("create table s.t (id int)").table("s", "t")
TYPE = pa.struct([("id", pa.int32()), ("b", pa.binary()), ("e", pa.string()), ("d", pa.decimal128(6, 2))])


def _batch(*changes: tuple[str, int, Any, Any]) -> pa.RecordBatch:
    ops, stamps, befores, afters = zip(*changes, strict=True)
    return pa.record_batch(
        {
            "op": pa.array(ops),
            "commit_ts": pa.array(stamps, pa.int64()),
            "start_ts": pa.array([stamp - 1 for stamp in stamps], pa.int64()),
            "before": pa.array(befores, TYPE),
            "after": pa.array(afters, TYPE),
        }
    )


def test_values_become_canonical_text() -> None:
    from decimal import Decimal

    row = {"id": 1, "b": b"\x00\xff", "e": "y", "d": Decimal("1.50")}
    batch = _batch(("c", 10, None, row), ("d", 20, row, None))
    text = {"id": "1", "b": "AP8=", "e": "y", "d": "1.50"}
    named = {"schema": "s", "table": "t"}
    assert list(generic_changes(INFO, batch, Rendering())) == [
        {**named, "op": "c", "commit_ts": 10, "start_ts": 9, "before": None, "after": text},
        {**named, "op": "d", "commit_ts": 20, "start_ts": 19, "before": text, "after": None},
    ]


def test_changes_of_a_span_of_time() -> None:
    batch = _batch(*(("c", stamp, None, {"id": stamp}) for stamp in (1, 2, 3)))
    commits = Commits(0, 9, pa.Table.from_batches([batch]))
    assert [commits.between(*span).stamps for span in ((1, 3), (1, 2), (3, 9))] == [[2, 3], [2], []]


def _row(number: int, text: str = "x") -> dict[str, str | None]:
    return {"id": str(number), "b": None, "e": text, "d": None}


ROWS: Rows = {("1",): _row(1), ("2",): _row(2, "y")}


@pytest.mark.parametrize(
    ("op", "before", "after", "expected"),
    [
        ("c", None, _row(3), ("i", None, _row(3))),
        ("c", None, _row(1, "y"), ("u", _row(1), _row(1, "y"))),
        ("c", None, _row(1), None),
        ("u", _row(2, "x"), _row(2, "x"), ("u", _row(2, "y"), _row(2, "x"))),
        ("u", _row(3), _row(3, "y"), ("i", None, _row(3, "y"))),
        ("u", _row(1), _row(3), ("u", _row(1), _row(3))),
        ("u", _row(1), _row(2), None),
        ("u", _row(9), _row(2), ("u", _row(2, "y"), _row(2))),
        ("d", _row(2, "x"), None, ("d", _row(2, "y"), None)),
        ("d", _row(3), None, None),
    ],
)
def test_changes_fit_the_rows(op: str, before: Any, after: Any, expected: Any) -> None:
    change = {"schema": "s", "table": "t", "op": op, "commit_ts": 5, "before": before, "after": after}
    found = fitted(change, INFO, ROWS)
    assert (None if found is None else (found["op"][0], found["before"], found["after"])) == expected
    assert found is None or (found["commit_ts"], found["table"]) == (5, "t")


def test_a_table_without_a_key_stays_as_it_is() -> None:
    change = {"op": "d", "before": {"id": "7"}, "after": None}
    assert fitted(change, KEYLESS, {}) == change
