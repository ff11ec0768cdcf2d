"""Changes of sorted versions, in Arrow alone: at every cut of the batches, and beside a second way to compute them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.changes.intervals import SOUND, interval_changes, interval_facts, unequal
from ticdc_emit.tso import compose

IMAGE = pa.struct([("id", pa.int32()), ("v", pa.string())])
SCHEMA = pa.schema(
    [
        ("_key0", pa.int32()),
        (SOUND, pa.bool_()),
        ("_what", pa.string()),
        ("_begin", pa.int64()),
        ("_end", pa.int64()),
        ("_image", IMAGE),
        ("seq", pa.int64()),
    ]
)
Version = tuple[int, str, "int | None", "int | None", "str | None"]
"""Key, what, begin, end, value."""


def batches(versions: Sequence[Version], size: int = 100) -> Iterator[pa.RecordBatch]:
    rows = [
        {
            "_key0": key,
            SOUND: not what.startswith("!"),
            "_what": what,
            "_begin": begin,
            "_end": end,
            "_image": {"id": key, "v": value},
            "seq": number,
        }
        for number, (key, what, begin, end, value) in enumerate(versions)
    ]
    whole = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    yield whole.slice(0, 0)
    for start in range(0, len(rows), size):
        yield whole.slice(start, size)


def changes(versions: Sequence[Version], size: int = 100, **options: Any) -> list[tuple[Any, ...]]:
    found = []
    for each in interval_changes(batches(versions, size), ["_key0"], **options):
        for row in each.to_pylist():
            before, after = row["before"], row["after"]
            images = (before and before["v"], after and after["v"])
            found.append((row["commit_ts"], (after or before)["id"], row["op"], *images))
    return sorted(found, key=repr)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], []),
        ([(1, "put", 5, None, "a")], [(5, 1, "c", None, "a")]),
        ([(1, "put", 5, 7, "a")], [(5, 1, "c", None, "a"), (7, 1, "d", "a", None)]),
        ([(1, "put", 5, 7, "a"), (1, "put", 7, None, "b")], [(5, 1, "c", None, "a"), (7, 1, "u", "a", "b")]),
        ([(1, "put", 5, 7, "a"), (1, "put", 7, None, "a")], [(5, 1, "c", None, "a")]),
        (
            [(1, "put", 5, 7, "a"), (1, "put", 8, None, "a")],
            [(5, 1, "c", None, "a"), (7, 1, "d", "a", None), (8, 1, "c", None, "a")],
        ),
        ([(1, "put", 5, 9, "a"), (1, "put", 7, None, "b")], [(5, 1, "c", None, "a"), (7, 1, "u", "a", "b")]),
        ([(1, "put", 5, None, None), (2, "put", 5, None, "b")], [(5, 1, "c", None, None), (5, 2, "c", None, "b")]),
        ([(1, "put", 5, None, "a"), (1, "delete", 7, None, "x")], [(5, 1, "c", None, "a"), (7, 1, "d", "a", None)]),
        ([(1, "delete", 7, None, "x"), (1, "delete", 8, None, "x")], []),
        ([(1, "remove", 7, None, "x"), (1, "remove", 8, None, "x")], [(7, 1, "d", "x", None)]),
        ([(1, "base", 1, None, "a"), (1, "remove", 7, None, "x")], [(7, 1, "d", "a", None)]),
        ([(1, "base", 1, 7, "a")], [(7, 1, "d", "a", None)]),
        ([(1, "base", 1, None, "a"), (1, "put", 7, None, "b")], [(7, 1, "u", "a", "b")]),
        (
            [(1, "!why", 9, 2, "x"), (1, "put", 5, None, "a"), (2, "!why", 9, 2, "y"), (2, "!why", 9, 2, "y")],
            [(5, 1, "c", None, "a"), (9, 1, "!why", None, "x"), *[(9, 2, "!why", None, "y")] * 2],
        ),
        ([(1, "put", None, None, "a")], [(None, 1, "c", None, "a")]),
    ],
)
def test_versions_become_changes(versions: list[Version], expected: list[Any], size: int) -> None:
    assert changes(versions, size) == sorted(expected, key=repr)


def test_columns_beside_the_versions_come_along() -> None:
    versions: list[Version] = [(1, "put", 5, 7, "a"), (1, "put", 9, None, "b")]
    found = [row for each in interval_changes(batches(versions), ["_key0"], ["seq"]) for row in each.to_pylist()]
    assert sorted((row["commit_ts"], row["op"], row["seq"]) for row in found) == [(5, "c", 0), (7, "d", 0), (9, "c", 1)]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_key_twice_at_one_begin_is_refused_where_it_may_not_be(size: int) -> None:
    versions: list[Version] = [(1, "put", 5, 7, "a"), (2, "put", 5, 7, "a"), (2, "put", 5, 7, "a")]
    with pytest.raises(ValueError, match="the key '2' comes twice in the version of 5"):
        changes(versions, size, once=True)
    assert len(changes(versions, size)) == 4


@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_is_odd_in_versions(size: int) -> None:
    two, nine = compose(2), compose(9)
    versions: list[Version] = [
        (1, "put", compose(0), two, "a"),
        (1, "put", compose(0), two, "a"),
        (1, "put", compose(1), two, "a"),
        (1, "put", nine, None, "a"),
        (1, "put", compose(11), None, "b"),
        (1, "delete", compose(10), None, "b"),
        (1, "put", compose(12), None, "b"),
    ]
    found = [row for each in interval_facts(batches(versions, size), ["_key0"]) for row in each.to_pylist()]
    assert [row["again"] for row in found] == [False, True, *[False] * 5]
    assert [row["overlaps"] for row in found] == [False, False, True, False, True, False, False]
    assert [row["gap"] for row in found] == [None, -2_000, -1_000, 7_000, None, None, None]


def test_random_versions_are_what_a_row_by_row_reading_gives() -> None:
    random.seed(5)
    versions: list[Version] = []
    for key in range(200):
        for begin in sorted(random.sample(range(20), random.randrange(6))):
            end = random.choice([None, begin + random.randint(1, 6)])
            versions.append((key, random.choice(["put", "put", "put", "delete"]), begin, end, random.choice("ab")))
    versions = [(key, what, at, end if what == "put" else None, v) for key, what, at, end, v in versions]
    expected: list[tuple[Any, ...]] = []
    for place, (key, what, begin, end, value) in enumerate(versions):
        own = [each for each in versions if each[0] == key]
        number = own.index(versions[place])
        before = own[number - 1] if number else None
        held = before[4] if before and before[1] == "put" and (before[3] is None or before[3] >= begin) else None
        if what == "delete" and held:
            expected.append((begin, key, "d", held, None))
        elif what == "put" and held != value:
            expected.append((begin, key, "u" if held else "c", held, value))
        after = own[number + 1] if number + 1 < len(own) else None
        if end is not None and (after is None or (after[2] or 0) > end):
            expected.append((end, key, "d", value, None))
    for size in (1, 7, 1_000):
        assert changes(versions, size) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([0.0, -0.0, None, None, 1.5, 1.5], pa.float64(), [True, True, False, True, False]),
        ([float("nan")] * 2, pa.float32(), [False]),
        ([[1, None], [1], [1], None], pa.list_(pa.int8()), [True, False, True]),
        ([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 1)]], pa.map_(pa.string(), pa.int8()), [False, True]),
        ([{"x": None}, None, None, {"x": 1.0}], pa.struct([("x", pa.float64())]), [True, False, True]),
        ([[{"x": -0.0}], [{"x": 0.0}]], pa.list_(pa.struct([("x", pa.float64())])), [True]),
        ([None, None], pa.null(), [False]),
        (["a", "a", None], pa.dictionary(pa.int8(), pa.string()), [False, True]),
        ([b"", b"", b"\0"], pa.binary(), [False, True]),
    ],
)
def test_values_differ(values: list[Any], kind: pa.DataType, expected: list[bool]) -> None:
    array = pa.array(values, kind)
    assert np.array_equal(unequal(array.slice(1), array.slice(0, len(array) - 1)), expected)
