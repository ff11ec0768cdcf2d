"""Lists, structs and maps as JSON: every value comes back from the text, and what has no JSON is refused by row."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit import Encoder
from ticdc_emit.columnar.nested_json import document, nested_json
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.errors import InvalidValueError, UnsupportedTypeError

URI = "memory://t?protocol=canal-json"
SCHEMA = "create table s.t (id int primary key, c json)"
TS = 450_000_000_262_144_000
UTC = dt.timezone.utc
_MOMENT = dt.datetime(2024, 5, 5, 12, 34, 56, 789_000)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.list_(pa.int8()), [1, None, -3], "[1, null, -3]"),
        (pa.large_list(pa.float32()), [0.5], "[0.5]"),
        (pa.list_(pa.float16(), 2), [1.5, 2.0], "[1.5, 2.0]"),
        (pa.list_(pa.bool_()), [True, False], "[true, false]"),
        (pa.list_(pa.uint64()), [2**64 - 1], "[18446744073709551615]"),
        (pa.list_(pa.decimal128(38, 4)), [Decimal("1.1000")], '["1.1000"]'),
        (pa.list_(pa.decimal256(50, 0)), [Decimal(10) ** 49], f'["1{"0" * 49}"]'),
        (pa.list_(pa.date32()), [dt.date(2024, 5, 5)], '["2024-05-05"]'),
        (pa.list_(pa.time64("us")), [dt.time(1, 2, 3)], '["01:02:03.000000"]'),
        (pa.list_(pa.timestamp("us")), [_MOMENT], '["2024-05-05 12:34:56.789000"]'),
        (pa.list_(pa.timestamp("us", "Asia/Tokyo")), [_MOMENT.replace(tzinfo=UTC)], '["2024-05-05 12:34:56.789000Z"]'),
        (pa.list_(pa.binary()), [b"\x00\xff"], '["AP8="]'),
        (pa.list_(pa.string_view()), ["é\n"], '["é\\n"]'),
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), ["a"], '["a"]'),
        (pa.list_(pa.null()), [None], "[null]"),
        (pa.struct([("b", pa.int8()), ("a", pa.list_(pa.int8()))]), {"b": 1, "a": [2]}, '{"b": 1, "a": [2]}'),
        (pa.map_(pa.string(), pa.int8()), [("b", 1), ("a", None)], '{"b": 1, "a": null}'),
        (pa.map_(pa.int32(), pa.string()), [(1, "x")], '{"1": "x"}'),
        (pa.map_(pa.date32(), pa.struct([("a", pa.int8())])), [(_MOMENT.date(), {"a": 1})], '{"2024-05-05": {"a": 1}}'),
        (pa.list_(pa.list_(pa.list_(pa.int8()))), [[[1], []], None], "[[[1], []], null]"),
    ],
)  # fmt: skip
def test_texts(kind: pa.DataType, value: Any, text: str) -> None:
    array = pa.array([None, value, None, value], kind)
    assert nested_json(array).to_pylist() == [None, text, None, text]
    assert nested_json(array[1:3]).to_pylist() == [text, None]


_LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"))


@given(st.lists(st.none() | st.lists(st.text(st.characters(codec="utf-8")) | st.none())))
def test_lists_of_text_come_back(values: list[list[str | None] | None]) -> None:
    texts = nested_json(pa.array(values, pa.list_(pa.string()))).to_pylist()
    assert [None if text is None else json.loads(text) for text in texts] == values


@given(st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=9))
def test_documents_come_back(value: Any) -> None:
    assert json.loads(document(value)) == value


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.duration("us")),
        pa.list_(pa.month_day_nano_interval()),
        pa.map_(pa.binary(), pa.int8()),
        pa.map_(pa.list_(pa.int8()), pa.int8()),
        pa.struct([pa.field("a", pa.int8()), pa.field("a", pa.int8())]),
        pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]),
    ],
)
def test_types_without_json(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match=r"no JSON|same name"):
        nested_json(pa.nulls(1, kind))


def test_values_without_json_name_their_rows() -> None:
    with pytest.raises(ValueRefused, match="NaN and infinity") as refused:
        nested_json(pa.array([[1.0], [float("nan")], None, [float("inf")]]))
    assert refused.value.index == 1
    with pytest.raises(ValueRefused, match="duplicate key") as refused:
        nested_json(pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int8())))
    assert refused.value.index == 1


def _sent(changes: Any) -> list[str]:
    batch = Encoder(URI, SCHEMA).encode(changes)
    return [json.loads(value)["data"][0]["c"] for value in batch.column("value").to_pylist()]


def test_a_json_column_accepts_nested_values_in_tidbs_form() -> None:
    kind = pa.struct([("z", pa.list_(pa.float64())), ("a", pa.map_(pa.string(), pa.decimal128(5, 2)))])
    values = [{"z": [1.0, 1e20], "a": [("k", Decimal("1.50"))]}, None]
    after = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(values, kind)], ["id", "c"])
    batch = pa.record_batch({"op": ["c", "c"], "commit_ts": [TS, TS], "after": after})
    assert _sent(batch) == ['{"a": {"k": "1.50"}, "z": [1.0, 1e20]}', None]


def test_updates_of_nested_values() -> None:
    kind = pa.list_(pa.int64())
    before, after = (
        pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(values, kind)], ["id", "c"])
        for values in ([[1], [2]], [[1], [3]])
    )
    batch = pa.record_batch({"op": ["u", "u"], "commit_ts": [TS, TS], "before": before, "after": after})
    values = Encoder(URI, SCHEMA).encode(batch).column("value").to_pylist()
    assert [(json.loads(value)["old"][0]["c"], json.loads(value)["data"][0]["c"]) for value in values] == [
        ("[1]", "[1]"),
        ("[2]", "[3]"),
    ]


def test_python_rows_keep_each_document_as_it_is() -> None:
    documents: list[Any] = [{"a": 1}, {"b": [1, {"c": Decimal("1.0")}]}, [1, 2], (3,), '{"x": 1}', b"[1]", None]
    rows = [{"op": "c", "commit_ts": TS, "after": {"id": number, "c": each}} for number, each in enumerate(documents)]
    assert _sent(rows) == ['{"a": 1}', '{"b": [1, {"c": "1.0"}]}', "[1, 2]", "[3]", '{"x": 1}', "[1]", None]


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": object()}, 5, {(1, 2): 3}])
def test_python_values_without_json(value: Any) -> None:
    with pytest.raises(InvalidValueError, match="JSON"):
        _sent([{"op": "c", "commit_ts": TS, "after": {"id": 1, "c": value}}])


def test_a_list_for_another_column_is_refused() -> None:
    after = pa.StructArray.from_arrays([pa.array([1]), pa.array([["a"]])], ["id", "c"])
    batch = pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": after})
    with pytest.raises(UnsupportedTypeError, match="VARCHAR"):
        Encoder(URI, "create table s.t (id int primary key, c varchar(9))").encode(batch)
