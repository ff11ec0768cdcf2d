"""Sends the cookbook's rows and DDL to a real broker, as a user would: sink URI, changefeed, ``TicdcSink``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from cookbook_data import DATABASE, TIME_ZONE, DataSet, data_set

from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.spark import TicdcSink
from ticdc_emit.traffic.history import History

Measured = Callable[..., None]


@dataclass(frozen=True)
class Sent:
    """``topics``: the topic of each table. ``messages``: how many of them there are, of all kinds."""

    bootstrap: str
    topics: dict[str, str]
    messages: int
    data: DataSet


class Send(Protocol):
    """Sends everything to a new topic, or ``by_table`` to a topic for each table, as Avro needs it.

    ``options`` go into the sink URI, ``feed`` into ``[sink]`` of the changefeed file.
    """

    def __call__(
        self,
        protocol: str,
        options: str = ...,
        *,
        by_table: bool = ...,
        registry: str | None = ...,
        release: str = ...,
        **feed: Any,
    ) -> Sent: ...


def sender(bootstrap: str) -> Send:
    """Return what sends to a broker."""
    data = data_set()
    history = History(data.schema, data.rows, data.ddl, time_zone=TIME_ZONE)
    numbers = count(1)

    def send(
        protocol: str,
        options: str = "",
        *,
        by_table: bool = False,
        registry: str | None = None,
        release: str = "classic",
        **feed: Any,
    ) -> Sent:
        by_table = by_table or registry is not None
        topic = f"cookbook-{protocol}-{next(numbers)}"
        rule = {"matcher": ["*.*"], "partition": "index-value"}
        if by_table:
            rule["topic"] = topic + "_{schema}_{table}"
        uri = f"kafka://{bootstrap}/{topic}?protocol={protocol}&partition-num=3&replication-factor=1"
        sink = TicdcSink(
            f"{uri}&{options}" if options else uri,
            data.schema,
            changefeed={"sink": {"dispatchers": [rule], **feed}},
            ddl=data.ddl,
            time_zone=TIME_ZONE,
            schema_registry=registry,
            release=release,
        )
        report = sink.changefeed.run(ArrowBatch(history.to_arrow()), 0, final=True)
        assert report.rows >= len(data.rows)  # some updates become a delete and an insert
        topics = {name: f"{topic}_{DATABASE}_{name}" if by_table else topic for name in data.tables()}
        return Sent(bootstrap, topics, report.messages, data)

    return send
