"""``ticdc-emit demo``: the library's main job from end to end, on defaults that need no server.

A table with history is made in Spark, encoded and produced by Spark's workers, and read back from where it went: an
embedded Kafka, or the cluster or folder that ``--sink-uri`` names.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.demo_data import CREATED_TS, DATABASE, ORDERS, TABLE, order_history
from ticdc_emit.cli.messages import message_dict, pick_story, print_messages
from ticdc_emit.cli.reading import reader_for
from ticdc_emit.cli.session import local_spark
from ticdc_emit.cli.summary import print_summary
from ticdc_emit.config import ChangefeedConfig, load_changefeed, mask_uri
from ticdc_emit.delivery.contract import Message, Sink
from ticdc_emit.errors import ConfigError

if TYPE_CHECKING:
    from ticdc_emit.changefeed.report import RunReport
    from ticdc_emit.testing import EmbeddedKafka

__all__ = ["run"]

_TOPIC = "ticdc-demo"
_READ_BACK = 2_000  # messages per partition


def run(
    *, protocol: str, rows: int, sink_uri: str | None, schema_registry: str | None, seed: int, as_json: bool
) -> int:
    """Run the demo and print; return the exit code."""
    with ExitStack() as stack:
        kafka, uri = _place(stack, sink_uri)
        config = _config(stack, uri, protocol, schema_registry)
        with step("starting Spark", quiet=as_json):
            spark = stack.enter_context(local_spark("demo"))
        sink = kafka.sink() if kafka else None
        with step(f"emitting {rows:,} row changes of {TABLE} to {mask_uri(uri)}", quiet=as_json):
            report = _emit(order_history(spark, rows, seed), config, sink)
        with step("reading messages back", quiet=as_json):
            messages = _read_back(config, kafka)
        read = reader_for(config)
        story = pick_story(messages, read)
        if as_json:
            shown = [message_dict(each, read) for each in story]
            print_json({"protocol": config.codec.protocol.value, **report.to_dict(), "shown": shown})
            return 0
        console = result_console()
        print_messages(console, story, read)
        print_summary(console, report)
    return 0


def _place(stack: ExitStack, sink_uri: str | None) -> tuple[EmbeddedKafka | None, str]:
    if sink_uri is not None:
        return None, sink_uri
    from ticdc_emit.testing import EmbeddedKafka

    kafka = stack.enter_context(EmbeddedKafka())
    return kafka, f"kafka://{kafka.bootstrap}/{_TOPIC}?enable-tidb-extension=true"


def _config(stack: ExitStack, uri: str, protocol: str, schema_registry: str | None) -> ChangefeedConfig:
    """Load the configuration; where it lacks a schema registry, with an embedded one."""
    # As in TiCDC the URI's protocol, where it names one, wins over the file's.
    changefeed = {"sink": {"protocol": protocol}}
    try:
        return load_changefeed(uri, changefeed, schema_registry=schema_registry)
    except ConfigError as error:
        if error.context.get("option") != "schema-registry" or schema_registry is not None:
            raise
    from ticdc_emit.testing import EmbeddedRegistry

    return load_changefeed(uri, changefeed, schema_registry=stack.enter_context(EmbeddedRegistry()).url)


def _emit(history: Any, config: ChangefeedConfig, sink: Sink | None) -> RunReport:
    from ticdc_emit.spark import TicdcSink

    emitter = TicdcSink(config, DATABASE, table=TABLE, ddl=[(CREATED_TS, ORDERS)], sink=sink)
    return emitter.write(history)


def _read_back(config: ChangefeedConfig, kafka: EmbeddedKafka | None) -> list[Message]:
    """Return the newest messages of each partition."""
    topic = config.kafka.topic
    if kafka is not None:
        return kafka.read(topic, newest=_READ_BACK)
    if config.sink_uri.scheme == "memory":
        from ticdc_emit.delivery.memory import messages

        return messages(config.sink_uri.path)
    if config.sink_uri.scheme == "file":
        from ticdc_emit.delivery.files import read_files

        return list(read_files(config.sink_uri.path))
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.kafka_reader import read_topic

    return read_topic(KafkaSink.of(config.kafka).connection_settings(), topic, newest=_READ_BACK)
