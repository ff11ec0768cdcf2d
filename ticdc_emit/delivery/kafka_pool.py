"""One idempotent producer per worker process and settings, lent to one task at a time.

In: librdkafka settings.  Out: a :class:`LentProducer`.  Connecting costs more than a small task, so a producer given
back clean serves the next task; one that failed, or still holds messages of an abandoned task, is purged and thrown
away.  Two writers at the same time never share a producer: purging for one would drop messages of the other.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.delivery.kafka_connection import ConnectionLog, client_settings
from ticdc_emit.delivery.kafka_errors import settings_refused

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

__all__ = ["LentProducer", "discard", "give_back", "lend"]

Settings = Mapping[str, Any]
_Key = tuple[tuple[str, Any], ...]

_lock = threading.Lock()
_idle: dict[_Key, LentProducer] = {}
_alive: set[LentProducer] = set()


class LentProducer:
    """A producer with what its callbacks saw.  ``failed`` counts messages that were not delivered."""

    def __init__(self, settings: Settings) -> None:
        from confluent_kafka import KafkaException, Producer

        self.key: _Key = tuple(sorted(settings.items()))
        self.failed = 0
        self.first_failure: tuple[KafkaError, str, int | None, int] | None = None
        """Error, topic, partition and payload bytes of the first message that was not delivered."""
        self.log = ConnectionLog()
        self.partitions: dict[str, int] = {}
        try:
            # librdkafka itself would drop successes; the Python client counts them and spares only the callback.
            self.producer: Producer = Producer(
                {
                    **client_settings(settings, self.log),
                    "on_delivery": self._on_delivery,
                    "delivery.report.only.error": True,
                }
            )
        except KafkaException as error:
            raise settings_refused(error) from None

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            return
        self.failed += 1
        if self.first_failure is None:
            size = len(message.key() or b"") + len(message.value() or b"")
            self.first_failure = (error, message.topic() or "", message.partition(), size)


@hides_arguments
def lend(settings: Settings) -> LentProducer:
    """Return an idle producer with these settings, or a new one.  Raises :class:`~ticdc_emit.errors.ConfigError`."""
    with _lock:
        idle = _idle.pop(tuple(sorted(settings.items())), None)
    if idle is not None:
        # What it has to say is about the time when nobody used it.
        idle.producer.poll(0)
        idle.log.forget()
        idle.log.failures = 0
        return idle
    lent = LentProducer(settings)
    with _lock:
        _alive.add(lent)
    return lent


def give_back(lent: LentProducer) -> None:
    """Keep ``lent`` for the next task; its queue must be empty."""
    with _lock:
        if lent.key not in _idle:
            _idle[lent.key] = lent
            return
    discard(lent)


def discard(lent: LentProducer) -> None:
    """Drop what ``lent`` still holds and close it."""
    with _lock:
        _alive.discard(lent)
    lent.producer.purge(in_queue=True, in_flight=True, blocking=False)
    lent.producer.flush(0)


def _forget_in_child() -> None:
    """After ``fork``: the parent's producers have no threads here, and freeing one waits for them forever."""
    global _lock
    _lock = threading.Lock()
    for lent in _alive:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(lent.producer))
    _alive.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_forget_in_child)
