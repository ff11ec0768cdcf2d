"""Where ``tail`` and ``verify`` read: a Kafka topic, or files that a ``file://`` sink has written.

In: what the options say. Out: the changefeed's configuration, and messages. A sink URI says everything at once; else
brokers or a path, with the protocol.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlencode

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.config.protocol import protocol_parameters
from ticdc_emit.delivery.claim_check import ClaimStore
from ticdc_emit.delivery.contract import Message
from ticdc_emit.errors import ConfigError, DeliveryError, UnknownTopicError

__all__ = ["SourceOptions", "TopicSource", "open_source"]

_POLL_S = 0.5


@dataclass(frozen=True)
class SourceOptions:
    """The options that both commands have. ``path`` and ``brokers`` are instead of ``sink_uri``."""

    path: Path | None
    sink_uri: str | None
    brokers: str | None
    topics: Sequence[str]
    protocol: str | None
    schema_registry: str | None
    config: Path | None
    time_zone: str


@dataclass
class TopicSource:
    """Messages of a changefeed. ``partitions``: of each topic; of Kafka they are known with the first message."""

    config: ChangefeedConfig
    topics: Sequence[str]
    folder: Path | None = None
    partitions: dict[str, int] = field(default_factory=dict)

    def claims(self) -> ClaimStore | None:
        """Return the changefeed's claim-check storage, ``None`` where it has none."""
        return ClaimStore.of(self.config.codec.large_message_handle)

    def messages(self, *, newest: int | None = None, follow: bool = False) -> Iterator[Message]:
        """Yield what there is, those of a partition in order. ``newest``: at most so many of each partition.

        ``follow``: go on as messages come; then files need not be there yet. Raises the family of
        :class:`~ticdc_emit.errors.DeliveryError` for places without topics, and topics that are not there.
        """
        if self.folder is None:
            return self._from_kafka(newest, follow)
        return self._from_files(newest, follow)

    def _from_kafka(self, newest: int | None, follow: bool) -> Iterator[Message]:
        from ticdc_emit.delivery.kafka import KafkaSink
        from ticdc_emit.delivery.kafka_reader import stream_topics

        settings = KafkaSink.of(self.config.kafka).connection_settings()
        return stream_topics(settings, self.topics, newest=newest, follow=follow, partitions=self.partitions)

    def _from_files(self, newest: int | None, follow: bool) -> Iterator[Message]:
        from ticdc_emit.delivery.files import FileReader

        assert self.folder is not None
        if not self.folder.exists():
            raise DeliveryError("there is no such file or folder", path=str(self.folder))
        files = FileReader(self.folder)
        there = files.partitions()
        if not follow:
            _check(there, self.topics, self.folder)
        self.partitions.update({topic: count for topic, count in there.items() if self._wants(topic)})
        found = (message for message in files.read() if self._wants(message.topic))
        yield from found if newest is None else _newest(found, newest)
        while follow:
            time.sleep(_POLL_S)
            yield from (message for message in files.read() if self._wants(message.topic))

    def _wants(self, topic: str) -> bool:
        return not self.topics or topic in self.topics


def open_source(options: SourceOptions) -> TopicSource:
    """Return where to read. Raises :class:`~ticdc_emit.errors.ConfigError` for options that do not say it."""
    given = [name for name in ("path", "sink_uri", "brokers") if getattr(options, name) is not None]
    if len(given) != 1:
        raise ConfigError(
            "where to read must be said once",
            remedy="Give a PATH, or --brokers with --topic, or --sink-uri",
            option="sink-uri",
        )
    config = load_changefeed(
        _uri(options), options.config, time_zone=options.time_zone, schema_registry=options.schema_registry
    )
    if options.path is not None:
        return TopicSource(config, options.topics, options.path)
    if config.sink_uri.scheme == "file":
        return TopicSource(config, options.topics, Path(config.sink_uri.path))
    if config.sink_uri.scheme == "memory":
        raise ConfigError("topics in memory end with the process that writes them", option="sink-uri")
    return TopicSource(config, options.topics or [config.kafka.topic])


def _uri(options: SourceOptions) -> str:
    if options.sink_uri is not None:
        return options.sink_uri
    if options.protocol is None and options.config is None:
        raise ConfigError("the protocol is not said", remedy="Give --protocol, or --sink-uri", option="protocol")
    parameters = {} if options.protocol is None else protocol_parameters(options.protocol)
    query = urlencode(parameters)
    if options.path is not None:
        return f"file://{options.path.resolve()}?{query}"
    if not options.topics:
        raise ConfigError("the topic is not said", remedy="Give --topic", option="topic")
    return f"kafka://{options.brokers}/{options.topics[0]}?{query}"


def _check(there: Mapping[str, int], topics: Sequence[str], folder: Path) -> None:
    if not there:
        raise DeliveryError(
            "there is no file of a topic's partition",
            remedy="Name a file, or a folder of files, that a file:// sink has written",
            path=str(folder),
        )
    missing = [topic for topic in topics if topic not in there]
    if missing:
        raise UnknownTopicError(
            f"the topic {missing[0]} does not exist", remedy=f"There is {', '.join(sorted(there))}", path=str(folder)
        )


def _newest(messages: Iterator[Message], count: int) -> Iterator[Message]:
    """Yield the last messages of each partition, of which all come in a row."""
    for _, each in groupby(messages, key=itemgetter(0, 1)):
        yield from deque(each, maxlen=count)
