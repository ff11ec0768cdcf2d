"""Helpers for tests and demos: topics in memory, a Kafka and a schema registry in this process, without servers.

:mod:`ticdc_emit.testing.plugin` gives them to pytest as fixtures, which every test run loads: so the names below are
imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry
    from ticdc_emit.testing.memory_topics import MemoryTopics

__all__ = ["EmbeddedKafka", "EmbeddedRegistry", "MemoryTopics"]

_HOMES = {
    "EmbeddedKafka": "embedded_kafka",
    "EmbeddedRegistry": "embedded_registry",
    "MemoryTopics": "memory_topics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
