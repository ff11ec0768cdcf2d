"""Table routing in the messages of every protocol: they show targets only, and consumers get the routed tables."""

from __future__ import annotations

from typing import Any

import pytest
from round_trip import FILES, PROTOCOLS, kinds_of

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.consume.verify import verify
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History

TS = 450000000262144000
SCHEMA = (
    "create database srcdb; create table srcdb.srca (id int primary key, v varchar(9));"
    "create table srcdb.srcb (id int primary key, v varchar(9)); create table kept.k (id int primary key);"
)


def ts(second: int) -> int:
    return TS + (second * 1000 << 18)


def change(second: int, table: str, before: Any, after: Any) -> dict[str, Any]:
    schema, _, name = table.partition(".")
    op = "c" if before is None else "d" if after is None else "u"
    return {"schema": schema, "table": name, "op": op, "commit_ts": ts(second), "before": before, "after": after}


ROWS = [
    change(1, "srcdb.srca", None, {"id": "1", "v": "a"}),
    change(1, "srcdb.srcb", None, {"id": "1", "v": "b"}),
    change(2, "kept.k", None, {"id": "1"}),
    change(3, "srcdb.srca", {"id": "1", "v": "a"}, {"id": "2", "v": "a"}),
    change(4, "srcdb.srcb", {"id": "1", "v": "b"}, None),
    change(5, "srcdb.srcb", None, {"id": "3", "v": "c"}),
]
LATER = [
    change(11, "srcdb.srca", None, {"id": "7", "w": "1", "v": "x"}),
    change(13, "srcdb.srcn", None, {"id": "8"}),
    change(15, "kept.moved", {"id": "3", "v": "c"}, {"id": "3", "v": "d"}),
    change(17, "srcdb.srcl", None, {"id": "9", "w": None, "v": None}),
]
DDL = (
    (ts(10), "alter table srcdb.srca add column w bigint after id"),
    (ts(12), "create table srcdb.srcn (id int primary key)"),
    (ts(14), "rename table srcdb.srcb to kept.moved"),
    (ts(16), "create table srcdb.srcl like srcdb.srca"),
    (ts(18), "drop table srcdb.srcn"),
)
ROUTES = [
    {"matcher": [f"srcdb.{name}"], "target-schema": "archive", "target-table": f"{name[3:]}_v2"}
    for name in ("srca", "srcb", "srcn", "srcl")
]


@pytest.mark.parametrize("release", ["next", "master"])
@pytest.mark.parametrize("kind", [kind for kind in kinds_of("next") if kind not in FILES])
def test_messages_and_consumers_know_targets(kind: str, release: str) -> None:
    protocol, options = PROTOCOLS[kind]
    avro = "avro" in protocol
    # every database rule gives the same target, and Avro's tables have topics of their own
    routes = [{**route, "topic": "t_{schema}_{table}"} if avro else route for route in ROUTES]
    own_topic = {"matcher": ["*.*"], "topic": "t_{schema}_{table}"}
    sink = {"dispatchers": [*routes, *([own_topic] if avro else [])]}
    parameters = "".join(f"&{name}={value}" for name, value in options.items())
    extension = "" if protocol in ("simple", "open-protocol") else "&enable-tidb-extension=true"
    config = load_changefeed(
        f"memory://d/topic?protocol={protocol}&partition-num=2{extension}{parameters}",
        {"sink": sink},
        release=release,
        schema_registry="http://127.0.0.1:8081",
    )
    history = History(SCHEMA, ROWS if avro else [*ROWS, *LATER], () if avro else DDL)
    registry = MemoryRegistry()
    sent = history.messages(config, registry=registry, watermark_interval=2.0)
    for message in sent:
        assert b"src" not in (message.key or b"")
        assert b"src" not in (message.value or b""), message.value
        assert not avro or message.topic == "topic" or "_src" in message.topic or "_k" in message.topic
    schemas = {post.id: post.schema for post in registry.posts}
    assert not any("src" in schema for schema in schemas.values())
    assert verify(sent, config, schemas=schemas or None, partitions=2) == []
    topics = {message.topic: 2 for message in sent}
    consumer = ReferenceConsumer(config, history.catalog(config=config), partitions=topics, schemas=schemas)
    consumer.take_all(sent)
    consumer.finish()
    expected = history.tables(config=config)
    assert consumer.tables == expected
    named = {("archive", "a_v2"), ("archive", "b_v2"), ("kept", "k")}
    assert set(expected) == (
        named if avro else {*named, ("archive", "l_v2"), ("kept", "moved")} - {("archive", "b_v2")}
    )


@pytest.mark.parametrize("release", ["next", "master"])
@pytest.mark.parametrize("kind", FILES)
def test_files_and_consumers_know_targets(kind: str, release: str) -> None:
    protocol, options = PROTOCOLS[kind]
    parameters = "".join(f"&{name}={value}" for name, value in options.items())
    sink = {"dispatchers": ROUTES}
    config = load_changefeed(f"file:///lake?protocol={protocol}{parameters}", {"sink": sink}, release=release)
    history = History(SCHEMA, [*ROWS, *LATER], DDL)
    files = history.files(config)
    for path, content in files.contents.items():
        assert "src" not in path
        assert b"src" not in content, path
    consumer = ReferenceConsumer(config, history.catalog(config=config))
    consumer.take_all(FolderReader(config, files).read())
    consumer.finish()
    assert consumer.tables == history.tables(config=config)
