"""Helpers for tests and demos: topics in memory, a Kafka and a schema registry in this process, without servers.

:mod:`ticdc_emit.testing.plugin` offers them as pytest fixtures. Every test run loads it, so the names below are
imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry
    from ticdc_emit.testing.memory_topics import MemoryTopics

__all__ = ["EmbeddedKafka", "EmbeddedRegistry", "MemoryTopics"]

__getattr__, __dir__ = lazy(__name__)
