"""The claim-check storage: whole messages that are too large for Kafka, as objects of a file or object store.

In: claims, which :mod:`ticdc_emit.pipeline.large_messages` makes and names. Out: objects, stored before any message that names
one is sent. The store is whatever fsspec reaches; the parameters of a storage URI are TiDB's (``pingcap/tidb:
pkg/objstore``), and :mod:`ticdc_emit.delivery.storage_options` says what they are to fsspec.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ticdc_emit.config.encoded_secrets import hide
from ticdc_emit.config.log_masking import AWS_LOGGERS, hide_in_logs
from ticdc_emit.config.options import LargeMessageHandle
from ticdc_emit.config.secrets import Secret, foreign_text, hides_arguments, is_sensitive_name
from ticdc_emit.config.storage_uri import StorageUri
from ticdc_emit.delivery.storage_options import check_parameters, protocol_and_options
from ticdc_emit.errors import ClaimCheckError, MissingDependencyError

__all__ = ["Claim", "ClaimStore"]

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
        check_parameters(self._place)
        protocol_and_options(self._place)

    @classmethod
    def of(cls, handle: LargeMessageHandle) -> ClaimStore | None:
        """Return the store of a changefeed; ``None`` without claim-check."""
        uri = handle.claim_check_storage_uri
        return cls(uri) if handle.claim_check and uri is not None else None

    @property
    def _place(self) -> StorageUri:
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
        store = _replace_files if self._place.kind == "file" else files.pipe
        what = "an object" if len(objects) == 1 else f"{len(objects)} objects"
        self._try(lambda: store(objects), f"cannot store {what}", self._place.location)

    def get(self, location: str) -> bytes:
        """Return the object that a message names.

        Raises :class:`ClaimCheckError` for a location outside this storage, and for a missing object.
        """
        path, files = self._path(location), self._files()
        content: bytes = self._try(lambda: files.cat_file(path), "cannot read an object", location)
        return content

    def _path(self, location: str) -> str:
        place = self._place
        folder, _, name = location.rpartition("/")
        if folder != place.location or not name:
            raise ClaimCheckError(
                f"the location is not one of {place.location}",
                remedy="Set claim-check-storage-uri to the storage that the producer uses",
                location=location,
            )
        return f"{place.root}/{name}"

    @hides_arguments
    def _files(self) -> Any:
        protocol, options = protocol_and_options(self._place)
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
                f"the claim-check storage {self._place.location} needs {package}", remedy=f"Run: pip install {package}"
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
        parameters = self._place.parameters.reveal().items()
        return foreign_text(hide(text, (value for name, value in parameters if is_sensitive_name(name))))


def _replace_files(objects: dict[str, bytes]) -> None:
    """Write files so that a reader sees each of them whole, or as it was."""
    for path, content in objects.items():
        whole = Path(path)
        part = whole.with_name(f"{whole.name}.{os.getpid()}-{threading.get_ident()}.tmp")
        whole.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(whole)
