"""A day of taxi history, replayed in a minute into a real Kafka broker and read back by the reference consumer.

    python tests/scale/replay_day.py [--rows 1000000] [--speed 1440] [--protocol canal-json]

Three tables as such data is published: rides as a change log with an op column, fares as rows that are written once and
partly withdrawn, drivers as versions with the time they were valid; two schema changes among them. The source, made by
Spark's own expressions, is folded by SQL; the messages by the consumer. Both must be the same tables. Starts a broker
of its own (Java 17; its jars come by Maven).
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.ddl_history import backfilled, versions_of
from ticdc_emit.traffic.replay.history_forms import from_operations, from_validity
from ticdc_emit.traffic.replay.run import SliceReport, replay
from ticdc_emit.tso import tso_from_datetime

DAY = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)
SCHEMA = """
create table city.rides (
  id bigint primary key, driver int not null, zone_from varchar(24) not null, zone_to varchar(24), state
  enum('asked','riding','done') not null, seats tinyint unsigned not null, started datetime(3), km decimal(8,3)
);
create table city.fares (
  ride bigint, part tinyint, amount decimal(9,2) not null, currency char(3) not null, paid_at timestamp(3) null,
  primary key (ride, part)
);
create table city.drivers (id int primary key, name varchar(40) not null, town varchar(24), score double not null);
"""
DDL = (
    (
        tso_from_datetime(DAY.replace(hour=8, minute=1)),
        "alter table city.rides add column tip decimal(8,2) not null default 0.25",
    ),
    (
        tso_from_datetime(DAY.replace(hour=16, minute=30)),
        "alter table city.fares add column method varchar(10) default 'card'",
    ),
)
_KEYS = {"rides": ["id"], "fares": ["ride", "part"], "drivers": ["id"]}
_SPAN_MS = 86_400_000


def make_source(spark: Any, folder: Path, rows: int) -> dict[str, Any]:
    """Write about ``rows`` rows of the three tables as Parquet and return them: 4 of 6 rides, 1 fares, 1 drivers."""
    at_ms = f"cast(xxhash64(id) & 9223372036854775807 as bigint) % {_SPAN_MS} as at_ms"
    spark.range(rows // 6).selectExpr("id", at_ms).createOrReplaceTempView("keys")
    made = {
        # asked, riding, done with a tip; and every fourth again: a correction after an hour, or gone
        "rides": f"""
            select case step when 0 then 'I' when 3 then if(id % 8 = 0, 'D', 'U') else 'U' end op,
              timestamp_millis({_ms()} + least(at_ms + step * (60000 + id % 1800000), {_SPAN_MS} - 1)) at,
              id * 4 + step as lsn, id, cast(id % 5000 as int) driver, concat('zone ', id % 260) zone_from,
              if(step = 0, null, concat('zone ', id * 7 % 260)) zone_to,
              elt(least(step, 2) + 1, 'asked', 'riding', 'done') state, cast(id % 4 + 1 as smallint) seats,
              if(step = 0, null, timestamp_ntz'2026-01-05 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, at_ms div 1000))
                started,
              if(step < 2, null, cast((id % 30000 + step) / 1000 as decimal(8,3))) km,
              if(step < 2, 0.25BD, cast(id % 900 / 100 as decimal(8,2))) tip
            from keys lateral view explode(array(0, 1, 2, 3)) as step
            """,
        "fares": f"""
            select if(again = 1, 'delete', 'insert') op,
              timestamp_millis({_ms()} + least(at_ms + again * 3600000, {_SPAN_MS} - 1)) at, id * 2 + again as lsn,
              id as ride, cast(1 as tinyint) part, if(again = 1, null, cast(id % 100000 / 100 as decimal(9,2))) amount,
              if(again = 1, null, elt(id % 3 + 1, 'EUR', 'CHF', 'PLN')) currency,
              if(again = 1 or id % 9 = 0, null, timestamp_millis({_ms()} + at_ms)) paid_at,
              if(again = 1, null, elt(id % 2 + 1, 'cash', 'card')) method
            from keys lateral view explode(if(id % 10 = 0, array(0, 1), array(0))) as again
            """,
        "drivers": f"""
            select cast(id div 4 as int) id, concat('driver ', id div 4, ' é') name,
              if(id % 7 = 0, null, concat('town ', id % 90)) town, cast(id % 500 as double) / 8 score,
              timestamp_millis({_ms()} + id div 4 * 37 % 3600000 + id % 4 * 21600000) valid_from,
              if(id % 4 = 3 and id % 5 > 0, null,
                timestamp_millis({_ms()} + id div 4 * 37 % 3600000 + (id % 4 + 1) * 21600000
                  - if(id % 5 = 0, 3600000, 0))) valid_to
            from keys
            """,
    }
    for name, query in made.items():
        spark.sql(query).write.mode("overwrite").parquet(str(folder / name))
    return {name: spark.read.parquet(str(folder / name)) for name in made}


def _ms() -> int:
    return int(DAY.timestamp() * 1000)


def history(source: dict[str, Any]) -> dict[str, Any]:
    """Return the row changes of the three tables."""

    def filled(name: str, at: str) -> Any:
        versions = versions_of(catalog_from_sql(SCHEMA), DDL, f"city.{name}")
        return backfilled(source[name], versions, at)

    return {
        "city.rides": from_operations(filled("rides", "at"), ["id"], "op", "at", order_by=["lsn"]),
        "city.fares": from_operations(filled("fares", "at"), ["ride", "part"], "op", "at", order_by=["lsn"]),
        "city.drivers": from_validity(source["drivers"], ["id"], "valid_from", "valid_to"),
    }


def expected(source: dict[str, Any]) -> dict[tuple[str, str], dict[Any, dict[str, str | None]]]:
    """Return what the source ends with, by SQL of its own: the last row of each key, unless it is gone."""
    for name, df in source.items():
        df.createOrReplaceTempView(f"source_{name}")
    tip, method = (f"timestamp_millis({commit_ts >> 18})" for commit_ts, _ in DDL)
    queries = {
        "rides": f"""
            select id, driver, zone_from, zone_to, state, seats,
              date_format(started, 'yyyy-MM-dd HH:mm:ss.SSS') started, km, if(at > {tip}, tip, 0.25BD) tip
            from (select *, row_number() over (partition by id order by at desc, lsn desc) n from source_rides)
            where n = 1 and op != 'D'
            """,
        "fares": f"""
            select ride, part, amount, currency, date_format(paid_at, 'yyyy-MM-dd HH:mm:ss.SSS') paid_at,
              if(at > {method}, method, 'card') method
            from (select *, row_number() over (partition by ride order by at desc, lsn desc) n from source_fares)
            where n = 1 and op = 'insert'
            """,
        "drivers": """
            select id, name, town, regexp_replace(cast(score as string), '\\\\.0$', '') score
            from (select *, row_number() over (partition by id order by valid_from desc) n from source_drivers)
            where n = 1 and valid_to is null
            """,
    }
    found: dict[tuple[str, str], dict[Any, dict[str, str | None]]] = {}
    for name, query in queries.items():
        keys = len(_KEYS[name])
        df = source[name].sparkSession.sql(query)
        texts = df.selectExpr(*(f"cast(`{column}` as string) as `{column}`" for column in df.columns)).toArrow()
        rows = texts.to_pylist()
        found["city", name] = {tuple(row.values())[:keys]: row for row in rows}
    return found


def folded(messages: list[Message], config: ChangefeedConfig) -> tuple[ReferenceConsumer, float]:
    """Fold the messages; return the consumer and the seconds that it took."""
    started = time.monotonic()
    consumer = ReferenceConsumer(config, SCHEMA, partitions={config.kafka.topic: config.kafka.partition_num or 1})
    consumer.take_all(messages)
    consumer.finish()
    return consumer, time.monotonic() - started


def differences(consumer: ReferenceConsumer, wanted: dict[Any, dict[Any, dict[str, str | None]]]) -> int:
    """Count rows that one side has and the other has not, or has otherwise."""
    count, tables = 0, consumer.tables
    for name, rows in wanted.items():
        found = tables[name]
        keys = found.keys() | rows.keys()
        count += sum(found.get(key) != rows.get(key) for key in keys)
    return count + len(tables.keys() ^ wanted.keys())


def main() -> int:
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.kafka_reader import read_topic
    from ticdc_emit.spark import local_session
    from ticdc_emit.testing.java import find_java
    from ticdc_emit.testing.kraft import KraftBroker, kafka_jars

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--speed", type=float, default=1440, help="0: as fast as it goes, a slice of an hour each")
    parser.add_argument("--protocol", default="canal-json&enable-tidb-extension=true")
    parser.add_argument("--partitions", type=int, default=2)
    asked = parser.parse_args()

    def show(done: SliceReport) -> None:
        print(done, file=sys.stderr, flush=True)

    spark = local_session(
        "replay-day", spark_master="local[2]", spark_driver_memory="4g", spark_sql_shuffle_partitions="4"
    )
    jars = kafka_jars()
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-day-") as folder:
        source = make_source(spark, Path(folder) / "source", asked.rows)
        rows = sum(df.count() for df in source.values())
        with KraftBroker(find_java(), jars, Path(folder) / "kafka") as broker:
            uri = f"kafka://{broker.bootstrap}/day?protocol={asked.protocol}&partition-num={asked.partitions}"
            changefeed = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
            config = load_changefeed(uri, changefeed)
            report = replay(
                spark,
                config,
                history(source),
                SCHEMA,
                ddl=DDL,
                speed=asked.speed or None,
                slice=None if asked.speed else 3600,
                on_slice=show,
            )
            settings = KafkaSink.of(config.kafka).connection_settings()
            messages = read_topic(settings, config.kafka.topic, timeout_s=300)
        wanted = expected(source)
    spark.stop()
    consumer, fold_seconds = folded(messages, config)
    figures = {
        "source_rows": rows,
        "row_changes": report.total.rows,
        "messages": len(messages),
        "ddl_events": report.total.ddl_events,
        "slices": report.slices,
        "prepare_seconds": round(report.prepare_seconds, 1),
        "replay_seconds": round(report.seconds, 1),
        "rows_per_second": round(report.total.rows / report.seconds),
        "max_lag_seconds": None if report.max_lag_seconds is None else round(report.max_lag_seconds, 1),
        "fold_seconds": round(fold_seconds, 1),
        "final_rows": sum(map(len, wanted.values())),
        "differences": differences(consumer, wanted),
    }
    print(json.dumps(figures, indent=2))
    return 0 if figures["differences"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
