"""What a topic takes: told once, warned of only where somebody chose the value, and asked again of a slow broker."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException

from ticdc_emit.delivery.kafka import KafkaAdmin, KafkaSink
from ticdc_emit.errors import DeliveryError


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


class SlowBroker:
    def __init__(self, answers: list[int | None]) -> None:
        self.answers = answers

    def describe_configs(self, resources: list[Any], request_timeout: float) -> dict[Any, Future[Any]]:
        code, answer = self.answers.pop(0), Future[Any]()
        if code is None:
            answer.set_result({"max.message.bytes": SimpleNamespace(value="5000")})
        else:
            answer.set_exception(KafkaException(KafkaError(code)))
        return {resources[0]: answer}


def admin_of(monkeypatch: pytest.MonkeyPatch, broker: SlowBroker) -> KafkaAdmin:
    admin = KafkaAdmin(KafkaSink(("127.0.0.1:1",)))
    monkeypatch.setattr(admin, "_client", broker)
    monkeypatch.setattr(admin, "_metadata", lambda: SimpleNamespace(controller_id=1, brokers={1: None}))
    return admin


def test_a_broker_that_does_not_know_a_new_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = SlowBroker([KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_OR_PART, None])
    assert admin_of(monkeypatch, broker).message_limit(["new"]) == 5000 - 128
    assert broker.answers == []


def test_any_other_refusal_is_final(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = SlowBroker([KafkaError.TOPIC_AUTHORIZATION_FAILED, None])
    with pytest.raises(DeliveryError, match="TOPIC_AUTHORIZATION_FAILED"):
        admin_of(monkeypatch, broker).message_limit(["new"])
    assert broker.answers == [None]
