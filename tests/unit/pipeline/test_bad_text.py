"""Text that is not UTF-8 is refused with table and column wherever it comes in; latin1 text is bytes and is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from arrow_feeds import sent, values_of_rows

from ticdc_emit import Encoder
from ticdc_emit.columnar.escape import EASYJSON, GO_STD, JSONITER, JsonWriter, escape_bytes
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import InvalidValueError, TicdcEmitError
from ticdc_emit.schema.catalog import catalog_from_sql

TS = 450_000_000_262_144_000
URI = "memory://bad-text?protocol=canal-json&partition-num=1"
KEYED = "create table s.t (id varchar(9) primary key, c varchar(9))"


def text(*values: bytes | None) -> pa.Array:
    data = [value or b"" for value in values]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
    valid = pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little").tobytes())
    return pa.Array.from_buffers(pa.string(), len(data), [valid, pa.py_buffer(offsets), pa.py_buffer(b"".join(data))])


def by_feed(batch: pa.RecordBatch, schema: str = KEYED) -> list[bytes]:
    return values_of_rows(sent(load_changefeed(URI), schema, batch)[0])


def encoded(batch: pa.RecordBatch, schema: str = KEYED) -> list[bytes]:
    return Encoder(URI, schema).encode(batch).column("value").to_pylist()


RUNS: list[Callable[..., list[bytes]]] = [encoded, by_feed]


def changes(ids: pa.Array, **columns: Any) -> pa.RecordBatch:
    image = pa.StructArray.from_arrays([ids, pa.array(["x"] * len(ids))], ["id", "c"])
    rows = {"op": ["c"] * len(ids), "commit_ts": [TS] * len(ids), "after": image}
    return pa.record_batch(rows | columns)


def kinds(array: pa.Array) -> list[pa.Array]:
    whole = pa.DictionaryArray.from_arrays(pa.array(range(len(array)), pa.int8()), array)
    return [array, array.cast(pa.large_string()), array.cast(pa.string_view()), whole]


@pytest.mark.parametrize("run", RUNS)
def test_a_key(run: Callable[..., list[bytes]]) -> None:
    for array in kinds(text(b"a", b"b\xff", b"c")):
        with pytest.raises(InvalidValueError, match="UTF-8") as caught:
            run(changes(array))
        assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", "id")
        assert caught.value.context["row"]["id"] == b"b\xff"
        assert str(caught.value)


@pytest.mark.parametrize("run", RUNS)
def test_a_key_that_only_names_the_row(run: Callable[..., list[bytes]]) -> None:
    batch = changes(text(b"b\xff"), op=["c"])
    columns = {"op": batch["op"], "commit_ts": batch["commit_ts"]}
    without_image = pa.StructArray.from_arrays([text(b"b\xff"), pa.array(["x"])], ["id", "c"])
    with pytest.raises(TicdcEmitError) as caught:  # an update without its after image
        run(pa.record_batch(columns | {"op": ["u"], "before": without_image, "after": pa.nulls(1, without_image.type)}))
    assert caught.value.context["table"] == "s.t"


@pytest.mark.parametrize("run", RUNS)
def test_an_update_whose_images_are_of_two_types(run: Callable[..., list[bytes]]) -> None:
    before = pa.StructArray.from_arrays([pa.array([b"b\xff"]), pa.array(["x"])], ["id", "c"])
    with pytest.raises(InvalidValueError, match="UTF-8") as caught:
        run(changes(text(b"b"), op=["u"], before=before))
    assert caught.value.context["column"] == "id"


@pytest.mark.parametrize("run", RUNS)
def test_an_operation(run: Callable[..., list[bytes]]) -> None:
    for op in kinds(text(b"c", b"\xff")):
        with pytest.raises(InvalidValueError, match="UTF-8") as caught:
            run(changes(pa.array(["a", "b"]), op=op))
        assert (caught.value.context["column"], caught.value.context["row"]) == ("op", {"position": 1})
        assert "table" in caught.value.context


@pytest.mark.parametrize("run", RUNS)
def test_a_dictionary_may_hold_bad_text_that_no_row_has(run: Callable[..., list[bytes]]) -> None:
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), text(b"c", b"\xff"))
    assert run(changes(pa.array(["a", "b"]), op=unused)) == run(changes(pa.array(["a", "b"])))
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), text(b"a", b"\xff"))
    schema = "create table s.t (id enum('a') primary key, c varchar(9))"
    assert run(changes(hidden.slice(1)), schema) == run(changes(pa.array(["a"])), schema)


@pytest.mark.parametrize("run", RUNS)
def test_labels(run: Callable[..., list[bytes]]) -> None:
    schema = "create table s.t (id enum('a') primary key, c varchar(9))"
    for labels in kinds(text(b"a", b"\xff")):
        with pytest.raises(InvalidValueError, match="UTF-8") as caught:
            run(changes(labels), schema)
        assert caught.value.context["column"] == "id"


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("keys", "items", "column"),
    [
        ((b"id", b"\xff"), (b"a", b"b"), "after"),
        ((b"id", b"c"), (b"a\xff", b"b"), "id"),
        ((b"id", b"c"), (b"a", b"b\xff"), "c"),
    ],
)
def test_maps(run: Callable[..., list[bytes]], keys: Any, items: Any, column: str) -> None:
    for names, values in zip(kinds(text(*keys)), kinds(text(*items)), strict=True):
        image = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), names, values)
        with pytest.raises(InvalidValueError, match="UTF-8") as caught:
            run(pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": image}))
        assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", column)


@pytest.mark.parametrize("column", ["schema", "table", "query"])
def test_rows_that_name_their_table(column: str) -> None:
    names = {"schema": [b"s", b"s"], "table": [b"t", b"t"], "query": [b"create table s.u (id int primary key)", None]}
    names[column][0] = b"\xff"
    arrays = {name: text(*values) for name, values in names.items()}
    for bent in kinds(arrays[column]):
        with pytest.raises(InvalidValueError, match="UTF-8") as caught:
            by_feed(changes(pa.array(["a", "b"]), op=["ddl", "c"], **(arrays | {column: bent})))
        assert (caught.value.context["column"], caught.value.context["row"]) == (column, {"position": 0})


@pytest.mark.parametrize("column", ["schema", "table", "query"])
@pytest.mark.parametrize("array", [pa.array([1]), pa.array([b"x"]), pa.array([["x"]])])
def test_names_that_are_not_text(column: str, array: pa.Array) -> None:
    names = {"schema": pa.array(["s"]), "table": pa.array(["t"]), "query": pa.array(["drop table t"])}
    with pytest.raises(TypeError, match="needs text") as caught:
        by_feed(changes(pa.array(["a"]), op=["ddl"], **(names | {column: array})))
    assert isinstance(caught.value, TicdcEmitError)
    assert caught.value.context["column"] == column


def test_latin1_text_is_taken_as_bytes_even_as_a_key() -> None:
    schema = "create table s.t (id varchar(9) charset latin1 primary key, c varchar(9))"
    for run in RUNS:
        for array in kinds(text(b"a", b"b\xff")):
            values = run(changes(array), schema)
            assert sum(rb'"id":"b\ufffd"' in value for value in values) == 1
    twice = changes(text(b"\xff", b"\xff"))
    for run in RUNS:
        with pytest.raises(TicdcEmitError, match="two changes of one key") as caught:
            run(twice, schema)
        assert caught.value.context["row"] == {"id": b"\xff"}


RAW_TS = 450000000000000000
TABLE = "create table t (a varchar(9) charset latin1 primary key, v varchar(3) charset latin1, u varchar(3))"


def raw_encoded(protocol: str, *rows: dict[str, Any]) -> list[bytes]:
    changes = [{"op": "c", "commit_ts": RAW_TS + place, "after": row} for place, row in enumerate(rows)]
    return Encoder(f"kafka://h:1/t?protocol={protocol}", TABLE).encode(changes).column("value").to_pylist()


@pytest.mark.parametrize("first", ["x", b"x", b"\xfe", bytearray(b"y"), None])
def test_text_and_bytes_mix_in_one_column(first: Any) -> None:
    values = raw_encoded("canal-json", {"a": "k", "v": first, "u": None}, {"a": "l", "v": b"\xff", "u": None})
    assert rb'"v":"\ufffd"' in values[1]


def test_lengths_are_characters_and_a_byte_that_is_none_is_one() -> None:
    raw_encoded("canal-json", {"a": "k", "v": "äöü", "u": None}, {"a": "l", "v": b"\xff\xc3\xa4\xff", "u": None})
    with pytest.raises(InvalidValueError, match="more than 3"):
        raw_encoded("canal-json", {"a": b"\xff", "v": b"\xff\xff\xff\xff", "u": None})


def test_other_character_sets_are_checked() -> None:
    with pytest.raises(InvalidValueError, match="not valid UTF-8"):
        raw_encoded("canal-json", {"a": "k", "v": "x", "u": b"\xff"})
    column = catalog_from_sql("create table t (a char(9) charset ascii)").table("test", "t").column("a")
    with pytest.raises(ValueRefused, match="not valid UTF-8"):
        accept(column, pa.array([b"\xff"]), Rendering())


@pytest.mark.parametrize(
    ("writer", "escaped"),
    [
        (EASYJSON, rb"\u003c\ufffd\u0008\ufffd\ufffd"),
        (GO_STD, rb"\u003c\ufffd\b\ufffd\ufffd"),
        (JSONITER, b"<\xff\\u0008\xc3\xff"),
    ],
)
def test_each_writer(writer: JsonWriter, escaped: bytes) -> None:
    column = catalog_from_sql(TABLE).table("test", "t").column("v")
    raw = accept(column, pa.array([b"\xc3", b"\xa4", None, b"<\xff", b"\x08\xc3\xff", b"ok"], pa.binary()), Rendering())
    shown = escape_bytes(raw, writer).view(pa.binary()).to_pylist()
    assert (shown[3] + shown[4], shown[2], shown[5]) == (escaped, None, b"ok")
    assert shown[:2] == ([b"\xc3", b"\xa4"] if writer is JSONITER else [rb"\ufffd"] * 2)
