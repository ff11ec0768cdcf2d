"""The driver's side of Kafka: is it there, which topics with how many partitions, how large may a message be.

In: a :class:`~ticdc_emit.delivery.kafka.KafkaSink` and topic names.  Out: partition counts and limits, topics created
on the way.  Rules: ``pkg/sink/kafka/options.go`` (``AdjustOptions``, ``SetPartitionNum``) and
``cdc/sink/dmlsink/mq/manager/kafka_manager.go`` of pingcap/tiflow.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ticdc_emit.config.options import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.config.refusal import refused
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.delivery.kafka_connection import ConnectionLog, client_settings, find_topics
from ticdc_emit.delivery.kafka_errors import is_unreachable, settings_refused
from ticdc_emit.delivery.topics import effective_partitions, unknown_topic
from ticdc_emit.errors import ConfigError, DeliveryError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin._metadata import ClusterMetadata

    from ticdc_emit.delivery.kafka import KafkaSink

__all__ = ["KafkaAdmin"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RECORD_OVERHEAD_BYTES = 128
"""What TiCDC leaves below the topic's ``max.message.bytes``."""

_lock = threading.Lock()
_told_lowered: set[tuple[object, ...]] = set()


class KafkaAdmin:
    """One admin connection, for one call of :meth:`KafkaSink.prepare` or :meth:`KafkaSink.message_limit`."""

    def __init__(self, sink: KafkaSink) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._sink = sink
        self._timeout = sink.dial_timeout_ms / 1000
        self._log = ConnectionLog()
        try:
            self._client = AdminClient(client_settings(sink.connection_settings(), self._log))
        except KafkaException as error:
            raise settings_refused(error) from None

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Create missing topics and return the number of partitions to use (see the contract)."""
        metadata = self._metadata()
        existing = _partition_counts(metadata)
        missing = {
            topic: asked or self._sink.new_partitions for topic, asked in topics.items() if topic not in existing
        }
        if missing:
            if not self._sink.auto_create_topic:
                raise unknown_topic(next(iter(missing)))
            if self._makes_topics_itself(metadata):
                for topic in missing:
                    self._metadata(topic)
            else:
                if self._sink.acks == -1:
                    self._check_replicas(next(iter(metadata.brokers)))
                self._create(missing)
            existing = self._wait_for(missing)
        return {topic: effective_partitions(topic, asked, existing[topic]) for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        """``max-message-bytes``, lowered to what the topics take; or what they take, as far as they tell it."""
        from confluent_kafka.admin._config import ConfigResource
        from confluent_kafka.admin._resource import ResourceType

        limit = self._sink.max_message_bytes
        if self._makes_topics_itself(self._metadata()):
            return limit
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        limits: dict[str, int] = {}
        for resource, future in self._client.describe_configs(resources, request_timeout=self._timeout).items():
            entry = self._ask(future.result).get("max.message.bytes")
            if entry is not None and entry.value is not None:
                limits[resource.name] = int(entry.value)
        if self._sink.limited_by_topics:
            return min(limits.get(resource.name, limit) for resource in resources)
        for topic, size in limits.items():
            if size - _RECORD_OVERHEAD_BYTES < limit:
                limit = size - _RECORD_OVERHEAD_BYTES
                self._tell_lowered(limit, topic)
        return limit

    def _makes_topics_itself(self, metadata: ClusterMetadata) -> bool:
        """Return whether the broker makes topics when it is asked for them, and cannot be asked for anything else.

        An embedded Kafka does: none of its brokers is a controller, and none knows the request for a configuration.
        """
        from confluent_kafka import KafkaError, KafkaException

        if not self._sink.admin_api or metadata.controller_id in metadata.brokers:
            return not self._sink.admin_api
        try:
            self._broker_config(next(iter(metadata.brokers)))
        except KafkaException as error:
            return bool(error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE)
        return False

    def _broker_config(self, broker: int) -> Any:
        """Return a broker's configuration; raises ``KafkaException``."""
        from confluent_kafka.admin._config import ConfigResource
        from confluent_kafka.admin._resource import ResourceType

        resource = ConfigResource(ResourceType.BROKER, str(broker))
        (future,) = self._client.describe_configs([resource], request_timeout=self._timeout).values()
        return future.result()

    def _tell_lowered(self, limit: int, topic: str) -> None:
        """Log once per process that a topic takes less; it is worth a warning if the value is not the default."""
        place = (*self._sink.brokers, topic, limit, self._sink.max_message_bytes)
        with _lock:
            is_new = place not in _told_lowered
            _told_lowered.add(place)
        if is_new:
            is_default = self._sink.max_message_bytes == DEFAULT_MAX_MESSAGE_BYTES
            logger.log(
                logging.INFO if is_default else logging.WARNING,
                "max-message-bytes is lowered from %d to %d: topic %s takes messages of %d bytes",
                self._sink.max_message_bytes,
                limit,
                topic,
                limit + _RECORD_OVERHEAD_BYTES,
            )

    def _check_replicas(self, broker: int) -> None:
        """A topic with fewer replicas than ``broker`` wants in sync takes no message."""
        from confluent_kafka import KafkaException

        try:
            entry = self._broker_config(broker).get("min.insync.replicas")
        except KafkaException as error:
            logger.warning("min.insync.replicas of the brokers is not known: %s", foreign_text(error.args[0].str()))
            return
        replicas = self._sink.replication_factor
        if entry is not None and entry.value is not None and replicas < int(entry.value):
            raise refused(
                "ErrKafkaInvalidConfig",
                "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
                f"`replication-factor` {replicas} is smaller than the `min.insync.replicas` {entry.value} of broker",
                option="replication-factor",
                remedy=f"Set replication-factor to {entry.value} or more.",
            )

    def _create(self, missing: Mapping[str, int]) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.cimpl import NewTopic

        new_topics = [
            NewTopic(topic, partitions, replication_factor=self._sink.replication_factor)
            for topic, partitions in missing.items()
        ]
        created = self._client.create_topics(new_topics, request_timeout=self._timeout)
        for topic, future in created.items():
            try:
                future.result()
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                raise self._refused(topic, cause) from None

    def _refused(self, topic: str, cause: KafkaError) -> Exception:
        from confluent_kafka import KafkaError

        if cause.code() == KafkaError.INVALID_REPLICATION_FACTOR:
            return ConfigError(
                f"the topic {topic} cannot have {self._sink.replication_factor} replicas: {foreign_text(cause.str())}",
                remedy="Set replication-factor to at most the number of brokers.",
                option="replication-factor",
            )
        return DeliveryError(
            f"Kafka did not create the topic {topic}: {foreign_text(cause.str())}",
            remedy="Create it yourself, or give the user the right to",
            topic=topic,
        )

    def _wait_for(self, topics: Iterable[str]) -> dict[str, int]:
        """Creation is done before every broker knows it."""
        deadline = time.monotonic() + self._timeout
        while True:
            counts = _partition_counts(self._metadata())
            unseen = [topic for topic in topics if not counts.get(topic)]
            if not unseen:
                return counts
            if time.monotonic() > deadline:
                raise DeliveryError(
                    f"the topic {unseen[0]} was created, but is not visible after {self._timeout:.1f} s",
                    remedy="Check the brokers, or raise dial-timeout",
                    topic=unseen[0],
                )
            time.sleep(0.05)

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        return self._ask(find_topics, self._client, self._log, self._sink.brokers, self._timeout, topic)

    def _ask(self, request: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        from confluent_kafka import KafkaException

        started = time.monotonic()
        try:
            return request(*args, **kwargs)
        except KafkaException as error:
            cause = error.args[0]
            if is_unreachable(cause):
                self._client.poll(0)
                raise self._log.failure(self._sink.brokers, time.monotonic() - started, cause.str()) from None
            raise DeliveryError(
                f"Kafka refused a request: {foreign_text(cause.str())} ({cause.name()})",
                remedy="Check the rights of the user, and the brokers' log",
            ) from None


def _partition_counts(metadata: ClusterMetadata) -> dict[str, int]:
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}
