"""Helpers for tests and demos: a Kafka in this process, without a server."""

from __future__ import annotations

from ticdc_emit.testing.embedded_kafka import EmbeddedKafka

__all__ = ["EmbeddedKafka"]
