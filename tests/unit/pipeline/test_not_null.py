"""A column of NULLs only is refused where the column is NOT NULL, in every form that changes can have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed

TS = 450_000_000_262_144_000
SCHEMA = "create table s.t (id bigint not null primary key, n int not null, v varchar(9))"
URI = "memory://nulls?protocol={}&enable-tidb-extension=true"
GOOD, NO_KEY, NO_NUMBER = {"id": 1, "n": 1, "v": None}, {"id": None, "n": 1, "v": None}, {"id": 1, "n": None, "v": None}


def _change(op: str, before: Any, after: Any, step: int = 0) -> dict[str, Any]:
    return {"op": op, "commit_ts": TS + step, "before": before, "after": after}


def _typed(changes: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{name: value for name, value in row.items() if value is not None} for row in changes])


def _maps(changes: list[dict[str, Any]], items: pa.DataType) -> pa.Table:
    def image(values: dict[str, Any] | None) -> list[tuple[str, Any]] | None:
        if values is None:
            return None
        return [(name, None if value is None else str(value)) for name, value in values.items()]

    columns = {name: [row[name] for row in changes] for name in ("op", "commit_ts")}
    kind = pa.map_(pa.string(), items)
    images = {name: pa.array([image(row[name]) for row in changes], kind) for name in ("before", "after")}
    return pa.table({**columns, **images, "schema": ["s"] * len(changes), "table": ["t"] * len(changes)})


def _encode(changes: Any, protocol: str = "canal-json") -> None:
    Encoder(URI.format(protocol), SCHEMA).encode(changes)


def _run(table: pa.Table) -> None:
    feed = Changefeed(load_changefeed(URI.format("canal-json")), MemorySink("nulls"), SCHEMA)
    feed.run(ArrowBatch(table), 0, final=True)


_CHANGES = [
    ("id", [_change("c", None, NO_KEY)]),
    ("n", [_change("c", None, NO_NUMBER), _change("c", None, {**NO_NUMBER, "id": 2}, 1)]),
    ("id", [_change("d", NO_KEY, None)]),
    ("n", [_change("d", NO_NUMBER, None)]),
    ("n", [_change("u", GOOD, NO_NUMBER)]),
    ("n", [_change("u", NO_NUMBER, GOOD)]),
    ("n", [_change("u", NO_NUMBER, NO_NUMBER)]),
]


@pytest.mark.parametrize(("column", "changes"), _CHANGES)
@pytest.mark.parametrize("protocol", ["canal-json", "simple", "debezium"])
def test_python_rows_and_structs(column: str, changes: list[dict[str, Any]], protocol: str) -> None:
    for form in (changes, _typed(changes)):
        with pytest.raises(InvalidValueError, match="NULL") as caught:
            _encode(form, protocol)
        assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", column)


@pytest.mark.parametrize(("column", "changes"), _CHANGES)
def test_batches_and_maps(column: str, changes: list[dict[str, Any]]) -> None:
    whole = _maps(changes, pa.string())
    for table in (_typed(changes), whole, whole.slice(0, 1)):
        with pytest.raises(InvalidValueError, match="NULL") as caught:
            _run(table)
        assert caught.value.context["column"] == column


def test_a_map_of_nulls_only() -> None:
    nothing = [_change("c", None, dict.fromkeys(GOOD))]
    with pytest.raises(InvalidValueError, match="NULL"):
        _run(_maps(nothing, pa.null()))


def test_a_nullable_column_takes_them() -> None:
    _encode([_change("c", None, GOOD)])
    _run(_typed([_change("c", None, GOOD)]))
