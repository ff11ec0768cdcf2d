"""Kafka Connect schemas of rows: types, names, parameters and defaults of fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from debezium_messages import codec_of, row_messages, table_of

from ticdc_emit.config import NEXT, CodecConfig
from ticdc_emit.protocols.debezium.encoder import field_schema
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings

TIME = "io.debezium.time."
DATA = "io.debezium.data."


def field(column: str, *, tidb_type: bool = False) -> list[tuple[str, Any]]:
    """Return the members of the schema of column ``v``, in their order."""
    info = table_of(f"create table test.t (v {column})")
    settings = DebeziumSettings(CodecConfig(enable_tidb_extension=tidb_type))
    return list(json.loads(field_schema(info.column("v"), settings) or b"null").items())


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("tinyint", "int16"),
        ("tinyint unsigned", "int16"),
        ("smallint", "int16"),
        ("smallint unsigned", "int32"),
        ("mediumint unsigned", "int32"),
        ("int", "int32"),
        ("int unsigned", "int64"),
        ("bigint unsigned", "int64"),
        ("float", "float"),
        ("float(7,2)", "double"),
        ("float(7,0)", "double"),
        ("double", "double"),
        ("decimal(10,2)", "double"),
        ("varchar(9)", "string"),
        ("varbinary(9)", "string"),
        ("longblob", "string"),
        ("bit(1)", "boolean"),
    ],
)
def test_plain_types(column: str, kind: str) -> None:
    assert field(column) == [("type", kind), ("optional", True), ("field", "v")]
    assert field(f"{column} not null") == [("type", kind), ("optional", False), ("field", "v")]


@pytest.mark.parametrize(
    ("column", "kind", "name"),
    [
        ("date", "int32", TIME + "Date"),
        ("datetime", "int64", TIME + "Timestamp"),
        ("datetime(3)", "int64", TIME + "Timestamp"),
        ("datetime(4)", "int64", TIME + "MicroTimestamp"),
        ("timestamp null", "string", TIME + "ZonedTimestamp"),
        ("time", "int64", TIME + "MicroTime"),
        ("year", "int32", TIME + "Year"),
        ("json", "string", DATA + "Json"),
    ],
)
def test_semantic_types(column: str, kind: str, name: str) -> None:
    assert field(column) == [("type", kind), ("optional", True), ("name", name), ("version", 1), ("field", "v")]


def test_parameters() -> None:
    labels = r"('a,b','c''''d','\\\'')"
    assert dict(field(f"enum{labels}"))["parameters"] == {"allowed": "a\\,b,c'd,'"}
    assert dict(field("set('a','\"')"))["parameters"] == {"allowed": 'a,"'}
    assert field("bit(12)")[2:5] == [("name", DATA + "Bits"), ("version", 1), ("parameters", {"length": "12"})]
    assert field("vector(3)") == [
        ("type", "string"),
        ("optional", True),
        ("name", DATA + "TiDBVectorFloat32"),
        ("field", "v"),
    ]


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("int default 7", "7"),
        ("bigint default 9223372036854775807", "9223372036854776000"),
        ("bigint unsigned default 18446744073709551615", "18446744073709552000"),
        ("float default 1e-7", "1e-07"),
        ("decimal(10,2) default 1.50", "1.5"),
        ("int default (rand())", None),
        ("varchar(9) default 'a\"'", '"a\\""'),
        ("varchar(36) default (uuid())", '"uuid()"'),
        ("enum('a','b') default 'b'", '"b"'),
        ("year default 1", "2001"),
        ("year default 99", "1999"),
        ("year default 2023", "2023"),
        ("bit(1) default b'1'", "true"),
        ("bit(12) default b'100000010'", '"AgE="'),
        ("date default '2024-02-29'", "19782"),
        ("date default '2024-00-00'", None),
        ("date not null default '2024-00-00'", "0"),
        ("datetime default '1970-01-01 00:00:01'", "1000"),
        ("datetime(6) default '1970-01-01 00:00:01'", "1000000"),
        ("datetime default current_timestamp", "0"),
        ("datetime default '0000-00-00'", None),
        ("datetime not null default '0000-00-00'", "0"),
        ("datetime default '2024-00-01'", "0"),
        ("timestamp null default '2024-02-29'", '"2024-02-29T00:00:00Z"'),
        ("timestamp(2) null default '2024-02-29'", '"2024-02-29T00:00:00.00Z"'),
        ("timestamp null default current_timestamp", None),
        ("timestamp not null default current_timestamp", '"1970-01-01T00:00:00Z"'),
        ("timestamp not null default '0000-00-00 00:00:00'", '"1970-01-01T00:00:00Z"'),
        ("time(1) default '-00:00:00.5'", "-500000"),
    ],
)
def test_defaults(column: str, default: str | None) -> None:
    info = table_of(f"create table test.t (v {column})")
    text = field_schema(info.column("v"), DebeziumSettings()).decode()
    if default is None:
        assert text.endswith('"field":"v"}')
    else:
        assert text.endswith(f'"field":"v","default":{default}}}')


def test_a_bit_default_without_bits_leaves_the_field_empty() -> None:
    assert field("bit(3) default ''") == []
    assert field("bit(3) default ''", tidb_type=True) == [("tidb_type", "bit")]


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("int unsigned zerofill", "int unsigned"),
        ("float unsigned", "float unsigned"),
        ("decimal(10,2) unsigned", "decimal"),
        ("varbinary(9)", "varbinary"),
        ("blob", "blob"),
        ("char(3)", "char"),
        ("year", "year"),
        ("enum('a')", "enum"),
    ],
)
def test_the_extension_names_the_tidb_type_first(column: str, name: str) -> None:
    assert field(column, tidb_type=True)[0] == ("tidb_type", name)
    assert field(column, tidb_type=True)[1:] == field(column)


def test_virtual_and_hidden_columns_follow_those_of_rows() -> None:
    sql = """create table test.t (
        a int as (b + 1) virtual, b int primary key, c int as (b + 2) stored, index x ((b * 2))
    )"""
    ((key, value),) = row_messages(sql, [{"op": "c", "after": {"b": 1, "c": 3}}], enable_tidb_extension=True)
    shown = json.loads(value)
    assert list(shown["payload"]["after"]) == ["b", "c"]
    before, after = shown["schema"]["fields"][:2]
    assert [each["field"] for each in after["fields"]] == ["b", "c", "a", "_V$_x_0"]
    assert before == after | {"field": "before"}
    changes = [{"op": "c", "after": {"b": 1, "c": 3}}]
    ((_, value),) = row_messages(sql, changes, enable_tidb_extension=True, switches=NEXT.debezium)
    after, source = json.loads(value)["schema"]["fields"][1:3]
    assert [each["field"] for each in after["fields"]] == ["a", "b", "c", "_V$_x_0", "a", "_V$_x_0"]
    assert [each["field"] for each in source["fields"]][-3:] == ["query", "commit_ts", "cluster_id"]
    assert json.loads(key)["schema"]["fields"][0]["tidb_type"] == "int"


def test_a_schema_is_made_once() -> None:
    encoder = codec_of().rows(table_of("create table test.t (id int primary key)"))
    assert encoder._value_end is encoder._value_end
