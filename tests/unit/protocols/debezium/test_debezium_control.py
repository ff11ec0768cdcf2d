"""Debezium DDL and WATERMARK messages."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest
from debezium_messages import BUILD_TS, COMMIT_TS, codec_of, described, described_columns, table_of

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.debezium.encoder import make_codec
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.actions import ACTIONS

T = "create table test.t (id int primary key, v varchar(9) comment 'note')"


def ddl(*statements: str, **options: Any) -> ControlMessage:
    catalog = Catalog()
    events = [event for sql in statements for event in catalog.apply(sql, commit_ts=COMMIT_TS)]
    message = codec_of(**options).ddl(events[-1], BUILD_TS)
    assert message is not None
    return message


def test_a_ddl_is_these_bytes_without_schema() -> None:
    message = ddl("create table test.t (id int primary key)", disable_schema=True)
    assert message.commit_ts == COMMIT_TS
    assert message.key == b'{"payload":{"databaseName":"test"}}'
    assert message.value == (
        b'{"payload":{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":"default","ts_ms":1000,'
        b'"snapshot":"false","db":"test","table":"t","server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":262144000,"cluster_id":"default"},"ts_ms":2000,"databaseName":"test",'
        b'"schemaName":null,"ddl":"create table test.t (id int primary key)","tableChanges":[{"type":"CREATE",'
        b'"id":"\\"test\\".\\"t\\"","table":{"defaultCharsetName":"utf8mb4","primaryKeyColumnNames":["id"],"columns":['
        b'{"name":"id","jdbcType":4,"nativeType":null,"comment":null,"defaultValueExpression":null,"enumValues":null,'
        b'"typeName":"INT","typeExpression":"INT","charsetName":null,"length":null,"scale":null,"position":1,'
        b'"optional":false,"autoIncremented":false,"generated":false}],"comment":null}}]}}'
    )


def test_the_schemas_of_a_ddl() -> None:
    message, short = ddl(T), ddl(T, disable_schema=True)
    assert message.key == (
        b'{"payload":{"databaseName":"test"},"schema":{"type":"struct",'
        b'"name":"io.debezium.connector.mysql.SchemaChangeKey","optional":false,"version":1,'
        b'"fields":[{"field":"databaseName","optional":false,"type":"string"}]}}'
    )
    assert message.value.startswith(short.value[:-1] + b',"schema":{"optional":false,"type":"struct","version":1,')
    schema = json.loads(message.value)["schema"]
    assert [each["field"] for each in schema["fields"]] == [
        "source",
        "ts_ms",
        "databaseName",
        "schemaName",
        "ddl",
        "tableChanges",
    ]
    change = schema["fields"][-1]["items"]["fields"]
    columns = change[2]["fields"][2]["items"]["fields"]
    (shown,) = json.loads(message.value)["payload"]["tableChanges"]
    assert set(shown) == {each["field"] for each in change}
    assert set(shown["table"]) == {each["field"] for each in change[2]["fields"]}
    assert set(shown["table"]["columns"][0]) == {each["field"] for each in columns}


@pytest.mark.parametrize(
    ("statements", "changes"),
    [
        (["create database d"], []),
        ([T, "truncate table test.t"], []),
        ([T, "drop table test.t"], [{"type": "DROP", "id": '"test"."t"', "table": None}]),
    ],
)
def test_changes_without_a_table(statements: list[str], changes: list[Any]) -> None:
    assert described(*statements) == changes


@pytest.mark.parametrize(
    ("statement", "kind", "identity"),
    [
        ("alter table test.t add column w int", "ALTER", '"test"."t"'),
        ("alter table test.t add index x (v)", "ALTER", '"test"."t"'),
        ('rename table test.t to test.`u"`', "ALTER", '"test"."t","test"."u""'),
        ("create view test.w as select id from test.t", "CREATE", '"test"."w"'),
    ],
)
def test_changes_name_kind_and_table(statement: str, kind: str, identity: str) -> None:
    (change,) = described(T, statement)
    assert (change["type"], change["id"]) == (kind, identity)


def test_dropping_an_index_is_a_drop() -> None:
    (change,) = described(T, "create index x on test.t (v)", "drop index x on test.t")
    assert (change["type"], next(iter(change["table"]))) == ("DROP", "defaultCharsetName")


def test_which_kinds_are_sent() -> None:
    info = table_of(T)
    event = DdlEvent("alter table test.t force", "", "test", "t", info, info, COMMIT_TS)
    codec = codec_of()
    sent = {action for action in ACTIONS if codec.ddl(replace(event, action=action), BUILD_TS) is not None}
    assert len(sent) == 32
    for action in ("add foreign key", "drop foreign key", "shard row ID", "modify auto id cache", "alter table ttl"):
        assert action not in sent


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("int unsigned", {"jdbcType": 4, "typeName": "INT UNSIGNED", "typeExpression": "INT UNSIGNED", "length": None}),
        ("int(5) unsigned zerofill", {"typeName": "INT UNSIGNED ZEROFILL", "length": 5}),
        ("tinyint(3) unsigned", {"jdbcType": 5, "length": None}),
        ("tinyint(4) unsigned zerofill", {"length": None}),
        ("bigint", {"jdbcType": -5, "length": None}),
        ("bigint(7)", {"length": 7}),
        ("float", {"jdbcType": 6, "length": None, "scale": None}),
        ("float(7,2)", {"typeExpression": "FLOAT", "length": 7, "scale": 2}),
        ("double(7,2)", {"jdbcType": 8, "typeExpression": "DOUBLE(7,2)", "length": 7, "scale": 2}),
        ("decimal(10,2) unsigned", {"jdbcType": 3, "typeExpression": "DECIMAL", "length": 10, "scale": 2}),
        ("varchar(9)", {"jdbcType": 12, "charsetName": "utf8mb4", "length": 9}),
        ("varchar(5)", {"length": None}),
        ("varbinary(9)", {"jdbcType": -3, "typeName": "VARBINARY", "charsetName": None}),
        ("char(9)", {"jdbcType": 1, "length": 9}),
        ("binary(9)", {"jdbcType": -2}),
        ("text", {"jdbcType": 12, "charsetName": "utf8mb4", "length": None}),
        ("blob", {"jdbcType": 2004, "typeName": "BLOB"}),
        ("enum('a','it''s')", {"jdbcType": 1, "enumValues": ["'a'", "'it's'"], "length": 1, "charsetName": "utf8mb4"}),
        ("set('a','b','c')", {"jdbcType": 1, "length": 5}),
        ("json", {"jdbcType": 1111, "charsetName": None}),
        ("bit(9)", {"jdbcType": -7, "length": 9}),
        ("date", {"jdbcType": 91, "length": None}),
        ("vector(3)", {"jdbcType": 12, "typeExpression": "VECTOR(3)", "length": 3}),
        ("year", {"jdbcType": 4, "length": None}),
        ("year(4)", {"length": 4}),
        ("time", {"jdbcType": 92, "length": None}),
        ("time(2)", {"length": 2}),
        ("datetime(3)", {"jdbcType": 93, "length": 3}),
        ("timestamp(0) null", {"jdbcType": 2014, "length": 0, "autoIncremented": False}),
        ("timestamp null default current_timestamp on update current_timestamp", {"autoIncremented": True}),
        ("datetime default current_timestamp on update current_timestamp", {"generated": False}),
        ("int not null auto_increment, key (v)", {"autoIncremented": True, "generated": True, "optional": False}),
        ("int comment 'x'", {"comment": None}),
    ],
)
def test_columns(column: str, shown: dict[str, Any]) -> None:
    found = described_columns(f"create table test.t (id int primary key, v {column})")["v"]
    assert {name: found[name] for name in shown} == shown


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("int default 7", "7"),
        ("varchar(99) default 'Current_Timestamp'", "1970-01-01 00:00:00"),
        ("varchar(9) default '<nil>'", None),
        ("varchar(36) default (uuid())", "uuid()"),
        ("binary(3) default 'ab'", "ab\0"),
        ("bit(12) default b'101'", "0101"),
        ("bit(12) default b'100000010'", "000100000010"),
        ("bit(8) default b'101'", "101"),
        ("bit(16) default 0xff00", "11101111101111111011110100000000"),
        ("date default '2024-2-3'", "2024-02-03"),
        ("time(2) default 0", "0"),
        ("time(2) default '1:2'", "1:2"),
        ("time default 1.50", "1.50"),
        ("time default 1.5e1", "15"),
        ("time default null", None),
        ("time default -5", "-00:00:05"),
        ("datetime default now()", "1970-01-01 00:00:00"),
        ("datetime(3) default '2024-2-3'", "2024-2-3"),
        ("datetime default (Str_To_Date('1','%d'))", "Str_To_Date"),
        ("timestamp null default '2024-2-3 4:5'", "2024-2-3 4:5"),
        ("year default 99", "99"),
        ("year default '07'", "07"),
    ],
)
def test_default_expressions(column: str, default: str | None) -> None:
    assert described_columns(f"create table test.t (v {column})")["v"]["defaultValueExpression"] == default


def test_only_the_columns_that_a_statement_defines_are_read_from_it() -> None:
    table = "create table test.t (a time default 0 comment 'a', b time default 0 comment 'b', c int comment 'c')"
    shown = described_columns(table, "alter table test.t modify b time(1) default 5")
    assert [shown[name]["defaultValueExpression"] for name in "ab"] == ["00:00:00", "5"]
    assert [shown[name]["length"] for name in "ab"] == [0, 1]
    assert [shown[name]["comment"] for name in "abc"] == ["a", None, "c"]
    shown = described_columns(table, "alter table test.t alter column c set default 3")
    assert [shown[name]["comment"] for name in "abc"] == ["a", "b", None]
    assert shown["c"]["defaultValueExpression"] == "3"


def test_a_definition_that_the_table_does_not_have_is_refused() -> None:
    """TiCDC looks for the name as it is written, and panics."""
    with pytest.raises(SchemaError) as raised:
        described(T, "alter table test.t alter column V set default 'x'")
    assert (raised.value.column, raised.value.table) == ("V", "test.t")


def test_the_primary_key_is_shown_in_its_own_order() -> None:
    def names(columns: str) -> list[str]:
        (change,) = described(f"create table test.t ({columns})")
        found: list[str] = change["table"]["primaryKeyColumnNames"]
        return found

    assert names("a int, b int, primary key (b, a)") == ["b", "a"]
    assert names("a int not null, b int, unique (b), unique (a)") == ["a"]
    assert names("a int, unique (a)") == []
    assert names("a int not null, unique e ((a + 1)), unique u (a)") == ["a"]


def test_hidden_columns_keep_their_position() -> None:
    shown = described_columns("create table test.t (a int, index x ((a + 1)))", "alter table test.t add column b int")
    places = {name: column["position"] for name, column in shown.items()}
    assert places == {"a": 1, "b": 3}


def test_watermarks_need_the_extension() -> None:
    assert codec_of().watermark(COMMIT_TS, BUILD_TS) is None
    message = codec_of(enable_tidb_extension=True, cluster_id="a-b").watermark(COMMIT_TS, BUILD_TS)
    assert message is not None
    assert message.key == (
        b'{"payload":{},"schema":{"type":"struct","name":"a_b.watermark.Key","optional":false,"fields":[]}}'
    )
    short = codec_of(enable_tidb_extension=True, disable_schema=True).watermark(COMMIT_TS, BUILD_TS)
    assert short == ControlMessage(
        b'{"payload":{}}',
        b'{"payload":{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":"default","ts_ms":1000,'
        b'"snapshot":"false","db":"","table":"","server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":262144000,"cluster_id":"default"},"ts_ms":2000,"transaction":null,"op":"m"}}',
        COMMIT_TS,
    )
    schema = json.loads(message.value)["schema"]
    assert schema["name"] == "a_b.watermark.Envelope"
    assert [each["field"] for each in schema["fields"]] == ["source", "op", "ts_ms", "transaction"]


def test_make_codec_reads_the_changefeed() -> None:
    codec = make_codec(
        load_changefeed(
            "memory://x/?protocol=debezium&debezium-disable-schema=true&enable-tidb-extension=true",
            "[sink.debezium]\noutput-old-value = false",
            time_zone="Asia/Shanghai",
            cluster_id="c",
        )
    )
    own = codec.settings
    assert (own.cluster_id, own.zone) == ("c", "Asia/Shanghai")
    assert (own.codec.enable_tidb_extension, own.codec.debezium_disable_schema, own.codec.output_old_value) == (
        *(True, True),
        False,
    )
    assert pickle.loads(pickle.dumps(codec)) == codec
    info = table_of(T)
    assert not codec.rows(info).reads_old
    plain = make_codec(load_changefeed("memory://x/?protocol=debezium")).settings
    assert plain == DebeziumSettings(plain.codec)
