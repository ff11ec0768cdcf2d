"""Spark SQL over Arrow: the same values as Spark gives, which tests/spark/test_generate_both_ways.py compares."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.errors import SchemaError
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.arrow_evaluator import Layer, Parser
from ticdc_emit.traffic.needs_spark import NeedsSparkError

ROWS = pa.record_batch(
    {
        "a": pa.array([7, -7, None, 1 << 40], pa.int64()),
        "i": pa.array([0, 1, 2, None], pa.int32()),
        "s": pa.array(["ab", "", None, "x  "]),
        "yes": pa.array([True, False, None, True]),
    }
)


def values(*texts: str) -> list[Any]:
    (column,) = Layer(Parser().layer([f"{text} as v" for text in texts]))(ROWS)
    return list(column.to_pylist())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", [7] * 4),
        ("a div 2L", [3, -3, None, 1 << 39]),
        ("a % 4L", [3, -3, None, 0]),
        ("pmod(a, 4L)", [3, 1, None, 0]),
        ("xxhash64(42L, a)", [5510165639429219792, 7821676194757023212, -6876166290308861218, -3067991303400897436]),
        ("shiftrightunsigned(a, 60)", [0, 15, None, 0]),
        ("a & 6L | 1L", [7, 1, None, 1]),
        ("if(yes, 1L, 2)", [1, 2, 2, 1]),
        ("case when a < 0L then 'n' when yes then 'y' end", ["y", "n", None, "y"]),
        ("case i when 0 then 'zero' else 'other' end", ["zero", "other", "other", "other"]),
        ("not yes or i is null", [False, True, None, True]),
        ("get(split('p|q|r', '[|]'), i)", ["p", "q", "r", None]),
        ("get(cast(split('5|6', '[|]') as array<bigint>), i)", [5, 6, None, None]),
        ("concat(s, '-', cast(i as string))", ["ab-0", "-1", None, None]),
        ("concat_ws(',', s, if(yes, 'k', null))", ["ab,k", "", "", "x  ,k"]),
        ("lpad(s, 3, '0')", ["0ab", "000", None, "x  "]),
        ("lpad('abcdef', 4, '0')", ["abcd"] * 4),
        ("rtrim(s)", ["ab", "", None, "x"]),
        ("hex(a)", ["7", "FFFFFFFFFFFFFFF9", None, "10000000000"]),
        ("upper(conv(cast(abs(a) as string), 10, 36))", ["7", "7", None, "E13WU1OG"]),
        ("rpad(unhex(lpad(hex(a), 2, '0')), 3, X'00')", [b"\7\0\0", b"\xff\0\0", None, b"\x10\0\0"]),
        ("substring('xyz', i + 1, 1)", ["x", "y", "z", None]),
        ("right('12345', 2)", ["45"] * 4),
        ("cast(cast(a as decimal(20,0)) * 0.01BD as decimal(14,2))", [Decimal("0.07"), Decimal("-0.07"), None, ...]),
        ("date_add(date'1970-01-01', i)", [dt.date(1970, 1, day) for day in (1, 2, 3)] + [None]),
        ("least(a, 10L) + greatest(a, 0L)", [14, -7, 10, (1 << 40) + 10]),
        ("cast(floor(pmod(a, 10L) / 4D * 3D) as bigint)", [5, 2, None, 4]),
        ("element_at(zip_with(array(a), array(0), (x, y) -> x), 1)", [7, -7, None, 1 << 40]),
    ],
)
def test_expressions(text: str, expected: list[Any]) -> None:
    made = values(text)
    assert all(right is ... or one == right for one, right in zip(made, expected, strict=True)), made


@pytest.mark.parametrize(
    "text", ["pow(2D, 0.5D)", "a + ", "cast(s as timestamp)", "a ? 1", "xxhash64(i)", "get(s, 1)", "(a", "year(a)"]
)
def test_what_only_spark_computes(text: str) -> None:
    with pytest.raises(NeedsSparkError):
        values(text)


def test_fewer_rows_are_the_first_of_more_and_batches_change_nothing() -> None:
    more, fewer = (generate_arrow("bank", rows=rows, seed=2) for rows in (20_000, 900))
    assert more is not None
    assert fewer is not None
    for table, changes in fewer.changes.items():
        few = pa.Table.from_batches(list(changes))
        many = pa.Table.from_batches(list(more.changes[table]))
        assert 0 < few.num_rows < many.num_rows
        assert few == many.slice(0, few.num_rows)
        assert sum(len(batch) for batch in more.changes[table]) == many.num_rows, "it can be read again"


def test_traffic_that_only_spark_makes() -> None:
    assert generate_arrow("generated_columns", rows=10) is None
    zipf = {"bank.accounts.balance": {"range": [0, 9], "distribution": "zipf"}}
    assert generate_arrow("bank", rows=10, columns=zipf) is None
    bank = generate_arrow("bank", rows=10)
    assert repr(bank) == "<ArrowTraffic of bank.customers, bank.accounts, bank.transfers, 0 statements>"


def test_one_table_by_its_name_alone() -> None:
    one, listed = (generate_arrow("sysbench", rows=9, tables=names) for names in ("sbtest.sbtest2", ["sbtest.sbtest2"]))
    assert one is not None
    assert listed is not None
    assert list(one.changes) == list(listed.changes) == ["sbtest.sbtest2"]


def test_a_foreign_key_without_a_name_is_named_by_its_columns() -> None:
    schema = "create table a (id int primary key, b int, foreign key (b) references c (x))"
    with pytest.raises(SchemaError, match=r"the foreign key \(b\) refers to test\.c, which is not generated"):
        generate_arrow(schema, rows=1)
    with pytest.raises(SchemaError, match=r"foreign key 'of_b' refers to test\.c"):
        generate_arrow(schema.replace("foreign", "constraint of_b foreign"), rows=1)
