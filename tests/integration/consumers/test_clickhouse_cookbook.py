"""ClickHouse (as chDB) reads Canal-JSON and Avro: docs/cookbook.md#clickhouse.

chDB has ClickHouse's formats and tables, but not its Kafka engine. So the messages of a topic are written to a file,
and go from there into the page's table, of the engine Null; materialized views see them as they see those of Kafka.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from apicurio import Apicurio
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_send import Measured, Send
from embedded_clickhouse import ClickHouse
from page_blocks import REGISTRY, page_block
from wire_values import avro, canal, kind_of, shaped

from ticdc_emit.delivery.kafka_reader import stream_topics

pytestmark = [pytest.mark.integration, pytest.mark.slow]

_KAFKA = re.compile(r"ENGINE = Kafka SETTINGS\s+([^;]*);")


def _written(path: Path, bootstrap: str, topic: str, end: bytes) -> Path:
    values = [message.value for message in stream_topics({"bootstrap.servers": bootstrap}, [topic])]
    path.write_bytes(b"".join(value + end for value in values if value is not None))
    return path


def test_canal_json(send: Send, clickhouse: ClickHouse, measured: Measured, tmp_path: Path) -> None:
    sent = send("canal-json", "enable-tidb-extension=true")
    page = page_block("clickhouse", "sql", "JSONEachRow")
    clickhouse.run(_KAFKA.sub("ENGINE = Null;", page))
    path = _written(tmp_path / "changes.json", sent.bootstrap, sent.topics["orders"], b"\n")
    source = f"file('{path}', JSONEachRow, '{_structure(page, 'changes')}')"
    clickhouse.run(f"INSERT INTO changes SELECT * FROM {source}")
    total = Comparison(0, 0, ())
    for table, rows in sent.data.tables(defaults=False).items():
        read = [row["row"] for row in clickhouse.rows(f"SELECT row FROM newest FINAL WHERE `table` = '{table}'")]
        columns_now = next(iter(rows.values()))
        by_key = {tuple(row[name] for name in KEYS[table]): dict.fromkeys(columns_now) | row for row in read}
        total += compared(table, shaped(table, rows, canal), by_key)
    typed = {(str(row["id"]),): row for row in clickhouse.rows("SELECT * FROM orders")}
    difference = compared("orders", shaped("orders", sent.data.tables(defaults=False)["orders"], _typed), typed)
    assert not difference.differences, str(difference)
    measured("ClickHouse", clickhouse.version, "Canal-JSON", total)


def test_avro(send: Send, apicurio: Apicurio, clickhouse: ClickHouse, measured: Measured, tmp_path: Path) -> None:
    sent = send("avro", "enable-tidb-extension=true", registry=apicurio.url)
    page = page_block("clickhouse", "sql", "AvroConfluent", places={REGISTRY: apicurio.url})
    settings = ", ".join(re.findall(r"\w*format_avro\w+ = [^,;]+", page))
    clickhouse.run(_KAFKA.sub("ENGINE = Null;", page))
    total = Comparison(0, 0, ())
    for table, rows in sent.data.tables(defaults=False).items():
        path = _written(tmp_path / f"{table}.avro", sent.bootstrap, sent.topics[table], b"")
        if table == "orders":
            structure = _structure(page, "orders_rows")
            source = f"file('{path}', AvroConfluent, '{structure}')"
            clickhouse.run(f"INSERT INTO orders_rows SELECT * FROM {source} SETTINGS {settings}")
            source, settings_here = "orders_newest FINAL", ""
        else:
            source = f"file('{path}', AvroConfluent)"
            known = clickhouse.rows(f"DESCRIBE {source}", settings)
            columns = {each["name"]: each["type"] for each in known} | _ADDED_TYPES.get(table, {})
            structure = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
            source, settings_here = f"file('{path}', AvroConfluent, '{structure}')", settings
        shown = ", ".join(_shown(table, name) for name in next(iter(rows.values())))
        read = clickhouse.rows(f"SELECT {shown} FROM {source} ORDER BY _tidb_commit_ts", settings_here)
        newest = {tuple(str(row[name]) for name in KEYS[table]): _read(table, row) for row in read}
        there = {key: newest[key] for key in rows if key in newest}  # rows that were deleted are there, too
        total += compared(table, shaped(table, rows, avro), there)
    measured("ClickHouse", clickhouse.version, "Avro", total)


_ADDED_TYPES = {"lines": {"discount": "Nullable(Decimal(6, 2))"}}
"""What must be declared, as ClickHouse knows the first message's columns only; those of ``orders`` are on the page."""


def _structure(page: str, table: str) -> str:
    """Return the columns of a table that the page makes."""
    (columns,) = re.findall(rf"CREATE TABLE {table} \((.*?)\n\) ENGINE", page, re.DOTALL)
    return str(columns)


def _is_bytes(table: str, column: str) -> bool:
    return kind_of(table, column).startswith(("bit", "varbinary"))


def _shown(table: str, column: str) -> str:
    if kind_of(table, column).startswith("float"):
        return f"toFloat64(`{column}`) AS `{column}`"  # a Float32 would be shown with few digits
    return f"hex(`{column}`) AS `{column}`" if _is_bytes(table, column) else f"`{column}`"


def _read(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a row as Avro has them."""
    return {
        name: None
        if value is None
        else bytes.fromhex(value)
        if _is_bytes(table, name)
        else Decimal(value)
        if kind_of(table, name).startswith("decimal")
        else value
        for name, value in row.items()
    }


def _typed(kind: str, text: str) -> Any:
    """Return what the page's view ``orders`` shows of a value, in JSON."""
    return int(text) if "int" in kind else text.rstrip("0").rstrip(".") if kind.startswith("decimal") else text
