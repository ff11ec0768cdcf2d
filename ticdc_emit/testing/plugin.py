"""The pytest plugin: fixtures for tests of programs that read TiCDC's messages. Installing ticdc-emit enables it.

Importing it imports nothing else of the library. A fixture does so when a test uses it, and stops what it started.
"""

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
    """A function that makes encoders: ``ticdc_emitter(schema, sink_uri, **options)``.

    ``schema``: CREATE TABLE statements, or a catalog. ``sink_uri``: TiCDC's; only its options matter. Default:
    Canal-JSON with TiDB extension in one partition. ``options``: further arguments of ``ticdc_emit.Encoder``.
    """
    from ticdc_emit.config.load import refuse_unknown
    from ticdc_emit.encoder import Encoder, EncoderOptions

    def emitter(schema: str | Catalog, sink_uri: str = _SINK_URI, **options: Unpack[EncoderOptions]) -> Encoder:
        refuse_unknown("ticdc_emitter", options, EncoderOptions)
        return Encoder(sink_uri, schema, **options)

    return emitter


@pytest.fixture
def ticdc_topics() -> Iterator[MemoryTopics]:
    """Topics in memory: ``.sink()`` and ``.sink_uri(protocol=...)`` to write there, ``.messages()`` to read.

    Each test has its own, which are removed after it.
    """
    from ticdc_emit.testing.memory_topics import MemoryTopics

    with MemoryTopics() as topics:
        yield topics


@pytest.fixture
def ticdc_kafka() -> Iterator[EmbeddedKafka]:
    """A Kafka in this process: ``.bootstrap`` for clients, Java's too, ``.sink()`` to write, ``.read(topic)`` (extra
    ``kafka``).

    Every topic has 4 partitions and is created on first use. Each test has its own Kafka, which is stopped after it.
    """
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka

    with EmbeddedKafka(port=0) as kafka:
        yield kafka


@pytest.fixture
def ticdc_registry() -> Iterator[EmbeddedRegistry]:
    """A schema registry in this process: ``.url`` for clients and ``schema-registry=`` (extra ``registry``).

    It has Confluent's API. Each test has its own registry, which is stopped after it.
    """
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry

    with EmbeddedRegistry() as registry:
        yield registry
