"""A broker that asks who is there: listeners with TLS, mutual TLS, and every SASL mechanism of Kafka but Kerberos.

In: a folder for certificates and an identity provider.  Out: what :class:`kraft.KraftBroker` needs for it.  Settings:
"Security" of Kafka's documentation, PEM stores of KIP-651, OAUTHBEARER validation of KIP-768.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme
from cryptography.hazmat.primitives import serialization
from oidc import IdentityProvider

from ticdc_emit.testing.kraft import Listener

USER = "changefeed"
PASSWORD = 'canary-p@ss/w0rd?&"x'
"""Has what must be escaped in a URI, and in a JAAS file."""

_PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTH_LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OAUTH_CHECK = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


@dataclass(frozen=True)
class Identity:
    """PEM files of one certificate authority and one certificate of it, for 127.0.0.1 and for clients."""

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def made(cls, folder: Path) -> Identity:
        """A new authority, which nobody knows, and a certificate."""
        folder.mkdir(parents=True)
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1", common_name=USER)
        one = cls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
        authority.cert_pem.write_to_path(one.ca)
        one.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        # Java reads PKCS #8 only.
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        one.key.write_bytes(key.private_bytes(*form))
        return one


def security(identity: Identity, provider: IdentityProvider, folder: Path) -> dict[str, Any]:
    """Keyword arguments for a broker with the listeners ``TLS``, ``MTLS``, ``SASL`` and ``SASLTLS``."""
    store = folder / "store.pem"
    store.write_bytes(identity.key.read_bytes() + identity.cert.read_bytes())
    keys = folder / "jwks.json"
    keys.write_text(provider.jwks())
    tls: dict[str, object] = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": store,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": identity.ca,
    }
    quoted = PASSWORD.replace('"', '\\\\"')
    sasl: dict[str, object] = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "plain.sasl.jaas.config": f'{_PLAIN_LOGIN} required user_{USER}="{quoted}";',
        "scram-sha-256.sasl.jaas.config": f"{_SCRAM_LOGIN} required;",
        "scram-sha-512.sasl.jaas.config": f"{_SCRAM_LOGIN} required;",
        "oauthbearer.sasl.jaas.config": f"{_OAUTH_LOGIN} required;",
        "oauthbearer.sasl.server.callback.handler.class": _OAUTH_CHECK,
        "oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "oauthbearer.sasl.oauthbearer.expected.audience": provider.audience,
    }
    return {
        "listeners": [
            Listener("TLS", "SSL", {**tls, "ssl.client.auth": "none"}),
            Listener("MTLS", "SSL", {**tls, "ssl.client.auth": "required"}),
            Listener("SASL", "SASL_PLAINTEXT", sasl),
            Listener("SASLTLS", "SASL_SSL", {**tls, **sasl}),
        ],
        "users": [
            f'{mechanism}=[name={USER},password="{PASSWORD}"]' for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ],
        "jvm_options": [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"],
    }
