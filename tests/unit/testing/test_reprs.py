"""What the helpers show of themselves in a failed assertion or a notebook."""

from __future__ import annotations

import re

import pytest

from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics


def test_helpers_show_where_they_are() -> None:
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("avro")
    with EmbeddedKafka() as kafka, EmbeddedRegistry() as registry, MemoryTopics("mine") as topics:
        assert repr(kafka) == f"<EmbeddedKafka {kafka.bootstrap}>"
        assert re.fullmatch(r"<EmbeddedRegistry http://127\.0\.0\.1:\d+>", repr(registry))
        assert repr(topics) == "<MemoryTopics mine>"
    assert [repr(kafka), repr(registry)] == ["<EmbeddedKafka stopped>", "<EmbeddedRegistry stopped>"]
