"""The session of this folder reads and writes both formats."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("table", "format"), [("first", "delta"), ("ice.db.first", "iceberg")])
def test_a_table_of_the_format(spark: Any, table: str, format: str) -> None:
    spark.sql(f"CREATE TABLE {table} (id bigint, name string) USING {format}")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"UPDATE {table} SET name = 'c' WHERE id = 2")
    assert sorted(map(tuple, spark.table(table).collect())) == [(1, "a"), (2, "c")]
    spark.sql(f"DROP TABLE {table}")
