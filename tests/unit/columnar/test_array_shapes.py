"""Every accepted Arrow type of every MySQL type, in every shape that an array can have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from column_samples import COLUMNS, SAMPLES, Sample, over_garbage, shown

BY_TYPE = {name: [sample for sample in SAMPLES if sample.mysql == name] for name in COLUMNS}


def _is_view(kind: pa.DataType) -> bool:
    return bool(kind == pa.string_view() or kind == pa.binary_view())


def _has_dictionary(kind: pa.DataType) -> bool:
    none = (pa.types.is_nested, pa.types.is_float16, pa.types.is_decimal32, pa.types.is_decimal64, _is_view)
    return not any(test(kind) for test in none)


def _cycle(sample: Sample, count: int) -> tuple[list[Any], list[str | None]]:
    """Repeat the sample with a null in every third row."""
    places = [None if place % 3 == 2 else place % len(sample.values) for place in range(count)]
    rows, texts = ([None if at is None else of[at] for at in places] for of in (sample.values, sample.texts))
    return rows, texts


@pytest.mark.parametrize("mysql", BY_TYPE)
def test_every_value(mysql: str) -> None:
    for sample in BY_TYPE[mysql]:
        assert shown(COLUMNS[sample.mysql], sample.array()) == sample.texts
        for value, text in zip(sample.values, sample.texts, strict=True):
            assert shown(COLUMNS[sample.mysql], sample.array([value])) == [text]


@pytest.mark.parametrize("mysql", BY_TYPE)
def test_slices(mysql: str) -> None:
    for sample in BY_TYPE[mysql]:
        rows, texts = _cycle(sample, 40)
        array = sample.array(rows)
        for start, length in [(0, 40), (1, 20), (3, 1), (7, 17), (8, 16), (9, 31), (13, 0), (39, 1)]:
            assert shown(COLUMNS[sample.mysql], array.slice(start, length)) == texts[start : start + length]


@pytest.mark.parametrize("mysql", BY_TYPE)
def test_empty_and_all_null(mysql: str) -> None:
    for sample in BY_TYPE[mysql]:
        assert shown(COLUMNS[sample.mysql], sample.array([])) == []
        assert shown(COLUMNS[sample.mysql], sample.array().slice(1, 0)) == []
        assert shown(COLUMNS[sample.mysql], sample.array([None] * 11)) == [None] * 11
        assert shown(COLUMNS[sample.mysql], pa.nulls(11, sample.type).slice(3)) == [None] * 8


@pytest.mark.parametrize("mysql", BY_TYPE)
def test_dictionary(mysql: str) -> None:
    for sample in [sample for sample in BY_TYPE[mysql] if _has_dictionary(sample.type)]:
        rows, texts = _cycle(sample, 20)
        encoded = sample.array(rows).dictionary_encode()
        assert shown(COLUMNS[sample.mysql], encoded) == texts
        assert shown(COLUMNS[sample.mysql], encoded.slice(5, 9)) == texts[5:14]


@pytest.mark.parametrize("mysql", BY_TYPE)
def test_valid_values_under_nulls(mysql: str) -> None:
    for sample in [sample for sample in BY_TYPE[mysql] if not _is_view(sample.type)]:
        rows = sample.values * 4
        hidden = [0, 2, len(rows) - 1]
        texts: list[str | None] = sample.texts * 4
        for place in hidden:
            texts[place] = None
        array = over_garbage(sample.array(rows), hidden)
        assert shown(COLUMNS[sample.mysql], array) == texts
        assert shown(COLUMNS[sample.mysql], array.slice(1)) == texts[1:]


_HUGE = (1 << 63) - 1
_GARBAGE = [
    ("DOUBLE", pa.array([1.5, 1e300]), "1.5"),
    ("DOUBLE", pa.array([1.5, float("nan")]), "1.5"),
    ("FLOAT", pa.array([1.5, float("inf")], pa.float32()), "1.5"),
    ("FLOAT", pa.array([1.5, 1e14], pa.float32()), "1.5"),
    ("TINYINT", pa.array([1, _HUGE]), "1"),
    ("BIT", pa.array([b"\1", b"\1" * 20]), "1"),
    ("DATE", pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32()), "1970-01-01"),
    ("DATE", pa.array([0, _HUGE], pa.timestamp("us")), "1970-01-01"),
    ("DATE", pa.array(["2024-05-05", "no date"]), "2024-05-05"),
    ("DATETIME", pa.array([0, _HUGE], pa.timestamp("s")), "1970-01-01 00:00:00.000"),
    ("DATETIME", pa.array([0, _HUGE], pa.timestamp("s", tz="UTC")), "1970-01-01 00:00:00.000"),
    ("DATETIME", pa.array([0, _HUGE], pa.timestamp("ns")), "1970-01-01 00:00:00.000"),
    ("TIME", pa.array([0, -_HUGE - 1], pa.duration("us")), "00:00:00.000"),
    ("TIME", pa.array(["00:00:00", "x"]), "00:00:00.000"),
    ("VARCHAR", pa.array(["a", '"much too long\n"']), "a"),
    ("VARCHAR", pa.array([b"a", b"\xff"]), "a"),
    ("VARBINARY", pa.array([b"a", b"\xff" * 99]), "a"),
    ("BINARY", pa.array([b"abcd", b"\xff" * 99]), "abcd"),
    ("JSON", pa.array([b"[1]", b"\xff"]), "[1]"),
    ("JSON", pa.array(["[1]", "nothing"]), "[1]"),
    ("ENUM", pa.array(["a", "zzz"]), "1"),
    ("ENUM", pa.array([1, 99]), "1"),
    ("VECTOR", pa.array([[1.0, 2.0], [float("nan")]]), "[1,2]"),
]


@pytest.mark.parametrize(("name", "array", "text"), _GARBAGE)
def test_refused_values_under_nulls(name: str, array: pa.Array, text: str) -> None:
    assert shown(COLUMNS[name], over_garbage(array, [1])) == [text, None]
    assert shown(COLUMNS[name], over_garbage(array, [1]), "Asia/Shanghai")[1] is None
    assert shown(COLUMNS[name], over_garbage(array, [1]).slice(1)) == [None]
