"""librdkafka's errors as this library's.

In: a ``KafkaError`` with its place.  Out: an error of the :class:`~ticdc_emit.errors.DeliveryError` family (or
:class:`~ticdc_emit.errors.MessageTooLargeError`) with librdkafka's own words as cause, secrets masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.delivery.topics import unknown_partition, unknown_topic
from ticdc_emit.errors import (
    AuthenticationError,
    BrokerUnreachableError,
    ConfigError,
    DeliveryError,
    MessageTooLargeError,
    TicdcEmitError,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException

__all__ = [
    "RECORD_OVERHEAD_BYTES",
    "delivery_failed",
    "is_refusal",
    "is_unreachable",
    "refused",
    "settings_refused",
    "unreachable",
]

RECORD_OVERHEAD_BYTES = 1_024
"""More than a record and its batch have beside key and value."""

_FILES = {"ssl.ca.location": "ca", "ssl.certificate.location": "cert", "ssl.key.location": "key"}
_PREAMBLES = ("Failed to create admin client: ", "Failed to acquire SASL OAUTHBEARER token: ")
"""Of librdkafka's, where masking would take the word behind them for a secret."""
_TLS_ALERT = re.compile(r"SSL routines:.*\balert ")
"""OpenSSL on what a broker says of a client's certificate; with TLS 1.3 that comes after the handshake."""
_TLS_WORDS = ("SSL handshake", "SSL routines")


def unreachable(brokers: Sequence[str], waited: float, cause: str) -> BrokerUnreachableError:
    """No broker of ``brokers`` answered for ``waited`` seconds; ``cause`` is the last thing that went wrong."""
    detail = f": {foreign_text(cause)}" if cause else ""
    return BrokerUnreachableError(
        f"no Kafka broker of {', '.join(brokers)} answered in {waited:.1f} s{detail}",
        remedy="Check the addresses, TLS and SASL options of the sink URI, or raise dial-timeout.",
        waited=round(waited, 1),
    )


def refused(brokers: Sequence[str], waited: float, cause: str) -> AuthenticationError:
    """A broker of ``brokers`` answered, but refused the login or a certificate; ``cause`` names which."""
    tls = any(words in cause for words in _TLS_WORDS)
    return AuthenticationError(
        f"{'TLS' if tls else 'SASL'} with Kafka at {', '.join(brokers)} failed: {_masked(cause)}",
        remedy="Check ca, cert and key in the sink URI: ca must have issued the brokers' certificates, and the brokers "
        "must trust the issuer of cert."
        if tls
        else "Check sasl-mechanism, and sasl-user and sasl-password or the sasl-oauth options that go with it.",
        waited=round(waited, 1),
    )


def _masked(cause: str) -> str:
    preamble = next((text for text in _PREAMBLES if cause.startswith(text)), "")
    return preamble + foreign_text(cause.removeprefix(preamble))


def settings_refused(error: KafkaException) -> ConfigError:
    """Return the error for a client that librdkafka does not even make."""
    cause = error.args[0].str()
    if "SASL mechanism GSSAPI" in cause:
        return ConfigError(
            "the installed librdkafka has no Kerberos (SASL GSSAPI)",
            remedy="Install libsasl2 and a librdkafka built with it, then confluent-kafka from source "
            "(pip install --no-binary confluent-kafka confluent-kafka), or use another sasl-mechanism.",
            option="sasl-mechanism",
        )
    option = next((option for setting, option in _FILES.items() if setting in cause), None)
    return ConfigError(
        f"librdkafka refuses the Kafka options: {_masked(cause)}",
        remedy="The file must be PEM, and readable on the driver and on every worker." if option else "",
        option=option,
    )


def is_refusal(error: KafkaError) -> bool:
    """Return whether ``error`` means that a broker answered and refused a login or certificate."""
    from confluent_kafka import KafkaError

    codes = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
    return error.code() in codes or _TLS_ALERT.search(error.str()) is not None


def is_unreachable(error: KafkaError) -> bool:
    """Return whether ``error`` means that no answer came, rather than a refusal."""
    from confluent_kafka import KafkaError

    return error.code() in (
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
    )


def delivery_failed(
    error: KafkaError,
    topic: str,
    partition: int | None = None,
    size: int | None = None,
    *,
    limit: int | None = None,
    creates: bool = False,
) -> TicdcEmitError:
    """Return the error for a message, or a request about ``topic``, that Kafka refused or lost.

    ``limit``: what the topics took when they were asked. ``creates``: the next try would make a missing topic.
    """
    from confluent_kafka import KafkaError

    code = error.code()
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        if size is not None and limit is not None and size + RECORD_OVERHEAD_BYTES <= limit:
            return MessageTooLargeError(
                f"Kafka refused a batch of messages for topic {topic}, the first of them {size} bytes long, because "
                f"the topic takes less than when it was asked ({limit} bytes): {foreign_text(error.str())}",
                remedy="Run the batch again, which asks for the topic's max.message.bytes again, or raise that.",
                topic=topic,
                partition=partition,
                size=size,
            )
        return MessageTooLargeError(
            f"Kafka refused a message of {size} bytes for topic {topic}: {foreign_text(error.str())}",
            remedy="Lower max-message-bytes to the topic's max.message.bytes, or raise that.",
            topic=topic,
            partition=partition,
            size=size,
        )
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.TOPIC_EXCEPTION):
        return unknown_topic(topic, creates=creates)
    if code == KafkaError._UNKNOWN_PARTITION and partition is not None:
        return unknown_partition(topic, partition)
    return DeliveryError(
        f"Kafka did not take a message for topic {topic}: {foreign_text(error.str())} ({error.name()})",
        remedy="Check the topic and the brokers' log, then run the batch again",
        topic=topic,
        partition=partition,
        size=size,
    )
