"""One total order: the encoder and a changefeed over Arrow send a table's rows alike, in whatever form they come."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import generic, sent, values_of_rows

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import DuplicateChangeError, InvalidValueError, TicdcEmitError, UnsupportedTypeError

URI = "memory://one-order/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
TS = 450_000_000_262_144_000
TEXT, DICTIONARY = pa.string(), pa.dictionary(pa.int32(), pa.string())
IDS = ["100", "9", "10", "-5", "-10", "0"]
BY_VALUE = ["-10", "-5", "0", "9", "10", "100"]
SQL = {
    "int": "id int primary key, v int",
    "big": "id bigint unsigned primary key, v int",
    "decimal": "id decimal(9,2) primary key, v int",
    "double": "id double primary key, v int",
    "none": "id int, v int",
    "floats": "id float, v int",
    "unique": "id int primary key, v int, u int, unique key (u)",
}


@dataclass(frozen=True)
class Case:
    name: str
    table: str
    kind: pa.DataType
    ids: list[Any]
    expected: list[Any]
    more: dict[str, tuple[pa.DataType, list[Any]]] = field(default_factory=dict)


CASES = [
    Case("int", "int", pa.int32(), [int(x) for x in IDS], BY_VALUE),
    Case("text", "int", TEXT, IDS, BY_VALUE),
    Case("signed text", "int", TEXT, ["+7", "06", " 5", "10"], ["5", "6", "7", "10"]),
    Case("large_string", "int", pa.large_string(), IDS, BY_VALUE),
    Case("dictionary", "int", DICTIONARY, IDS, BY_VALUE),
    Case("decimal for bigint unsigned", "big", pa.decimal128(20, 0), [2**64 - 1, 9, 10], ["9", "10", str(2**64 - 1)]),
    Case("text of bigint unsigned", "big", TEXT, [str(2**64 - 1), "9", "10"], ["9", "10", str(2**64 - 1)]),
    Case("decimal text", "decimal", TEXT, ["10.5", "9.50", "-1.5", "-10"], ["-10.00", "-1.50", "9.50", "10.50"]),
    Case("double text", "double", TEXT, ["10.5", "9.5", "-2", "1e1"], ["-2", "9.5", "10", "10.5"]),
    Case("floats without a key", "floats", TEXT, ["10.5", "9.5", None], [None, "9.5", "10.5"]),
    Case("nulls without a key", "none", TEXT, ["10", None, "9"], [None, "9", "10"]),
    Case("twins without a key", "none", TEXT, ["10", "9", "10"], ["9", "10", "10"]),
    *(
        Case(
            f"{name} of {kind}",
            "int",
            TEXT,
            ["1", "2", "3", "4"],
            ["4", "3", "2", "1"],
            {name: (kind, [100 if kind.id == pa.int64().id else "100", value, other, None])},
        )
        for name in ("start_ts", "physical_table_id")
        for kind, value, other in (
            (pa.int64(), 10, 9),
            (TEXT, "10", "9"),
            (pa.large_string(), "10", "9"),
            (DICTIONARY, "10", "9"),
        )
    ),
    Case("null start_ts", "int", TEXT, ["2", "1"], ["1", "2"], {"start_ts": (pa.null(), [None, None])}),
    Case("seq", "int", TEXT, ["1", "9", "10"], ["10", "9", "1"], {"seq": (pa.int64(), [3, 2, 1])}),
    Case(
        "seq in transactions",
        "int",
        TEXT,
        ["1", "9", "10"],
        ["9", "10", "1"],
        {"seq": (pa.int64(), [1, 2, 3]), "start_ts": (TEXT, ["100", "9", "10"])},
    ),
]


def changes(case: Case, seed: int = 0) -> pa.Table:
    places = random.Random(seed).sample(range(len(case.ids)), len(case.ids))
    ids = pa.array([case.ids[place] for place in places], case.kind if case.kind != DICTIONARY else TEXT)
    ids = ids.dictionary_encode() if case.kind == DICTIONARY else ids
    ones = pa.array([1] * len(places), pa.int32())
    columns = {
        "op": pa.array(["c"] * len(places)),
        "commit_ts": pa.array([TS] * len(places)),
        "after": pa.StructArray.from_arrays([ids, ones], ["id", "v"]),
    }
    for name, (kind, values) in case.more.items():
        given = pa.array([values[place] for place in places], kind if kind != DICTIONARY else TEXT)
        columns[name] = given.dictionary_encode() if kind == DICTIONARY else given
    return pa.table(columns)


def by_encoder(sql: str, rows: pa.Table) -> list[bytes]:
    encoder = Encoder(URI, f"create table s.t ({sql})", force_replicate=True)
    return list(encoder.encode(rows).column("value").to_pylist())


def by_feed(sql: str, rows: pa.Table) -> list[bytes]:
    config = load_changefeed(URI, force_replicate=True)
    return values_of_rows(sent(config, f"create table s.t ({sql})", rows)[0])


def ids_of(values: list[bytes]) -> list[Any]:
    return [json.loads(value)["data"][0]["id"] for value in values]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("way", [by_encoder, by_feed])
def test_rows_of_one_commit_go_out_by_value(case: Case, way: Any) -> None:
    for seed in (0, 1):
        assert ids_of(way(SQL[case.table], changes(case, seed))) == case.expected


@pytest.mark.parametrize("has_seq", [False, True])
@pytest.mark.parametrize("start_ts", [None, ["100", "9", "100", "9", None, None]])
def test_splits_keep_one_order(has_seq: bool, start_ts: list[str | None] | None) -> None:
    image = pa.struct([("id", pa.string()), ("v", pa.string()), ("u", pa.string())])
    rows = [("100", "1", "1"), ("9", "2", None), ("10", "3", "4"), ("20", "5", "5"), ("3", "6", "7"), ("30", "8", "8")]
    images = [
        [{"id": key, "v": "1", "u": u} for key, u in ((row[0], row[1 + after]) for row in rows)] for after in (0, 1)
    ]
    table = pa.table(
        {
            "op": ["u"] * 6,
            "commit_ts": [TS] * 6,
            "before": pa.array(images[0], image),
            "after": pa.array(images[1], image),
        }
    )
    if has_seq:
        table = table.append_column("seq", pa.array([6, 5, 4, 3, 2, 1]))
    if start_ts is not None:
        table = table.append_column("start_ts", pa.array(start_ts))
    expected = by_encoder(SQL["unique"], table)
    assert len(expected) == 9
    for seed in range(3):
        shuffled = table.take(random.Random(seed).sample(range(6), 6))
        assert by_encoder(SQL["unique"], shuffled) == by_feed(SQL["unique"], shuffled) == expected


@pytest.mark.parametrize("way", [by_encoder, by_feed])
@pytest.mark.parametrize("name", ["start_ts", "physical_table_id"])
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (pa.array(["9", "x"]), InvalidValueError),
        (pa.array(["9", "1.5"]), InvalidValueError),
        (pa.array([9, 2**63], pa.uint64()), InvalidValueError),
        (pa.array([9.0, 10.0]), UnsupportedTypeError),
        (pa.array([b"9", b"10"]), UnsupportedTypeError),
        (pa.array([True, False]), UnsupportedTypeError),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
def test_what_is_no_number_is_refused(
    way: Any, name: str, given: pa.Array, error: type[TicdcEmitError], step: int
) -> None:
    rows = changes(Case("", "int", TEXT, ["1", "2"], [])).append_column(name, given)
    rows = rows.set_column(1, "commit_ts", pa.array([TS, TS + step]))
    with pytest.raises(error) as refused:
        way(SQL["int"], rows)
    assert (refused.value.table, refused.value.column) == ("s.t", name)


@pytest.mark.parametrize("way", [by_encoder, by_feed])
def test_two_forms_of_one_key_are_one_key(way: Any) -> None:
    with pytest.raises(DuplicateChangeError):
        way(SQL["int"], changes(Case("", "int", TEXT, ["1", "01"], [])))


def test_rows_whose_handle_key_was_dropped_are_no_duplicates() -> None:
    rows = generic([{"op": "c", "commit_ts": TS, "after": {"v": v, "u": v}} for v in range(3)])
    sink = {"column-selectors": [{"matcher": ["s.t"], "columns": ["u", "v"]}]}
    sql = f"create table s.t ({SQL['unique'].replace('u int,', 'u int not null,')})"
    values = values_of_rows(sent(load_changefeed(URI, {"sink": sink}), sql, rows)[0])
    assert sorted(json.loads(value)["data"][0]["u"] for value in values) == ["0", "1", "2"]
