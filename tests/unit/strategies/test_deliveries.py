"""Messages that are delivered again: legal for every protocol, and no consumer is misled that does its part."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.verify import verify
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.strategies import Delivery, changefeeds, deliveries, histories, names, redelivered
from ticdc_emit.traffic.history import History

SLOW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
SCHEMA = "create table a.t (id int primary key)"


def _rows(*seconds: int) -> list[dict[str, object]]:
    return [
        {"schema": "a", "table": "t", "op": "c", "commit_ts": (1_700_000_000_000 + 1000 * each) << 18, "before": None,
         "after": {"id": str(number)}}
        for number, each in enumerate(seconds)
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "avro", "debezium"])
@SLOW
@given(data=st.data())
def test_deliveries_break_no_invariant_and_tables_return(protocol: str, data: st.DataObject) -> None:
    told = histories(
        names=names(allow_odd=False), ddl_kinds=(), max_commits=6, max_columns=3, types=["int", "varchar"],
        allow_defaults=False,
    )  # fmt: skip
    drawn: Delivery = data.draw(deliveries(told, changefeeds(protocols=protocol, compression=True)))
    assert verify(drawn.messages, drawn.config, schemas=drawn.schemas, partitions=drawn.partitions) == []
    consumer = drawn.consumer()
    consumer.take_all(drawn.messages)
    consumer.finish()
    assert consumer.tables == drawn.history.tables()


def test_a_restart_sends_whole_commits_again_in_all_partitions() -> None:
    config = load_changefeed("memory://t?protocol=canal-json&enable-tidb-extension=true&partition-num=2",
                             {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}})  # fmt: skip
    sent = History(SCHEMA, _rows(1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3)).messages(config, watermark_interval=1)
    seen: Counter[int] = Counter()

    @settings(max_examples=60, deadline=None)
    @given(redelivered(sent, config))
    def check(arrived: list) -> None:  # type: ignore[type-arg]
        assert {each[3:] for each in arrived} == {each[3:] for each in sent}, "nothing is lost"
        values = {(each.partition, each.value): place for place, each in enumerate(sent)}
        by_partition = defaultdict(list)
        for each in arrived:
            assert each.offset == len(by_partition[each.partition])
            by_partition[each.partition].append(values[each.partition, each.value])
        for places in by_partition.values():
            assert all(later <= earlier + 1 for earlier, later in pairwise(places)), "no gap"
            assert places[-1] == max(places)
        seen[len(arrived) - len(sent)] += 1

    check()
    assert len(seen) > 5


@settings(max_examples=5, deadline=None)
@given(deliveries(st.just(History(SCHEMA, _rows(1, 2, 3))), changefeeds(protocols=["simple"]), max_restarts=0))
def test_without_restarts_each_message_comes_once(drawn: Delivery) -> None:
    assert drawn.messages == drawn.history.messages(drawn.config)
    assert repr(drawn).startswith(f"Delivery(history={drawn.history!r}, feed=")
    assert drawn.with_history(drawn.history) == drawn


def test_another_history_arrives_from_the_same_changefeed() -> None:
    history, fewer = History(SCHEMA, _rows(1, 2, 3)), History(SCHEMA, _rows(1))
    seen = set()

    @settings(max_examples=60, deadline=None)
    @given(deliveries(st.just(history), changefeeds(protocols=["avro"])))
    def check(drawn: Delivery) -> None:
        other = drawn.with_history(fewer)
        sent, all_sent = (each.messages(drawn.config, registry=MemoryRegistry()) for each in (fewer, history))
        times = 2 if len(drawn.messages) > len(all_sent) else 1
        assert Counter(each[3:] for each in other.messages) == Counter([each[3:] for each in sent] * times)
        assert verify(other.messages, other.config, schemas=other.schemas, partitions=other.partitions) == []
        seen.add(times)

    check()
    assert seen == {1, 2}
