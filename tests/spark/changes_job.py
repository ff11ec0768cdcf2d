"""Sends the changes that ``spark.read.changes`` and ``spark.readStream.changes`` give of a random history (Spark 4.2).

``python changes_job.py FOLDER``. The catalog is that of Spark's own tests, in memory. Its table
``goods`` gives old and new images of updates. ``copied`` gives deletes and inserts, also of rows that a commit only
copied: Spark drops those, and makes updates of others. Streams over both are started three times; all is also read.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ticdc_emit import TicdcSink, from_changes, local_session, replay

SCHEMA = "create table shop.goods (id bigint primary key, state varchar(9), price decimal(8,2))"
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
CATALOG = "org.apache.spark.sql.connector.catalog.InMemoryChangelogCatalog"
READS: dict[str, dict[str, Any]] = {
    "goods": {},
    "copied": {},
    "copied-raw": {"deduplicationMode": "none"},
    "copied-updates": {"computeUpdates": True},
}
"""What is read at once, with which options, by the name of its folder; the table's name is before the hyphen."""
FIRST, BEGUN, COMMITS = 5, 10, 14
"""The number of commits after which the stream's batches 0, 1 and 2 end."""
NET_FROM = 6
"""The first commit of a read of net changes."""
_NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.timezone.utc)
_COLUMNS = "id bigint not null, state string, price decimal(8,2), row_version bigint"


class Commit(NamedTuple):
    """``goods`` and ``copied``: images with their words. ``rows``: state and price by id, after the commit."""

    goods: list[tuple[Any, ...]]
    copied: list[tuple[Any, ...]]
    rows: dict[int, tuple[str | None, Decimal]]


def history() -> Iterator[Commit]:
    """Yield the commits; commit 3 only copies rows."""
    draw = random.Random(37)
    rows: dict[int, tuple[str | None, Decimal]] = {}
    versions: dict[int, int] = {}
    for version in range(COMMITS):
        goods: list[tuple[Any, ...]] = []
        copied: list[tuple[Any, ...]] = []

        def put(word: str, key: int, written: int, goods: Any = goods, copied: Any = copied) -> None:
            goods.append((key, *rows[key], written, word))
            plain = {"update_preimage": "delete", "update_postimage": "insert"}.get(word, word)
            copied.append((key, *rows[key], written, plain))

        for key in draw.sample(range(1, 20), 8):
            moved = draw.choice((key, key, key + 100 * version))
            if key not in rows or version == 3:
                if version != 3:
                    rows[key], versions[key] = _drawn(draw), version
                    put("insert", key, version)
            elif draw.random() < 0.2:
                put("delete", key, versions[key])
                del rows[key]
            else:
                put("update_preimage", key, versions[key])
                del rows[key]
                rows[moved], versions[moved] = _drawn(draw), version
                put("update_postimage", moved, version)
        for key in sorted(rows.keys() - {image[0] for image in copied})[:4]:
            copied += [(key, *rows[key], versions[key], word) for word in ("delete", "insert")]
        draw.shuffle(goods)
        draw.shuffle(copied)
        yield Commit(goods, copied, dict(rows))


def _drawn(draw: random.Random) -> tuple[str | None, Decimal]:
    return draw.choice((None, "new", "sent")), Decimal(draw.randint(-9999, 9999)).scaleb(-2)


class Catalog:
    """The two tables in Spark's catalog, and how far they are filled."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self._jvm = spark.sparkContext._jvm
        self._commits = list(history())
        self._filled = 0
        self._catalog = spark._jsparkSession.sessionState().catalogManager().catalog("cat")
        spark.sql("create namespace cat.shop")
        for table in ("goods", "copied"):
            spark.sql(f"create table cat.shop.{table} ({_COLUMNS})")
        connector = self._jvm.org.apache.spark.sql.connector.catalog
        version = self._jvm.scala.Option.apply("row_version")
        ids, paths = self._sequence(["id"]), self._sequence([])
        copies = connector.ChangelogProperties(True, True, True, ids, paths, version, True)
        self._catalog.setChangelogProperties(self._identifier("copied"), copies)

    def _identifier(self, table: str) -> Any:
        namespace = self.spark.sparkContext._gateway.new_array(self._jvm.java.lang.String, 1)
        namespace[0] = "shop"
        return self._jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, table)

    def _sequence(self, values: Sequence[Any]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for value in values:
            listed.add(value)
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed)

    def fill(self, until: int) -> None:
        """Add the commits before ``until``. The clock of ``goods`` goes back at the first commit of batch 1."""
        for table in ("goods", "copied"):
            images = []
            for version in range(self._filled, until):
                behind = 90 if table == "goods" and version == FIRST else 0
                at = _NOON + dt.timedelta(seconds=10 * version - behind)
                images += [(*image, version, at) for image in getattr(self._commits[version], table)]
            kinds = f"{_COLUMNS}, word string, version bigint, at timestamp"
            df = self.spark.createDataFrame(images, kinds).coalesce(1)
            rows = df._jdf.queryExecution().executedPlan().executeCollect()
            self._catalog.addChangeRows(self._identifier(table), self._sequence(rows))
        self._filled = until


def feed(reader: Any, table: str, **options: Any) -> Any:
    return reader.options(**{"startingVersion": 0, **options}).changes(f"cat.shop.{table}")


def sink_in(folder: Path) -> TicdcSink:
    return TicdcSink(f"jsonl://{folder}/out?{URI}", SCHEMA, state_uri=str(folder / "state"))


def tail(spark: Any, folder: Path, table: str, **options: Any) -> None:
    with sink_in(folder) as sink:
        rows = feed(spark.readStream, table, **options)
        writer = rows.writeStream.foreachBatch(lambda df, batch_id: sink(df.drop("row_version"), batch_id)).option(
            "checkpointLocation", str(folder / "checks")
        )
        writer.trigger(availableNow=True).start().awaitTermination()
        sink.finish()


def send(spark: Any, folder: Path) -> None:
    catalog = Catalog(spark)
    for until in (FIRST, BEGUN, COMMITS):
        catalog.fill(until)
        tail(spark, folder / "stream", "goods")
        tail(spark, folder / "held", "copied", computeUpdates=True)
    tail(spark, folder / "raw", "copied", deduplicationMode="none")
    for name, options in READS.items():
        rows = feed(spark.read, name.partition("-")[0], **options)
        changes = from_changes(rows, "id", columns=["id", "state", "price"])
        replay(spark, f"jsonl://{folder}/{name}/out?{URI}", {"shop.goods": changes}, SCHEMA)
    replay(spark, f"jsonl://{folder}/recognised/out?{URI}", {"shop.goods": feed(spark.read, "goods")}, SCHEMA)
    with sink_in(folder / "net") as sink:
        for bounds in (
            {"endingVersion": NET_FROM - 1},
            {"startingVersion": NET_FROM, "deduplicationMode": "netChanges", "computeUpdates": True},
        ):
            sink.write(feed(spark.read, "copied", **bounds).drop("row_version"))


if __name__ == "__main__":
    session = local_session("changes", **{"spark.master": "local[2]", "spark.sql.catalog.cat": CATALOG})
    session.conf.set("spark.sql.shuffle.partitions", "2")
    send(session, Path(sys.argv[1]))
    session.stop()
