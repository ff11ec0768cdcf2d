"""TiCDC's OpenAPI v2 over an emulator: the requests of TiCDC's documentation and of ``cdc cli``, and TiCDC's errors."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_client import ApiClient, running_api

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.emulator import ticdc_api
from ticdc_emit.emulator.ticdc_api import TicdcRefusal, refuse_outside
from ticdc_emit.tso import compose

FEEDS = "/api/v2/changefeeds"
BLACKHOLE = "blackhole://"


@pytest.fixture
def api() -> Iterator[ApiClient]:
    with running_api(any_sink=True) as client:
        yield client
        for name in ("one", "two"):
            clear(f"{client.store}-{name}")


def _uri(api: ApiClient, name: str = "one", parameters: str = "protocol=canal-json") -> str:
    return f"memory://{api.store}-{name}/?{parameters}"


def _create(api: ApiClient, name: str = "one", **body: Any) -> Any:
    return api.post(FEEDS, {"changefeed_id": name, "sink_uri": _uri(api, name), **body})


def _inserted(api: ApiClient, name: str = "one") -> list[str]:
    """The ids of the orders that a changefeed has inserted, in order."""
    values = [json.loads(each.value or b"") for each in messages(f"{api.store}-{name}")]
    return [value["data"][0]["id"] for value in values if value["type"] == "INSERT"]


def _insert(api: ApiClient, *ids: int, table: str = "orders") -> Any:
    others = {"orders": "'a', 'new'", "clerks": "'Ada'"}[table]
    rows = ", ".join(f"({number}, {others})" for number in ids)
    return api.post("/sql", {"sql": f"INSERT INTO {table} VALUES {rows}"})


# what TiCDC's documentation shows, in its order (docs.pingcap.com/tidb/stable/ticdc-open-api-v2), and the answer's keys
DOCUMENTED = (
    ("curl -X GET http://127.0.0.1:8300/api/v2/status", {"version", "git_hash", "id", "pid", "is_owner", "liveness"}),
    (
        "curl -X POST -H \"'Content-type':'application/json'\" http://127.0.0.1:8300/api/v2/changefeeds "
        '-d \'{"changefeed_id":"test5","sink_uri":"blackhole://"}\'',
        {"checkpoint_time", "checkpoint_ts", "create_time", "creator_version", "id", "resolved_ts", "state"},
    ),
    ("curl -X DELETE http://127.0.0.1:8300/api/v2/changefeeds/test1", set[str]()),
    ("curl -X GET http://127.0.0.1:8300/api/v2/changefeeds?state=normal", {"total", "items"}),
    ("curl -X GET http://127.0.0.1:8300/api/v2/changefeeds/test1", {"id", "sink_uri", "start_ts", "state"}),
    ("curl -X POST http://127.0.0.1:8300/api/v2/changefeeds/test1/pause", set[str]()),
    ("curl -X POST http://127.0.0.1:8300/api/v2/changefeeds/test1/resume -d '{}'", set[str]()),
)


@pytest.mark.parametrize(("command", "keys"), DOCUMENTED)
def test_the_requests_of_ticdcs_documentation(api: ApiClient, command: str, keys: set[str]) -> None:
    api.post(FEEDS, {"changefeed_id": "test1", "sink_uri": BLACKHOLE})
    answer = api.curl(command)
    assert answer.status_code == 200, answer.text
    assert keys <= answer.json().keys()
    assert keys or answer.json() == {}


DEFAULTS = json.loads(Path(__file__).with_name("cdc_cli.json").read_text(encoding="utf-8"))
"""All options that ``cdc cli`` sends, with its own values."""


@pytest.mark.parametrize("release", ["8.5.3", "next"])
def test_cdc_cli_creates_a_changefeed(release: str) -> None:
    """``cdc cli changefeed create`` asks for a TSO, verifies the tables, and sends all defaults with its own values."""
    with running_api(any_sink=True, release=release) as api:
        assert re.fullmatch(r"v8\.5\.3|v\d+\.\d+\.\d+", api.get("/api/v2/status")["version"])
        tso = api.post("/api/v2/tso", {"ca_path": "", "cert_path": "", "key_path": "", "id": 0})
        start = compose(tso["timestamp"], tso["logic_time"])
        body = {"sink_uri": _uri(api, "one", ""), "start_ts": start, "replica_config": DEFAULTS}
        verified = api.post("/api/v2/verify_table", body)
        assert [table["table_name"] for table in verified["eligible_tables"]] == ["orders"]
        info = api.post(FEEDS, {**body, "changefeed_id": "one", "namespace": "default", "target_ts": 0})
        assert (info["state"], info["start_ts"], info["checkpoint_ts"]) == ("normal", start, start)
        assert dt.datetime.fromisoformat(f"{info['checkpoint_time']}+00:00").timestamp() * 1000 == tso["timestamp"]
        _insert(api, 1)
        _insert(api, 7, table="clerks")
        found = messages(f"{api.store}-one")
        assert {each.topic for each in found} == {"ticdc", "shop_orders"}
        assert any(b'"_tidb"' in (each.value or b"") for each in found)
        assert _inserted(api) == ["1"]
        clear(f"{api.store}-one")


def test_a_changefeed_is_paused_and_resumed(api: ApiClient) -> None:
    _create(api)
    _insert(api, 1)
    assert api.post(f"{FEEDS}/one/pause") == {}
    paused = api.get(f"{FEEDS}/one")
    assert paused["state"] == "stopped"
    _insert(api, 2)
    assert _inserted(api) == ["1"]
    assert api.get(f"{FEEDS}/one")["checkpoint_ts"] == paused["checkpoint_ts"]
    assert api.post(f"{FEEDS}/one/resume", "{}") == {}
    assert _inserted(api) == ["1", "2"]
    assert api.get(f"{FEEDS}/one")["state"] == "normal"


def test_the_servers_own_changefeed_is_paused_and_resumed(api: ApiClient) -> None:
    api.post(f"{FEEDS}/default/pause")
    sent = _insert(api, 1)
    assert (sent["state"], sent["messages"], sent["rows"]) == ("stopped", 0, 1)
    api.post(f"{FEEDS}/default/resume", "{}")
    assert b'"INSERT"' in b"".join(each.value or b"" for each in messages(api.store))
    assert _insert(api, 2)["state"] == "normal"


def test_a_resumed_changefeed_may_begin_at_another_checkpoint(api: ApiClient) -> None:
    start = _create(api)["start_ts"]
    _insert(api, 1)
    api.post(f"{FEEDS}/one/pause")
    second = _insert(api, 2)["commit_ts"]
    api.post(f"{FEEDS}/one/resume", {"overwrite_checkpoint_ts": start})
    assert _inserted(api) == ["1", "1", "2"]
    api.post(f"{FEEDS}/one/pause")
    _insert(api, 3)
    skipped = _insert(api, 4)["commit_ts"]
    api.post(f"{FEEDS}/one/resume", {"overwrite_checkpoint_ts": skipped - 1})
    assert second < skipped
    assert _inserted(api) == ["1", "1", "2", "4"]


def test_a_changefeed_begins_at_its_start_and_ends_at_its_target(api: ApiClient) -> None:
    start = _insert(api, 1)["commit_ts"]
    last = _insert(api, 2)["commit_ts"]
    _insert(api, 3)
    _create(api, start_ts=start, target_ts=last)
    assert _inserted(api) == ["2"]
    assert api.get(f"{FEEDS}/one")["state"] == "finished"
    listed = {each["id"] for each in api.get(FEEDS)["items"]}
    assert listed == {"default"}
    assert {each["id"] for each in api.get(f"{FEEDS}?state=all")["items"]} == {"default", "one"}
    assert [each["id"] for each in api.get(f"{FEEDS}?state=finished")["items"]] == ["one"]


def test_removing_is_idempotent_and_spares_the_servers_own(api: ApiClient) -> None:
    _create(api)
    for _ in range(2):
        assert api.request("DELETE", f"{FEEDS}/one").json() == {}
    _insert(api, 1)
    assert _inserted(api) == []
    assert api.request("DELETE", f"{FEEDS}/default").status_code == 400


KAFKA = "kafka://127.0.0.1:9092/t?protocol=canal-json"
REFUSED: tuple[tuple[str | None, dict[str, Any], int, str], ...] = (
    (None, {}, 400, "[CDC:ErrSinkURIInvalid]sink uri invalid 'sink_uri is empty, cannot create a changefeed without "
     "sink_uri'"),
    (BLACKHOLE, {"changefeed_id": "a_b"}, 400, "[CDC:ErrAPIInvalidParam]invalid changefeed_id: a_b"),
    (BLACKHOLE, {"changefeed_id": "default"}, 500,
     "[CDC:ErrChangeFeedAlreadyExists]changefeed already exists, default"),
    (KAFKA.replace("canal-json", "nope"), {}, 500,
     "[CDC:ErrSinkUnknownProtocol]unknown 'nope' message protocol for sink"),
    (KAFKA.replace("/t?", "/?"), {}, 500, "[CDC:ErrKafkaInvalidConfig]no topic is specified in sink-uri"),
    (KAFKA, {"replica_config": {"case_sensitive": "yes"}}, 400,
     "[CDC:ErrAPIInvalidParam]invalid api parameter: case-sensitive: expected boolean, got string"),
    (BLACKHOLE, {"target_ts": 5}, 400,
     r"[CDC:ErrTargetTsBeforeStartTs]fail to create changefeed because target-ts 5 is earlier than start-ts \d+"),
    (BLACKHOLE, {"start_ts": 5}, 400,
     r"[CDC:ErrStartTsBeforeGC]fail to create or maintain changefeed because start-ts 5 is earlier than or equal to "
     r"GC safepoint at \d+"),
    (BLACKHOLE, {"start_ts": 1 << 62}, 400,
     rf"[CDC:ErrAPIInvalidParam]invalid start-ts {1 << 62}, larger than current tso \d+"),
    (KAFKA, {"replica_config": {"filter": {"rules": ["*"]}}}, 400, r"[CDC:ErrFilterRuleInvalid].*"),
    (f"{KAFKA.replace('9092', '1')}&dial-timeout=1s", {}, 500,
     "[CDC:ErrKafkaNewProducer]new kafka producer: no Kafka broker of 127.0.0.1:1.*"),
    ("file:///tmp/none?protocol=csv", {}, 400, "[CDC:ErrSinkURIInvalid].*file:// is for files.*"),
)  # fmt: skip


@pytest.mark.parametrize(("uri", "body", "status", "text"), REFUSED)
def test_errors_have_ticdcs_words(
    api: ApiClient, uri: str | None, body: dict[str, Any], status: int, text: str
) -> None:
    code, answer = api.refused("POST", FEEDS, json=body if uri is None else {"sink_uri": uri, **body})
    pattern = text.replace("[CDC", r"\[CDC")
    assert re.fullmatch(pattern, answer["error_msg"]) or answer["error_msg"] == text
    assert (code, answer["error_code"]) == (status, answer["error_msg"][1:].partition("]")[0])
    assert [each["id"] for each in api.get(FEEDS)["items"]] == ["default"]


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", f"{FEEDS}/none", None, "[CDC:ErrChangeFeedNotExists]changefeed not exists, default/none"),
        ("POST", f"{FEEDS}/none/pause", None, "[CDC:ErrChangeFeedNotExists]changefeed not exists, default/none"),
        ("DELETE", f"{FEEDS}/a_b", None, "[CDC:ErrAPIInvalidParam]invalid changefeed_id: a_b"),
        ("POST", FEEDS, {"start_ts": "x"}, "[CDC:ErrAPIInvalidParam]invalid api parameter: start_ts"),
        ("POST", f"{FEEDS}/default/resume", None, "[CDC:ErrAPIInvalidParam]invalid api parameter"),
    ],
)
def test_errors_of_other_calls(api: ApiClient, method: str, path: str, body: Any, text: str) -> None:
    answer = api.request(method, path, json=body) if body is not None else api.request(method, path)
    assert answer.status_code == 400
    assert answer.json()["error_msg"].startswith(text)


@pytest.mark.filterwarnings("ignore::ticdc_emit.pipeline.plan.table_plans.KeylessTableWarning")
def test_tables_without_a_key_are_refused_unless_they_are_ignored() -> None:
    schema = "CREATE TABLE shop.logs (note INT); CREATE TABLE shop.t (id INT PRIMARY KEY);"
    with running_api(schema=schema, any_sink=True) as api:
        body = {"changefeed_id": "one", "sink_uri": _uri(api)}
        verified = api.post("/api/v2/verify_table", {"sink_uri": _uri(api)})
        assert [table["table_name"] for table in verified["ineligible_tables"]] == ["logs"]
        code, answer = api.refused("POST", FEEDS, json=body)
        assert (code, answer["error_msg"]) == (
            400,
            "[CDC:ErrTableIneligible]some tables are not eligible to replicate([shop.logs]), if you want to ignore "
            "these tables, please set ignore_ineligible_table to true",
        )
        assert api.post(FEEDS, {**body, "replica_config": {"ignore_ineligible_table": True}})["id"] == "one"
        clear(f"{api.store}-one")


def test_answers_show_no_secret(api: ApiClient) -> None:
    uri = "kafka://127.0.0.1:1/t?protocol=canal-json&sasl-user=u&sasl-password=hunter2&sasl-mechanism=plain"
    _, answer = api.refused("POST", FEEDS, json={"sink_uri": f"{uri}&dial-timeout=1s"})
    assert "hunter2" not in json.dumps(answer)
    config = {"sink": {"kafka_config": {"sasl_password": "hunter2"}}}
    info = api.post(FEEDS, {"changefeed_id": "one", "sink_uri": _uri(api), "replica_config": config})
    assert "hunter2" not in json.dumps(info)


CLAIMS = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": "file:///etc"}
OAUTH = {
    "sasl-mechanism": "OAUTHBEARER", "sasl-oauth-client-id": "a", "sasl-oauth-client-secret": "Yg==",
    "sasl-oauth-token-url": "http://10.0.0.1/",
}  # fmt: skip
AVRO = "kafka://127.0.0.1:9092/t?protocol=avro"
OUTSIDE: tuple[tuple[str, dict[str, Any], str], ...] = (
    (KAFKA.replace("127.0.0.1", "10.0.0.1"), {}, "10.0.0.1:9092"),
    (KAFKA.replace("/t", ",evil:1/t"), {}, "evil:1"),
    (f"{KAFKA}&ca=/etc/passwd&cert=/a&key=/b", {}, "ca, cert, key"),
    ("jsonl:///tmp/out?protocol=canal-json", {}, "jsonl://"),
    ("file:///tmp/out?protocol=csv", {}, "file://"),
    ("s3://bucket/out?protocol=csv", {}, "s3://"),
    ("stdout://?protocol=canal-json", {}, "stdout://"),
    ("memory://x?protocol=canal-json", {}, "memory://"),
    (f"{AVRO}&schema-registry=http://10.0.0.1:80", {}, "10.0.0.1:80"),
    (f"{AVRO}&schema-registry=http://127.0.0.1@evil:80", {}, "evil:80"),
    (f"{KAFKA}&sasl-mechanism=gssapi&sasl-gssapi-keytab-path=/etc/keytab&sasl-gssapi-auth-type=keytab", {},
     "sasl-gssapi-keytab-path"),
    (f"{KAFKA}&enable-tidb-extension=true", {"large-message-handle": CLAIMS}, "claim-check-storage-uri"),
    (KAFKA, OAUTH, "sasl-oauth-token-url"),
    (AVRO, {"glue-schema-registry-config": {"registry-name": "a", "region": "b"}}, "glue-schema-registry-config"),
)  # fmt: skip


@pytest.mark.parametrize(("uri", "kafka", "named"), OUTSIDE)
def test_a_changefeed_may_not_reach_outside(uri: str, kafka: dict[str, Any], named: str) -> None:
    config = load_changefeed(uri, {"sink": {"kafka-config": kafka}})
    with pytest.raises(TicdcRefusal, match=re.escape(named)):
        refuse_outside(config, {"kafka:9092"})


@pytest.mark.parametrize(
    "uri",
    [
        "kafka://127.0.0.1:9092/t?protocol=canal-json",
        "kafka://localhost:1,kafka:9092/t?protocol=canal-json",
        "kafka://[::1]:9092/t?protocol=avro&schema-registry=http://registry:8081",
    ],
)
def test_the_served_kafka_and_loopback_are_allowed(uri: str) -> None:
    refuse_outside(load_changefeed(uri), {"kafka:9092", "registry:8081"})


@pytest.mark.parametrize("path", [FEEDS, "/api/v2/verify_table"])
def test_the_limits_hold_for_each_call(path: str) -> None:
    with running_api() as api:
        code, answer = api.refused("POST", path, json={"sink_uri": "kafka://10.0.0.1:9092/t?protocol=canal-json"})
        assert (code, answer["error_code"]) == (400, "CDC:ErrSinkURIInvalid")
        assert "--control-any-sink" in answer["error_msg"]


def test_so_many_changefeeds_are_allowed(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticdc_api, "MOST_CHANGEFEEDS", 2)
    api.post(FEEDS, {"sink_uri": BLACKHOLE})
    code, answer = api.refused("POST", FEEDS, json={"sink_uri": BLACKHOLE})
    assert (code, answer["error_msg"]) == (400, "[CDC:ErrAPIInvalidParam]this server runs at most 2 changefeeds")


def test_a_reset_lets_every_changefeed_begin_anew(api: ApiClient) -> None:
    _create(api)
    _insert(api, 1)
    api.post(f"{FEEDS}/one/pause")
    api.post("/reset")
    assert api.get(f"{FEEDS}/one")["state"] == "normal"
    _insert(api, 1)
    assert _inserted(api) == ["1", "1"]
