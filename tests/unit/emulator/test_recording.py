"""The sink of an emulated changefeed: what it recorded, messages again, messages held back, offsets, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from message_rows import send

from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.emulator import recording
from ticdc_emit.emulator.recording import RecordingSink
from ticdc_emit.errors import DeliveryError, UnknownTopicError
from ticdc_emit.testing import EmbeddedKafka


@pytest.fixture
def store() -> Iterator[str]:
    name = f"recording-{uuid4()}"
    yield name
    clear(name)


def _sink(store: str, **limits: int) -> RecordingSink:
    sink = RecordingSink(MemorySink(store), **limits)
    sink.prepare({"t": 2})
    return sink


def _write(sink: RecordingSink, partition: int, *values: bytes) -> None:
    send(sink, *(("t", partition, b"k", value) for value in values))


def _values(store: str, partition: int) -> list[bytes | None]:
    return [each.value for each in messages(store) if each.partition == partition]


def test_messages_go_through_and_are_recorded_with_their_offsets(store: str) -> None:
    sink = _sink(store)
    _write(sink, 0, b"1", b"2")
    _write(sink, 1, b"3")
    assert sink.messages() == messages(store)
    assert sink.messages("t", 0, last=1) == messages(store)[1:2]
    assert (sink.sent(), sink.end(("t", 0)), sink.targets) == ({("t", 0): 2, ("t", 1): 1}, 2, [("t", 0), ("t", 1)])


def test_the_last_messages_come_again_with_the_same_bytes_in_the_same_order(store: str) -> None:
    sink = _sink(store)
    _write(sink, 0, b"1", b"2", b"3")
    _write(sink, 1, b"4")
    sink.redeliver(2)
    assert (_values(store, 0), _values(store, 1)) == ([b"1", b"2", b"3", b"2", b"3"], [b"4", b"4"])
    sink.redeliver(1, "t", 0)
    assert (_values(store, 0)[5:], _values(store, 1)) == ([b"3"], [b"4", b"4"])
    assert sink.messages() == messages(store)


def test_a_held_partition_gets_nothing_until_it_is_released(store: str) -> None:
    sink = _sink(store)
    _write(sink, 0, b"1")
    sink.hold("t", 0)
    _write(sink, 0, b"2", b"3")
    _write(sink, 1, b"4")
    assert (_values(store, 0), _values(store, 1), sink.held) == ([b"1"], [b"4"], {("t", 0): 2})
    sink.redeliver(1, "t", 0)
    sink.release()
    assert (_values(store, 0), sink.held) == ([b"1", b"2", b"3", b"1"], {})
    _write(sink, 0, b"5")
    assert _values(store, 0)[-1] == b"5"


def test_what_is_held_can_be_dropped_and_the_partition_stays_held(store: str) -> None:
    sink = _sink(store)
    sink.hold("t", 1)
    _write(sink, 1, b"1")
    sink.forget_held()
    assert sink.held == {("t", 1): 0}
    _write(sink, 1, b"2")
    sink.forget_held(ends_holds=True)
    _write(sink, 1, b"3")
    assert _values(store, 1) == [b"3"]


def test_too_much_that_waits_is_an_error_and_nothing_of_the_batch_is_sent(store: str) -> None:
    sink = _sink(store, most_bytes=210)
    sink.hold("t", 0)
    _write(sink, 0, b"123456")
    with pytest.raises(DeliveryError, match="more than 210 bytes of messages wait") as caught:
        _write(sink, 0, b"123456")
    assert caught.value.remedy == "Release the partitions earlier"
    assert (sink.held, messages(store)) == ({("t", 0): 1}, [])


def test_memory_keeps_the_newest_messages(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = _sink(store)
    with monkeypatch.context() as patched:
        patched.setattr(recording, "MOST_MESSAGES", 2)
        _write(few, 0, b"1", b"2", b"3")
        _write(few, 1, b"4")
    assert [each.value for each in few.messages()] == [b"2", b"3", b"4"]
    assert [each.offset for each in few.messages("t", 0)] == [1, 2]
    small = _sink(store, most_bytes=606)  # keys count, and 200 bytes for each message
    for number in range(500):
        _write(small, number % 2, b"%d" % (number % 10))
    assert [each.value for each in small.messages()] == [b"8", b"7", b"9"]
    assert small.sent() == {("t", 0): 250, ("t", 1): 250}


def test_an_unknown_topic_or_partition_is_refused(store: str) -> None:
    sink = _sink(store)
    with pytest.raises(UnknownTopicError, match="the topic other does not exist"):
        sink.hold("other", 0)
    with pytest.raises(UnknownTopicError, match=r"no partition 2.*Use one of these topics and partitions: t 0 to 1"):
        sink.redeliver(1, "t", 2)


def test_offsets_begin_where_the_topics_end_and_are_shared(store: str) -> None:
    _write(_sink(store), 0, b"1", b"2")
    ends: dict[tuple[str, int], int] = {}
    first, second = (RecordingSink(MemorySink(store), ends) for _ in range(2))
    for sink in (first, second):
        sink.prepare({"t": 2})
    _write(first, 0, b"3")
    _write(second, 0, b"4")
    assert [(each.offset, each.value) for each in first.messages()] == [(2, b"3")]
    assert [(each.offset, each.value) for each in second.messages()] == [(3, b"4")]


def test_offsets_are_those_of_kafka() -> None:
    with EmbeddedKafka() as kafka:
        for number in range(2):
            sink = RecordingSink(kafka.sink())
            sink.prepare({"t": None})
            _write(sink, 3, b"a", b"b")
            read = kafka.read("t")
            assert sink.messages() == read[2 * number :]
            assert sink.end(("t", 3)) == len(read)
