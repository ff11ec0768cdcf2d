"""How many live row changes per second one process makes and sends, by protocol: what ``MOST_LIVE_RATE`` rests on.

    python tests/scale/live_rates.py [--schema bank] [--protocol canal-json] [--seconds 6] [--json]

Takes the batches of live traffic from a clock of its own, one after the other without sleeping, and sends them to an
embedded Kafka, each table to its own topic. Prints the share of a core that each rate needs: the CPU time of all
threads, those of the embedded Kafka too, per second of traffic. A rate of 1.0 or more cannot be kept up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import PROTOCOL_NAMES, protocol_document
from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry
from ticdc_emit.traffic.generate.live import INTERVAL_S, WATERMARK_S, LiveTraffic
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.tso import compose

RATES = (100, 1_000, 2_000, 5_000, 10_000, 20_000)
_START_MS = 1_700_000_000_000
_DISPATCHERS = [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]


def share(kafka: EmbeddedKafka, registry: EmbeddedRegistry, protocol: str, schema: str, rate: float, s: float) -> float:
    """Return the share of a core that ``s`` seconds of traffic need, after the first second."""
    release = "next" if protocol == "debezium-avro" else "classic"
    changefeed = protocol_document(protocol)
    changefeed["sink"]["dispatchers"] = _DISPATCHERS
    config = load_changefeed(f"kafka://{kafka.bootstrap}/t", changefeed, schema_registry=registry.url, release=release)
    traffic = LiveTraffic(schema, Settings(None, rate=rate, start=compose(_START_MS)))
    feed = traffic.changefeed(config)
    began = marked = 0.0
    moment, number = 0.0, 0
    while moment < 1 + s:
        if began == 0.0 and moment >= 1:
            began = time.process_time()
        due = traffic.take(compose(round(_START_MS + moment * 1000)))
        is_marked = moment - marked >= WATERMARK_S
        marked = moment if is_marked else marked
        feed.run(due.batch(), number, final=False, until=due.until, watermark=is_marked)
        moment, number = moment + INTERVAL_S, number + 1
    return (time.process_time() - began) / s


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--schema", default="bank")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table: dict[str, dict[str, float]] = {}
    for protocol in [asked.protocol] if asked.protocol else PROTOCOL_NAMES:
        table[protocol] = {}
        for rate in RATES:
            with EmbeddedRegistry() as registry, EmbeddedKafka() as kafka:
                needed = share(kafka, registry, protocol, asked.schema, rate, asked.seconds)
                table[protocol][f"{rate:,}/s"] = round(needed, 2)
    if asked.json:
        print(json.dumps(table))
        return 0
    width = max(map(len, table))
    print(" " * width, *(f"{rate:>9}" for rate in next(iter(table.values()))))
    for protocol, shares in table.items():
        print(f"{protocol:<{width}}", *(f"{each:>9}" for each in shares.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
