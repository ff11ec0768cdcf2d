"""TLS and SASL options as librdkafka settings, and what librdkafka cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.config import ConfigWarning, GssapiConfig, KafkaConfig, OAuthConfig, SaslConfig, Secret, TlsConfig
from ticdc_emit.delivery import KafkaSink
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
        (TlsConfig(enable=True, ca="ca.pem", insecure_skip_verify=True),
         SaslConfig("GSSAPI", gssapi=GssapiConfig("keytab", "k.tab", None, "kafka", "bob", None, "EXAMPLE.ORG")), {
            "security.protocol": "sasl_ssl", "ssl.ca.location": "ca.pem",
            "enable.ssl.certificate.verification": False, "sasl.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka", "sasl.kerberos.principal": "bob@EXAMPLE.ORG",
            "sasl.kerberos.keytab": "k.tab",
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
        (SaslConfig("GSSAPI", gssapi=GssapiConfig("user", password=PASSWORD)), "sasl-gssapi-auth-type"),
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


def test_kerberos_where_librdkafka_has_none() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    try:
        confluent_kafka.Producer({"builtin.features": "sasl_gssapi", "log_level": 0})
    except confluent_kafka.KafkaException:
        pass
    else:
        pytest.skip("this librdkafka has Kerberos")
    sasl = SaslConfig("GSSAPI", gssapi=GssapiConfig("keytab", "k.tab", None, "kafka", "bob"))
    sink = KafkaSink.of(KafkaConfig(brokers=("127.0.0.1:1",), sasl=sasl))
    for step in (lambda: sink.prepare({"t": 1}), sink.open):
        with pytest.raises(ConfigError, match="no Kerberos") as refused:
            step()
        assert refused.value.option == "sasl-mechanism"
        assert "libsasl2" in refused.value.remedy


@pytest.mark.parametrize(
    ("sasl", "warning"),
    [
        (SaslConfig(None, "bob", PASSWORD), "no effect without sasl-mechanism"),
        (SaslConfig("GSSAPI", gssapi=GssapiConfig("keytab", kerberos_config_path="k.conf")), "set KRB5_CONFIG"),
        (SaslConfig("GSSAPI", gssapi=GssapiConfig("keytab", disable_pafxfast=True)), "disable-pafxfast is not used"),
    ],
)
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
