"""CSV, read: the lines of one row change, or a whole file, with the changefeed's options.

Lines name no columns, so without a table an image is by the place of each field, from ``"0"`` on. Quotes tell text from
NULL; without a ``quote`` nothing does. Escapes that mean two things, such as a backslash and ``n`` where ``n`` is the
delimiter, are read as the delimiter.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from ticdc_emit.columnar.csv_text import written_delimiter
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.switches import CsvSwitches
from ticdc_emit.protocols.canonical_text import Convert, converted, go_float, per_table, raw_text
from ticdc_emit.protocols.consumer_tables import Lookup, Outcome, Tables
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs
from ticdc_emit.protocols.events import OTHER_TABLES, DecodeError, Event, Image, RowEvent, RowOp
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES
from ticdc_emit.tso import MAX_TSO

_OPS: dict[bytes, RowOp] = {b"I": "insert", b"U": "update", b"D": "delete"}
_FLAGS = {b"true": True, b"false": False}
_FIRST_FIELDS = 3
_BREAKS = {b"\\r": b"\r", b"\\n": b"\n", b"\\\\": b"\\"}


class CsvRow(NamedTuple):
    """One line. ``is_update``: it is one half of an update. What the changefeed does not show is ``None``."""

    schema: str
    table: str
    op: RowOp
    values: tuple[bytes | None, ...]
    commit_ts: int | None = None
    is_update: bool | None = None
    handle: str | None = None


class CsvReader(EventReader):
    """Reads the lines of a changefeed. A record is the line of a row, or the two lines of an update; the ``message`` of
    its event is the last :class:`CsvRow`.

    Raises :class:`DecodeError` for options with which lines cannot be told apart: an empty terminator, one that is the
    delimiter or begins with the quote, and, without a quote, one of them that begins with a backslash.
    """

    def __init__(self, options: CodecConfig, switches: CsvSwitches = CsvSwitches()) -> None:
        fault = _fault(options.terminator, options.csv.delimiter, options.csv.quote)
        if fault:
            raise DecodeError(f"{fault}: lines cannot be told apart", remedy="Set another one in the changefeed")
        self._csv = options.csv
        self._converts = per_table(self._convert)
        self._shows_handle = options.csv.output_handle_key and switches.handle_keys == "shown"
        self._quote, self._delimiter, self._end, self._null = (
            text.encode() for text in (options.csv.quote, options.csv.delimiter, options.terminator, options.csv.null)
        )

    def rows(self, data: bytes, *, header: bool = False) -> Iterator[CsvRow]:
        """Yield the rows of whole lines; ``header``: the first line is a header. Raises :class:`DecodeError`."""
        for line in self.lines(data, header=header):
            yield self._row(self._fields(line, 0)[0])

    def lines(self, data: bytes, *, header: bool = False) -> Iterator[bytes]:
        """Yield whole lines, as :meth:`rows` reads them."""
        place = 0
        if header and self._csv.output_field_header:
            place = data.find(self._end) + len(self._end)
            if place < len(self._end):
                raise DecodeError("the file has no header", remedy="Check output-field-header and terminator")
        while place < len(data):
            start = place
            _, place = self._fields(data, start)
            yield data[start:place]

    def _fields(self, data: bytes, place: int) -> tuple[list[bytes | None], int]:
        fields: list[bytes | None] = []
        while True:
            found = self._field.match(data, place)
            if found is None:
                raise DecodeError(f"the line has no end: {data[place : place + 40]!r}")
            enclosed, plain, end = found.groups()
            if enclosed is not None:
                fields.append(enclosed.replace(self._quote * 2, self._quote))
            else:
                fields.append(None if plain == self._null else self._unescaped(plain))
            place = found.end()
            if end == self._end:
                return fields, place

    @cached_property
    def _field(self) -> re.Pattern[bytes]:
        # a delimiter may begin the terminator, so the longer one is tried first; NULL may contain a delimiter
        ends = b"|".join(re.escape(end) for end in sorted((self._end, self._delimiter), key=len, reverse=True))
        null = b"%b(?=%b)" % (re.escape(self._null), ends)
        if self._quote:
            quote = re.escape(self._quote)
            enclosed = b"%b([^%b]*(?:%b%b[^%b]*)*)%b" % ((quote,) * 6)
            return re.compile(b"(?:%b|(%b|(?:(?!%b).)*))(%b)" % (enclosed, null, ends, ends), re.DOTALL)
        escape = b"%b|\\\\." % re.escape(written_delimiter(self._delimiter))
        return re.compile(b"(\\Z.)?(%b|(?:%b|(?!%b).)*)(%b)" % (null, escape, ends, ends), re.DOTALL)

    def _unescaped(self, text: bytes) -> bytes:
        if self._quote or b"\\" not in text:
            return text
        return self._escape.sub(lambda found: _BREAKS.get(found[0], self._delimiter), text)

    @cached_property
    def _escape(self) -> re.Pattern[bytes]:
        return re.compile(re.escape(written_delimiter(self._delimiter)) + rb"|\\[rn\\]")

    def _row(self, fields: Sequence[bytes | None]) -> CsvRow:
        csv = self._csv
        names = _FIRST_FIELDS + csv.include_commit_ts + csv.output_old_value + self._shows_handle
        if len(fields) < names or None in fields[:_FIRST_FIELDS]:
            raise DecodeError(f"the line has {len(fields)} fields, and {names} come before those of the columns")
        shown = iter(fields)
        op, table, schema = (next(shown) or b"" for _ in range(_FIRST_FIELDS))
        if op not in _OPS:
            raise DecodeError(f"{op!r:.40} is not an operation: I, U or D", part="value")
        stamp = _tso(next(shown)) if csv.include_commit_ts else None
        is_update = _flag(next(shown)) if csv.output_old_value else None
        handle = _text(next(shown) or b"") if self._shows_handle else None
        return CsvRow(_text(schema), _text(table), _OPS[op], tuple(shown), stamp, is_update, handle)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        rows = list(self.rows(value or b""))
        match rows:
            case [row]:
                values = _places(row.values)
                before = values if row.op == "delete" else None
                after = None if row.op == "delete" else values
                return RowEvent(row.schema, row.table, row.op, row.commit_ts, before, after, message=row)
            case [old, new] if (old.op, new.op) == ("delete", "insert"):
                before, after = _places(old.values), _places(new.values)
                return RowEvent(new.schema, new.table, "update", new.commit_ts, before, after, message=new)
        raise DecodeError(f"{len(rows)} lines are not one change", part="value")

    def records(self, data: bytes) -> Iterator[bytes]:
        return self.lines(data, header=True)

    def named(self, event: RowEvent, table: TableInfo) -> RowEvent:
        before = None if event.before is None else named_fields(event.before, table)
        after = None if event.after is None else named_fields(event.after, table)
        fits = (before is None) is (event.before is None) and (after is None) is (event.after is None)
        return replace(event, before=before, after=after) if fits else event

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        if table is None:
            return {place: None if value is None else value.decode() for place, value in image.items()}
        named = named_fields(image, table)
        if named is None:
            raise DecodeError(
                f"the line has {len(image)} columns, the table has {len(table.data_columns)}",
                remedy=OTHER_TABLES,
                table=table.full_name,
            )
        return converted(named, self._converts(table), table=event.table)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return CsvTables(catalog, self, zone, lookup)

    def _convert(self, column: Column) -> Convert:
        if column.is_binary and self._csv.binary_encoding_method == "hex":
            return lambda value: raw_text(bytes.fromhex(value.decode()))
        if column.is_binary:
            return lambda value: raw_text(b64decode(value, validate=True))
        if column.type in FLOAT_TYPES:
            return lambda value: go_float(format(Decimal(value.decode()), "f"))
        return bytes.decode

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        return value


def _fault(terminator: str, delimiter: str, quote: str) -> str:
    if not terminator:
        return "the terminator is empty"
    if terminator == delimiter:
        return f"the terminator {terminator!r} is the delimiter, too"
    if quote and terminator.startswith(quote):
        return f"the terminator {terminator!r} begins with the quote, which is doubled in texts"
    for option, text in (("terminator", terminator), ("delimiter", delimiter)):
        if not quote and text.startswith("\\"):
            return f"the {option} {text!r} begins with a backslash, as escapes do where the quote is empty"
    return ""


def _tso(field: bytes | None) -> int:
    if field is None or not field.isdigit() or int(field) > MAX_TSO:
        raise DecodeError(f"{field!r:.40} is not a commit_ts", remedy="Check include-commit-ts")
    return int(field)


def _flag(field: bytes | None) -> bool:
    if field not in _FLAGS:
        raise DecodeError(f"{field!r:.40} is not true or false", remedy="Check output-old-value")
    return _FLAGS[field]


def _text(field: bytes) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError as fault:
        raise DecodeError(f"a field is not UTF-8: {fault}") from fault


class Fields(dict[str, "bytes | None"]):
    """The fields of a line by their places."""


def _places(values: Sequence[bytes | None]) -> Fields:
    return Fields((str(place), value) for place, value in enumerate(values))


def named_fields(image: Image, table: TableInfo) -> Image | None:
    """Return a line's fields by column, unless they have names; ``None`` if the table has more or fewer."""
    if not isinstance(image, Fields):
        return image
    columns = table.data_columns
    if len(columns) != len(image):
        return None
    return {column.name: value for column, value in zip(columns, image.values(), strict=True)}


class CsvTables(Tables):
    """Names the columns of rows by the version of the table at their commit_ts; without that, by the newest one."""

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. A line with more or fewer columns than its table waits for a DDL."""
        version = self._version(event, commit)
        if version is None:
            return super().row(event, commit, place)
        named = self._reader.named(event, version)
        if isinstance(named.after if named.after is not None else named.before, Fields):
            return Outcome.UNKNOWN
        return super().row(named, commit, place)


def make_reader(inputs: ReaderInputs) -> EventReader:
    return CsvReader(inputs.config.codec, inputs.config.release.csv)
