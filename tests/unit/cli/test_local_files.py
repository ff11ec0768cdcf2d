"""Input files that are not there are told before Spark starts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ticdc_emit.cli import emit, replay, session
from ticdc_emit.cli.local_files import check_readable, local_size
from ticdc_emit.cli.replay import ColumnOptions
from ticdc_emit.errors import ConfigError


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of rows in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b c.csv"):
        (tmp_path / name).write_text("id\n1\n")
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "a.csv",
        "{folder}",
        "{folder}/a.csv",
        "file:{folder}/a.csv",
        "file://{folder}/b%20c.csv",
        "file://localhost{folder}/a.csv",
        "*.csv",
        "{folder}/?.csv",
        "s3a://bucket/none.csv",
        "hdfs://host/none.csv",
        "{{none,a}}.csv",
        "[a-z].csv",
    ],
)
def test_what_is_there_or_only_spark_can_tell(path: str, rows: Path) -> None:
    check_readable(path.format(folder=rows), "input", {})


@pytest.mark.parametrize("path", ["none.csv", "file:///none/none.csv", "none/*.csv", "A?.csv", "file:none.csv"])
def test_what_is_not_there(path: str, rows: Path) -> None:
    with pytest.raises(ConfigError, match="no file or folder") as refused:
        check_readable(path, "input", {})
    assert refused.value.option == "input"
    assert "Check the path" in refused.value.remedy


def test_a_spark_with_another_file_system_is_asked_itself(rows: Path) -> None:
    check_readable("none.csv", "input", {"spark.hadoop.fs.defaultFS": "hdfs://host"})


def test_sizes(rows: Path) -> None:
    assert local_size("a.csv", {}) == len("id\n1\n")
    assert local_size("*.csv", {}) == local_size(str(rows), {}) == 2 * len("id\n1\n")
    assert local_size("s3a://bucket/a.csv", {}) == math.inf


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    for module in (session, replay):
        monkeypatch.setattr(module, "local_spark", refuse)


@pytest.mark.usefixtures("no_spark")
def test_emit_and_replay_ask_before_spark_starts(rows: Path) -> None:
    (rows / "t.sql").write_text("create table test.t (id int primary key);")
    uri = f"file://{rows}/out?protocol=canal-json"
    with pytest.raises(ConfigError, match="no file or folder"):
        emit.run(
            schema=Path("t.sql"),
            input_path="none.csv",
            sink_uri=uri,
            config=None,
            table=None,
            input_format=None,
            commit_time_column=None,
            commit_ts=None,
            time_zone="UTC",
            profile=None,
            schema_registry=None,
            registry_tls=(None, None, None),
            bad_rows="refuse",
            bad_rows_path=None,
            ignore_unknown=False,
            on_spark=False,
            spark={},
            html=None,
            as_json=True,
        )
    columns = ColumnOptions("snapshot", at="2024-01-01T00:00:00Z")
    with pytest.raises(ConfigError, match="no file or folder") as refused:
        replay.run(replay.CommandOptions(Path("t.sql"), ["t=none.parquet"], [], uri, columns))
    assert refused.value.option == "table"
    assert not (rows / "out").exists()
