"""TLS and SASL as a changefeed asks for them, against a broker that insists: every way in, and every way to fail."""

from __future__ import annotations

import base64
import logging
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pytest
from message_rows import message_batch
from oidc import IdentityProvider
from secured_kraft import PASSWORD, USER, Identity, security

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import AuthenticationError, BrokerUnreachableError, ConfigError, TicdcEmitError

pytestmark = pytest.mark.integration

_CLIENT, _CLIENT_SECRET = "emit", "canary-oauth/secret+1"
_WRONG = "canary-wrong"


@dataclass
class Secured:
    """A running broker, an authority that signed its certificate and one that nobody knows."""

    broker: KafkaCluster
    provider: IdentityProvider
    known: Identity
    stranger: Identity

    def sink(
        self, listener: str, options: str, *, scheme: str = "kafka", file: dict[str, Any] | None = None
    ) -> KafkaSink:
        """The sink of a changefeed, as a worker gets it; one that waits out its dial timeout outlasts the test."""
        if "dial-timeout" not in options:
            options += "&dial-timeout=10m"
        uri = f"{scheme}://{self.broker.address(listener)}/orders?protocol=canal-json&{options}"
        sink = sink_for(load_changefeed(uri, file))
        return pickle.loads(pickle.dumps(sink))


@pytest.fixture(scope="module")
def secured(make_cluster: Callable[..., KafkaCluster], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("security")
    known, stranger = Identity.made(folder / "known"), Identity.made(folder / "stranger")
    with (
        IdentityProvider(_CLIENT, _CLIENT_SECRET) as provider,
        make_cluster(1, **security(known, provider, folder)) as broker,
    ):
        yield Secured(broker, provider, known, stranger)


@pytest.fixture(autouse=True)
def no_secret_in_the_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert not [record for record in caplog.records if "canary" in record.getMessage()]


def files(ca: Identity, own: Identity | None = None) -> str:
    own = own or ca
    return f"ca={ca.ca}&cert={own.cert}&key={own.key}"


def sasl(mechanism: str, password: str = PASSWORD) -> str:
    return f"sasl-mechanism={mechanism}&sasl-user={USER}&sasl-password={quote(password, safe='')}"


def oauth(provider: IdentityProvider, secret: str = _CLIENT_SECRET) -> dict[str, Any]:
    options = {
        "sasl-oauth-client-id": _CLIENT,
        "sasl-oauth-client-secret": base64.b64encode(secret.encode()).decode(),
        "sasl-oauth-token-url": provider.token_url,
        "sasl-oauth-scopes": ["produce", "describe"],
    }
    return {"sink": {"kafka-config": options}}


def one(topic: str) -> pa.RecordBatch:
    return message_batch((topic, 0, b"k", b"v"))


def goes_through(sink: KafkaSink) -> None:
    topic = f"t-{uuid4().hex}"
    assert sink.prepare({topic: 1}) == {topic: 1}
    assert sink.message_limit([topic]) == 10 * 1024 * 1024
    with sink.open() as writer:
        writer.write(one(topic))
        assert writer.flush().messages == 1
    found = read_topic(sink.connection_settings(), topic)
    assert [(message.key, message.value) for message in found] == [(b"k", b"v")]


def is_refused(call: Callable[[], object], kind: type[TicdcEmitError], *words: str) -> TicdcEmitError:
    with pytest.raises(kind) as refused:
        call()
    text = f"{refused.value} {refused.value!r} {refused.value.context}"
    assert "canary" not in text
    for word in words:
        assert word in text
    assert refused.value.remedy
    return refused.value


def test_tls_with_a_private_authority(secured: Secured) -> None:
    goes_through(secured.sink("TLS", files(secured.known)))
    # As in TiCDC, the scheme alone changes nothing: the three files, or enable-tls, switch TLS on.
    goes_through(secured.sink("TLS", files(secured.known), scheme="kafka+ssl"))


def test_tls_without_checking_the_broker(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    goes_through(secured.sink("TLS", "enable-tls=true&insecure-skip-verify=true"))
    assert "insecure-skip-verify: the brokers' certificates are not checked" in caplog.text


def test_mutual_tls(secured: Secured) -> None:
    goes_through(secured.sink("MTLS", files(secured.known)))


@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-256", "scram-sha-512"])
@pytest.mark.parametrize("listener", ["SASL", "SASLTLS"])
def test_a_password(secured: Secured, listener: str, mechanism: str) -> None:
    tls = f"&{files(secured.known)}" if listener == "SASLTLS" else ""
    goes_through(secured.sink(listener, sasl(mechanism) + tls))


@pytest.mark.parametrize("listener", ["SASL", "SASLTLS"])
def test_oauth(secured: Secured, listener: str) -> None:
    tls = f"&{files(secured.known)}" if listener == "SASLTLS" else ""
    goes_through(secured.sink(listener, f"sasl-mechanism=oauthbearer{tls}", file=oauth(secured.provider)))
    assert "produce describe" in secured.provider.scopes


@pytest.mark.parametrize(("mechanism", "listener"), [("plain", "SASL"), ("scram-sha-512", "SASLTLS")])
def test_a_wrong_password(secured: Secured, mechanism: str, listener: str) -> None:
    tls = f"&{files(secured.known)}" if listener == "SASLTLS" else ""
    sink = secured.sink(listener, sasl(mechanism, _WRONG) + tls)
    wanted = (secured.broker.address(listener), "SASL authentication error", "Check sasl-mechanism, and sasl-user")
    is_refused(lambda: sink.prepare({"t": 1}), AuthenticationError, *wanted)
    assert "canary" not in repr(sink)


def test_a_wrong_password_in_a_worker_and_in_a_reader(secured: Secured) -> None:
    sink = secured.sink("SASL", sasl("scram-sha-256", _WRONG))
    writer = sink.open()
    is_refused(lambda: writer.write(one("t")), AuthenticationError, "SCRAM-SHA-256")
    writer.close()
    is_refused(lambda: read_topic(sink.connection_settings(), "t", timeout_s=600), AuthenticationError, "SCRAM-SHA-256")


def test_a_wrong_client_secret(secured: Secured) -> None:
    sink = secured.sink("SASL", "sasl-mechanism=oauthbearer", file=oauth(secured.provider, _WRONG))
    wanted = ("unknown client or wrong secret", "sasl-oauth options")
    is_refused(lambda: sink.prepare({"t": 1}), AuthenticationError, *wanted)


@pytest.mark.parametrize("options", ["enable-tls=true", "stranger"])
def test_an_authority_that_nobody_trusts(secured: Secured, options: str) -> None:
    sink = secured.sink("TLS", files(secured.stranger) if options == "stranger" else options)
    wanted = ("certificate verify failed", "ca must have issued the brokers' certificates")
    is_refused(lambda: sink.prepare({"t": 1}), AuthenticationError, *wanted)


@pytest.mark.parametrize("options", ["enable-tls=true&insecure-skip-verify=true", "stranger"])
def test_a_client_certificate_is_missing_or_unknown(secured: Secured, options: str) -> None:
    sink = secured.sink("MTLS", files(secured.known, secured.stranger) if options == "stranger" else options)
    wanted = ("alert bad certificate", "the brokers must trust the issuer of cert")
    is_refused(lambda: sink.prepare({"t": 1}), AuthenticationError, *wanted)


def test_no_security_where_the_broker_wants_some(secured: Secured) -> None:
    for listener in ("TLS", "SASL"):
        prepare = partial(secured.sink(listener, "dial-timeout=2s").prepare, {"t": 1})
        is_refused(prepare, BrokerUnreachableError, "Disconnected", "TLS and SASL options")


def test_files_that_are_not_there(secured: Secured, tmp_path: Path) -> None:
    gone = Identity(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    sink = secured.sink("TLS", files(gone))
    for step in (lambda: sink.prepare({"t": 1}), sink.open):
        assert is_refused(step, ConfigError, "ssl.ca.location", "on every worker").option == "ca"
