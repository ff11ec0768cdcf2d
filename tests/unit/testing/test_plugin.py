"""The pytest plugin: its fixtures in a test run of their own, as another project has them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distribution

import pytest

from ticdc_emit.traffic.history import History

pytest_plugins = ["pytester"]

# An installed ticdc-emit brings the plugin by its entry point; here it is given by name, installed or not.
PLUGIN = (
    *("-p", "no:ticdc_emit", "-p", "ticdc_emit.testing.plugin"),
    *("-p", "no:ticdc_emit_emulator", "-p", "ticdc_emit.emulator.fixtures"),
    *("-p", "no:cacheprovider", "-p", "no:randomly"),
)

EMITTER = """
def test_messages(ticdc_emitter):
    encoder = ticdc_emitter("create table test.t (id int primary key)")
    made = encoder.encode([{"op": "c", "commit_ts": 450000000262144000, "after": {"id": 1}}])
    assert made.num_rows == 1
    assert b'"type":"INSERT"' in made.column("value")[0].as_py()


def test_options(ticdc_emitter):
    uri = "memory://t/?protocol=simple&partition-num=2"
    assert ticdc_emitter("create table test.t (id int primary key)", uri).watermark(1 << 40).num_rows == 2
"""

TOPICS = """
names = []


def one_message(sink):
    import pyarrow as pa
    from ticdc_emit.delivery.base import MESSAGE_SCHEMA

    row = {"topic": "t", "partition": 0, "key": b"k", "value": b"v", "commit_ts": 1}
    sink.prepare({"t": 1, "other": 1})
    with sink.open() as writer:
        writer.write(pa.RecordBatch.from_pylist([row], schema=MESSAGE_SCHEMA))


def test_arrived(ticdc_topics):
    one_message(ticdc_topics.sink())
    assert [message.value for message in ticdc_topics.messages("t")] == [b"v"]
    assert ticdc_topics.messages("other") == []
    names.append(ticdc_topics.name)


def test_another_test_has_topics_of_its_own(ticdc_topics):
    from ticdc_emit.delivery.memory import messages

    assert ticdc_topics.messages() == []
    assert messages(names[0]) == [], "those of the test before are gone"
    uri = ticdc_topics.sink_uri(protocol="canal-json", enable_tidb_extension=True)
    assert uri == f"memory://{ticdc_topics.name}/?protocol=canal-json&enable-tidb-extension=true"
"""

SERVERS = """
import socket
from urllib.parse import urlsplit

addresses = []


def test_kafka(ticdc_kafka):
    sink = ticdc_kafka.sink()
    assert sink.prepare({"t": None}) == {"t": 4}
    host, _, port = ticdc_kafka.brokers[0].rpartition(":")
    addresses.append((host, int(port)))


def test_registry(ticdc_registry):
    parts = urlsplit(ticdc_registry.url)
    addresses.append((parts.hostname, parts.port))
    socket.create_connection(addresses[-1], 5).close()


def test_nothing_listens_behind_a_test():
    import pytest

    for address in addresses:
        with pytest.raises(OSError):
            socket.create_connection(address, 5)
"""

EMULATOR = """
SCHEMA = "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20))"
running = []


def test_sql_arrives(ticdc_emulator, ticdc_kafka):
    emulator = ticdc_emulator(SCHEMA)
    running.append(emulator)
    sent, _ = emulator.run_sql("INSERT INTO shop.orders VALUES (1, 'a')")
    values = [message.value for message in ticdc_kafka.read("shop_orders")]
    assert sum(b'"type":"INSERT"' in value for value in values) == 1
    assert any(b'"type":"TIDB_WATERMARK"' in value for value in values)


def test_options(ticdc_emulator, ticdc_kafka, ticdc_registry):
    assert not running[0].is_ready, "that of the test before"
    changefeed = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "t-{schema}_{table}"}]}}
    emulator = ticdc_emulator(SCHEMA, "protocol=avro", changefeed, schema_registry=ticdc_registry.url)
    emulator.run_sql("INSERT INTO shop.orders VALUES (1, 'a')")
    (message,) = ticdc_kafka.read("t-shop_orders")
    assert message.value[0] == 0
"""


FAILS = """
from hypothesis import given, settings
from ticdc_emit import histories


@settings(max_examples=60, deadline=None)
@given(histories("create table shop.t (id int primary key, v varchar(9))", ddl_kinds=()))
def test_mine(history):
    print("captured")
    assert len(history.rows) < 3
"""


@pytest.mark.parametrize(
    ("module", "passed"),
    [
        pytest.param(f"{EMITTER}{TOPICS}", 4, id="memory"),
        pytest.param(SERVERS, 3, id="servers"),
        pytest.param(EMULATOR, 2, id="emulators"),
    ],
)
def test_fixtures(pytester: pytest.Pytester, module: str, passed: int) -> None:
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("avro")
    pytester.makepyfile(module)
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=passed)


def test_a_failing_property_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FAILS)
    pytester.makeini("[pytest]\nticdc_shrink_seconds = 30")
    done = pytester.runpytest_subprocess(*PLUGIN)
    done.assert_outcomes(failed=1)
    done.stderr.fnmatch_lines(["Example * fails after * s, AssertionError*", "test_mine(", "*for at most 30 s.",
                               "A smaller one after *", "test_mine("])  # fmt: skip
    done.stderr.no_fnmatch_line("captured")
    again = next(line for line in done.outlines if line.startswith("pytest 'test_it.py::test_mine' --ticdc-example"))
    kept = History.from_json((pytester.path / again.split()[-1]).read_text())
    assert len(kept.rows) == 3
    done = pytester.runpytest_subprocess(*PLUGIN, "--ticdc-example", again.split()[-1], "--hypothesis-show-statistics")
    done.assert_outcomes(failed=1)
    done.stderr.fnmatch_lines(["Example 1 fails after * s*"])
    done.stdout.no_fnmatch_line("*During handling*")


def test_fixtures_tell_what_they_are(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_subprocess(*PLUGIN, "--fixtures")
    for name, text in {
        "ticdc_emitter": "A function that makes encoders",
        "ticdc_topics": "Topics in memory",
        "ticdc_kafka": "A Kafka in this process",
        "ticdc_registry": "A schema registry in this process",
        "ticdc_emulator": "A function that starts emulators",
    }.items():
        shown.stdout.fnmatch_lines([f"{name}*", f"*{text}*"], consecutive=True)


def test_test_runs_without_its_fixtures_load_nothing() -> None:
    heavy = ("pyarrow", "numpy", "orjson", "hypothesis")
    plugins = "ticdc_emit.testing.plugin, ticdc_emit.emulator.fixtures"
    code = f"import sys, {plugins}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_installing_switches_it_on() -> None:
    found = [each for each in distribution("ticdc-emit").entry_points if each.group == "pytest11"]
    assert sorted((each.name, each.value) for each in found) == [
        ("ticdc_emit", "ticdc_emit.testing.plugin"),
        ("ticdc_emit_emulator", "ticdc_emit.emulator.fixtures"),
    ]
