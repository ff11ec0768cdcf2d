"""``serve``: ports that answer until a signal, settings that fit the protocol, limits that are said at once."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from child import exit_code
from documented import ROOT, blocks_of
from rich.console import Console

from ticdc_emit.cli.generate import Wanted
from ticdc_emit.cli.serve import EMBEDDED_LIMITS, Served, print_settings
from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.ddl import catalog_for
from ticdc_emit.testing.embedded_kafka import require_free_port
from ticdc_emit.testing.kraft import free_ports

pytest.importorskip("confluent_kafka")

TABLE = """create table shop.t (id bigint unsigned primary key, v varchar(9), d decimal(8,2) not null, b blob,
  f double, y year, day date, w decimal(20,2))"""
COOKBOOK = (ROOT / "examples" / "cookbook.sql").read_text("utf-8")
FLINK_PAGE = (ROOT / "docs" / "cookbook" / "flink.md").read_text("utf-8")


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    port, registry = free_ports(2)
    command = [sys.executable, "-m", "ticdc_emit", "serve", "--port", str(port), "--registry-port", str(registry)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        while "Ctrl-C ends it" not in (line := process.stderr.readline()):
            assert line, "it ended"
        yield process, port, registry
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_answers_until_a_signal(number: int, code: int) -> None:
    from confluent_kafka.admin import AdminClient

    with serving() as (process, port, registry):
        assert AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics("t", timeout=10).topics["t"]
        with urllib.request.urlopen(f"http://127.0.0.1:{registry}/subjects", timeout=10) as answer:
            assert json.load(answer) == []
        process.send_signal(number)
        shown, _ = process.communicate(timeout=30)
        assert process.returncode == code
    assert all(limit in shown for limit in EMBEDDED_LIMITS)
    require_free_port(port, "--port")
    require_free_port(registry, "--registry-port")


@pytest.mark.parametrize("option", ["--port", "--registry-port"])
def test_a_port_in_use_is_refused_first(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    own = {"--port": "0", "--registry-port": "0"}
    own["--port"], own["--registry-port"] = map(str, free_ports(2))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        own[option] = str(other.getsockname()[1])
        assert exit_code("serve", *(word for pair in own.items() for word in pair)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"port {own[option]} cannot be used" in shown.err
    assert f"choose another port with {option}" in shown.err


def _settings(protocol: str, *, embedded: bool = False, release: str = "classic", tables: str = TABLE) -> str:
    feed = load_changefeed(
        f"kafka://127.0.0.1:9092/ticdc?protocol={protocol}",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}},
        schema_registry="http://127.0.0.1:8081",
        release=release,
    )
    infos = tuple(catalog_for(feed, tables).tables())
    console = Console(file=io.StringIO(), width=300)
    print_settings(console, Served("127.0.0.1:9092", "http://127.0.0.1:8081", feed, infos, embedded))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_settings_of_canal_json() -> None:
    shown = _settings("canal-json")
    assert "`id` DECIMAL(20,0),\n  `v` STRING,\n  `d` DECIMAL(8,2),\n  `b` STRING,\n  `f` DOUBLE" in shown
    assert "PRIMARY KEY (`id`) NOT ENFORCED" in shown
    assert "'topic' = 'shop_t'" in shown
    assert "'canal-json.ignore-parse-errors' = 'true'" in shown
    assert 'new KafkaCanalConnector("127.0.0.1:9092", "shop_t", null, "tables", 500, true)' in shown
    assert "JdbcSinkConnector" not in shown
    assert "registry" not in shown.replace("Schema registry ", "")


def test_settings_of_avro_read_the_registry() -> None:
    shown = _settings("avro")
    assert "`id` BIGINT,\n  `v` STRING,\n  `d` DECIMAL(8,2),\n  `b` BYTES,\n  `f` DOUBLE,\n  `y` BIGINT" in shown
    assert "'connector' = 'upsert-kafka'" in shown
    assert "'value.avro-confluent.url' = 'http://127.0.0.1:8081'" in shown
    assert "`d` Decimal(8, 2), `b` Nullable(String)" in shown
    assert 'SchemaRegistryClient({"url": "http://127.0.0.1:8081"})' in shown


def test_settings_of_debezium() -> None:
    shown = _settings("debezium")
    assert "'debezium-json.schema-include' = 'true'" in shown
    assert "`w` DOUBLE" in shown


def test_the_jdbc_sink_has_the_settings_of_its_page() -> None:
    shown = _settings("debezium", tables=COOKBOOK)
    (page,) = [each.code for each in blocks_of("docs/cookbook/jdbc-sink.md") if "connector.class" in each.code]
    assert set(page.splitlines()) <= set(shown.splitlines())


def test_settings_of_debezium_in_avro() -> None:
    shown = _settings("debezium-avro", release="next")
    assert "'debezium-avro-confluent.url' = 'http://127.0.0.1:8081'" in shown
    assert "`id` BIGINT,\n  `v` STRING,\n  `d` DECIMAL(8,2),\n  `b` BYTES" in shown
    assert "`day` INT,\n  `w` DECIMAL(20,2)," in shown


@pytest.mark.parametrize("protocol", ["canal-json", "avro"])
def test_every_table_has_its_settings(protocol: str) -> None:
    shown = _settings(protocol, tables=COOKBOOK)
    for table in ("kinds", "lines", "orders"):
        topic = f"shop_{table}"
        assert f"kcat -b 127.0.0.1:9092 -t {topic} -C" in shown
        assert f"CREATE TABLE `{table}` (\n" in shown
        assert f"CREATE TABLE `{table}_changes` (" in shown
        assert f"'topic' = '{topic}'" in shown
        assert f"kafka_topic_list = '{topic}'" in shown
        assert f"--topic {topic}" in shown
    assert "consumer.subscribe(['shop_kinds', 'shop_lines', 'shop_orders'])" in shown
    assert '.option("subscribe", "shop_kinds,shop_lines,shop_orders")' in shown
    assert "--include 'shop_kinds|shop_lines|shop_orders' --from-beginning" in shown


def test_tables_of_one_name_and_odd_names_can_be_created_side_by_side() -> None:
    tables = "create table a.t (id int primary key); create table b.t (`x``y` int primary key);"
    shown = _settings("canal-json", tables=tables)
    assert "CREATE TABLE `a_t` (\n  `id` BIGINT" in shown
    assert "CREATE TABLE `b_t` (\n  `x``y` BIGINT,\n  PRIMARY KEY (`x``y`) NOT ENFORCED" in shown
    assert "CREATE TABLE `a_t_changes`" in shown


SQL_TYPES = {
    "TINYINT to BIGINT, YEAR": ["tinyint", "int unsigned", "bigint", "year", "boolean"],
    "BIGINT UNSIGNED": ["bigint unsigned"],
    "BIT(1)": ["bit(1)"],
    "BIT(n)": ["bit(12)"],
    "DECIMAL(p,s), up to 15 digits": ["decimal(15,4)"],
    "DECIMAL(p,s), 16 to 38 digits": ["decimal(16,4)", "decimal(38,10)"],
    "FLOAT": ["float", "float unsigned"],
    "DOUBLE": ["double"],
    "CHAR, VARCHAR, TEXT, JSON": ["char(3)", "varchar(9)", "mediumtext", "json"],
    "BINARY, VARBINARY, BLOB": ["binary(3)", "varbinary(9)", "longblob"],
    "DATE": ["date"],
    "DATETIME(n)": ["datetime", "datetime(6)"],
    "TIMESTAMP(n)": ["timestamp", "timestamp(3)"],
    "TIME": ["time", "time(3)"],
    "ENUM": ["enum('a')"],
    "SET": ["set('a','b')"],
}


@pytest.mark.parametrize(
    ("protocol", "format", "options"),
    [
        ("canal-json", "canal-json", ""),
        ("debezium", "debezium-json", ""),
        ("debezium-avro", "debezium-avro-confluent", "&avro-bigint-unsigned-handling-mode=string"),
        ("avro", "avro-confluent", ""),
    ],
)
def test_flink_has_the_types_of_its_page(protocol: str, format: str, options: str) -> None:
    table = next(blocks for blocks in re.findall(r"(?:^\|.*\n)+", FLINK_PAGE, re.MULTILINE) if "| column |" in blocks)
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    documented = {row[0]: row[head.index(f"`{format}`")] for row in rows}
    assert list(documented) == list(SQL_TYPES)
    expected = {}
    for row, kinds in SQL_TYPES.items():
        for kind in kinds:
            digits = kind.partition("(")[2].rstrip(")") or "0"
            expected[kind] = documented[row].replace("(p,s)", f"({digits})").replace("(n)", f"({digits})")
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(expected))
    shown = _settings(protocol + options, release="next", tables=f"create table shop.t (id int primary key, {columns})")
    assert (
        dict(zip(expected, re.findall(r"^  `c\d+` (\w+(?:\([\d,]+\))?)", shown, re.MULTILINE), strict=True)) == expected
    )


def test_a_long_that_may_be_beyond_a_bigint_has_the_type_that_is_sent() -> None:
    assert "`id` BIGINT" in _settings("debezium-avro", release="next")
    assert "`id` STRING" in _settings("debezium-avro&avro-bigint-unsigned-handling-mode=string", release="next")
    strings = "avro&avro-bigint-unsigned-handling-mode=string&avro-decimal-handling-mode=string"
    assert "`id` STRING,\n  `v` STRING,\n  `d` STRING" in _settings(strings)


def test_the_limits_of_the_embedded_kafka_come_before_the_settings_of_every_consumer() -> None:
    shown = _settings("debezium", embedded=True)
    assert max(map(shown.index, EMBEDDED_LIMITS)) < shown.index("# Topics")
    assert shown.replace("\n", "").endswith(_settings("debezium").split("# Topics")[1].replace("\n", ""))


@pytest.mark.parametrize("option", [[], ["--enable-tidb-extension"]])
def test_the_traffic_has_the_options_of_the_command(option: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def run(wanted: Wanted, **options: Any) -> int:
        given.update(options, wanted=wanted)
        return 0

    monkeypatch.setattr("ticdc_emit.cli.generate.run", run)
    port, registry = map(str, free_ports(2))
    ports = ("--port", port, "--registry-port", registry)
    assert exit_code("serve", "--schema", "bank", "--rate", "7", "--seed", "3", *ports, *option) == 0
    feed = load_changefeed(given["sink_uri"], given["config"])
    assert feed.codec.enable_tidb_extension is bool(option)
    settings = given["wanted"].settings
    assert (settings.rows, settings.rate, settings.seed, given["wanted"].live) == (None, 7, 3, True)
