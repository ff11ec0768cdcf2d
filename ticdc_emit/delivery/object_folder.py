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
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from ticdc_emit.delivery.object_storage import ObjectStorage
from ticdc_emit.storage.folder import Data, MemoryFolder

T = TypeVar("T")


class ObjectFolder:
    """A :class:`~ticdc_emit.storage.folder.Folder` under a storage URI. Used by one thread."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._uri = storage.storage

    @cached_property
    def _files(self) -> Any:
        return self._storage.files()

    def exists(self, path: str) -> bool:
        return self._ask(_is_file, "cannot look for a file", path)

    def read(self, path: str) -> bytes:
        content: bytes = self._ask(lambda files, whole: files.cat_file(whole), "cannot read a file", path)
        return content

    def files(self, folder: str) -> list[str]:
        found = self._ask(self._below, "cannot list files", folder)
        first = len(self._path("")) + 1
        return sorted(path[first:] for path in found)

    def write(self, path: str, *parts: Data) -> None:
        self._storage.put({self._path(path): parts}, f"cannot write {path}")

    def _below(self, files: Any, path: str) -> list[str]:
        if self._uri.kind == "file":
            walk = os.walk(path or "/", onerror=_refuse_unless_missing)
            return [f"{folder.rstrip('/')}/{name}" for folder, _, names in walk for name in names]
        return list(files.find(path))

    def _ask(self, request: Callable[[Any, str], T], failure: str, path: str) -> T:
        """Return what a request gives: a function of the file system, which remembers no listings because others write
        to the same place, and the path in it.
        """
        files, whole = self._files, self._path(path)
        files.invalidate_cache()
        return self._storage.attempt(lambda: request(files, whole), failure, f"{self._uri.location}/{path}")

    def _path(self, path: str) -> str:
        return f"{self._uri.root}/{path}".rstrip("/")


def _is_file(files: Any, path: str) -> bool:
    try:
        return bool(files.info(path)["type"] == "file")
    except FileNotFoundError:
        return False


def _refuse_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


class NoFolder(MemoryFolder):
    """A folder that keeps nothing."""

    def write(self, path: str, *parts: Data) -> None:
        """Forget it."""
