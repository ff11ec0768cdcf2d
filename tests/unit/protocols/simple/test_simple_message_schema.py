"""``schemas/simple_message.avsc`` against what TiCDC wrote: every recorded message reads as its JSON twin does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from simple_messages import MESSAGE_SCHEMA, avro_message
from vector_files import load_vector, vector_names

from ticdc_emit.protocols.simple.encoder import DDL_TYPES, DML_TYPES, Branch, Kind
from ticdc_emit.sql.actions import ACTIONS

KINDS = {"ddl": "DDL", "row": "DML", "watermark": "WATERMARK", "bootstrap": "BOOTSTRAP"}


def recorded(case: Any, variant: str) -> dict[int, bytes]:
    """Return the values of one variant by event."""
    messages = next((each["messages"] for each in case["variants"] or () if each["id"] == variant), None) or ()
    return {
        message["event"]: message["value"]["text"].encode()
        if "text" in message["value"]
        else base64.b64decode(message["value"]["base64"])
        for message in messages
        if message.get("value")
    }


def pairs(case: Any) -> Iterator[tuple[Any, Any, Any]]:
    avro, text = recorded(case, "simple-avro"), recorded(case, "simple-json")
    for index in avro.keys() & text.keys():
        if case["events"][index]["kind"] in KINDS:
            yield case["events"][index], avro[index], json.loads(text[index])


@pytest.mark.parametrize("vector", vector_names())
def test_every_recorded_message_reads_as_its_json_twin(vector: str) -> None:
    case = load_vector(vector)
    for event, value, twin in pairs(case):
        message = avro_message(value)
        assert message["kind"] == KINDS[event["kind"]]
        for name in ("version", "buildTs", "sql", "database", "table", "tableID", "schemaVersion"):
            assert message.get(name) == twin.get(name)
        for name in ("data", "old"):
            shown = message.get(name)
            assert (None if shown is None else set(shown)) == (set(twin[name]) if name in twin else None)
        for name in ("tableSchema", "preTableSchema"):
            assert as_json(message.get(name)) == without_digits(twin.get(name))


def as_json(schema: Any) -> Any:
    """Return a table schema as JSON shows it: without what is empty, the default of a BIT as a number."""
    if schema is None:
        return None
    record = dict(schema[1] if isinstance(schema, tuple) else schema)
    record["schema"] = record.pop("database")
    record["columns"] = [column_as_json(dict(column)) for column in record["columns"]]
    return record


def without_digits(schema: Any) -> Any:
    """Drop ``decimal`` of the types of which Avro shows none: those of a time's fraction."""
    for column in () if schema is None else schema["columns"]:
        if column["dataType"]["mysqlType"] != "decimal":
            column["dataType"].pop("decimal", None)
    return schema


def column_as_json(column: dict[str, Any]) -> dict[str, Any]:
    kind = column["dataType"]
    column["dataType"] = {name: value for name, value in kind.items() if value or name in ("charset", "collate")}
    if kind["mysqlType"] == "bit" and column["default"] is not None:
        column["default"] = int.from_bytes(column["default"].encode(errors="surrogateescape"), "big")
    return column


def test_the_constants_are_places_in_the_schema() -> None:
    records = {each["name"].rpartition(".")[2]: each for each in MESSAGE_SCHEMA}
    fields = {name: {field["name"]: field["type"] for field in record["fields"]} for name, record in records.items()}
    assert [kind.name for kind in Kind] == fields["Message"]["type"]["symbols"]
    assert [name.rpartition(".")[2].upper() for name in fields["Message"]["payload"]] == [kind.name for kind in Kind]
    assert list(DDL_TYPES) == fields["DDL"]["type"]["symbols"]
    assert list(DML_TYPES) == fields["DML"]["type"]["symbols"]
    branches = [name.rpartition(".")[2] for name in fields["DML"]["data"][1]["values"]]
    assert [name.lower() for name in branches] == [branch.name.lower().replace("_", "") for branch in Branch]
    assert {facts.kind for facts in ACTIONS.values()} <= set(DDL_TYPES)
