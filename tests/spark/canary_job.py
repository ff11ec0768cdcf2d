"""Run by test_canary_job in a process of its own: a changefeed full of secrets, through success and every failure.

Everything that it can show goes to stdout and stderr: logs at DEBUG, warnings, reports, objects, errors with the locals
of their frames. Spark's own event log and the state go to the given folder.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from canary import SECRETS, changefeed, shown_error, shown_object, sink_uri

from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.observe.reports import log_report
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry

SCHEMA = "create table test.t (id int primary key, v varchar(4000))"
LIBRDKAFKA = {"sasl.password": SECRETS["librdkafka"]}
KIND = "op string, commit_ts long, after struct<id:int,v:string>"
TSO = 450_000_000_262_144_000


@dataclass(frozen=True)
class DeadInWorkers:
    """Lets the driver plan, and sends workers to brokers that are not there."""

    sink: KafkaSink

    def prepare(self, topics: Any) -> dict[str, int]:
        return {topic: asked or 1 for topic, asked in topics.items()}

    def message_limit(self, topics: Any) -> int:
        return self.sink.max_message_bytes

    def open(self, message_limit: int | None = None) -> Any:
        return self.sink.open(message_limit)


def attempt(name: str, act: Callable[[], Any]) -> None:
    """Print what came of it."""
    try:
        result = act()
    except Exception as error:
        print(f"FAILED {name}: {type(error).__name__}: {error}")
        print(shown_error(error))
    else:
        print(f"DONE {name}: {result.rows} rows")
        print(result.to_json(), shown_object(result))


def main(folder: Path) -> None:
    from spark_session import local_session

    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.INFO)  # at DEBUG it prints the pickles that go to the workers
    warnings.simplefilter("always")
    (folder / "events").mkdir()
    spark = local_session(
        spark_sql_shuffle_partitions="1",
        spark_eventLog_enabled="true",
        spark_eventLog_compress="false",  # what is compressed cannot be searched
        spark_eventLog_dir=f"file://{folder}/events",
    )
    spark.sparkContext.setLogLevel("WARN")

    def rows(value: str, count: int = 3, op: str = "c") -> Any:
        return spark.createDataFrame([(op, TSO + n, (n, value)) for n in range(count)], KIND)

    with EmbeddedKafka() as kafka, EmbeddedRegistry() as registry:
        sink = replace(kafka.sink(), librdkafka=LIBRDKAFKA)

        def emitter(name: str, *, protocol: str = "canal-json", more: str = "", to: Any = sink, **options: Any) -> Any:
            made = TicdcSink(
                sink_uri(kafka.bootstrap, protocol=protocol, more=more),
                SCHEMA,
                sink=to,
                state_uri=f"file://{folder}/state/{name}",
                on_report=log_report,
                **options,
            )
            print(shown_object(made), shown_object(made.sink))
            return made

        stored = changefeed(storage=f"file://{folder}/claims")
        lost = changefeed(storage="file:///dev/null/claims")
        plain = changefeed(claim_check=False)
        login = registry.url.replace("//", f"//me:{SECRETS['registry-login']}@")
        attempt("avro", lambda: emitter("avro", protocol="avro", schema_registry=login).write(rows("a")))
        small = "&max-message-bytes=700"
        attempt("stored", lambda: emitter("stored", more=small, changefeed=stored).write(rows("a" * 3_000)))
        attempt("lost", lambda: emitter("lost", more=small, changefeed=lost).write(rows("a" * 3_000)))
        attempt("large", lambda: emitter("large", more=small, changefeed=plain).write(rows("a" * 3_000)))
        attempt("row", lambda: emitter("row", changefeed=plain).write(rows("a", op="?")))
        impatient = {"dial_timeout_ms": 1_000, "delivery_timeout_ms": 1_000}  # only where nobody can answer
        dead = DeadInWorkers(replace(sink, brokers=("127.0.0.1:1",), **impatient))
        attempt("dead", lambda: emitter("dead", to=dead).write(rows("a")))
        nowhere = TicdcSink(sink_uri(), SCHEMA, changefeed=plain, librdkafka=LIBRDKAFKA)
        attempt("nowhere", lambda: nowhere.write(rows("a")))
        attempt("refused", lambda: TicdcSink(sink_uri(protocol="none"), SCHEMA, changefeed=plain))
        attempt("registry", lambda: _unregistered(emitter).write(rows("a")))
    spark.stop()


def _unregistered(emitter: Callable[..., Any]) -> Any:
    from ticdc_emit.registry.confluent import ConfluentRegistry

    login = f"http://me:{SECRETS['registry-login']}@127.0.0.1:1"
    registry = ConfluentRegistry(login, attempts=1)
    return emitter("registry", protocol="avro", schema_registry=login, registry=registry)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
