"""The ground that the tests of real consumers stand on: their rows, their comparison, and the table of results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from comparison import compared, results_of_page
from cookbook_data import ADDED, DATABASE, KEYS, TIME_ZONE, DataSet, data_set

from ticdc_emit.traffic.history import History

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def data() -> DataSet:
    return data_set()


def test_each_line_names_a_test_that_exists() -> None:
    for result in results_of_page():
        module, name = result.test.split("::")
        assert re.search(rf"^def {name}\(", (FOLDER / module).read_text("utf-8"), re.MULTILINE), result.test


def test_every_line_of_the_table_is_read() -> None:
    page = (FOLDER / "measured.md").read_text("utf-8")
    assert page.count("](test_") == len(list(results_of_page())), "write a line as the failing nightly test prints it"


def test_two_ways_of_bookkeeping_agree(data: DataSet) -> None:
    history = History(data.schema, data.rows, data.ddl, time_zone=TIME_ZONE)
    assert history.tables() == {(DATABASE, table): rows for table, rows in data.tables().items()}


def test_the_rows_have_what_breaks_consumers(data: DataSet) -> None:
    moved = [
        row
        for row in data.rows
        if row["op"] == "u" and any(row["before"][name] != row["after"][name] for name in KEYS[row["table"]])
    ]
    assert len(moved) > 100
    assert all(row["before"] != row["after"] for row in data.rows)
    written, final = data.tables(defaults=False), data.tables()
    for table, name in (("orders", "points"), ("lines", "discount")):
        older = [key for key, row in written[table].items() if row[name] is None]
        assert older, "some rows are older than the column"
        assert {final[table][key][name] for key in older} == {ADDED[table][name][1]}


def test_the_comparison_sees_each_difference() -> None:
    expected = {1: {"a": 1, "b": None}, 2: {"a": 2, "b": "x"}}
    assert not compared("t", expected, {key: row | {"more": 0} for key, row in expected.items()}).differences
    read = {1: {"a": True, "b": None}, 3: {"a": 2, "b": "x"}}
    assert compared("t", expected, read).differences == (
        "t 1: a is True, must be 1",
        "t 2: a row is missing",
        "t 3: a row too many",
    )
    assert len(compared("t", expected, {1: {"a": 1}, 2: {"a": 2, "b": None}}).differences) == 2
