"""TiCDC's TLS and SASL options as librdkafka settings.

In: the records of :mod:`ticdc_emit.config.options`.  Out: settings by librdkafka's names, secrets still wrapped.  What
librdkafka cannot do is refused by the option's name, before anything connects.
"""

from __future__ import annotations

import logging
from typing import Any

from ticdc_emit.config.options import GssapiConfig, OAuthConfig, SaslConfig, TlsConfig
from ticdc_emit.config.refusal import warn_of_option
from ticdc_emit.errors import ConfigError

__all__ = ["security_settings"]

logger = logging.getLogger(__name__)


def security_settings(tls: TlsConfig, sasl: SaslConfig) -> dict[str, Any]:
    """librdkafka settings; empty for a plain connection."""
    settings: dict[str, Any] = {}
    if tls.enable or sasl.mechanism:
        settings["security.protocol"] = ("sasl_" if sasl.mechanism else "") + ("ssl" if tls.enable else "plaintext")
    if tls.enable:
        settings |= _tls(tls)
    if sasl.mechanism:
        settings |= _sasl(sasl, sasl.mechanism)
    elif sasl.user or sasl.password:
        warn_of_option("sasl-user and sasl-password have no effect without sasl-mechanism")
    return settings


def _tls(tls: TlsConfig) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if tls.ca:
        settings["ssl.ca.location"] = tls.ca
    if tls.cert and tls.key:
        settings["ssl.certificate.location"] = tls.cert
        settings["ssl.key.location"] = tls.key
    if tls.insecure_skip_verify:
        logger.warning("insecure-skip-verify: the brokers' certificates are not checked")
        settings["enable.ssl.certificate.verification"] = False
    return settings


def _sasl(sasl: SaslConfig, mechanism: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"sasl.mechanisms": mechanism}
    if mechanism == "GSSAPI":
        return settings | _gssapi(sasl.gssapi)
    if mechanism == "OAUTHBEARER":
        return settings | _oauth(sasl.oauth)
    if not sasl.user or sasl.password is None:
        raise ConfigError(
            f"SASL {mechanism} needs sasl-user and sasl-password",
            remedy="Add both to the sink URI",
            option="sasl-password" if sasl.user else "sasl-user",
        )
    return settings | {"sasl.username": sasl.user, "sasl.password": sasl.password}


def _gssapi(gssapi: GssapiConfig) -> dict[str, Any]:
    if gssapi.auth_type == "user":
        raise ConfigError(
            "librdkafka cannot log in to Kerberos with a password",
            remedy="Use sasl-gssapi-auth-type=keytab.",
            option="sasl-gssapi-auth-type",
        )
    settings: dict[str, Any] = {}
    if gssapi.service_name:
        settings["sasl.kerberos.service.name"] = gssapi.service_name
    if gssapi.user:
        settings["sasl.kerberos.principal"] = f"{gssapi.user}@{gssapi.realm}" if gssapi.realm else gssapi.user
    if gssapi.keytab_path:
        settings["sasl.kerberos.keytab"] = gssapi.keytab_path
    if gssapi.kerberos_config_path:
        warn_of_option("sasl-gssapi-kerberos-config-path is not used: set KRB5_CONFIG in the workers' environment")
    if gssapi.disable_pafxfast:
        warn_of_option("sasl-gssapi-disable-pafxfast is not used: the Kerberos library negotiates PA-FX-FAST itself")
    return settings


def _oauth(oauth: OAuthConfig | None) -> dict[str, Any]:
    if oauth is None:
        raise ConfigError(
            "SASL OAUTHBEARER needs sasl-oauth-client-id, sasl-oauth-client-secret and sasl-oauth-token-url",
            remedy="Add them to the sink URI",
            option="sasl-oauth-client-id",
        )
    if oauth.grant_type != "client_credentials":
        raise ConfigError(
            f"librdkafka has no OAuth grant type {oauth.grant_type}",
            remedy="Use client_credentials.",
            option="sasl-oauth-grant-type",
        )
    if oauth.audience:
        raise ConfigError(
            "librdkafka cannot send an OAuth audience",
            remedy="Remove it, and let the token endpoint set the audience",
            option="sasl-oauth-audience",
        )
    settings: dict[str, Any] = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": oauth.client_id,
        "sasl.oauthbearer.client.secret": oauth.client_secret,
        "sasl.oauthbearer.token.endpoint.url": oauth.token_url,
    }
    if oauth.scopes:
        settings["sasl.oauthbearer.scope"] = " ".join(oauth.scopes)
    return settings
