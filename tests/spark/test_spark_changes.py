"""``spark.read.changes`` and ``spark.readStream.changes`` of Spark 4.2, from a catalog to what a consumer has.

The catalog is that of Spark's own tests, whose jar fits pyspark 4.2 only. ``changes_job.py`` has a classic session in a
process of its own, because Java must start with that jar.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyspark
import pytest
from changes_job import BEGUN, COMMITS, READS, SCHEMA, URI, history
from missing_parts import java_and_jars

from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.files import read_files
from ticdc_emit.testing.java import java_env
from ticdc_emit.tso import LOGICAL_PER_MICROSECOND

CATALYST = Path(__file__).parents[1] / "integration/consumers/auto_cdc"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.2."), reason="the catalog is that of Spark 4.2"),
]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changes")
    (jar,) = java_and_jars(CATALYST)[1].glob("*.jar")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"], "SPARK_DIST_CLASSPATH": str(jar), **java_env()}
    env |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    job = [sys.executable, Path(__file__).parent / "changes_job.py", folder]
    done = subprocess.run(job, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


def _changes(folder: Path) -> list[Message]:
    messages = list(read_files(folder / "out"))
    return [message for message in messages if b'"type":"TIDB_WATERMARK"' not in (message.value or b"")]


def _commit_ts(message: Message) -> int:
    return int(json.loads(message.value or b"")["_tidb"]["commitTs"])


def _consumed(messages: list[Message]) -> dict[int, tuple[Any, ...]]:
    consumer = ReferenceConsumer(f"memory://read?{URI}", SCHEMA)
    consumer.take_all(messages)
    consumer.finish()
    rows = consumer.tables.get(("shop", "goods"), {}).values()
    return {int(row["id"] or 0): (row["state"], row["price"]) for row in rows}


def _expected(until: int = COMMITS) -> list[dict[int, tuple[Any, ...]]]:
    """Return the rows after each commit that changes any."""
    commits = list(history())[:until]
    return [
        {key: (state, str(price)) for key, (state, price) in commit.rows.items()} for commit in commits if commit.goods
    ]


@pytest.mark.parametrize("name", READS)
def test_a_consumer_has_every_version(sent: Path, name: str) -> None:
    messages = _changes(sent / name)
    stamps = sorted({_commit_ts(message) for message in messages})
    found = [_consumed([message for message in messages if _commit_ts(message) <= stamp]) for stamp in stamps]
    assert found == _expected()
    if name == "goods":  # the clock of one commit is behind
        gaps = [later - earlier for earlier, later in pairwise(stamps)]
        assert gaps.count(LOGICAL_PER_MICROSECOND) == 1
    operations = {json.loads(message.value or b"")["type"] for message in messages}
    assert operations == {"INSERT", "UPDATE", "DELETE"}


def test_the_options_of_spark_change_no_message(sent: Path) -> None:
    first, *others = ([message.value for message in _changes(sent / name)] for name in READS if name != "goods")
    assert others == [first, first]
    assert _changes(sent / "recognised") == _changes(sent / "goods")


def test_a_stream_sends_the_same(sent: Path) -> None:
    whole, again = ([message.value for message in _changes(sent / name)] for name in ("goods", "stream"))
    assert again == whole


def test_a_stream_that_drops_copies_is_one_read_behind(sent: Path) -> None:
    """Spark gives the changes of such a batch when the next one begins."""
    assert _consumed(_changes(sent / "held")) == _expected(BEGUN)[-1]
    whole = [message.value for message in _changes(sent / "copied")]
    held = [message.value for message in _changes(sent / "held")]
    assert held == whole[: len(held)]
    assert [message.value for message in _changes(sent / "raw")] == whole


def test_net_changes_leave_the_same_table(sent: Path) -> None:
    assert _consumed(_changes(sent / "net")) == _expected()[-1]
    assert len(_changes(sent / "net")) < len(_changes(sent / "copied"))
