"""What callers get wrong around the values is refused by an error of the library that names the place."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import (
    ConfigError,
    DdlError,
    InvalidValueError,
    MissingColumnError,
    MissingImageError,
    SchemaError,
    UnknownTableError,
    UnsupportedTypeError,
)

URI = "memory://x?protocol=canal-json&enable-tidb-extension=true"
SCHEMA = "create table test.t (id int primary key, v varchar(10), w int as (id + 1))"
KEYLESS = "create table test.t (id int, v varchar(10))"
TS = 450_000_000_262_144_000
MOMENT = dt.datetime(2024, 5, 5, 12, 0, 0, 1002, tzinfo=dt.timezone.utc)
MOMENT_TSO = (1714910400001 << 18) + 2 * 262
TEXTS = pa.map_(pa.string(), pa.string())
IMAGE = {"id": 1, "v": "x"}


def insert(**more: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": TS, "after": IMAGE, **more}


def stamps(batch: pa.RecordBatch) -> list[int]:
    return [json.loads(value)["_tidb"]["commitTs"] for value in batch.column("value").to_pylist()]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (insert(commit_ts=-1), "commit_ts"),
        (insert(commit_ts=0), "commit_ts"),
        (insert(commit_ts=1 << 64), "commit_ts"),
        (insert(commit_ts="abc"), "commit_ts"),
        (insert(commit_ts=1.5), "commit_ts"),
        (insert(commit_ts=True), "commit_ts"),
        (insert(commit_ts=None, commit_time=MOMENT.replace(tzinfo=None)), "commit_time"),
        (insert(commit_ts=None, commit_time="2024-05-05"), "commit_time"),
        (insert(commit_ts=None, commit_time=MOMENT.replace(year=1969)), "commit_time"),
        (insert(op=1), "op"),
        (insert(op="x"), "op"),
        (insert(seq="1"), "seq"),
        (insert(seq=1 << 63), "seq"),
        (insert(after=[1, "x"]), "after"),
        (insert(after={**IMAGE, "vv": "x"}), "vv"),
        (insert(after={**IMAGE, 5: "x"}), 5),
        (["c", TS], None),
    ],
)
def test_rows_of_wrong_shape(row: Any, column: str | None) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Encoder(URI, SCHEMA).encode([insert(after={"id": 5, "v": "x"}), row])
    assert caught.value.context.get("column") == column
    assert caught.value.table == "test.t"
    assert caught.value.row["position"] == 1


def test_plain_rows_are_refused_with_the_form_that_is_expected() -> None:
    encoder, plain = Encoder(URI, SCHEMA), {"id": 5, "v": "x"}
    frame = pandas.DataFrame([plain])
    for changes in ([plain], [{"op": "c", "commit_ts": TS, **plain}], frame, pa.Table.from_pandas(frame)):
        with pytest.raises(MissingColumnError, match="plain rows are not row changes: id, v must be") as caught:
            encoder.encode(changes)
        assert (caught.value.table, caught.value.column) == ("test.t", "after")
        assert "pd.DataFrame({'op': 'c', 'commit_ts': tso, 'after': df.to_dict('records')})" in caught.value.remedy
    wrapped = pandas.DataFrame({"op": "c", "commit_ts": TS, "after": frame.to_dict("records")})
    assert encoder.encode(wrapped) == encoder.encode([{"op": "c", "commit_ts": TS, "after": plain}])


def test_a_change_feed_is_refused_with_what_makes_changes_of_it() -> None:
    feed = {"id": 5, "v": "x", "_change_type": "insert", "_commit_version": 1}
    with pytest.raises(MissingColumnError, match="a change feed is not row changes yet") as caught:
        Encoder(URI, SCHEMA).encode(pa.Table.from_pylist([feed]))
    assert "from_changes" in caught.value.remedy


@pytest.mark.parametrize("changes", [None, 5])
def test_changes_that_are_no_collection(changes: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="not a collection"):
        Encoder(URI, SCHEMA).encode(changes)
    with pytest.raises(InvalidValueError, match="not a mapping"):
        Encoder(URI, SCHEMA).encode(insert())


def test_virtual_columns_may_come_and_are_ignored() -> None:
    row = insert(after={**IMAGE, "w": 2})
    one = Encoder(URI, SCHEMA).encode([row])
    assert one.equals(Encoder(URI, SCHEMA).encode([insert()]))
    assert one.equals(Encoder(URI, SCHEMA).encode(pa.Table.from_pylist([row])))


def table(**columns: Any) -> pa.Table:
    made = {"op": pa.array(["c"]), "commit_ts": pa.array([TS]), "after": pa.array([IMAGE]), **columns}
    return pa.table({name: values for name, values in made.items() if values is not None})


@pytest.mark.parametrize("tz", ["UTC", "Asia/Shanghai"])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_commit_time_in_rows_and_in_arrow(unit: str, tz: str) -> None:
    moments = pa.array([MOMENT], pa.timestamp(unit, tz=tz))
    assert stamps(Encoder(URI, SCHEMA).encode(table(commit_ts=None, commit_time=moments))) == [MOMENT_TSO]
    assert stamps(Encoder(URI, SCHEMA).encode([insert(commit_ts=None, commit_time=MOMENT)])) == [MOMENT_TSO]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20, 0)])
def test_commit_ts_of_any_whole_type(kind: pa.DataType) -> None:
    assert stamps(Encoder(URI, SCHEMA).encode(table(commit_ts=pa.array([TS]).cast(kind)))) == [TS]
    assert stamps(Encoder(URI, SCHEMA).encode([insert(commit_ts=np.uint64(TS))])) == [TS]


@pytest.mark.parametrize(
    ("columns", "error", "column"),
    [
        ({"commit_ts": None}, MissingColumnError, "commit_ts"),
        ({"commit_ts": pa.array(["1"])}, UnsupportedTypeError, "commit_ts"),
        ({"commit_ts": pa.array([1.0])}, UnsupportedTypeError, "commit_ts"),
        ({"commit_ts": pa.array([-1])}, InvalidValueError, "commit_ts"),
        ({"commit_ts": pa.array([None], pa.int64())}, InvalidValueError, "commit_ts"),
        (
            {"commit_ts": None, "commit_time": pa.array([MOMENT.replace(tzinfo=None)])},
            UnsupportedTypeError,
            "commit_time",
        ),
        (
            {"commit_ts": None, "commit_time": pa.array([-1], pa.timestamp("s", "UTC"))},
            InvalidValueError,
            "commit_time",
        ),
        (
            {"commit_ts": None, "commit_time": pa.array([1 << 60], pa.timestamp("s", "UTC"))},
            InvalidValueError,
            "commit_time",
        ),
        ({"seq": pa.array(["1"])}, UnsupportedTypeError, "seq"),
        ({"op": pa.array([1])}, UnsupportedTypeError, "op"),
        ({"after": pa.array(["x"])}, UnsupportedTypeError, "after"),
        ({"after": pa.array([{**IMAGE, "vv": 1}])}, InvalidValueError, "vv"),
        ({"after": pa.array([{"id": 1}])}, MissingColumnError, "v"),
        ({"after": pa.array([[("id", "1"), ("v", "x"), ("vv", "1")]], TEXTS)}, InvalidValueError, "vv"),
    ],
)
def test_arrow_of_wrong_shape(columns: dict[str, Any], error: type[Exception], column: str) -> None:
    with pytest.raises(error) as caught:
        Encoder(URI, SCHEMA).encode(table(**columns))
    assert (caught.value.table, caught.value.column) == ("test.t", column)  # type: ignore[attr-defined]


def test_a_seq_that_is_null_throughout_is_none() -> None:
    rows = pa.concat_tables([table(seq=pa.nulls(1)), table(seq=pa.nulls(1), commit_ts=pa.array([TS + 1]))])
    assert stamps(Encoder(URI, SCHEMA).encode(rows.take([1, 0]))) == [TS, TS + 1]


def test_two_columns_of_one_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array(["x"]), pa.array(["y"])], ["id", "v", "v"])
    with pytest.raises(SchemaError, match="two columns with the same name") as caught:
        Encoder(URI, SCHEMA).encode(table(after=twice))
    assert caught.value.column == "v"
    batch = table().to_batches()[0].append_column("op", pa.array(["d"]))
    with pytest.raises(SchemaError, match="two columns with the same name"):
        Encoder(URI, SCHEMA).encode(batch)


def test_a_view_and_an_empty_catalog_have_no_rows() -> None:
    encoder = Encoder(URI, SCHEMA + "; create view test.x as select * from t")
    with pytest.raises(SchemaError, match="view"):
        encoder.encode([insert()], table="test.x")
    assert encoder.encode([insert()]).num_rows == 1
    empty = Encoder(URI, "")
    with pytest.raises(SchemaError, match="no table"):
        empty.encode([insert()])
    with pytest.raises(UnknownTableError, match="Known tables: none"):
        empty.encode([insert()], table="test.t")
    empty.ddl(SCHEMA, TS - 1)
    assert empty.encode([insert()]).num_rows == 1


@pytest.mark.parametrize("query", [None, b"drop table test.t", 5])
def test_ddl_is_text(query: Any) -> None:
    with pytest.raises(DdlError, match="text"):
        Encoder(URI, SCHEMA).ddl(query, TS)


@pytest.mark.parametrize("ts", [-1, 1 << 64, "5", None, 1.0])
def test_control_messages_take_a_tso(ts: Any) -> None:
    encoder = Encoder(URI, SCHEMA)
    with pytest.raises(InvalidValueError, match="TSO"):
        encoder.watermark(ts)
    with pytest.raises(InvalidValueError, match="TSO"):
        encoder.ddl("alter table test.t add column z int", ts)
    assert encoder.catalog.table("test", "t").version == Encoder(URI, SCHEMA).catalog.table("test", "t").version


def test_errors_name_the_row_as_the_caller_has_it() -> None:
    rows = [
        insert(commit_ts=TS + 3, after={"id": 3, "v": "x"}),
        {"op": "d", "commit_ts": TS + 2, "before": {"id": 2, "v": "x"}},
        {"op": "u", "commit_ts": TS + 1, "after": {"id": 7, "v": "x"}},
        insert(commit_ts=TS, after={"id": 1, "v": "x"}),
    ]
    with pytest.raises(MissingImageError, match="an update without its before image") as caught:
        Encoder(URI, SCHEMA).encode(rows)
    assert caught.value.row == {"id": 7, "position": 2}
    rows[2] = {"op": "x", "commit_ts": TS + 1, "before": {"id": 7, "v": "x"}}
    with pytest.raises(InvalidValueError, match="not an operation") as bad:
        Encoder(URI, SCHEMA).encode(rows)
    assert bad.value.row == {"id": 7, "position": 2}
    rows[2] = {"op": "c", "commit_ts": TS + 1}
    with pytest.raises(MissingImageError, match="an insert without its after image") as keyless:
        Encoder(URI, KEYLESS, force_replicate=True).encode(rows)
    assert keyless.value.row == {"position": 2}


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "debezium", "open-protocol"])
def test_floats_are_the_numbers_that_they_stand_for(protocol: str) -> None:
    schema = "create table test.t (id bigint, part decimal(9,2), y year, b bit(9), primary key (id, part))"
    rows = [{"id": key, "part": part, "y": year, "b": 5} for key, part, year in ((9, 0.5, 2024), (10, 0.25, None))]
    moved = {**rows[1], "id": 9, "part": 100.75}
    changes = [
        *({"op": "c", "commit_ts": TS, "before": None, "after": row} for row in rows),
        {"op": "u", "commit_ts": TS + 1, "before": rows[1], "after": moved},
        {"op": "d", "commit_ts": TS + 2, "before": moved, "after": None},
    ]

    def as_type(kind: pa.DataType, convert: Any) -> pa.RecordBatch:
        image = pa.struct([(name, kind) for name in rows[0]])
        parts = [
            {
                **change,
                **{
                    which: change[which] and {name: convert(value) for name, value in change[which].items()}
                    for which in ("before", "after")
                },
            }
            for change in changes
        ]
        columns = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("before", image), ("after", image)])
        uri = f"memory://x?protocol={protocol}"
        return Encoder(uri, schema).encode(pa.Table.from_pylist(parts, columns))

    as_text = as_type(pa.string(), lambda value: None if value is None else str(value))
    assert as_text.num_rows
    assert as_type(pa.float64(), lambda value: value) == as_text
    assert as_type(pa.float32(), lambda value: value) == as_text
    assert Encoder(f"memory://x?protocol={protocol}", schema).encode(changes) == as_text


NULLS_SCHEMA = "create table s.t (id bigint not null primary key, n int not null, v varchar(9))"
NULLS_URI = "memory://nulls?protocol={}&enable-tidb-extension=true"
GOOD, NO_KEY, NO_NUMBER = {"id": 1, "n": 1, "v": None}, {"id": None, "n": 1, "v": None}, {"id": 1, "n": None, "v": None}


def _change(op: str, before: Any, after: Any, step: int = 0) -> dict[str, Any]:
    return {"op": op, "commit_ts": TS + step, "before": before, "after": after}


def _typed(changes: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{name: value for name, value in row.items() if value is not None} for row in changes])


def _maps(changes: list[dict[str, Any]], items: pa.DataType) -> pa.Table:
    def image(values: dict[str, Any] | None) -> list[tuple[str, Any]] | None:
        if values is None:
            return None
        return [(name, None if value is None else str(value)) for name, value in values.items()]

    columns = {name: [row[name] for row in changes] for name in ("op", "commit_ts")}
    kind = pa.map_(pa.string(), items)
    images = {name: pa.array([image(row[name]) for row in changes], kind) for name in ("before", "after")}
    return pa.table({**columns, **images, "schema": ["s"] * len(changes), "table": ["t"] * len(changes)})


def _encode(changes: Any, protocol: str = "canal-json") -> None:
    Encoder(NULLS_URI.format(protocol), NULLS_SCHEMA).encode(changes)


_CHANGES = [
    ("id", [_change("c", None, NO_KEY)]),
    ("n", [_change("c", None, NO_NUMBER), _change("c", None, {**NO_NUMBER, "id": 2}, 1)]),
    ("id", [_change("d", NO_KEY, None)]),
    ("n", [_change("d", NO_NUMBER, None)]),
    ("n", [_change("u", GOOD, NO_NUMBER)]),
    ("n", [_change("u", NO_NUMBER, GOOD)]),
    ("n", [_change("u", NO_NUMBER, NO_NUMBER)]),
]


@pytest.mark.parametrize(("column", "changes"), _CHANGES)
@pytest.mark.parametrize("protocol", ["canal-json", "simple", "debezium"])
def test_python_rows_structs_and_maps(column: str, changes: list[dict[str, Any]], protocol: str) -> None:
    maps = _maps(changes, pa.string())
    for form in (changes, _typed(changes), maps, maps.slice(0, 1)):
        with pytest.raises(InvalidValueError, match="NULL") as caught:
            _encode(form, protocol)
        assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", column)


def test_a_map_of_nulls_only() -> None:
    nothing = [_change("c", None, dict.fromkeys(GOOD))]
    with pytest.raises(InvalidValueError, match="NULL"):
        _encode(_maps(nothing, pa.null()))


def test_a_nullable_column_takes_them() -> None:
    for form in ([_change("c", None, GOOD)], _typed([_change("c", None, GOOD)])):
        _encode(form)


def decoded(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(value) for value in batch.column("value").to_pylist()]


def test_the_clock_is_the_commit_time_unless_told() -> None:
    assert decoded(Encoder(URI, SCHEMA).encode([insert()]))[0]["ts"] == TS >> 18
    assert decoded(Encoder(URI, SCHEMA, build_ts=5).encode([insert()]))[0]["ts"] == 5


def test_no_rows_give_no_messages() -> None:
    encoder = Encoder(URI, SCHEMA)
    assert encoder.encode([]).num_rows == 0
    some = pa.table({"op": ["c"], "commit_ts": [TS], "after": [{"id": 1, "v": "x"}]})
    assert encoder.encode(some.slice(0, 0)).num_rows == 0
    assert encoder.encode(some).num_rows == 1


def test_the_table_must_be_known_and_unambiguous() -> None:
    two = Encoder(URI, SCHEMA + "; create table test.other (id int primary key)")
    with pytest.raises(SchemaError, match="2 tables"):
        two.encode([insert()])
    with pytest.raises(UnknownTableError, match=r"test\.none"):
        two.encode([insert()], table="test.none")
    assert two.encode([insert()], table="test.t").num_rows == 1


def test_other_protocols_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="the protocol canal "):
        Encoder("memory://x?protocol=canal", SCHEMA)


def test_a_negative_zero_in_a_vector_stays_in_the_image_that_has_it() -> None:
    encoder = Encoder(URI, "create table test.t (id int primary key, v vector(2))")
    rows = [{"op": "u", "commit_ts": TS, "before": {"id": 1, "v": [-0.0, 0.0]}, "after": {"id": 1, "v": [0.0, 0.0]}}]
    (message,) = decoded(encoder.encode(rows))
    assert message["old"][0]["v"] == "[-0,0]"
    assert message["data"][0]["v"] == "[0,0]"
