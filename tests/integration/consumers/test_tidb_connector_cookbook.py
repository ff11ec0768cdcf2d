"""What Debezium's TiDB connector does with a message: docs/cookbook.md#tidb-connector.

Maven Central does not have the connector. It decodes keys and values with Kafka Connect's JsonConverter, which is here
the real one, and takes operation, database, table and commit_ts from the JSON. That is done here as its parser does it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from comparison import Comparison, compared
from cookbook_data import KEYS, TIME_ZONE, data_set
from page_blocks import page_table
from wire_values import debezium, shaped

from ticdc_emit.traffic.history import History

pytestmark = [pytest.mark.integration, pytest.mark.slow]

Connect = Callable[[Iterable[tuple[bytes, bytes]]], list[dict[str, Any]]]
URI = "memory://tidb-connector?protocol=debezium&partition-num=1"
_ROWS = ("c", "u", "d", "r")
_AT = 450_000_000_262_144_000


def _taken(value: bytes | None) -> dict[str, Any] | None:
    """Return the payload of a message that the connector passes on: not DDL, watermarks and tombstones."""
    if value is None:
        return None
    message = json.loads(value)
    assert message.keys() >= {"schema", "payload"}, "has no schema/payload envelope"
    payload: dict[str, Any] = message["payload"]
    return payload if payload.get("op") in _ROWS else None


def _untyped(image: dict[str, Any] | None) -> dict[str, Any] | None:
    return image and {name: None if value is None else value[1] for name, value in image.items()}


def _exact(kind: str, text: str) -> Any:
    return text if kind.startswith("decimal") or kind == "bigint unsigned" else debezium(kind, text)


_PLAIN, _EXTENDED = "", "&enable-tidb-extension=true"
_EXACT = "&debezium-decimal-handling-mode=string&debezium-bigint-unsigned-handling-mode=string"


@pytest.mark.parametrize(
    ("release", "options"),
    [("classic", _PLAIN), ("classic", _EXTENDED), ("next", _PLAIN), ("next", _EXTENDED), ("master", _EXACT)],
)
def test_it_reads_every_row(connect: Connect, release: str, options: str) -> None:
    data = data_set()
    sent = History(data.schema, data.rows, data.ddl, time_zone=TIME_ZONE).messages(URI + options, release=release)
    rows = [(each, payload) for each in sent if (payload := _taken(each.value)) is not None]
    assert len(rows) < len(sent)  # the others are DDL and watermarks
    read: dict[str, dict[Any, dict[str, Any]]] = {table: {} for table in KEYS}
    made = connect((each.key or b"", each.value or b"") for each, _ in rows)
    for (_, payload), event in zip(rows, made, strict=True):
        assert "error" not in event
        source = payload["source"]
        assert (source["db"], source["commit_ts"] >> 18) == ("shop", source["ts_ms"])
        key = tuple(str(value) for value in (_untyped(event["key"]) or {}).values())
        after = _untyped(event["value"]["after"])
        if after is None:
            del read[source["table"]][key]
        else:
            read[source["table"]][key] = after
    total, shape = Comparison(0, 0, ()), _exact if options == _EXACT else debezium
    for table, expected in data.tables(defaults=False).items():
        missing_columns = {name: None for row in expected.values() for name in row}
        found = {key: missing_columns | row for key, row in read[table].items()}
        total += compared(table, shaped(table, expected, shape), found)
    assert (total.rows, total.values, total.differences) == (1_104, 8_726, ())


@pytest.mark.parametrize(
    ("release", "column", "row"),
    [
        ("next", "a virtual generated column", "b int as (id + 1)"),
        ("classic", "a virtual generated column that is NOT NULL", "b int as (id + 1) not null"),
    ],
)
def test_virtual_columns_stop_it(connect: Connect, release: str, column: str, row: str) -> None:
    change = {"schema": "shop", "table": "t", "op": "c", "commit_ts": _AT, "before": None, "after": {"id": "1"}}
    (sent,) = [
        each
        for each in History(f"create table shop.t (id int primary key, {row})", [change]).messages(URI, release=release)
        if _taken(each.value)
    ]
    (made,) = connect([(sent.key or b"", sent.value or b"")])
    told = page_table("tidb-connector", "what")[column]
    assert told["release"] == f"`{release}`"
    assert told["message"].strip("`") in made["error"]


def test_a_nullable_virtual_column_of_classic_is_null(connect: Connect) -> None:
    change = {"schema": "shop", "table": "t", "op": "c", "commit_ts": _AT, "before": None, "after": {"id": "1"}}
    sent = History("create table shop.t (id int primary key, b int as (id + 1))", [change]).messages(URI)
    (made,) = connect((each.key or b"", each.value or b"") for each in sent if _taken(each.value))
    assert _untyped(made["value"]["after"]) == {"id": 1, "b": None}


def test_messages_without_schemas_stop_it() -> None:
    change = {"schema": "shop", "table": "t", "op": "c", "commit_ts": _AT, "before": None, "after": {"id": "1"}}
    sent = History("create table shop.t (id int primary key)", [change]).messages(f"{URI}&debezium-disable-schema=true")
    told = page_table("tidb-connector", "what")["`debezium-disable-schema`"]["message"].strip("`")
    with pytest.raises(AssertionError, match=told):
        _taken(sent[-1].value)
