"""DDL and watermarks of debezium-avro, which ``avro-enable-watermark`` sends: schemas, bytes, registration, reading.

``control.json`` is what TiCDC's own converter and goavro made of recorded Debezium messages, their ``source`` described
as debezium-avro describes it.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from conformance.history import CaseHistory
from conformance.vectors import read_case
from vector_files import vector_path

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.errors import RegistryError
from ticdc_emit.protocols.debezium_avro.decoder import DebeziumAvroReader
from ticdc_emit.protocols.debezium_avro.encoder import DebeziumAvro, make_codec
from ticdc_emit.protocols.events import DecodeError, kind_of
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.traffic.history import History

OPTIONS = "protocol=debezium-avro&enable-tidb-extension=true&avro-enable-watermark=true"
TS = 450_000_000_262_144_000
TABLE = "create table test.t (id bigint primary key, v varchar(9))"


def codec_of(uri: str = OPTIONS) -> DebeziumAvro:
    return make_codec(load_changefeed(f"memory://t/?{uri}", release="next", schema_registry="http://r"))


def controls(name: str) -> Iterator[tuple[int, DdlEvent | None, int, dict[str, str], Any]]:
    """Yield each control message of a case: its event, TSO, what the codec registers, and what Debezium's JSON says."""
    case = read_case(vector_path(name, "next"))
    history, codec = CaseHistory(case), codec_of()
    (recorded,) = (each.expected or {} for each in case.variants if each.id == "debezium-ext")
    for index, outcome in recorded.items():
        kind = case.events[index]["kind"]
        if kind not in ("ddl", "watermark") or not outcome.records:
            continue
        event = history.ddl[index] if kind == "ddl" else None
        assert not isinstance(event, Exception)
        texts = dict(codec.control_schemas(event))
        made = codec.with_headers(dict.fromkeys(texts.values(), b""))
        message = (
            made.watermark(case.events[index]["ts"], case.now_ms) if event is None else made.ddl(event, case.now_ms)
        )
        yield index, texts, (message.key, message.value), outcome.records[0]


def test_bytes_are_those_of_the_reference() -> None:
    golden = json.loads(Path(__file__).with_name("control.json").read_text(encoding="utf-8"))
    made = {index: [*zip(texts.items(), parts, strict=True)] for index, texts, parts, _ in controls(golden["case"])}
    for want in golden["parts"]:
        part = "Key" not in want["subject"]
        assert made[want["event"]][part] == ((want["subject"], want["schema"]), base64.b64decode(want["data"]))


@pytest.mark.parametrize("name", ["ddl_lifecycle", "ddl_more", "ddl_rest", "defaults_everything"])
def test_messages_say_what_those_in_json_say(name: str) -> None:
    for _, texts, parts, recorded in controls(name):
        for schema, data, told in zip(texts.values(), parts, (recorded.key, recorded.value), strict=True):
            parsed = fastavro.parse_schema(json.loads(schema))
            stream = io.BytesIO(data)
            assert fastavro.schemaless_reader(stream, parsed, None) == json.loads(told or b"")["payload"]
            assert not stream.read()


def test_what_is_not_sent_registers_nothing() -> None:
    assert not codec_of(OPTIONS.replace("avro-enable-watermark=true", "")).control_schemas(None)
    assert codec_of("protocol=debezium-avro&avro-enable-watermark=true").watermark(1, 1) is None
    with pytest.raises(RegistryError, match="not registered"):
        codec_of().watermark(1, 1)


def test_each_subject_is_registered_once() -> None:
    """The schema manager keeps one schema of a subject for each version of a table, and control messages have none."""
    registry = MemoryRegistry()
    encoder = Encoder(f"memory://t/?{OPTIONS}", TABLE, release="next", registry=registry)
    for step in range(2):
        encoder.watermark(TS + step)
        encoder.ddl(f"alter table test.t add column c{step} int", TS + step)
    sent = encoder.ddl("create database other", TS + 2)
    change = "io.debezium.connector.mysql.SchemaChange"
    wanted = ["default.watermark.Key", "default.watermark.Envelope", f"{change}Key", f"{change}Value"]
    assert [post.subject for post in registry.posts] == wanted
    reader = DebeziumAvroReader({post.id: post.schema for post in registry.posts})
    made: Any = reader.read(*(sent.column(part)[0].as_py() for part in ("key", "value")))
    assert (kind_of(made), made.message.payload["databaseName"], made.schema) == ("ddl", "other", "other")


def test_a_consumer_follows_rows_and_ddl() -> None:
    rows = [
        {
            "schema": "test",
            "table": "t",
            "op": "c",
            "commit_ts": TS + step,
            "before": None,
            "after": {"id": str(step), **more},
        }
        for step, more in enumerate([{"v": "a"}, {"v": "b"}, {"v": "c", "n": "7"}])
    ]
    history = History(TABLE, rows, ((TS + 1, "alter table test.t add column n int default 5"),))
    config = load_changefeed(f"kafka://h:9/t?{OPTIONS}&partition-num=1", release="next", schema_registry="http://r")
    registry = MemoryRegistry()
    messages = history.messages(config, registry=registry)
    schemas = {post.id: post.schema for post in registry.posts}
    kinds = [kind_of(DebeziumAvroReader(schemas).read(each.key, each.value)) for each in messages]
    assert kinds == ["row", "row", "ddl", "row", "watermark"]
    consumer = ReferenceConsumer(config, history.catalog(), partitions={"t": 1}, schemas=schemas)
    consumer.take_all(messages)
    consumer.finish()
    assert consumer.tables == history.tables()


def test_other_shapes_are_refused() -> None:
    texts = list(codec_of().control_schemas(None).values())
    message = (
        codec_of().with_headers({text: b"\0\0\0\0%c" % number for number, text in enumerate(texts)}).watermark(TS, 1)
    )
    assert kind_of(DebeziumAvroReader(dict(enumerate(texts))).read(message.key, message.value)) == "watermark"
    swapped = json.loads(texts[1])
    swapped["fields"].reverse()
    for schemas in ([texts[0], json.dumps(swapped)], [texts[0], texts[1].replace('"long"', '"Key"')]):
        with pytest.raises(DecodeError, match="does not describe a watermark"):
            DebeziumAvroReader(dict(enumerate(schemas))).read(message.key, message.value)
    event = next(event for event in CaseHistory(read_case(vector_path("ddl_more", "next"))).ddl.values())
    ddl = list(codec_of().control_schemas(event).values())
    made = (
        codec_of().with_headers({text: b"\0\0\0\0%c" % (number + 2) for number, text in enumerate(ddl)}).ddl(event, 1)
    )
    assert made is not None
    reader = DebeziumAvroReader(dict(enumerate([*texts, *ddl])))
    assert kind_of(reader.read(made.key, made.value)) == "ddl"
    with pytest.raises(DecodeError, match="different kinds"):
        reader.read(message.key, made.value)
