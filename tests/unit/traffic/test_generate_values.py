"""Values' SQL stays within the type of the column, whatever its name says."""

from __future__ import annotations

import re

import pytest

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.keys import plan_keys
from ticdc_emit.traffic.generate.sql import Alternating, between, units
from ticdc_emit.traffic.generate.tables import source_tables
from ticdc_emit.traffic.generate.texts import RANGES
from ticdc_emit.traffic.generate.values import Moment, always_changing_column, realistic, varies

AT = Moment("_k", "_s", "_b", "_t")
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


def column_of(name: str, kind: str) -> Column:
    sql = f"create table t (pk int primary key, `{name}` {kind} not null)"
    return catalog_from_sql(sql).table("test", "t").column(name)


@pytest.mark.parametrize("kind", TYPES)
def test_a_named_range_fits_the_type_or_is_left(kind: str) -> None:
    low, high = TYPES[kind]
    for name in ["birth_year", "whatever", *RANGES]:
        column = column_of(name, kind)
        scale = 10 ** min(max(column.decimal, 0), 2) if "int" not in kind else 1
        made = realistic(column, ("seed",), AT, fixed=True)
        ranges = re.findall(r"pmod\(xxhash64\([^()]*\), (-?\d+)L\)(?: \+ (-?\d+)L)?", made)
        assert ranges
        for modulus, offset in ranges:
            least = int(offset or 0)
            most = least + int(modulus) - 1
            assert low * scale - scale < least <= most < high * scale + scale, (name, made)


def test_named_ranges_are_used_where_they_fit() -> None:
    assert " 41L) + 1990L" in realistic(column_of("birth_year", "smallint"), ("seed",), AT, fixed=True)
    assert " 73L) + 18L" in realistic(column_of("age", "tinyint"), ("seed",), AT, fixed=True)
    assert " 410000L) + 100000L" not in realistic(column_of("rating", "decimal(2,2)"), ("seed",), AT, fixed=True)
    assert " 401L) + 100L" in realistic(column_of("rating", "decimal(3,2)"), ("seed",), AT, fixed=True)


def test_a_range_has_its_low_end_first() -> None:
    assert between("x", 3, 3) == "(pmod(x, 1L) + 3L)"
    with pytest.raises(AssertionError):
        between("x", 1990, 255)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 256])
def test_alternating_draws_are_in_range_and_even_at_even_steps(count: int) -> None:
    drawn: dict[int, set[int]] = {0: set(), 1: set()}
    for step in (0, 1):
        made = str(units(Alternating("bits", "step"), count)).replace("L", "")
        for bits in range(1000):
            drawn[step].add(eval(made, {"pmod": lambda a, b: a % b, "bits": bits, "step": step}))
    assert drawn[0] | drawn[1] == set(range(count))
    assert count == 1 or not drawn[0] & drawn[1]


def test_what_has_one_value_does_not_vary() -> None:
    assert not varies(column_of("v", "enum('a')"))
    assert not varies(column_of("v", "varchar(0)"))
    columns = [column_of("v", kind) for kind in ("enum('a')", "tinyint(1)", "varchar(0)")]
    assert always_changing_column(columns) is columns[1]
    assert always_changing_column(columns[::2]) is None


def test_rows_without_a_column_that_varies_are_not_updated() -> None:
    for kind, still in (("enum('a')", True), ("enum('a','b')", False)):
        sql = f"create table t.t (id int primary key, v {kind} not null)"
        (keys,) = plan_keys(source_tables(catalog_from_sql(sql), sql)).values()
        assert keys.shape.still is still
