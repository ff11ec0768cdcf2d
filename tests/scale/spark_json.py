"""What a user would write without this library: Spark's ``to_json`` of a look-alike, through Spark's Kafka connector.

In: Parquet files of row changes (``op``, ``commit_ts``, ``after``). Out: messages that look like Canal-JSON, but have
neither its types nor its order, and no watermark. It is measured beside the library, not compared byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.testing.kraft import locked_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["connector_jars", "send_as_json"]


def connector_jars() -> str:
    """Return ``spark.jars`` for a session that has the connector."""
    return ",".join(str(jar) for jar in sorted(locked_jars(Path(__file__).parent / "spark_kafka").glob("*.jar")))


def send_as_json(spark: SparkSession, source: Path, brokers: str, topic: str, table: str) -> None:
    """Send each row of ``source`` as one message to ``topic``, on whatever partition the connector picks."""
    from pyspark.sql import functions as F  # noqa: N812

    changes = spark.read.parquet(str(source))
    names = changes.select("after.*").columns
    milliseconds = F.shiftright("commit_ts", 18)
    envelope = F.struct(
        F.lit(0).alias("id"),
        F.lit("test").alias("database"),
        F.lit(table).alias("table"),
        F.array(F.lit("id")).alias("pkNames"),
        F.lit(False).alias("isDdl"),
        F.lit("INSERT").alias("type"),
        milliseconds.alias("es"),
        milliseconds.alias("ts"),
        F.lit("").alias("sql"),
        F.array(F.struct(*(F.col("after")[name].cast("string").alias(name) for name in names))).alias("data"),
        F.lit(None).cast("string").alias("old"),
        F.struct(F.col("commit_ts").alias("commitTs")).alias("_tidb"),
    )
    messages = changes.select(F.to_json(envelope, {"ignoreNullFields": "false"}).alias("value"))
    messages.write.format("kafka").options(**{"kafka.bootstrap.servers": brokers, "topic": topic}).save()
