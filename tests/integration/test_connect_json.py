"""Kafka Connect reads what is sent: its JsonConverter with ``schemas.enable=true`` over the Debezium messages.

Every message that TiCDC sent, and every one of random tables, gives the values that the type mapping makes of the input
(``debezium_oracle``), in the types that it says. Where Connect and the bytes do not go together:

- A NULL in a YEAR with a DEFAULT is text in a field of int32; Connect makes 0 of it.
- A NULL in a VARBINARY with a DEFAULT is sent twice; Connect takes the second one, which is not base64.
- A float's -0.0 is printed as ``-0``, which is a whole number to Connect: 0.0.
- The schema has virtual generated columns, the rows have not: NULL, and a NOT NULL one makes the message unreadable.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from debezium_oracle import OracleColumn, connect_type, payload
from debezium_recorded import RecordedDebezium, debezium_messages
from hypothesis import given, settings
from hypothesis_profiles import examples

pytestmark = pytest.mark.integration

Connect = Callable[[Iterable[tuple[bytes, bytes]]], list[dict[str, Any]]]
_TYPES = {"float": "float32", "double": "float64"}


def _bits(typed: list[Any] | None) -> list[Any] | None:
    """Return a value of Connect whose floats compare by their bits."""
    if typed is None or typed[0] not in ("float32", "float64"):
        return typed
    return [typed[0], struct.pack("<f" if typed[0] == "float32" else "<d", typed[1])]


def _expected(column: OracleColumn, value: Any, zone: str) -> list[Any] | None:
    shown = payload(column, value, zone)
    if shown is None:  # a date that is none, say: Connect puts the schema's default in the place of null
        shown = payload(column, None, zone)
    if shown is None:
        return None
    kind = connect_type(column)
    if value is None and column.kind == "year":
        shown = 0
    elif value is None and column.kind == "varbinary":
        shown = column.default
    elif isinstance(shown, float):
        shown += 0.0  # no -0.0
    return _bits([_TYPES.get(kind, kind), shown])


def _check_row(
    made: Mapping[str, Any] | None,
    given: Mapping[str, Any] | None,
    columns: Mapping[str, OracleColumn],
    zone: str,
    absent: set[str],
) -> int:
    """Compare an image, return its number of cells. ``absent``: columns of the schema that the payload lacks."""
    if made is None or given is None:
        assert made is given
        return 0
    for name, typed in made.items():
        found = None if name in absent else _expected(columns[name], given[name], zone)
        assert _bits(typed) == found, name
    return len(made)


def _untyped(made: Any) -> Any:
    """Return a value of Connect as JSON has it."""
    if isinstance(made, dict):
        return {name: _untyped(value) for name, value in made.items()}
    if isinstance(made, list) and (not made or not isinstance(made[0], str)):
        return [_untyped(item) for item in made]
    return None if made is None else made[1]


def _in_schema(made: Any, sent: Any) -> Any:
    """Return what was sent without members that the schema does not have, null for those of it that were not sent."""
    if isinstance(made, dict) and isinstance(sent, dict):
        return {name: _in_schema(value, sent.get(name)) for name, value in made.items()}
    if isinstance(made, list) and isinstance(sent, list):
        return [_in_schema(one, other) for one, other in zip(made, sent, strict=True)]
    return sent


def _refused(message: RecordedDebezium) -> bool:
    """A NOT NULL column that is in the schema, but in no row."""
    virtual = [] if message.table is None else [c for c in message.table["columns"] if c.get("generated") == "virtual"]
    return any("not_null" in (column["flags"] or ()) for column in virtual)


def test_every_recorded_message(connect: Connect) -> None:
    sent = [message for message in debezium_messages() if message.has_schema]
    cells = refused = control = 0
    for message, made in zip(sent, connect((each.key, each.value) for each in sent), strict=True):
        if _refused(message):
            assert re.search(r"Invalid null value for required INT(32|64) field", made["error"])
            refused += 1
            continue
        assert "error" not in made, message
        key, value = (json.loads(part)["payload"] for part in (message.key, message.value))
        event, shown = message.event, _untyped(made["value"])
        envelope = {name: part for name, part in value.items() if name not in ("before", "after")}
        assert {name: shown[name] for name in envelope} == _in_schema(
            {name: shown[name] for name in envelope}, envelope
        )
        assert shown["source"]["ts_ms"] == value["source"]["commit_ts"] >> 18
        if message.table is None:
            assert _untyped(made["key"]) == key
            control += 1
            continue
        columns, zone = message.columns(), message.time_zone
        absent = {name for name in columns if name not in (event["after"] or event["before"])}
        before = event["before"] if message.old_value or event["op"] != "update" else None
        cells += _check_row(made["value"]["before"], before, columns, zone, absent)
        cells += _check_row(made["value"]["after"], event["after"], columns, zone, absent)
        assert set(made["key"]) == set(key)
        _check_row(made["key"], event["after"] or event["before"], columns, zone, set())
    assert len(sent) > 1700
    assert (cells > 7000, control > 500, refused >= 9) == (True, True, True)


def test_every_message_of_random_tables(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "property")
    from debezium_cases import DebeziumCase, debezium_cases

    cases: list[DebeziumCase] = []

    @settings(max_examples=examples(150))
    @given(debezium_cases(has_schema=True))
    def collect(case: DebeziumCase) -> None:
        if not case.refused():
            cases.append(case)

    collect()
    sent = [
        (case, op, row, message)
        for case in cases
        for (op, row), message in zip(case.made.rows, case.messages(), strict=True)
    ]
    cells = 0
    for (case, op, row, _), made in zip(sent, connect(message for *_, message in sent), strict=True):
        assert "error" not in made, case
        columns, zone, image = case.columns(), case.made.zone, case.image(row)
        before = image if op == "d" or (op == "u" and case.old_value) else None
        after = image if op != "d" else None
        cells += _check_row(made["value"]["before"], before, columns, zone, set())
        cells += _check_row(made["value"]["after"], after, columns, zone, set())
        assert set(made["key"]) == set(case.made.key)
        _check_row(made["key"], image, columns, zone, set())
    assert cells > 10 * len(cases) > 100
