"""What an emulator answers while a call runs that does not end: states at once, other calls after a bounded wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from api_client import SCHEMA, ApiClient

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.base import MessageWriter
from ticdc_emit.delivery.memory import MemorySink, clear
from ticdc_emit.emulator.call_lock import CallLock
from ticdc_emit.emulator.control_api import control_api
from ticdc_emit.emulator.emulator import DEFAULT, Emulator, Sent
from ticdc_emit.emulator.guard import Guard
from ticdc_emit.errors import ServerBusyError

STORE = "busy"
TICDC = "/api/v2"


class _Gate:
    """``closed``: whether the sink blocks; ``reached``: set when a writer waits at it."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        self.opened.set()

    def sink(self, config: Any) -> MemorySink:
        gate = self

        class Blocking(MemorySink):
            def open(self, message_limit: int | None = None) -> MessageWriter:
                if not gate.opened.is_set():
                    gate.reached.set()
                    assert gate.opened.wait(60)
                return super().open(message_limit)

        return Blocking(STORE)


@contextmanager
def _busy_api(call: Callable[[Emulator], object]) -> Iterator[tuple[ApiClient, Callable[[], None]]]:
    """Yield an API of which ``call`` waits in the sink, and what lets it end and waits for that."""
    gate = _Gate()
    config = load_changefeed(f"memory://{STORE}/?protocol=canal-json&enable-tidb-extension=true")
    emulator = Emulator(config, SCHEMA, sinks=gate.sink, heartbeat_s=None, wait_s=0.01)
    with emulator, ThreadPoolExecutor(1) as pool:
        emulator.run_sql("INSERT INTO clerks VALUES (1, 'Ada')")
        gate.opened.clear()
        running = pool.submit(call, emulator)

        def finish() -> None:
            gate.opened.set()
            running.result(60)

        try:
            assert gate.reached.wait(60)
            yield ApiClient(Guard(control_api(emulator)), emulator, STORE), finish
        finally:
            gate.opened.set()
    clear(STORE)


def _long_sql(emulator: Emulator) -> Sent:
    return emulator.run_sql("CREATE TABLE late (id INT PRIMARY KEY); INSERT INTO clerks VALUES (2, 'Ben')")[0]


@pytest.mark.parametrize(
    "path",
    [
        "/health", "/ready", "/settings", "/scenarios", "/traffic", "/messages?last=1",
        f"{TICDC}/status", f"{TICDC}/changefeeds", f"{TICDC}/changefeeds/{DEFAULT}",
    ],
)  # fmt: skip
def test_states_answer_while_a_call_runs(path: str) -> None:
    with _busy_api(_long_sql) as (api, _):
        api.get(path)


def test_messages_sent_so_far_are_those_before_the_call_that_runs() -> None:
    with _busy_api(_long_sql) as (api, finish):
        before = api.get("/messages")["partitions"]
        checkpoint = api.get(f"{TICDC}/changefeeds/{DEFAULT}")["checkpoint_ts"]
        first, second = (api.post(f"{TICDC}/tso", {}) for _ in range(2))
        assert first != second
        finish()
        assert api.get("/messages")["partitions"][0]["sent"] == before[0]["sent"] + 3
        assert api.get(f"{TICDC}/changefeeds/{DEFAULT}")["checkpoint_ts"] > checkpoint


@pytest.mark.parametrize(
    ("call", "running"),
    [
        (_long_sql, "SQL"),
        (lambda emulator: emulator.redeliver(1), "redeliver"),
        (lambda emulator: emulator.reset(), "reset"),
    ],
)
def test_a_call_is_refused_with_the_call_that_runs(call: Callable[[Emulator], object], running: str) -> None:
    with _busy_api(call) as (api, finish):
        answer = api.request("POST", "/sql", json={"sql": "INSERT INTO clerks VALUES (3, 'Cid')"})
        error = answer.json()["error"]
        assert (answer.status_code, answer.headers["retry-after"], error["type"]) == (503, "1", "ServerBusyError")
        assert f"{running} has been running for" in error["message"]
        assert (error["context"]["running"], error["context"]["waiting"]) == (running, "SQL")
        for method, path in (("GET", "/tables"), ("POST", "/reset"), ("POST", "/traffic/start")):
            assert api.refused(method, path)[0] == 503
        finish()
        api.post("/sql", {"sql": "INSERT INTO clerks VALUES (3, 'Cid')"})
        assert {"id": "3", "name": "Cid"} in api.get("/tables")["tables"]["shop.clerks"]


def test_a_reset_during_which_others_ask_the_clock_leaves_a_changefeed_that_sends() -> None:
    with _busy_api(lambda emulator: emulator.reset()) as (api, finish):
        api.emulator.source.clock()
        finish()
        assert api.emulator.run_sql("INSERT INTO clerks VALUES (3, 'Cid')")[0].partitions


def test_calls_of_ticdc_are_refused_in_its_words() -> None:
    with _busy_api(_long_sql) as (api, _):
        status, answer = api.refused("POST", f"{TICDC}/changefeeds/{DEFAULT}/pause")
        assert (status, answer["error_code"]) == (503, "CDC:ErrServerIsNotReady")
        assert answer["error_msg"].startswith("[CDC:ErrServerIsNotReady]the server is busy: SQL")


def test_the_method_raises_and_the_clock_thread_goes_on() -> None:
    with _busy_api(_long_sql) as (api, finish):
        for call in (lambda: api.emulator.tick(), lambda: api.emulator.hold("busy", 0)):
            with pytest.raises(ServerBusyError, match="SQL has been running"):
                call()
        finish()
        api.emulator.tick()


def test_who_comes_again_and_again_lets_a_waiting_call_begin() -> None:
    lock, begun = CallLock(60), threading.Event()

    def call() -> None:
        with lock.held("SQL"):
            begun.set()

    waiting = threading.Thread(target=call, daemon=True)
    with lock.held("what is due"):
        waiting.start()
        while not lock._waiting:  # until the thread waits
            pass
    refused = 0
    while not begun.is_set():
        try:
            with lock.held("what is due", waits=False):
                assert begun.is_set()
        except ServerBusyError:
            refused += 1
    waiting.join()
    with lock.held("what is due", waits=False):
        pass
