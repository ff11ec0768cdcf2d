"""Tails the change feed of a Delta table until it has read all, or dies.

``python stream_job.py SETTINGS TABLE FOLDER DIES_AFTER``. ``SETTINGS``: Spark's, as JSON. ``TABLE``: the Delta table's
folder. ``FOLDER``: for messages, state and checkpoint. ``DIES_AFTER``: the batch after whose messages the process ends
at once, before Spark knows that the batch is done.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ticdc_emit import TicdcSink, local_session

SCHEMA = "create table lake.goods (id bigint primary key, name varchar(20), price decimal(8,2))"
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"


def tail(spark: Any, table: Path, folder: Path, dies_after: int | None = None) -> None:
    with TicdcSink(f"jsonl://{folder}/out?{URI}", SCHEMA, state_uri=str(folder / "state")) as sink:

        def send_and_die(df: Any, batch_id: int) -> None:
            sink(df, batch_id)
            if batch_id == dies_after:
                os._exit(9)

        feed = spark.readStream.format("delta").option("readChangeFeed", True).option("startingVersion", 0)
        rows = feed.option("maxFilesPerTrigger", 1).load(str(table))
        writer = rows.writeStream.foreachBatch(send_and_die).option("checkpointLocation", str(folder / "checks"))
        writer.trigger(availableNow=True).start().awaitTermination()
        sink.finish()


if __name__ == "__main__":
    settings, path, out, batch = sys.argv[1:]
    tail(local_session("tail", **json.loads(settings)), Path(path), Path(out), int(batch))
