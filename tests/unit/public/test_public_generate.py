"""Schemas as people publish them, for generated traffic: some tables without a key, some with LIST partitions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample

from ticdc_emit.cli.main import main
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.pipeline.plan.table_plans import KeylessTableWarning
from ticdc_emit.strategies import histories
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.live import LiveTraffic, send_live
from ticdc_emit.traffic.generate.settings import Settings

KEYLESS = Path(__file__).parent / "inputs" / "15-generate-keyless.sql"
TS = 450_000_000_262_144_000


def test_the_command_generates_the_other_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "generate",
                "--schema",
                str(KEYLESS),
                "--rows",
                "20",
                "--sink-uri",
                f"jsonl://{tmp_path}?protocol=canal-json",
            ]
        )
    assert not ended.value.code
    assert capsys.readouterr().err.count("left out, as TiCDC does it: test.sightings") == 1
    lines = [json.loads(line) for path in tmp_path.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert [json.loads(line["value"])["table"] for line in lines] == ["boats"] * 20


def test_live_traffic_sends_the_other_tables() -> None:
    live = LiveTraffic(KEYLESS, Settings(rows=20, rate=1_000_000.0, start=TS))
    assert live.tables == ("test.boats",)
    feed = load_changefeed("memory://keyless?protocol=canal-json")
    try:
        with pytest.warns(KeylessTableWarning, match=r"test\.sightings"):
            changefeed = live.changefeed(feed, sink=MemorySink("keyless", feed.codec.max_message_bytes))
        total = send_live(live, changefeed, stop=lambda: False)
        assert (total.rows, len(messages("keyless"))) == (20, 20)
    finally:
        clear("keyless")


def test_tables_without_a_key_are_generated_by_name_or_where_no_table_has_one() -> None:
    text = KEYLESS.read_text()
    named = generate_arrow(text, rows=20, tables=["test.boats", "sightings"])
    assert list(named.changes) == ["test.boats", "test.sightings"]
    assert list(generate_arrow(text.splitlines()[1], rows=20).changes) == ["test.sightings"]


@pytest.mark.parametrize("keyless", [False, True])
def test_histories_draw_rows_of_the_other_tables(keyless: bool) -> None:
    def has_sighting(history: Any) -> bool:
        return any(row["table"] == "sightings" for row in history.rows)

    drawn = histories(KEYLESS.read_text(), ddl_kinds=(), max_commits=4, allow_keyless=keyless)
    few = settings(max_examples=50, phases=[Phase.generate], database=None, derandomize=True, deadline=None)
    if keyless:
        assert find(drawn, has_sighting, settings=few)
    else:
        with pytest.raises(NoSuchExample):
            find(drawn, has_sighting, settings=few)


def _values(sql: str, column: str, **options: Any) -> set[Any]:
    (batches,) = generate_arrow(sql, rows=300, **options).changes.values()
    return {row[column] for batch in batches for row in batch.column("after").to_pylist() if row is not None}


@pytest.mark.parametrize(
    ("columns", "partitions", "values"),
    [
        ("a varchar(20)", "list columns (a) (partition p values in ('x', 'y'), partition q values in ('z'))", "xyz"),
        ("a int", "list (a) (partition p values in (1, -2, null), partition q values in (+7))", "1 -2 7"),
        ("a int", "list (`A`) (partition p values in (1), partition q values in (8))", "1 8"),
        ("a date", "list columns (a) (partition p values in ('2024-01-02'))", "2024-01-02"),
        ("a date", "list columns (a) (partition p values in (date '2024-01-02'))", "2024-01-02"),
        (
            "a int",
            "list (a) (partition p values in (1), partition q values in (2)); alter table t drop partition p",
            "2",
        ),
    ],
)
def test_a_column_of_list_partitions_has_their_values(columns: str, partitions: str, values: str) -> None:
    sql = f"create table t (id int, {columns}, v int, primary key (id, a)) partition by {partitions}"
    assert {str(value) for value in _values(sql, "a")} == set(
        values.split() if " " in values or "-" in values else values
    )


def test_a_default_partition_takes_every_value() -> None:
    sql = "create table t (id int, a int, primary key (id, a)) partition by list (a) (partition p values in (1, 2), "
    assert len(_values(f"{sql}partition q values in (default))", "a")) > 100


def test_the_users_labels_come_before_those_of_the_partitions() -> None:
    sql = "create table t (id int, a int, primary key (id, a)) partition by list (a) (partition p values in (1, 2, 3))"
    assert _values(sql, "a", model="columns.t.a.labels=[2]") == {2}


@pytest.mark.parametrize(
    ("key", "partitions"),
    [
        ("id, a", "list (a % 4) (partition p values in (1))"),
        ("id, a, b", "list columns (a, b) (partition p values in ((1, 2)))"),
        ("id, a", "list (a) (partition p values in (1 + 1))"),
    ],
)
def test_other_list_partitions_are_refused(key: str, partitions: str) -> None:
    sql = f"create table t (id int, a int, b int, primary key ({key})) partition by {partitions}"
    with pytest.raises(SchemaError, match="only LIST partitions of one column") as refused:
        generate_arrow(sql, rows=3)
    assert refused.value.context["table"] == "test.t"


def test_all_refusals_come_at_once() -> None:
    sql = """
        create table a (e enum('x', 'y') primary key);
        create table b (id int primary key, other int, foreign key (other) references gone (id));
        create table c (id int, n int, primary key (id, n)) partition by list (n % 2) (partition p values in (1));
        create table d (id int primary key, v varchar(9));
        create table e (id tinyint primary key)
    """
    columns = {"d.id": {"range": [1, 5]}, "d.v": {"patern": "#"}, "d.w": {"nulls": 0.5}}
    with pytest.raises(SchemaError) as refused:
        generate_arrow(sql, rows=200_000, model={"columns": columns})
    head, *lines = str(refused.value).split("\n")
    assert head == "7 parts of the schema cannot be generated:"
    for text in ("test.a", "refers to test.gone", "test.c", "is in a key, which", "option='patern'", "'d.w'", "test.e"):
        assert sum(text in line for line in lines) == 1, text


@pytest.mark.parametrize("tables", [{"fleet.depots": 1}, {"fleet.depots": "x"}])
def test_tables_are_names(tables: Any) -> None:
    with pytest.raises(ConfigError, match="tables takes names alone") as refused:
        generate_arrow(KEYLESS.read_text(), rows=3, tables=tables)
    assert refused.value.remedy == "Give a list instead of a mapping"


@pytest.mark.parametrize(
    "columns", [{"boats.name": print}, {"test": {"boats": {"name": print}}}, {"boats.name": {"range": print}}]
)
def test_a_function_is_given_as_values(columns: Any) -> None:
    with pytest.raises(ConfigError, match="a function is an option of a column, with the name values"):
        generate_arrow(KEYLESS.read_text(), rows=3, model={"columns": columns})


def test_no_warning_comes_before_a_sink_is_known() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        generate_arrow(KEYLESS.read_text(), rows=3)
