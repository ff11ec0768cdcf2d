"""The local files that a command reads, found and read without Spark, which takes seconds to start.

In: a path or pattern as Spark takes it: paths on this machine, without a scheme or with ``file:``, and patterns of
``*`` and ``?``. Out: the files, their size, the names of their columns, or an error.

CSV and JSON lines become columns of text; nested JSON is the text in the file. A :class:`NeedsSparkError` for all that
Spark reads in its own way or refuses: CSV that is not plain RFC 4180, JSON that is not one object per line. Rule
source: Spark's CSV reader (univocity) and JSON reader (Jackson) with the options of ``traffic/replay/sources.py``,
which ``tests/unit/cli/test_input_data.py`` compares.
"""

from __future__ import annotations

import csv
import glob
import json
import math
import re
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.errors import ConfigError

__all__ = [
    "Columns",
    "NeedsSparkError",
    "check_readable",
    "columns_at",
    "csv_columns",
    "files_at",
    "json_columns",
    "local_size",
]


class NeedsSparkError(Exception):
    """Only Spark reads this; the message is the reason. No user sees it: the caller uses Spark instead."""


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


Columns = dict[str, list[Any]]
"""Values by column: text, ``None`` for NULL, or a mapping of these for a nested object."""

_FIELD = re.compile(r'(?:"((?:[^"\r]|"")*)"|([^",\r\n]*))(,|\r?\n|\Z)')
_ODD_SIGN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufeff]")
_MOST_COLUMNS = 4_000
_SPACE = re.compile(r"[ \t]*")


def csv_columns(files: Sequence[Path]) -> Columns:
    """Return the columns of CSV files that have the same header; an empty field is NULL, ``""`` is empty text."""
    header: list[str] | None = None
    rows: list[list[str | None]] = []
    for file in files:
        records = _records(file)
        if not records or not all(records[0]) or header not in (None, records[0]):
            raise NeedsSparkError("CSV without a header, or with several")
        header = [str(name) for name in records[0]]
        rows += records[1:]
    if header is None or len({name.lower() for name in header}) < len(header) or len(header) > _MOST_COLUMNS:
        raise NeedsSparkError("no columns, two of one name, or very many")
    if any(len(row) != len(header) for row in rows):
        raise NeedsSparkError("a line with fewer or more fields than the header")
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def _records(file: Path) -> list[list[str | None]]:
    text = _text(file)
    if _ODD_SIGN.search(text):
        raise NeedsSparkError("a control character")
    records: list[list[str | None]] = []
    record: list[str | None] = []
    ends: set[str] = set()
    at = 0
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise NeedsSparkError("CSV that is not RFC 4180")
        quoted, plain, end = match.groups()
        record.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        at = match.end()
        if end == ",":
            if at == len(text):
                record.append(None)
            continue
        if record == [None] and plain is not None:  # Spark passes over it
            raise NeedsSparkError("an empty line")
        records.append(record)
        record = []
        ends.add(end)
    if record:
        records.append(record)
    if {"\n", "\r\n"} <= ends:
        raise NeedsSparkError("two kinds of line ends")
    return records


def json_columns(files: Sequence[Path], nested: Sequence[str]) -> Columns:
    """Return the columns of files with a JSON object on each line. Objects in the columns ``nested`` are mappings."""
    rows: list[dict[str, Any]] = []
    for file in files:
        text = _text(file)
        if text.startswith("\ufeff") or "\r" in text.replace("\r\n", ""):
            raise NeedsSparkError("a byte order mark, or a carriage return alone")
        for line in text.split("\n"):
            content = line.strip(" \t\r")
            if not content:
                continue
            try:
                row, end = _object(content, 0, nested)
            except (ValueError, RecursionError) as fault:
                raise NeedsSparkError(f"JSON that is not plain: {fault}") from None
            if end != len(content):
                raise NeedsSparkError("a line with more than one object")
            rows.append(row)
    names = sorted({name for row in rows for name in row})
    if len({name.lower() for name in names}) < len(names):
        raise NeedsSparkError("two columns of one name")
    return {name: [row.get(name) for row in rows] for name in names}


def _object(text: str, at: int, nested: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Read the members of an object, each as text; raise ``ValueError`` for what is not one, or has a name twice."""
    members: dict[str, Any] = {}
    at = _past(text, at, "{")
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        name, at = scanstring(text, _past(text, at, '"', spaced=False), True)
        at = _past(text, at, ":")
        if name in members:
            raise ValueError(name)
        if name in nested and text[at : at + 1] == "{":
            members[name], at = _object(text, at, ())
        else:
            value, end = _DECODER.raw_decode(text, at)
            if name in nested and value is not None:
                raise ValueError(name)
            members[name] = value if value is None or isinstance(value, str) else text[at:end]
            at = end
        at = _spaced(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1
        at = _past(text, at, ",")


def _past(text: str, at: int, sign: str, *, spaced: bool = True) -> int:
    at = _spaced(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign} was expected")
    return _spaced(text, at + 1) if spaced else at + 1


def _spaced(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as fault:
        raise NeedsSparkError(str(fault)) from None
