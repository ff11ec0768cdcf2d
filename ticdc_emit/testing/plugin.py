"""The pytest plugin: fixtures that import what they need when a test uses them. Installing ticdc-emit enables it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ticdc_emit.encoder import Encoder, EncoderOptions
    from ticdc_emit.schema.catalog import Catalog
    from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics

_SINK_URI = "memory://ticdc/?protocol=canal-json&enable-tidb-extension=true&partition-num=1"


class Emitter(Protocol):
    """The type of ``ticdc_emitter``, which makes encoders."""

    def __call__(self, schema: str | Catalog, sink_uri: str = ..., **options: Unpack[EncoderOptions]) -> Encoder: ...


@pytest.fixture
def ticdc_emitter() -> Emitter:
    """A function that makes encoders: ``ticdc_emitter(schema, sink_uri, **options)``, the arguments of
    ``ticdc_emit.Encoder``. Default: Canal-JSON with TiDB extension in one partition.
    """
    from ticdc_emit.config.load import refuse_unknown
    from ticdc_emit.encoder import Encoder, EncoderOptions

    def emitter(schema: str | Catalog, sink_uri: str = _SINK_URI, **options: Unpack[EncoderOptions]) -> Encoder:
        refuse_unknown("ticdc_emitter", options, EncoderOptions)
        return Encoder(sink_uri, schema, **options)

    return emitter


@pytest.fixture
def ticdc_topics() -> Iterator[MemoryTopics]:
    """Topics in memory for one test: ``.sink()``, ``.sink_uri(protocol=...)``, ``.messages()``."""
    from ticdc_emit.testing.memory_topics import MemoryTopics

    with MemoryTopics() as topics:
        yield topics


@pytest.fixture
def ticdc_kafka() -> Iterator[EmbeddedKafka]:
    """A Kafka in this process for one test: ``.bootstrap`` for clients, Java's too, ``.sink()``, ``.read(topic)``
    (extra ``kafka``). Every topic has 4 partitions and is created on first use.
    """
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka

    with EmbeddedKafka(port=0) as kafka:
        yield kafka


@pytest.fixture
def ticdc_registry() -> Iterator[EmbeddedRegistry]:
    """A schema registry in this process for one test: ``.url`` for ``schema-registry=`` (extra ``registry``)."""
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry

    with EmbeddedRegistry() as registry:
        yield registry
