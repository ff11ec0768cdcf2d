"""``ticdc-emit serve``: a Kafka and a schema registry that stay up until Ctrl-C, optionally with live traffic.

Kafka is librdkafka's mock cluster in this process behind a fixed port, or a real broker as a child process. Traffic
comes from ``generate --live --endless``; each table has its own topic.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import result_console, say, step
from ticdc_emit.cli.consumer_settings import Served, print_settings
from ticdc_emit.cli.signals import stopped_by_interrupt
from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.pipeline.ddl import catalog_for

__all__ = ["BROKERS", "run"]

BROKERS = ("embedded", "kafka")
_DEFAULT_TOPIC = "ticdc"  # for DDL without a table
_TOPIC_OF_TABLE = "{schema}_{table}"
_POLL_S = 0.2


def run(
    *,
    port: int,
    registry_port: int,
    broker: str,
    schema: str | None,
    rate: float,
    protocol: str,
    enable_tidb_extension: bool,
    seed: int,
    profile: str | None,
) -> int:
    """Serve until a signal; return 0 if that was Ctrl-C, the usual end.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a port in use, before anything starts, and
    :class:`~ticdc_emit.errors.ServerError` for a broker that does not start.
    """
    from ticdc_emit.testing import EmbeddedRegistry
    from ticdc_emit.testing.embedded_kafka import require_free_port

    signals.endless()
    registry = EmbeddedRegistry(port=registry_port)
    extension = "?enable-tidb-extension=true" if enable_tidb_extension else ""
    uri = f"kafka://127.0.0.1:{port}/{_DEFAULT_TOPIC}{extension}"
    changefeed = protocol_document(protocol)
    changefeed["sink"]["dispatchers"] = [{"matcher": ["*.*"], "topic": _TOPIC_OF_TABLE}]
    feed = load_changefeed(uri, changefeed, schema_registry=registry.url, profile=profile)
    text = None if schema is None else _schema_text(schema)
    tables = () if text is None else tuple(info for info in catalog_for(feed, text).tables() if not info.is_view)
    require_free_port(port, "--port")
    require_free_port(registry_port, "--registry-port")
    with ExitStack() as stack:
        stack.enter_context(registry)
        with step("starting the embedded Kafka" if broker == "embedded" else "starting Kafka"):
            _start_kafka(stack, broker, port)
        served = Served(f"127.0.0.1:{port}", registry.url, feed, tables, for_java=broker == "kafka")
        print_settings(result_console(), served)
        if schema is not None:
            return _send_traffic(schema, rate, seed, uri, changefeed, registry.url, profile)
        say("Ctrl-C ends it")
        stop = stack.enter_context(stopped_by_interrupt("second", quiet=True))
        while not stop():
            time.sleep(_POLL_S)
    return stop.exit_code()


def _schema_text(schema: str) -> str:
    from ticdc_emit.traffic import schema_text

    return schema_text(schema)


def _start_kafka(stack: ExitStack, broker: str, port: int) -> None:
    if broker == "embedded":
        from ticdc_emit.testing import EmbeddedKafka

        stack.enter_context(EmbeddedKafka(port=port))
        return
    from ticdc_emit.java import find_java
    from ticdc_emit.testing.kraft import KraftBroker, kafka_jars

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True)))
    own = {"auto.create.topics.enable": "true"}  # a consumer may come before the first message
    node = KraftBroker(find_java(), kafka_jars(), folder / "kafka", own, port=port)
    with signals.held():
        stack.enter_context(node)
        if node.process is not None:
            signals.watch(node.process)


def _send_traffic(
    schema: str, rate: float, seed: int, uri: str, changefeed: dict[str, Any], registry: str, profile: str | None
) -> int:
    from ticdc_emit.cli import generate
    from ticdc_emit.traffic.generate.settings import Settings

    settings = Settings(rows=None, rate=rate, seed=seed)
    return generate.run(
        generate.Wanted(schema, settings, live=True),
        protocol="",
        sink_uri=uri,
        config=changefeed,
        profile=profile,
        schema_registry=registry,
        html=None,
        on_spark=True,
        spark={},
        as_json=False,
    )
