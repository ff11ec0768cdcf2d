"""The folder of a storage sink in object storage: what is there, and what a storage that fails does to a changefeed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from ticdc_emit.config import ChangefeedConfig, Secret, load_changefeed
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.delivery.object_storage import ObjectStorage, _replace_files
from ticdc_emit.delivery.storage_files import ObjectFolder, StorageSink
from ticdc_emit.errors import DeliveryError, MissingDependencyError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed

TABLE = "create table shop.orders (id int primary key)"
TS = 450_000_000_262_144_000
REFUSED = [PermissionError("Forbidden"), OSError(errno.EBUSY, "Slow Down"), TimeoutError()]


class Bucket(MemoryFileSystem):  # type: ignore[misc]
    cachable = False
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    failure: Exception = OSError()
    where = "nowhere"
    failures = 1_000
    asked = 0

    isfile = AbstractFileSystem.isfile  # as in s3fs, gcsfs and adlfs

    def info(self, path: str, **options: Any) -> Any:
        if self.where in path:
            Bucket.asked += 1
            if self.asked <= self.failures:
                raise self.failure
        return super().info(path, **options)

    def find(self, path: str, **options: Any) -> list[str]:
        return [found.removeprefix("/") for found in super().find(path, **options)]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    monkeypatch.setattr(fsspec, "filesystem", lambda protocol, **options: Bucket())
    for name, value in (("where", "nowhere"), ("failures", 1_000), ("asked", 0)):
        monkeypatch.setattr(Bucket, name, value)
    Bucket.store.clear()
    yield Bucket
    Bucket.store.clear()


class Sink(StorageSink):
    def folder(self) -> ObjectFolder:
        return _folder()


def _folder() -> ObjectFolder:
    return ObjectFolder(ObjectStorage(Secret("s3://bucket/lake"), "sink-uri", attempts=3, backoff_s=0))


def _config(release: str) -> ChangefeedConfig:
    return load_changefeed(
        "s3://bucket/lake?protocol=csv", {"sink": {"csv": {"include-commit-ts": True}}}, release=release
    )


def _run(config: ChangefeedConfig, number: int) -> None:
    rows = [{"op": "c", "commit_ts": TS + number, "after": {"id": number}}]
    feed = Changefeed(config, Sink.of(config), TABLE)
    feed.run(ArrowBatch(pa.Table.from_pylist(rows), "shop.orders"), number, final=True)


def test_what_is_there(bucket: type[Bucket]) -> None:
    folder = _folder()
    folder.write("a/b/file", b"one ", memoryview(b"two"))
    assert (folder.exists("a/b/file"), folder.exists("a/b"), folder.exists("a/c")) == (True, False, False)
    assert folder.read("a/b/file") == b"one two"
    assert list(folder.files("")) == list(folder.files("a")) == ["a/b/file"]
    assert list(folder.files("elsewhere")) == []


@pytest.mark.parametrize("failure", REFUSED, ids=["403", "503", "timeout"])
def test_a_failure_is_not_a_missing_file(bucket: type[Bucket], failure: Exception) -> None:
    _folder().write("metadata", b"{}")
    bucket.where, bucket.failure = "metadata", failure
    with pytest.raises(DeliveryError, match="cannot look for a file") as error:
        _folder().exists("metadata")
    assert error.value.location == "s3://bucket/lake/metadata"
    assert bucket.asked == (1 if isinstance(failure, PermissionError) else 3)


def test_a_passing_failure_is_asked_again(bucket: type[Bucket]) -> None:
    _folder().write("metadata", b"{}")
    bucket.where, bucket.failure, bucket.failures = "metadata", OSError(errno.EBUSY, "Slow Down"), 2
    assert _folder().exists("metadata")
    assert bucket.asked == 3


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("where", ["metadata", ".index", ".csv", "/meta/schema_"])
@pytest.mark.parametrize("failure", REFUSED[:2], ids=["403", "503"])
def test_no_file_is_overwritten(bucket: type[Bucket], failure: Exception, where: str, release: str) -> None:
    config = _config(release)
    _run(config, 0)
    before = {path: bytes(file.getvalue()) for path, file in bucket.store.items()}
    assert any(path.endswith(".csv") for path in before)
    bucket.where, bucket.failure = where, failure
    with pytest.raises(DeliveryError, match="cannot look for a file"):
        _run(config, 1)
    after = {path: bytes(file.getvalue()) for path, file in bucket.store.items()}
    assert {path: after[path] for path in before} == before


def test_a_folder_that_cannot_be_reached_is_refused_first(bucket: type[Bucket]) -> None:
    bucket.where, bucket.failure = "", OSError("unreachable")
    with pytest.raises(DeliveryError, match="unreachable"):
        Sink.of(_config("next")).prepare({"shop.orders": None})


def test_a_reader_does_not_read_past_a_checkpoint_that_it_cannot_see(bucket: type[Bucket]) -> None:
    config = _config("next")
    _run(config, 0)
    bucket.where, bucket.failure = "metadata", OSError(errno.EBUSY, "Slow Down")
    with pytest.raises(DeliveryError, match="cannot look for a file"):
        list(FolderReader(config, _folder()).read())
    with pytest.raises(DeliveryError, match="cannot look for a file"):
        FolderReader(config, _folder()).checkpoint()


@pytest.mark.parametrize("uri", ["gcs://b/x", "azblob://c/x?account-name=a"])
def test_a_missing_package_is_named_at_once(monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    asked: list[str] = []

    def missing(protocol: str, **options: Any) -> Any:
        asked.append(protocol)
        raise ImportError(f"Install {protocol}")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    sink = StorageSink.of(load_changefeed(f"{uri}{'&' if '?' in uri else '?'}protocol=csv"))
    with pytest.raises(MissingDependencyError, match=r"sink-uri: (gcs needs gcsfs|azure needs adlfs)") as error:
        sink.prepare({"shop.orders": None})
    assert f"ticdc-emit[{'gcs' if 'gcs' in uri else 'azblob'}]" in str(error.value)
    assert len(asked) == 1


def test_credentials_that_a_package_refuses_are_an_error_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(protocol: str, **options: Any) -> Any:
        raise ValueError(f"cannot use {options}")

    monkeypatch.setattr(fsspec, "filesystem", refusing)
    sink = StorageSink.of(load_changefeed("azblob://c/x?account-name=a&account-key=hush&protocol=csv"))
    with pytest.raises(DeliveryError, match="cannot use the storage: ValueError") as error:
        sink.prepare({"shop.orders": None})
    assert "hush" not in str(error.value)


def _local(path: Path) -> ObjectFolder:
    return ObjectFolder(ObjectStorage(Secret(f"file://{path}"), "sink-uri", attempts=2, backoff_s=0))


def test_files_of_a_file_system(tmp_path: Path) -> None:
    folder = _local(tmp_path / "lake")
    assert (list(folder.files("")), folder.exists("metadata")) == ([], False)
    folder.write("b/c/file", b"1")
    folder.write("metadata", b"2")
    assert list(folder.files("")) == ["b/c/file", "metadata"]
    assert list(folder.files("b")) == ["b/c/file"]
    assert (folder.exists("b/c/file"), folder.exists("b/c")) == (True, False)


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _local(tmp_path)
    folder.write("a/meta/schema", b"1")
    folder.write("b/meta/schema", b"1")
    scan = os.scandir

    def refusing(path: str) -> Any:
        if "/a/" in os.fspath(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DeliveryError, match="cannot list files: PermissionError"):
        folder.files("")
    assert list(folder.files("b")) == ["b/meta/schema"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lake").write_bytes(b"")
    with pytest.raises(DeliveryError, match="NotADirectoryError"):
        _local(tmp_path / "lake").exists("metadata")


def test_a_file_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        _replace_files({f"{tmp_path}/day/file.json": parts()})  # type: ignore[dict-item]
    assert list((tmp_path / "day").iterdir()) == []
