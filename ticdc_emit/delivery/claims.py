"""The claim-check storage: objects of messages that are too large, in a folder or a bucket."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ticdc_emit.config.codec import LargeMessageHandle
from ticdc_emit.config.secrets import Secret, hides_arguments
from ticdc_emit.config.uri import CLAIM_CHECK_OPTION
from ticdc_emit.delivery.object_storage import ObjectStorage
from ticdc_emit.errors import ClaimCheckError


class Claim(NamedTuple):
    """A stored message: ``location`` as in the message on Kafka, ``content`` the object's bytes."""

    location: str
    content: bytes


@dataclass(frozen=True)
class ClaimStore:
    """The objects under a ``claim-check-storage-uri``. Picklable; connects at the first use.

    ``attempts``: of a request, with waits from ``backoff_s`` seconds on. Raises
    :class:`~ticdc_emit.errors.ConfigError`.
    """

    uri: Secret[str]
    attempts: int = 5
    backoff_s: float = 0.2

    @hides_arguments
    def __post_init__(self) -> None:
        _ = self._objects  # which refuses what is wrong with the URI

    @classmethod
    def of(cls, handle: LargeMessageHandle) -> ClaimStore | None:
        """Return the store of a changefeed; ``None`` without claim-check."""
        uri = handle.claim_check_storage_uri
        return cls(uri) if handle.claim_check and uri is not None else None

    @property
    def _objects(self) -> ObjectStorage:
        return ObjectStorage(
            self.uri, CLAIM_CHECK_OPTION, self.attempts, self.backoff_s, ClaimCheckError, extra="claim-check"
        )

    def put(self, claims: Iterable[Claim]) -> None:
        """Store every claim; one of the same name is replaced. Raises :class:`ClaimCheckError`."""
        store = self._objects
        objects = {_path(store, claim.location): [claim.content] for claim in claims}
        if objects:
            what = "an object" if len(objects) == 1 else f"{len(objects)} objects"
            store.put(objects, f"cannot store {what}")

    def get(self, location: str) -> bytes:
        """Return the object that a message names; :class:`ClaimCheckError` for a missing one or another storage's."""
        store = self._objects
        path, files = _path(store, location), store.files()
        content: bytes = store.attempt(lambda: files.cat_file(path), "cannot read an object", location)
        return content


def _path(store: ObjectStorage, location: str) -> str:
    storage = store.storage
    folder, _, name = location.rpartition("/")
    if folder != storage.location or not name:
        raise ClaimCheckError(
            f"the location is not one of {storage.location}",
            remedy=f"Set {CLAIM_CHECK_OPTION} to the storage that the producer uses",
            location=location,
        )
    return f"{storage.root}/{name}"
