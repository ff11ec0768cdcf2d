"""Compression of every kind of message, and control messages beyond max-message-bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from encode_large_messages import CANAL, SIMPLE, SIMPLE_AVRO, TABLE, encode, handling, insert, plan_of

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import MessageTooLargeError, MissingDependencyError
from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap
from ticdc_emit.pipeline.deliver.control_events import ControlEncoder, Watermark
from ticdc_emit.pipeline.plan.large_messages import compressed, compressor
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.decoder import decompressor
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.schema.catalog import Catalog

DEBEZIUM = "protocol=debezium&enable-tidb-extension=true"
EVERY = [CANAL, SIMPLE, SIMPLE_AVRO, DEBEZIUM]
LONG = f"create table test.t (id int primary key, v text, w varchar(20)) comment '{'c' * 900}'"


KINDS = ("ddl", "watermark", "bootstrap")


def announced(plan: Plan, sql: str = TABLE, kinds: Sequence[str] = KINDS) -> dict[str, ControlMessage]:
    catalog = Catalog()
    catalog.apply("create database if not exists test", commit_ts=1)
    (event,) = catalog.apply(sql, commit_ts=5)
    bootstrap = Bootstrap(event.table_info.id, event.table_info, (("topic", 0),), 9, "tick")
    events = {"ddl": event, "watermark": Watermark(9 << 18), "bootstrap": bootstrap}
    made = {kind: ControlEncoder(plan).message(events[kind]) for kind in kinds}
    return {kind: message for kind, message in made.items() if message is not None}


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
@pytest.mark.parametrize("uri", EVERY)
def test_every_kind_of_message_is_compressed(uri: str, compression: str) -> None:
    plain, packed = plan_of(uri), plan_of(uri, handling(compression=compression))
    rows, packed_rows = encode(plain, [insert(1, 50), insert(2, 0)]), encode(packed, [insert(1, 50), insert(2, 0)])
    unpacked = [decompressor(compression)(value) for value in packed_rows.values.to_pylist()]
    assert unpacked == rows.values.to_pylist()
    assert unpacked != packed_rows.values.to_pylist()
    keys = packed_rows.filled_keys().to_pylist()
    if uri == DEBEZIUM:
        keys = [decompressor(compression)(key) for key in keys]
    assert keys == rows.filled_keys().to_pylist()
    expected, made = announced(plain), announced(packed)
    assert list(made) == list(expected)
    assert ("bootstrap" in made) == uri.startswith("protocol=simple")
    for kind, message in made.items():
        key = decompressor(compression)(message.key) if uri == DEBEZIUM and message.key else message.key
        assert (key, decompressor(compression)(message.value)) == (expected[kind].key, expected[kind].value)
        assert message.commit_ts == expected[kind].commit_ts


def test_avro_is_never_compressed() -> None:
    uri, section = "kafka://127.0.0.1:9092/topic?protocol=avro", handling(compression="lz4")
    config = load_changefeed(uri, section, schema_registry="http://127.0.0.1:8081")
    assert make_plan(config, {}, {"topic": 1}).large.compressed_parts == ()


def test_readers_take_compressed_messages() -> None:
    made = encode(plan_of(SIMPLE, handling(compression="snappy")), [insert(1, 3)])
    row: Any = SimpleReader(compression="snappy").read(b"", made.values[0].as_py())
    assert row.after == {"id": "1", "v": "xxx", "w": "w"}
    made = encode(plan_of(DEBEZIUM, handling(compression="lz4")), [insert(1, 3)])
    change: Any = DebeziumReader(compression="lz4").read(made.keys[0].as_py(), made.values[0].as_py())
    assert change.after == {"id": 1, "v": "xxx", "w": "w"}


def test_the_compressed_size_counts() -> None:
    (plain,) = encode(plan_of(CANAL), [insert(1, 5000)]).values.to_pylist()
    plan = plan_of(CANAL, handling("handle-key-only", "snappy"), limit=1500)
    (packed,) = encode(plan, [insert(1, 5000)]).values.to_pylist()
    assert len(plain) > 5000
    assert decompressor("snappy")(packed) == plain
    with pytest.raises(MessageTooLargeError) as caught:
        encode(plan_of(CANAL, handling(compression="snappy"), limit=len(packed) + 35), [insert(1, 5000)])
    assert caught.value.length == len(packed) + 36
    encode(plan_of(CANAL, handling(compression="snappy"), limit=len(packed) + 36), [insert(1, 5000)])


@pytest.mark.parametrize("uri", [SIMPLE, SIMPLE_AVRO])
@pytest.mark.parametrize("option", ["none", "handle-key-only", "claim-check"])
def test_simple_refuses_a_schema_beyond_max_message_bytes(uri: str, option: str) -> None:
    whole = announced(plan_of(uri), LONG)
    for kind in ("ddl", "bootstrap"):
        size = len(whole[kind].value) + 36
        assert announced(plan_of(uri, handling(option), limit=size), LONG, [kind]) == {kind: whole[kind]}
        with pytest.raises(MessageTooLargeError, match=f"{size} bytes") as caught:
            announced(plan_of(uri, handling(option), limit=size - 1), LONG, [kind])
        assert caught.value.table == "test.t"
        what = "the message of a DDL" if kind == "ddl" else "the BOOTSTRAP message of a table"
        assert caught.value.message.startswith(f"{what} is too large: {size} bytes, max-message-bytes is")
        assert caught.value.context.get("statement", LONG).startswith("create table test.t (id int")
        remedy = "Raise max-message-bytes in the sink URI: large-message-handle-option is for rows only"
        assert caught.value.remedy == remedy
        assert caught.value.code == "CDC:ErrMessageTooLarge"
    packed = handling(option, "lz4")
    fits = announced(plan_of(uri, packed, limit=len(whole["ddl"].value) - 500), LONG)
    assert decompressor("lz4")(fits["ddl"].value) == whole["ddl"].value


@pytest.mark.parametrize("uri", [CANAL, DEBEZIUM])
def test_other_protocols_leave_a_large_ddl_to_the_producer(uri: str) -> None:
    assert announced(plan_of(uri, limit=300), LONG)["ddl"] == announced(plan_of(uri), LONG)["ddl"]


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_an_empty_message_is_compressed_and_a_null_stays_null(compression: str) -> None:
    packed = compressed(pa.array([b"", None, b"a" * 99]), compressor(compression)).to_pylist()
    assert packed[0]
    assert packed[1] is None
    assert [decompressor(compression)(packed[0]), decompressor(compression)(packed[2])] == [b"", b"a" * 99]


def test_without_cramjam_the_plan_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[compression\]"):
        plan_of(SIMPLE, handling(compression="lz4"))
    with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[compression\]"):
        SimpleReader(compression="snappy")
    plan_of(SIMPLE, handling("handle-key-only"))


def test_a_watermark_is_not_measured() -> None:
    message: dict[str, Any] = json.loads(announced(plan_of(CANAL, limit=50))["watermark"].value)
    assert message["type"] == "TIDB_WATERMARK"
