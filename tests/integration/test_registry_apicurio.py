"""ConfluentRegistry against a real Apicurio Registry 3.0.9: ids, refusals, login, https, a crash."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest
from apicurio import Apicurio, ServerCertificate

from ticdc_emit.errors import IncompatibleSchemaError, RegistryError, RegistryUnreachableError
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.http import RegistryTls

pytestmark = pytest.mark.integration

# As TiCDC registers them; the name of the second column is hard on escapes.
ID = {"name": "id", "type": {"type": "int", "connect.parameters": {"tidb_type": "INT"}}}
KIND = {"type": "string", "connect.parameters": {"allowed": "<a>\\,&\u2028é", "tidb_type": "ENUM"}}
NULLABLE = {"default": None, "name": "kind", "type": ["null", KIND]}
MUST = {"name": "must", "type": {"type": "int", "connect.parameters": {"tidb_type": "INT"}}}


def schema(*fields: object) -> str:
    record = {"type": "record", "name": "t", "namespace": "default.test", "fields": fields}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def subject() -> str:
    return f"topic_{uuid4().hex}-value"


def test_ids_follow_the_schema_text(apicurio: Apicurio) -> None:
    one, other = subject(), subject()
    with ConfluentRegistry(apicurio.url) as registry:
        first = registry.register(one, schema(ID))
        assert first.header == b"\x00" + int(first.id).to_bytes(4, "big")
        assert registry.register(one, schema(ID)) == first
        assert registry.register(other, schema(ID)) == first
        second = registry.register(one, schema(ID, NULLABLE))
        assert second.id != first.id
    assert httpx.get(f"{apicurio.url}/subjects/{one}/versions").json() == [1, 2]
    stored = httpx.get(f"{apicurio.url}/schemas/ids/{second.id}").json()["schema"]
    assert json.loads(stored) == json.loads(schema(ID, NULLABLE))


def test_an_incompatible_schema_is_refused_by_its_subject(apicurio: Apicurio) -> None:
    name = subject()
    with ConfluentRegistry(apicurio.url) as registry:
        registry.register(name, schema(ID))
        httpx.put(f"{apicurio.url}/config/{name}", json={"compatibility": "BACKWARD"}).raise_for_status()
        registry.register(name, schema(ID, NULLABLE))
        with pytest.raises(IncompatibleSchemaError, match="must") as refused:
            registry.register(name, schema(ID, NULLABLE, MUST))
        assert (refused.value.subject, refused.value.status) == (name, 409)
        with pytest.raises(RegistryError, match="answered 422") as invalid:
            registry.register(name, '{"type":"recrd"}')
        assert (invalid.value.subject, invalid.value.status) == (name, 422)
    assert httpx.get(f"{apicurio.url}/subjects/{name}/versions").json() == [1, 2]


def test_what_is_no_registry(apicurio: Apicurio) -> None:
    for path in ("", "/apis", "/apis/registry/v3"):
        with ConfluentRegistry(f"http://{apicurio.authority}{path}") as registry:
            with pytest.raises(RegistryError, match="does not answer as a registry") as refused:
                registry.register("s", schema(ID))
            assert "/apis/ccompat/v7" in refused.value.remedy


def test_login_and_https(make_apicurio: Callable[..., Apicurio], certificate: ServerCertificate) -> None:
    name = subject()
    with make_apicurio(login=("bob", "p@s:s/1"), certificate=certificate) as server:
        assert server.url_with_login.startswith("https://bob:p%40s%3As%2F1@127.0.0.1:")
        tls = RegistryTls(ca=certificate.ca)
        with ConfluentRegistry(server.url_with_login, tls) as registry:
            registered = registry.register(name, schema(ID, NULLABLE))
            assert registry.register(name, schema(ID, NULLABLE)) == registered
        for url in (server.url, server.url.replace("://", "://bob:not-the-p4ssword@")):
            with ConfluentRegistry(url, tls) as registry, pytest.raises(RegistryError, match="answered 401") as refused:
                registry.register(name, schema(ID))
            assert refused.value.status == 401
            assert "p4ssword" not in str(refused.value) + repr(registry)
        with (
            ConfluentRegistry(server.url_with_login) as registry,
            pytest.raises(RegistryError, match="CERTIFICATE_VERIFY_FAILED") as untrusted,
        ):
            registry.register(name, schema(ID))
        assert not isinstance(untrusted.value, RegistryUnreachableError)
        assert "p%40s" not in str(untrusted.value)


@pytest.mark.slow
def test_a_registry_killed_during_a_registration_is_asked_again(make_apicurio: Callable[..., Apicurio]) -> None:
    with make_apicurio() as server, ConfluentRegistry(server.url, attempts=10) as registry:
        registry.register("before-value", schema(ID))
        server.kill()
        restarting = threading.Thread(target=lambda: (time.sleep(0.5), server.start()))
        restarting.start()
        try:
            assert registry.register("after-value", schema(ID, NULLABLE)).id
        finally:
            restarting.join()
        assert httpx.get(f"{server.url}/subjects").json() == ["after-value"]
        server.kill()
        impatient = ConfluentRegistry(server.url, attempts=2, backoff_s=0.01)
        with pytest.raises(RegistryUnreachableError, match="Connection refused") as failed:
            impatient.register("after-value", schema(ID))
        assert failed.value.attempts == 2
