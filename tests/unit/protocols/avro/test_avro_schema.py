"""Schema texts: names, types, defaults, order, and what is refused as goavro refuses it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ticdc_emit.changes.model import Op
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import AvroSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.avro.encoder import Avro
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.protocols.schema_texts import float_text
from ticdc_emit.schema.catalog import catalog_from_sql

PLAIN = CodecConfig(Protocol.AVRO)
TEXTS = replace(PLAIN, avro_decimal_handling_mode="string", avro_bigint_unsigned_handling_mode="string")
EXTENSION = replace(PLAIN, enable_tidb_extension=True)


def texts(
    sql: str, options: CodecConfig = PLAIN, op: Op = Op.INSERT, switches: AvroSwitches = AvroSwitches()
) -> dict[str, str]:
    (info,) = catalog_from_sql(sql).tables()
    return dict(Avro(options, switches).rows(info).schemas(op))


def field(definition: str, options: CodecConfig = PLAIN) -> Any:
    """Return the field of the column ``c`` as text, for order counts."""
    text = texts(f"create table test.t (id int primary key, c {definition})", options)["value"]
    begin = text.index('}},{"') + 3
    return text[begin : -len("]}")]


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("plain_1", "plain_1"),
        ("1t", "_1t"),
        ("-x", "_x"),
        ("a-b.c", "a_b_c"),
        ("中文", "__"),
        ("٣", "_"),
        ("é1", "_1"),
        ("_", "_"),
    ],
)
def test_sanitised_names(name: str, clean: str) -> None:
    assert sanitize(name) == clean


def test_namespaces_and_subjects() -> None:
    (info,) = catalog_from_sql("create table `S.x`.t (id int primary key)").tables()
    rows = Avro(PLAIN, AvroSwitches()).rows(info)
    assert json.loads(rows.schemas(Op.INSERT)["key"])["namespace"] == "default.S_x"
    assert rows.subject("a.b.c-d", "value") == "a_b_c-d-value"


@pytest.mark.parametrize(
    ("definition", "shown"),
    [
        ("tinyint unsigned", '{"type":"int","connect.parameters":{"tidb_type":"INT UNSIGNED"}}'),
        ("int unsigned", '{"type":"long","connect.parameters":{"tidb_type":"INT UNSIGNED"}}'),
        ("bigint unsigned", '{"type":"long","connect.parameters":{"tidb_type":"BIGINT UNSIGNED"}}'),
        ("float", '{"type":"float","connect.parameters":{"tidb_type":"FLOAT"}}'),
        ("bit", '{"type":"bytes","connect.parameters":{"length":"1","tidb_type":"BIT"}}'),
        (
            "decimal",
            '{"type":"bytes","connect.parameters":{"tidb_type":"DECIMAL"},'
            '"logicalType":"decimal","precision":10,"scale":0}',
        ),
        ("varbinary(4)", '{"type":"bytes","connect.parameters":{"tidb_type":"BLOB"}}'),
        ("longtext", '{"type":"string","connect.parameters":{"tidb_type":"TEXT"}}'),
        ("time(3)", '{"type":"string","connect.parameters":{"tidb_type":"TIME"}}'),
        ("year", '{"type":"int","connect.parameters":{"tidb_type":"YEAR"}}'),
        ("vector(3)", '{"type":"string","connect.parameters":{"tidb_type":"TiDBVECTORFloat32"}}'),
        (
            "enum('a,b','it''s','<','\"','\\\\')",
            '{"type":"string","connect.parameters":{"allowed":"a\\\\,b,it\'s,\\u003c,\\",\\\\","tidb_type":"ENUM"}}',
        ),
        (
            "set('a''''b','\\\\''')",
            '{"type":"string","connect.parameters":{"allowed":"a\'b,\'","tidb_type":"SET"}}',
        ),
    ],
)
def test_types(definition: str, shown: str) -> None:
    assert field(definition) == f'{{"default":null,"name":"c","type":["null",{shown}]}}'
    assert field(f"{definition} not null").endswith(f'"name":"c","type":{shown}}}')


def test_types_as_text() -> None:
    assert '"type":"string","connect.parameters":{"tidb_type":"DECIMAL"}}' in field("decimal(10,2)", TEXTS)
    assert '"type":"string","connect.parameters":{"tidb_type":"BIGINT UNSIGNED"}}' in field("bigint unsigned", TEXTS)
    assert '"type":"long"' in field("bigint", TEXTS)


@pytest.mark.parametrize(
    ("definition", "default"),
    [
        ("int default -5", "-5"),
        ("bigint unsigned default 18446744073709551615", "-1"),
        ("float default 3.14", "3.140000104904175"),
        ("float default 1e-7", "1.0000000116860974e-7"),
        ("double default 1e21", "1e+21"),
        ("double default 100", "100"),
        ("varbinary(4) default 'ab'", '"YWI="'),
        ("bit(10) default b'1010101010'", '"Aqo="'),
        ("varchar(9) default 'a<\"'", '"a\\u003c\\""'),
        ("varchar(9) default ''", '""'),
        ("year default 2024", "2024"),
        ("enum('a','b') default 'b'", '"b"'),
        ("datetime default current_timestamp", '"CURRENT_TIMESTAMP"'),
    ],
)
def test_defaults(definition: str, default: str) -> None:
    shown = field(definition)
    assert shown.startswith(f'{{"default":{default},"name":"c","type":')
    assert json.loads(shown)["type"][-1] == "null"


def test_a_default_of_a_not_null_column_may_be_beyond_doubles() -> None:
    shown = field("bigint not null default 9223372036854775807")
    assert shown.startswith('{"default":9223372036854775807,"name":"c","type":{')


def test_a_decimal_shows_its_default_only_as_text() -> None:
    assert json.loads(field("decimal(5,2) default 1.5"))["default"] is None
    assert json.loads(field("decimal(5,2) default 1.5"))["type"][0] == "null"
    assert "default" not in json.loads(field("decimal(5,2) not null default 1.5"))
    assert json.loads(field("decimal(5,2) default 1.5", TEXTS))["default"] == "1.5"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1e-6, "0.000001"),
        (9.9e-7, "9.9e-7"),
        (1e-10, "1e-10"),
        (-1.5e300, "-1.5e+300"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
    ],
)
def test_numbers_as_go_prints_them(value: float, text: str) -> None:
    assert float_text(value) == text


def test_keys_show_the_handle_key_without_extension() -> None:
    sql = "create table test.t (a int, b varchar(9) not null, c int not null, unique key (c, b))"
    made = texts(sql, EXTENSION)
    assert list(made) == ["key", "value"]
    assert [each["name"] for each in json.loads(made["key"])["fields"]] == ["b", "c"]
    tail = [each["name"] for each in json.loads(made["value"])["fields"][3:]]
    assert tail == ["_tidb_op", "_tidb_commit_ts", "_tidb_commit_physical_time"]
    assert list(texts(sql, op=Op.DELETE)) == ["key"]
    assert list(texts(sql, switches=AvroSwitches(key_columns="primary-key"))) == ["value"]
    assert list(texts("create table test.t (a int)")) == ["value"]
    assert texts("create table test.t (a int)", op=Op.DELETE) == {}


def test_a_default_of_a_vector_may_be_shown() -> None:
    sql = "create table test.t (id int primary key, v vector(1) default (vec_from_text('[1]')))"
    with pytest.raises(SchemaError, match="VECTOR default"):
        texts(sql)["value"]
    shown = texts(sql, switches=AvroSwitches(vector_default="shown"))["value"]
    assert json.loads(shown)["fields"][1]["default"].startswith("vec_from_text(")


def test_a_key_without_columns_may_be_refused() -> None:
    sql = "create table test.t (a int primary key, b int)"
    (info,) = catalog_from_sql(sql).tables()
    table = replace(info, selected=frozenset("b"))
    assert list(Avro(PLAIN, AvroSwitches()).rows(table).schemas(Op.INSERT)) == ["value"]
    made = Avro(PLAIN, AvroSwitches(empty_keys="failing")).rows(table).schemas(Op.INSERT)
    with pytest.raises(SchemaError, match="drops the whole primary key"):
        made["key"]


def test_row_checksums_order_values_by_column_id() -> None:
    sql = "create table test.t (id int primary key, z int, y int); alter table test.t add column a int first"
    options = replace(EXTENSION, enable_row_checksum=True)
    made = texts(sql, options)
    names = [each["name"] for each in json.loads(made["value"])["fields"]]
    assert names[:4] == ["id", "z", "y", "a"]
    assert names[-3:] == ["_tidb_row_level_checksum", "_tidb_corrupted", "_tidb_checksum_version"]
    assert [each["name"] for each in json.loads(texts(sql, EXTENSION)["value"])["fields"]][:2] == ["a", "id"]


def test_virtual_columns_are_not_shown() -> None:
    sql = "create table test.t (id int primary key, v int as (id + 1) virtual, s int as (id + 1) stored)"
    assert [each["name"] for each in json.loads(texts(sql)["value"])["fields"]] == ["id", "s"]


@pytest.mark.parametrize(
    ("columns", "options", "named"),
    [
        ("`a-b` int, a_b int", PLAIN, "a_b"),
        ("`中` int, `文` int", PLAIN, "文"),
        ("_tidb_op int", EXTENSION, "_tidb_op"),
        ("c bigint default 9223372036854775807", PLAIN, "c"),
        ("c bigint default 9223372036854775296", PLAIN, "c"),
    ],
)
def test_schemas_that_are_refused(columns: str, options: CodecConfig, named: str) -> None:
    (info,) = catalog_from_sql(f"create table test.t (id int primary key, {columns})").tables()
    made = Avro(options, AvroSwitches()).rows(info).schemas(Op.INSERT)
    assert '"name":"id"' in made["key"]  # only the value's is refused
    with pytest.raises(SchemaError) as caught:
        made["value"]
    assert caught.value.context["table"] == "test.t"
    assert caught.value.context["column"] == named


def test_the_greatest_defaults_that_survive_as_doubles() -> None:
    assert field("bigint default 9223372036854775295").startswith('{"default":9223372036854775295,')
    assert field("bigint unsigned default 9223372036854775808").startswith('{"default":-9223372036854775808,')
    assert field("int", EXTENSION).startswith('{"default":null,')
    assert texts("create table test.t (_tidb_op int)")["value"].count("_tidb_op") == 1
