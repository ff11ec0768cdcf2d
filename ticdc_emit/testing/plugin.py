"""The pytest plugin: fixtures for tests of programs that read TiCDC's messages, and prompt reports of property tests.

Installing ticdc-emit enables it. Importing it imports nothing else of the library. A fixture does so when a test uses
it, and stops what it started. A test with Hypothesis's ``@given`` is watched once its module has loaded the strategies
(``strategies/failures.py``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ticdc_emit.encoder import Encoder, EncoderOptions
    from ticdc_emit.schema.catalog import Catalog
    from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics

_SINK_URI = "memory://ticdc/?protocol=canal-json&enable-tidb-extension=true&partition-num=1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("ticdc_shrink_seconds", "how long a smaller failing example is looked for", default="20")
    parser.getgroup("ticdc-emit").addoption(
        "--ticdc-example", type=Path, metavar="FILE", help="let histories() draw only the history of this file"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    test: Any = getattr(item, "obj", None)
    failures: Any = sys.modules.get("ticdc_emit.strategies.failures")
    if failures is None or not hasattr(test, "hypothesis"):
        return (yield)
    capture = item.config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, file=sys.__stderr__, flush=True)

    seconds, example = float(item.config.getini("ticdc_shrink_seconds")), item.config.getoption("ticdc_example")
    watch = failures.FailureWatch(say, shrink_seconds=seconds, example=example)
    item.obj = watch.over(test)  # type: ignore[attr-defined]
    try:
        return (yield)
    finally:
        item.obj = test  # type: ignore[attr-defined]
        if watch.smallest is not None:
            kept = Path(".hypothesis", "ticdc", re.sub(r"[^\w.-]+", "-", item.nodeid) + ".json")
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(watch.smallest.history.to_json(), "utf-8")
            again = f"pytest '{item.nodeid}' --ticdc-example {kept}"
            item.add_report_section("call", "ticdc-emit", f"The history is in {kept}. To use it alone:\n{again}")


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
