"""Every golden vector of the classic lineage matches, and fastavro, which shares no code, reads those of Avro."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro
import numpy as np
import pytest
from conformance.report import Report
from conformance.run import run_conformance
from conformance.vectors import read_case
from vector_files import VECTORS, load_vector, readable_names, vector_names, vector_path

from ticdc_emit.protocols.names import sanitize

Lines = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def full_run() -> tuple[Report, Lines]:
    """The report of all vectors, and the dump of Avro's variants by case, schemas before messages that use them."""
    stream = io.StringIO()
    report = run_conformance([VECTORS], dump=stream)
    cases: Lines = {}
    for text in stream.getvalue().splitlines():
        if '"variant": "avro' in text:
            line = json.loads(text)
            cases.setdefault(line["case"], []).append(line)
    return report, cases


def test_every_vector_matches(full_run: tuple[Report, Lines]) -> None:
    report, _ = full_run
    assert [f"{each.title}: {each.detail}" for each in report.mismatches] == []
    least = {"avro": 3_100, "canal-json": 3_400, "debezium": 2_800, "simple": 2_400}
    totals = {name: sum(each.total for each in variants.values()) for name, variants in report.protocols().items()}
    assert all(totals[name] >= total for name, total in least.items())
    assert report.registrations.total >= 1_200
    assert report.catalog.total >= 237


def test_every_recorded_route_and_refusal_is_counted(full_run: tuple[Report, Lines]) -> None:
    cases = [load_vector(name) for name in vector_names()]
    routes = [route for case in cases for route in case.get("routes") or []]
    events = sum(len({target["event"] for target in route.get("targets") or []}) for route in routes)
    assert full_run[0].routes.total == sum("config_error" in route for route in routes) + events >= 1_800
    assert sum("config_error" in each for case in cases for each in [*(case["variants"] or ()), *routes]) >= 50


def test_only_what_corrupts_data_is_left_out(full_run: tuple[Report, Lines]) -> None:
    left_out = {what: left.events for what, left in full_run[0].left_out.items() if "not written" not in what}
    ((what, events),) = left_out.items()
    assert what.startswith("rows that TiCDC writes with another table's schema")
    assert events == 2


# -- Avro read by fastavro -------------------------------------------------------------------------------------------


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


def test_fastavro_reads_every_message(full_run: tuple[Report, Lines]) -> None:
    read = 0
    for name in readable_names():
        case = read_case(vector_path(name))
        for event, schemas, key, value in _row_messages(case.events, full_run[1].get(case.name, [])):
            _compare(key, event.get("before") if event["op"] == "delete" else event["after"], schemas)
            assert (value is None) == (event["op"] == "delete")
            _compare(value, event.get("after"), schemas)
            read += 1
    assert read >= 2_000


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
