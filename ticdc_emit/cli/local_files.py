"""The local files that a command reads, found without Spark, which takes seconds to start.

In: a path or pattern as Spark takes it. Out: the files, their size, the names of their columns, or an error. It knows
paths on this machine, without a scheme or with ``file:``, and patterns of ``*`` and ``?``.
"""

from __future__ import annotations

import csv
import glob
import math
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.errors import ConfigError

__all__ = ["check_readable", "columns_at", "files_at", "local_size"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # one letter is a drive
_MOST_FILES = 100
_ONLY_SPARK_KNOWS = re.compile(r"[\[{\\,]")


def check_readable(path: str, option: str, spark: Mapping[str, str]) -> None:
    """Raise :class:`ConfigError` for a local path or pattern without a file or folder.

    ``option``: the option with the path. ``spark``: further settings of Spark, which may set another default file
    system.
    """
    paths = files_at(path, spark)
    if paths is not None and not paths:
        raise ConfigError(
            f"there is no file or folder {mask_text(path)}",
            remedy=f"Check the path; a relative one begins at {Path.cwd()}",
            option=option,
        )


def local_size(path: str, spark: Mapping[str, str]) -> float:
    """Return the total size in bytes of the files at a local path or pattern; infinity if only Spark can find them."""
    paths = files_at(path, spark)
    if paths is None:
        return math.inf
    files = (file for each in paths for file in ([each] if each.is_file() else each.rglob("*")))
    try:
        return sum(file.stat().st_size for file in files)
    except OSError:
        return math.inf


def columns_at(path: str, source_format: str | None, spark: Mapping[str, str]) -> list[str] | None:
    """Return the columns of the Parquet or CSV files at a path, and those that their folders are named by.

    ``None`` if only Spark can tell, or if there are many files.
    """
    paths = files_at(path, spark)
    if not paths or source_format not in ("parquet", "csv"):
        return None
    names: dict[str, None] = {}
    try:
        for root in paths:
            nested = [root] if root.is_file() else [each for each in root.rglob("*") if each.is_file()]
            files = [each for each in nested if each.name[0] not in "._"]
            if not files or len(files) > _MOST_FILES:
                return None
            for file in files:
                folders = file.relative_to(root).parts[:-1]
                names |= dict.fromkeys(_header(file, source_format))
                names |= dict.fromkeys(unquote(folder.partition("=")[0]) for folder in folders if "=" in folder)
    except (OSError, ValueError, pa.ArrowException):
        return None
    return list(names)


def _header(file: Path, source_format: str) -> list[str]:
    if source_format == "parquet":
        return list(pq.read_schema(file).names)
    if file.suffix.lower() != ".csv":
        raise ValueError("compressed")
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines), [])


def files_at(path: str, spark: Mapping[str, str]) -> list[Path] | None:
    """Return the files and folders at a path; ``None`` if only Spark can find them."""
    scheme = _SCHEME.match(path)
    if scheme is not None:
        if scheme[1].lower() != "file":
            return None
        path = unquote(re.sub(r"^file:(//[^/]*)?(?=/)", "", path))
    elif any("defaultFS" in name or "fs.default.name" in name for name in spark):
        return None
    if _ONLY_SPARK_KNOWS.search(path):
        return None
    named = glob.glob(path) if re.search(r"[*?]", path) else [path]  # noqa: PTH207 - any pattern
    return [Path(each) for each in named if Path(each).exists()]
