"""Row messages in both encodings: what depends on other rows of a batch, refusals and limits."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from simple_messages import COMMIT_TS, avro_message, codec_of, encoded_rows, row_messages, table_of

from ticdc_emit.errors import InvalidValueError

ENCODINGS = ("json", "avro")
SMALL = "create table test.t (id int primary key, name varchar(10))"
EVERYTHING = """create table test.t (
    id bigint primary key, `Z` tinyint, s smallint unsigned, m mediumint, i int, iu int unsigned, b bigint,
    bu bigint unsigned, f float, d double, n decimal(10,2), w decimal(65,30), bi bit(20), c char(5), v varchar(300),
    txt text, bin binary(3), vb varbinary(300), bl blob, e enum('a','b,c'), st set('x','y'), j json, da date,
    dt datetime(3), ts timestamp(6) null, ti time, y year, vec vector(2), `名` int not null, g int as (i + 1) virtual
)"""
FULL: dict[str, Any] = {
    "id": -1, "Z": -128, "s": 65535, "m": 7, "i": -2147483648, "iu": 4294967295, "b": 1 << 62, "bu": (1 << 64) - 1,
    "f": 0.1, "d": -1e22, "n": "-0.01", "w": "-" + "9" * 35 + "." + "9" * 30, "bi": (1 << 20) - 1, "c": "中文",
    "v": 'a"\\\b\f\n\t\x01\x7f<>&\u2028', "txt": "null", "bin": b"a\0\xff", "vb": bytes(range(256)), "bl": b"",
    "e": "b,c", "st": "x,y", "j": '{"a": "<\\""}', "da": "2024-02-29", "dt": "2024-02-29 01:02:03.456",
    "ts": "2024-02-29 01:02:03.000001", "ti": "-838:59:59", "y": 2155, "vec": "[1,-0.5]", "名": 0,
}  # fmt: skip
EMPTY = dict.fromkeys(FULL) | {"id": 2, "名": -5}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_message_does_not_depend_on_the_rest_of_its_batch(encoding: str) -> None:
    chance = random.Random(5)
    changes = []
    for number in range(120):
        before = dict(chance.choice((FULL, EMPTY)), id=number)
        for name in chance.sample(list(FULL), chance.choice((0, 1, 3, 20))):
            before[name] = chance.choice((FULL, EMPTY))[name]
        after = dict(before)
        for name in chance.sample(["v", "ts", "e", "bu", "dt"], chance.choice((0, 1, 1, 3))):
            after[name] = chance.choice((FULL, EMPTY))[name]
        after["n"] = chance.choice(("1.50", "2.00", None))  # changes in most rows
        changes.append({"op": "u", "before": before, "after": after, "commit_ts": COMMIT_TS + number})
    together = row_messages(EVERYTHING, changes, encoding=encoding)
    assert together == [row_messages(EVERYTHING, [change], encoding=encoding)[0] for change in changes]
    read = avro_message if encoding == "avro" else json.loads
    inserted = row_messages(EVERYTHING, inserts(*(change["after"] for change in changes)), encoding=encoding)
    deleted = row_messages(EVERYTHING, [{"op": "d", "before": each["before"]} for each in changes], encoding=encoding)
    for update, insert, delete in zip(*(map(read, values) for values in (together, inserted, deleted)), strict=True):
        assert (update["type"], insert["type"], delete["type"]) == ("UPDATE", "INSERT", "DELETE")
        assert (update["data"], update["old"]) == (insert["data"], delete["old"])
        assert insert.get("old") is None
        assert delete.get("data") is None


def test_the_wall_clock_is_the_commit_time_where_none_is_given() -> None:
    stamps = [COMMIT_TS + (number << 18) for number in range(3)]
    rows = [{"op": "c", "commit_ts": stamp, "after": {"id": stamp & 7, "name": ""}} for stamp in stamps]
    texts = [json.loads(value) for value in row_messages(SMALL, rows, build_ts=None)]
    natives = [avro_message(value) for value in row_messages(SMALL, rows, build_ts=None, encoding="avro")]
    for read in (texts, natives):
        assert [message["commitTs"] for message in read] == stamps
        assert [message["buildTs"] for message in read] == [stamp >> 18 for stamp in stamps]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nothing_is_shown_where_no_row_has_a_checksum(encoding: str) -> None:
    none = {"corrupted": True, "current": 0, "previous": 0}
    rows = [{"op": "c", "after": {"id": 1, "name": ""}, "checksum": none}]
    assert row_messages(SMALL, rows, enable_row_checksum=True, encoding=encoding) == row_messages(
        SMALL, rows, encoding=encoding
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_row_without_a_checksum_in_utc_is_refused_where_rows_have_one(encoding: str) -> None:
    rows = [{"op": "c", "after": {"id": 1, "ts": "2024-03-31 02:30:00"}}]
    table = "create table test.t (id int primary key, ts timestamp null)"
    assert row_messages(table, rows, zone="Europe/Berlin", encoding=encoding)
    with pytest.raises(InvalidValueError, match="checksum"):
        encoded_rows(table, rows, zone="Europe/Berlin", encoding=encoding, enable_row_checksum=True)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_overhead_bounds_a_message_of_nothing_but_names(encoding: str) -> None:
    name = "<" * 64
    info = replace(table_of(f"create table `{name}` (`{name}` timestamp(6), k int primary key)"), id=1 << 62)
    image = {name: "2024-01-01 00:00:00.000001", "k": -(1 << 31)}
    zone = "America/Argentina/ComodRivadavia"
    (value,) = row_messages(info, [{"op": "u", "before": image, "after": image}], encoding=encoding, zone=zone)
    assert len(value) < codec_of(encoding, location=zone).rows(info).overhead


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoders_pickle(encoding: str) -> None:
    encoder = codec_of(encoding).rows(table_of(SMALL))
    assert pickle.loads(pickle.dumps(encoder)) == encoder
    assert encoder.reads_old


def inserts(*images: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return [{"op": "c", "after": image} for image in images]
