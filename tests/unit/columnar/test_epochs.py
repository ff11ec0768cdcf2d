"""Dates and times as numbers, against Python's own calendar; nulls, slices and what stands under them."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.columnar.buffers import from_bytes
from ticdc_emit.columnar.epochs import clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)


def column(fsp: int, kind: MySQLType = MySQLType.DATETIME) -> Column:
    return Column(1, "v", kind, -1, fsp)


def moments(count: int, fsp: int) -> list[dt.datetime]:
    rng = random.Random(fsp)
    unit = 10 ** (6 - fsp)
    span = (dt.datetime(9999, 12, 31) - dt.datetime(100, 1, 1)) // MICROSECOND
    return [dt.datetime(100, 1, 1) + rng.randrange(span) // unit * unit * MICROSECOND for _ in range(count)]


def text_of(moment: dt.datetime, fsp: int) -> str:
    return moment.isoformat(" ", "microseconds")[: 19 + (fsp + 1 if fsp else 0)]


def mixed(texts: list[str]) -> tuple[pa.Array, list[str | None]]:
    """Return texts with nulls among them, as a slice; and the same as a list."""
    items = [text if place % 7 else None for place, text in enumerate(texts)]
    return pa.array(["#", *items, "#"], pa.string()).slice(1, len(items)), items


@pytest.mark.parametrize("fsp", range(7))
def test_datetimes(fsp: int) -> None:
    found = moments(300, fsp)
    texts, items = mixed([text_of(moment, fsp) for moment in found])
    unit = dt.timedelta(milliseconds=1) if fsp <= 3 else MICROSECOND
    expected = [None if item is None else (at - EPOCH) // unit for item, at in zip(items, found, strict=True)]
    assert datetime_ticks(column(fsp), texts).to_pylist() == expected
    few = [datetime_ticks(column(fsp), texts.slice(place, 3)).to_pylist() for place in range(0, 300, 3)]
    assert [tick for ticks in few for tick in ticks] == expected


def test_dates_and_short_years() -> None:
    days = [dt.date(100, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]
    texts, items = mixed([f"{day:%Y}".rjust(4, "0") + f"-{day:%m-%d}" for day in days * 5])
    expected = [(day - dt.date(1970, 1, 1)).days for day in days] * 5
    found = [e if i else None for e, i in zip(expected, items, strict=True)]
    assert date_days(texts).to_pylist() == found
    assert [date_days(texts.slice(place, 1))[0].as_py() for place in range(len(found))] == found
    for year in range(100):
        full = 2000 + year if year < 70 else 1900 + year
        short = pa.array([f"{year:04}-03-01", "2024-01-01", None, "0000-00-00"])
        day = (dt.date(full, 3, 1) - dt.date(1970, 1, 1)).days
        assert date_days(short).to_pylist() == [day, 19723, None, None]


@pytest.mark.parametrize("fsp", range(7))
def test_clocks(fsp: int) -> None:
    rng = random.Random(fsp)
    unit = 10 ** (6 - fsp)
    numbers = [rng.randrange(-3_020_399_000_000, 3_020_399_000_000) // unit * unit for _ in range(200)]
    numbers += [0, unit, 359_999_000_000, 360_000_000_000, -360_000_000_000]

    def text(number: int) -> str:
        seconds, fraction = divmod(abs(number), 10**6)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return ("-" if number < 0 else "") + clock + (f".{fraction:06}"[: fsp + 1] if fsp else "")

    texts, items = mixed([text(number) for number in numbers])
    expected = [number if item else None for number, item in zip(numbers, items, strict=True)]
    assert clock_micros(texts).to_pylist() == expected
    assert clock_micros(pa.nulls(3, pa.string())).to_pylist() == [None] * 3
    assert clock_micros(pa.array([], pa.string())).to_pylist() == []


def test_bytes_under_nulls_mean_nothing() -> None:
    def dirty(text: str, under: str) -> pa.Array:
        ends = np.array([0, len(text), len(text) + len(under), 2 * len(text) + len(under)], np.int32)
        return from_bytes(ends, (text + under + text).encode(), like=pa.array([1, None, 1]))

    assert date_days(dirty("1970-01-02", "0000-00")).to_pylist() == [1, None, 1]
    assert datetime_ticks(column(0), dirty("1970-01-01 00:00:01", "-00")).to_pylist() == [1000, None, 1000]
    assert clock_micros(dirty("-00:00:01", "xyz")).to_pylist() == [-1_000_000, None, -1_000_000]
    stamp = column(0, MySQLType.TIMESTAMP)
    assert zoned_text(stamp, dirty("1970-01-01 00:00:01", "-00"), "UTC").to_pylist() == [
        "1970-01-01T00:00:01",
        None,
        "1970-01-01T00:00:01",
    ]


@pytest.mark.parametrize("bad", ["2024-00-01 00:00:00", "2024-01-00 00:00:00", "0000-01-00 00:00:00"])
def test_a_moment_that_is_zero_in_part_is_refused_by_its_place(bad: str) -> None:
    texts = pa.array(["0000-00-00 00:00:00", None, "2024-10-10 10:00:00", bad])
    for render in (
        lambda: datetime_ticks(column(0), texts),
        lambda: zoned_text(column(0, MySQLType.TIMESTAMP), texts, "UTC"),
        lambda: zoned_text(column(0, MySQLType.TIMESTAMP), texts, "Asia/Shanghai"),
    ):
        with pytest.raises(ValueRefused) as raised:
            render()
        assert raised.value.index == 3


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York", "Asia/Kolkata"])
def test_stamps(zone: str) -> None:
    rng = random.Random(zone)
    instants = [rng.randrange(86_400, 1 << 31) // 3600 * 3600 + 1 for _ in range(200)]
    zoned = [dt.datetime.fromtimestamp(at, ZoneInfo(zone)) for at in instants]
    certain = [(at, local) for at, local in zip(instants, zoned, strict=True) if _is_single(local)]
    texts, items = mixed([f"{local:%Y-%m-%d %H:%M:%S}.25" for _, local in certain])
    utc: list[Any] = [f"{dt.datetime.fromtimestamp(at, dt.timezone.utc):%Y-%m-%dT%H:%M:%S}.25" for at, _ in certain]
    expected = [text if item else None for text, item in zip(utc, items, strict=True)]
    assert zoned_text(column(2, MySQLType.TIMESTAMP), texts, zone).to_pylist() == expected


def _is_single(local: dt.datetime) -> bool:
    return local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset()
