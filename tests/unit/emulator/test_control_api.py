"""The control API over an emulator in memory: every endpoint, its errors, and its description."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_client import SCHEMA, ApiClient, running_api

from tests.control_page import openapi_description
from ticdc_emit.config import Secret
from ticdc_emit.delivery.memory import messages
from ticdc_emit.emulator.control_api import control_api
from ticdc_emit.emulator.emulator import Emulator
from ticdc_emit.emulator.guard import Guard
from ticdc_emit.errors import DeliveryError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def api() -> Iterator[ApiClient]:
    with running_api() as client:
        yield client


def _types(api: ApiClient, sent: dict[str, Any]) -> list[str]:
    """The kinds of the Canal-JSON messages that a call has sent."""
    ends = {(p["topic"], p["partition"]): p for p in sent["partitions"]}
    types = []
    for message in messages(api.store):
        place = ends.get((message.topic, message.partition))
        if place and place["end_offset"] - place["messages"] <= message.offset < place["end_offset"]:
            types.append(json.loads(message.value or b"")["type"])
    return sorted(kind for kind in types if kind != "TIDB_WATERMARK")


def test_health_comes_before_readiness() -> None:
    with running_api(started=False) as api:
        assert api.get("/health") == {"status": "ok", "retained_bytes": 0, "retain_bytes": 128 << 20}
        answer = api.request("GET", "/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "starting"})
        api.emulator.start()
        assert api.get("/ready") == {"status": "ready"}


def test_a_failed_changefeed_is_not_ready_and_says_why_to_those_who_may_know(api: ApiClient) -> None:
    with running_api("protocol=canal-json&max-message-bytes=500", SCHEMA.replace("(20)", "(2000)")) as api:
        status, body = api.refused("POST", "/sql", json={"sql": f"INSERT INTO clerks VALUES (1, '{'x' * 500}')"})
        assert (status, body["error"]["type"]) == (400, "MessageTooLargeError")
        status, shown = api.refused("GET", "/ready")
        assert (status, shown["status"], shown["error"]["type"]) == (503, "failed", "MessageTooLargeError")
        assert shown["error"]["changefeed"] == "default"
        guarded = Guard(control_api(api.emulator), token=Secret("0123456789abcdef"))
        other = ApiClient(guarded, api.emulator, api.store)
        assert other.refused("GET", "/ready") == (503, {"status": "failed"})
        token = {"Authorization": "Bearer 0123456789abcdef"}
        assert "error" in other.refused("GET", "/ready", headers=token)[1]
        api.post("/reset")
        assert api.get("/ready") == {"status": "ready"}


def test_answers_count_rows_by_partition_and_rows_come_again_alone(api: ApiClient) -> None:
    for number in (1, 2, 3):
        sent = api.post("/sql", {"sql": f"INSERT INTO clerks VALUES ({number}, 'Ada')"})
    assert sorted((p["messages"], p["rows"]) for p in sent["partitions"])[-1] == (2, 1)
    assert sum(p["rows"] for p in sent["partitions"]) == 1
    for _ in range(5):
        api.post("/sql", {"sql": "UPDATE clerks SET name = 'Eve' WHERE id = 99"})  # watermarks
    again = api.post("/redeliver", {"last": 2, "rows_only": True, "topic": "shop_clerks"})
    assert _types(api, again) == ["INSERT"] * again["messages"]
    assert sum(p["rows"] for p in again["partitions"]) == again["messages"] >= 2
    watermarks = api.post("/redeliver", {"last": 2, "topic": "shop_orders"})
    assert [(p["messages"], p["rows"]) for p in watermarks["partitions"]] == [(2, 0), (2, 0)]


@pytest.mark.parametrize(
    "parameters",
    ["protocol=simple", "protocol=open-protocol", "protocol=debezium", "protocol=simple&encoding-format=avro"],
)
def test_rows_are_counted_in_messages_of_every_protocol(parameters: str) -> None:
    with running_api(parameters) as api:
        sent = api.post(
            "/sql", {"sql": "INSERT INTO clerks VALUES (1, 'Ada'), (2, 'Eve'); CREATE TABLE shop.t (a INT PRIMARY KEY)"}
        )
        assert sum(p["rows"] for p in sent["partitions"]) == sent["rows"] == 2


def test_metrics_are_those_of_a_changefeed(api: ApiClient) -> None:
    api.post("/sql", {"sql": "INSERT INTO clerks VALUES (1, 'Ada'), (2, 'Eve')"})
    answer = api.request("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    text = answer.text
    names = set(re.findall(r"`(ticdc_\w+)`", (ROOT / "docs/operations.md").read_text("utf-8")))
    assert len(names) == 14
    assert {name for name in names if f"# TYPE {name} " not in text} == set()
    assert 'ticdc_sink_table_sink_total_rows_count{changefeed="default",namespace="default"} 2.0' in text


def test_what_is_kept_is_bounded_reported_and_given_up(api: ApiClient) -> None:
    with running_api(retain_bytes=1 << 20) as api:
        for number in range(50):
            api.post("/sql", {"sql": f"INSERT INTO orders VALUES ({number}, 'a', 'new')"})
        first = api.get("/health")
        assert (first["retain_bytes"], first["retained_bytes"] > 500_000) == (1 << 20, True)
        for number in range(50, 120):
            api.post("/sql", {"sql": f"INSERT INTO orders VALUES ({number}, 'a', 'new')"})
        assert first["retained_bytes"] < api.get("/health")["retained_bytes"] <= 1 << 20
        assert api.refused("POST", "/restart", json={"checkpoint_ts": 1})[0] == 409
        api.post("/reset")
        assert api.get("/health")["retained_bytes"] == 0


def test_sql_is_executed_and_what_was_sent_is_told(api: ApiClient) -> None:
    sent = api.post("/sql", {"sql": "INSERT INTO clerks (name) VALUES ('Ada'); UPDATE clerks SET name = 'Eve'"})
    assert [(each["kind"], each["affected_rows"], each["last_insert_id"]) for each in sent["statements"]] == [
        ("insert", 1, 1), ("update", 1, None),
    ]  # fmt: skip
    assert _types(api, sent) == ["INSERT", "UPDATE"]
    assert (sent["rows"], sent["state"]) == (2, "normal")
    assert sent["commit_ts"] == sent["statements"][1]["commit_ts"] > sent["statements"][0]["commit_ts"]
    assert sent["messages"] == sum(each["messages"] for each in sent["partitions"])


def test_an_sql_error_names_number_place_and_remedy(api: ApiClient) -> None:
    script = "INSERT INTO clerks VALUES (1, 'Ada'); INSERT INTO clerks VALUES (1, 'Ben')"
    status, body = api.refused("POST", "/sql", json={"sql": script})
    error = body["error"]
    assert (status, error["type"], error["code"]) == (400, "StatementError", 1062)
    assert "Ben" in error["context"]["statement"]
    assert error["message"]
    assert (body["rows"], _types(api, body)) == (1, ["INSERT"])
    assert api.get("/tables")["tables"]["shop.clerks"] == [{"id": "1", "name": "Ada"}]


def test_tables_in_both_forms(api: ApiClient) -> None:
    api.post("/sql", {"sql": "INSERT INTO orders VALUES (1, NULL, 'paid')"})
    canonical, shown = api.get("/tables"), api.get("/tables?as=messages")
    assert canonical["tables"] == {"shop.clerks": [], "shop.orders": [{"id": "1", "note": None, "state": "paid"}]}
    assert shown["tables"]["shop.orders"] == [{"id": "1", "note": None, "state": "2"}]
    assert canonical["keys"] == {"shop.clerks": ["id"], "shop.orders": ["id"]}


def test_what_was_sent_by_topic_partition(api: ApiClient) -> None:
    sent = api.post("/sql", {"sql": "INSERT INTO orders VALUES (1, 'é', 'new')"})
    found = api.get("/messages?topic=shop_orders")
    kept = {(each.topic, each.partition, each.offset): each for each in messages(api.store)}
    for message in found["messages"]:
        known = kept[message["topic"], message["partition"], message["offset"]]
        assert base64.b64decode(message["value"]) == known.value
        assert message["key"] == ("" if known.key == b"" else None)
    states = {each["partition"]: each for each in found["partitions"]}
    assert set(states) == {0, 1}
    (filled,) = [p for p in sent["partitions"] if p["topic"] == "shop_orders" and p["messages"] == 2]
    assert states[filled["partition"]]["end_offset"] == filled["end_offset"]
    texts = api.get(f"/messages?topic=shop_orders&partition={filled['partition']}&last=2&text=true")["messages"]
    assert [json.loads(each["value"])["type"] for each in texts] == ["INSERT", "TIDB_WATERMARK"]
    assert "é" in texts[0]["value"]


def test_delivery_can_repeat_hold_release_and_restart(api: ApiClient) -> None:
    sent = api.post("/sql", {"sql": "INSERT INTO orders VALUES (1, 'a', 'new')"})
    (filled,) = [p for p in sent["partitions"] if p["topic"] == "shop_orders" and p["messages"] == 2]
    place = {"topic": "shop_orders", "partition": filled["partition"]}
    assert _types(api, api.post("/redeliver", {"last": 2, **place})) == ["INSERT"]
    assert api.post("/redeliver")["messages"] == 6
    assert api.post("/hold", place) == {"held": [{**place, "messages": 0}]}
    assert _types(api, api.post("/sql", {"sql": "UPDATE orders SET note = 'b'"})) == []
    assert [p["held"] for p in api.get("/messages?topic=shop_orders")["partitions"] if p["held"]] == [2]
    assert _types(api, api.post("/release")) == ["UPDATE"]
    assert _types(api, api.post("/restart", {"transactions": 2})) == ["INSERT", "UPDATE"]
    assert _types(api, api.post("/restart", {"checkpoint_ts": sent["commit_ts"]})) == ["UPDATE"]
    assert _types(api, api.post("/restart")) == []


def test_a_scenario_by_name(api: ApiClient) -> None:
    names = {each["name"] for each in api.get("/scenarios")}
    assert "redelivery" in names
    made = api.post("/scenarios/redelivery", {"seed": 4, "topic": "mine"})
    assert made["topics"] == {"mine": 2}
    assert sum(p["messages"] for p in made["partitions"]) == len([m for m in messages(api.store) if m.topic == "mine"])
    assert made["expected"]["shop.orders"]
    assert made["keys"] == {"shop.orders": ["id"]}
    assert (made["refusal"], made["producer_refused"], made["commit_ts"]) == (None, None, None)
    assert api.refused("POST", "/scenarios/nope")[0] == 404


def test_traffic_is_started_and_stopped(api: ApiClient) -> None:
    assert api.get("/traffic") == {"running": False, "rate": 10.0, "rows": 0, "error": None}
    assert api.post("/traffic/start", {"rate": 500})["running"]
    assert api.post("/traffic/start", {"rate": 1000.0})["rate"] == 1000.0
    api.emulator.tick()
    state = api.post("/traffic/stop")
    assert not state["running"]
    assert api.get("/traffic") == state
    assert api.refused("POST", "/traffic/start", json={"rate": 0})[0] == 422
    assert api.refused("POST", "/traffic/start", json={"rate": 1e9})[0] == 400


def test_a_server_without_tables_gets_them_by_sql() -> None:
    with running_api(schema="") as api:
        assert api.refused("POST", "/traffic/start")[0] == 400
        script = "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); INSERT INTO shop.t VALUES (1)"
        sent = api.post("/sql", {"sql": script})
        assert "INSERT" in _types(api, sent)
        assert "shop_t" in {place["topic"] for place in sent["partitions"]}
        api.post("/reset")
        assert api.get("/tables")["tables"] == {}
        assert "INSERT" in _types(api, api.post("/sql", {"sql": script}))


def test_another_changefeed_is_named_in_the_query(api: ApiClient) -> None:
    with running_api(any_sink=True) as api:
        body = {"changefeed_id": "two", "sink_uri": f"memory://{api.store}-two/?protocol=canal-json"}
        api.post("/api/v2/changefeeds", body)
        api.post("/sql", {"sql": "INSERT INTO orders VALUES (1, 'a', 'new')"})
        found = api.get("/messages?changefeed=two")
        assert {each["topic"] for each in found["messages"]} == {"ticdc"}
        assert api.post("/redeliver?changefeed=two", {"last": 1})["messages"] == 1
        assert api.refused("GET", "/messages?changefeed=nope")[0] == 404


WRONG = Path(__file__).with_name("wrong_requests.txt").read_text(encoding="utf-8").splitlines()
"""A method, a path, a body, the status, and words of the error."""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_requests_are_refused_and_change_nothing(api: ApiClient, line: str) -> None:
    method, path, content, status, words = line.split(" | ")
    body = json.loads(content or "null")
    before = len(messages(api.store))
    answer = api.request(method, path, json=body) if body is not None else api.request(method, path)
    assert answer.status_code == int(status), answer.text
    error = answer.json()["error"]
    assert words in error["message"] + error["remedy"]
    assert error["remedy"]
    assert len(messages(api.store)) == before


def test_a_sink_that_fails_is_502_and_then_409(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise DeliveryError("kafka://user:secret@host is gone", remedy="Start it", password="secret")

    monkeypatch.setattr("ticdc_emit.delivery.memory.MemoryWriter.settle", fail)
    status, answer = api.refused("POST", "/sql", json={"sql": "INSERT INTO orders VALUES (1, 'a', 'new')"})
    assert (status, answer["error"]["type"]) == (502, "DeliveryError")
    assert "user:secret" not in answer["error"]["message"]
    assert api.refused("POST", "/sql", json={"sql": "INSERT INTO orders VALUES (2, 'a', 'new')"})[0] == 409


def test_a_defect_shows_no_traceback(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(Emulator, "reset", fail)
    status, answer = api.refused("POST", "/reset")
    assert (status, answer["error"]["type"]) == (500, "InternalError")
    assert "secret" not in json.dumps(answer)


def test_the_description_in_the_documentation_is_current() -> None:
    described = (ROOT / "docs" / "control-openapi.json").read_text(encoding="utf-8")
    assert described == openapi_description(), "python -m tests.control_page"


def test_the_server_gives_the_description(api: ApiClient) -> None:
    assert api.get("/openapi.json") == json.loads(openapi_description())
