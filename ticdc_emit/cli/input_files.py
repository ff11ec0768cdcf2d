"""The files of ``emit``: found on this machine or in an object store, and read as Arrow batches. Files of ``replay``,
which Spark reads, are only looked for.

- CSV and JSON lines become text, because inferred types would turn ``12345678901234567.89`` into a double.
- CSV is that of RFC 4180 with a header: an empty field is NULL, ``""`` is the empty text, and empty lines are skipped.
- Of a JSON object on each line, a number keeps its digits, and a nested value the text that it has in the file. In a
  row with ``op``, the objects ``before`` and ``after`` are structs of such members.
- The files of a folder may differ in their columns; those of folders ``name=value`` are columns of text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pyarrow import fs

from ticdc_emit.config.secrets import foreign_text, mask_text
from ticdc_emit.delivery.temporary import writing_temporary_files
from ticdc_emit.errors import ConfigError

FORMATS = ("parquet", "arrow", "csv", "json")
STDIN = "-"
IMAGES = ("before", "after")
"""The members of a JSON row with ``op`` that are read as structs."""

_BATCH_ROWS = 10_000
_BATCH_BYTES = 8 * 1024 * 1024
_BLOCK_BYTES = 32 * 1024 * 1024  # a CSV row must fit in it
_PIECE_BYTES = 64 * 1024 * 1024
_MOST_FILES = 100
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # one letter is a drive
_ONLY_SPARK_KNOWS = re.compile(r"[\[{\\,]")
_ONLY_SPARK_OPENS = ("hdfs", "viewfs", "webhdfs", "swebhdfs", "har")
_ARROW = re.compile(r"\.(arrow|arrows|ipc|feather)$", re.IGNORECASE)
_ARROW_FILE = b"ARROW1"
_FIRST_BYTES = {b"PAR1": "parquet", _ARROW_FILE: "arrow", b"\xff\xff\xff\xff": "arrow"}
_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4|br)$", re.IGNORECASE)


@dataclass(frozen=True)
class InputFile:
    """``size``: in bytes. ``folders``: names and values of the folders ``name=value`` that it is in."""

    path: str
    size: int
    folders: tuple[tuple[str, str | None], ...] = ()

    @property
    def whole(self) -> Piece:
        return Piece(self)


@dataclass(frozen=True)
class Piece:
    """A file, or its row groups, or its JSON lines that begin in a range of bytes. ``stop``: None for its end."""

    file: InputFile
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class InputFiles:
    """What is at one path. ``roots``: files with their sizes, folders with ``None``. Reading raises ``ConfigError``."""

    filesystem: fs.FileSystem
    roots: tuple[tuple[str, int | None], ...]

    @cached_property
    def files(self) -> tuple[InputFile, ...]:
        """The files, of folders all but hidden ones. Raises :class:`ConfigError` for a folder that cannot be listed."""
        try:
            return tuple(file for root in self.roots for file in _files_in(self.filesystem, *root))
        except OSError as fault:
            _refuse(str(fault), self.roots[0][0])

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def layout(self, file_format: str) -> tuple[pa.Schema, list[Piece]]:
        """Return the columns of all files, none for JSON, and their parts. Each footer or header is read once."""
        schemas: list[pa.Schema] = []
        pieces: list[Piece] = []
        for file in self.files:
            if file_format == "parquet":
                opened = self._parquet(file)
                schemas.append(_with_folders(pa.RecordBatch.from_pylist([], opened.schema_arrow), file).schema)
                pieces += _row_groups(file, opened.metadata)
            elif file_format == "arrow":
                schemas.append(_with_folders(self._arrow(file).schema.empty_table(), file).schema)
                pieces.append(file.whole)
            elif file_format == "csv":
                schemas.append(_with_folders(_no_rows(self._header(file)), file).schema)
                pieces.append(file.whole)
            else:
                pieces += [file.whole] if _COMPRESSED.search(file.path) else _line_ranges(file)
        return unified(schemas), pieces

    def read(self, piece: Piece, file_format: str, *, nested: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece; each batch has the columns of its rows. ``nested``: JSON may have images."""
        file = piece.file
        if file_format == "parquet":
            batches = self._parquet_rows(piece)
        elif file_format == "arrow":
            batches = self._arrow_rows(file)
        elif file_format == "csv":
            batches = self._csv_rows(file)
        else:
            batches = (json_batch(lines, nested=nested, path=file.path) for lines in self._lines(piece))
        try:
            for batch in batches:
                yield _with_folders(batch, file)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as fault:
            _refuse(str(fault), file.path)

    def _parquet(self, file: InputFile) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self.filesystem.open_input_file(file.path), coerce_int96_timestamp_unit="us")
        except (pa.ArrowException, OSError) as fault:
            _refuse(str(fault), file.path)

    def _parquet_rows(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        file = self._parquet(piece.file)
        groups = range(piece.start, file.num_row_groups if piece.stop is None else piece.stop)
        yield from file.iter_batches(_BATCH_ROWS, row_groups=groups)

    def _arrow(self, file: InputFile) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
        try:
            opened = self.filesystem.open_input_file(file.path)
            is_file = opened.read(len(_ARROW_FILE)) == _ARROW_FILE
            opened.seek(0)
            return pa.ipc.open_file(opened) if is_file else pa.ipc.open_stream(opened)
        except (pa.ArrowException, OSError) as fault:
            _refuse(str(fault), file.path)

    def _arrow_rows(self, file: InputFile) -> Iterator[pa.RecordBatch]:
        opened = self._arrow(file)
        yield pa.RecordBatch.from_pylist([], opened.schema)
        if isinstance(opened, pa.ipc.RecordBatchStreamReader):
            yield from opened
        else:
            yield from map(opened.get_batch, range(opened.num_record_batches))

    def _header(self, file: InputFile) -> list[str]:
        try:
            with self.filesystem.open_input_stream(file.path) as stream:
                names = next(csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), strict=True), [])
        except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as fault:
            _refuse(str(fault), file.path)
        if not all(names) or len(set(names)) < len(names):
            _refuse("its header has a column without a name, or two columns of one name", file.path)
        return names

    def _csv_rows(self, file: InputFile) -> Iterator[pa.RecordBatch]:
        names = self._header(file)
        if not names:
            return
        yield _no_rows(names)
        with self.filesystem.open_input_stream(file.path) as stream:
            quotes = _Quotes(stream)
            try:
                reader = pa_csv.open_csv(
                    quotes,
                    pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
                    pa_csv.ParseOptions(newlines_in_values=True),
                    pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.string()),
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                        null_values=[""],
                    ),
                )
            except pa.ArrowInvalid as fault:
                if "cannot infer number of columns" in str(fault):  # a header and no row
                    return
                raise
            yield from reader
        if quotes.count % 2:
            _refuse("a quoted field has no end", file.path)

    def _lines(self, piece: Piece) -> Iterator[list[bytes]]:
        path, whole = piece.file.path, piece == piece.file.whole
        opened = self.filesystem.open_input_stream(path) if whole else self.filesystem.open_input_file(path)
        with opened as file:
            at = piece.start
            if at:
                file.seek(at - 1)
            lines = io.BufferedReader(file, _BATCH_BYTES)
            if at:
                at += len(lines.readline()) - 1
            some: list[bytes] = []
            held = 0
            for line in lines:
                if piece.stop is not None and at >= piece.stop:
                    break
                at += len(line)
                held += len(line)
                some.append(line)
                if len(some) == _BATCH_ROWS or held > _BATCH_BYTES:
                    yield some
                    some, held = [], 0
            yield some


def unified(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return all columns of the schemas, each with a type that holds its values. Raises :class:`ConfigError`."""
    try:
        return pa.unify_schemas(schemas, promote_options="permissive") if schemas else pa.schema([])
    except pa.ArrowException as fault:
        raise ConfigError(
            f"the files of the input do not fit together: {fault}",
            remedy="Give a column the same type in all files",
            option="input",
        ) from None


def _row_groups(file: InputFile, footer: pq.FileMetaData) -> Iterator[Piece]:
    start = held = 0
    for group in range(footer.num_row_groups):
        held += footer.row_group(group).total_byte_size
        if held >= _PIECE_BYTES or group == footer.num_row_groups - 1:
            yield Piece(file, start, group + 1)
            start, held = group + 1, 0


def _line_ranges(file: InputFile) -> Iterator[Piece]:
    for start in range(0, file.size, _PIECE_BYTES):
        stop = start + _PIECE_BYTES
        yield Piece(file, start, stop if stop < file.size else None)


def _no_rows(names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], pa.schema([(name, pa.string()) for name in names]))


def _with_folders(batch: pa.RecordBatch, file: InputFile) -> pa.RecordBatch:
    for name, value in file.folders:
        if name not in batch.schema.names:
            batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
    return batch


class _Quotes(io.RawIOBase):
    """A stream that counts its quotes: in RFC 4180 their number is even."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self.count += data.count(b'"')
        return data


def format_by_name(path: str) -> str | None:
    """Return ``arrow`` for the name of an Arrow IPC file or stream; ``None`` for any other."""
    return "arrow" if _ARROW.search(path) else None


def files_of_stdin(stack: ExitStack) -> InputFiles:
    """Return all of standard input as a temporary file that ends with the stack. Raises :class:`ConfigError`."""
    with writing_temporary_files():
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True))
        path = Path(folder, "stdin")
        with path.open("wb") as file:
            if sys.stdin is not None:
                shutil.copyfileobj(sys.stdin.buffer, file, _BATCH_BYTES)
    size = path.stat().st_size
    if not size:
        raise ConfigError(
            "standard input is empty", remedy="Pipe rows into the command, or give --input PATH", option="input"
        )
    return InputFiles(fs.LocalFileSystem(), ((path.as_posix(), size),))


def format_by_content(files: InputFiles) -> str:
    """Return the format of the only file by its first bytes: that of Parquet or Arrow, else JSON lines or CSV."""
    with files.filesystem.open_input_stream(files.files[0].path) as file:
        start = file.read(64)
    known = next((name for magic, name in _FIRST_BYTES.items() if start.startswith(magic)), None)
    return known or ("json" if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "csv")


def find_files(path: str, spark: Mapping[str, str], *, remote: bool = True) -> InputFiles | None:
    """Return the files at a path, of folders all but hidden ones; ``None`` if only Spark, with its settings, can."""
    located = _file_system(path, spark, remote=remote)
    if located is None:
        return None
    filesystem, pattern = located
    try:
        found = _matching(filesystem, pattern)
        roots = tuple((info.path, info.size) for info in found if info.type != fs.FileType.NotFound)
        return InputFiles(filesystem, roots)
    except OSError as fault:
        _refuse(str(fault), path)


def _file_system(path: str, spark: Mapping[str, str], *, remote: bool) -> tuple[fs.FileSystem, str] | None:
    if _ONLY_SPARK_KNOWS.search(path):
        return None
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1].lower() != "file":
        if not remote or spark or scheme[1].lower() in _ONLY_SPARK_OPENS:
            return None
        return _remote_file_system(re.sub("^s3[an]:", "s3:", path))
    if scheme is not None:
        path = unquote(re.sub(r"^file:(//[^/]*)?(?=/)", "", path))
    elif any("defaultFS" in name or "fs.default.name" in name for name in spark):
        return None
    return fs.LocalFileSystem(), Path(path).absolute().as_posix()


def _remote_file_system(uri: str) -> tuple[fs.FileSystem, str] | None:
    base = uri.partition("*")[0].rpartition("/")[0] if "*" in uri else uri
    try:
        filesystem, found = fs.FileSystem.from_uri(base)
        return filesystem, found + uri.removeprefix(base)
    except (pa.ArrowException, OSError, ValueError):
        pass  # a scheme that pyarrow does not know
    try:
        import fsspec

        opened, path = fsspec.core.url_to_fs(uri)
    except (ImportError, ValueError):  # fsspec, or what it needs for the scheme, is not installed
        return None
    return fs.PyFileSystem(fs.FSSpecHandler(opened)), path


def _matching(filesystem: fs.FileSystem, pattern: str) -> list[fs.FileInfo]:
    """Return what a pattern names. A ``*`` does not match a hidden name, as in a shell."""
    found = [""]
    for depth, part in enumerate(pattern.split("/")):
        if not re.search(r"[*?]", part):
            found = [part if not depth else f"{base}/{part}" for base in found]
            continue
        below = [
            info for base in found for info in filesystem.get_file_info(fs.FileSelector(base, allow_not_found=True))
        ]
        found = sorted(
            info.path for info in below if fnmatchcase(info.base_name, part) and not info.base_name.startswith(".")
        )
    return list(filesystem.get_file_info(found)) if found else []


def _files_in(filesystem: fs.FileSystem, root: str, size: int | None) -> Iterator[InputFile]:
    if size is not None:
        yield InputFile(root, size)
        return
    below = filesystem.get_file_info(fs.FileSelector(root, recursive=True))
    for info in sorted(below, key=lambda info: info.path):
        if info.type != fs.FileType.File:
            continue
        *folders, name = info.path[len(root) :].strip("/").split("/")
        named = tuple(_folder(each) for each in folders if "=" in each)
        hidden = any(each[0] in "._" and "=" not in each for each in folders) or name[0] in "._"
        if not hidden:
            yield InputFile(info.path, info.size, named)


def _folder(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    return unquote(name), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def check_readable(path: str, option: str, files: InputFiles | None) -> None:
    """Raise :class:`ConfigError` for a path at which there is nothing. ``option``: the option with the path."""
    if files is not None and not files.roots:
        raise ConfigError(
            f"there is no file or folder {mask_text(path)}",
            remedy=f"Check the path; a relative one begins at {Path.cwd()}",
            option=option,
        )


def columns_of(files: InputFiles | None, source_format: str | None) -> list[str] | None:
    """Return the columns of Parquet or CSV files and their folders, ``None`` for many and if only Spark can tell."""
    if files is None or source_format not in ("parquet", "csv"):
        return None
    try:
        return list(files.layout(source_format)[0].names) if 0 < len(files.files) <= _MOST_FILES else None
    except ConfigError:
        return None


def json_batch(lines: Sequence[bytes], *, nested: bool, path: str) -> pa.RecordBatch:
    """Return JSON lines as columns of text, images as structs of text if ``nested``. Raises :class:`ConfigError`."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        try:
            text = line.decode("utf-8-sig").strip(" \t\r\n")
            if text:
                rows.append(_row(text, nested=nested))
        except (ValueError, RecursionError) as fault:
            shown = line[:80].decode("utf-8", "replace").strip()
            _refuse(f"a line is not a JSON object: {fault}: {shown}", path)
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.RecordBatch.from_arrays([_column([row.get(name) for row in rows], name) for name in names], list(names))


def _column(values: list[Any], name: str) -> pa.Array:
    if name in IMAGES and not any(values):  # of deletes, or of inserts, alone
        return pa.nulls(len(values))
    if not any(isinstance(value, dict) for value in values):
        return pa.array(values, pa.string())
    names = dict.fromkeys(name for value in values if value is not None for name in value)
    return pa.array(values, pa.struct([(name, pa.string()) for name in names]))


def _row(text: str, *, nested: bool) -> dict[str, Any]:
    row = _members(text)
    if nested and "op" in row:
        for name in IMAGES:
            if row.get(name) is not None:
                row[name] = _members(row[name])
    return row


def _members(text: str) -> dict[str, Any]:
    """Return the members of a JSON object, each as text. Raises ``ValueError`` for other text."""
    row = _DECODER.decode(text)
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    if all(value is None or isinstance(value, str) for value in row.values()):
        return row
    members: dict[str, Any] = {}
    at = _SPACE.match(text, 1).end()  # type: ignore[union-attr]  # it matches nothing, too
    while text[at] != "}":
        name, at = scanstring(text, at + 1, True)
        at = _COLON.match(text, at).end()  # type: ignore[union-attr]  # the decoder has read it
        value, end = _DECODER.raw_decode(text, at)
        members[name] = value if value is None or isinstance(value, str) else text[at:end]
        at = _COMMA.match(text, end).end()  # type: ignore[union-attr]
    return members


_SPACE = re.compile(r"[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)


def _refuse(cause: str, path: str) -> NoReturn:
    raise ConfigError(
        f"the input cannot be read: {foreign_text(cause)}",
        remedy="Check the file, and --format if its name does not show the format",
        option="input",
        path=mask_text(path),
    ) from None
