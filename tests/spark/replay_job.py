"""Run by test_replay, in a process of its own too: one history into files, with a number of Spark partitions."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from pathlib import Path
from typing import Any


def digests(spark: Any, folder: Path, partitions: int, seed: int) -> list[str]:
    """Return a line with name, SHA-256 and size for each file that was written."""
    from ticdc_emit.spark import TicdcSink

    tables = 5
    schema = "".join(
        f"create table test.t{n} (id int primary key, tags set('a','b','c'), doc json, v varchar(20));"
        for n in range(tables)
    )
    schema += "create table test.quiet (id int primary key);"
    rows = []
    for n in range(600):
        image = {"id": str(n // 3), "tags": "a,c", "doc": json.dumps({"n": n, "k": [1, 2]}), "v": f"<{n}>"}
        before = image if n % 3 == 2 else None
        commit_ts = 450_000_000_262_144_000 + (n // 4) * (1 << 26)
        rows.append(("test", f"t{n % tables}", "d" if before else "c", commit_ts, n, before, None if before else image))
    random.Random(seed).shuffle(rows)
    kind = "schema string, table string, op string, commit_ts long, seq long, before map<string,string>"
    df = spark.createDataFrame(rows, kind + ", after map<string,string>").repartition(partitions)
    uri = f"jsonl://{folder}?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
    ddl = [(450_000_000_262_144_000 + 50 * (1 << 26), "alter table test.quiet add column z int")]
    TicdcSink(uri, schema, watermark_interval=1, ddl=ddl).write(df)
    files = sorted(folder.rglob("*.jsonl"))
    return [f"SHA {path.name} {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size}" for path in files]


def main(folder: str, partitions: int, seed: int) -> None:
    from spark_session import local_session

    spark = local_session(
        spark_sql_shuffle_partitions=str(partitions), spark_executorEnv_PYTHONHASHSEED=os.environ["PYTHONHASHSEED"]
    )
    print(*digests(spark, Path(folder), partitions, seed), sep="\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
