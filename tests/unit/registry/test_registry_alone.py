"""A registry that is given as an object is enough, and so is one that the sink URI names."""

from __future__ import annotations

import pytest

from ticdc_emit import Encoder
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.errors import ConfigError
from ticdc_emit.registry.base import MemoryRegistry, registry_for
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing import EmbeddedRegistry
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

URI = "memory://alone?protocol=avro"
TABLE = "create table s.t (id int primary key)"
ROW = {"op": "c", "commit_ts": compose(1_700_000_000_000), "after": {"id": 1}}


def test_the_object_alone_is_enough() -> None:
    registry = MemoryRegistry()
    encoder = Encoder(URI, TABLE, registry=registry)
    assert encoder.encode([ROW]).num_rows == 1
    subjects = {post.subject for post in registry.posts}
    history = History(TABLE, [{**ROW, "schema": "s", "table": "t", "after": {"id": "1"}}])
    assert len(history.messages(URI, registry=registry)) >= 1
    assert {post.subject for post in registry.posts} == subjects
    assert TicdcSink(URI, TABLE, registry=registry).config.codec.schema_registry is None
    with pytest.raises(ConfigError, match="has no schema registry"):
        registry_for(encoder.config)


def test_the_uri_alone_is_enough() -> None:
    with EmbeddedRegistry() as server:
        encoder = Encoder(f"{URI}&schema-registry={server.url}", TABLE)
        assert encoder.encode([ROW]).num_rows == 1


def test_a_reader_with_schemas_needs_no_registry() -> None:
    assert ReferenceConsumer(URI, schemas={}.__getitem__)


def test_neither_is_refused_and_both_are_named() -> None:
    with pytest.raises(ConfigError, match="schema-registry") as refused:
        Encoder(URI, TABLE)
    assert "schema-registry=" in refused.value.remedy
    assert "registry=" in refused.value.remedy
