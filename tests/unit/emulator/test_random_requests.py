"""Random requests to every path: each is answered, none shows a defect of the server, and the server lives on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from api_client import ApiClient, running_api
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from tests.control_page import openapi_description
from ticdc_emit.delivery.memory import clear

_DESCRIPTION = json.loads(openapi_description())
_CALLS = [(method.upper(), path) for path, methods in _DESCRIPTION["paths"].items() for method in methods]
_MEMBERS = sorted(
    {name for each in _DESCRIPTION["components"]["schemas"].values() for name in each.get("properties", {})}
)
_WORDS = [
    *(
        "default",
        "shop",
        "orders",
        "shop_orders",
        "insert",
        "update",
        "delete",
        "redelivery",
        "blackhole://",
        "",
        "\x00",
    ),
    *("memory://random?protocol=canal-json", "kafka://", "../../etc/passwd", "é" * 40, "a" * 300, "-1", "NULL"),
    "INSERT INTO orders (id) VALUES (1)",
    "UPDATE orders SET id = id + 1; DELETE FROM clerks",
    "CREATE TABLE orders (id INT)",
    "ALTER TABLE orders DROP COLUMN note",
    "DROP TABLE clerks",
    "BEGIN; SELECT 1 FROM",
    "/* ticdc-emit: commit_ts=1 */ INSERT INTO clerks (name) VALUES ('a')",
]
_NAMES = st.sampled_from(
    [*_MEMBERS, "schema", "table", "op", "before", "after", "sink", "filter", "rules", "id", "note"]
)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(_WORDS)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=8,
)
_BODIES = st.dictionaries(_NAMES, _VALUES, max_size=5).map(json.dumps) | _VALUES.map(json.dumps) | st.text(max_size=9)
_STATEMENTS = st.sampled_from([word for word in _WORDS if " " in word])
_REPLICA_CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "filter": st.fixed_dictionaries({}, optional={"rules": st.lists(st.sampled_from(["*.*", "shop.*", "!", "*"]))}),
        "sink": st.dictionaries(st.sampled_from(["protocol", "dispatchers", "kafka_config", "csv"]), _VALUES),
        "ignore_ineligible_table": st.booleans(),
    },
)
_LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "sql": st.lists(_STATEMENTS, max_size=4).map("; ".join),
    "database": st.sampled_from(["shop", "test", "none"]),
    "topic": st.sampled_from(["shop_orders", "shop_clerks", "ticdc", "none"]),
    "partition": st.integers(0, 2),
    "last": st.integers(1, 20),
    "transactions": st.integers(1, 9),
    "checkpoint_ts": st.integers(0, 2**63),
    "rate": st.floats(0.1, 2000.0),
    "changefeed_id": st.sampled_from(["one", "two", "a_b"]),
    "sink_uri": st.sampled_from(["blackhole://", "memory://random?protocol=canal-json", "mysql://root@x/"]),
    "replica_config": _REPLICA_CONFIGS,
}


@st.composite
def _requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], str | None]:
    """Draw a request: half of them have the members of their call, most with values of the right type."""
    method, path = draw(st.sampled_from(_CALLS))
    members = _members(method, path)
    for part in [part for part in path.split("/") if part.startswith("{")]:
        name = draw(st.sampled_from([*_WORDS, "default", "one", "two", "redelivery"]))
        path = path.replace(part, quote(name, safe="") or "none")
    query = draw(st.dictionaries(_NAMES | st.sampled_from(["as", "changefeed"]), st.sampled_from(_WORDS), max_size=2))
    if draw(st.booleans()):
        return method, path, query if draw(st.booleans()) else {}, draw(st.none() | _BODIES)
    names = draw(st.lists(st.sampled_from(sorted(_LIKELY)), unique=True, max_size=len(_LIKELY)))
    own = [name for name in names if name in members]
    return method, path, {}, json.dumps({name: draw(_LIKELY[name] | _VALUES) for name in own})


def _members(method: str, path: str) -> set[str]:
    operation = _DESCRIPTION["paths"].get(path, {}).get(method.lower(), {})
    named = re.findall(r"schemas/(\w+)", json.dumps(operation.get("requestBody", {})))
    return {member for name in named for member in _DESCRIPTION["components"]["schemas"][name].get("properties", {})}


@pytest.fixture(scope="module")
def api() -> Iterator[ApiClient]:
    with running_api(any_sink=True) as client:
        yield client
    clear("random")


@settings(max_examples=examples(2000))
@given(request=_requests())
def test_every_request_is_answered(api: ApiClient, request: tuple[str, str, dict[str, Any], str | None]) -> None:
    method, path, query, body = request
    answer = api.request(method, path, params=query, content=None if body is None else body.encode("utf-8", "replace"))
    content = {} if path == "/metrics" and answer.status_code == 200 else answer.json()
    if path.startswith("/api/v2") and answer.status_code >= 400 and "error" not in content:
        assert content["error_msg"]
        assert content["error_code"] != "CDC:ErrInternalServerError"
    elif answer.status_code >= 400:
        assert answer.status_code < 500 or path == "/ready", content
        assert content["error"]["message"]
        assert content["error"]["type"] != "InternalError"
    assert api.get("/health")["status"] == "ok"


def test_the_server_works_afterwards(api: ApiClient) -> None:
    api.post("/reset")
    sent = api.post("/sql", {"sql": "INSERT INTO shop.orders VALUES (1, 'a', 'new')"})
    assert (sent["rows"], sent["state"]) == (1, "normal")
