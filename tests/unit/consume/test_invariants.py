"""Clean streams have no finding; one that is damaged in one way has the findings of one invariant, at its place."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pytest
from delivered import by_place, redelivered

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.expected import ExpectedChanges
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.verify import INVARIANTS, Verifier, verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ClaimCheckError
from ticdc_emit.protocols.events import BootstrapEvent, DdlEvent, DecodeError, Event, RowEvent, WatermarkEvent
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.model import FEEDS

AT = 450_000_000_000_000_000 >> 18 << 18
SECOND = 1000 << 18
TABLES = """
create table shop.orders (id bigint primary key, state varchar(10));
create table shop.people (id bigint primary key, state varchar(10));
"""
PARAMETERS = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true",
    "simple-json": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "debezium": "protocol=debezium&enable-tidb-extension=true",
    "debezium-avro": "protocol=debezium-avro&enable-tidb-extension=true",
    "avro": "protocol=avro&enable-tidb-extension=true&avro-decimal-handling-mode=string"
    "&avro-bigint-unsigned-handling-mode=string",
    "open-protocol": "protocol=open-protocol&max-batch-size=1",
}
DISPATCH = [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "index-value"}]


def change(second: float, table: str, key: int, before: str | None, after: str | None) -> dict[str, Any]:
    def image(state: str | None) -> dict[str, Any] | None:
        return None if state is None else {"id": str(key), "state": state}

    op = "insert" if before is None else "delete" if after is None else "update"
    place = {"schema": "shop", "table": table, "op": op, "commit_ts": AT + int(second * SECOND)}
    return {**place, "before": image(before), "after": image(after)}


ROWS = [
    change(0.1, "orders", 1, None, "new"),
    change(0.2, "orders", 2, None, "new"),
    change(0.3, "orders", 1, "new", "paid"),
    change(0.4, "orders", 1, "paid", "sent"),
    change(0.5, "orders", 7, None, "lonely"),
    change(2.0, "orders", 3, None, "new"),
    # a key that moves: the update is sent as a delete and an insert
    {**change(2.5, "orders", 3, "new", "moved"), "after": {"id": "4", "state": "moved"}},
    change(3.0, "orders", 2, "new", None),
    change(3.1, "people", 7, None, "born"),
    change(4.0, "people", 7, "born", "old"),
]
DDL = ((AT + 6 * SECOND, "alter table shop.orders add column note varchar(10)"),)


@dataclass(frozen=True)
class Clean:
    """A changefeed's messages with what they say. ``checked``: what verify finds in others in their place."""

    feed: str
    config: ChangefeedConfig
    messages: list[Message]
    events: list[Event]
    schemas: dict[Any, str]

    def findings(self, messages: list[Message], *, gone: int = 0, **options: Any) -> list[Finding]:
        counts: dict[tuple[str, int], int] = {}
        arrived = []
        for message in messages:
            place = message.topic, message.partition
            arrived.append(message._replace(offset=counts.get(place, gone)))
            counts[place] = arrived[-1].offset + 1
        return verify(arrived, self.config, schemas=self.schemas, **options)

    def row(self, table: str, key: int, state: str) -> int:
        """Return the place of a row's message."""
        for at, event in enumerate(self.events):
            if isinstance(event, RowEvent) and event.table == table and event.after is not None:
                image = {name: str(value) for name, value in event.after.items()}
                if (image["id"], image["state"]) == (str(key), state):
                    return at
        raise LookupError(state)


_clean: dict[tuple[str, int, bool], Clean] = {}


def clean(feed: str, partitions: int = 1, *, checksums: bool = False) -> Clean:
    place = feed, partitions, checksums
    if place not in _clean:
        changefeed: dict[str, Any] = {"sink": {"dispatchers": DISPATCH}}
        if checksums:
            changefeed["integrity"] = {"integrity-check-level": "correctness"}
        registry = MemoryRegistry()
        lineage = "next" if feed == "debezium-avro" else "classic"
        uri = f"kafka://127.0.0.1:9092/topic?partition-num={partitions}&{PARAMETERS[feed]}"
        config = load_changefeed(uri, changefeed, release=lineage, schema_registry="http://127.0.0.1:1")
        messages = History(TABLES, ROWS, DDL).messages(config, registry=registry, watermark_interval=1.0)
        schemas = {post.id: post.schema for post in registry.posts}
        reader = reader_for(config, schemas=schemas)
        _clean[place] = Clean(feed, config, messages, [reader.read(each.key, each.value) for each in messages], schemas)
    return _clean[place]


def assert_only(found: list[Finding], invariant: str) -> Finding:
    assert {each.invariant for each in found} == {invariant}, list(map(str, found))
    return found[0]


# -- clean streams ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_clean_stream_has_no_finding(feed: str, partitions: int) -> None:
    stream = clean(feed, partitions)
    assert stream.findings(stream.messages) == []


@pytest.mark.parametrize("feed", ["simple-json", "simple-avro", "avro"])
def test_nor_has_one_with_checksums(feed: str) -> None:
    stream = clean(feed, checksums=True)
    assert stream.findings(stream.messages) == []


@pytest.mark.parametrize("feed", FEEDS)
def test_nor_has_a_transaction_with_the_keys_that_python_hashes_alike(feed: str) -> None:
    assert hash(-1) == hash(-2)
    lineage = "next" if feed == "debezium-avro" else "classic"
    uri = f"memory://x?{PARAMETERS[feed]}&partition-num=1"
    config = load_changefeed(uri, release=lineage, schema_registry="http://127.0.0.1:1")
    rows = [change(0.1, "orders", key, None, f"new {key}") for key in (-1, -2)]
    registry = MemoryRegistry()
    messages = History(TABLES, rows).messages(config, registry=registry)
    schemas = {post.id: post.schema for post in registry.posts if post.id is not None}
    assert verify(messages, config, schemas=schemas) == []


@pytest.mark.parametrize(
    ("feed", "made"), [("canal-json", b'"ts":'), ("simple-json", b'"buildTs":'), ("debezium", b'},"ts_ms":')]
)
def test_a_repetition_may_be_made_later(feed: str, made: bytes) -> None:
    stream = clean(feed)
    again = [message._replace(value=(message.value or b"").replace(made, made + b"9")) for message in stream.messages]
    assert again != stream.messages
    assert stream.findings([*stream.messages, *again]) == []


@pytest.mark.parametrize("feed", FEEDS)
def test_what_comes_again_may_be_older_than_all_that_is_left(feed: str) -> None:
    stream, chance = clean(feed, 2), random.Random(feed)
    for seed in range(20):
        left = []
        for partition in by_place(redelivered(stream.messages, seed)):
            arrived = [message._replace(offset=offset) for offset, message in enumerate(partition)]
            left += arrived[chance.randrange(len(arrived)) :]
        assert verify(left, stream.config, schemas=stream.schemas) == []


@pytest.mark.parametrize(("release", "found"), [("classic", ["key-order"]), ("next", [])])
def test_a_delete_begins_its_commit_where_the_release_sends_deletes_first(release: str, found: list[str]) -> None:
    config = load_changefeed(f"memory://x?{PARAMETERS['canal-json']}&partition-num=1", release=release)
    rows = [change(1, "orders", key, None, "new") for key in (1, 2)]
    for key in (1, 2):  # they change places
        rows.append({**change(2, "orders", key, "new", "moved"), "after": {"id": str(3 - key), "state": "moved"}})
    messages = History(TABLES, rows).messages(config)
    assert verify(messages, config) == []
    values = [each.value or b"" for each in messages]
    (deleted,) = (at for at, value in enumerate(values) if b"DELETE" in value and b'"id":"1"' in value)
    last = max(at for at, value in enumerate(values) if b"INSERT" in value)
    late = [*messages[:deleted], *messages[deleted + 1 : last + 1], messages[deleted], *messages[last + 1 :]]
    moved = [message._replace(offset=offset) for offset, message in enumerate(late)]
    assert [each.invariant for each in verify(moved, config)] == found


def test_deletes_of_avro_that_name_no_row_are_counted() -> None:
    uri = f"memory://x?{PARAMETERS['avro']}&partition-num=1"
    config = load_changefeed(uri, release="next", schema_registry="http://127.0.0.1:1")
    rows = [change(second, "orders", 1, *images) for second, images in enumerate([(None, "new"), ("new", None)], 1)]
    registry, schema = MemoryRegistry(), TABLES.replace("bigint primary key", "bigint not null unique")
    messages = History(schema, rows).messages(config, registry=registry)
    assert {messages[-1].key, messages[-1].value} <= {None, b""}
    report = {"changes": {"shop.orders": {"insert": 1, "delete": 1, "digest": "0"}}, "discarded": ()}
    schemas = {post.id: post.schema for post in registry.posts if post.id is not None}
    verifier = Verifier(config, schemas=schemas, expected=ExpectedChanges(config, [report]))
    verifier.see_all(messages)
    assert (verifier.finish(), dict(verifier.counts)) == ([], {"row": 1, "nameless": 1})
    limits = "; ".join(verifier.proof().not_shown)
    assert "which rows 1 DELETE of tables without a primary key are of" in limits
    assert "its deletes may be those without key and value" in limits


# -- what each invariant finds ----------------------------------------------------------------------------------------


def test_unreadable_messages_are_found() -> None:
    stream = clean("canal-json")
    at = stream.row("orders", 7, "lonely")
    messages = list(stream.messages)
    messages[at] = messages[at]._replace(value=(messages[at].value or b"")[:-1])
    finding = assert_only(stream.findings(messages), "readable")
    assert (finding.topic, finding.offset) == ("shop_orders", messages[at].offset)


@pytest.mark.parametrize("gone", [0, 5])
@pytest.mark.parametrize("feed", FEEDS)
def test_an_older_change_of_a_key_behind_a_newer_one_is_found(feed: str, gone: int) -> None:
    stream = clean(feed)
    first, second = stream.row("orders", 1, "paid"), stream.row("orders", 1, "sent")
    messages = list(stream.messages)
    messages[first], messages[second] = messages[second], messages[first]
    finding = assert_only(stream.findings(messages, gone=gone), "key-order")
    assert finding.offset == stream.messages[second].offset + gone
    assert (finding.table, finding.key) == ("shop.orders", "id=1")


@pytest.mark.parametrize("feed", FEEDS)
def test_a_repetition_that_stops_short_is_found(feed: str) -> None:
    stream = clean(feed)
    last = stream.messages[stream.row("orders", 1, "paid")]
    messages = [each for each in stream.messages if each.topic == "shop_orders"]
    finding = assert_only(stream.findings([*messages, last]), "key-order")
    assert "comes again" in finding.text
    assert finding.offset == len(messages)


@pytest.mark.parametrize("feed", FEEDS)
def test_a_repetition_that_says_something_else_is_found(feed: str) -> None:
    stream = clean(feed)
    at = stream.row("orders", 7, "lonely")
    changed = stream.messages[at]._replace(value=(stream.messages[at].value or b"").replace(b"lonely", b"lovely"))
    finding = assert_only(
        stream.findings([*stream.messages[: at + 1], changed, *stream.messages[at + 1 :]]), "duplicates"
    )
    assert (finding.offset, finding.key) == (stream.messages[at].offset + 1, "id=7")


@pytest.mark.parametrize("feed", FEEDS[:4])
def test_a_row_that_is_new_behind_a_watermark_is_found(feed: str) -> None:
    stream = clean(feed)
    at = stream.row("orders", 7, "lonely")
    mark = next(at for at, event in enumerate(stream.events) if isinstance(event, WatermarkEvent) and at > 5)
    late = [
        *stream.messages[:at],
        *stream.messages[at + 1 : mark + 1],
        stream.messages[at],
        *stream.messages[mark + 1 :],
    ]
    orders = [each for each in late if each.topic == stream.messages[at].topic]
    assert_only(stream.findings(orders), "watermark")


@pytest.mark.parametrize("gone", [0, 5])
@pytest.mark.parametrize("feed", FEEDS[:4])
def test_a_watermark_that_falls_is_found(feed: str, gone: int) -> None:
    stream = clean(feed)
    places = [at for at, event in enumerate(stream.events) if isinstance(event, WatermarkEvent)][-2:]
    messages = list(stream.messages)
    messages[places[0]], messages[places[1]] = messages[places[1]], messages[places[0]]
    found = stream.findings(messages, gone=gone)
    assert_only(found, "watermark")
    assert any("watermark" in each.text and "comes after" in each.text for each in found)


@pytest.mark.parametrize("feed", FEEDS[:4])
def test_a_partition_without_watermarks_is_found(feed: str) -> None:
    stream = clean(feed, 3)
    messages = [
        message
        for message, event in zip(stream.messages, stream.events, strict=True)
        if not (isinstance(event, WatermarkEvent) and (message.topic, message.partition) == ("shop_orders", 1))
    ]
    finding = assert_only(stream.findings(messages, partitions=3), "watermark")
    assert (finding.partition, finding.offset) == (1, None)


@pytest.mark.parametrize("feed", ["simple-json", "simple-avro"])
def test_a_row_before_its_schema_is_found(feed: str) -> None:
    stream = clean(feed, 3)
    partition = stream.messages[stream.row("orders", 7, "lonely")].partition
    messages = [
        message
        for message, event in zip(stream.messages, stream.events, strict=True)
        if not (isinstance(event, BootstrapEvent) and event.table == "orders" and message.partition == partition)
    ]
    finding = assert_only(stream.findings(messages), "schema-first")
    assert (finding.topic, finding.partition, finding.table) == ("shop_orders", partition, "shop.orders")


def test_a_stream_without_its_beginning_is_not_blamed_for_schemas() -> None:
    stream = clean("simple-json")
    later = [message for message in stream.messages if message.offset > 2]
    assert verify(later, stream.config) == []


@pytest.mark.parametrize("number", [99, 1])
def test_a_schema_that_is_not_the_messages_own_is_found(number: int) -> None:
    stream = clean("avro")
    at = stream.row("orders", 7, "lonely")
    messages = list(stream.messages)
    assert int.from_bytes((messages[at].value or b"")[1:5], "big") != number
    messages[at] = messages[at]._replace(value=b"\0\0\0\0" + bytes([number]) + (messages[at].value or b"")[5:])
    finding = assert_only(stream.findings(messages), "schema-id")
    assert f"schema id {number}" in finding.text


def test_key_and_value_of_different_tables_are_found() -> None:
    stream = clean("avro")
    order, person = stream.row("orders", 7, "lonely"), stream.row("people", 7, "born")
    messages = list(stream.messages)
    messages[order] = messages[order]._replace(key=messages[person].key)
    finding = assert_only(stream.findings(messages), "schema-id")
    assert "shop.orders" in finding.text
    assert "shop.people" in finding.text


def test_a_registry_that_does_not_answer_is_no_finding() -> None:
    stream = clean("avro")

    def absent(number: int | str) -> str:
        raise DecodeError("the schema registry did not answer", registry="http://127.0.0.1:1")

    with pytest.raises(DecodeError, match="did not answer"):
        verify(stream.messages, stream.config, schemas=absent)


@pytest.mark.parametrize("feed", ["simple-json", "simple-avro", "debezium"])
def test_a_statement_that_a_partition_lacks_is_found(feed: str) -> None:
    stream = clean(feed, 3)
    messages = [
        message
        for message, event in zip(stream.messages, stream.events, strict=True)
        if not (isinstance(event, DdlEvent) and message.partition == 2)
    ]
    finding = assert_only(stream.findings(messages), "ddl-partitions")
    assert "not in partition 2: " in finding.text


def test_a_partition_with_messages_counts_whatever_was_said() -> None:
    stream = clean("simple-json", 3)
    messages = [
        message
        for message, event in zip(stream.messages, stream.events, strict=True)
        if not (isinstance(event, WatermarkEvent) and message.topic == "shop_orders" and message.partition == 2)
    ]
    findings = stream.findings(messages, partitions=1)
    assert [(each.invariant, each.partition) for each in findings] == [("watermark", 2)]


def test_a_statement_of_canal_json_outside_partition_0_is_found() -> None:
    stream = clean("canal-json", 3)
    at = next(at for at, event in enumerate(stream.events) if isinstance(event, DdlEvent))
    moved = stream.messages[at]._replace(partition=1)
    last = max(at for at, each in enumerate(stream.messages) if (each.topic, each.partition) == (moved.topic, 1))
    messages = [*stream.messages[:last], moved, *stream.messages[last:]]
    finding = assert_only(stream.findings(messages), "ddl-partitions")
    assert finding.partition == 1


@pytest.mark.parametrize("feed", ["simple-json", "simple-avro", "avro"])
@pytest.mark.parametrize(("key", "state", "changed"), [(7, b"lonely", b"lovely"), (1, b"sent", b"rent")])
def test_a_damaged_row_is_found_by_its_checksum(feed: str, key: int, state: bytes, changed: bytes) -> None:
    stream = clean(feed, checksums=True)
    at = stream.row("orders", key, state.decode())
    messages = list(stream.messages)
    messages[at] = messages[at]._replace(value=(messages[at].value or b"").replace(state, changed))
    finding = assert_only(stream.findings(messages), "checksum")
    assert (finding.offset, finding.key) == (messages[at].offset, f"id={key}")


@pytest.mark.parametrize("feed", ["simple-json", "simple-avro"])
def test_a_damaged_old_value_is_found_by_its_checksum(feed: str) -> None:
    stream = clean(feed, checksums=True)
    at = stream.row("orders", 1, "sent")
    messages = list(stream.messages)
    messages[at] = messages[at]._replace(value=(messages[at].value or b"").replace(b"paid", b"laid"))
    assert {each.invariant for each in stream.findings(messages)} == {"checksum", "continuity"}


def test_a_row_without_its_key_is_found() -> None:
    stream = clean("canal-json")
    at = stream.row("orders", 7, "lonely")
    messages = list(stream.messages)
    value = (messages[at].value or b"").replace(b'"pkNames":["id"]', b'"pkNames":["id","shop"]')
    messages[at] = messages[at]._replace(value=value)
    finding = assert_only(stream.findings(messages), "key-columns")
    assert "shop" in finding.text


def test_a_key_that_is_not_the_rows_is_found() -> None:
    stream = clean("avro")
    at, other = stream.row("orders", 7, "lonely"), stream.row("orders", 4, "moved")
    messages = list(stream.messages)
    messages[at] = messages[at]._replace(key=messages[other].key)
    assert_only(stream.findings(messages), "key-columns")


@pytest.mark.parametrize("feed", ["canal-json", "simple-json"])
def test_objects_that_are_not_there_are_found_if_asked(feed: str, tmp_path: Any) -> None:
    large = change(1, "orders", 1, None, "x" * 8)
    large["after"]["state"] = "x" * 9
    handle = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{tmp_path}"}
    changefeed = {"sink": {"kafka-config": {"large-message-handle": handle}}}
    rows = [{**large, "after": {"id": "1", "state": "x" * 5000}}]
    uri = f"kafka://127.0.0.1:9092/topic?partition-num=1&max-message-bytes=4000&{PARAMETERS[feed]}"
    config = load_changefeed(uri, changefeed)
    messages = History("create table shop.orders (id bigint primary key, state text)", rows).messages(config)
    stored = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(stored) == 1

    def of(objects: dict[str, bytes]) -> Any:
        def get(location: str) -> bytes:
            try:
                return objects[location.rpartition("/")[2]]
            except KeyError:
                raise ClaimCheckError("no such object", location=location) from None

        return get

    assert verify(messages, config) == []
    assert verify(messages, config, claims=of(stored)) == []
    assert "no such object" in assert_only(verify(messages, config, claims=of({})), "claim-check").text
    assert_only(verify(messages, config, claims=of(dict.fromkeys(stored, b"{}"))), "claim-check")


# -- what is told of them ---------------------------------------------------------------------------------------------


def test_a_finding_names_its_place() -> None:
    finding = Finding("key-order", "this is wrong", "orders", 2, 17, "shop.orders", "id=1")
    assert str(finding) == "orders/2@17 shop.orders id=1: this is wrong (key-order)"
    assert str(replace(finding, offset=None, table="", key="")) == "orders/2 this is wrong (key-order)"


def test_counts_and_a_limit() -> None:
    stream = clean("canal-json")
    verifier = Verifier(stream.config, most=2)
    for message in stream.messages:
        verifier.see(message._replace(value=b"{}") if message.offset % 2 else message)
    found = verifier.finish()
    assert verifier.counts["unreadable"] == verifier.found["readable"] > 2
    assert sum(each.invariant == "readable" for each in found) == 2
    assert sum(verifier.counts.values()) == len(stream.messages)
    assert verifier.found.keys() <= INVARIANTS.keys()
