"""Values' SQL stays within the type of the column, whatever its name says."""

from __future__ import annotations

import re

import pytest

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.sql import between
from ticdc_emit.traffic.generate.values import _RANGES, Moment, realistic

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
    for name in ["birth_year", "whatever", *_RANGES]:
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
