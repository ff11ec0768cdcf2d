"""A folder of object storage, or of a file system, for the files of a storage sink.

In: a URI of ``file://``, ``s3://``, ``gcs://`` or ``azblob://``. Out: :class:`ObjectFolder`, through fsspec. A file is
written whole or not at all: an object is put in one request, and a local file is written beside its place and then
renamed, as TiCDC does it. :class:`NoFolder` is that of ``noop://``.

A storage that fails is an error, never a file or a folder that is missing: what is missing gets written. So a question
is not asked by methods of fsspec that answer "no" to every failure (``isfile``) or leave out what they cannot list
(``find`` of a file system).
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from ticdc_emit.delivery.object_storage import ObjectStorage
from ticdc_emit.storage.folder import Data


class ObjectFolder:
    """A :class:`~ticdc_emit.storage.folder.Folder` under a storage URI. Used by one thread."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._uri = storage.storage

    @cached_property
    def _files(self) -> Any:
        return self._storage.files()

    def exists(self, path: str) -> bool:
        whole = self._path(path)
        found: bool = self._storage.attempt(lambda: self._is_file(whole), "cannot look for a file", self._at(path))
        return found

    def read(self, path: str) -> bytes:
        whole = self._path(path)
        content: bytes = self._storage.attempt(
            lambda: self._fresh().cat_file(whole), "cannot read a file", self._at(path)
        )
        return content

    def files(self, folder: str) -> list[str]:
        whole = self._path(folder)
        found: list[str] = self._storage.attempt(lambda: self._below(whole), "cannot list files", self._at(folder))
        first = len(self._path("")) + 1
        return sorted(path[first:] for path in found)

    def write(self, path: str, *parts: Data) -> None:
        self._storage.put({self._path(path): parts}, f"cannot write {path}")

    def remove(self, path: str) -> None:
        whole = self._path(path)
        self._storage.attempt(lambda: self._fresh().rm_file(whole), "cannot remove a file", self._at(path))

    def _is_file(self, path: str) -> bool:
        try:
            return bool(self._fresh().info(path)["type"] == "file")
        except FileNotFoundError:
            return False

    def _below(self, path: str) -> list[str]:
        """Return the files in a folder and below it; none for a folder that is missing."""
        if self._uri.kind == "file":
            walk = os.walk(path or "/", onerror=_refuse_unless_missing)
            return [f"{folder.rstrip('/')}/{name}" for folder, _, names in walk for name in names]
        return list(self._fresh().find(path))

    def _fresh(self) -> Any:
        """Return the file system without what it remembers of listings, for others write to the same place."""
        self._files.invalidate_cache()
        return self._files

    def _path(self, path: str) -> str:
        return f"{self._uri.root}/{path}".rstrip("/")

    def _at(self, path: str) -> str:
        return f"{self._uri.location}/{path}"


def _refuse_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


class NoFolder:
    """A folder that keeps nothing."""

    def exists(self, path: str) -> bool:
        return False

    def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)

    def files(self, folder: str) -> list[str]:
        return []

    def write(self, path: str, *parts: Data) -> None:
        """Forget it."""

    def remove(self, path: str) -> None:
        """Nothing to remove."""
