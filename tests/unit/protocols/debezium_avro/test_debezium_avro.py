"""Debezium's envelopes in Avro: what the golden vectors do not show, and the refusals of the encoder."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.errors import ConfigError, InvalidValueError, SchemaError
from ticdc_emit.protocols.debezium_avro.decoder import DebeziumAvroReader
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.registry.base import MemoryRegistry

TS = 450_000_000_262_144_000
TABLE = "create table test.t (id bigint primary key, v varchar(9))"


def change(op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"op": op, "commit_ts": TS, "before": before, "after": after}


class Sent:
    """The messages of some changes, with the schemas that they name."""

    def __init__(self, sql: str, changes: Iterable[Mapping[str, Any]], uri: str = "", sink: Any = None) -> None:
        self.registry = MemoryRegistry()
        uri = f"kafka://127.0.0.1:9/a.topic?protocol=debezium-avro{uri}"
        options = {"release": "next", "schema_registry": "http://registry"}
        encoder = Encoder(uri, sql, changefeed={"sink": sink or {}}, registry=self.registry, **options)
        self.messages = [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]

    def by_fastavro(self, part: int) -> Any:
        """Read the first key (0) or value (1) with the registered schema as it is."""
        data = self.messages[0][part]
        schema = fastavro.parse_schema(json.loads(self.schemas[int.from_bytes(data[1:5], "big")]))
        return fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None)

    @property
    def schemas(self) -> dict[int, str]:
        return {post.id: post.schema for post in self.registry.posts}


def _read(schemas: Mapping[int, str], key: bytes, value: bytes) -> Any:
    return DebeziumAvroReader(schemas).read(key, value)


def test_updates_show_what_was_before_unless_it_is_turned_off() -> None:
    rows = [
        change("u", {"id": 1, "v": "a"}, {"id": 1, "v": "b"}),
        change("u", {"id": 2, "v": "c"}, {"id": 2, "v": "c"}),
    ]
    for output, shown in ((True, [{"id": 1, "v": "a"}, {"id": 2, "v": "c"}]), (False, [None, None])):
        sent = Sent(TABLE, rows, sink={"debezium": {"output-old-value": output}})
        read = [_read(sent.schemas, *message) for message in sent.messages]
        assert [each.before for each in read] == shown
        assert [each.after for each in read] == [{"id": 1, "v": "b"}, {"id": 2, "v": "c"}]


def test_defaults_stand_for_null_and_an_enum_of_zero_is_empty() -> None:
    sql = """create table test.t (id int primary key, i int default 7, n decimal(5,2) default '1.50',
        e enum('a') default 'a', z enum('a'), k bit(9) default b'100000001', v varbinary(9) default 'xyz',
        m datetime default '2024-01-01 00:00:00', ts timestamp null default '2024-01-01 00:00:00',
        now datetime default current_timestamp)"""
    null = dict.fromkeys(("i", "n", "e", "k", "v", "m", "ts", "now"))
    sent = Sent(sql, [change("c", after={"id": 1, "z": 0, **null}), change("c", after={"id": 2, "z": "a", **null})])
    after = _read(sent.schemas, *sent.messages[0]).after
    assert after == {
        "id": 1, "i": 7, "n": Decimal("1.50"), "e": "a", "z": "", "k": b"\1\1", "v": b"xyz", "m": 1704067200000,
        "ts": "2024-01-01T00:00:00Z", "now": 0,
    }  # fmt: skip


def test_big_unsigned_integers() -> None:
    sql, row = "create table test.t (id bigint unsigned primary key)", {"id": 1 << 63}
    with pytest.raises(InvalidValueError, match="beyond what Avro's long holds") as refused:
        Sent(sql, [change("c", after={"id": 1}), change("c", after=row)])
    assert (refused.value.context["column"], refused.value.context["row"]["id"]) == ("id", 1 << 63)
    sent = Sent(sql, [change("c", after=row)], "&avro-bigint-unsigned-handling-mode=string")
    assert sent.by_fastavro(0) == {"id": str(1 << 63)}


@pytest.mark.parametrize(
    ("sql", "cause"),
    [
        ("create table test.t (id int primary key, g int as (id + 1) virtual)", "two fields 'g'"),
        ("create table test.t (id int primary key, `a-b` int, a_b int)", "two fields 'a_b'"),
        ("create table test.source (id int primary key)", None),
        ("create table test.Source (id int primary key)", "may not be named Source"),
        ("create table test.t (id int primary key, b bit(3) default '')", "without bits"),
    ],
)
def test_tables_without_a_schema(sql: str, cause: str | None) -> None:
    extra = {name: 1 for name in ("a-b", "a_b", "b") if f" {name} " in sql.replace("`", "")}
    if cause is None:
        Sent(sql, [change("c", after={"id": 1})])
        return
    with pytest.raises(SchemaError, match=cause) as refused:
        Sent(sql, [change("c", after={"id": 1, **extra})])
    assert pickle.loads(pickle.dumps(refused.value)).message == refused.value.message


def test_a_selector_that_drops_a_virtual_column_leaves_it_null() -> None:
    sql = "create table test.t (id int primary key, g int as (id + 1) virtual)"
    sent = Sent(
        sql, [change("c", after={"id": 1})], sink={"column-selectors": [{"matcher": ["*.*"], "columns": ["*", "!g"]}]}
    )
    assert sent.by_fastavro(1)["after"] == {"id": 1, "g": None}


def test_the_handle_key_of_next_may_have_virtual_columns_which_are_null() -> None:
    sql = "create table test.t (id int not null, v int not null, w int as (id) virtual not null, {}, {})"
    sql = sql.format("unique key (w, id)", "unique key (v, id)")
    sink = {"column-selectors": [{"matcher": ["*.*"], "columns": ["id", "v"]}]}  # which make the schema valid
    assert Sent(sql, [change("c", after={"id": 1, "v": 2})], sink=sink).by_fastavro(0) == {"id": 1, "w": None}


def test_configuration() -> None:
    uri = "memory://topic/?protocol=debezium-avro"
    with pytest.raises(ConfigError, match="unknown 'debezium-avro' message protocol") as refused:
        load_changefeed(uri, schema_registry="http://r")
    assert refused.value.remedy == "Only some releases have it (next-26.3.3 to master): set release=next"
    with pytest.raises(ConfigError, match="Debezium Avro protocol requires parameter"):
        load_changefeed(uri, release="next")


class TestReader:
    def test_without_a_catalog_types_come_from_the_schema(self) -> None:
        sql = "create table test.t (id int primary key, f float, d datetime(6), b blob, k bit(9))"
        row = {"id": 1, "f": 0.1, "d": "2024-01-01 00:00:00.5", "b": b"\0", "k": 258}
        sent = Sent(sql, [change("d", row)])
        options = {"release": "next", "schema_registry": "http://r"}
        reader = reader_for(load_changefeed("memory://t/?protocol=debezium-avro", **options), schemas=sent.schemas)
        event = reader.text(reader.read(*sent.messages[0]))  # type: ignore[arg-type]
        assert (event.op, event.key) == ("delete", {"id": "1"})
        assert event.before == {"id": "1", "f": "0.1", "d": "2024-01-01 00:00:00.500000", "b": "AA==", "k": "258"}

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (', "scale": "2"}', "}"),
            ('"scale": "2"', '"scale": "x"'),
            ('"scale": "2"', '"scale": "3"'),
            ('"scale": "2"', '"scale": 2'),
            ('"scale": "2"', '"scale": null'),
            ('"scale": "2"', f'"scale": "{"9" * 5000}"'),
            (', "scale": 2', ""),
            (', "scale": 2', ', "scale": 3'),
            (', "logicalType": "decimal"', ""),
        ],
    )
    @pytest.mark.parametrize("part", [0, 1])
    def test_a_decimal_without_its_scale_is_refused(self, part: int, old: str, new: str) -> None:
        sent = Sent("create table test.t (id decimal(5,2) primary key)", [change("c", after={"id": "1.50"})])
        texts = {number: json.dumps(json.loads(text)) for number, text in sent.schemas.items()}
        options = {"release": "next", "schema_registry": "http://r"}
        config = load_changefeed("memory://t/?protocol=debezium-avro", **options)
        reader = reader_for(config, schemas=texts)
        assert reader.text(reader.read(*sent.messages[0])).after == {"id": "1.50"}  # type: ignore[arg-type]
        damaged = texts[part + 1].replace(old, new)
        assert damaged != texts[part + 1]
        with pytest.raises(DecodeError, match="the field 'id' has no scale, or two that differ"):
            reader_for(config, schemas=texts | {part + 1: damaged}).read(*sent.messages[0])

    def test_other_schemas_are_refused(self) -> None:
        sent = Sent(TABLE, [change("c", after={"id": 1, "v": "x"})])
        key, value = sent.messages[0]
        other = Sent(
            "create table test.other (id bigint primary key, v varchar(9))", [change("c", after={"id": 1, "v": ""})]
        )
        with pytest.raises(
            DecodeError, match=r"the value's schema is of default\.test\.t, the key's of default\.test\.other"
        ):
            DebeziumAvroReader({1: other.schemas[1], 2: sent.schemas[2]}).read(key, value)
        for text in ("[]", '{"type":"record","name":"tKey","fields":[{"name":"a","type":"tKey"}]}', "{}"):
            with pytest.raises(DecodeError, match="does not describe Debezium's rows"):
                DebeziumAvroReader({1: text, 2: sent.schemas[2]}).read(key, value)
        reader = DebeziumAvroReader(sent.schemas)
        for bad in ((key, None), (key, value[:-1]), (key, value + b"\0"), (value, key), (None, value)):
            with pytest.raises(DecodeError):
                reader.read(*bad)
