"""``ticdc-emit check`` with scenarios of files, as a user runs it."""

from __future__ import annotations

from pathlib import Path

from child import Cli

from ticdc_emit.traffic.scenarios.files import file_scenario


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_stage_after_stage(tmp_path: Path, cli: Cli) -> None:
    case = file_scenario("date-rollover", seed=3)
    uri = f"file://{tmp_path}/lake?protocol=csv"
    paths: set[str] = set()
    for number, stage in enumerate(case.stages, 1):
        given = ("--seed", "3", "--send", uri, "--stage", str(number))
        shown = cli("check", "--only", "date-rollover", *given).out
        paths |= {write.path for write in stage.writes}
        assert files_in(tmp_path / "lake") == paths
        assert f"stage {number} of {len(case.stages)}: written" in shown
    cli("verify", str(tmp_path / "lake"), "--protocol", "csv")
    assert "the folder has files" in cli("check", "--only", "date-rollover", "--send", uri, code=2).err


def test_all_at_once_and_as_json(tmp_path: Path, cli: Cli) -> None:
    uri = f"file://{tmp_path}/lake?protocol=canal-json"
    told = cli("check", "--only", "files-again", "--send", uri, "--release", "next", "--json").json
    assert told == {"scenario": "files-again", "protocol": "canal-json", "release": "next"}
    case = file_scenario("files-again", protocol="canal-json", release="next")
    last = {write.path: write.content for stage in case.stages for write in stage.writes}
    assert files_in(tmp_path / "lake") == set(last)
    assert all((tmp_path / "lake" / path).read_bytes() == content for path, content in last.items())


def test_shown_without_a_sink(cli: Cli) -> None:
    shown = cli("check", "--only", "known-checksum", "--stage", "2").out
    assert "stage 2 of 2" in shown
    assert "stage 1 of 2" not in shown
    assert "TRUNCATE TABLE" in shown.upper()
    assert "must end with:" in shown
