"""What a batch leaves for the next one: failed and replayed batches, DDL that comes with them, and the end of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spark_history import FIRST_TSO, tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError, DdlError, InvalidValueError, LateRowError, StateError
from ticdc_emit.pipeline.plan.ddl import ddl_statements
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.schema.catalog import catalog_from_sql, current_database
from ticdc_emit.spark import TicdcSink, encode

pytestmark = pytest.mark.spark

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
TABLE = "create table test.t (id int primary key)"
KIND = "op string, commit_ts long, query string, after struct<id:int,extra:string>"
BARE = "op string, commit_ts long, after struct<id:int>"
ADD = "alter table test.t add column extra varchar(5)"
Rows = list[tuple[str, int | None, str | None, tuple[int | None, str] | None]]


def sent(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(m.value or b"{}") for m in read_files(folder)]


def inserts(*steps: int) -> Rows:
    return [("c", tso(step), None, (step, "x")) for step in steps]


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    return [m["type"] for m in messages]


def test_ddl_of_the_write_after_a_failed_one_is_not_lost(spark: Any, tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", TABLE)
    with pytest.raises(InvalidValueError, match="NULL"):
        sink.write(spark.createDataFrame([("c", tso(1), (1,)), ("c", tso(2), (None,))], BARE))
    with pytest.raises(DdlError):
        sink.write(spark.createDataFrame([*inserts(1), ("ddl", tso(2), "alter table test.t frobnicate", None)], KIND))
    report = sink.write(spark.createDataFrame([*inserts(1, 3), ("ddl", tso(2), ADD, None)], KIND))
    assert report.batch_id == 0
    assert kinds(sent(tmp_path)) == ["INSERT", "ALTER", "TIDB_WATERMARK", "INSERT", "TIDB_WATERMARK"]
    assert [m["data"][0].get("extra") for m in sent(tmp_path) if m["type"] == "INSERT"] == [None, "x"]


def test_a_failed_write_keeps_its_ddl_for_the_next(spark: Any, tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", TABLE)
    with pytest.raises(InvalidValueError, match="NULL"):
        sink.write(spark.createDataFrame([("ddl", tso(1), ADD, None), ("c", tso(2), None, (None, "x"))], KIND))
    sink.write(spark.createDataFrame(inserts(2), KIND))
    assert kinds(sent(tmp_path)) == ["ALTER", "TIDB_WATERMARK", "INSERT", "TIDB_WATERMARK"]


def test_a_finished_batch_takes_no_new_ddl(spark: Any, tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", TABLE)
    with_ddl = spark.createDataFrame([*inserts(1), ("ddl", tso(2), ADD, None)], KIND)
    sink.write(with_ddl, batch_id=0)
    first = sent(tmp_path)
    sink.write(with_ddl, batch_id=0)
    assert sent(tmp_path) == first * 2
    more = spark.createDataFrame([*inserts(1), ("ddl", tso(3), "alter table test.t add column more int", None)], KIND)
    with pytest.raises(StateError, match="DDL") as caught:
        sink.write(more, batch_id=0)
    assert caught.value.commit_ts == tso(3)
    with pytest.raises(ConfigError, match="above what was sent"):
        sink.write(spark.createDataFrame([("ddl", tso(1), "drop table test.t", None)], KIND))
    assert sent(tmp_path) == first * 2


def test_a_replay_moves_no_end_back() -> None:
    done = BatchState(3).complete(watermark=90, sent_until=91, rows=4)
    finished = done.complete(watermark=100, sent_until=100, rows=4)
    assert finished.complete(watermark=90, sent_until=91, rows=4) == finished
    assert BatchState(3).complete(watermark=None, sent_until=-1, rows=0).end_watermark is None


def test_ddl_of_one_commit_ts_keeps_its_order() -> None:
    statements = [(5, "test", f"alter table t add column c{n} int") for n in range(30)]
    state = BatchState(0).with_ddl(statements[:10]).with_ddl(statements)
    assert list(state.ddl) == statements


def test_encode_gives_rows_only_and_keeps_no_state(spark: Any, tmp_path: Path) -> None:
    drop = "alter table test.t drop column extra"
    df = spark.createDataFrame([*inserts(0, 1, 30, 31), ("ddl", tso(30), drop, None)], KIND)
    sink = TicdcSink(f"memory://x?{URI}", TABLE, ddl=[(tso(1), ADD)], watermark_interval=1, state_uri=str(tmp_path))
    for made in (sink.messages(df), sink.messages(df)):
        rows = [json.loads(bytes(row.value)) for row in made.collect()]
        assert kinds(rows) == ["INSERT"] * 4
        assert [set(row["data"][0]) for row in rows] == [{"id"}, {"id"}, {"id", "extra"}, {"id"}]
    assert list(tmp_path.iterdir()) == []
    assert encode(df, f"memory://x?{URI}", TABLE, ddl=[(tso(1), ADD)]).count() == 4


def test_ddl_runs_in_the_database_of_the_table(spark: Any, tmp_path: Path) -> None:
    schema = "create table shop.orders (id int primary key); create table bank.account (id int primary key)"
    ddl = [(tso(1), "alter table orders add column a int"), (tso(2), "alter table account add column b int", "bank")]
    rows = [*inserts(0, 9), ("ddl", tso(3), "alter table orders add column c int", None)]
    sink = TicdcSink(f"jsonl://{tmp_path}/typed?{URI}", schema, table="shop.orders", ddl=ddl)
    kind = "op string, commit_ts long, query string, after struct<id:int,a:int,c:int>"
    frame = [(op, commit_ts, query, image and (image[0], 1, 2)) for op, commit_ts, query, image in rows]
    sink.write(spark.createDataFrame(frame, kind))
    altered = [(m["database"], m["table"]) for m in sent(tmp_path / "typed") if m["type"] == "ALTER"]
    assert altered == [("shop", "orders"), ("bank", "account"), ("shop", "orders")]

    generic = "schema string, table string, op string, commit_ts long, query string, after map<string,string>"
    mixed = [
        ("bank", None, "ddl", tso(1), "alter table account add column b int", None),
        ("shop", "orders", "c", tso(2), None, {"id": "1"}),
    ]
    TicdcSink(f"jsonl://{tmp_path}/generic?{URI}", schema).write(spark.createDataFrame(mixed, generic))
    assert kinds(sent(tmp_path / "generic")) == ["ALTER", "TIDB_WATERMARK", "INSERT", "TIDB_WATERMARK"]


def test_the_current_database_is_that_of_the_tables() -> None:
    one = catalog_from_sql("create table shop.orders (id int primary key); create table shop.items (id int)")
    two = catalog_from_sql("create table shop.orders (id int primary key); create table bank.account (id int)")
    assert current_database(None, one) == "shop"
    assert current_database("orders", one) == "test"
    assert current_database(None, two) == "test"
    assert current_database("bank.account", two) == "bank"
    assert ddl_statements([(7, "q"), (8, "r", "s")], "d") == ((7, "d", "q"), (8, "s", "r"))
    for wrong in ((7,), ("7", "q"), (7, None), (7, "q", None), "ab"):
        with pytest.raises(ConfigError, match="is not DDL with its time") as caught:
            ddl_statements([wrong], "d")  # type: ignore[list-item]
        assert caught.value.option == "ddl"
    with pytest.raises(ConfigError, match=r"'alter table.*commit_ts, statement"):
        ddl_statements("alter table shop.orders add n int", "d")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "column"), [(("ddl", FIRST_TSO, None, None), "query"), (("ddl", None, ADD, None), "commit_ts")]
)
def test_a_ddl_row_with_a_null_is_refused(spark: Any, tmp_path: Path, row: Any, column: str) -> None:
    with pytest.raises(InvalidValueError, match="DDL row") as caught:
        TicdcSink(f"jsonl://{tmp_path}?{URI}", TABLE).write(spark.createDataFrame([row], KIND))
    assert caught.value.column == column


def test_a_ddl_waits_while_rows_of_its_old_schema_may_come(spark: Any, tmp_path: Path) -> None:
    kind = "op string, commit_ts long, after struct<id:int,z:int>"

    def rows(*stamps: int) -> Any:
        return spark.createDataFrame([("c", ts, (n, 7)) for n, ts in enumerate(stamps)], kind)

    uri = f"jsonl://{tmp_path}?protocol=canal-json&partition-num=1"
    ddl = [(tso(5), "alter table test.t add column z int")]
    sink = TicdcSink(uri, "create table test.t (id int primary key)", ddl=ddl)
    sink(rows(tso(4), tso(5)), 0)
    sink(rows(tso(5) + 1), 1)
    kinds = [json.loads(message.value or b"{}") for message in read_files(tmp_path)]
    assert [(m["type"], m["isDdl"] or sorted(m["data"][0])) for m in kinds] == [
        ("INSERT", ["id"]),
        ("INSERT", ["id"]),
        ("ALTER", True),
        ("INSERT", ["id", "z"]),
    ]
    with pytest.raises(LateRowError, match="DDL"):
        sink(rows(tso(5)), 2)
