"""Sends the change feed of a Delta table as a stream, in this process or in one that dies.

``python feed_job.py SETTINGS TABLE FOLDER BATCH MOMENT`` is the process that dies. ``SETTINGS``: Spark's, as JSON.
``TABLE``: the folder of the table. ``FOLDER``: for messages, state and checkpoint; another run with it goes on.
``BATCH``, ``MOMENT``: when the process ends (:class:`Death`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lake_session import TINY

from ticdc_emit import TicdcSink, local_session, table_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.sinks import sink_for

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
MOMENTS = ("sending", "sent")
_ROOT = Path(__file__).parents[2]
_STATUS = 9  # of a process that dies as it should
_FILES = 3  # of a micro-batch


class Death:
    """When a process ends at once: ``sending``, after half of the messages of a batch, or of the next one that has two;
    or ``sent``, after all of them, when the state of the changefeed has them, but Spark's checkpoint has not.
    """

    def __init__(self, folder: Path, batch: int = -1, moment: str = "sent") -> None:
        self._batch, self._moment = batch, moment
        self._order = folder / "die"
        self._is_ordered = False

    def sink(self, uri: str) -> Any:
        """Return a sink whose worker dies; ``None`` if none does."""
        if self._moment == "sent":
            return None
        from tests.faults.lethal_sink import LethalSink

        return LethalSink(sink_for(load_changefeed(uri)), str(self._order))

    def before(self, batch: int) -> None:
        """Take note that a batch begins."""
        if (batch, "sending") == (self._batch, self._moment):
            self._order.touch()
            self._is_ordered = True

    def after(self, batch: int) -> None:
        """Take note that a batch was sent."""
        if (batch, "sent") == (self._batch, self._moment):
            os._exit(_STATUS)

    @contextmanager
    def with_its_worker(self) -> Iterator[None]:
        """End the process if its worker dies in the block."""
        try:
            yield
        except Exception:
            if self._is_ordered and not self._order.exists():
                os._exit(_STATUS)
            raise


def tail_feed(spark: Any, table: str, folder: Path, death: Death | None = None) -> None:
    """Stream the feed of a Delta table whose columns never changed, all of its versions."""
    death = death or Death(folder)
    with _sink(spark, table, folder, death) as sink:

        def send(df: Any, batch_id: int) -> None:
            death.before(batch_id)
            with death.with_its_worker():
                sink(df, batch_id)
            death.after(batch_id)

        feed = spark.readStream.format("delta").option("readChangeFeed", True).option("startingVersion", 0)
        rows = feed.option("maxFilesPerTrigger", _FILES).load(table)
        writer = rows.writeStream.foreachBatch(send).option("checkpointLocation", str(folder / "checks"))
        writer.trigger(availableNow=True).start().awaitTermination()
        sink.finish()


def _sink(spark: Any, table: str, folder: Path, death: Death) -> TicdcSink:
    schema, ddl = table_ddl(spark, table, "lake.goods", "id")
    uri = f"jsonl://{folder}/out?{URI}"
    return TicdcSink(uri, schema, ddl=ddl, state_uri=str(folder / "state"), sink=death.sink(uri))


def run_until_death(spark: Any, table: str, folder: Path, batch: int, moment: str) -> None:
    """Run :func:`tail_feed` in a process that has the settings of a session, and dies."""
    known = dict(spark.sparkContext.getConf().getAll())
    shared = ("spark.jars", "spark.sql.", "spark.databricks")
    settings = {name: value for name, value in known.items() if name.startswith(shared)}
    settings |= {"spark.master": "local[2]", **TINY}
    program = [sys.executable, __file__, json.dumps(settings), table, str(folder), str(batch), moment]
    done = subprocess.run(
        program,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "tests")])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        start_new_session=True,  # LethalSink knows the driver by it
    )
    assert done.returncode == _STATUS, done.stderr[-3000:]


if __name__ == "__main__":
    settings, table, out, batch, moment = sys.argv[1:]
    folder = Path(out)
    tail_feed(local_session("feed", **json.loads(settings)), table, folder, Death(folder, int(batch), moment))
