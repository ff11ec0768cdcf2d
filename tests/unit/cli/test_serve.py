"""``serve``: ports that answer until a signal, settings that fit the protocol, limits that are said at once."""

from __future__ import annotations

import io
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from child import exit_code
from documented import ROOT, blocks_of, text_of
from rich.console import Console

from ticdc_emit.cli.consumer_settings import EMBEDDED_LIMITS, Served, print_settings, settings_record
from ticdc_emit.cli.served_kafka import Server
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.plan.ddl import catalog_for
from ticdc_emit.testing.addresses import free_ports, require_free_port

pytest.importorskip("confluent_kafka")

TABLE = """create table shop.t (id bigint unsigned primary key, v varchar(9), d decimal(8,2) not null, b blob,
  f double, y year, day date, w decimal(20,2))"""
COOKBOOK = (ROOT / "examples" / "cookbook.sql").read_text("utf-8")
FLINK_PAGE = text_of("docs/cookbook.md#flink")


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    port, registry = free_ports(2)
    command = [sys.executable, "-m", "ticdc_emit", "serve", "--port", str(port), "--registry-port", str(registry)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
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
        shown, _ = process.communicate(timeout=60)
        assert process.returncode == code
    assert all(limit in shown for limit in EMBEDDED_LIMITS)
    require_free_port(port, "--port")
    require_free_port(registry, "--registry-port")


def test_the_last_record_comes_at_sigterm_too() -> None:
    with serving_json("--schema", "bank") as (process, _):
        assert json.loads(process.stdout.readline())["event"] == "traffic"
        process.send_signal(signal.SIGTERM)
        shown, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(shown)["event"]) == (143, "ended")


def test_it_ends_with_the_process_that_started_it() -> None:
    options = ("--port", "0", "--registry-port", "0", "--json", "--until-stdin-ends")
    command = [sys.executable, "-m", "ticdc_emit", "serve", *options]
    starter = (  # it is killed, so it cannot end anything itself
        "import subprocess, sys, time\n"
        f"process = subprocess.Popen({command!r}, stdin=subprocess.PIPE, stdout=sys.stdout)\n"
        "time.sleep(300)"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = json.loads(process.stdout.readline())["bootstrap"].rpartition(":")[2]
        finally:
            process.kill()
        assert process.stdout.read() == "", "serve has closed its output, too: it has ended"
    require_free_port(int(port), "--port")


@pytest.mark.parametrize("option", ["--port", "--registry-port"])
def test_a_port_in_use_is_refused_first(option: str, capsys: pytest.CaptureFixture[str]) -> None:
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


def _served(protocol: str, *, embedded: bool = False, release: str = "classic", tables: str = TABLE) -> Served:
    feed = load_changefeed(
        f"kafka://127.0.0.1:9092/ticdc?protocol={protocol}",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}},
        schema_registry="http://127.0.0.1:8081",
        release=release,
    )
    infos = tuple(catalog_for(feed, tables).tables())
    return Served("127.0.0.1:9092", "http://127.0.0.1:8081", feed, infos, embedded)


def _settings(protocol: str, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=300)
    print_settings(console, _served(protocol, **options))
    return console.file.getvalue()


ALIKE = "create table a.t (id int primary key); create table b.t (`x``y` int primary key);"
SETTINGS = Path(__file__).with_name("settings.txt").read_text(encoding="utf-8").splitlines()
"""A protocol, its tables, and a part of the settings."""


@pytest.mark.parametrize("line", SETTINGS)
def test_settings(line: str) -> None:
    protocol, tables, said = line.replace("\\n", "\n").split(" | ")
    tables = {"TABLE": TABLE, "ALIKE": ALIKE, "COOKBOOK": COOKBOOK}[tables]
    said = said.replace("CREATE `", "CREATE TABLE `")
    assert said in _settings(protocol, tables=tables, release="next" if "debezium-avro" in protocol else "classic")


def test_settings_have_nothing_of_other_protocols() -> None:
    shown = _settings("canal-json").replace("Schema registry ", "")
    assert not [each for each in ("JdbcSinkConnector", "registry") if each in shown]


def test_the_jdbc_sink_has_the_settings_of_its_page() -> None:
    shown = _settings("debezium", tables=COOKBOOK)
    (page,) = [each.code for each in blocks_of("docs/cookbook.md#jdbc-sink") if "connector.class" in each.code]
    assert set(page.splitlines()) <= set(shown.splitlines())


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
    tables = f"create table shop.t (id int primary key, {columns})"
    shown = settings_record(_served(protocol + options, release="next", tables=tables))["consumers"]["Flink SQL"]
    assert (
        dict(zip(expected, re.findall(r"^  `c\d+` (\w+(?:\([\d,]+\))?)", shown, re.MULTILINE), strict=True)) == expected
    )


def test_the_limits_of_the_embedded_kafka_come_before_the_settings_of_every_consumer() -> None:
    shown = _settings("debezium", embedded=True)
    assert max(map(shown.index, EMBEDDED_LIMITS)) < shown.index("# Topics")
    assert shown.replace("\n", "").endswith(_settings("debezium").split("# Topics")[1].replace("\n", ""))


def _statements(text: str) -> list[str]:
    """Return the statements of SQL without quotes of names, on one line each."""
    plain = (" ".join(each.replace("`", "").split()) for each in text.split(";"))
    return [each for each in plain if each]


@pytest.mark.parametrize("protocol", ["canal-json", "avro"])
def test_clickhouse_has_the_tables_of_its_page(protocol: str) -> None:
    tables = "create table shop.orders (id bigint primary key, customer varchar(40) not null, total decimal(10,2), "
    tables += "note text, placed datetime not null, channel varchar(9), points int)"
    served = _served(f"{protocol}&enable-tidb-extension=true", tables=tables)
    shown = _statements(settings_record(served)["consumers"]["ClickHouse"])
    form = "JSONEachRow" if protocol == "canal-json" else "AvroConfluent"
    (page,) = (each.code for each in blocks_of("docs/cookbook.md#clickhouse") if form in each.code)
    expected = page.replace("kafka_topic_list = 'shop',", "kafka_topic_list = 'shop_orders',")
    assert shown == _statements(expected)


def test_clickhouse_has_a_type_for_every_column() -> None:
    shown = _settings("canal-json&enable-tidb-extension=true", tables=COOKBOOK)
    types = dict(re.findall(r"^  row\['(\w+)'\](?:::([^ ]+(?: [^ ]+)?))? AS `", shown, re.MULTILINE))
    assert types["huge"] == "Nullable(UInt64)"
    assert types["at"] == "Nullable(DateTime64(6, 'UTC'))"
    assert types["wide"] == "Nullable(Decimal(38, 10))"
    assert types["body"] == ""
    assert types["state"] == "Nullable(UInt64)"
    assert types["customer"] == "String"


def test_the_record_has_every_table_with_the_types_of_the_pages() -> None:
    record = settings_record(_served("canal-json", tables=COOKBOOK, embedded=True))
    assert [each["table"] for each in record["tables"]] == ["shop.kinds", "shop.orders", "shop.lines"]
    lines = record["tables"][2]
    assert (lines["topic"], lines["key"]) == ("shop_lines", ["order_id", "sku"])
    assert lines["columns"][0] == {
        "name": "order_id",
        "type": "bigint(20)",
        "nullable": False,
        "flink": "BIGINT",
        "clickhouse": "Int64",
    }
    assert record["limits"] == list(EMBEDDED_LIMITS)
    assert json.loads(json.dumps(record)) == record
    assert "flink" not in settings_record(_served("simple"))["tables"][0]["columns"][0]


@contextmanager
def serving_json(*options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Yield the process and what it says first, on free ports."""
    command = [sys.executable, "-m", "ticdc_emit", "serve", "--port", "0", "--registry-port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stdout.readline()
        yield process, json.loads(line or process.stderr.read())
    finally:
        process.kill()
        process.communicate()


def _read(bootstrap: str, topics: list[str], count: int) -> list[dict[str, Any]]:
    """Return the first messages of topics, without a consumer group."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test"})
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for topic in topics for n in range(4)])
    messages: list[dict[str, Any]] = []
    while len(messages) < count:
        message = consumer.poll(30)
        if message.error() is None:
            messages.append(json.loads(message.value()))
    consumer.close()
    return messages


def test_traffic_is_there_once_it_says_so(tmp_path: Path) -> None:
    changefeed, ready = tmp_path / "changefeed.toml", tmp_path / "ready.json"
    changefeed.write_text('[sink]\nprotocol = "canal-json"\n[[sink.dispatchers]]\nmatcher = ["*.*"]\ntopic = "all"\n')
    options = [
        "--config",
        str(changefeed),
        "--model",
        "load={ddl_rate=4, transaction_size=3}",
        "--time-zone",
        "Asia/Tokyo",
        "--enable-tidb-extension",
    ]
    options += ["--table", "bank.customers", "--ready-file", str(ready)]
    with serving_json("--schema", "bank", *options) as (process, served):
        assert served["event"] == "serving"
        assert served["time_zone"] == "Asia/Tokyo"
        assert served["topics"] == ["all"]
        assert [each["table"] for each in served["tables"]] == ["bank.customers"]
        began = json.loads(process.stdout.readline())
        assert began["event"] == "traffic"
        assert began["messages"] >= 1
        assert json.loads(ready.read_text()) == {**served, "traffic": began}
        messages = _read(served["bootstrap"], ["all", "ticdc"], 300)
        assert {message["table"] for message in messages} <= {"customers", ""}
        assert any(message["isDdl"] for message in messages)
        assert any(message["type"] == "TIDB_WATERMARK" for message in messages)
        process.send_signal(signal.SIGINT)
        told, shown = process.communicate(timeout=60)
    assert process.returncode == 0, shown
    ended = json.loads(told)
    assert ended["event"] == "ended"
    assert ended["rows"] > 100
    assert not ready.exists()
    assert shown == ""


def test_without_a_schema_it_is_ready_at_once_and_says_how_to_send(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ready.write_text("of an earlier run")
    with serving_json("--ready-file", str(ready)) as (process, served):
        assert served["tables"] == served["topics"] == []
        assert f"kafka://{served['bootstrap']}/t" in served["consumers"]["Send something"]
        while not (ready.exists() and ready.read_text().startswith("{")):
            assert process.poll() is None
        assert json.loads(ready.read_text()) == served
        with urllib.request.urlopen(f"{served['schema_registry']}/subjects", timeout=10) as answer:
            assert json.load(answer) == []


def test_it_serves_other_machines_by_the_address_that_they_connect_to() -> None:
    from confluent_kafka.admin import AdminClient

    with serving_json("--schema", "sysbench", "--host", "0.0.0.0") as (_, served):
        host, port = served["bootstrap"].split(":")
        assert host not in ("0.0.0.0", "localhost")
        for address in (host, "127.0.0.1"):
            metadata = AdminClient({"bootstrap.servers": f"{address}:{port}"}).list_topics(timeout=10)
            assert {(broker.host, broker.port) for broker in metadata.brokers.values()} == {(address, int(port))}
            assert _read(f"{address}:{port}", ["sbtest_sbtest1"], 3)


def test_it_says_the_address_that_it_is_told() -> None:
    from confluent_kafka.admin import AdminClient

    with serving_json("--advertise", "localhost") as (_, served):
        port = int(served["bootstrap"].removeprefix("localhost:"))
        with urllib.request.urlopen(f"{served['schema_registry']}/subjects", timeout=10) as answer:
            assert json.load(answer) == []
        (broker,) = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(timeout=10).brokers.values()
        assert (broker.host, broker.port) == ("localhost", port)


@pytest.mark.parametrize(
    ("advertise", "expected"), [(None, ("127.0.0.1", 7)), ("a", ("a", 7)), ("a:9", ("a", 9)), ("::1", ("::1", 7))]
)
def test_the_advertised_address(advertise: str | None, expected: tuple[str, int]) -> None:
    assert Server("kafka", 0, 0, "127.0.0.1", advertise).advertised(7) == expected


def test_it_imports_neither_spark_nor_pandas(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-X", "importtime", "-m", "ticdc_emit", "serve", "--schema", "bank", "--json"]
    with (tmp_path / "imported").open("w") as imported:
        process = subprocess.Popen(
            [*command, "--port", "0", "--registry-port", "0", "--ready-file", str(ready)],
            stdout=subprocess.DEVNULL,
            stderr=imported,
        )
    try:
        while not ready.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()
        process.wait()
    lines = (tmp_path / "imported").read_text().splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time")}
    packages = {
        name.partition(".")[0] for name in names if "." in name
    }  # of one that is looked for, nothing else comes
    assert {"pyarrow", "confluent_kafka"} <= packages
    assert not packages & {"pyspark", "pandas", "hypothesis", "httpx", "sqlglot", "fastavro"}


def test_a_broker_formats_its_folder_before_the_modules_of_the_traffic_are_imported() -> None:
    code = (
        "import sys\n"
        "from ticdc_emit.cli import served_kafka\n"
        "def enter(kafka):\n"
        "    print([name for name in ('numpy', 'pyarrow', 'ticdc_emit.traffic') if name in sys.modules], flush=True)\n"
        "    raise SystemExit(7)\n"
        "served_kafka.ServedKafka.__enter__ = enter\n"
        "from ticdc_emit.cli.main import main\n"
        "main(['serve', '--schema', 'bank', '--broker', 'kafka', '--port', '0', '--registry-port', '0'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "[]\n"), done.stderr


def test_an_address_of_another_machine_is_not_the_ports_fault() -> None:
    with pytest.raises(ConfigError, match=r"192\.0\.2\.9 is not an address of this machine") as refused:
        require_free_port(0, "--port", "192.0.2.9")
    assert refused.value.option == "host"
