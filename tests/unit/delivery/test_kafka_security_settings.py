"""TLS and SASL options as librdkafka settings, and what librdkafka cannot do."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.config import ConfigWarning, KafkaConfig, OAuthConfig, SaslConfig, Secret, TlsConfig
from ticdc_emit.delivery.kafka import security_settings
from ticdc_emit.errors import ConfigError

PASSWORD = Secret("hunter2")
OAUTH: dict[str, Any] = {"client_id": "id", "client_secret": PASSWORD, "token_url": Secret("https://idp/token")}


@pytest.mark.parametrize(
    ("tls", "sasl", "settings"),
    [
        (TlsConfig(), SaslConfig(), {}),
        (TlsConfig(enable=True), SaslConfig(), {"security.protocol": "ssl"}),
        (TlsConfig(), SaslConfig("PLAIN", "bob", PASSWORD), {
            "security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN", "sasl.username": "bob",
            "sasl.password": PASSWORD,
        }),
        (TlsConfig(enable=True, ca="ca.pem", insecure_skip_verify=True), SaslConfig(), {
            "security.protocol": "ssl", "ssl.ca.location": "ca.pem", "enable.ssl.certificate.verification": False,
        }),
        (TlsConfig(), SaslConfig("OAUTHBEARER", oauth=OAuthConfig(**OAUTH, scopes=("a", "b"))), {
            "security.protocol": "sasl_plaintext", "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": "id",
            "sasl.oauthbearer.client.secret": PASSWORD, "sasl.oauthbearer.token.endpoint.url": OAUTH["token_url"],
            "sasl.oauthbearer.scope": "a b",
        }),
    ],
)  # fmt: skip
def test_settings(tls: TlsConfig, sasl: SaslConfig, settings: dict[str, Any]) -> None:
    assert security_settings(tls, sasl) == settings


@pytest.mark.parametrize(
    ("sasl", "option"),
    [
        (SaslConfig("PLAIN", None, PASSWORD), "sasl-user"),
        (SaslConfig("SCRAM-SHA-512", "bob"), "sasl-password"),
        (SaslConfig("GSSAPI"), "sasl-mechanism"),
        (SaslConfig("OAUTHBEARER"), "sasl-oauth-client-id"),
        (SaslConfig("OAUTHBEARER", oauth=OAuthConfig(**OAUTH, audience="me")), "sasl-oauth-audience"),
        (SaslConfig("OAUTHBEARER", oauth=OAuthConfig(**OAUTH, grant_type="password")), "sasl-oauth-grant-type"),
    ],
)
def test_what_librdkafka_cannot_do(sasl: SaslConfig, option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        security_settings(TlsConfig(), sasl)
    assert refused.value.option == option
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("sasl", "warning"), [(SaslConfig(None, "bob", PASSWORD), "no effect without sasl-mechanism")])
def test_what_has_no_effect(sasl: SaslConfig, warning: str) -> None:
    with pytest.warns(ConfigWarning, match=warning) as warned:
        security_settings(TlsConfig(), sasl)
    assert "hunter2" not in str(warned[0].message)


def test_librdkafka_takes_these_names() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    sasl = SaslConfig("OAUTHBEARER", oauth=OAuthConfig(**OAUTH, scopes=("a",)))
    for tls, one in ((TlsConfig(enable=True), SaslConfig("PLAIN", "bob", PASSWORD)), (TlsConfig(), sasl)):
        settings = {
            name: value.reveal() if isinstance(value, Secret) else value
            for name, value in security_settings(tls, one).items()
        }
        confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **settings})


DELIVERY = Path(__file__).parents[3] / "ticdc_emit" / "delivery"
RECORDS = (KafkaConfig, TlsConfig, SaslConfig, OAuthConfig)
ELSEWHERE = {
    "KafkaConfig.topic": "routing sends events without a dispatcher to it",
    "KafkaConfig.kafka_version": "librdkafka negotiates it",
    "KafkaConfig.max_retry": "librdkafka retries until the delivery timeout",
    "SaslConfig.gssapi": "a login by Kerberos is refused",
}


def used_fields() -> set[str]:
    names = {record.__name__ for record in RECORDS}
    used = set()
    for path in DELIVERY.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            records = {}
            for parameter in (*function.args.args, *function.args.kwonlyargs):
                annotation = ast.unparse(parameter.annotation).partition(" |")[0] if parameter.annotation else ""
                if annotation in names:
                    records[parameter.arg] = annotation
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in records:
                    used.add(f"{records[node.value.id]}.{node.attr}")
    return used


def test_every_option_of_kafka_is_used_or_has_a_reason() -> None:
    declared = {f"{record.__name__}.{each.name}" for record in RECORDS for each in fields(record)}
    assert declared - used_fields() == set(ELSEWHERE)
