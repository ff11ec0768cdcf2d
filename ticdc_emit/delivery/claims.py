"""The claim-check storage: objects of messages that are too large, in a folder or a bucket that fsspec knows.

In: ``claim-check-storage-uri``, and objects with their locations. Out: :class:`ClaimStore`, which puts and gets them.
The URI is one of TiDB's (:class:`~ticdc_emit.config.uri.StorageUri`): its parameters become fsspec's protocol and the
options of its file system (s3fs, gcsfs, adlfs). As TiDB does, parameters that it does not know are ignored; those that
it acts on and this library does not are refused. Rule sources: ``pingcap/tidb: pkg/objstore/s3like/store.go``
(S3BackendOptions), ``gcs.go``, ``azblob.go``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ticdc_emit.config.codec import LargeMessageHandle
from ticdc_emit.config.document import GoSyntaxError, parse_bool, warn_of_option
from ticdc_emit.config.secrets import (
    AWS_LOGGERS,
    Secret,
    foreign_text,
    hide,
    hide_in_logs,
    hides_arguments,
    is_sensitive_name,
    shown_names,
)
from ticdc_emit.config.uri import StorageUri
from ticdc_emit.errors import ClaimCheckError, ConfigError, MissingDependencyError

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
        "release",
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


def check_parameters(storage: StorageUri) -> None:
    """Refuse a parameter that is not acted on (:class:`ConfigError`), and warn of one that does not exist."""
    given = _given(storage)
    for name, shown in zip(given, shown_names(given), strict=True):
        if name in _REFUSED.get(storage.kind, ()):
            raise ConfigError(
                f"{name} of a {storage.kind} storage is not supported", remedy="Remove it", option=_OPTION
            )
        if name not in _KNOWN[storage.kind]:
            warn_of_option(f"{_OPTION}: {storage.kind} has no parameter {shown}")


def protocol_and_options(storage: StorageUri) -> tuple[str, dict[str, Any]]:
    """Return fsspec's protocol and the options of the file system.

    Raises :class:`ConfigError` for credentials that lack a part, and for an endpoint that cannot be one.
    """
    protocol, make = _PROTOCOLS[storage.kind]
    return protocol, make(_given(storage))


def _given(storage: StorageUri) -> dict[str, str]:
    return {name: value for name, value in storage.parameters.reveal().items() if value}


def _nothing(given: Mapping[str, str]) -> dict[str, Any]:
    return {}


def _s3(given: Mapping[str, str]) -> dict[str, Any]:
    if "release" not in given and ("access-key" in given) != ("secret-access-key" in given):
        missing = "secret-access-key" if "access-key" in given else "access-key"
        raise ConfigError(f"the storage URI has no {missing}", remedy="Give both keys or neither", option=_OPTION)
    options = _renamed(
        given,
        {"access-key": "key", "secret-access-key": "secret", "session-token": "token", "release": "release"},
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


_LONGEST_WAIT_S = 5.0
_FINAL = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, TypeError, ValueError)
T = TypeVar("T")


class Claim(NamedTuple):
    """A stored message: ``location`` as in the message on Kafka, ``content`` the object's bytes."""

    location: str
    content: bytes


@dataclass(frozen=True)
class ClaimStore:
    """The objects under a ``claim-check-storage-uri``. Picklable; connects at the first use.

    ``attempts``: how often a request is tried, with waits from ``backoff_s`` seconds on. Raises
    :class:`~ticdc_emit.errors.ConfigError` for a URI that is not a supported storage.
    """

    uri: Secret[str]
    attempts: int = 5
    backoff_s: float = 0.2

    @hides_arguments
    def __post_init__(self) -> None:
        check_parameters(self._storage)
        protocol_and_options(self._storage)

    @classmethod
    def of(cls, handle: LargeMessageHandle) -> ClaimStore | None:
        """Return the store of a changefeed; ``None`` without claim-check."""
        uri = handle.claim_check_storage_uri
        return cls(uri) if handle.claim_check and uri is not None else None

    @property
    def _storage(self) -> StorageUri:
        return StorageUri.parse(self.uri.reveal())

    def put(self, claims: Iterable[Claim]) -> None:
        """Store every claim. An object of the same name is replaced; a replay writes the same bytes.

        Raises :class:`ClaimCheckError` if the storage refuses one, :class:`~ticdc_emit.errors.MissingDependencyError`
        if a package for the storage is missing.
        """
        objects = {self._path(claim.location): claim.content for claim in claims}
        if not objects:
            return
        files = self._files()
        store = _replace_files if self._storage.kind == "file" else files.pipe
        what = "an object" if len(objects) == 1 else f"{len(objects)} objects"
        self._try(lambda: store(objects), f"cannot store {what}", self._storage.location)

    def get(self, location: str) -> bytes:
        """Return the object that a message names.

        Raises :class:`ClaimCheckError` for a location outside this storage, and for a missing object.
        """
        path, files = self._path(location), self._files()
        content: bytes = self._try(lambda: files.cat_file(path), "cannot read an object", location)
        return content

    def _path(self, location: str) -> str:
        storage = self._storage
        folder, _, name = location.rpartition("/")
        if folder != storage.location or not name:
            raise ClaimCheckError(
                f"the location is not one of {storage.location}",
                remedy="Set claim-check-storage-uri to the storage that the producer uses",
                location=location,
            )
        return f"{storage.root}/{name}"

    @hides_arguments
    def _files(self) -> Any:
        protocol, options = protocol_and_options(self._storage)
        try:
            import fsspec
            import tenacity  # noqa: F401 - part of the same extra
        except ImportError:
            raise MissingDependencyError("claim-check needs fsspec and tenacity", extra="claim-check") from None
        if protocol == "s3":
            hide_in_logs(AWS_LOGGERS, (Secret(options[name]) for name in ("key", "secret", "token") if name in options))
        try:
            return fsspec.filesystem(protocol, **options)  # one per process and options: fsspec keeps it
        except ImportError:
            package = {"s3": "s3fs", "gcs": "gcsfs", "abfs": "adlfs"}.get(protocol, protocol)
            raise MissingDependencyError(
                f"the claim-check storage {self._storage.location} needs {package}",
                remedy=f"Run: pip install {package}",
            ) from None

    def _try(self, ask: Callable[[], T], failure: str, location: str) -> T:
        from tenacity import Retrying, retry_if_not_exception_type, stop_after_attempt, wait_exponential

        retrying = Retrying(
            stop=stop_after_attempt(self.attempts),
            wait=wait_exponential(multiplier=self.backoff_s, max=_LONGEST_WAIT_S),
            retry=retry_if_not_exception_type(_FINAL),
            reraise=True,
        )
        try:
            return retrying(ask)
        except Exception as error:
            # no "from error": its own text and what it was caused by may hold a key
            raise ClaimCheckError(
                f"{failure}: {type(error).__name__}: {self._clean(str(error))}",
                remedy="Check claim-check-storage-uri, and that this machine can use it",
                location=location,
            ) from None

    def _clean(self, text: str) -> str:
        parameters = self._storage.parameters.reveal().items()
        return foreign_text(hide(text, (value for name, value in parameters if is_sensitive_name(name))))


def _replace_files(objects: dict[str, bytes]) -> None:
    """Write files so that a reader sees each of them whole, or as it was."""
    for path, content in objects.items():
        whole = Path(path)
        part = whole.with_name(f"{whole.name}.{os.getpid()}-{threading.get_ident()}.tmp")
        whole.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(whole)
