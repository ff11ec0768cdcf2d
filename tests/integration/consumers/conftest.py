"""Topics with the cookbook's rows on a real broker, and the figures that its table of results must show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

import pytest
from comparison import Comparison, Result, results_of_page
from cookbook_data import DATABASE, TIME_ZONE, DataSet, data_set

from ticdc_emit.changefeed import ArrowBatch
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing.servers import KraftBroker
from ticdc_emit.traffic import History

Measured = Callable[..., None]


@dataclass(frozen=True)
class Sent:
    """``topics``: the topic of each table. ``messages``: how many of them there are, of all kinds."""

    bootstrap: str
    topics: dict[str, str]
    messages: int
    data: DataSet


class Send(Protocol):
    def __call__(
        self, protocol: str, options: str = ..., *, registry: str | None = ..., profile: str = ..., **feed: Any
    ) -> Sent: ...


@pytest.fixture(scope="session")
def send(kraft: KraftBroker) -> Send:
    """Sends the cookbook's rows and DDL to a topic, or with a registry to a topic for each table.

    ``options`` go into the sink URI, ``feed`` into ``[sink]`` of the changefeed file.
    """
    data = data_set()
    history = History(data.schema, data.rows, data.ddl, time_zone=TIME_ZONE)
    numbers = count(1)

    def send(
        protocol: str, options: str = "", *, registry: str | None = None, profile: str = "classic", **feed: Any
    ) -> Sent:
        topic = f"cookbook-{protocol}-{next(numbers)}"
        rule = {"matcher": ["*.*"], "partition": "index-value"}
        if registry is not None:
            rule["topic"] = topic + "_{schema}_{table}"
        uri = f"kafka://{kraft.bootstrap}/{topic}?protocol={protocol}&partition-num=3&replication-factor=1"
        sink = TicdcSink(
            f"{uri}&{options}" if options else uri,
            data.schema,
            changefeed={"sink": {"dispatchers": [rule], **feed}},
            ddl=data.ddl,
            time_zone=TIME_ZONE,
            schema_registry=registry,
            profile=profile,
        )
        report = sink.changefeed.run(ArrowBatch(history.to_arrow()), 0, final=True)
        assert report.rows == len(data.rows)
        topics = {name: topic if registry is None else f"{topic}_{DATABASE}_{name}" for name in data.tables()}
        return Sent(kraft.bootstrap, topics, report.messages, data)

    return send


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Takes what a test compared: there must be no difference, and the cookbook's table must show these figures."""

    def measured(consumer: str, version: str, protocol: str, comparison: Comparison) -> None:
        test = f"{request.path.name}::{request.function.__name__}"
        assert comparison.rows > 0
        assert not comparison.differences, str(comparison)
        line = Result(consumer, version, protocol, f"{comparison.rows:,}", f"{comparison.values:,}", "0", test)
        assert line in list(results_of_page()), f"docs/cookbook/index.md must have the line\n{line}"

    return measured
