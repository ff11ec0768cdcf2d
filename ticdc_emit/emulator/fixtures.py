"""The pytest fixture ``ticdc_emulator``, beside ``testing/plugin.py``: test servers must not know this package."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ticdc_emit.config import ChangefeedConfig
    from ticdc_emit.config.load import LoadOptions
    from ticdc_emit.delivery.base import Sink
    from ticdc_emit.emulator.emulator import Emulator
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka

_PARAMETERS = "protocol=canal-json&enable-tidb-extension=true"
_TOPIC_OF_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}}


class EmulatorMaker(Protocol):
    """The type of ``ticdc_emulator``, which starts emulators."""

    def __call__(
        self,
        schema: str,
        parameters: str = ...,
        changefeed: str | os.PathLike[str] | Mapping[str, Any] = ...,
        **options: Unpack[LoadOptions],
    ) -> Emulator: ...


@pytest.fixture
def ticdc_emulator(ticdc_kafka: EmbeddedKafka) -> Iterator[EmulatorMaker]:
    """A function that starts emulators: ``ticdc_emulator(schema, parameters, changefeed)`` (extra ``kafka``). They send
    to ``ticdc_kafka`` what SQL commits, until the test ends. ``parameters``: those of a sink URI, default Canal-JSON
    with TiDB extension. ``changefeed``: TiCDC's file, or its content as a mapping; default: a topic
    ``{schema}_{table}`` for each table. Further arguments: those of ``ticdc_emit.load_changefeed``.
    """
    from dataclasses import replace

    from ticdc_emit.config import load_changefeed
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.emulator.emulator import Emulator

    def sink(config: ChangefeedConfig) -> Sink:
        return replace(KafkaSink.of(config.kafka), brokers=ticdc_kafka.brokers, admin_api=False)

    with ExitStack() as stack:

        def emulator(
            schema: str,
            parameters: str = _PARAMETERS,
            changefeed: str | os.PathLike[str] | Mapping[str, Any] = _TOPIC_OF_TABLE,
            **options: Unpack[LoadOptions],
        ) -> Emulator:
            config = load_changefeed(f"kafka://{ticdc_kafka.bootstrap}/ticdc?{parameters}", changefeed, **options)
            return stack.enter_context(Emulator(config, schema, sinks=sink))

        yield emulator
