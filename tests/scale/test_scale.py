"""Changefeeds of unusual size, small enough for every run; each case checks counts and order itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scale_cases import large_rows, many_columns, many_tables, one_key


def test_many_tables(spark: Any, tmp_path: Path) -> None:
    found = many_tables(spark, tmp_path, tables=300, rows=12_000)
    assert found.rows == 12_000


@pytest.mark.slow
def test_many_columns(spark: Any, tmp_path: Path) -> None:
    found = many_columns(spark, tmp_path, columns=1_000, rows=50)
    assert found.rows == 50
    assert found.mib > 50 * 1_000 * 20 / (1 << 20)


@pytest.mark.slow
def test_a_row_of_ten_mebibytes(spark: Any, tmp_path: Path) -> None:
    found = large_rows(spark, tmp_path, rows=3)
    assert found.mib > 3 * 10


@pytest.mark.parametrize("rows", [20_000])
def test_one_key(spark: Any, tmp_path: Path, rows: int) -> None:
    assert one_key(spark, tmp_path, rows=rows).rows == rows
