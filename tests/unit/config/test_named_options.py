"""Keyword arguments have names, told once; a typing error is a TypeError of the function that was called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.config import KafkaConfig
from ticdc_emit.config.load import LoadOptions, refuse_unknown
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.encoder import EncoderOptions
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.spark import TicdcSink, encode
from ticdc_emit.spark.sink import SinkOptions
from ticdc_emit.strategies.changefeeds import FeedOptions
from ticdc_emit.testing import EmbeddedKafka, MemoryTopics
from ticdc_emit.traffic.generate import Traffic
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.run import replay

URI = "memory://named?protocol=canal-json"
SCHEMA = "create table s.t (id int primary key)"


def test_each_name_is_told_once() -> None:
    load, run = set(LoadOptions.__annotations__), {each.name for each in fields(RunOptions)}
    assert run | load <= set(SinkOptions.__annotations__)
    own = {each.name for each in inspect.signature(Encoder.__init__).parameters.values()} - {
        "self",
        "sink_uri",
        "schema",
    }
    assert set(EncoderOptions.__annotations__) == own - {"options"} | load


def test_defaults_of_a_kafka_sink_are_those_of_the_options() -> None:
    assert KafkaSink(("host:1",)) == KafkaSink.of(KafkaConfig(brokers=("host:1",)))


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (lambda **typo: Encoder(URI, SCHEMA, **typo), "Encoder"),
        (lambda **typo: TicdcSink(URI, SCHEMA, **typo), "TicdcSink"),
        (lambda **typo: encode(None, URI, SCHEMA, **typo), "encode"),
        (lambda **typo: replay(None, URI, "x", SCHEMA, **typo), "replay"),
        (lambda **typo: Traffic(None, (), SCHEMA, None).sink(URI, **typo), "sink"),
        (lambda **typo: History(SCHEMA).messages(URI, **typo), "messages"),
        (lambda **typo: FeedOptions(URI, {}).load(**typo), "load"),
        (lambda **typo: EmbeddedKafka().sink(**typo), "sink"),
        (lambda **typo: MemoryTopics().sink(**typo), "MemoryTopics.sink"),
    ],
)
def test_a_typing_error_names_the_function_that_was_called(call: Callable[..., Any], function: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(watermark_intervall=1)
    assert str(caught.value).startswith(f"{function}() got an unexpected keyword argument 'watermark_intervall'")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: TicdcSink(URI, on_report="print"), "'print' is not a function [option='on_report']"),
        (lambda: TicdcSink(URI, SCHEMA, on_report=[print, None]), "None is not a function"),
        (lambda: replay(None, URI, "x", SCHEMA, on_slice=5), "5 is not a function"),
        (lambda: replay(None, URI, 5, SCHEMA), "the source is of type int"),
        (lambda: replay(None, URI, {"s.t": [{"id": 1}]}, SCHEMA), "the source is of type list"),
    ],
)
def test_what_is_neither_a_function_nor_a_source_is_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        call()
    assert said in str(refused.value)


def test_the_name_that_was_meant_is_offered() -> None:
    with pytest.raises(TypeError, match=r"'intergity'. Did you mean integrity\?"):
        refuse_unknown("load", {"intergity": True}, LoadOptions)


def test_options_reach_the_configuration() -> None:
    encoder = Encoder(URI, SCHEMA, time_zone="Asia/Shanghai", cluster_id="c", force_replicate=True, release="next")
    held = encoder.config
    assert (held.time_zone, held.force_replicate, held.release.name) == ("Asia/Shanghai", True, "next")


@pytest.mark.parametrize("make", [Encoder, TicdcSink])
def test_a_loaded_changefeed_has_its_options_already(make: Callable[..., Any]) -> None:
    loaded = load_changefeed(URI, release="next")
    assert make(loaded, SCHEMA, release=None).config is loaded
    for options in ({"release": "classic"}, {"time_zone": "UTC"}, {"changefeed": {}}):
        with pytest.raises(ConfigError, match=f"has its options already: {next(iter(options))} would be ignored"):
            make(loaded, SCHEMA, **options)
