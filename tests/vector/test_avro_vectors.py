"""Avro messages of all vectors read back by fastavro, an implementation that shares nothing with the encoder."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro
import numpy as np
import pytest
from conformance.vectors import read_case
from vector_files import readable_names, vector_names, vector_path

from ticdc_emit.protocols.names import sanitize


@pytest.fixture(scope="module")
def dumped(full_run: Callable[[str], Any]) -> dict[str, list[dict[str, Any]]]:
    """What the encoder makes of every case: its lines in the dump, schemas before the messages that use them."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for line in full_run("avro").lines:
        cases.setdefault(line["case"], []).append(line)
    return cases


@cache
def parsed(schema: str) -> Any:
    """Parse a schema without its defaults: fastavro takes no whole number as that of a float, TiCDC prints them."""
    record = json.loads(schema)
    for field in record["fields"]:
        field.pop("default", None)
    return fastavro.parse_schema(record)


def decoded(message: bytes, schemas: Mapping[int, Any]) -> dict[str, Any]:
    stream = io.BytesIO(message[5:])
    read = fastavro.schemaless_reader(stream, schemas[int.from_bytes(message[1:5], "big")], None)
    assert stream.read() == b""
    assert isinstance(read, dict)
    return read


def shown(value: Any, read: Any) -> Any:
    """Return a recorded value as what Avro reads back, for the type that was read."""
    if isinstance(value, Mapping):
        return base64.b64decode(value["base64"])
    if isinstance(read, Decimal):
        return Decimal(value)
    if isinstance(value, int) and isinstance(read, bytes):
        return value.to_bytes(max(1, -(-value.bit_length() // 8)), "big")
    if isinstance(value, int) and isinstance(read, str):
        return str(value) if read.isdigit() else read  # BIGINT UNSIGNED; labels are numbers where one of them is empty
    if isinstance(read, float):
        return value if float(value) == read else float(np.float32(value))
    return value - (1 << 64) if isinstance(value, int) and value >> 63 == 1 and read < 0 else value


@pytest.mark.parametrize("name", readable_names())
def test_fastavro_reads_every_message(name: str, dumped: dict[str, list[dict[str, Any]]]) -> None:
    case = read_case(vector_path(name))
    for event, schemas, key, value in _row_messages(case.events, dumped.get(case.name, [])):
        _compare(key, event.get("before") if event["op"] == "delete" else event["after"], schemas)
        assert (value is None) == (event["op"] == "delete")
        _compare(value, event.get("after"), schemas)


def test_rows_of_most_cases_are_read(dumped: dict[str, list[dict[str, Any]]]) -> None:
    read = [
        sum(1 for _ in _row_messages(case.events, dumped.get(case.name, [])))
        for case in map(read_case, map(vector_path, vector_names()))
    ]
    assert sum(read) >= 2_000


def _row_messages(events: Any, lines: list[dict[str, Any]]) -> Iterator[tuple[Any, dict[int, Any], Any, Any]]:
    """Give the messages of rows, each with its event and the schemas that its variant has registered."""
    schemas: dict[str, dict[int, Any]] = {}
    for line in lines:
        known = schemas.setdefault(line["variant"], {})
        if post := line.get("registration"):
            if post["id"] is not None:
                known[post["id"]] = parsed(post["schema"])
        elif line["error"] is None and events[line["event"]]["kind"] == "row":
            key, value = (None if line[part] is None else base64.b64decode(line[part]) for part in ("key", "value"))
            yield events[line["event"]], known, key, value


def _compare(message: bytes | None, image: Mapping[str, Any], schemas: Mapping[int, Any]) -> None:
    if not message:
        return
    row = {sanitize(name): value for name, value in image.items()}
    for name, read in decoded(message, schemas).items():
        if not name.startswith("_tidb_") or name in row:
            assert read == shown(row[name], read), name
