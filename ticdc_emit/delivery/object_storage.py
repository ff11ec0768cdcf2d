"""A folder or a bucket that fsspec knows: where claim checks and the files of a storage sink are.

:class:`ObjectStorage` tries again where that may help, and tells no secret when it fails. As TiDB does, parameters that
it does not know are ignored; those that it acts on and this library does not are refused. Rule sources: ``pingcap/tidb:
pkg/objstore/s3like/store.go`` (S3BackendOptions), ``gcs.go``, ``azblob.go``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

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
from ticdc_emit.config.uri import REFUSED_PARAMETERS, STORAGE_PARAMETERS, StorageUri
from ticdc_emit.errors import ConfigError, DeliveryError, MissingDependencyError, TicdcEmitError, importing

if TYPE_CHECKING:
    from ticdc_emit.storage.folder import Data

_S3_OBJECT = {
    "storage-class": "StorageClass",
    "acl": "ACL",
    "sse": "ServerSideEncryption",
    "sse-kms-key-id": "SSEKMSKeyId",
}
_VIRTUAL_HOSTED = ("alibaba", "netease", "tencent", "aws")


def check_parameters(storage: StorageUri) -> None:
    """Refuse a parameter that is not acted on (:class:`ConfigError`), and warn of one that does not exist."""
    given = _given(storage)
    for name, shown in zip(given, shown_names(given), strict=True):
        if name in REFUSED_PARAMETERS.get(storage.kind, ()):
            raise ConfigError(
                f"{name} of a {storage.kind} storage is not supported", remedy="Remove it", option=storage.option
            )
        if name not in STORAGE_PARAMETERS[storage.kind]:
            warn_of_option(f"{storage.option}: {storage.kind} has no parameter {shown}")


def protocol_and_options(storage: StorageUri) -> tuple[str, dict[str, Any]]:
    """Return fsspec's protocol and options; :class:`ConfigError` for incomplete credentials and a wrong endpoint."""
    protocol, make = _PROTOCOLS[storage.kind]
    try:
        return protocol, make(_given(storage))
    except ConfigError as error:
        raise ConfigError(error.message, remedy=error.remedy, option=storage.option) from None


def _given(storage: StorageUri) -> dict[str, str]:
    return {name: value for name, value in storage.parameters.reveal().items() if value}


def _s3(given: Mapping[str, str]) -> dict[str, Any]:
    if "release" not in given and ("access-key" in given) != ("secret-access-key" in given):
        missing = "secret-access-key" if "access-key" in given else "access-key"
        raise ConfigError(f"the storage URI has no {missing}", remedy="Give both keys or neither")
    options = _renamed(
        given, {"access-key": "key", "secret-access-key": "secret", "session-token": "token", "release": "release"}
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


def _azure(given: Mapping[str, str]) -> dict[str, Any]:
    options = _renamed(given, {"account-name": "account_name", "account-key": "account_key", "sas-token": "sas_token"})
    if "endpoint" in given:
        endpoint = urlsplit(_url(given["endpoint"]))
        if endpoint.scheme != "https" or endpoint.path.strip("/"):
            raise ConfigError("the endpoint of an azure storage must be https://host", remedy="Remove the rest")
        options["account_host"] = endpoint.netloc
    return options


def _renamed(given: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {ours: given[theirs] for theirs, ours in names.items() if theirs in given}


def _url(text: str) -> str:
    parts = urlsplit(text)
    if not parts.scheme or not parts.netloc:
        raise ConfigError(
            "the endpoint of the storage URI lacks its scheme or host", remedy="Write it as https://host:port"
        )
    return text


def _flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Return a switch; as in TiDB, what is not a boolean is as if it were not there."""
    try:
        return parse_bool(given[name]) if name in given else default
    except GoSyntaxError:
        return default


_PROTOCOLS: dict[str, tuple[str, Callable[[Mapping[str, str]], dict[str, Any]]]] = {
    "file": ("file", partial(_renamed, names={})),
    "memory": ("memory", partial(_renamed, names={})),
    "s3": ("s3", _s3),
    "gcs": ("gcs", partial(_renamed, names={"endpoint": "endpoint_url", "credentials-file": "token"})),
    "azure": ("abfs", _azure),
}


_PACKAGES = {"s3": ("s3", "s3fs"), "gcs": ("gcs", "gcsfs"), "azure": ("azblob", "adlfs")}
"""The extra that installs the package of a storage, and the package."""
_LONGEST_WAIT_S = 5.0
_FINAL = (
    FileNotFoundError,
    PermissionError,
    NotADirectoryError,
    IsADirectoryError,
    TypeError,
    ValueError,
    TicdcEmitError,
)
T = TypeVar("T")


@dataclass(frozen=True)
class ObjectStorage:
    """Objects under a storage URI. Picklable; connects at the first use.

    ``option``: has the URI; errors name it. ``attempts``: of a request, with waits from ``backoff_s`` seconds on.
    ``error``: the type of errors. ``extra``: of this library, for a storage without a package of its own.
    """

    uri: Secret[str]
    option: str
    attempts: int = 5
    backoff_s: float = 0.2
    error: type[DeliveryError] = DeliveryError
    extra: str = "storage"

    @hides_arguments
    def __post_init__(self) -> None:
        check_parameters(self.storage)
        protocol_and_options(self.storage)

    @cached_property
    def storage(self) -> StorageUri:
        """The URI, read."""
        return StorageUri.parse(self.uri.reveal(), self.option)

    @hides_arguments
    def files(self) -> Any:
        """Return fsspec's file system; :class:`~ticdc_emit.errors.MissingDependencyError` without its package."""
        kind, (protocol, options) = self.storage.kind, protocol_and_options(self.storage)
        extra, package = _PACKAGES.get(kind, (self.extra, ""))
        with importing(f"{self.option} needs fsspec and tenacity", extra=extra):
            import fsspec
            import tenacity  # noqa: F401 - part of the same extra
        if protocol == "s3":
            hide_in_logs(AWS_LOGGERS, (Secret(options[name]) for name in ("key", "secret", "token") if name in options))

        def connect() -> Any:
            try:
                return fsspec.filesystem(protocol, **options)  # one per process and options: fsspec keeps it
            except ImportError:
                raise MissingDependencyError(f"{self.option}: {kind} needs {package}", extra=extra) from None

        return self.attempt(connect, "cannot use the storage", self.storage.location)

    def put(self, objects: Mapping[str, Sequence[Data]], failure: str) -> None:
        """Store objects, each whole or not at all; ``objects``: the parts of each, taken without a copy if possible."""
        files = self.files()
        if self.storage.kind == "file":
            self.attempt(lambda: _replace_files(objects), failure, self.storage.location)
            return
        whole = {path: b"".join(parts) for path, parts in objects.items()}
        self.attempt(lambda: files.pipe(whole), failure, self.storage.location)

    def attempt(self, ask: Callable[[], T], failure: str, location: str) -> T:
        """Return what a request gives, tried again where that may help; else raise ``error``, without secrets."""
        from tenacity import Retrying, retry_if_not_exception_type, stop_after_attempt, wait_exponential

        retrying = Retrying(
            stop=stop_after_attempt(self.attempts),
            wait=wait_exponential(multiplier=self.backoff_s, max=_LONGEST_WAIT_S),
            retry=retry_if_not_exception_type(_FINAL),
            reraise=True,
        )
        try:
            return retrying(ask)
        except TicdcEmitError:
            raise
        except Exception as error:
            # no "from error": its own text and what it was caused by may hold a key
            raise self.error(
                f"{failure}: {type(error).__name__}: {self._clean(str(error))}",
                remedy=f"Check {self.option}, and that this machine can use it",
                location=location,
            ) from None

    def _clean(self, text: str) -> str:
        parameters = self.storage.parameters.reveal().items()
        return foreign_text(hide(text, (value for name, value in parameters if is_sensitive_name(name))))


def _replace_files(objects: Mapping[str, Sequence[Data]]) -> None:
    """Write files so that a reader sees each of them whole, or as it was."""
    for path, parts in objects.items():
        whole = Path(path)
        part = whole.with_name(f"{whole.name}.{os.getpid()}-{threading.get_ident()}.tmp")
        whole.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                file.writelines(parts)
            part.replace(whole)
        except BaseException:  # such as a disk that is full
            part.unlink(missing_ok=True)
            raise
