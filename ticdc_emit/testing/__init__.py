"""Helpers for tests and demos: a Kafka and a schema registry in this process, without servers."""

from __future__ import annotations

from ticdc_emit.testing.embedded_kafka import EmbeddedKafka
from ticdc_emit.testing.embedded_registry import EmbeddedRegistry

__all__ = ["EmbeddedKafka", "EmbeddedRegistry"]
