"""The campaign on object storage: changes to files on S3, while a worker and the driver are killed.

In: a seeded history, and moto's server, which speaks the protocol of S3 (``tox -e cloud`` has it). Out: counts, and
what is wrong. The contract, judged over the files that index files name:

* **whole**: each file is there and is a sequence of expected rows, byte by byte;
* **delivered**: each change is there at least once;
* **order**: the first occurrences of a table's changes ascend by commit_ts, over dates and numbers of files.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from ticdc_emit.encoder import Encoder
from ticdc_emit.storage.paths import METADATA, FileNames

from .driver import Driver
from .expected import Change, digest, expected_messages
from .history import History, schema_sql

_BUCKET, _FOLDER = "faults", "lake"
_KEYS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "hush", "region_name": "eu-west-1"}
_OPTIONS = {
    "csv": ("protocol=csv&flush-interval=10m", {"sink": {"csv": {"include-commit-ts": True}}}),
    "canal-json": ("protocol=canal-json&enable-tidb-extension=true&flush-interval=10m", {}),
}
_KILL_WORKER, _KILL_DRIVER = 0.3, 0.6
_POLL_S = 0.05
_NAMED = 10


@dataclass
class StorageVerdict:
    expected: int = 0
    rows: int = 0
    distinct_rows: int = 0
    duplicate_rows: int = 0
    files: int = 0
    files_without_index: int = 0
    workers_killed: int = 0
    tasks_lost: int = 0
    drivers_killed: int = 0
    seconds: float = 0.0
    judge_seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        if len(self.faults) < _NAMED:
            self.faults.append(text)


def run_on_s3(
    folder: Path, rows: int, *, tables: int = 20, batches: int = 20, protocol: str = "csv", timeout_s: float = 3600
) -> StorageVerdict:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # moto's server logs each request
    history = History(rows, tables, batches)
    changes = history.write(folder / "history")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        bucket = boto3.resource("s3", endpoint_url=endpoint, **_KEYS).Bucket(_BUCKET)
        bucket.create(CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        parameters, changefeed = _OPTIONS[protocol]
        access = f"endpoint={endpoint}&access-key=AKIA&secret-access-key=hush&region=eu-west-1"
        job = {
            "sink_uri": f"s3://{_BUCKET}/{_FOLDER}?{parameters}&{access}",
            "options": {"changefeed": changefeed},
            "schema": schema_sql(tables),
            "source": str(folder / "history"),
            "checkpoint": str(folder / "checkpoint"),
            "state": str(folder / "state"),
            "files_per_batch": 1,
        }
        verdict = StorageVerdict()
        stamps = changes["commit_ts"].to_numpy()
        _run(Driver(folder / "job", job), bucket, int(stamps.min()), int(stamps.max()), verdict, timeout_s)
        started = time.monotonic()
        encoder = Encoder(f"s3://x?{parameters}", schema_sql(tables), changefeed=changefeed)
        _judge(bucket, expected_messages(encoder, changes).changes, verdict)
        verdict.judge_seconds = round(time.monotonic() - started, 1)
    finally:
        server.stop()
    return verdict


def _run(driver: Driver, bucket: Any, first: int, last: int, verdict: StorageVerdict, timeout_s: float) -> None:
    started = time.monotonic()

    def wait(what: str, is_there: Any) -> None:
        while not is_there():
            if driver.exit_code is not None or time.monotonic() - started > timeout_s:
                raise AssertionError(f"the job ended, or takes too long, before {what}:\n{driver.log_tail()}")
            time.sleep(_POLL_S)

    def reached(share: float) -> bool:
        found = [each for each in bucket.objects.filter(Prefix=f"{_FOLDER}/{METADATA}") if each.key.endswith(METADATA)]
        if not found:
            return False
        checkpoint = json.loads(found[0].get()["Body"].read())["checkpoint-ts"]
        return bool(checkpoint >= first + share * (last - first))

    def files() -> int:
        return sum("/CDC0" in each.key for each in bucket.objects.all())

    try:
        driver.start()
        wait("a worker could be killed", lambda: reached(_KILL_WORKER))
        driver.kill_worker()
        verdict.workers_killed = 1
        wait("Spark lost a worker", driver.lost_workers)
        wait("the driver could be killed", lambda: reached(_KILL_DRIVER))
        before = files()
        wait("a batch was in its middle", lambda: files() > before)
        driver.kill()
        verdict.drivers_killed = 1
        driver.start()
        while driver.exit_code is None:
            if time.monotonic() - started > timeout_s:
                raise AssertionError(f"the job takes more than {timeout_s} s:\n{driver.log_tail()}")
            time.sleep(_POLL_S)
        verdict.tasks_lost = driver.lost_tasks()
        if driver.exit_code:
            raise AssertionError(f"the job failed:\n{driver.log_tail()}")
    finally:
        driver.stop()
    verdict.seconds = round(time.monotonic() - started, 1)


def _judge(bucket: Any, expected: Mapping[bytes, Change], verdict: StorageVerdict) -> None:
    keys = sorted(each.key for each in bucket.objects.filter(Prefix=f"{_FOLDER}/"))
    seen: set[bytes] = set()
    verdict.expected = len(expected)
    for table, indexes in groupby((key for key in keys if key.endswith(".index")), lambda key: key.split("/")[2]):
        newest = -1
        for line in _lines(bucket, list(indexes), set(keys), verdict):
            verdict.rows += 1
            row = digest(b"", line) if digest(b"", line) in expected else digest(None, line)
            change = expected.get(row)
            if change is None or change.table != table:
                verdict.fault(f"{table}: {line[:80]!r} is not a row of it")
            elif row in seen:
                verdict.duplicate_rows += 1
            else:
                seen.add(row)
                if change.commit_ts < newest:
                    verdict.fault(f"{table}: {change.commit_ts} comes after {newest}")
                newest = max(newest, change.commit_ts)
    verdict.distinct_rows = len(seen)
    if len(seen) < len(expected):
        verdict.fault(f"{len(expected) - len(seen)} changes are lost")
    data = sum("/CDC0" in key for key in keys)
    verdict.files_without_index = data - verdict.files


def _lines(bucket: Any, indexes: list[str], keys: set[str], verdict: StorageVerdict) -> Iterator[bytes]:
    for index in indexes:
        folder = index.removesuffix("/meta/CDC.index")
        newest = bucket.Object(index).get()["Body"].read().decode().strip()
        names = FileNames(f".{newest.rpartition('.')[2]}", 20)
        for number in range(1, names.number(newest) + 1):
            path = f"{folder}/{names.name(number)}"
            if path not in keys:
                verdict.fault(f"{path} is missing")
                continue
            verdict.files += 1
            content = bucket.Object(path).get()["Body"].read()
            if not content.endswith(b"\r\n"):
                verdict.fault(f"{path} has no whole row at its end")
            yield from (line + b"\r\n" for line in content.split(b"\r\n")[:-1])
