"""A fault tells all the values that the column refuses alike; of text that is not UTF-8 they are found by halving."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.columnar.value_errors import ValueRefused, bad_places, fault_at
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.catalog import catalog_from_sql

COLUMNS = (
    "i tinyint, u bigint unsigned, y year, b bit(4), v varchar(3), x varbinary(2), n decimal(4,1), "
    "m decimal(4,1) unsigned, f float, d double unsigned, t date, c datetime(2), h time, j json, "
    "e enum('a','b'), s set('a','b'), w vector(2)"
)
INFO = next(iter(catalog_from_sql(f"create table t.t (id int primary key, {COLUMNS})").tables()))
CASES = {
    "i": ([1, 300, 2, -300], pa.int64()),
    "u": ([1, -1, 2, -5], pa.int64()),
    "y": ([2000, 1900, 0, 1800], pa.int64()),
    "b": ([1, 16, 2, 17], pa.int64()),
    "v": (["abc", "abcd", None, "efghi"], pa.string()),
    "x": ([b"ab", b"abc", None, b"abcd"], pa.binary()),
    "n": (["1.5", "x", None, "12345"], pa.string()),
    "m": (["1.5", "-1", None, "-2"], pa.string()),
    "f": ([1.5, float("nan"), None, 1e300], pa.float64()),
    "d": ([1.5, -1.0, None, -2.0], pa.float64()),
    "t": (["2024-05-05", "2024-13-01", None, "x"], pa.string()),
    "c": (["2024-05-05 01:02:03", "x", None, "y"], pa.string()),
    "h": (["01:02:03", "x", None, "y"], pa.string()),
    "j": (["{}", "{", None, "["], pa.string()),
    "e": (["a", "c", None, "d"], pa.string()),
    "s": ([1, 4, None, 5], pa.int64()),
    "w": (["[1,2]", "[1]", None, "[1,2,3]"], pa.string()),
}


@pytest.mark.parametrize("name", CASES)
def test_all_bad_values_are_found_each_with_its_own_cause(name: str) -> None:
    values, kind = CASES[name]
    column = next(each for each in INFO.columns if each.name == name)
    array = pa.array([*values] * 3, kind)

    def check(part: pa.Array) -> pa.Array:
        return accept(column, part, Rendering())

    with pytest.raises(ValueRefused) as met:
        check(array)
    assert met.value.index == 1
    assert bad_places(array, met.value, lambda part: pytest.fail("asked again")).tolist() == [1, 3, 5, 7, 9, 11]
    assert fault_at(array, 9, met.value, check).reason == met.value.reason
    assert fault_at(array, 3, met.value, check).reason == fault_at(array, 11, met.value, check).reason
    with pytest.raises(ValueRefused) as own:
        check(array.slice(3, 1))
    assert fault_at(array, 3, met.value, check).reason == own.value.reason


def test_halving_asks_few_times_for_one_bad_value() -> None:
    asked = []

    def check(part: pa.Array) -> None:
        asked.append(len(part))
        if 77 in part.to_pylist():
            raise ValueRefused(part.to_pylist().index(77), "seven")

    values = pa.array(range(1024))
    assert bad_places(values, ValueRefused(77, "seven"), check).tolist() == [77]
    assert len(asked) <= 21


def test_a_fault_pickles_with_its_places() -> None:
    fault = pickle.loads(pickle.dumps(ValueRefused(1, "why", "what", np.array([False, True]))))
    assert (fault.index, fault.reason, fault.remedy, fault.bad.tolist()) == (1, "why", "what", [False, True])
