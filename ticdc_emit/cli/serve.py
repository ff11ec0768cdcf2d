"""``ticdc-emit serve``: a Kafka and a schema registry that stay up until Ctrl-C, optionally with live traffic.

Each table has its own topic unless the changefeed file says otherwise. For programs, there is one JSON object on a line
for each ``event``: ``serving``, ``traffic``, ``ended``. A ready file appears, whole, when consumers find a message
(without a schema, when they can connect). Live traffic is made in this process, so that it begins in about a second.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rich.text import Text

from ticdc_emit.cli.console import print_json, print_report, result_console, say, step, write_whole
from ticdc_emit.cli.consumer_settings import Served, print_settings, settings_record
from ticdc_emit.cli.schema_files import sample_or_file
from ticdc_emit.cli.served_kafka import ServedKafka, Server
from ticdc_emit.cli.signals import stopped_by_interrupt
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.document import read_document
from ticdc_emit.config.protocols import parse_protocol_name, protocol_document
from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.plan.ddl import catalog_for
from ticdc_emit.testing.addresses import address_text, reached_here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ticdc_emit.cli.app import Serve
    from ticdc_emit.delivery.base import Sink
    from ticdc_emit.emulator.server import ControlServer
    from ticdc_emit.pipeline.report import RunReport
    from ticdc_emit.schema.model import TableInfo
    from ticdc_emit.traffic.generate.settings import Settings

_DEFAULT_TOPIC = "ticdc"  # for DDL without a table
_TOPIC_OF_TABLE = "{schema}_{table}"
_DEFAULT_RATE = 100.0
_PROTOCOL = "canal-json"
_POLL_S = 0.2
_TOKEN = "TICDC_EMIT_CONTROL_TOKEN"


def _token(options: Serve) -> Secret[str] | None:
    from ticdc_emit.emulator.guard import address_of, check_binding

    file = options.control_token
    if options.control is None:
        if file is not None or options.control_any_sink:
            raise ConfigError("there is no control API", remedy="Add --control 127.0.0.1:8300", option="control")
        return None
    text = os.environ.get(_TOKEN, "") if file is None else file.read_text(encoding="utf-8").strip()
    token = Secret(text) if text or file is not None else None
    check_binding(address_of(options.control)[0], token)
    return token


def run(kafka: ServedKafka, options: Serve) -> int:
    """Serve until a signal; return 0 at Ctrl-C. What is wrong with the traffic is refused before the Kafka starts."""
    from ticdc_emit.testing import EmbeddedRegistry

    server, as_json, control, token = kafka.server, options.as_json, options.control, _token(options)
    settings = options.settings(rate=options.rate or _DEFAULT_RATE)
    trouble = settings.model.trouble
    feed_at = partial(_feed, options)
    feed = feed_at("127.0.0.1:9092", "http://127.0.0.1:8081")  # what is wrong with it is refused before anything starts
    live, text = None, None
    if options.schema is not None:
        text = sample_or_file(options.schema, options.schema_dialect)
        if control is not None and (trouble.redelivery or trouble.lag):
            raise ConfigError(
                "with the control API, no message comes again or late by itself",
                remedy="Leave redelivery and lag out of the model; tests ask for POST /redeliver and POST /hold",
                option="redelivery" if trouble.redelivery else "lag",
            )
        from ticdc_emit.traffic.generate.live import LiveTraffic

        live = LiveTraffic(text, settings)
        live.changefeed(feed)
    tables = () if text is None or live is None else _tables(feed, text, live.tables)
    with ExitStack() as stack:
        ready = stack.enter_context(_ready_file(options.ready_file))
        registry = EmbeddedRegistry(port=server.registry_port, host=server.host)
        stack.enter_context(registry)
        with step("starting the embedded Kafka" if server.is_embedded else "starting Kafka", quiet=as_json):
            kafka.start()
        here, bootstrap = kafka.here, kafka.bootstrap
        host, _ = server.advertised(0)
        registry_url = f"http://{address_text(host, registry.port)}"
        served = Served(bootstrap, registry_url, feed_at(bootstrap, registry_url), tables, server.is_embedded)
        record = {"event": "serving", **kafka.versions(), **settings_record(served)}
        if control is not None:
            own, schemas = (
                feed_at(here, registry.url),
                {f"{each}:{registry.port}" for each in (host, reached_here(server.host))},
            )
            api = _start_control(stack, options, token, server, own, text or "", settings, {here, bootstrap, *schemas})
            record["control"] = api.url
            api.answer_settings(record)
        if as_json:
            print_json(record, flush=True)
        else:
            if control is not None:
                result_console().print(Text(f"Control API      {record['control']}", "bold"))
            print_settings(result_console(), served)

        def begin(report: RunReport) -> None:
            event = {"event": "traffic", "finished_ms": report.finished_ms, "messages": report.messages}
            ready({**record, "traffic": event})
            if as_json:
                print_json(event, flush=True)
            else:
                say(f"sending since {time.strftime('%H:%M:%S')}, {settings.changes_per_second:g} row changes a second")

        if not as_json:
            say("Ctrl-C ends it")
        stop = stack.enter_context(stopped_by_interrupt("batch" if live else "second", quiet=True))
        if live is None or control is not None:
            ready(record)
            while not stop():
                time.sleep(_POLL_S)
            return stop.exit_code()
        from ticdc_emit.traffic.generate.live import now, send_live

        live.resume(now())  # it was planned before Kafka started
        feed = feed_at(here, registry.url)
        changefeed = live.changefeed(feed, sink=_sink(feed, server), message_digests=as_json)
        total = send_live(live, changefeed, stop=stop, on_begin=begin)
        evicted = kafka.evicted()
        print_report(total, as_json=as_json, event="ended", evicted=evicted)
        for topic, count in evicted.items():
            say(f"{topic}: the oldest {counted(count, 'message')} are gone. --broker kafka keeps all")
    return stop.exit_code()


def _feed(options: Serve, bootstrap: str, registry: str) -> ChangefeedConfig:
    """Load what is served. A protocol of the command line wins over that of the file."""
    parameters = {"enable-tidb-extension": "true"} if options.enable_tidb_extension else {}
    changefeed: Path | dict[str, Any]
    if options.config is not None:
        changefeed, sink = options.config, read_document(options.config).table("sink")
        if options.protocol is not None or not (sink and sink.text("protocol")):
            protocol, encoding = parse_protocol_name(options.protocol or _PROTOCOL)
            parameters |= {"protocol": protocol.value, **({"encoding-format": encoding} if encoding else {})}
    else:
        changefeed = protocol_document(options.protocol or _PROTOCOL)
        changefeed["sink"]["dispatchers"] = [{"matcher": ["*.*"], "topic": _TOPIC_OF_TABLE}]
    uri = f"kafka://{bootstrap}/{_DEFAULT_TOPIC}?{urlencode(parameters)}"
    return options.load(uri, changefeed, schema_registry=registry)


def _tables(feed: ChangefeedConfig, text: str, chosen: tuple[str, ...]) -> tuple[TableInfo, ...]:
    tables = (info for info in catalog_for(feed, text).tables() if not info.is_view)
    return tuple(info for info in tables if not chosen or info.full_name in chosen or info.name in chosen)


def _start_control(
    stack: ExitStack,
    options: Serve,
    token: Secret[str] | None,
    server: Server,
    feed: ChangefeedConfig,
    text: str,
    settings: Settings,
    served: set[str],
) -> ControlServer:
    from ticdc_emit.delivery.sinks import sink_for
    from ticdc_emit.emulator.emulator import Emulator
    from ticdc_emit.emulator.server import ControlServer

    def sinks(config: ChangefeedConfig) -> Sink:
        return _sink(config, server) if served.issuperset(config.kafka.brokers) else sink_for(config)

    emulator = Emulator(feed, text, sinks=sinks, traffic=settings, retain_bytes=options.retain << 20)
    address, any_sink = str(options.control), options.control_any_sink
    api = ControlServer(emulator, address, token=token, served=served, any_sink=any_sink)
    stack.enter_context(api)
    stack.enter_context(emulator)
    return api


def _sink(feed: ChangefeedConfig, server: Server) -> Sink:
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.sinks import sink_for

    sink = sink_for(feed)
    assert isinstance(sink, KafkaSink)
    return replace(sink, admin_api=not server.is_embedded, one_request_at_a_time=True)


@contextmanager
def _ready_file(path: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a function that writes the file, whole; there is none before, and none after the block."""
    if path is None:
        yield lambda record: None
        return
    path.unlink(missing_ok=True)  # of an earlier run
    try:
        yield lambda record: write_whole(path, json.dumps(record, ensure_ascii=False, default=str) + "\n")
    finally:
        with suppress(OSError):
            path.unlink()
