"""Random tables, values and options: what the Simple encoders write, the readers read back, in both encodings.

Schemas come from the messages themselves, as a consumer has them: a BOOTSTRAP shows the table, a row names its version.
"""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from plain_reference import fixed_float
from random_tables import COMMIT_TS, Kind, RandomTable, random_tables

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.protocols import codec_for
from ticdc_emit.protocols.events import DecodeError, RowEvent
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.protocols.simple.values import SimpleChecksum
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

_OPS = {"c": "insert", "u": "update", "d": "delete"}


@dataclass(frozen=True)
class _Case:
    made: RandomTable
    encoding: str
    integrity: bool
    delete_key_only: bool
    build_ts: int | None

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes in order; an update keeps its key and has the columns of the row before it otherwise."""
        found = []
        for place, (op, row) in enumerate(self.made.rows):
            before = {**self.made.rows[place - 1][1], **{name: row[name] for name in self.made.key}}
            images = {"c": (None, row), "u": (before, row), "d": (row, None)}[op]
            found.append({"op": op, "commit_ts": COMMIT_TS + place, "before": images[0], "after": images[1]})
        return found


@st.composite
def _cases(draw: st.DrawFn) -> _Case:
    integrity, delete_key_only = draw(st.booleans()), draw(st.booleans())
    clock = draw(st.none() | st.integers(0, 1 << 42))
    return _Case(draw(random_tables()), draw(st.sampled_from(["json", "avro"])), integrity, delete_key_only, clock)


def _encoder(case: _Case) -> Encoder:
    config = load_changefeed(
        f"memory://topic/?protocol=simple&encoding-format={case.encoding}",
        f"[sink]\ndelete-only-output-handle-key-columns = {str(case.delete_key_only).lower()}\n",
        integrity=case.integrity,
        time_zone=case.made.zone,
    )
    # tables without a key are encoded like all others, whatever option keeps them out
    return Encoder(replace(config, force_replicate=True), case.made.sql, build_ts=case.build_ts)


def _messages(case: _Case, encoder: Encoder) -> list[tuple[bytes, bytes]]:
    def given_form(row: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if row is None else case.made.given(row)

    changes = [
        {**change, "before": given_form(change["before"]), "after": given_form(change["after"])}
        for change in case.changes()
    ]
    made = sorted(encoder.encode(changes).to_pylist(), key=lambda message: message["commit_ts"])
    return [(message["key"], message["value"]) for message in made]


def _text(kind: Kind, plain: Any) -> str | None:
    """Return the canonical text of a plain value."""
    if isinstance(plain, bytes):
        return b64encode(plain).decode()
    if isinstance(plain, float):
        return fixed_float(plain, kind.sql == "float")
    return None if plain is None else str(plain)


def _expected(case: _Case, row: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the row as a reader shows it by its schema."""
    return None if row is None else {n: _text(case.made.kind(n), value) for n, value in case.made.plain(row).items()}


def _reader(case: _Case, encoder: Encoder) -> tuple[SimpleReader, TableInfo]:
    """Return a reader that has seen a BOOTSTRAP, and the table that this shows."""
    (info,) = encoder.catalog.tables()
    message = codec_for(encoder.config).bootstrap(info, 5)
    assert message is not None
    reader = SimpleReader("avro" if case.encoding == "avro" else "json", zone=case.made.zone)
    return reader, reader.read(message.key, message.value).message["tableSchema"]


@settings(max_examples=examples(250))
@given(_cases())
def test_what_went_in_comes_out(case: _Case) -> None:
    encoder = _encoder(case)
    reader, table = _reader(case, encoder)
    messages = _messages(case, encoder)
    assert len(messages) == len(case.made.rows)
    for change, (key, value) in zip(case.changes(), messages, strict=True):
        read = reader.read(key, value)
        assert isinstance(read, RowEvent)
        assert (key, read.op, read.message["tableID"]) == (b"", _OPS[change["op"]], table.id)
        assert (read.schema, read.table) == (case.made.schema, case.made.table)
        assert (read.commit_ts, read.schema_version) == (change["commit_ts"], table.version)
        clock = physical_ms(change["commit_ts"]) if case.build_ts is None else case.build_ts
        assert (read.message["buildTs"], read.handle_key_only, read.claim_check) == (clock, False, None)
        for image in (read.before, read.after):
            assert image is None or list(image) == sorted(image, key=str.encode)
        shown = reader.text(read)
        assert shown.after == _expected(case, change["after"])
        assert shown.before == _expected(case, change["before"])
        current, previous = (0 if row is None else case.made.crc(row) for row in (change["after"], change["before"]))
        sums = SimpleChecksum(2, False, current, previous) if case.integrity and (current or previous) else None
        assert read.message.get("checksum") == sums


@settings(max_examples=examples(150))
@given(random_tables(), st.sampled_from(["json", "avro"]))
def test_schemas_say_what_the_table_is(made: RandomTable, encoding: str) -> None:
    case = _Case(made, encoding, False, False, None)
    encoder = _encoder(case)
    _, shown = _reader(case, encoder)
    assert (shown.schema, shown.name) == (made.schema, made.table)
    assert [column.name for column in shown.columns] == made.names
    for column, clause in zip(encoder.catalog.tables()[0].columns, shown.columns, strict=True):
        kind = made.kind(clause.name).sql
        assert clause.type is column.type
        assert clause.nullable == column.nullable
        assert clause.unsigned == (kind.endswith(" unsigned") or kind.startswith("bit") or kind == "year")
        assert bool(clause.elems) == kind.startswith(("enum", "set"))
        assert (clause.default is not None) == (column.default is not None)
    (primary,) = shown.indexes or [None]
    assert (None if primary is None else set(primary.columns)) == (set(made.key) or None)


@settings(max_examples=examples(300))
@given(_cases(), st.data())
def test_a_changed_byte_is_read_or_refused(case: _Case, data: st.DataObject) -> None:
    """Nothing but DecodeError comes out of a reader, whatever goes in."""
    encoder = _encoder(case)
    reader, table = _reader(case, encoder)
    _, value = data.draw(st.sampled_from(_messages(case, encoder)))
    place = data.draw(st.integers(0, len(value) - 1))
    flipped = bytearray(value)
    flipped[place] ^= data.draw(st.integers(1, 255))
    with suppress(DecodeError):
        read = reader.read(None, bytes(flipped[: data.draw(st.sampled_from([place + 1, len(value)]))]))
        if isinstance(read, RowEvent):
            reader.text(read, table)
