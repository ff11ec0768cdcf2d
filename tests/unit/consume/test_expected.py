"""Topics and folders against the reports of their senders, and against the schema of the source."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.expected import ExpectedChanges
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.consume.verify import Proof, Verifier
from ticdc_emit.delivery import memory
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History

SCHEMA = "CREATE TABLE s.t (id INT PRIMARY KEY, v VARCHAR(9), e ENUM('a', 'b'))"
SQL = ";".join(
    [f"INSERT INTO s.t VALUES ({key}, 'v{key}', 'a')" for key in range(5)]
    + ["UPDATE s.t SET e = 'b' WHERE id < 3", "DELETE FROM s.t WHERE id = 0"]
)
QUEUES = (
    "canal-json",
    "canal-json&enable-tidb-extension=true",
    "simple",
    "simple&encoding-format=avro",
    "debezium",
    "avro",
    "open-protocol",
)
FILES = ("csv", "canal-json&enable-tidb-extension=true")


def sent(protocol: str, schema: str = SCHEMA, sql: str = SQL, *, file: bool = False) -> tuple[Any, ...]:
    """Return the changefeed, its messages, the schemas, and the report of a run of two batches."""
    uri = f"file:///lake?protocol={protocol}" if file else f"memory://t?protocol={protocol}&partition-num=2"
    document: dict[str, Any] = {"force-replicate": protocol != "avro"}
    document |= {"sink": {"csv": {"output-old-value": True, "include-commit-ts": True}}} if "csv" in protocol else {}
    config, registry = load_changefeed(uri, document, own_registry=True), MemoryRegistry()
    memory.clear("expected")
    sink = MemoryFilesSink.of(config) if file else MemorySink("expected", new_partitions=2)
    rows = History.from_sql(sql, schema=f"CREATE DATABASE s;{schema}").to_arrow().sort_by("commit_ts")
    options = RunOptions(message_digests=True)
    feed = Changefeed(config, sink, f"CREATE DATABASE s;{schema}", registry=None if file else registry, options=options)
    for number, part in enumerate((rows.slice(0, 3), rows.slice(3))):
        feed.run(ArrowBatch(part), number, final=False)
    if protocol not in ("canal-json", "avro"):  # which cannot tell a repetition from an equal change
        feed.run(ArrowBatch(rows.slice(3)), 1, final=False)  # again, as after a failure
    messages = FolderReader(config, sink.kept).read() if file else memory.messages("expected")
    return config, list(messages), {post.id: post.schema for post in registry.posts}, feed.total.to_dict()


def seen(
    config: Any, messages: list[Message], schemas: Any, report: Any, **options: Any
) -> tuple[list[Finding], Proof]:
    verifier = Verifier(config, schemas=schemas, expected=ExpectedChanges(config, [report]), **options)
    verifier.see_all(messages)
    found = [each for each in verifier.finish() if each.invariant in ("expected", "schema")]
    return found, verifier.proof()


@pytest.mark.parametrize(("protocol", "file"), [*((each, False) for each in QUEUES), *((each, True) for each in FILES)])
def test_what_was_sent_is_there_once_or_more(protocol: str, file: bool) -> None:
    config, messages, schemas, report = sent(protocol, file=file)
    assert {op: count for op, count in report["changes"]["s.t"].items() if op != "digest"} == {
        "delete": 1, "insert": 5, "update": 3}  # fmt: skip
    found, proof = seen(config, messages, schemas, report, schema=SCHEMA)
    assert found == []
    assert "9 changes of 1 table are those of the report" in proof.proved
    if "open" in protocol:  # a message has several rows
        return
    places = {at for at, each in enumerate(messages) if b"v3" in (each.value or b"")}
    (finding,), _ = seen(config, [each for at, each in enumerate(messages) if at not in places], schemas, report)
    assert "of 9 missing: sent were 1 delete, 5 inserts, 3 updates" in finding.text
    changed = [each._replace(value=each.value and each.value.replace(b"v3", b"v9")) for each in messages]
    (finding,), _ = seen(config, changed, schemas, report)
    assert "messages are not those that were sent: sent were 1 delete, 5 inserts, 3 updates" in finding.text
    (finding,), _ = seen(config, messages, schemas, {**report, "changes": {}})
    assert "9 changes more than were sent" in finding.text


def test_a_report_without_digests_has_only_counts() -> None:
    config, messages, schemas, report = sent(QUEUES[1])
    del report["changes"]["s.t"]["digest"]
    found, proof = seen(config, messages, schemas, report)
    assert found == []
    assert "9 changes of 1 table are as many as in the report" in proof.proved
    assert any("has no digest of them: run the sender with --json" in each for each in proof.not_shown)
    (finding,), _ = seen(config, [each for each in messages if b"v4" not in (each.value or b"")], schemas, report)
    assert "1 change of 9 missing" in finding.text


def test_each_table_has_its_own_digest() -> None:
    schema, sql = f"{SCHEMA};CREATE TABLE s.u (id INT PRIMARY KEY)", f"{SQL};INSERT INTO s.u VALUES (1), (2)"
    found, proof = seen(*sent(QUEUES[1], schema, sql))
    assert found == []
    assert "11 changes of 2 tables are those of the report" in proof.proved


def test_rows_without_key_may_be_equal() -> None:
    twice = "INSERT INTO s.t VALUES (1), (1)"
    config, messages, schemas, report = sent(QUEUES[1], "CREATE TABLE s.t (v INT)", f"{twice};{twice}")
    assert seen(config, messages, schemas, report)[0] == []


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (SCHEMA.replace("'a', 'b'", "'a'"), "e does not fit the schema"),
        (SCHEMA.replace(" PRIMARY KEY", "").replace("(9)", "(9) PRIMARY KEY"), "the key (id) holds no key"),
        (SCHEMA.replace("v VARCHAR", "w VARCHAR"), "the schema has no column v"),
        (SCHEMA.replace("s.t", "s.other"), ""),
    ],
)  # fmt: skip
def test_another_schema(schema: str, text: str) -> None:
    found, _ = seen(*sent(QUEUES[1]), schema=schema)
    assert all(text in each.text for each in found)
    assert bool(found) is bool(text)
