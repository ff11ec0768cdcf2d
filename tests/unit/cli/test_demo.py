"""``demo``: its data, and the command as a user runs it, in a process of its own, without Spark and on it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from child import command

from ticdc_emit.cli.demo_history import (
    CREATED_TS,
    DATABASE,
    ORDERS,
    TABLE,
    OrderHistory,
    history_batch,
)
from ticdc_emit.encoder import Encoder
from ticdc_emit.schema.catalog import catalog_from_sql

SAMPLE = Path(__file__).parents[3] / "schemas" / "orders.sql"


def test_cutting_changes_nothing() -> None:
    whole = history_batch(np.arange(1_000), seed=4)
    pieces = [history_batch(np.arange(start, start + 250), seed=4) for start in range(0, 1_000, 250)]
    assert pa.Table.from_batches(pieces).combine_chunks().equals(pa.Table.from_batches([whole]).combine_chunks())
    assert list(OrderHistory(1_000, seed=4)) == [whole]
    assert [batch.num_rows for batch in OrderHistory(20_001, seed=4)] == [10_000, 10_000, 1]


def test_another_seed_is_another_history() -> None:
    assert not history_batch(np.arange(100), seed=1).equals(history_batch(np.arange(100), seed=2))


def test_every_change_is_valid_and_after_the_ddl() -> None:
    changes = history_batch(np.arange(10_000), seed=1)
    messages = Encoder("memory://demo?protocol=canal-json", f"{DATABASE}; {ORDERS}").encode(changes, TABLE)
    assert messages.num_rows == 10_000
    assert min(changes.column("commit_ts").to_pylist()) > CREATED_TS


def test_each_order_is_inserted_changed_and_ended() -> None:
    lives: dict[int, list[dict[str, Any]]] = {}
    changes = history_batch(np.arange(500), seed=1).to_pylist()
    for change in sorted(changes, key=lambda change: change["commit_ts"]):
        lives.setdefault((change["after"] or change["before"])["id"], []).append(change)
    assert len(lives) == 100
    ends = set()
    for life in lives.values():
        assert "".join(change["op"] for change in life[:4]) == "cuuu"
        assert all(new["before"] == old["after"] for old, new in pairwise(life))
        ends.add((life[-1]["op"], life[-1]["after"] and life[-1]["after"]["status"]))
    assert ends == {("d", None), ("u", "returned")}


def test_the_details_are_canonical_json() -> None:
    """In the order and with the spaces in which TiDB prints it, so that nothing has to be normalised."""
    after = [change["after"] for change in history_batch(np.arange(50), seed=1).to_pylist() if change["after"]]
    assert all(json.dumps(json.loads(row["details"])) == row["details"] for row in after)
    assert all(list(json.loads(row["details"])) == ["product", "tags", "units"] for row in after)


def test_the_sample_schema_is_the_demos() -> None:
    sample = catalog_from_sql(SAMPLE.read_text(encoding="utf-8"))
    assert sample.tables() == catalog_from_sql(f"{DATABASE}; {ORDERS}").tables()


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_a_history_may_end_anywhere(rows: int) -> None:
    assert history_batch(np.arange(rows), seed=1).num_rows == rows


def _demo(*options: str) -> dict[str, Any]:
    done = command("demo", "--rows", "1000", "--json", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary: dict[str, Any] = json.loads(done.stdout)
    return {name: value for name, value in summary.items() if "second" not in name and name != "finished_ms"}


def test_demo_on_the_embedded_kafka() -> None:
    summary = _demo()
    assert summary["protocol"] == "canal-json"
    assert summary["rows"] == 1_000
    assert summary["messages"] > 1_000  # the DDL and the watermarks too
    kinds = [json.loads(message["value"])["type"] for message in summary["shown"]]
    assert kinds == ["INSERT", "UPDATE", "DELETE", "TIDB_WATERMARK"]
    keys = {json.loads(message["value"])["data"][0]["id"] for message in summary["shown"][:3]}
    assert len(keys) == 1


@pytest.mark.slow
@pytest.mark.spark
def test_both_engines_send_the_same() -> None:
    assert _demo("--on-spark") == _demo()
