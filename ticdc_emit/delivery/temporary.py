"""Temporary files: where they cannot be written, the error names their folder and the remedy.

Folders for one user may lie where everybody may write, and so be made by another user or replaced by a link at any
time. So one is opened once, asked whose it is, and its files are opened relative to what was opened.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

from ticdc_emit.errors import TemporaryFileError

OpenFile: TypeAlias = "Callable[[str, str], IO[Any]]"
"""Opens a file of a folder by its name, to read (``rb``) or to write a new one (``wb``)."""

_BINARY = getattr(os, "O_BINARY", 0)  # of Windows
_FLAGS = {"rb": _BINARY | os.O_RDONLY, "wb": _BINARY | os.O_WRONLY | os.O_CREAT | os.O_EXCL}
_OPENS_IN_FOLDERS = os.open in os.supports_dir_fd  # not on Windows, where a temporary folder is its user's own


@contextmanager
def writing_temporary_files() -> Iterator[None]:
    """Raise :class:`~ticdc_emit.errors.TemporaryFileError` for an ``OSError`` of the block."""
    try:
        yield
    except OSError as error:
        folder = None
        with suppress(OSError):  # no folder can be written
            folder = tempfile.gettempdir()
        raise TemporaryFileError(
            f"cannot write a temporary file: {error.strerror or error}",
            remedy="Free space in that folder, or set TMPDIR to a folder with more",
            folder=folder,
        ) from error


def close_quietly(file: IO[bytes]) -> None:
    """Close a temporary file whose content is not needed any more; what it still holds may not fit on the disk."""
    with suppress(OSError):
        file.close()


@contextmanager
def own_folder(path: str, *, creates: bool = False, refuses_others: bool = True) -> Iterator[OpenFile]:
    """Open a folder, and give a function that opens its files; new ones are for this user only.

    ``creates``: make a missing folder, for this user only. ``refuses_others``: raise
    :class:`~ticdc_emit.errors.TemporaryFileError` for a link, a folder of another user and one that others may use.
    """
    if creates:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            Path(path).mkdir(mode=0o700)
    if not _OPENS_IN_FOLDERS:
        yield lambda name, mode: os.fdopen(os.open(Path(path, name), _FLAGS[mode], 0o600), mode)
        return
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | (os.O_NOFOLLOW if refuses_others else 0))
    except OSError as error:
        if refuses_others and error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EACCES):
            raise _not_own(path, "it is a link, a file or a folder of another user") from None
        raise
    try:
        if refuses_others:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid():
                raise _not_own(path, f"it belongs to the user {status.st_uid}, and this is the user {os.geteuid()}")
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise _not_own(path, f"other users may use it (mode {stat.S_IMODE(status.st_mode):04o})")
        yield lambda name, mode: os.fdopen(os.open(name, _FLAGS[mode], 0o600, dir_fd=folder), mode)
    finally:
        os.close(folder)


def _not_own(path: str, why: str) -> TemporaryFileError:
    return TemporaryFileError(
        f"the folder for staged rows is not for this user only: {why}",
        remedy="Remove it, or set stagingUri to a folder where no other user may write",
        folder=path,
    )
