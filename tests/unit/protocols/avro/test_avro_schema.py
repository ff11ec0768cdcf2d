"""Schema texts: names, numbers, limits, and what is refused as goavro refuses it."""

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
from ticdc_emit.protocols.json_values import float_text
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.schema.catalog import catalog_from_sql

PLAIN = CodecConfig(Protocol.AVRO)
EXTENSION = replace(PLAIN, enable_tidb_extension=True)


def texts(
    sql: str, options: CodecConfig = PLAIN, op: Op = Op.INSERT, switches: AvroSwitches = AvroSwitches()
) -> dict[str, str]:
    (info,) = catalog_from_sql(sql).tables()
    return {part: make() for part, make in Avro(options, switches).rows(info).schemas(op).items()}


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


def test_a_default_of_a_not_null_column_may_be_beyond_doubles() -> None:
    shown = field("bigint not null default 9223372036854775807")
    assert shown.startswith('{"default":9223372036854775807,"name":"c","type":{')


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


def test_a_default_of_a_vector_may_be_shown() -> None:
    sql = "create table test.t (id int primary key, v vector(1) default (vec_from_text('[1]')))"
    with pytest.raises(SchemaError, match="VECTOR default"):
        texts(sql)
    shown = texts(sql, switches=AvroSwitches(vector_default="shown"))["value"]
    assert json.loads(shown)["fields"][1]["default"].startswith("vec_from_text(")


def test_a_key_without_columns_may_be_refused() -> None:
    sql = "create table test.t (a int primary key, b int)"
    (info,) = catalog_from_sql(sql).tables()
    table = replace(info, selected=frozenset("b"))
    assert list(Avro(PLAIN, AvroSwitches()).rows(table).schemas(Op.INSERT)) == ["value"]
    made = Avro(PLAIN, AvroSwitches(empty_keys="failing")).rows(table).schemas(Op.INSERT)
    with pytest.raises(SchemaError, match="drops the whole primary key"):
        made["key"]()


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
    assert '"name":"id"' in made["key"]()  # only the value's is refused
    with pytest.raises(SchemaError) as caught:
        made["value"]()
    assert caught.value.context["table"] == "test.t"
    assert caught.value.context["column"] == named


def test_the_greatest_defaults_that_survive_as_doubles() -> None:
    assert field("bigint default 9223372036854775295").startswith('{"default":9223372036854775295,')
    assert field("bigint unsigned default 9223372036854775808").startswith('{"default":-9223372036854775808,')
    assert field("int", EXTENSION).startswith('{"default":null,')
    assert texts("create table test.t (_tidb_op int)")["value"].count("_tidb_op") == 1
