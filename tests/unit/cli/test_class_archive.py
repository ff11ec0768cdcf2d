"""The archive of Spark's classes: made on request, put in place whole, one at a time, never where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.cli.session import VARIABLE, ClassArchive, archive_for

pytest.importorskip("pyspark")


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(VARIABLE, "on")
    home = tmp_path / "java"
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "classes.jsa").write_bytes(b"base")
    (home / "release").write_text('JAVA_VERSION="17.0.15"')
    return home


def _archive(java_home: Path) -> ClassArchive:
    archive = archive_for(java_home)
    assert archive is not None
    return archive


def _written(archive: ClassArchive) -> Path:
    """Do what a JVM does at its end."""
    written = Path(archive.options.partition('"-XX:ArchiveClassesAtExit=')[2].partition('"')[0])
    written.write_bytes(b"classes")
    return written


def test_it_is_made_once_and_used_from_then_on(java_home: Path) -> None:
    archive = _archive(java_home)
    assert not archive.is_made
    written = _written(archive)
    assert written != archive.path, "a JVM that is killed must not leave half an archive there"
    archive.keep()
    again = _archive(java_home)
    assert again == archive
    assert again.is_made
    assert f'"-XX:SharedArchiveFile={archive.path}"' in again.options


def test_another_java_has_its_own_and_the_older_one_goes(java_home: Path) -> None:
    first = _archive(java_home)
    _written(first)
    first.keep()
    (java_home / "release").write_text('JAVA_VERSION="21.0.8"')
    second = _archive(java_home)
    assert second.path != first.path
    _written(second)
    second.keep()
    assert [file.name for file in second.path.parent.iterdir()] == [second.path.name]


def test_a_failed_command_leaves_nothing(java_home: Path) -> None:
    archive = _archive(java_home)
    _written(archive)
    archive.give_up()
    assert list(archive.path.parent.iterdir()) == []
    archive.keep()
    assert not archive.is_made


def test_a_program_without_a_terminal_makes_none_but_uses_it(java_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = _archive(java_home)
    monkeypatch.delenv(VARIABLE)
    assert archive_for(java_home) is None
    _written(archive)
    archive.keep()
    assert archive_for(java_home) == archive
    monkeypatch.setenv(VARIABLE, "off")
    assert archive_for(java_home) is None


def test_a_java_without_a_base_archive_has_none(java_home: Path) -> None:
    (java_home / "lib" / "server" / "classes.jsa").unlink()
    assert archive_for(java_home) is None
