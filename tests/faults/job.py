"""The driver program under fire: a Spark stream of a history's files into a sink, in a process of its own.

    python tests/faults/job.py job.json

The file names ``sink_uri, options, schema, source, checkpoint, state, files_per_batch, librdkafka``. Started again
after a crash, it continues from its checkpoint. ``worker_dies``: a file at whose sight one worker dies while it sends.
``die_after_batch``: SIGKILL for driver and JVM once that batch is sent and its state record complete, before Spark
commits the batch. The last line on stdout is a JSON object with what was sent.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

CHANGES_DDL = (
    "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>"
)
_PARALLEL = 2
_TASK_ATTEMPTS = 4


def main(job: dict[str, Any]) -> None:
    from tests.faults.lethal_sink import LethalSink, LethalStorage
    from ticdc_emit.config import load_changefeed
    from ticdc_emit.delivery.sinks import sink_for
    from ticdc_emit.delivery.storage_files import StorageSink
    from ticdc_emit.spark import TicdcSink, local_session

    settings = {
        "spark.master": f"local[{_PARALLEL},{_TASK_ATTEMPTS}]",
        "spark.sql.shuffle.partitions": str(_PARALLEL),
        "spark.log.level": "WARN",
    }
    spark = local_session("faults", **settings)
    changefeed = load_changefeed(job["sink_uri"], **job["options"])
    sink, order = sink_for(changefeed, job["librdkafka"]), job["worker_dies"]
    emitter = TicdcSink(
        changefeed,
        job["schema"],
        watermark_interval=1,
        state_uri=job["state"],
        sink=LethalStorage.around(sink, order) if isinstance(sink, StorageSink) else LethalSink(sink, order),
    )

    def emit(df: Any, batch_id: int) -> None:
        emitter(df, batch_id)
        if batch_id == job["die_after_batch"]:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    stream = spark.readStream.schema(CHANGES_DDL).option("maxFilesPerTrigger", job["files_per_batch"])
    query = stream.parquet(job["source"]).writeStream.foreachBatch(emit).trigger(availableNow=True)
    query.option("checkpointLocation", job["checkpoint"]).start().awaitTermination()
    sent = {
        "batches": [report.batch_id for report in emitter.reports],
        "rows": sum(report.rows for report in emitter.reports),
        "messages": sum(report.messages for report in emitter.reports),
        "seconds": round(sum(report.seconds for report in emitter.reports), 3),
        "watermark": emitter.reports[-1].watermark if emitter.reports else None,
    }
    print(json.dumps(sent), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
