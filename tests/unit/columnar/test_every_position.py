"""docs/types.md is true in every position: each Arrow type that a line lists is taken, in whatever layout Arrow has.

Layouts: plain, sliced, dictionaries (with every type of index, NULL in the indices or in the dictionary), run-end
encoded, and dictionaries of run-end encoded images. Positions: columns of the images, the key, the images themselves,
and the columns that name operation, order, table and statement; in ``Encoder.encode`` and in ``ArrowBatch``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import sent, values_of_rows
from column_samples import COLUMNS, DECLARED, SAMPLES, shown
from documented_types import LISTED, MAKERS
from hypothesis_profiles import sample

from ticdc_emit.config import load_changefeed
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import TicdcEmitError, UnsupportedTypeError

TS = 450_000_000_262_144_000
URI = "memory://positions?protocol=canal-json&partition-num=1"
INDICES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
Layout = Callable[[pa.Array], pa.Array]


def _dictionary(index: pa.DataType, array: pa.Array) -> pa.Array:
    """The array is the dictionary: its NULLs are NULLs in it, and its first value is used twice."""
    return pa.DictionaryArray.from_arrays(pa.array(range(len(array)), index), array)


def _run_ends(kind: pa.DataType, array: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), kind), array)


def _sliced(layout: Layout, array: pa.Array) -> pa.Array:
    doubled = layout(pa.concat_arrays([array, array]))
    return doubled.slice(len(array), len(array))


LAYOUTS: dict[str, Layout] = {
    "plain": lambda array: array,
    **{f"dictionary<{index}>": lambda array, index=index: _dictionary(index, array) for index in INDICES},
    **{f"run_ends<{kind}>": lambda array, kind=kind: _run_ends(kind, array) for kind in INDICES[1:4]},
    "run_ends<dictionary>": lambda array: _run_ends(pa.int32(), _dictionary(pa.int16(), array)),
    "dictionary<run_ends>": lambda array: _dictionary(pa.int8(), _run_ends(pa.int32(), array)),
}
_SLICED = {f"sliced {name}": lambda array, layout=layout: _sliced(layout, array) for name, layout in LAYOUTS.items()}
ALL_LAYOUTS: dict[str, Layout] = {**LAYOUTS, **_SLICED}


def _arrow_name(kind: pa.DataType) -> str:
    """Return what docs/types.md calls an Arrow type."""
    if pa.types.is_timestamp(kind):
        return "timestamp_tz" if kind.tz else "timestamp"
    name = str(kind).partition("(")[0].partition("[")[0].partition("<")[0]
    names = {"halffloat": "float16", "float": "float32", "double": "float64", "date32": "date32", "date64": "date64"}
    return names.get(name, name)


def _struct(ids: list[int], values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(ids, pa.int32()), values], ["id", "c"])


def _changes(rows: pa.Array, image: Layout, start: int = TS) -> pa.RecordBatch:
    """Return the insert, the update (to the value of the row before) and the delete of each value."""
    count = len(rows)
    ids = list(range(count))
    images = _struct(ids, rows)
    columns = {
        "op": pa.array(["c"] * count + ["u"] * count + ["d"] * count),
        "commit_ts": pa.array(range(start, start + 3 * count)),
        "before": image(_joined([None, images, images])),
        "after": image(_joined([images, images, None])),
    }
    return pa.record_batch(columns)


def _joined(parts: list[pa.Array | None]) -> pa.Array:
    """Return the images, one after the other, by indices: no kernel of Arrow puts views together."""
    images = next(part for part in parts if part is not None)
    places = [None if part is None else place for part in parts for place in range(len(images))]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), images)


def _as_it_is(array: pa.Array) -> pa.Array:
    return array


def _plain_struct(image: pa.Array) -> pa.Array:
    """Return a dictionary of images as the struct of the dictionaries of its columns."""
    fields = [pa.DictionaryArray.from_arrays(image.indices, field) for field in image.dictionary.flatten()]
    return pa.StructArray.from_arrays(
        fields, [field.name for field in image.dictionary.type], mask=image.indices.is_null()
    )


def _values(messages_of_rows: list[bytes]) -> list[str | None]:
    """Return the column ``c`` of each message."""
    return [json.loads(value)["data"][0]["c"] for value in messages_of_rows]


def _sent(schema: str, *batches: pa.RecordBatch) -> list[bytes]:
    return values_of_rows(sent(load_changefeed(URI), schema, list(batches))[0])


def _arrays(mysql: str) -> Iterator[tuple[pa.Array, list[str | None]]]:
    """Yield an array of each listed type, and its texts; the second value is NULL."""
    samples = [each for each in SAMPLES if each.mysql == mysql]
    for each in samples:
        yield (
            each.array([each.values[0], None, *each.values[1:]]),
            [None if text is None else json.loads(f'"{text}"') for text in (each.texts[0], None, *each.texts[1:])],
        )
    for name in sorted(LISTED[mysql] - {_arrow_name(each.type) for each in samples}):
        one = MAKERS[name](mysql)
        array = pa.array([one[0].as_py(), None], one.type)
        yield array, [None if text is None else json.loads(f'"{text}"') for text in shown(COLUMNS[mysql], array)]


def _some(place: int) -> dict[str, Layout]:
    """Return a few layouts, others for each place."""
    names = list(ALL_LAYOUTS)
    chosen = sample(["plain", *(names[(place * 7 + step * 11) % len(names)] for step in range(2))], 2)
    return {name: ALL_LAYOUTS[name] for name in chosen}


@pytest.mark.parametrize("mysql", COLUMNS)
def test_columns(mysql: str) -> None:
    schema = f"create table s.t (id int primary key, c {DECLARED.get(mysql, mysql)})"
    encoder = Encoder(URI, schema)
    for place, (array, texts) in enumerate(_arrays(mysql)):
        for number, (name, layout) in enumerate(_some(place).items()):
            batch = _changes(layout(array), _plain_struct if number % 2 else _as_it_is)
            where = f"{array.type} as {name}"
            assert _values(encoder.encode(batch).column("value").to_pylist()) == texts * 3, where
    assert _values(_sent(schema, batch)) == texts * 3, where


@pytest.mark.parametrize("layout", sample(list(ALL_LAYOUTS), 2))
@pytest.mark.parametrize(("declared", "kind"), [("varchar(9)", pa.string_view()), ("enum('a','b')", pa.large_string())])
def test_layouts_of_text(declared: str, kind: pa.DataType, layout: str) -> None:
    schema = f"create table s.t (id int primary key, c {declared})"
    rows = [pa.array(each, kind) for each in (["a", None, "b", "b"], ["b", "a", None, "a"])]
    plain = [_changes(each, _as_it_is, TS + 50 * place) for place, each in enumerate(rows)]
    expected = [value for batch in plain for value in Encoder(URI, schema).encode(batch).column("value").to_pylist()]
    bent = [_changes(ALL_LAYOUTS[layout](each), _plain_struct, TS + 50 * place) for place, each in enumerate(rows)]
    assert _sent(schema, *bent) == expected
    assert Encoder(URI, schema).encode(pa.Table.from_batches(bent)).column("value").to_pylist() == expected


_KEYS = [
    name
    for name in COLUMNS
    if name not in ("JSON", "VECTOR") and not name.endswith(("TEXT", "BLOB"))  # what MySQL takes as a key as it is
]


@pytest.mark.parametrize("mysql", _KEYS)
def test_keys(mysql: str) -> None:
    """Keys order the changes of one commit_ts and tell them apart, in any layout."""
    schema = f"create table s.t (c {DECLARED.get(mysql, mysql)} not null primary key, id int)"
    encoder = Encoder(URI, schema)
    for place, (array, texts) in enumerate(_arrays(mysql)):
        keys = pa.array([value for value in array.to_pylist() if value is not None], array.type)
        expected = sorted(text for text in texts if text is not None)
        if len(set(expected)) < len(expected):
            continue  # one key in two spellings
        for name, layout in _some(place).items():
            columns = {"op": ["c"] * len(keys), "commit_ts": [TS] * len(keys)}
            batch = pa.record_batch(columns | {"after": _struct(list(range(len(keys))), layout(keys))})
            found = _values(encoder.encode(batch).column("value").to_pylist())
            assert sorted(map(str, found)) == expected, f"{array.type} as {name}"
        shown_texts = expected
    assert sorted(map(str, _values(_sent(schema, batch)))) == shown_texts


_PLAIN = {
    "op": pa.array(["c", "UPDATE", "d", "c"]),
    "commit_ts": pa.array([TS, TS + 1, TS + 2, TS + 2]),
    "seq": pa.array([None, 1, 2, 3]),
    "start_ts": pa.array([TS - 1, TS, TS + 1, TS + 1]),
    "physical_table_id": pa.array([5, 5, 6, None]),
}
_IMAGES = {
    "before": pa.array([None, {"id": 1, "c": "é"}, {"id": 2, "c": None}, None]),
    "after": pa.array([{"id": 1, "c": "é"}, {"id": 1, "c": "b"}, None, {"id": 3, "c": ""}]),
}
_SCHEMA = "create table s.t (id int primary key, c varchar(9))"


@pytest.mark.parametrize("layout", sample(list(ALL_LAYOUTS), 2))
def test_columns_that_name_the_change(layout: str) -> None:
    plain = pa.record_batch(_PLAIN | _IMAGES)
    expected = Encoder(URI, _SCHEMA).encode(plain).column("value").to_pylist()
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        columns = _PLAIN | {"op": _PLAIN["op"].cast(kind)}
        bent = pa.record_batch({name: ALL_LAYOUTS[layout](array) for name, array in columns.items()} | _IMAGES)
        assert Encoder(URI, _SCHEMA).encode(bent).column("value").to_pylist() == expected
        assert _sent(_SCHEMA, bent) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_moments_and_checksums(layout: str) -> None:
    moments = pa.array([1_700_000_000_000, 1_700_000_000_001], pa.timestamp("ms", tz="UTC"))
    given = pa.array([{"corrupted": False, "version": 1}, None])
    rows = {"op": ["c", "c"], "after": [{"id": 1, "c": "a"}, {"id": 2, "c": None}]}
    plain = pa.record_batch(rows | {"commit_time": moments, "checksum": given})
    bent = pa.record_batch(
        rows | {"commit_time": LAYOUTS[layout](moments), "checksum": _members(given, LAYOUTS[layout])}
    )
    encoder = Encoder(URI, _SCHEMA)
    assert encoder.encode(bent).equals(encoder.encode(plain))
    assert _sent(_SCHEMA, bent) == encoder.encode(plain).column("value").to_pylist()


def _members(array: pa.Array, layout: Layout) -> pa.Array:
    fields = [layout(field) for field in array.flatten()]
    return pa.StructArray.from_arrays(fields, [field.name for field in array.type], mask=array.is_null())


_WORDS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("layout", sample(list(ALL_LAYOUTS), 2))
@pytest.mark.parametrize("images", ["struct", "map"])
def test_rows_that_name_their_table(layout: str, images: str) -> None:
    """Rows of several tables with DDL among them: schema, table and query in every layout."""
    names = {
        "op": pa.array(["c", "ddl", "u", "c"]),
        "schema": pa.array(["s", "s", "s", "s"]),
        "table": pa.array(["t", None, "t", "t"]),
        "query": pa.array([None, "create table u (id int primary key, c varchar(9))", None, None]),
    }
    after = [{"id": "1", "c": "é"}, None, {"id": "1", "c": None}, {"id": "3", "c": ""}]
    before = [None, None, {"id": "1", "c": "é"}, None]
    times = {"commit_ts": pa.array([TS, TS + 1, TS + 2, TS + 3])}

    def rows(bend: Layout, kind: pa.DataType) -> pa.RecordBatch:
        text = pa.map_(kind, kind) if images == "map" else pa.struct([("id", kind), ("c", kind)])
        plain_kind = pa.map_(pa.string(), pa.string()) if images == "map" else None
        found = {}
        for name, values in (("before", before), ("after", after)):
            mapped = [None if each is None else list(each.items()) for each in values] if images == "map" else values
            found[name] = pa.array(mapped, plain_kind).cast(text)
        return pa.record_batch({name: bend(each.cast(kind)) for name, each in names.items()} | times | found)

    expected = _sent(_SCHEMA, rows(_as_it_is, pa.string()))
    assert len(expected) == 3
    for kind in _WORDS:
        assert _sent(_SCHEMA, rows(ALL_LAYOUTS[layout], kind)) == expected, kind


@pytest.mark.parametrize("layout", sample(list(ALL_LAYOUTS), 2))
@pytest.mark.parametrize("image", ["struct", "map"])
def test_images(layout: str, image: str) -> None:
    """The images themselves, too, may be run-end encoded or a dictionary; so may a map's keys and items."""
    bend = ALL_LAYOUTS[layout]
    changes = {"op": ["c", "c"], "commit_ts": [TS, TS + 1]}
    plain = pa.array([{"id": "1", "c": "é"}, {"id": "2", "c": None}])
    expected = Encoder(URI, _SCHEMA).encode(pa.record_batch(changes | {"after": plain})).column("value").to_pylist()
    if image == "map":
        keys, items = pa.array(["id", "c", "c", "id"]), pa.array(["1", "é", None, "2"])
        plain = pa.MapArray.from_arrays(pa.array([0, 2, 4], pa.int32()), keys, items)
    batches = [pa.record_batch(changes | {"after": bend(plain)})]
    if image == "map":
        for kind in _WORDS:
            bent = pa.MapArray.from_arrays(
                pa.array([0, 2, 4], pa.int32()), bend(keys.cast(kind)), bend(items.cast(kind))
            )
            batches.append(pa.record_batch(changes | {"after": bent}))
    for batch in batches:
        assert Encoder(URI, _SCHEMA).encode(batch).column("value").to_pylist() == expected
        assert _sent(_SCHEMA, batch) == expected


def _odd_arrays() -> dict[str, pa.Array]:
    sparse = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    return {
        "union": sparse,
        "list_view": pa.array([[1.0, 2.0]], pa.list_view(pa.float32())),
        "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        "list<dictionary>": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["1"]).dictionary_encode()),
        "list<string_view>": pa.array([["1"]], pa.list_(pa.string_view())),
        "struct<string_view>": pa.array([{"a": "1"}], pa.struct([("a", pa.string_view())])),
    }


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        (name, layout)
        for name in _odd_arrays()
        for layout in ("plain", "run_ends<int32>", "dictionary<int8>")
        if layout == "plain" or name != "union"  # which Arrow has in no other layout
    ],
)
def test_refused_types(name: str, layout: str) -> None:
    array = _odd_arrays()[name]
    bent = LAYOUTS[layout](array)
    in_json = name in ("list<dictionary>", "list<string_view>", "struct<string_view>")
    for declared in ("varchar(9)", "int", "vector(2)", "binary(16)", *([] if in_json else ["json"])):
        schema = f"create table s.t (id int primary key, c {declared})"
        batch = pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": _struct([1], bent)})
        for run in (Encoder(URI, schema).encode, lambda batch, schema=schema: _sent(schema, batch)):
            with pytest.raises(UnsupportedTypeError) as caught:
                run(batch)
            assert caught.value.context["column"] == "c"
            assert caught.value.context["table"] in ("s.t", "the changefeed")


def test_an_extension_type_is_its_storage() -> None:
    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16)))
    document = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}']))
    for declared, array in (("binary(16)", uuid), ("json", document)):
        schema = f"create table s.t (id int primary key, c {declared})"
        extended, plain = (
            pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": _struct([1], each)})
            for each in (array, array.storage)
        )
        expected = Encoder(URI, schema).encode(plain)
        assert Encoder(URI, schema).encode(extended) == expected
        assert _sent(schema, extended) == _sent(schema, plain)


@pytest.mark.parametrize("column", ["op", "commit_ts", "seq", "before", "after", "start_ts"])
@pytest.mark.parametrize("name", _odd_arrays())
def test_refused_types_of_other_columns(column: str, name: str) -> None:
    array = _odd_arrays()[name]
    columns: dict[str, Any] = {"op": ["c"], "commit_ts": [TS], "after": [{"id": 1, "c": "x"}]} | {column: array}
    batch = pa.record_batch(columns)
    for run in (Encoder(URI, _SCHEMA).encode, lambda batch: _sent(_SCHEMA, batch)):
        with pytest.raises(TicdcEmitError) as caught:
            run(batch)
        assert "table" in caught.value.context
