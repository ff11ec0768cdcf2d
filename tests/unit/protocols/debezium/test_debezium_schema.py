"""Kafka Connect schemas of rows: the defaults of fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from debezium_messages import codec_of

from tests.conformance.encoded_rows import table_of
from ticdc_emit.config import CodecConfig
from ticdc_emit.protocols.debezium.encoder import field_schema
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings


def field(column: str, *, tidb_type: bool = False) -> list[tuple[str, Any]]:
    """Return the members of the schema of column ``v``, in their order."""
    info = table_of(f"create table test.t (v {column})")
    settings = DebeziumSettings(CodecConfig(enable_tidb_extension=tidb_type))
    return list(json.loads(field_schema(info.column("v"), settings) or b"null").items())


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("int default (rand())", None),
        ("date default '2024-00-00'", None),
        ("date not null default '2024-00-00'", "0"),
        ("datetime default '2024-00-01'", "0"),
        ("timestamp not null default '0000-00-00 00:00:00'", '"1970-01-01T00:00:00Z"'),
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


def test_a_schema_is_made_once() -> None:
    encoder = codec_of().rows(table_of("create table test.t (id int primary key)"))
    assert encoder._value_end is encoder._value_end
