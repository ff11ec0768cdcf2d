"""Whole columns equal a row-by-row reference (``plain_reference``), for any values, nulls and slices."""

from __future__ import annotations

import base64
import datetime as dt
import struct
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_reference import escape as plain_escape
from plain_reference import fixed_float, moment_text, time_text

from ticdc_emit.columnar import times
from ticdc_emit.columnar.assemble import NULL, ObjectLayout, join
from ticdc_emit.columnar.binary_text import base64_text, latin1_json
from ticdc_emit.columnar.escape import EASYJSON, GO_STD, JSONITER, JsonWriter, escape_text
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept, json_content, plain_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

_SPICY = st.text(
    st.one_of(
        st.sampled_from('"\\<>&\n\r\t\b\f\x00\x1f\x7f\u2028\u2029\u2027\u202aâ“€é中😀\ufffda1'),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=12,
)
_SLICES = st.tuples(st.integers(0, 20), st.integers(0, 60))


def _column(kind: MySQLType, flen: int = -1, decimal: int = -1, charset: str = "binary", **more: Any) -> Column:
    return Column(1, "c", kind, flen, decimal, charset, charset, **more)


def _rows(values: st.SearchStrategy[Any], most: int = 60) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values | values | values, max_size=most)


def _cut(array: pa.Array, rows: list[Any], where: tuple[int, int]) -> tuple[pa.Array, list[Any]]:
    start = min(where[0], len(rows))
    return array.slice(start, where[1]), rows[start : start + where[1]]


@pytest.mark.parametrize("writer", [EASYJSON, GO_STD, JSONITER], ids=lambda writer: writer.name)
@given(rows=_rows(_SPICY), where=_SLICES)
def test_escape(writer: JsonWriter, rows: list[str | None], where: tuple[int, int]) -> None:
    array, rows = _cut(pa.array(rows, pa.string()), rows, where)
    expected = [None if row is None else plain_escape(row, writer.name) for row in rows]
    assert escape_text(array, writer).to_pylist() == expected


@pytest.mark.parametrize("writer", [EASYJSON, GO_STD, JSONITER], ids=lambda writer: writer.name)
def test_escape_every_character_beside_every_other(writer: JsonWriter) -> None:
    some = [chr(code) for code in range(0x80)] + ["\u2028", "\u2029", "\u2027", "\u202a", "â", "é", "\ue000", "😀"]
    rows = [left + right for left in some for right in some]
    assert escape_text(pa.array(rows), writer).to_pylist() == [plain_escape(row, writer.name) for row in rows]


_BYTES = st.one_of(
    _rows(st.binary(max_size=12)),
    st.integers(1, 7).flatmap(
        lambda length: _rows(st.one_of(st.just(b""), st.binary(min_size=length, max_size=length)))
    ),
)


@given(rows=_BYTES, where=_SLICES)
def test_latin1_and_base64(rows: list[bytes | None], where: tuple[int, int]) -> None:
    array, rows = _cut(pa.array(rows, pa.binary()), rows, where)
    if array.null_count:
        array = array.take(pa.array(np.arange(len(array))))
    latin = [None if row is None else plain_escape(row.decode("latin-1"), "easyjson") for row in rows]
    assert latin1_json(array, EASYJSON).to_pylist() == latin
    assert base64_text(array).to_pylist() == [None if row is None else base64.b64encode(row).decode() for row in rows]


_DOUBLES = st.one_of(
    st.integers(0, (1 << 64) - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]),
    st.floats(),
    st.integers(-(10**18), 10**18).flatmap(lambda n: st.integers(0, 25).map(lambda p: n / 10**p)),
    st.integers(-1074, 1023).map(lambda power: 2.0**power),
).filter(lambda value: value == value and abs(value) != float("inf"))
_SINGLES = (
    st.one_of(
        st.integers(0, (1 << 32) - 1).map(lambda bits: struct.unpack("<f", struct.pack("<I", bits))[0]),
        st.floats(width=32),
        st.floats(2.0**39, 2.0**57, width=32),
        st.integers(-149, 127).map(lambda power: 2.0**power),
        st.integers(1 << 22, 1 << 24).flatmap(lambda n: st.integers(0, 14).map(lambda p: n / 2.0**p)),
    )
    .filter(lambda value: value == value and abs(value) != float("inf"))
    .map(lambda value: struct.unpack("<f", struct.pack("<f", value))[0])
)


@settings(max_examples=150)
@given(rows=_rows(_DOUBLES), where=_SLICES)
@example(rows=[1e15, 9.999999999999998e15, 1e16, 1e-5, 9.999e-6, 1e-4, -0.0, 0.0, 5e-324, 2.0**-44], where=(0, 60))
def test_double(rows: list[float | None], where: tuple[int, int]) -> None:
    column = _column(MySQLType.DOUBLE)
    array, rows = _cut(pa.array(rows, pa.float64()), rows, where)
    expected = [None if row is None else fixed_float(row, single=False) for row in rows]
    assert plain_text(column, accept(column, array, Rendering())).to_pylist() == expected


@settings(max_examples=150)
@given(rows=_rows(_SINGLES), where=_SLICES)
@example(rows=[1e13, 17592186044416.0, 1e12, 2.0**-12, -(2.0**-12), -0.0, 2.0**-149, 16777217.0], where=(0, 60))
def test_float(rows: list[float | None], where: tuple[int, int]) -> None:
    column = _column(MySQLType.FLOAT)
    rows = [None if row is None else float(np.float32(row)) for row in rows]
    array, rows = _cut(pa.array(rows, pa.float32()), rows, where)
    expected = [None if row is None else fixed_float(row, single=True) for row in rows]
    assert plain_text(column, accept(column, array, Rendering())).to_pylist() == expected


@st.composite
def _decimals(draw: st.DrawFn) -> tuple[int, int, list[Decimal | None]]:
    precision = draw(st.integers(1, 65))
    scale = draw(st.integers(0, min(30, precision)))
    whole = st.integers(0, precision).flatmap(lambda digits: st.integers(-(10**digits) + 1, 10**digits - 1))
    rows = draw(_rows(whole.map(lambda number: Decimal(f"{number}E-{scale}")), 30))
    return precision, scale, rows


def _plain_decimal(value: Decimal, scale: int) -> str:
    number = int(value.scaleb(scale, context=Context(prec=120)))
    digits = str(abs(number)).rjust(scale + 1, "0")
    text = digits[:-scale] + "." + digits[-scale:] if scale else digits
    return ("-" if number < 0 else "") + text


@settings(max_examples=150)
@given(_decimals(), _SLICES)
@example((65, 30, [Decimal("0E-30"), Decimal("1E-30"), Decimal("-1E-30"), Decimal(10**35 - 1)]), (0, 60))
@example((38, 30, [Decimal("0E-30"), Decimal("1E-30"), Decimal("-1E-30"), Decimal("123456E-30")]), (0, 60))
def test_decimal(case: tuple[int, int, list[Decimal | None]], where: tuple[int, int]) -> None:
    precision, scale, rows = case
    column = _column(MySQLType.NEWDECIMAL, precision, scale)
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    array, rows = _cut(pa.array(rows, kind), rows, where)
    expected = [None if row is None else _plain_decimal(row, scale) for row in rows]
    assert plain_text(column, accept(column, array, Rendering())).to_pylist() == expected
    for same in (
        pa.array(expected, pa.string()),
        pa.array(rows, pa.decimal256(76, min(scale + 5, 76 - precision + scale))),
    ):
        assert plain_text(column, accept(column, same, Rendering())).to_pylist() == expected


_ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu"]
_UNIT = {"s": 10**6, "ms": 1000, "us": 1}
_FIRST = -62135596800 + 86400 * 2  # a zone shifts the day: stay inside Python's years
_LAST = 253402300799 - 86400 * 2
_SECONDS = st.one_of(
    st.integers(_FIRST, _LAST),
    st.integers(-5_000_000_000, 5_000_000_000),
    st.sampled_from([1710054000, 1730613600, 1711846800, 1729990800, 515548800, 684867600, 1712415600]).flatmap(
        lambda near: st.integers(near - 7300, near + 7300)
    ),
)


@settings(max_examples=100)
@given(
    seconds=st.lists(st.none() | _SECONDS, max_size=30),
    fraction=st.integers(0, 999_999),
    fsp=st.integers(0, 6),
    unit=st.sampled_from(["s", "ms", "us"]),
    zone=st.sampled_from([None, *_ZONES]),
    where=_SLICES,
)
def test_datetime(
    seconds: list[int | None], fraction: int, fsp: int, unit: str, zone: str | None, where: tuple[int, int]
) -> None:
    digits = min(fsp, {"s": 0, "ms": 3, "us": 6}[unit])
    fraction -= fraction % 10 ** (6 - digits)
    rows = [None if second is None else second * 10**6 + fraction for second in seconds]
    column = _column(MySQLType.DATETIME, 26, fsp)
    ticks = pa.array([None if row is None else row // _UNIT[unit] for row in rows], pa.int64())
    array, rows = _cut(ticks.cast(pa.timestamp(unit, tz="Asia/Tokyo" if zone else None)), rows, where)
    expected = [None if row is None else moment_text(row, fsp, zone) for row in rows]
    assert accept(column, array, Rendering(zone or "UTC")).to_pylist() == expected
    assert accept(column, pa.array(expected, pa.string()), Rendering(zone or "UTC")).to_pylist() == expected
    if zone:
        slow = times._wall_clock_by_row(array, zone)
        assert slow.equals(times._wall_clock(array, zone))


@given(rows=_rows(st.integers(-719162, 2932896)), where=_SLICES)
def test_date(rows: list[int | None], where: tuple[int, int]) -> None:
    array, rows = _cut(pa.array(rows, pa.int32()).cast(pa.date32()), rows, where)
    epoch = dt.date(1970, 1, 1)
    expected = [None if row is None else (epoch + dt.timedelta(days=row)).isoformat() for row in rows]
    column = _column(MySQLType.DATE, 10, 0)
    assert accept(column, array, Rendering()).to_pylist() == expected
    assert accept(column, pa.array(expected, pa.string()), Rendering()).to_pylist() == expected


@given(text=st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True))
def test_calendar(text: str) -> None:
    """Text is a DATE exactly if Python knows the day, or if its day or month is zero."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    try:
        dt.date(year or 2000, month or 1, day or 1)
        good = True
    except ValueError:
        good = False
    column = _column(MySQLType.DATE, 10, 0)
    try:
        taken = accept(column, pa.array([text]), Rendering()).to_pylist() == [text]
    except ValueRefused:
        taken = False
    if not (month == 2 and day == 29 and year % 4 == 0) and (month or day <= 31):
        assert taken == good


_MOST = 3020399 * 10**6


@given(
    rows=_rows(st.integers(-_MOST, _MOST) | st.integers(-2 * 10**6, 2 * 10**6)),
    fsp=st.integers(0, 6),
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    where=_SLICES,
)
def test_time(rows: list[int | None], fsp: int, unit: str, where: tuple[int, int]) -> None:
    step = 10 ** (6 - min(fsp, {"s": 0, "ms": 3, "us": 6, "ns": 6}[unit]))
    rows = [None if row is None else row // step * step for row in rows]
    rows = [None if row is None else max(row, -_MOST) for row in rows]
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = pa.array([None if row is None else row * scale // 10**6 for row in rows], pa.int64())
    array, rows = _cut(ticks.cast(pa.duration(unit)), rows, where)
    expected = [None if row is None else time_text(row, fsp) for row in rows]
    column = _column(MySQLType.DURATION, 17, fsp)
    assert accept(column, array, Rendering()).to_pylist() == expected
    assert accept(column, pa.array(expected, pa.string()), Rendering()).to_pylist() == expected


_LABELS = st.lists(st.text("abcABC é中'\\<", min_size=1, max_size=4), min_size=1, max_size=12, unique=True)


@given(labels=_LABELS, data=st.data())
def test_enum_and_set(labels: list[str], data: st.DataObject) -> None:
    enum = _column(MySQLType.ENUM, charset="utf8mb4", elems=tuple(labels))
    picks = data.draw(_rows(st.integers(1, len(labels))))
    texts = [None if pick is None else labels[pick - 1] for pick in picks]
    expected = [None if pick is None else str(pick) for pick in picks]
    for array in (pa.array(texts, pa.string()), pa.array(picks, pa.int32())):
        for bent in (array, array.dictionary_encode()):
            numbers = accept(enum, bent, Rendering())
            assert json_content(enum, numbers, EASYJSON).to_pylist() == expected
            assert label_text(enum, numbers).to_pylist() == texts
    plain = _column(MySQLType.SET, charset="utf8mb4", elems=tuple(labels))
    masks = data.draw(_rows(st.integers(0, (1 << len(labels)) - 1)))
    joined = [
        None if mask is None else ",".join(label for place, label in enumerate(labels) if mask >> place & 1)
        for mask in masks
    ]
    for array in (pa.array(joined, pa.string()), pa.array(masks, pa.uint64())):
        numbers = accept(plain, array, Rendering())
        assert plain_text(plain, numbers).to_pylist() == [None if mask is None else str(mask) for mask in masks]
        assert label_text(plain, numbers).to_pylist() == joined


@given(bits=st.integers(1, 64), data=st.data())
def test_bit(bits: int, data: st.DataObject) -> None:
    column = _column(MySQLType.BIT, bits)
    rows = data.draw(_rows(st.integers(0, (1 << bits) - 1)))
    expected = [None if row is None else str(row) for row in rows]
    minimal = [None if row is None else row.to_bytes(max((row.bit_length() + 7) // 8, 1), "big") for row in rows]
    full = [None if row is None else row.to_bytes(8, "big") for row in rows]
    for array in (
        pa.array(rows, pa.uint64()),
        pa.array(minimal, pa.binary()),
        pa.array(full, pa.binary(8)),
        pa.array(rows, pa.decimal128(20, 0)),
        pa.array(expected, pa.string()),
    ):
        assert plain_text(column, accept(column, array, Rendering())).to_pylist() == expected


@given(data=st.data(), members=st.integers(0, 6), count=st.integers(1, 20))
def test_objects(data: st.DataObject, members: int, count: int) -> None:
    """Full and sparse JSON objects, with any pattern of nulls and hidden members, quoted or bare."""
    texts = [
        data.draw(st.lists(st.none() | st.text("xyz", max_size=3), min_size=count, max_size=count))
        for _ in range(members)
    ]
    shown = [data.draw(st.lists(st.booleans(), min_size=count, max_size=count)) for _ in range(members)]
    around = [data.draw(st.sampled_from([(b'"', b'"'), (b"", b""), (b'{"v":"', b'"}')])) for _ in range(members)]
    behind = [data.draw(st.sampled_from([b"", b"}"])) for _ in range(members)]
    layout = ObjectLayout(tuple(b'"m%d":' % place for place in range(members)), tuple(around), tuple(behind) or (b"",))
    arrays = [pa.array(column, pa.string()) for column in texts]

    def plain(row: int, sparse: bool) -> bytes:
        items = []
        for place in range(members):
            if sparse and not shown[place][row]:
                continue
            text = texts[place][row]
            value = b"null" if text is None else text.encode().join(around[place])
            items.append(b'"m%d":' % place + value + behind[place])
        return b"{" + b",".join(items) + b"}"

    full = join(layout.fragments(arrays), count, NULL).to_pylist()
    assert full == [plain(row, sparse=False) for row in range(count)]
    if members:
        hidden = [
            pa.array([t if s else "" for t, s in zip(column, seen, strict=True)], pa.string())
            for column, seen in zip(texts, shown, strict=True)
        ]
        sparse = join(layout.sparse_fragments(hidden, [np.array(seen) for seen in shown]), count, NULL).to_pylist()
        assert sparse == [plain(row, sparse=True) for row in range(count)]
