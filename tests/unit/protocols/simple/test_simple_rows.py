"""Row messages in both encodings: exact bytes of small ones, every type, and what depends on other rows of a batch."""

from __future__ import annotations

import base64
import json
import pickle
import random
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from simple_messages import COMMIT_TS, avro_message, codec_of, encoded_rows, row_messages, table_of

from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.schema.model import Partition

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
TEXTS = FULL | {
    "id": "-1", "Z": "-128", "s": "65535", "m": "7", "i": "-2147483648", "iu": "4294967295", "b": str(1 << 62),
    "bu": str((1 << 64) - 1), "f": "0.1", "d": "-10000000000000000000000", "bi": "1048575", "bin": "YQD/",
    "vb": base64.b64encode(bytes(range(256))).decode(), "bl": "", "e": "2", "st": "3", "y": "2155", "名": "0",
    "ts": {"location": "Asia/Shanghai", "value": "2024-02-29 01:02:03.000001"},
}  # fmt: skip
RECORD = "com.pingcap.simple.avro."
NATIVE = FULL | {
    "bu": (RECORD + "UnsignedBigint", {"value": -1}),
    "f": struct.unpack("<f", struct.pack("<f", 0.1))[0],
    "e": 2,
    "st": 3,
    "ts": (RECORD + "Timestamp", {"location": "Asia/Shanghai", "value": "2024-02-29 01:02:03.000001"}),
}


def test_json_insert_update_delete_are_these_bytes() -> None:
    info = replace(table_of(SMALL), id=100, update_ts=7)
    old, new = {"id": 1, "name": "a<b"}, {"id": 1, "name": None}
    assert row_messages(
        info,
        [
            {"op": "c", "after": old, "commit_ts": 262144000},
            {"op": "u", "before": old, "after": new, "commit_ts": 262144001},
            {"op": "d", "before": new, "commit_ts": 262144002},
        ],
        build_ts=2000,
    ) == [
        rb'{"version":1,"database":"test","table":"t","tableID":100,"type":"INSERT","commitTs":262144000,"buildTs":2000,'
        rb'"schemaVersion":7,"data":{"id":"1","name":"a\u003cb"}}',
        rb'{"version":1,"database":"test","table":"t","tableID":100,"type":"UPDATE","commitTs":262144001,"buildTs":2000,'
        rb'"schemaVersion":7,"data":{"id":"1","name":null},"old":{"id":"1","name":"a\u003cb"}}',
        rb'{"version":1,"database":"test","table":"t","tableID":100,"type":"DELETE","commitTs":262144002,"buildTs":2000,'
        rb'"schemaVersion":7,"old":{"id":"1","name":null}}',
    ]


def test_avro_insert_update_delete_are_these_bytes() -> None:
    info = replace(table_of(SMALL), id=100, update_ts=7)
    old, new = {"id": 1, "name": "a<b"}, {"id": 1, "name": None}
    names = bytes.fromhex("160606 02 0874657374 0274 c801")
    # union of data or old: its map, two entries, each a name, a branch and a value; the end of the map
    first, second = bytes.fromhex("02 04 046964 02 02 086e616d65"), bytes.fromhex("08 06 613c62 00")
    null = bytes.fromhex("00 00")
    assert row_messages(
        info,
        [
            {"op": "c", "after": old, "commit_ts": 1},
            {"op": "u", "before": old, "after": new, "commit_ts": 2},
            {"op": "d", "before": new, "commit_ts": 3},
        ],
        build_ts=2000,
        encoding="avro",
    ) == [
        names + bytes.fromhex("00 02 a01f 0e 00 00 00") + first + second + b"\0",
        names + bytes.fromhex("02 04 a01f 0e 00 00 00") + first + null + first + second,
        names + bytes.fromhex("04 06 a01f 0e 00 00 00") + b"\0" + first + null,
    ]


def test_every_type_in_json() -> None:
    full, empty = (json.loads(m) for m in row_messages(EVERYTHING, inserts(FULL, EMPTY), zone="Asia/Shanghai"))
    assert full["data"] == TEXTS
    assert list(full["data"]) == sorted(TEXTS, key=str.encode)
    assert empty["data"] == dict.fromkeys(FULL) | {"id": "2", "名": "-5"}


def test_json_strings_are_those_of_encoding_json() -> None:
    (value,) = row_messages(EVERYTHING, inserts(FULL))
    assert rb'"v":"a\"\\\b\f\n\t\u0001' + b"\x7f" + rb'\u003c\u003e\u0026\u2028"' in value


def test_every_type_in_avro() -> None:
    values = row_messages(EVERYTHING, inserts(FULL, EMPTY), zone="Asia/Shanghai", encoding="avro")
    full, empty = (avro_message(value) for value in values)
    assert full["data"] == NATIVE
    assert list(full["data"]) == sorted(NATIVE, key=str.encode)
    assert empty["data"] == EMPTY
    assert (full["old"], full["checksum"], full["handleKeyOnly"], full["claimCheckLocation"]) == (None,) * 4


def test_avro_bit_may_be_text() -> None:
    values = row_messages(EVERYTHING, inserts(FULL, EMPTY), encoding="avro", switches=SimpleSwitches(avro_bit="string"))
    assert [avro_message(value)["data"]["bi"] for value in values] == ["1048575", None]


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


def test_rows_of_a_partition_show_its_id() -> None:
    info = replace(table_of(SMALL), id=100, partitions=(Partition(101, "p0"), Partition(70000, "p1")))
    ids = (101, 70000, None, 101)
    rows = [
        {"op": "c", "after": {"id": place, "name": ""}, "physical_table_id": number} for place, number in enumerate(ids)
    ]
    expected = [101, 70000, 100, 101]
    assert [json.loads(value)["tableID"] for value in row_messages(info, rows)] == expected
    assert [avro_message(value)["tableID"] for value in row_messages(info, rows, encoding="avro")] == expected


def test_checksums_stand_where_a_row_has_one() -> None:
    info = table_of("create table test.t (id int primary key, ts timestamp null)")
    given = {"corrupted": True, "current": 5, "previous": (1 << 32) - 1, "version": 1}
    none = {"corrupted": True, "current": 0, "previous": 0}
    rows = [
        {"op": "u", "before": {"id": 1, "ts": None}, "after": {"id": 1, "ts": "2024-01-01 00:00:00"}, "checksum": sums}
        for sums in (given, none, None)
    ]
    texts = [json.loads(v) for v in row_messages(info, rows, enable_row_checksum=True)]
    natives = [avro_message(v) for v in row_messages(info, rows, enable_row_checksum=True, encoding="avro")]
    computed = texts[2]["checksum"]
    assert computed["version"] == 2
    assert computed["corrupted"] is False
    assert computed["current"] != computed["previous"]
    expected = [{"version": 1, "corrupted": True, "current": 5, "previous": (1 << 32) - 1}, None, computed]
    assert [message.get("checksum") for message in texts] == expected
    assert [message["checksum"] for message in natives] == [
        shown if shown is None else (RECORD + "Checksum", shown) for shown in expected
    ]
    assert list(texts[0]).index("checksum") == list(texts[0]).index("schemaVersion") + 1
    for encoding in ENCODINGS:
        only_none = row_messages(info, rows[1:2], enable_row_checksum=True, encoding=encoding)
        assert only_none == row_messages(info, rows[1:2], encoding=encoding)


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
