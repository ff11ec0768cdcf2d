"""Golden vector files on disk: finding, naming and reading them.

In: files and folders. Out: paths in the order of their names, and the JSON document of a file, decompressed by its
suffix (``.json``, ``.json.gz``, ``.json.zst``). Files of DDL texts (``.jsonl`` and so on) have one document per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ticdc_emit.errors import TicdcEmitError

__all__ = ["VectorError", "find_vectors", "holds_texts", "read_document", "read_lines", "vector_name"]

SUFFIXES = (".json", ".json.gz", ".json.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst")
TEXT_SUFFIXES = SUFFIXES[3:]


class VectorError(TicdcEmitError, ValueError):
    """``path`` has no vectors, or is not a vector file."""


def find_vectors(paths: Iterable[Path]) -> list[Path]:
    """Return the vector files of files and folders (searched to any depth, in order of their names).

    Raises :class:`VectorError` for a path that does not exist or a folder without any vector file.
    """
    vectors: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*.json*") if file.name.endswith(SUFFIXES) and file.is_file())
        elif path.exists():
            files = [path]
        else:
            raise VectorError(
                "no such file or folder", remedy="Give a vector file, or a folder of them", path=str(path)
            )
        if not files:
            raise VectorError(
                "the folder holds no .json, .json.gz or .json.zst file, nor .jsonl",
                remedy="Give a vector file, or a folder of them",
                path=str(path),
            )
        vectors += files
    return vectors


def vector_name(path: Path) -> str:
    """Return the name of a vector file's case: the file name without its suffixes."""
    endings = (suffix for suffix in reversed(SUFFIXES) if path.name.endswith(suffix))
    return path.name.removesuffix(next(endings, path.suffix))


def holds_texts(path: Path) -> bool:
    """Whether a file has DDL texts, one document per line, and not a case."""
    return path.name.endswith(TEXT_SUFFIXES)


def read_lines(path: Path) -> list[Any]:
    """Return the documents of one file of DDL texts; :class:`VectorError` if it cannot be read or parsed."""
    return [_parsed(line, path) for line in _read(path).splitlines() if line.strip()]


def read_document(path: Path) -> Any:
    """Return the JSON document of one file; :class:`VectorError` if it cannot be read, decompressed or parsed."""
    return _parsed(_read(path), path)


def _read(path: Path) -> bytes:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            data: bytes = stream.read()
    except (OSError, ValueError, pa.ArrowException) as fault:
        raise _no_vector_file(fault, path) from fault
    return data


def _parsed(data: bytes, path: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise _no_vector_file(fault, path) from fault


def _no_vector_file(fault: Exception, path: Path) -> VectorError:
    return VectorError(
        f"not a vector file: {type(fault).__name__}: {fault}", remedy="Give a file as in tests/vectors", path=str(path)
    )
