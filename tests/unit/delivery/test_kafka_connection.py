"""What a client says about its connections and of what a topic takes; secrets stay out."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException

from ticdc_emit.delivery import kafka_client
from ticdc_emit.delivery.kafka import KafkaAdmin, KafkaSink
from ticdc_emit.delivery.kafka_client import (
    ConnectionLog,
    delivery_failed,
    find_topics,
    is_refusal,
    login_refused,
    new_client,
)
from ticdc_emit.delivery.kafka_writer import _BROKERS_GONE
from ticdc_emit.errors import AuthenticationError, BrokerUnreachableError, ConfigError, DeliveryError

confluent_kafka = pytest.importorskip("confluent_kafka")

ALERT = "ssl://b:1/bootstrap: Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert 42"
LOGIN = "sasl_ssl://b:1/bootstrap: SASL authentication error: Authentication failed (after 3ms in state AUTH_REQ)"


def kafka_error(name: str, text: str = "") -> Any:
    return confluent_kafka.KafkaError(getattr(confluent_kafka.KafkaError, name), text)


def refused(cause: str) -> ConfigError:
    def make(settings: dict[str, Any]) -> None:
        raise confluent_kafka.KafkaException(kafka_error("_INVALID_ARG", cause))

    with pytest.raises(ConfigError) as caught:
        new_client(make, {}, ConnectionLog())
    return caught.value


def fail(log: ConnectionLog, text: str) -> None:
    log.log(6, "%s [%s] %s", "FAIL", "emit#producer-1", f"[thrd:b:1/bootstrap]: {text}")


class Client:
    def __init__(self, error: Any, log: ConnectionLog, cause: Any = None) -> None:
        self.error, self.connection_log, self.cause = error, log, cause
        self.timeouts: list[float] = []
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def list_topics(self, topic: str | None, timeout: float) -> Any:
        self.timeouts.append(timeout)
        self.now += timeout
        raise confluent_kafka.KafkaException(self.error)

    def poll(self, timeout: float) -> None:
        self.now += timeout
        if self.cause is not None:
            self.connection_log.on_error(self.cause)


def test_the_newest_failure_is_the_cause_and_a_refusal_outlives_it() -> None:
    log = ConnectionLog()
    fail(log, "b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused")
    assert log.cause == "b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    fail(log, "b:1/bootstrap: Disconnected: connection closed by peer")
    log.on_error(kafka_error("_ALL_BROKERS_DOWN", "1/1 brokers are down"))
    assert (log.cause, log.refused) == ("b:1/bootstrap: Disconnected: connection closed by peer", False)
    log.on_error(kafka_error("_AUTHENTICATION", LOGIN))
    fail(log, "b:1/bootstrap: Disconnected")
    assert (log.cause, log.refused, log.failures) == (LOGIN, True, 3)
    assert isinstance(log.failure(("b:1",), 2.0), AuthenticationError)
    log.forget()
    assert isinstance(log.failure(("b:1",), 2.0, "timed out"), BrokerUnreachableError)
    assert "dial-timeout" not in str(log.failure(("b:1",), 2.0, remedy=_BROKERS_GONE)), "after the first message"


def test_other_lines_of_the_log_count_for_nothing() -> None:
    log = ConnectionLog()
    log.log(4, "%s [%s] %s", "GETPID", "emit#producer-1", "[thrd:main]: Coordinator load in progress: retrying")
    log.log(4, "a line without arguments")
    assert (log.cause, log.failures) == ("", 0)


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("_AUTHENTICATION", LOGIN, True),
        ("_SSL", "SSL handshake failed", True),
        ("_TRANSPORT", ALERT, True),
        ("_TRANSPORT", ALERT.replace("ssl/tls alert bad certificate", "tlsv13 alert certificate required"), True),
        ("_TRANSPORT", "Receive failed: error:0A000126:SSL routines::unexpected eof while reading", False),
        ("_TRANSPORT", "Connection refused", False),
        ("_TIMED_OUT", "", False),
    ],
)
def test_refusals(name: str, text: str, is_one: bool) -> None:
    assert is_refusal(kafka_error(name, text)) is is_one


@pytest.mark.parametrize(
    ("cause", "message", "remedy"),
    [
        (ALERT, f"TLS with Kafka at b:1 failed: {ALERT}", "Check ca, cert and key"),
        (LOGIN, f"SASL with Kafka at b:1 failed: {LOGIN}", "Check sasl-mechanism"),
        (
            "Failed to acquire SASL OAUTHBEARER token: HTTP 401 from https://me:canary@idp/token?client_secret=canary",
            "SASL with Kafka at b:1 failed: Failed to acquire SASL OAUTHBEARER token: HTTP 401 from "
            "https://****@idp/token?client_secret=****",
            "sasl-oauth options",
        ),
    ],
)
def test_a_refusal_says_what_to_look_at(cause: str, message: str, remedy: str) -> None:
    error = login_refused(("b:1",), 1.54, cause)
    assert (error.message, error.waited) == (message, 1.5)
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("cause", "kind", "timeouts", "waited"),
    [
        (kafka_error("_AUTHENTICATION", LOGIN), AuthenticationError, [0.5, 1.0], 1.7),
        (None, BrokerUnreachableError, [0.5, 1.0, 2.0, 4.0, 0.5], 8.5),  # the last is given what is left
    ],
    ids=["refusal", "dead broker"],
)
def test_a_refusal_is_given_a_moment_and_a_dead_broker_all_its_time(
    monkeypatch: pytest.MonkeyPatch, cause: Any, kind: type[DeliveryError], timeouts: list[float], waited: float
) -> None:
    client = Client(kafka_error("_TIMED_OUT"), ConnectionLog(), cause)
    monkeypatch.setattr(kafka_client, "time", client)
    with pytest.raises(kind) as failed:
        find_topics(client, client.connection_log, ("b:1",), 8.4)  # type: ignore[arg-type]
    assert client.timeouts == pytest.approx(timeouts)
    assert failed.value.context["waited"] == waited


def test_what_kafka_answers_is_not_asked_again() -> None:
    log = ConnectionLog()
    client = Client(kafka_error("CLUSTER_AUTHORIZATION_FAILED"), log)
    with pytest.raises(confluent_kafka.KafkaException):
        find_topics(client, log, ("b:1",), 30.0)  # type: ignore[arg-type]
    assert len(client.timeouts) == 1


@pytest.mark.parametrize(
    ("cause", "option", "words"),
    [
        ("Failed to create admin client: ssl.ca.location failed: error:05880020", "ca", "ssl.ca.location failed"),
        ("Failed to create producer: ssl.key.location failed: bad decrypt", "key", "ssl.key.location failed"),
    ],
)
def test_settings_that_make_no_client(cause: str, option: str, words: str) -> None:
    error = refused(cause)
    assert error.option == option
    assert words in error.message
    assert error.remedy


def test_nothing_that_a_terminal_acts_on_is_repeated() -> None:
    text = "\x1b[2J\nall rows sent\u2028"
    log = ConnectionLog()
    log.on_error(kafka_error("SASL_AUTHENTICATION_FAILED", text))
    errors = [
        log.failure(["h:1"], 1.0),
        ConnectionLog().failure(["h:1"], 1.0, text),
        delivery_failed(kafka_error("POLICY_VIOLATION", text), "t"),
        delivery_failed(kafka_error("MSG_SIZE_TOO_LARGE", text), "t", 0, 10),
        refused(text),
    ]
    for error in errors:
        assert r"\u001b[2J\nall rows sent\u2028" in str(error)
        assert str(error).isprintable()


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
