"""DDL, WATERMARK and BOOTSTRAP messages in both encodings, and the switches of the releases."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from simple_messages import BUILD_TS, COMMIT_TS, avro_message, codec_of, table_of

from ticdc_emit import Encoder
from ticdc_emit.config import NEXT, load_changefeed
from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.protocols.simple.encoder import make_codec
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent

RECORD = "com.pingcap.simple.avro."
TYPES = """create table test.t (
    id bigint unsigned zerofill, f float(7,2) default 1.5, d decimal(10,0), n decimal(10,2) unsigned default 1.5,
    bi bit(12) not null default b'101000000001', e enum('a','b') default 'b', ts timestamp(3) default '2024-01-01',
    vb varbinary(10) default 'x', y year, v int as (id + 1) virtual, `q"<` text, primary key (id, e)
)"""


def schema_json(sql: str, **options: Any) -> Any:
    message = codec_of(**options).bootstrap(table_of(sql), BUILD_TS)
    assert message.key is None
    assert message.commit_ts == 0
    return json.loads(message.value)["tableSchema"]


def schema_avro(sql: str, **options: Any) -> Any:
    return avro_message(codec_of("avro", **options).bootstrap(table_of(sql), BUILD_TS).value)["tableSchema"]


def exchange() -> DdlEvent:
    catalog = Catalog()
    for statement in (
        "create table test.n (a int primary key)",
        "create table test.p (a int primary key) partition by range (a) (partition p0 values less than (9))",
    ):
        catalog.apply(statement, commit_ts=COMMIT_TS)
    (event,) = catalog.apply("alter table test.p exchange partition p0 with table test.n", commit_ts=COMMIT_TS + 9)
    return event


def test_watermarks_are_these_bytes() -> None:
    assert codec_of().watermark(1, 2).value == b'{"version":1,"type":"WATERMARK","commitTs":1,"buildTs":2}'
    message = codec_of("avro").watermark(1, 2)
    assert (message.key, message.value, message.commit_ts) == (None, bytes.fromhex("160000020204"), 1)
    assert avro_message(message.value) == {"kind": "WATERMARK", "version": 1, "commitTs": 1, "buildTs": 2}
    assert avro_message(codec_of("avro").watermark((1 << 64) - 1, 2).value)["commitTs"] == -1


def test_json_bootstrap_is_these_bytes() -> None:
    info = replace(table_of("create table test.t (id int primary key, name varchar(10) default 'é<')"), id=1)
    assert (
        codec_of().bootstrap(replace(info, update_ts=7), 2000).value
        == (
            '{"version":1,"type":"BOOTSTRAP","commitTs":0,"buildTs":2000,"tableSchema":{"schema":"test","table":"t",'
            '"tableID":1,"version":7,"columns":[{"name":"id","dataType":{"mysqlType":"int","charset":"binary","collate":'
            '"binary","length":11},"nullable":false,"default":null},{"name":"name","dataType":{"mysqlType":"varchar",'
            '"charset":"utf8mb4","collate":"utf8mb4_bin","length":10},"nullable":true,"default":"é\\u003c"}],"indexes":'
            '[{"name":"primary","unique":true,"primary":true,"nullable":false,"columns":["id"]}]}}'
        ).encode()
    )


def test_data_types_in_json_leave_out_what_is_empty() -> None:
    shown = {column["name"]: column for column in schema_json(TYPES)["columns"]}
    assert list(shown) == ["id", "f", "d", "n", "bi", "e", "ts", "vb", "y", "v", 'q"<']
    types = {name: column["dataType"] for name, column in shown.items()}
    binary = {"charset": "binary", "collate": "binary"}
    assert types["id"] == {"mysqlType": "bigint", **binary, "length": 20, "unsigned": True, "zerofill": True}
    assert types["y"] == {"mysqlType": "year", **binary, "length": 4, "unsigned": True, "zerofill": True}
    assert types["f"] == {"mysqlType": "float", **binary, "length": 7}
    assert types["d"] == {"mysqlType": "decimal", **binary, "length": 10}
    assert types["n"] == {"mysqlType": "decimal", **binary, "length": 10, "decimal": 2, "unsigned": True}
    assert types["e"]["elements"] == ["a", "b"]
    assert types["ts"] == {"mysqlType": "timestamp", **binary, "length": 23, "decimal": 3}
    defaults = {name: column["default"] for name, column in shown.items()}
    assert defaults == dict.fromkeys(shown) | {
        "f": "1.5", "n": "1.5", "bi": 0xA01, "e": "b", "ts": "2024-01-01 00:00:00.000", "vb": "x"
    }  # fmt: skip
    assert [name for name, column in shown.items() if not column["nullable"]] == ["id", "bi", "e"]


def test_data_types_in_avro_are_null_where_a_type_has_none() -> None:
    shown = {column["name"]: column for column in schema_avro(TYPES)["columns"]}
    assert shown["bi"]["default"].encode(errors="surrogateescape") == b"\x0a\x01"
    kinds = {
        name: tuple(column["dataType"][part] for part in ("decimal", "elements", "unsigned", "zerofill"))
        for name, column in shown.items()
    }
    none, signed = (None, None, None, None), (None, None, False, False)
    assert kinds == {
        "id": (None, None, True, True), "f": signed, "d": (0, None, False, False), "n": (2, None, True, False),
        "bi": (None, None, True, False), "e": (None, ["a", "b"], None, None), "ts": none, "vb": none,
        "y": (None, None, True, True), "v": signed,
        'q"<': none,
    }  # fmt: skip


@pytest.mark.parametrize("read", [schema_json, schema_avro])
def test_columns_stand_by_id_or_in_table_order(read: Any) -> None:
    sql = "create table test.t (b int primary key); alter table test.t add column a int first"
    assert [column["name"] for column in read(sql)["columns"]] == ["b", "a"]
    in_table_order = read(sql, switches=SimpleSwitches(column_order="table"))
    assert [column["name"] for column in in_table_order["columns"]] == ["a", "b"]


@pytest.mark.parametrize("read", [schema_json, schema_avro])
@pytest.mark.parametrize(
    ("definition", "names", "key"),
    [
        ("a int, b int, primary key (b, a), key (a)", ["PRIMARY", "a"], ["b", "a"]),
        ("a int not null, b int not null, unique u (b, a), unique w (a)", ["u", "w", "primary"], ["b", "a"]),
        ("a int, b int not null, unique u (a, b), unique w (b)", ["u", "w", "primary"], ["b"]),
        ("a int not null, b int, unique ((a + 1)), unique w (a)", ["expression_index", "w", "primary"], ["a"]),
        ("a int, b int, unique u (a, b)", ["u"], None),
        ("a int, b int", [], None),
    ],
)
def test_a_primary_key_that_no_index_holds_is_listed_last(
    read: Any, definition: str, names: list[str], key: list[str] | None
) -> None:
    indexes = read(f"create table test.t ({definition})")["indexes"]
    assert [index["name"] for index in indexes] == names
    primary = [index for index in indexes if index["primary"]]
    assert [index["columns"] for index in primary] == ([] if key is None else [key])
    assert all(index["unique"] and not index["nullable"] for index in primary)


def test_an_index_is_nullable_if_a_column_is() -> None:
    (index,) = schema_json("create table test.t (a int not null, b int, unique u (a, b))")["indexes"]
    assert index == {"name": "u", "unique": True, "primary": False, "nullable": True, "columns": ["a", "b"]}


def ddl(event: DdlEvent, encoding: str, **options: Any) -> dict[str, Any]:
    message = codec_of(encoding, **options).ddl(event, BUILD_TS)
    assert (message.key, message.commit_ts) == (None, event.commit_ts)
    read: dict[str, Any] = avro_message(message.value) if encoding == "avro" else json.loads(message.value)
    return read


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_ddl_shows_the_schema_after_and_before(encoding: str) -> None:
    catalog = Catalog()
    (made,) = catalog.apply("create table test.t (a int primary key)", commit_ts=COMMIT_TS)
    (added,) = catalog.apply("alter table test.t add column b int", commit_ts=COMMIT_TS + 1)
    (base,) = catalog.apply("create database other", commit_ts=COMMIT_TS + 2)
    first, second, third = (ddl(event, encoding) for event in (made, added, base))
    assert [message["type"] for message in (first, second, third)] == ["CREATE", "ALTER", "QUERY"]
    assert second["sql"] == "alter table test.t add column b int"
    assert (second["commitTs"], second["buildTs"], second["version"]) == (COMMIT_TS + 1, BUILD_TS, 1)
    shown = _plain(second["tableSchema"]), _plain(second["preTableSchema"])
    assert [[column["name"] for column in table["columns"]] for table in shown] == [["a", "b"], ["a"]]
    assert first.get("preTableSchema") is None
    assert third.get("tableSchema") is None
    assert ddl(added, encoding, switches=NEXT.simple).get("preTableSchema") is None
    if encoding == "json":
        assert list(second) == ["version", "type", "sql", "commitTs", "buildTs", "tableSchema", "preTableSchema"]
        assert list(third) == ["version", "type", "sql", "commitTs", "buildTs"]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_exchange_partition(encoding: str) -> None:
    event = exchange()
    assert ddl(event, encoding)["type"] == "QUERY"
    switched = ddl(event, encoding, switches=NEXT.simple)
    assert switched["type"] == "ALTER"
    assert switched["preTableSchema"] is not None


def test_a_timestamp_may_show_its_digits_in_avro() -> None:
    sql = "create table test.t (id int primary key, a timestamp(3), b timestamp, c datetime(3))"
    columns = schema_avro(sql, switches=SimpleSwitches(avro_timestamp_decimal=True))["columns"]
    assert [column["dataType"]["decimal"] for column in columns] == [None, 3, 0, None]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_view_is_shown_too(encoding: str) -> None:
    catalog = Catalog()
    catalog.apply("create table test.t (a int primary key)", commit_ts=COMMIT_TS)
    (event,) = catalog.apply("create view test.v as select a from test.t", commit_ts=COMMIT_TS + 1)
    message = ddl(event, encoding)
    assert message["type"] == "QUERY"
    (column,) = _plain(message["tableSchema"])["columns"]
    assert column["dataType"]["mysqlType"] == "unspecified"


def test_a_changefeed_makes_the_codec() -> None:
    config = load_changefeed(
        "kafka://127.0.0.1:9092/topic?protocol=simple&encoding-format=avro",
        time_zone="Asia/Tokyo",
        integrity=True,
    )
    codec = make_codec(config)
    assert (codec.options.encoding_format, codec.location) == ("avro", "Asia/Tokyo")
    assert codec.options.enable_row_checksum
    assert codec.refuses_large_schemas
    assert pickle.loads(pickle.dumps(codec)) == codec


def _plain(schema: Any) -> Any:
    """Return a table schema without the record name that Avro's union adds."""
    return schema[1] if isinstance(schema, tuple) else schema


def messages_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(row["value"]) for row in batch.to_pylist()]


def test_old_releases_show_the_default_that_a_column_was_added_with() -> None:
    statements = (
        "alter table test.t add x int default 5, add y int not null",
        "alter table test.t alter x drop default",
    )
    for release, shown in (("8.1.2", [None, "5", "0"]), ("8.5.2", [None, None, None])):
        encoder = Encoder("memory://t?protocol=simple", "create table test.t (id int primary key)", release=release)
        ddl = [messages_of(encoder.ddl(text, COMMIT_TS + place))[-1] for place, text in enumerate(statements)]
        bootstrap = messages_of(encoder.bootstrap())[-1]
        assert [column["default"] for column in ddl[1]["tableSchema"]["columns"]] == shown
        assert [column["default"] for column in bootstrap["tableSchema"]["columns"]] == shown


def test_a_ddl_of_partitions_has_no_table_id_in_some_releases() -> None:
    table = "create table test.t (id int primary key) partition by hash (id) partitions 2"
    statements = ("truncate partition p0", "add column x int", "remove partitioning", "add column y int")

    def ids(release: str) -> list[int]:
        encoder = Encoder("memory://t?protocol=simple", table, release=release)
        sent = [
            messages_of(encoder.ddl(f"alter table test.t {text}", COMMIT_TS + n)) for n, text in enumerate(statements)
        ]
        return [messages[0]["tableSchema"]["tableID"] for messages in sent]

    known = ids("next-8.5.6")
    assert 0 not in known
    assert ids("next-8.5.4-release.1") == known
    assert ids("next-8.5.4") == ids("next-8.5.5") == [0, known[1], 0, known[3]]
