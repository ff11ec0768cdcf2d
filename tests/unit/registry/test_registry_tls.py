"""https to a registry: whose certificate is trusted, the client's own, and files that are wrong."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from scripted_server import PROBED, ScriptedServer, answer

from ticdc_emit.errors import ConfigError, RegistryError, RegistryUnreachableError
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.http import RegistryTls

SCHEMA = '{"type":"record","name":"t","fields":[]}'
SCRIPT = (PROBED, answer(200, '{"id":7}'))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``ca.pem``: our CA; ``both.pem``, ``cert.pem``, ``key.pem``: a client; ``other.pem``: another CA."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client = authority.issue_cert("client")
    client.private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    server = authority.issue_cert("127.0.0.1")
    server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    trustme.CA().cert_pem.write_to_path(folder / "other.pem")
    (folder / "text.pem").write_text("no certificate")
    return folder


@pytest.fixture
def server_tls(files: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files / "server.pem")
    return context


def register(server: ScriptedServer, tls: RegistryTls | None) -> int | str:
    with ConfluentRegistry(server.url, tls, backoff_s=0.001, attempts=2) as registry:
        return registry.register("s", SCHEMA).id


def test_a_custom_ca(files: Path, server_tls: ssl.SSLContext) -> None:
    with ScriptedServer(*SCRIPT, tls=server_tls) as server:
        assert register(server, RegistryTls(ca=files / "ca.pem")) == 7


@pytest.mark.parametrize("ca", [None, "other.pem"])
def test_a_certificate_that_is_not_trusted_is_an_error_at_once(
    files: Path, server_tls: ssl.SSLContext, ca: str | None
) -> None:
    tls = RegistryTls(ca=files / ca) if ca else None
    with ScriptedServer(*SCRIPT, tls=server_tls) as server:
        with pytest.raises(RegistryError, match="CERTIFICATE_VERIFY_FAILED") as refused:
            register(server, tls)
        assert not isinstance(refused.value, RegistryUnreachableError)
        assert "CA" in refused.value.remedy
        assert server.requests == []


@pytest.mark.parametrize("own", [("cert.pem", "key.pem"), ("both.pem", None)])
def test_a_client_certificate(files: Path, server_tls: ssl.SSLContext, own: tuple[str, str | None]) -> None:
    server_tls.verify_mode = ssl.CERT_REQUIRED
    server_tls.load_verify_locations(files / "ca.pem")
    cert, key = own
    with ScriptedServer(*SCRIPT, tls=server_tls) as server:
        assert register(server, RegistryTls(files / "ca.pem", files / cert, files / key if key else None)) == 7


def test_a_client_certificate_that_is_missing(files: Path, server_tls: ssl.SSLContext) -> None:
    server_tls.verify_mode = ssl.CERT_REQUIRED
    server_tls.load_verify_locations(files / "ca.pem")
    with ScriptedServer(*SCRIPT, tls=server_tls) as server:
        with pytest.raises(RegistryError, match=r"no TLS|did not answer"):
            register(server, RegistryTls(ca=files / "ca.pem"))
        assert server.requests == []


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"ca": "absent.pem"}, "ca"),
        ({"ca": "text.pem"}, "ca"),
        ({"ca": "key.pem"}, "ca"),
        ({"cert": "absent.pem", "key": "key.pem"}, "cert"),
        ({"cert": "cert.pem", "key": "absent.pem"}, "key"),
        ({"cert": "cert.pem", "key": "text.pem"}, "key"),
        ({"cert": "text.pem", "key": "key.pem"}, "cert"),
        ({"cert": "ca.pem", "key": "key.pem"}, "key"),
        ({"cert": "cert.pem"}, "key"),
        ({"key": "key.pem"}, "cert"),
        ({"ca": ""}, "ca"),
    ],
)
def test_a_wrong_file_names_its_option(files: Path, given: dict[str, str], option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ConfluentRegistry("https://host", RegistryTls(**{name: files / file for name, file in given.items()}))
    assert refused.value.option == option


def test_a_key_with_a_password_is_refused_and_asks_for_none(files: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form

    key = form.load_pem_private_key((files / "key.pem").read_bytes(), None)
    locked = form.BestAvailableEncryption(b"topsecret")
    (tmp_path / "key.pem").write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, locked))
    with pytest.raises(ConfigError, match="cannot be used") as refused:
        ConfluentRegistry("https://host", RegistryTls(cert=files / "cert.pem", key=tmp_path / "key.pem"))
    assert refused.value.option == "key"


def test_tls_files_for_a_registry_without_tls(files: Path) -> None:
    with pytest.raises(ConfigError, match="https") as refused:
        ConfluentRegistry("http://host", RegistryTls(ca=files / "ca.pem"))
    assert refused.value.option == "schema-registry"
