"""AWS Glue: the requests of TiCDC, in order, against botocore's stub."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from botocore.stub import Stubber

from ticdc_emit.config.codec import GlueSchemaRegistry
from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import (
    ConfigError,
    IncompatibleSchemaError,
    MissingDependencyError,
    RegistryError,
    RegistryUnreachableError,
)
from ticdc_emit.registry.glue import GlueRegistry

CONFIG = GlueSchemaRegistry("changes", "eu-west-1", Secret("AKIA"), Secret("topsecret"), Secret("session"))
VERSION = "00010203-0405-0607-0809-0a0b0c0d0e0f"
NAME = {"RegistryName": "changes", "SchemaName": "topic-value"}
SCHEMA = '{ "type" : "record" }'


class Glue:
    """A stubbed client and the registry over it; each method scripts one request with its exact parameters."""

    def __init__(self) -> None:
        session = boto3.Session(aws_access_key_id="AKIA", aws_secret_access_key="x", region_name="eu-west-1")
        self.client = session.client("glue")
        self.stub = Stubber(self.client)
        self.registry = GlueRegistry(CONFIG, client=self.client, backoff_s=0.001, attempts=3)

    def has_registry(self) -> Glue:
        self.stub.add_response("get_registry", {"RegistryName": "changes"}, {"RegistryId": {"RegistryName": "changes"}})
        return self

    def has_schema(self) -> Glue:
        asked = {"SchemaId": NAME, "SchemaVersionNumber": {"LatestVersion": True}}
        self.stub.add_response("get_schema_version", {"SchemaDefinition": "{}", "Status": "AVAILABLE"}, asked)
        return self

    def has_no_schema(self) -> Glue:
        return self.fails("get_schema_version", "EntityNotFoundException", 400)

    def fails(self, operation: str, code: str, status: int, message: str = "because") -> Glue:
        self.stub.add_client_error(operation, code, message, status)
        return self

    def takes_version(self, status: str, version: str = VERSION) -> Glue:
        asked = {"SchemaId": NAME, "SchemaDefinition": SCHEMA}
        self.stub.add_response("register_schema_version", {"SchemaVersionId": version, "Status": status}, asked)
        return self

    def creates(self, status: str = "AVAILABLE") -> Glue:
        asked = {
            "RegistryId": {"RegistryName": "changes"},
            "SchemaName": "topic-value",
            "DataFormat": "AVRO",
            "Compatibility": "NONE",
            "SchemaDefinition": SCHEMA,
        }
        self.stub.add_response("create_schema", {"SchemaVersionId": VERSION, "SchemaVersionStatus": status}, asked)
        return self

    def is_then(self, *statuses: str) -> Glue:
        for status in statuses:
            self.stub.add_response("get_schema_version", {"Status": status}, {"SchemaVersionId": VERSION})
        return self

    def register(self) -> Any:
        with self.stub:
            return self.registry.register("topic-value", SCHEMA)


@pytest.fixture
def glue() -> Iterator[Glue]:
    script = Glue()
    yield script
    script.stub.assert_no_pending_responses()


def test_the_first_version_creates_the_schema(glue: Glue) -> None:
    registered = glue.has_registry().has_no_schema().creates().register()
    assert registered.id == VERSION
    assert registered.header == b"\x03\x00" + bytes(range(16))


def test_a_later_version_is_registered_and_the_registry_asked_for_once(glue: Glue) -> None:
    glue.has_registry().has_schema().takes_version("AVAILABLE").register()
    assert glue.has_schema().takes_version("AVAILABLE").register().id == VERSION


def test_a_pending_version_is_waited_for(glue: Glue) -> None:
    script = glue.has_registry().has_schema().takes_version("PENDING").is_then("PENDING", "AVAILABLE")
    assert script.register().id == VERSION


def test_a_version_pending_for_too_long_is_an_error(glue: Glue) -> None:
    glue.has_registry().has_schema().takes_version("PENDING").is_then(*["PENDING"] * 3)
    with pytest.raises(RegistryError, match="is PENDING") as failed:
        glue.register()
    assert failed.value.attempts == 3


@pytest.mark.parametrize("later", [False, True])
def test_a_version_that_fails_is_incompatible(glue: Glue, later: bool) -> None:
    glue.has_registry().has_schema()
    if later:
        glue.takes_version("PENDING").is_then("FAILURE")
    else:
        glue.takes_version("FAILURE")
    with pytest.raises(IncompatibleSchemaError) as refused:
        glue.register()
    assert refused.value.subject == "topic-value"


def test_a_registry_that_does_not_exist(glue: Glue) -> None:
    for _ in range(2):
        with pytest.raises(RegistryError, match="GetRegistry: because") as refused:
            glue.fails("get_registry", "EntityNotFoundException", 400).register()
        assert (refused.value.code, refused.value.registry) == ("EntityNotFoundException", "changes")


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [("AccessDeniedException", 400, RegistryError), ("InternalServiceException", 500, RegistryUnreachableError)],
)
def test_what_else_aws_refuses(glue: Glue, code: str, status: int, kind: type[RegistryError]) -> None:
    glue.has_registry().fails("get_schema_version", code, status)
    with pytest.raises(RegistryError) as refused:
        glue.register()
    assert type(refused.value) is kind
    assert (refused.value.code, refused.value.subject) == (code, "topic-value")


def test_an_answer_without_an_id(glue: Glue) -> None:
    with pytest.raises(RegistryError, match="without the id"):
        glue.has_registry().has_schema().takes_version("AVAILABLE", version="0" * 36).register()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (EndpointConnectionError(endpoint_url="https://glue"), RegistryUnreachableError),
        (NoCredentialsError(), RegistryError),
    ],
)
def test_no_way_to_aws(error: Exception, kind: type[RegistryError]) -> None:
    class Client:
        def get_registry(self, **request: Any) -> None:
            raise error

    with pytest.raises(RegistryError) as failed:
        GlueRegistry(CONFIG, client=Client()).register("topic-value", SCHEMA)
    assert type(failed.value) is kind
    assert failed.value.subject == "topic-value"


def test_the_client_gets_the_configuration() -> None:
    client = GlueRegistry(CONFIG, timeout_s=3, attempts=5)._client
    credentials = client._request_signer._credentials
    assert (client.meta.region_name, client.meta.config.read_timeout) == ("eu-west-1", 3)
    assert client.meta.config.retries["total_max_attempts"] == 5
    assert (credentials.access_key, credentials.secret_key, credentials.token) == ("AKIA", "topsecret", "session")


@pytest.mark.parametrize(
    ("config", "option"),
    [
        (GlueSchemaRegistry("r", "eu-west-1", access_key=Secret("topsecret")), "secret-access-key"),
        (GlueSchemaRegistry("r", "eu-west-1", secret_access_key=Secret("topsecret")), "access-key"),
        (GlueSchemaRegistry("r", "eu-west-1", token=Secret("topsecret")), "access-key"),
        (GlueSchemaRegistry("r", "no region"), "region"),
    ],
)
def test_a_configuration_that_cannot_work(config: GlueSchemaRegistry, option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        GlueRegistry(config)
    assert refused.value.option == option
    assert "topsecret" not in str(refused.value)


def test_without_boto3_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[glue\]'"):
        GlueRegistry(CONFIG)


def test_nothing_that_a_terminal_acts_on_is_repeated(glue: Glue) -> None:
    with pytest.raises(RegistryError) as refused:
        glue.fails("get_registry", "EntityNotFoundException", 400, message="\x1b[2J\nall rows sent").register()
    assert r"GetRegistry: \u001b[2J\nall rows sent" in str(refused.value)
