"""Redelivery and lag of generated traffic: legal, as often as asked for, the same for the same seed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.base import Message, PartitionBatch
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.noise import NoisySink

STORE = "noise"
ROWS = 1_500
LOAD: dict[str, Any] = {"load": {"ddl_rate": 2, "transaction_size": 2}}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    clear(STORE)


def sent(protocol: str, **trouble: float) -> tuple[list[Message], Any, Any]:
    """Return the messages of generated traffic, their configuration and the traffic."""
    traffic = generate_arrow("bank", rows=ROWS, seed=7, model=LOAD | {"trouble": trouble})
    uri = f"memory://{STORE}?protocol={protocol}&partition-num=2"
    own: dict[str, Any] = {"registry": MemoryRegistry()} if "avro" in protocol.partition("&")[0] else {}
    if own:
        own["changefeed"] = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}}
    traffic.sink(uri, watermark_interval=0.2, **own).write(traffic.changes)
    found = messages(STORE)
    clear(STORE)
    return found, load_changefeed(uri, own.get("changefeed"), own_registry=bool(own)), traffic


def counted(found: list[Message]) -> int:
    return len({(each.topic, each.partition, each.key, each.value) for each in found})


PROTOCOLS = ("canal-json&enable-tidb-extension=true", "simple", "debezium&enable-tidb-extension=true", "open-protocol")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_noise_is_legal_and_changes_no_table(protocol: str) -> None:
    quiet, config, traffic = sent(protocol)
    noisy, _, _ = sent(protocol, redelivery=0.2, lag=0.2)
    assert counted(noisy) == len(quiet) < len(noisy)
    (topic,) = {each.topic for each in quiet}
    assert verify(noisy, config, partitions={topic: 2}) == []
    tables = []
    for found in (quiet, noisy):
        consumer = ReferenceConsumer(config, traffic.schema, partitions=2)
        consumer.take_all(found)
        consumer.finish()
        tables.append(consumer.tables)
    assert tables[0] == tables[1]


def test_avro_comes_again_and_has_no_lag() -> None:
    quiet, noisy, late = (sent("avro", **settings)[0] for settings in ({}, {"redelivery": 0.2}, {"lag": 0.5}))
    assert counted(noisy) == len(quiet) < len(noisy)
    assert late == quiet


@pytest.mark.parametrize("redelivery", [0.05, 0.3])
def test_messages_come_again_as_often_as_asked_for(redelivery: float) -> None:
    found, _, _ = sent("canal-json", redelivery=redelivery)
    assert len(found) / counted(found) - 1 == pytest.approx(redelivery, rel=0.3)


def test_a_slow_table_keeps_its_order() -> None:
    reader = CanalJsonReader()

    def commits(found: list[Message]) -> tuple[dict[tuple[str, int], list[int]], int]:
        """Return the commits of each table and partition in their order, and how often a partition goes back."""
        by_table: dict[tuple[str, int], list[int]] = {}
        stamps: dict[int, list[int]] = {}
        for each in found:
            row: Any = reader.read(each.key, each.value)
            if getattr(row, "commit_ts", None) and getattr(row, "op", None):
                by_table.setdefault((row.table, each.partition), []).append(row.commit_ts)
                stamps.setdefault(each.partition, []).append(row.commit_ts)
        return by_table, sum(after < before for rising in stamps.values() for before, after in pairwise(rising))

    quiet, _, _ = sent(PROTOCOLS[0])
    late, _, _ = sent(PROTOCOLS[0], lag=0.2)
    assert commits(quiet)[1] == 0 < commits(late)[1]
    assert commits(late)[0] == commits(quiet)[0]


def test_it_does_not_matter_how_messages_are_handed_over() -> None:
    found, config, _ = sent(PROTOCOLS[0])
    noisy = pickle.loads(pickle.dumps(NoisySink(MemorySink(STORE), config, 0.2, 0.2, 3)))
    both = []
    for size in (1, 7, len(found)):
        noisy.prepare({found[0].topic: 2})
        with noisy.open() as writer:
            for partition in range(2):
                own = [each for each in found if each.partition == partition]
                for at in range(0, len(own), size):
                    keys, values = ([getattr(each, name) for each in own[at : at + size]] for name in ("key", "value"))
                    sizes = np.array([len(value or b"") for value in values], np.int64)
                    writer.write_partition(PartitionBatch(own[0].topic, partition, keys, values, sizes))
            report = writer.flush()
        both.append(messages(STORE))
        assert report.messages == len(both[-1]) > len(found)
        clear(STORE)
    assert both[0] == both[1] == both[2]


def test_another_seed_has_other_noise_and_the_same_seed_the_same() -> None:
    found, config, _ = sent(PROTOCOLS[0])
    seen = []
    for seed in (1, 1, 2):
        noisy = NoisySink(MemorySink(STORE), config, 0.2, 0.2, seed)
        noisy.prepare({found[0].topic: 2})
        with noisy.open() as writer:
            own = [each for each in found if each.partition == 0]
            keys, values = [each.key for each in own], [each.value for each in own]
            writer.write_partition(PartitionBatch(own[0].topic, 0, keys, values, np.ones(len(own), np.int64)))
        seen.append(messages(STORE))
        clear(STORE)
    assert seen[0] == seen[1] != seen[2]
