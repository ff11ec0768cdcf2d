"""What only the next lineage sends, from the encoder to its readers: rows before changes, marks, keys and starts."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.events import RowEvent
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.registry.base import MemoryRegistry

TSO = 450000000262144000
SQL = "create table test.t (id int primary key, d decimal(5,2))"
CHANGES = [
    {"op": "c", "commit_ts": TSO, "after": {"id": 1, "d": "1.50"}},
    {"op": "u", "commit_ts": TSO + 1, "before": {"id": 1, "d": "1.50"}, "after": {"id": 1, "d": None}},
    {"op": "d", "commit_ts": TSO + 2, "before": {"id": 1, "d": None}},
]


def messages(uri: str, changes: Any = CHANGES, sql: str = SQL, **options: Any) -> list[tuple[bytes, bytes | None]]:
    encoder = Encoder(f"memory://t/?protocol={uri}", sql, **{"release": "next"} | options)
    return [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]


def avro_rows(options: str) -> list[Any]:
    registry = MemoryRegistry()
    uri = f"avro&schema-registry=http://r{options}"
    made = messages(uri, registry=registry)
    reader = AvroReader({post.id: post.schema for post in registry.posts})
    return [reader.read(key, value) for key, value in made]


@pytest.mark.parametrize("extension", [False, True])
def test_avro_shows_the_row_before(extension: bool) -> None:
    rows = avro_rows("&avro-include-before-value=true" + ("&enable-tidb-extension=true" if extension else ""))
    shown = [[None if image is None else str(image["d"]) for image in (row.before, row.after)] for row in rows]
    assert shown == [[None, "1.50"], ["1.50", "None"], ["None", None]]
    assert [row.op for row in rows] == ["insert", "update", "delete"]
    assert [row.commit_ts for row in rows] == ([TSO, TSO + 1, TSO + 2] if extension else [None] * 3)


def test_avro_marks_deletes() -> None:
    rows = avro_rows("&enable-tidb-extension=true&avro-enable-watermark=true")
    assert [(row.op, row.commit_ts, row.commit_ms) for row in rows][2] == ("delete", TSO + 2, TSO >> 18)
    assert rows[2].key == {"id": 1}


def test_debezium_shows_the_start_of_a_transaction() -> None:
    uri = "debezium&debezium-include-start-ts=true"
    made = messages(uri, [{**CHANGES[0], "start_ts": TSO - 7}, {**CHANGES[2], "start_ts": None}])
    reader = DebeziumReader()
    assert [reader.read(*message).message.payload["source"]["start_ts"] for message in made] == [TSO - 7, TSO + 1]
    source = json.loads(made[0][1] or b"")["schema"]["fields"][2]
    assert source["fields"][-1] == {"type": "int64", "optional": False, "field": "start_ts"}


def test_simple_shows_the_start_of_a_transaction() -> None:
    uri = "simple&simple-include-start-ts=true"
    starts = [TSO - 7, None, 0]
    given = [{**change, "start_ts": start} for change, start in zip(CHANGES, starts, strict=True)]
    rows = [SimpleReader().read(*message) for message in messages(uri, given, release="master")]
    assert [row.message.get("startTs") for row in rows if isinstance(row, RowEvent)] == [TSO - 7, TSO, None]
    members = json.loads(messages(uri, given, release="master")[0][1] or b"")
    assert list(members)[5:8] == ["commitTs", "startTs", "buildTs"]
    assert "startTs" not in json.loads(messages(uri, given, release="next")[0][1] or b"")


CANAL = "canal-json&enable-tidb-extension=true&output-row-key=true"


def row_keys(sql: str, *rows: dict[str, Any], **given: Any) -> list[bytes]:
    changes = [{"op": "c", "commit_ts": TSO + at, "after": row, **given} for at, row in enumerate(rows)]
    reader, found = CanalJsonReader(), []
    for key, value in messages(CANAL, changes, sql):
        row = reader.read(key, value)
        found.append(b64decode(row.message["_tidb"]["rowkey"]))
    return found


def test_canal_json_shows_row_keys() -> None:
    row, partition = {"id": -2, "v": 1}, b"t" + (1 << 63 | 77).to_bytes(8, "big") + b"_r"
    sql = "create table test.t (id int primary key, v int)"
    assert row_keys(sql, row, physical_table_id=77) == [partition + ((1 << 63) - 2).to_bytes(8, "big")]
    texts = "create table test.t (v decimal(20,11), k varchar(20), primary key (k, v))"
    (key,) = row_keys(texts, {"k": "eight by ", "v": "-12.5"}, physical_table_id=77)
    wanted = b"\x01eight by\xff" + bytes(8) + b"\xf7\x06\x14\x0b"
    assert key == partition + wanted + bytes(each ^ 0xFF for each in b"\x80\0\0\x0c\x1d\xcd\x65\0\0")


def test_a_time_has_a_row_key_of_nanoseconds() -> None:
    (key,) = row_keys("create table test.t (k time(1) primary key)", {"k": "-00:00:01.5"})
    assert key[11:] == b"\x07" + ((1 << 63) - 1_500_000_000).to_bytes(8, "big")


@pytest.mark.parametrize(("value", "part"), [("abc", b"ab"), ("a b", b"a"), ("é€x", "é€".encode())])
def test_a_clustered_key_on_a_prefix_has_its_first_characters(value: str, part: bytes) -> None:
    (key,) = row_keys("create table test.t (k varchar(9), primary key (k(2)) clustered)", {"k": value})
    assert key[11:] == b"\x01" + part.ljust(8, b"\0") + bytes([0xF7 + len(part)])


@pytest.mark.parametrize(
    "sql",
    [
        "create table test.t (k varchar(9) primary key nonclustered)",
        "create table test.t (k varchar(9) collate utf8mb4_general_ci primary key)",
    ],
)
def test_a_row_key_that_values_do_not_tell_must_be_given(sql: str) -> None:
    assert row_keys(sql, {"k": "a"}, row_key=b"tk") == [b"tk"]
    with pytest.raises(InvalidValueError, match="only TiDB knows") as refused:
        row_keys(sql, {"k": "a"})
    assert refused.value.column == "row_key"


def test_a_given_row_key_is_checked() -> None:
    with pytest.raises(InvalidValueError, match="does not match the row's values"):
        row_keys(SQL, {"id": 1, "d": None}, row_key=b"other")
    with pytest.raises(InvalidValueError, match="row_key of a change cannot be read"):
        messages(CANAL, [{**CHANGES[0], "row_key": 5}])
