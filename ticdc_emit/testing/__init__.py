"""Helpers for tests and demos, without servers. Every test run loads the plugin, so names are imported when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry
    from ticdc_emit.testing.memory_topics import MemoryTopics

__all__ = ["EmbeddedKafka", "EmbeddedRegistry", "MemoryTopics"]

__getattr__, __dir__ = lazy(__name__)
