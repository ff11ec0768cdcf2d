"""Frame -> CREATE TABLE -> messages -> reference consumer: each value comes back, whatever Arrow types a frame has."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit import Encoder, ReferenceConsumer, table_sql, to_messages

TS = 450_000_000_262_144_000
UTC = dt.timezone.utc
_EPOCH = dt.datetime(1970, 1, 1)
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999))
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_LAST_TIME = dt.timedelta(hours=838, minutes=59, seconds=59)

Case = tuple[pa.DataType, st.SearchStrategy[Any], Callable[[str], Any]]
"""An Arrow type, its values, and what makes a value of a consumer's text."""


def _whole(unit: str) -> Callable[[dt.datetime], dt.datetime]:
    step = dt.timedelta(microseconds=_UNITS[unit])
    return lambda moment: moment - (moment - _EPOCH) % step


def _timestamps(unit: str, zone: str | None) -> Case:
    moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) if unit == "ns" else _MOMENTS
    values = moments.map(_whole(unit))
    if zone is None:
        return pa.timestamp(unit), values, dt.datetime.fromisoformat
    instants = values.map(lambda moment: moment.replace(tzinfo=UTC))
    return pa.timestamp(unit, zone), instants, lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


def _times(unit: str) -> Case:
    step = _UNITS[unit]
    values = st.integers(0, 86_400_000_000 // step - 1).map(
        lambda ticks: (_EPOCH + ticks * dt.timedelta(microseconds=step)).time()
    )
    kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return kind, values, dt.time.fromisoformat


def _span(text: str) -> dt.timedelta:
    sign, hours, minutes, seconds = re.fullmatch(r"(-?)(\d+):(\d\d):([\d.]+)", text).groups()  # type: ignore[union-attr]
    micros = int(Decimal(seconds) * 1_000_000)
    span = dt.timedelta(hours=int(hours), minutes=int(minutes), microseconds=micros)
    return -span if sign else span


def _durations(unit: str) -> Case:
    step = dt.timedelta(microseconds=_UNITS[unit])
    limit = _LAST_TIME // step
    return pa.duration(unit), st.integers(-limit, limit).map(lambda ticks: ticks * step), _span


def _decimals(kind: pa.DataType) -> Case:
    digits = 10**kind.precision - 1
    exact = Context(prec=100)
    return kind, st.integers(-digits, digits).map(lambda whole: exact.scaleb(Decimal(whole), -kind.scale)), Decimal


def _integers(bits: int, *, unsigned: bool = False) -> Case:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return getattr(pa, f"{'u' * unsigned}int{bits}")(), st.integers(low, high), int


def _floats(bits: int) -> Case:
    values = st.floats(allow_nan=False, allow_infinity=False, width=bits)  # type: ignore[arg-type]
    kind = {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}[bits]
    return (
        kind,
        values.map(np.float16) if bits == 16 else values,
        lambda text: float(np.dtype(f"f{max(bits, 32) // 8}").type(text)),
    )


_BOOLS: Case = (pa.bool_(), st.booleans(), lambda text: bool(int(text)))
_DATES: Case = (pa.date32(), st.dates(), dt.date.fromisoformat)
_PLAIN: list[Case] = [
    _BOOLS,
    *(_integers(bits, unsigned=unsigned) for bits in (8, 16, 32, 64) for unsigned in (False, True)),
    *(_floats(bits) for bits in (16, 32, 64)),
    *map(_decimals, (pa.decimal32(9, 3), pa.decimal64(18, 0), pa.decimal128(38, 30), pa.decimal128(5, -3))),
    *map(_decimals, (pa.decimal128(6, 6), pa.decimal256(65, 30), pa.decimal256(40, 2))),
    *((kind, _TEXT, str) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, st.binary(max_size=9), base64.b64decode) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    *((pa.binary(size), st.binary(min_size=size, max_size=size), base64.b64decode) for size in (1, 16, 300)),
    (pa.dictionary(pa.int8(), pa.string()), _TEXT, str),
    _DATES,
    (pa.date64(), st.dates(), dt.date.fromisoformat),
    *(_timestamps(unit, zone) for unit in _UNITS for zone in (None, "UTC", "Asia/Tokyo")),
    *map(_times, _UNITS),
    *map(_durations, _UNITS),
    (pa.null(), st.none(), str),
]  # fmt: skip


def _in_json(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return what a value of the type is in a JSON document (docs/types.md)."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return lambda values: [None if each is None else _in_json(kind.value_type)(each) for each in values]
    if pa.types.is_struct(kind):
        return lambda row: {
            each.name: None if row[each.name] is None else _in_json(each.type)(row[each.name]) for each in kind
        }
    if pa.types.is_map(kind):
        return lambda pairs: {key: None if each is None else _in_json(kind.item_type)(each) for key, each in pairs}
    if pa.types.is_decimal(kind):
        return lambda value: format(value.quantize(Decimal(1).scaleb(-kind.scale)), "f")
    if pa.types.is_timestamp(kind):
        return lambda value: f"{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}{'Z' if kind.tz else ''}"
    if pa.types.is_date(kind):
        return lambda value: value.isoformat()
    return (lambda value: base64.b64encode(value).decode()) if pa.types.is_binary(kind) else lambda value: value


_LEAVES: list[Case] = [
    _BOOLS, _integers(64), _floats(64), _decimals(pa.decimal128(20, 4)), (pa.string(), _TEXT, str),
    (pa.binary(), st.binary(max_size=5), str), _DATES, _timestamps("us", "UTC"), _timestamps("us", None),
]  # fmt: skip


def _nested(leaves: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    def lists(case: Case) -> Case:
        return pa.list_(case[0]), st.lists(st.none() | case[1], max_size=3), str

    def structs(cases: list[Case]) -> Case:
        named = {f"f{place}": case for place, case in enumerate(cases)}
        kind = pa.struct([(name, case[0]) for name, case in named.items()])
        return kind, st.fixed_dictionaries({name: st.none() | case[1] for name, case in named.items()}), str

    def maps(case: Case) -> Case:
        values = st.dictionaries(_TEXT, st.none() | case[1], max_size=3).map(lambda pairs: list(pairs.items()))
        return pa.map_(pa.string(), case[0]), values, str

    return leaves.map(lists) | st.lists(leaves, min_size=1, max_size=3).map(structs) | leaves.map(maps)


_DOCUMENTS = st.recursive(st.sampled_from(_LEAVES), _nested, max_leaves=4).filter(
    lambda case: pa.types.is_nested(case[0])
)


def _sent(rows: pa.Table, protocol: str, keys: str = "id") -> list[dict[str, str | None]]:
    """Return the rows as a consumer has them."""
    schema = table_sql(rows, "s.t", keys=keys)
    uri = f"memory://t?protocol={protocol}&partition-num=1"
    names = rows.schema.names
    after = pa.StructArray.from_arrays([column.combine_chunks() for column in rows.columns], names)
    changes = pa.table({"op": ["c"] * rows.num_rows, "commit_ts": [TS] * rows.num_rows, "after": after})
    consumer = ReferenceConsumer(uri, schema)
    encoder = Encoder(uri, schema)
    for batch in (encoder.bootstrap(), encoder.encode(changes), encoder.watermark(TS)):
        consumer.take_all(to_messages(batch))
    consumer.finish()
    return list(consumer.tables["s", "t"].values())


@settings(max_examples=examples(1000))
@given(st.data(), st.lists(st.sampled_from(_PLAIN), min_size=1, max_size=6), st.sampled_from(["canal-json", "simple"]))
def test_plain_types(data: st.DataObject, cases: list[Case], protocol: str) -> None:
    rows = [data.draw(st.tuples(*(st.none() | case[1] for case in cases))) for _ in range(3)]
    columns = {
        f"c{place}": pa.array([row[place] for row in rows], pa.string() if pa.types.is_dictionary(case[0]) else case[0])
        for place, case in enumerate(cases)
    }
    frame = pa.table({"id": [1, 2, 3], **columns})
    found = _sent(frame, protocol)
    for place, (_, _, read) in enumerate(cases):
        texts = [row[f"c{place}"] for row in found]
        assert [None if text is None else read(text) for text in texts] == [row[place] for row in rows], cases[place][0]


@settings(max_examples=examples(400))
@given(st.data(), _DOCUMENTS)
def test_nested_types(data: st.DataObject, case: Case) -> None:
    kind, values, _ = case
    rows = data.draw(st.lists(st.none() | values, min_size=1, max_size=4))
    found = _sent(pa.table({"id": list(range(len(rows))), "c": pa.array(rows, kind)}), "canal-json")
    texts = [row["c"] for row in found]
    expected = [None if row is None else _in_json(kind)(row) for row in rows]
    assert [None if text is None else json.loads(text) for text in texts] == expected


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.binary(), pa.decimal128(20, 2), pa.timestamp("us"), pa.date32(), pa.bool_()]
)
def test_keys(kind: pa.DataType) -> None:
    _, values, read = (
        next(case for case in _PLAIN if case[0] == kind) if kind in [c[0] for c in _PLAIN] else _decimals(kind)
    )

    @settings(max_examples=examples(100, 5))
    @given(st.lists(values, min_size=1, max_size=4, unique=True))
    def rows_come_back(keys: list[Any]) -> None:
        found = _sent(pa.table({"k": pa.array(keys, kind), "v": list(range(len(keys)))}), "canal-json", "k")
        assert {read(row["k"] or ""): row["v"] for row in found} == {key: str(n) for n, key in enumerate(keys)}

    rows_come_back()


def test_a_polars_frame() -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "name": ["é", None],
            "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
            "size": pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
            "at": [dt.datetime(2024, 5, 5, 1, 2, 3, 456_000), None],
            "took": [dt.timedelta(hours=-30), dt.timedelta(0)],
            "tags": [["x"], []],
        }
    )
    schema = table_sql(frame, "s.t", keys="id")
    changes = frame.select(pl.lit("c").alias("op"), pl.lit(TS).alias("commit_ts"), pl.struct(pl.all()).alias("after"))
    consumer = ReferenceConsumer("memory://t?protocol=canal-json", schema)
    consumer.take_all(to_messages(Encoder("memory://t?protocol=canal-json", schema).encode(changes)))
    consumer.finish()
    first, second = consumer.tables["s", "t"].values()
    assert first == {
        "id": "1", "name": "é", "kind": "a", "size": str(2**64 - 1), "at": "2024-05-05 01:02:03.456000",
        "took": "-30:00:00.000000", "tags": '["x"]',
    }  # fmt: skip
    assert (second["name"], second["tags"]) == (None, "[]")
