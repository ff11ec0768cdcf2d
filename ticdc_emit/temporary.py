"""Temporary files: where they cannot be written, the error names their folder and the remedy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from ticdc_emit.errors import TemporaryFileError

__all__ = ["close_quietly", "writing_temporary_files"]


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
