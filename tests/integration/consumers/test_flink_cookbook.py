"""Flink SQL reads Canal-JSON, Debezium and Avro from a real broker: docs/cookbook.md#flink."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from apicurio import Apicurio
from comparison import Comparison, compared
from connect_json import can_compile
from cookbook_data import ADDED, COLUMNS, KEYS
from cookbook_send import Measured, Send, Sent
from flink_page import columns_of, create_table, flink_type, shown_columns
from flink_sql import FLINK, Change, FlinkError, folded, run_sql, typed
from missing_parts import java_and_jars, missing
from page_blocks import KAFKA, REGISTRY, page_block
from wire_values import Shape, avro, canal, debezium, debezium_avro, kind_of, shaped

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CONSUMER, VERSION = "Flink SQL", "2.2.0"

Flink = Callable[[str], list[list[Change]]]


@pytest.fixture(scope="module")
def flink() -> Flink:
    java, jars = java_and_jars(FLINK)
    if not can_compile(java):
        missing(f"{java} has no compiler; a JDK is needed")
    return lambda statements: run_sql(java, jars, statements)


def _create(sent: Sent, table: str, format: str, **places: str) -> str:
    return create_table(table, format, {KAFKA: sent.bootstrap, "shop_orders": sent.topics[table], **places})


def _compared(flink: Flink, sent: Sent, format: str, shape: Shape, **places: str) -> Comparison:
    """Let Flink read all tables, and compare what its changes leave; a -U or -D must name the row that was there."""
    assert shown_columns(format) == {name: flink_type(kind, format) for name, kind in COLUMNS["orders"].items()}
    tables = sent.data.tables(defaults=False)
    statements = [_create(sent, table, format, **places) for table in tables]
    statements += [f"SELECT {', '.join(f'`{name}`' for name in columns_of(table))} FROM {table};\n" for table in tables]
    total = Comparison(0, 0, ())
    for (table, expected), changes in zip(tables.items(), flink("".join(statements)), strict=True):
        types = {name: flink_type(kind_of(table, name), format) for name in columns_of(table)}
        rows, wrong = folded(changes, list(types), KEYS[table], ADDED.get(table, ()))
        wanted, read = (
            {key: {name: typed(types[name], value) for name, value in row.items()} for key, row in each.items()}
            for each in (shaped(table, expected, shape), rows)
        )
        total += compared(table, wanted, read) + Comparison(0, 0, tuple(wrong))
    return total


def test_canal_json(send: Send, flink: Flink, measured: Measured) -> None:
    sent = send("canal-json", "enable-tidb-extension=true")
    measured(CONSUMER, VERSION, "Canal-JSON", _compared(flink, sent, "canal-json", canal))


@pytest.mark.parametrize("schema", ["with", "without"])
def test_debezium_json(send: Send, flink: Flink, measured: Measured, schema: str) -> None:
    sent = send("debezium", "" if schema == "with" else "debezium-disable-schema=true", by_table=True)
    measured(CONSUMER, VERSION, f"Debezium {schema} schema", _compared(flink, sent, "debezium-json", debezium))


def test_debezium_avro_confluent(send: Send, apicurio: Apicurio, flink: Flink, measured: Measured) -> None:
    options, format = "avro-bigint-unsigned-handling-mode=string", "debezium-avro-confluent"
    sent = send("debezium-avro", options, registry=apicurio.url, release="next")
    comparison = _compared(flink, sent, format, debezium_avro, **{REGISTRY: apicurio.url})
    measured(CONSUMER, VERSION, "Debezium in Avro", comparison)


def test_avro_confluent(send: Send, apicurio: Apicurio, flink: Flink, measured: Measured) -> None:
    sent = send("avro", registry=apicurio.url)
    measured(CONSUMER, VERSION, "Avro", _compared(flink, sent, "avro-confluent", avro, **{REGISTRY: apicurio.url}))


@pytest.mark.parametrize(
    ("protocol", "format", "error"),
    [("canal-json", "canal-json", 'Unknown "type" value "ALTER"'), ("debezium", "debezium-json", "NullPointer")],
)
def test_ddl_stops_flink(send: Send, flink: Flink, protocol: str, format: str, error: str) -> None:
    sent = send(protocol, by_table=True)
    strict = {"ignore-parse-errors' = 'true'": "ignore-parse-errors' = 'false'"}
    with pytest.raises(FlinkError, match=error):
        flink(_create(sent, "orders", format, **strict) + "SELECT id FROM orders;\n")


def test_a_sum_over_an_added_column(send: Send, flink: Flink) -> None:
    sent = send("canal-json")
    (changes,) = flink(_create(sent, "orders", "canal-json") + page_block("flink", "sql", "SUM("))
    rows = sent.data.tables()["orders"].values()
    assert changes[-1] == ("+U", [str(sum(int(row["points"] or 0) for row in rows))])


def test_a_payload_that_is_not_expected_is_skipped(send: Send, flink: Flink) -> None:
    sent = send("debezium", "debezium-disable-schema=true", by_table=True)
    bare = {"schema-include' = 'true'": "schema-include' = 'false'"}
    assert flink(_create(sent, "orders", "debezium-json", **bare) + "SELECT id FROM orders;\n") == [[]]


def test_what_flink_does_not_say(send: Send, apicurio: Apicurio, flink: Flink) -> None:
    """A type that does not fit gives NULL, and ``kafka`` in place of ``upsert-kafka`` overlooks deletes."""
    sent, avro_sent = send("canal-json"), send("avro", registry=apicurio.url)
    wrong = _create(sent, "orders", "canal-json").replace("`customer` STRING", "`customer` BIGINT")
    plain = {REGISTRY: apicurio.url, "'upsert-kafka'": "'kafka',\n  'scan.startup.mode' = 'earliest-offset'"}
    appended = _create(avro_sent, "lines", "avro-confluent", **plain)
    appended = re.sub(r"  'key\..*\n|,\n  PRIMARY KEY.*ENFORCED", "", appended)
    nulls, lines = flink(wrong + appended + "SELECT customer FROM orders;\nSELECT sku FROM lines;\n")
    assert {value for _, (value,) in nulls} == {None}
    assert {kind for kind, _ in lines} == {"+I"}
    assert len(lines) > len(sent.data.tables()["lines"])
