"""When schemas are registered, and the registries that need no server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, SharedSubjectError
from ticdc_emit.registry.base import MemoryRegistry, SchemaPost, SubjectCache, registry_for
from ticdc_emit.registry.headers import confluent_schema, glue_schema
from ticdc_emit.registry.http import RegistryAddress, RegistryTls

GLUE = """
[sink.kafka-config.glue-schema-registry-config]
registry-name = "changes"
region = "eu-west-1"
access-key = "AKIA"
secret-access-key = "topsecret"
"""


def test_importing_loads_no_client() -> None:
    names = ("httpx", "tenacity", "boto3", "avro", "fastavro")
    code = f"import sys, ticdc_emit.registry, ticdc_emit.testing; print([n for n in {names} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_version_is_registered_once_and_again_after_another() -> None:
    registry = MemoryRegistry()
    cache = SubjectCache(registry)
    headers = [cache.header("t-key", version, schema) for version, schema in ((1, "a"), (1, "a"), (2, "b"), (1, "a"))]
    cache.header("t-value", 1, "a")
    assert headers == [b"\0\0\0\0\x01", b"\0\0\0\0\x01", b"\0\0\0\0\x02", b"\0\0\0\0\x01"]
    assert registry.posts == [
        SchemaPost("t-key", "a", 1, 200),
        SchemaPost("t-key", "b", 2, 200),
        SchemaPost("t-key", "a", 1, 200),
        SchemaPost("t-value", "a", 1, 200),
    ]


def test_a_refusal_is_not_cached() -> None:
    registry = MemoryRegistry(reject="must")
    cache = SubjectCache(registry)
    for _ in range(2):
        with pytest.raises(IncompatibleSchemaError) as refused:
            cache.header("t-value", 417, "you must")
        assert refused.value.subject == "t-value"
    assert registry.posts == [SchemaPost("t-value", "you must", None, 409)] * 2


def test_two_tables_of_one_version_may_share_a_subject_only_with_equal_fields() -> None:
    registry = MemoryRegistry()
    cache = SubjectCache(registry)
    one, same, other = (
        f'{{"type":"record","name":"{name}","fields":{fields}}}'
        for name, fields in (("a", "[]"), ("b", "[]"), ("b", "[1]"))
    )
    assert cache.header("t-key", 1, one) == cache.header("t-key", 1, same)
    with pytest.raises(SharedSubjectError) as refused:
        cache.header("t-key", 1, other)
    assert refused.value.subject == "t-key"
    assert refused.value.message.startswith("TiCDC would write rows of b with the schema of a, ")
    assert "topic = '{schema}_{table}'" in refused.value.remedy
    assert [post.schema for post in registry.posts] == [one]


def test_the_two_headers() -> None:
    assert confluent_schema(0x01020304).header == b"\x00\x01\x02\x03\x04"
    assert glue_schema("00010203-0405-0607-0809-0a0b0c0d0e0f").header == b"\x03\x00" + bytes(range(16))


def test_the_registry_that_a_changefeed_names() -> None:
    url = "kafka://h/t?protocol=avro&schema-registry=https://bob:topsecret@registry:8081/path"
    registry = registry_for(load_changefeed(url))
    assert repr(registry) == "ConfluentRegistry('https://****@registry:8081/path')"
    registry.close()
    twice = load_changefeed("kafka://h/t?protocol=avro&schema-registry=http://u:p%252Fs@h:1").codec.schema_registry
    assert RegistryAddress.parse(twice.reveal()).login == Secret((b"u", b"p/s"))
    glue = load_changefeed("kafka://h/t?protocol=avro", GLUE)
    registry = registry_for(glue)
    assert repr(registry) == "GlueRegistry('changes', region='eu-west-1')"
    registry.close()
    with pytest.raises(ConfigError, match="AWS Glue does not use them"):
        registry_for(glue, RegistryTls())
    with pytest.raises(ConfigError, match="has no schema registry") as refused:
        registry_for(load_changefeed("kafka://h/t?protocol=canal-json"))
    assert refused.value.option == "schema-registry"
