"""The ``table`` dispatcher, with the numbers of TiCDC's own tests (``dispatcher/partition/table_test.go``)."""

from __future__ import annotations

import pytest

from ticdc_emit.routing import partition_of, table_hash


@pytest.mark.parametrize(
    ("schema", "table", "hash_value", "partition"),
    [
        ("test", "t1", 1079797119, 15),
        ("test", "t2", 3646239941, 5),
        ("test", "t3", 2924610643, 3),
    ],
)
def test_known_tables(schema: str, table: str, hash_value: int, partition: int) -> None:
    assert table_hash(schema, table) == hash_value
    assert partition_of(hash_value, 16) == partition


def test_the_hash_is_unsigned_and_over_utf8() -> None:
    assert partition_of(3646239941, 7) == 3646239941 % 7
    assert table_hash("test", "t2") > 2**31
    assert table_hash("ä", "b") == table_hash("", "äb") != table_hash("a", "b")
