"""A running changefeed as an object: what each call sends, what the expected tables are, what a reset leaves behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import pytest
from api_client import BY_TABLE, SCHEMA

from ticdc_emit import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.verify import Verifier
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.emulator.call_lock import Caller, caller
from ticdc_emit.emulator.emulator import DEFAULT, Emulator, Sent
from ticdc_emit.errors import ChangefeedStateError, ConfigError, DdlError, DeliveryError, StatementError
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.scenarios.library import RecordingRegistry
from ticdc_emit.tso import compose

START_MS = 1_700_000_000_000


class Server:
    """An emulator over a store in memory, whose clock stands still until :attr:`now` moves."""

    def __init__(self, store: str, parameters: str, schema: str, **options: Any) -> None:
        self.now = START_MS
        self.store = store
        schemas = "http://127.0.0.1:1" if options.get("registry") is not None else None
        release = options.pop("release", None)
        config = load_changefeed(f"memory://{store}/?{parameters}", BY_TABLE, release=release, schema_registry=schemas)
        self.config = config
        self.emulator = Emulator(config, schema, now=lambda: self.now, heartbeat_s=None, **options)
        self.emulator.start()

    def read(self, sent: Sent | None = None) -> list[Message]:
        """All messages, or those before the ends of what was sent that a call added."""
        everything = messages(self.store)
        if sent is None:
            return everything
        spans = {(p.topic, p.partition): range(p.end_offset - p.messages, p.end_offset) for p in sent.partitions}
        return [each for each in everything if each.offset in spans.get((each.topic, each.partition), ())]

    def rows(self, sent: Sent | None = None) -> list[tuple[str, Any]]:
        """The Canal-JSON row messages of a call: kind and data."""
        values = (json.loads(each.value or b"") for each in self.read(sent))
        return [(value["type"], value["data"][0]) for value in values if value["data"]]

    @property
    def partitions(self) -> dict[str, int]:
        return Counter(topic for topic, _ in self.emulator.sink().targets)

    def check_consumer(self) -> None:
        """Check that a consumer of all messages has the expected tables."""
        consumer = ReferenceConsumer(self.config, SCHEMA, partitions=self.partitions)
        consumer.take_all(sorted(self.read(), key=lambda each: each.offset))
        consumer.finish()
        assert consumer.tables == self.emulator.tables()

    def kinds(self, sent: Sent) -> list[str]:
        return [json.loads(each.value or b"")["type"] for each in self.read(sent)]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(
        parameters: str = "protocol=canal-json&enable-tidb-extension=true&partition-num=2",
        schema: str = SCHEMA,
        **options: Any,
    ) -> Server:
        started.append(Server(f"emulator-{uuid4()}", parameters, schema, **options))
        return started[-1]

    yield start
    for server in started:
        server.emulator.stop()
        clear(server.store)


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve()


@pytest.fixture
def emulator(server: Server) -> Emulator:
    return server.emulator


def _insert(emulator: Emulator, number: int) -> Sent:
    return emulator.run_sql(f"INSERT INTO orders VALUES ({number}, 'x', 'new')")[0]


def _orders(emulator: Emulator) -> list[dict[str, str | None]]:
    return list(emulator.tables()["shop", "orders"].values())


def test_a_watermark_follows_every_commit_on_every_partition(server: Server) -> None:
    sent = _insert(server.emulator, 1)
    last = {(each.topic, each.partition): json.loads(each.value or b"") for each in server.read()}
    assert {value["type"] for value in last.values()} == {"TIDB_WATERMARK"}
    assert {value["_tidb"]["watermarkTs"] for value in last.values()} == {sent.commit_ts}
    assert len(last) == 6  # three topics


class _Leaving(Caller):
    """One who has gone when the second statement is about to begin."""

    asked = 0

    @property  # type: ignore[override]
    def gone(self) -> str:
        self.asked += 1
        return "its client has gone" if self.asked > 1 else ""

    @gone.setter
    def gone(self, why: str) -> None:
        """Stays as it is."""


@pytest.mark.parametrize(("is_late", "rows"), [(False, ["1"]), (True, [])])
def test_a_script_ends_between_two_statements(
    server: Server, monkeypatch: pytest.MonkeyPatch, is_late: bool, rows: list[str]
) -> None:
    monkeypatch.setattr("ticdc_emit.emulator.call_lock.MOST_S", -1.0 if is_late else 60.0)
    script = "INSERT INTO orders (id) VALUES (1); INSERT INTO orders (id) VALUES (2)"
    context = copy_context()
    context.run(caller.set, Caller() if is_late else _Leaving())
    with pytest.raises(StatementError, match="ended before this statement") as caught:
        context.run(server.emulator.run_sql, script)
    assert caught.value.context["number"] == 1317
    assert [row["id"] for row in _orders(server.emulator)] == rows
    assert [data["id"] for _, data in server.rows()] == rows
    server.emulator.run_sql("INSERT INTO orders (id) VALUES (2)")


def test_a_transaction_that_does_not_end_is_refused(server: Server) -> None:
    with pytest.raises(StatementError, match="does not commit it"):
        server.emulator.run_sql("BEGIN; INSERT INTO orders (id) VALUES (1)")
    assert _orders(server.emulator) == []
    server.emulator.run_sql("INSERT INTO orders (id) VALUES (1)")


def test_the_current_database_is_that_of_the_call(serve: Callable[..., Server]) -> None:
    server = serve(schema="CREATE TABLE a.t (id INT PRIMARY KEY); CREATE TABLE b.t (id INT PRIMARY KEY);")
    server.emulator.run_sql("INSERT INTO t VALUES (1)", "b")
    server.emulator.run_sql("ALTER TABLE t ADD COLUMN c INT", "a")
    assert server.emulator.tables() == {("a", "t"): {}, ("b", "t"): {("1",): {"id": "1"}}}
    assert [column.name for column in server.emulator.source.catalog.table("a", "t").columns] == ["id", "c"]


def test_ddl_that_does_not_apply_changes_nothing(server: Server) -> None:
    with pytest.raises(DdlError) as refused:
        server.emulator.run_sql("ALTER TABLE orders DROP COLUMN none")
    assert refused.value.sent is not None
    assert server.kinds(refused.value.sent) == ["TIDB_WATERMARK"] * 6
    assert "ALTER" in server.kinds(server.emulator.run_sql("ALTER TABLE orders DROP COLUMN note")[0])


def test_a_held_partition_stops_the_checkpoint_until_its_release(server: Server, emulator: Emulator) -> None:
    target = next(p for p in _insert(emulator, 1).partitions if (p.topic, p.messages) == ("shop_orders", 2))
    held_at = emulator.changefeed().checkpoint
    emulator.hold("shop_orders", target.partition)
    sent = emulator.run_sql("UPDATE orders SET note = 'y' WHERE id = 1")[0]
    assert server.rows(sent) == []
    assert emulator.changefeed().checkpoint == held_at < (sent.commit_ts or 0)
    released = emulator.release()
    assert [(kind, data["note"]) for kind, data in server.rows(released)] == [("UPDATE", "y")]
    assert emulator.changefeed().checkpoint == sent.commit_ts


def test_a_restart_sends_everything_after_the_checkpoint_again(server: Server, emulator: Emulator) -> None:
    _insert(emulator, 1)
    checkpoint = emulator.changefeed().checkpoint
    second = _insert(emulator, 2)
    ddl = emulator.run_sql("ALTER TABLE orders ADD COLUMN c INT")[0]
    third = emulator.run_sql("INSERT INTO orders VALUES (3, 'z', 'new', 1)")[0]
    again = emulator.restart(checkpoint)
    expected = [data["id"] for sent in (second, third) for _, data in server.rows(sent)]
    assert sorted(data["id"] for _, data in server.rows(again)) == sorted(expected) == ["2", "3"]
    assert server.kinds(again).count("ALTER") == server.kinds(ddl).count("ALTER") == 1
    assert [data["id"] for _, data in server.rows(emulator.restart(transactions=1))] == ["3"]
    assert server.rows(emulator.restart()) == []
    with pytest.raises(ChangefeedStateError, match="its checkpoint is"):
        emulator.restart((third.commit_ts or 0) + 1)
    with pytest.raises(ChangefeedStateError, match="earlier than or equal to GC safepoint"):
        emulator.restart(1)


def test_a_restart_makes_what_was_held_anew(server: Server, emulator: Emulator) -> None:
    for partition in (0, 1):
        emulator.hold("shop_orders", partition)
    _insert(emulator, 1)
    assert server.rows(emulator.restart()) == []
    assert [data["id"] for _, data in server.rows(emulator.release())] == ["1"]


def test_a_reset_leaves_the_tables_of_the_start(server: Server, emulator: Emulator) -> None:
    emulator.run_sql("INSERT INTO orders VALUES (1, 'a', 'new'); CREATE TABLE extra (id INT PRIMARY KEY)")
    emulator.run_sql(
        "ALTER TABLE clerks ADD COLUMN age INT; CREATE DATABASE other; CREATE TABLE other.t (a INT PRIMARY KEY)"
    )
    emulator.hold("shop_orders", 0)
    before = emulator.changefeed().checkpoint
    sent = emulator.reset()
    assert emulator.tables() == {("shop", "orders"): {}, ("shop", "clerks"): {}}
    assert [column.name for column in emulator.source.catalog.table("shop", "clerks").columns] == ["id", "name"]
    assert "other" not in emulator.source.catalog.databases()
    ends: dict[tuple[str, int], int] = {}
    for message in server.read():
        ends[message.topic, message.partition] = message.offset + 1
    assert {(p.topic, p.partition): p.end_offset for p in sent.partitions} == {
        target: ends[target] for target in emulator.sink().targets
    }
    assert (sent.commit_ts or 0) > before
    assert emulator.messages() == []
    after, results = emulator.run_sql("INSERT INTO clerks (name) VALUES ('Ada')")
    assert results[0].last_insert_id == 1
    assert [data for _, data in server.rows(after)] == [{"id": "1", "name": "Ada"}]


def test_a_consumer_that_lives_on_has_empty_tables_after_a_reset(server: Server) -> None:
    for statement in ("INSERT INTO orders VALUES (1, 'a', 'new')", "ALTER TABLE orders DROP COLUMN note"):
        server.emulator.run_sql(statement)
        server.emulator.reset()
    server.check_consumer()


@pytest.mark.parametrize(
    "change", ["ALTER TABLE shop.t ADD COLUMN b INT", "DROP DATABASE shop", "DROP TABLE shop.t; DROP DATABASE other"]
)
def test_a_schema_that_creates_its_databases_can_be_reset(serve: Callable[..., Server], change: str) -> None:
    schema = (
        "CREATE DATABASE `shop` CHARSET latin1; USE shop; CREATE TABLE t (a CHAR(9) PRIMARY KEY); CREATE SCHEMA other"
    )
    source = serve(schema=schema).emulator.source
    emulator = serve(schema=schema).emulator
    for _ in range(2):
        emulator.run_sql(change)
        emulator.reset()
        assert emulator.tables() == {("shop", "t"): {}}
        assert set(emulator.source.catalog.databases()) == set(source.catalog.databases())
        assert emulator.source.catalog.table("shop", "t").columns == source.catalog.table("shop", "t").columns
        emulator.run_sql("INSERT INTO shop.t VALUES ('x')")


def test_a_table_that_did_not_change_is_not_touched_by_a_reset(server: Server) -> None:
    table = server.emulator.source.catalog.table("shop", "clerks")
    server.emulator.run_sql("INSERT INTO orders VALUES (1, 'a', 'new')")
    server.emulator.reset()
    assert server.emulator.source.catalog.table("shop", "clerks") == table
    assert server.emulator.source.catalog.table("shop", "orders").id != table.id


def test_resets_get_no_slower(server: Server) -> None:
    for _ in range(30):
        server.emulator.run_sql("INSERT INTO orders VALUES (1, 'a', 'new'); ALTER TABLE orders ADD COLUMN c INT")
        server.emulator.reset()
    assert len(server.emulator.source.catalog.histories()["shop", "orders"]) == 1
    assert server.emulator.source.begins == server.emulator.source.end


def test_a_scenario_goes_to_topics_of_its_own(server: Server) -> None:
    before = len(server.read())
    sent, made = server.emulator.run_scenario("redelivery", seed=3)
    scenario_messages = [each for each in server.read() if each.topic.startswith("scenario-redelivery-3")]
    assert [each.value for each in scenario_messages] == [
        each.value for each in sorted(made.messages, key=lambda each: (each.topic, each.partition, each.offset))
    ]
    assert sent.messages == len(scenario_messages) == len(server.read()) - before
    other, _ = server.emulator.run_scenario("redelivery", seed=3)
    assert {p.topic for p in other.partitions}.isdisjoint(p.topic for p in sent.partitions)
    with pytest.raises(ConfigError, match="no scenario 'redeliver'"):
        server.emulator.run_scenario("redeliver")


def test_generated_traffic_and_sql_act_on_the_same_tables_in_one_order(serve: Callable[..., Server]) -> None:
    server = serve(traffic=Settings(rows=None, rate=100.0, seed=3))
    emulator = server.emulator
    emulator.stop()  # no thread: the test moves the clock
    assert emulator.start_traffic(200.0).running
    for step in range(5):
        server.now += 100
        emulator.tick()
        emulator.run_sql(f"INSERT INTO orders VALUES ({1_000_000 + step}, 'mine', 'new')")
    server.now += 50
    state = emulator.stop_traffic()
    assert (state.running, state.error) == (False, None)
    assert 80 <= state.rows <= 120
    server.now += 1000
    emulator.tick()
    assert emulator.traffic.rows == state.rows
    server.check_consumer()
    assert sum(row["note"] == "mine" for row in emulator.tables()["shop", "orders"].values()) == 5


def test_a_call_does_not_wait_for_all_that_a_slow_machine_has_not_generated(serve: Callable[..., Server]) -> None:
    server = serve(traffic=Settings(rows=None, rate=3000.0, seed=3))
    emulator = server.emulator
    emulator.stop()
    emulator.start_traffic()
    server.now += 4_000  # 12,000 changes are due
    emulator.run_sql("INSERT INTO orders VALUES (1000000, 'mine', 'new')")
    assert 4_900 < emulator.traffic.rows <= 5_000
    emulator.tick()
    assert emulator.traffic.rows <= 5_010  # the others come after the call
    server.now += 1_000
    emulator.tick()
    assert 7_900 <= emulator.stop_traffic().rows <= 8_100
    server.check_consumer()


def test_generated_changes_fit_what_sql_has_done_to_their_rows(serve: Callable[..., Server]) -> None:
    server = serve(traffic=Settings(rows=None, rate=200.0, seed=5))
    emulator = server.emulator
    emulator.stop()
    emulator.start_traffic()
    for _ in range(10):
        server.now += 100
        emulator.tick()
        emulator.run_sql("DELETE FROM orders WHERE id % 3 = 0; UPDATE orders SET note = 'mine' WHERE id % 3 = 1")
    assert emulator.stop_traffic().error is None
    server.check_consumer()
    rows: dict[str, Any] = {}
    for message in server.read():  # by partition, and a key is in one
        value = json.loads(message.value or b"")
        if value["table"] == "orders" and value["type"] in ("INSERT", "UPDATE", "DELETE"):
            (new,), old = value["data"], (value["old"] or [{}])[0]
            was = rows.pop(new["id"], None)
            assert (was is None) == (value["type"] == "INSERT")
            assert value["type"] != "UPDATE" or {**(was or {}), **old} == was
            if value["type"] != "DELETE":
                rows[new["id"]] = new


def test_generated_ddl_goes_on_after_a_pause_and_a_reset(serve: Callable[..., Server]) -> None:
    server = serve(traffic=Settings(rows=None, rate=100.0, seed=4, model=read_model("load.ddl_rate=20")))
    emulator = server.emulator
    emulator.stop()
    for _ in range(2):
        for _ in range(2):
            assert emulator.start_traffic().running
            for _ in range(5):
                server.now += 100
                emulator.tick()
                emulator.run_sql("DELETE FROM orders WHERE id % 2 = 0")
            assert emulator.stop_traffic().error is None
        assert b"ALTER TABLE" in b"".join(each.value or b"" for each in emulator.messages())
        server.check_consumer()
        emulator.reset()


def test_traffic_stops_when_one_of_its_tables_changes(server: Server, emulator: Emulator) -> None:
    emulator.start_traffic(50.0)
    server.now += 100
    emulator.run_sql("ALTER TABLE orders DROP COLUMN note")
    state = emulator.traffic
    assert (state.running, state.error is not None) == (False, True)
    with pytest.raises(ChangefeedStateError):
        emulator.start_traffic()
    assert emulator.changefeed().state == "normal"
    emulator.reset()
    assert emulator.start_traffic().running


@contextmanager
def failing_sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the sink fail at what it is given in the block."""

    def fail(*_: Any) -> None:
        raise DeliveryError("the broker is gone", remedy="Start it")

    with monkeypatch.context() as patch:
        patch.setattr("ticdc_emit.delivery.memory.MemoryWriter.settle", fail)
        yield


def test_a_changefeed_that_fails_says_so_until_it_is_restarted_and_keeps_what_was_committed(
    server: Server, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing_sink(monkeypatch), pytest.raises(DeliveryError, match="the broker is gone"):
        _insert(emulator, 1)
    assert emulator.changefeed().state == "failed"
    with pytest.raises(ChangefeedStateError, match="has failed, so nothing is sent: the broker is gone"):
        emulator.run_sql("INSERT INTO orders VALUES (2, 'b', 'new')")
    assert sorted(data["id"] for _, data in server.rows(emulator.restart())) == ["1", "2"]
    assert (emulator.changefeed().state, len(_orders(emulator))) == ("normal", 2)


def test_traffic_that_a_failure_has_stopped_goes_on(
    server: Server, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator.stop()
    emulator.start_traffic(100.0)

    with failing_sink(monkeypatch):
        server.now += 200
        emulator.tick()
    assert (emulator.traffic.running, str(emulator.traffic.error)) == (False, "the broker is gone. Start it")
    emulator.restart()
    state = emulator.start_traffic(50.0)
    assert (state.running, state.rate, state.error) == (True, 50.0, None)
    server.now += 1000
    emulator.tick()
    assert emulator.traffic.rows > state.rows
    assert emulator.stop_traffic().error is None
    server.check_consumer()


def test_changes_that_are_no_longer_kept_cannot_be_sent_again(server: Server, emulator: Emulator) -> None:
    start = emulator.changefeed().checkpoint
    emulator.source._most_bytes = 100_000
    for number in range(40):
        _insert(emulator, number)
    emulator.run_sql("ALTER TABLE orders ADD COLUMN c INT")
    for number in range(40, 60):
        emulator.run_sql(f"INSERT INTO orders VALUES ({number}, 'a', 'new', 1)")
    assert emulator.source.begins > start
    with pytest.raises(ChangefeedStateError, match="GC safepoint"):
        emulator.restart(start)
    again = emulator.restart(emulator.source.begins)
    assert 0 < len(server.rows(again)) < 60
    assert len(_orders(emulator)) == 60


def test_watermarks_follow_the_clock_while_nothing_is_committed(server: Server, emulator: Emulator) -> None:
    emulator.stop()
    emulator._heartbeat_s = 0.0
    server.now += 5_000
    before = len(server.read())
    emulator.tick()
    assert len(server.read()) == before + 6
    assert emulator.changefeed().checkpoint >= compose(server.now)


def test_a_reset_does_not_stop_at_foreign_keys_and_follows_use(serve: Callable[..., Server]) -> None:
    schema = """
        CREATE DATABASE one; USE one; CREATE TABLE parent (id INT PRIMARY KEY);
        CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id));
        CREATE DATABASE two; USE two; CREATE TABLE alone (id INT PRIMARY KEY); ALTER TABLE alone ADD COLUMN c INT;
    """
    server = serve(schema=schema)
    emulator = server.emulator
    fill = "INSERT INTO one.parent VALUES (1); INSERT INTO one.child VALUES (1, 1); INSERT INTO two.alone VALUES (1, 2)"
    emulator.run_sql(fill)
    emulator.reset()
    emulator.run_sql(fill)
    emulator.run_sql("ALTER TABLE alone DROP COLUMN c", "two")
    emulator.reset()
    assert emulator.tables() == {("one", "parent"): {}, ("one", "child"): {}, ("two", "alone"): {}}
    emulator.run_sql(fill)


_FORMS = {
    "canal-json": "protocol=canal-json",
    "simple": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "open-protocol": "protocol=open-protocol",
    "debezium": "protocol=debezium",
    "avro": "protocol=avro&enable-tidb-extension=true",
    "avro with watermarks": "protocol=avro&enable-tidb-extension=true&avro-enable-watermark=true",
}


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("parameters", _FORMS.values(), ids=_FORMS.keys())
def test_a_consumer_that_begins_at_a_reset_has_the_expected_tables(
    serve: Callable[..., Server], parameters: str, release: str
) -> None:
    registry = RecordingRegistry(MemoryRegistry())
    server = serve(f"{parameters}&partition-num=2", registry=registry, release=release)
    emulator = server.emulator
    emulator.run_sql("INSERT INTO orders VALUES (1, 'a', 'new'); ALTER TABLE clerks ADD COLUMN c INT")
    begins = {(place.topic, place.partition): place.end_offset for place in emulator.reset().partitions}
    emulator.run_sql(
        "INSERT INTO orders VALUES (5, 'a', 'new'), (6, 'b', 'paid'); DELETE FROM orders WHERE id = 6;"
        "ALTER TABLE orders ADD COLUMN c INT DEFAULT 3; UPDATE orders SET id = 7 WHERE id = 5;"
        "INSERT INTO clerks (name) VALUES ('Ada')"
    )
    emulator.restart(transactions=3)
    emulator.redeliver(1)
    consumer = ReferenceConsumer(server.config, SCHEMA, partitions=server.partitions, schemas=registry.schemas or None)
    new = [each for each in server.read() if each.offset >= begins.get((each.topic, each.partition), 0)]
    consumer.take_all(sorted(new, key=lambda each: each.offset))
    consumer.finish()
    assert consumer.tables == emulator.tables()
    assert emulator.changefeed(DEFAULT).state == "normal"


def _held(emulator: Emulator) -> None:
    emulator.hold("shop_orders", 0)
    emulator.run_sql("INSERT INTO orders VALUES (50, 'z', 'new'), (51, 'z', 'new'), (52, 'z', 'new')")


def _hold_and_release(emulator: Emulator) -> None:
    _held(emulator)
    emulator.release()


def _hold_and_restart(emulator: Emulator) -> None:
    _held(emulator)
    emulator.restart()
    emulator.release()


_DELIVERIES: dict[str, Callable[[Emulator], object]] = {
    "redeliver": lambda emulator: emulator.redeliver(5),
    "redeliver the watermark": lambda emulator: emulator.redeliver(1),
    "restart": lambda emulator: emulator.restart(transactions=3),
    "hold and release": _hold_and_release,
    "hold and restart": _hold_and_restart,
    "alter and reset": lambda emulator: (emulator.run_sql("ALTER TABLE orders ADD COLUMN c INT"), emulator.reset()),
}


@pytest.mark.parametrize("parameters", ["protocol=canal-json&enable-tidb-extension=true", _FORMS["simple"]])
@pytest.mark.parametrize("deliver", _DELIVERIES.values(), ids=_DELIVERIES.keys())
def test_every_stream_keeps_the_invariants(
    serve: Callable[..., Server], parameters: str, deliver: Callable[[Emulator], object]
) -> None:
    server = serve(f"{parameters}&partition-num=2", traffic=Settings(rows=None, rate=50.0, seed=1))
    emulator = server.emulator
    emulator.stop()
    emulator.start_traffic()
    for number in range(3):
        server.now += 100
        emulator.tick()
        emulator.run_sql(f"INSERT INTO orders VALUES ({10**6 + number}, 'a', 'new'); UPDATE orders SET note = 'b'")
    emulator.stop_traffic()
    deliver(emulator)
    emulator.run_sql("INSERT INTO orders (id) VALUES (99)")
    verifier = Verifier(server.config)
    for message in sorted(server.read(), key=lambda each: each.offset):
        verifier.see(message)
    assert verifier.finish() == []


def test_calls_of_several_threads_come_one_after_the_other(serve: Callable[..., Server]) -> None:
    server = serve(wait_s=None)
    emulator = server.emulator

    def insert(number: int) -> Sent:
        if number % 10 == 0:
            emulator.redeliver(1)
        return emulator.run_sql(f"INSERT INTO clerks (name) VALUES ('clerk {number}')")[0]

    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(insert, range(60)))
    assert len({each.commit_ts for each in sent}) == 60
    assert sorted(int(key[0]) for key in emulator.tables()["shop", "clerks"]) == list(range(1, 61))
    server.check_consumer()
