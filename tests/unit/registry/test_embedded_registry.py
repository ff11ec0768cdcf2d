"""The embedded registry: as Confluent's own clients see it, and what it refuses."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import fastavro
import httpx
import pytest
import trustme
from vector_files import load_vector

from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, MissingDependencyError, RegistryError
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.http import RegistryTls
from ticdc_emit.testing import EmbeddedRegistry

HTTP = httpx.Client(trust_env=False, verify=False)


def record(*fields: dict[str, Any], name: str = "t") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "default.test", "fields": fields})


ID = {"name": "id", "type": {"type": "int", "connect.parameters": {"tidb_type": "INT"}}}
NULLABLE = {"default": None, "name": "a", "type": ["null", "string"]}
MUST = {"name": "must", "type": "int"}
BASE, WIDER, STRICTER = record(ID), record(ID, NULLABLE), record(ID, MUST)


def post(registry: EmbeddedRegistry, path: str, content: Any) -> tuple[int, Any]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = HTTP.post(registry.url + path, content=body)
    return answer.status_code, answer.json()


def get(registry: EmbeddedRegistry, path: str) -> tuple[int, Any]:
    answer = HTTP.get(registry.url + path)
    return answer.status_code, answer.json()


def test_ids_are_one_per_schema_text_and_versions_count_in_a_subject() -> None:
    with EmbeddedRegistry() as embedded, ConfluentRegistry(embedded.url) as registry:
        assert [registry.register("a", BASE).id, registry.register("a", WIDER).id] == [1, 2]
        assert [registry.register("b/ü", WIDER).id, registry.register("a", BASE).id] == [2, 1]
        assert get(embedded, "/subjects") == (200, ["a", "b/ü"])
        assert get(embedded, "/subjects/a/versions") == (200, [1, 2])
        status, version = get(embedded, "/subjects/b%2F%C3%BC/versions/latest")
        assert (status, version["id"], version["version"], version["subject"]) == (200, 2, 1, "b/ü")
        assert json.loads(version["schema"]) == json.loads(WIDER)


@pytest.mark.parametrize("case", ["schema_evolution_avro", "names_avro", "checksum_all_types", "ddl_lifecycle"])
def test_the_ids_of_the_vectors(case: str) -> None:
    for variant in load_vector(case)["variants"]:
        posted = [one for one in variant.get("registrations") or [] if one.get("id")]
        if posted:
            with EmbeddedRegistry("NONE") as embedded, ConfluentRegistry(embedded.url) as registry:
                ids = [registry.register(one["subject"], one["schema"]).id for one in posted]
            assert ids == [one["id"] for one in posted]


@pytest.mark.parametrize(
    ("level", "steps", "taken"),
    [
        ("BACKWARD", (BASE, WIDER), True),
        ("BACKWARD", (WIDER, BASE), True),
        ("BACKWARD", (BASE, STRICTER), False),
        ("FORWARD", (BASE, STRICTER), True),
        ("FORWARD", (STRICTER, BASE), False),
        ("FULL", (BASE, WIDER), True),
        ("FULL", (STRICTER, BASE), False),
        ("FULL", (BASE, STRICTER), False),
        ("NONE", (BASE, STRICTER), True),
        ("BACKWARD", (BASE, record(ID, name="other")), False),
        ("BACKWARD", (record({"name": "a", "type": "int"}), record({"name": "a", "type": "long"})), True),
        ("BACKWARD", (record({"name": "a", "type": "long"}), record({"name": "a", "type": "int"})), False),
        ("BACKWARD", (record(NULLABLE), record({"name": "a", "type": "string"})), False),
        # Only against all versions: the second drops the field that the third brings back with another type.
        ("BACKWARD", (record(MUST), record(), record({**MUST, "type": "string", "default": ""})), True),
        ("BACKWARD_TRANSITIVE", (record(MUST), record(), record({**MUST, "type": "string", "default": ""})), False),
        ("FORWARD_TRANSITIVE", (record(ID, MUST), record(ID, MUST, NULLABLE), record(ID)), False),
    ],
)
def test_compatibility(level: str, steps: tuple[str, ...], taken: bool) -> None:
    with EmbeddedRegistry() as embedded, ConfluentRegistry(embedded.url) as registry:
        assert HTTP.put(embedded.url + "/config/s", json={"compatibility": level}).json() == {"compatibility": level}
        *before, last = steps
        for schema in before:
            registry.register("s", schema)
        status, answer = post(embedded, "/compatibility/subjects/s/versions?verbose=true", {"schema": last})
        assert (status, answer["is_compatible"], not answer["messages"]) == (200, taken, taken)
        if taken:
            registry.register("s", last)
        else:
            with pytest.raises(IncompatibleSchemaError, match=level) as refused:
                registry.register("s", last)
            assert refused.value.subject == "s"
        assert get(embedded, "/subjects/s/versions") == (200, list(range(1, len(before) + taken + 1)))


def test_levels_are_global_or_of_a_subject() -> None:
    with EmbeddedRegistry("none") as embedded:
        assert get(embedded, "/config") == (200, {"compatibilityLevel": "NONE"})
        assert get(embedded, "/config/s")[1]["error_code"] == 40408
        assert get(embedded, "/config/s?defaultToGlobal=true") == (200, {"compatibilityLevel": "NONE"})
        HTTP.put(embedded.url + "/config", json={"compatibility": "full"})
        HTTP.put(embedded.url + "/config/s", json={"compatibility": "forward"})
        assert get(embedded, "/config") == (200, {"compatibilityLevel": "FULL"})
        assert get(embedded, "/config/s") == (200, {"compatibilityLevel": "FORWARD"})
        refused = HTTP.put(embedded.url + "/config", json={"compatibility": "SOME"})
        assert (refused.status_code, refused.json()["error_code"]) == (422, 42203)
    with pytest.raises(ConfigError, match="SOME"):
        EmbeddedRegistry("SOME")


@pytest.mark.parametrize(
    ("path", "content", "status", "code"),
    [
        ("/subjects/s/versions", {"schema": "{"}, 422, 42201),
        ("/subjects/s/versions", {"schema": '{"type":"recrd"}'}, 422, 42201),
        ("/subjects/s/versions", {"schema": '{"type":"record","name":"a b","fields":[]}'}, 422, 42201),
        ("/subjects/s/versions", {"schema": '{"type":"record","name":"a"}'}, 422, 42201),
        ("/subjects/s/versions", {"schema": '{"type":"record","name":"a","fields":[5]}'}, 422, 42201),
        ("/subjects/s/versions", {"schema": '{"type":{"a":[]}}'}, 422, 42201),
        ("/subjects/s/versions", {"schema": "5"}, 422, 42201),
        ("/subjects/s/versions", {"schema": "[" * 5000}, 422, 42201),
        ("/subjects/s/versions", {"schema": ""}, 422, 42201),
        ("/subjects/s/versions", {"schema": 5}, 422, 42201),
        ("/subjects/s/versions", {"schema": "{}", "schemaType": "JSON"}, 422, 42201),
        ("/subjects/s/versions", b"{", 400, 400),
        ("/subjects/s/versions", [], 400, 400),
        ("/subjects/unknown", {"schema": '"int"'}, 404, 40401),
        ("/subjects/known", {"schema": '"int"'}, 404, 40403),
        ("/compatibility/subjects/unknown/versions/latest", {"schema": '"int"'}, 404, 40401),
        ("/compatibility/subjects/known/versions/2", {"schema": '"int"'}, 404, 40402),
        ("/elsewhere", {}, 404, 404),
        ("/schemas/ids/9", None, 404, 40403),
        ("/schemas/ids/0", None, 404, 40403),
        ("/schemas/ids/x", None, 404, 404),
        ("/subjects/unknown/versions", None, 404, 40401),
        ("/subjects/known/versions/2", None, 404, 40402),
        ("/subjects/known/versions/0", None, 422, 42202),
        ("/subjects/known/versions/x", None, 422, 42202),
        ("/subjects/known", None, 404, 404),
    ],
)
def test_error_codes(path: str, content: Any, status: int, code: int) -> None:
    """``content``: of a POST; None for a GET."""
    with EmbeddedRegistry() as embedded:
        post(embedded, "/subjects/known/versions", {"schema": BASE})
        answered, body = get(embedded, path) if content is None else post(embedded, path, content)
        assert (answered, body["error_code"]) == (status, code)
        assert body["message"]


def test_basic_auth() -> None:
    with EmbeddedRegistry(login=("bob", "p@s/s")) as embedded:
        address = embedded.url.removeprefix("http://")
        with ConfluentRegistry(f"http://bob:p%40s%2Fs@{address}") as registry:
            assert registry.register("s", BASE).id == 1
        for userinfo in ("", "bob:wrong@"):
            with (
                ConfluentRegistry(f"http://{userinfo}{address}") as registry,
                pytest.raises(RegistryError, match="401: Unauthorized") as refused,
            ):
                registry.register("s", BASE)
            assert refused.value.status == 401
            assert "https://user:password@host" in refused.value.remedy
            assert "wrong" not in str(refused.value)


def test_https(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with EmbeddedRegistry(tls=tls) as embedded:
        assert embedded.url.startswith("https://")
        with ConfluentRegistry(embedded.url, RegistryTls(ca=tmp_path / "ca.pem")) as registry:
            assert registry.register("s", BASE).id == 1


def test_a_restart_during_a_registration_is_waited_for() -> None:
    embedded = EmbeddedRegistry()
    with embedded, ConfluentRegistry(embedded.url) as registry:
        registry.register("s", BASE)
        url = embedded.url
        embedded.stop()
        starting = threading.Timer(0.7, embedded.start)
        starting.start()
        assert registry.register("s", WIDER).id == 2
        starting.join()
        assert embedded.url == url
        assert registry.register("s", BASE).id == 1


def test_a_stopped_registry_answers_nobody_whose_connection_is_still_open() -> None:
    with EmbeddedRegistry() as embedded, httpx.Client(trust_env=False, verify=False) as client:
        assert client.get(embedded.url + "/subjects").json() == []
        embedded.stop()
        with pytest.raises(httpx.TransportError):
            client.get(embedded.url + "/subjects")


def test_another_process_and_many_threads() -> None:
    code = "import sys, httpx; print(httpx.get(sys.argv[1] + '/subjects').json())"
    with EmbeddedRegistry("NONE") as embedded:

        def register(n: int) -> None:
            with ConfluentRegistry(embedded.url) as registry:
                for k in range(10):
                    registry.register(f"s{n}", record({"name": f"f{k}", "type": "int"}))

        threads = [threading.Thread(target=register, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ids = {n: [get(embedded, f"/subjects/s{n}/versions/{k}")[1]["id"] for k in range(1, 11)] for n in range(4)}
        assert all(sorted(one) == list(range(1, 11)) for one in ids.values())
        done = subprocess.run([sys.executable, "-c", code, embedded.url], capture_output=True, text=True, check=True)
        assert (done.stdout.strip(), done.stderr) == ("['s0', 's1', 's2', 's3']", "")


def test_confluents_client_and_deserializer() -> None:
    registries = pytest.importorskip("confluent_kafka.schema_registry")
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    with EmbeddedRegistry(login=("bob", "p@ss")) as embedded:
        url = embedded.url
        client = registries.SchemaRegistryClient({"url": url, "basic.auth.user.info": "bob:p@ss"})
        with ConfluentRegistry(url.replace("//", "//bob:p%40ss@")) as registry:
            header = registry.register("t-value", WIDER).header
            context = SerializationContext("t", MessageField.VALUE)
            message = header + b"\x02\x02\x04ab"
            assert AvroDeserializer(client)(message, context) == {"id": 1, "a": "ab"}
            own = AvroSerializer(client, WIDER, conf={"auto.register.schemas": False})({"id": 1, "a": "ab"}, context)
            assert own == message
        schema = registries.Schema(BASE, "AVRO")
        assert client.register_schema("new", schema) == 2
        assert client.lookup_schema("new", schema).version == 1
        assert client.get_latest_version("t-value").schema_id == 1
        assert client.get_version("new", 1).schema_id == 2
        assert client.get_versions("new") == [1]
        assert client.get_subjects() == ["new", "t-value"]
        assert fastavro.parse_schema(json.loads(client.get_schema(1).schema_str))["name"] == "default.test.t"
        assert client.test_compatibility("new", registries.Schema(WIDER, "AVRO"))
        assert not client.test_compatibility("new", registries.Schema(STRICTER, "AVRO"))
        client.set_compatibility("new", "NONE")
        assert client.get_compatibility("new") == "NONE"
        assert client.register_schema("new", registries.Schema(STRICTER, "AVRO")) == 3
        with pytest.raises(registries.error.SchemaRegistryError) as refused:
            client.get_latest_version("unknown")
        assert (refused.value.http_status_code, refused.value.error_code) == (404, 40401)


def test_without_avro_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "avro", None)
    monkeypatch.setitem(sys.modules, "avro.compatibility", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[registry\]'"):
        EmbeddedRegistry()


def raw(registry: EmbeddedRegistry, request: bytes) -> bytes:
    """Return the status line that a request written by hand is answered with."""
    with socket.create_connection(("127.0.0.1", int(registry.url.rpartition(":")[2])), timeout=10) as line:
        line.sendall(request)
        with line.makefile("rb") as answer:
            return answer.readline().rstrip()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        (b"Content-Length: \xb2", b"", 413),
        (b"Content-Length: " + b"9" * 5000, b"", 413),
        (b"Content-Length: -1", b"", 413),
        (b"Content-Length: 100000", b"[" * 100_000, 400),
        (b"Content-Length: 2", b"\xff\xfe", 400),
    ],
)
def test_a_request_that_cannot_be_read_is_answered(headers: bytes, body: bytes, status: int) -> None:
    with EmbeddedRegistry() as registry:
        path = b"POST /subjects/s/versions HTTP/1.1\r\nHost: x\r\n"
        assert raw(registry, path + headers + b"\r\n\r\n" + body).split()[1] == str(status).encode()
        assert post(registry, "/subjects/s/versions", {"schema": BASE})[0] == 200


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/subjects/s/versions", {"schema": "[" * 100_000}, 422),
        ("/subjects/s/versions", {"schema": '{"type":"array","items":' * 5_000 + '"int"' + "}" * 5_000}, 422),
        ("/subjects/s/versions", {"schema": "1e99999"}, 422),
        ("/subjects/s/versions", {"schema": "\ud800"}, 422),
        ("/subjects/%ff%00/versions", {"schema": BASE}, 200),
        ("/compatibility/subjects/s/versions/" + "9" * 5000, {"schema": BASE}, 404),
    ],
)
def test_what_is_no_schema_is_answered(path: str, content: Any, status: int) -> None:
    with EmbeddedRegistry() as registry:
        assert post(registry, path, content)[0] == status
        target = b"GET /schemas/ids/" + b"9" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        assert raw(registry, target).split()[1] == b"404"
