"""Values stay within the type of the column, whatever its name says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.arrays import Bits, Hashes, between, hash_numbers, native_type, salt_of, units
from ticdc_emit.traffic.generate.keys import plan_keys
from ticdc_emit.traffic.generate.tables import Refusals, source_tables
from ticdc_emit.traffic.generate.texts import RANGES
from ticdc_emit.traffic.generate.values import Versions, always_changing_column, realistic, varies

TYPES = {
    "tinyint": (-128, 127),
    "tinyint unsigned": (0, 255),
    "smallint": (-32768, 32767),
    "int unsigned": (0, (1 << 32) - 1),
    "decimal(1,0)": (-9, 9),
    "decimal(2,2)": (0, 0),
    "decimal(3,0)": (-999, 999),
    "decimal(3,2) unsigned": (0, 9),
    "decimal(10,2)": (-(10**8), 10**8),
    "float(3,0)": (-999, 999),
    "float(2,2)": (0, 0),
    "double unsigned": (0, 10**9),
}


KINDS = (
    "int", "tinyint", "tinyint(1)", "tinyint unsigned", "bigint", "bigint unsigned", "decimal(10,2)", "decimal(1,0)",
    "decimal(65,30)", "decimal(38,30)", "decimal(2,2)", "float", "double", "float(2,2)", "char(1)", "varchar(3)",
    "varchar(60)", "text", "blob", "binary(1)", "varbinary(9)", "binary(20)", "json", "enum('a','b')",
    "enum('a','b','c')", "set('x')", "set('x','y','z')", "date", "datetime", "datetime(6)", "timestamp(3)", "time",
    "time(6)", "year", "bit(1)", "bit(64)", "vector(3)", "vector(11)", "char(2) charset latin1", "enum('only')",
    "set('a','b','c','d','e','f','g','h','i','j')",
)  # fmt: skip
NAMES = ("v", "status", "note", "updated_at", "tags", "score", "c", "url", "phone", "ip", "street", "code")


def column_of(name: str, kind: str, *, null: str = "not null") -> Column:
    sql = f"create table t (pk int primary key, `{name}` {kind} {null})"
    return catalog_from_sql(sql).table("test", "t").column(name)


def versions(rows: int = 400, steps: int = 1) -> Versions:
    number, step = (each.ravel() for each in np.mgrid[0:rows, 0:steps])
    born = np.full(len(number), 1_700_000_000_000_000)
    return Versions(number, hash_numbers(number), step, born, born + step)


def drawn(column: Column) -> list[Any]:
    return list(realistic(column, ("seed",), versions(), fixed=True).to_pylist())


@pytest.mark.parametrize("kind", TYPES)
def test_a_named_range_fits_the_type_or_is_left(kind: str) -> None:
    low, high = TYPES[kind]
    for name in ["birth_year", "whatever", *RANGES]:
        made = drawn(column_of(name, kind))
        assert low <= min(made) <= max(made) < high + 1, name
        assert len(set(made)) > 1, name


def test_named_ranges_are_used_where_they_fit() -> None:
    assert set(drawn(column_of("birth_year", "smallint"))) == set(range(1990, 2031))
    ages = drawn(column_of("age", "tinyint"))
    assert (min(ages), max(ages)) == (18, 90)
    assert max(drawn(column_of("rating", "decimal(2,2)"))) < 1
    assert 1 <= min(drawn(column_of("rating", "decimal(3,2)"))) < 1.1
    assert 4.9 < max(drawn(column_of("rating", "decimal(3,2)"))) <= 5


def test_a_range_has_its_low_end_first() -> None:
    bits = Bits(hash_numbers(np.arange(9)))
    assert set(between(bits, 3, 3)) == {3}
    with pytest.raises(AssertionError):
        between(bits, 1990, 255)


_ALL = (1 << 64) - 1


def mixed(number: int) -> int:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014), in Python's integers."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = ((number ^ number >> shift) * factor) & _ALL
    return number ^ number >> 31


def test_hashes_are_those_of_splitmix64() -> None:
    numbers, steps, salt = [0, 1, 1 << 40], [5, -1, 7], salt_of("seed", "schema", "column")
    assert salt == 1090768742255254357
    hashes = Hashes(hash_numbers(np.array(steps), hash_numbers(np.array(numbers))), salt)
    golden, combined = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
    for nth in (0, 1):
        expected = [
            mixed((mixed(number * golden & _ALL) + step * combined + salt + nth * golden) & _ALL)
            for number, step in zip(numbers, steps, strict=True)
        ]
        assert hashes(nth).bits.tolist() == expected
        assert units(hashes(nth), 1_000_000).tolist() == [(each % 2**32) * 1_000_000 >> 32 for each in expected]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 256, 36**8, (1 << 62) + 1])
def test_draws_are_in_range_even_and_spread(count: int) -> None:
    bits = hash_numbers(np.arange(20_000))
    plain = units(Bits(bits), count)
    steps = [units(Bits(bits, np.full(len(bits), parity)), count) for parity in (0, 1)]
    for made in (plain, units(Bits(bits), count, 24), *steps):
        assert 0 <= made.min() <= made.max() < count
    assert abs(plain.mean() / count - (count - 1) / count / 2) < 0.02
    assert all(count == 1 or (made % 2 == parity).all() for parity, made in enumerate(steps))
    if count < 1000:
        assert set(plain.tolist()) == set(steps[0].tolist()) | set(steps[1].tolist()) == set(range(count))


@pytest.mark.parametrize("null", ["not null", "null"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_always_changing_column_of_any_type_is_another_one_at_every_step(kind: str, null: str) -> None:
    at = versions(60, 30)
    for name in NAMES:
        if kind == "enum('only')" and null == "not null":
            continue
        column = column_of(name, kind, null=null)
        made = realistic(column, ("seed",), at, always_changes=True)
        accept(column, made, Rendering("UTC"))
        shown = made.to_pylist()
        neighbours = zip(at.step[1:], shown, shown[1:], strict=False)
        assert not [pair for step, *pair in neighbours if step and pair[0] == pair[1]], name
        assert (None in shown) == (null == "null")


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_any_type_has_values_that_it_can_hold(kind: str) -> None:
    column = column_of("v", kind, null="null")
    made = realistic(column, ("seed",), versions(100, 3))
    accept(column, made, Rendering("UTC"))
    assert made.type == native_type(column)
    assert 0 < made.null_count < 100


def test_what_has_one_value_does_not_vary() -> None:
    assert not varies(column_of("v", "enum('a')"))
    assert not varies(column_of("v", "varchar(0)"))
    columns = [column_of("v", kind) for kind in ("enum('a')", "tinyint(1)", "varchar(0)")]
    assert always_changing_column(columns) is columns[1]
    assert always_changing_column(columns[::2]) is None


def test_rows_without_a_column_that_varies_are_not_updated() -> None:
    for kind, still in (("enum('a')", True), ("enum('a','b')", False)):
        sql = f"create table t.t (id int primary key, v {kind} not null)"
        (keys,) = plan_keys(source_tables(catalog_from_sql(sql), None, Refusals()), {}, Refusals()).values()
        assert keys.shape.still is still
