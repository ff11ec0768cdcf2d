"""What the parameters of a TiDB storage URI are to fsspec.

In: a :class:`~ticdc_emit.config.storage_uri.StorageUri`. Out: fsspec's protocol, and the options of its file system
(s3fs, gcsfs, adlfs). Rule sources: ``pingcap/tidb: pkg/objstore/s3like/store.go`` (S3BackendOptions), ``gcs.go``,
``azblob.go``. As TiDB does, parameters that it does not know are ignored; those that it acts on and this library does
not are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ticdc_emit.config.gotext import GoSyntaxError, parse_bool
from ticdc_emit.config.refusal import warn_of_option
from ticdc_emit.config.secrets import shown_names
from ticdc_emit.config.storage_uri import StorageUri
from ticdc_emit.errors import ConfigError

__all__ = ["check_parameters", "protocol_and_options"]

_OPTION = "claim-check-storage-uri"
_S3_OBJECT = {
    "storage-class": "StorageClass",
    "acl": "ACL",
    "sse": "ServerSideEncryption",
    "sse-kms-key-id": "SSEKMSKeyId",
}
_VIRTUAL_HOSTED = ("alibaba", "netease", "tencent", "aws")
_KNOWN = {
    "file": (),
    "memory": (),
    "s3": (
        "endpoint",
        "region",
        "access-key",
        "secret-access-key",
        "session-token",
        "profile",
        "provider",
        "force-path-style",
        "use-accelerate-endpoint",
        *_S3_OBJECT,
    ),
    "gcs": ("endpoint", "credentials-file"),
    "azure": ("endpoint", "account-name", "account-key", "sas-token"),
}
_REFUSED = {
    "s3": ("role-arn", "external-id"),
    "gcs": ("storage-class", "predefined-acl"),
    "azure": ("access-tier", "encryption-scope", "encryption-key"),
}


def check_parameters(place: StorageUri) -> None:
    """Refuse a parameter that is not acted on (:class:`ConfigError`), and warn of one that does not exist."""
    given = _given(place)
    for name, shown in zip(given, shown_names(given), strict=True):
        if name in _REFUSED.get(place.kind, ()):
            raise ConfigError(f"{name} of a {place.kind} storage is not supported", remedy="Remove it", option=_OPTION)
        if name not in _KNOWN[place.kind]:
            warn_of_option(f"{_OPTION}: {place.kind} has no parameter {shown}")


def protocol_and_options(place: StorageUri) -> tuple[str, dict[str, Any]]:
    """Return fsspec's protocol and the options of the file system.

    Raises :class:`ConfigError` for credentials that lack a part, and for an endpoint that cannot be one.
    """
    protocol, make = _PROTOCOLS[place.kind]
    return protocol, make(_given(place))


def _given(place: StorageUri) -> dict[str, str]:
    return {name: value for name, value in place.parameters.reveal().items() if value}


def _nothing(given: Mapping[str, str]) -> dict[str, Any]:
    return {}


def _s3(given: Mapping[str, str]) -> dict[str, Any]:
    if "profile" not in given and ("access-key" in given) != ("secret-access-key" in given):
        missing = "secret-access-key" if "access-key" in given else "access-key"
        raise ConfigError(f"the storage URI has no {missing}", remedy="Give both keys or neither", option=_OPTION)
    options = _renamed(
        given,
        {"access-key": "key", "secret-access-key": "secret", "session-token": "token", "profile": "profile"},
    )
    if "endpoint" in given:
        options["endpoint_url"] = _url(given["endpoint"]).removesuffix("/")
    if "region" in given:
        options["client_kwargs"] = {"region_name": given["region"]}
    addressing: dict[str, Any] = {"addressing_style": "path" if _path_style(given) else "virtual"}
    if _flag(given, "use-accelerate-endpoint"):
        addressing["use_accelerate_endpoint"] = True
    options["config_kwargs"] = {"s3": addressing}
    of_objects = _renamed(given, _S3_OBJECT)
    if of_objects:
        options["s3_additional_kwargs"] = of_objects
    return options


def _path_style(given: Mapping[str, str]) -> bool:
    """Return TiDB's choice: the bucket in the path, but for the providers that want it in the host's name."""
    if given.get("provider") in _VIRTUAL_HOSTED[:3] or _flag(given, "use-accelerate-endpoint"):
        return False
    if "force-path-style" in given:
        return _flag(given, "force-path-style", default=True)
    return given.get("provider") not in _VIRTUAL_HOSTED and "amazonaws.com" not in given.get("endpoint", "")


def _gcs(given: Mapping[str, str]) -> dict[str, Any]:
    return _renamed(given, {"endpoint": "endpoint_url", "credentials-file": "token"})


def _azure(given: Mapping[str, str]) -> dict[str, Any]:
    options = _renamed(given, {"account-name": "account_name", "account-key": "account_key", "sas-token": "sas_token"})
    if "endpoint" in given:
        endpoint = urlsplit(_url(given["endpoint"]))
        if endpoint.scheme != "https" or endpoint.path.strip("/"):
            raise ConfigError(
                "the endpoint of an azure storage must be https://host", remedy="Remove the rest", option=_OPTION
            )
        options["account_host"] = endpoint.netloc
    return options


def _renamed(given: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {ours: given[theirs] for theirs, ours in names.items() if theirs in given}


def _url(text: str) -> str:
    parts = urlsplit(text)
    if not parts.scheme or not parts.netloc:
        raise ConfigError(
            "the endpoint of the storage URI lacks its scheme or host",
            remedy="Write it as https://host:port",
            option=_OPTION,
        )
    return text


def _flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Return a switch; as in TiDB, what is not a boolean is as if it were not there."""
    try:
        return parse_bool(given[name]) if name in given else default
    except GoSyntaxError:
        return default


_PROTOCOLS: dict[str, tuple[str, Callable[[Mapping[str, str]], dict[str, Any]]]] = {
    "file": ("file", _nothing),
    "memory": ("memory", _nothing),
    "s3": ("s3", _s3),
    "gcs": ("gcs", _gcs),
    "azure": ("abfs", _azure),
}
