"""Servers from locked jars: what is not as the lock file says is not started; what does not come up leaves nothing."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ticdc_emit.errors import JarsMissingError, ServerError
from ticdc_emit.testing.kraft import ServerProcess, locked_jars


def _locked(folder: Path, content: bytes) -> Path:
    server = folder / "tiny"
    server.mkdir()
    digest = hashlib.sha256(content).hexdigest()
    (server / "tiny.lock.toml").write_text(f'[[jar]]\ncoordinates = "org.example:tiny:1"\nsha256 = "{digest}"\n')
    (server / "pom.xml").write_text("<project/>")
    return server


def test_jars_must_be_those_of_the_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    server = _locked(tmp_path, b"right")
    with pytest.raises(JarsMissingError, match="Maven") as missing:
        locked_jars(server)
    assert "Install Maven" in missing.value.remedy

    name = hashlib.sha256((server / "tiny.lock.toml").read_bytes()).hexdigest()[:16]
    jars = tmp_path / "cache" / "ticdc-emit" / "jars" / f"tiny-{name}"
    jars.mkdir(parents=True)
    (jars / "tiny-1.jar").write_bytes(b"right")
    assert locked_jars(server) == jars
    (jars / "tiny-1.jar").write_bytes(b"wrong")
    with pytest.raises(JarsMissingError, match=r"tiny-1\.jar"):
        locked_jars(server)


class _Failing(ServerProcess):
    def _command(self) -> Sequence[str]:
        return [sys.executable, "-c", "print('no disk'); raise SystemExit(1)"]

    def _answers(self) -> bool:
        return False


def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    server = _Failing("tiny server", tmp_path / "server")
    with pytest.raises(ServerError, match="tiny server did not come up:\nno disk"), server:
        pass
    assert not (tmp_path / "server").exists()
