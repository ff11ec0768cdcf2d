"""Where the messages of a batch may stay in files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from ticdc_emit.spark.batch import chunk_folder


def session(master: str | None, **settings: str) -> Any:
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    context = {} if master is None else {"sparkContext": SimpleNamespace(master=master)}
    return SimpleNamespace(conf=conf, **context)


@pytest.mark.parametrize(
    ("master", "once"), [("local", True), ("local[2]", True), ("local[*]", True), ("local[2,3]", False)]
)
def test_a_local_session_has_one_while_a_job_runs(
    master: str, once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path)))
    with chunk_folder(session(master)) as folder:
        assert folder is not None
        assert folder.most > 0
        assert folder.read_once == once  # a task that runs again needs what it has read
        assert Path(folder.path).parent == tmp_path
        Path(folder.path, "left").write_bytes(b"x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", "yarn", "k8s://host", None])
def test_tasks_elsewhere_have_none(master: str | None) -> None:
    with chunk_folder(session(master)) as folder:
        assert folder is None


@pytest.mark.parametrize("value", ["true", "True", " TRUE "])
def test_what_spark_would_encrypt_is_not_written(value: str) -> None:
    with chunk_folder(session("local[2]", spark_io_encryption_enabled=value)) as folder:
        assert folder is None


def test_where_no_folder_can_be_made_messages_are_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = str(tmp_path / "gone")
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: gone))
    with chunk_folder(session("local[2]")) as folder:
        assert folder is None


def test_an_error_of_the_job_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path)))
    with pytest.raises(OSError, match="of the job"), chunk_folder(session("local[2]")):
        raise OSError("of the job")
    assert not list(tmp_path.iterdir())
