"""A topic that takes smaller messages is told once, and warned of only where somebody chose the value."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest

from ticdc_emit.delivery.kafka import KafkaAdmin, KafkaSink


@pytest.mark.parametrize(("options", "level"), [({}, "INFO"), ({"max_message_bytes": 2_000_000}, "WARNING")])
def test_once_per_process_and_topic(options: dict[str, int], level: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    sink, topics = KafkaSink(("127.0.0.1:1",), **options), [uuid4().hex, uuid4().hex]
    for _ in range(3):
        admin = KafkaAdmin(sink)
        for topic in topics:
            admin._log_lowered(1_048_460, topic)
    told = [record for record in caplog.records if "is lowered" in record.getMessage()]
    assert [(record.levelname, topic in record.getMessage()) for record, topic in zip(told, topics, strict=True)] == [
        (level, True)
    ] * 2
