"""Messages that a command shows: which, how, and how far apart their watermarks are."""

from __future__ import annotations

import io
import json
import math
from contextlib import ExitStack

import pytest
from rich.console import Console

from ticdc_emit.cli.app import Generate
from ticdc_emit.cli.messages import (
    Reader,
    changefeed_at,
    message_dict,
    pick_story,
    print_messages,
    sparse_interval,
    target_at,
)
from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.delivery.base import Message
from ticdc_emit.traffic.scenarios.library import scenario


def row(offset: int, kind: str, key: int) -> Message:
    value = {"type": kind, "table": "t", "pkNames": ["id"], "data": [{"id": str(key)}]}
    return Message("topic", 0, offset, b"", json.dumps(value).encode())


def watermark(offset: int, partition: int = 0) -> Message:
    return Message("topic", partition, offset, None, b'{"type":"TIDB_WATERMARK","data":null,"pkNames":null}')


def read_json(message: Message) -> list[TailLine]:
    try:
        value = json.loads(message.value or b"")
    except ValueError:
        return []
    key = value["data"][0] if value["data"] else {}
    return [TailLine(*message[:3], value["type"].lower() if key else "watermark", key=key)]


def offsets(messages: list[Message]) -> list[int]:
    return [message.offset for message in messages]


def test_the_newest_whole_life_and_the_last_watermark() -> None:
    topic = [
        row(0, "INSERT", 1),
        row(1, "INSERT", 2),
        row(2, "UPDATE", 1),
        row(3, "DELETE", 1),
        watermark(4),
        row(5, "UPDATE", 2),
        watermark(6),
        watermark(0, partition=1),
    ]
    assert offsets(pick_story(topic, read_json)) == [0, 2, 3, 6]


def test_a_long_life_keeps_its_beginning_and_its_end() -> None:
    topic = [row(0, "INSERT", 1), *(row(n, "UPDATE", 1) for n in range(1, 9)), row(9, "DELETE", 1)]
    assert offsets(pick_story(topic, read_json)) == [0, 8, 9]


def test_without_a_whole_life_the_newest_key() -> None:
    assert offsets(pick_story([row(7, "UPDATE", 1), row(8, "UPDATE", 2), row(9, "UPDATE", 1)], read_json)) == [7, 9]


def test_binary_messages_are_shown_too() -> None:
    topic = [Message("topic", 0, offset, b"k", b"\x00\xff") for offset in range(9)]
    assert offsets(pick_story(topic, read_json)) == [6, 7, 8]
    assert pick_story([], read_json) == []
    shown = printed(topic[:1])
    assert "key k | " in shown
    assert r"\xff" in shown


def printed(messages: list[Message], *, read: Reader = read_json) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=100, soft_wrap=True)
    print_messages(console, messages, read)
    return stream.getvalue()


def test_plain_lines_hold_the_value_as_it_is() -> None:
    message = row(5, "INSERT", 1)
    assert printed([message]) == (f"topic · partition 0 · offset 5 | key of zero length | {message.value.decode()}\n")
    assert printed([watermark(1)]).startswith("topic · partition 0 · offset 1 | key null | ")


def test_a_message_as_json_data() -> None:
    text = message_dict(Message("t", 0, 1, None, '{"v":"\x80é"}'.encode()), read_json)
    assert (text["key"], text["value"]) == (None, '{"v":"\x80é"}')
    line = TailLine("t", 0, 1, "insert", 7, key={"id": "1"}, new={"v": None})
    binary = message_dict(Message("t", 0, 1, b"\x00\x01", None), lambda _: [line])
    assert binary["key"] == {"base64": "AAE="}
    assert binary["decoded"] == {"op": "insert", "commit_ts": 7, "key": {"id": "1"}, "new": {"v": None}}


def test_every_row_of_a_message_is_shown() -> None:
    message = Message("t", 0, 1, b"\x00", b"\x01")
    lines = [TailLine("t", 0, 1, "insert", 7, key={"id": number}) for number in "12"]
    rows = [{"op": "insert", "commit_ts": 7, "key": {"id": number}} for number in "12"]
    assert message_dict(message, lambda _: lines)["decoded"] == rows
    plain = printed([message], read=lambda _: lines).splitlines()
    assert [json.loads(line.rpartition(" | ")[2]) for line in plain] == rows


@pytest.mark.parametrize("protocol", ["canal-json", "simple-json", "simple-avro", "debezium"])
def test_a_story_of_each_protocol(protocol: str) -> None:
    made = scenario("redelivery", protocol=protocol)
    tail = Tail(made.config)
    assert {line.op for message in made.messages for line in tail.lines(message)} >= {"insert", "update", "watermark"}
    *rows, control = pick_story(made.messages, tail.lines)
    assert len({(line.table, *line.key.items()) for message in rows for line in tail.lines(message)}) == 1
    assert [line.op for line in tail.lines(control)] == ["watermark"]
    stream = io.StringIO()
    print_messages(Console(file=stream, width=200), rows, tail.lines)
    shown = stream.getvalue()
    binary = [message_dict(message, tail.lines).get("decoded") for message in rows]
    assert all((each is not None) == (protocol == "simple-avro") for each in binary)
    json.dumps(binary)
    assert ('"schemaVersion"' in shown) == (protocol == "simple-json"), "JSON is shown as it is on the wire"


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "simple-avro", "debezium"])
def test_the_embedded_feed_sets_nothing_without_effect(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack:
        changefeed = protocol_document(protocol)
        kafka, uri = target_at(stack, None, "t", changefeed)
        config = changefeed_at(stack, uri, changefeed, Generate(schema="bank"))
    assert kafka is not None
    assert config.codec.enable_tidb_extension == (not protocol.startswith("simple"))
    assert caplog.records == []


@pytest.mark.parametrize("partitions", [1, 3, 16])
@pytest.mark.parametrize("rows", [1, 99, 300, 4_800, 1_000_000])
@pytest.mark.parametrize("seconds", [1.0, 3_600.0, 86_400.0 * 30])
def test_there_is_at_most_one_message_per_hundred_rows(partitions: int, rows: int, seconds: float) -> None:
    config = load_changefeed(f"memory://x/?protocol=simple&partition-num={partitions}")
    interval = sparse_interval(config, rows, seconds)
    ticks = math.floor(seconds / interval) if interval else 0
    assert ticks * partitions <= rows / 100
    assert interval == int(interval)
