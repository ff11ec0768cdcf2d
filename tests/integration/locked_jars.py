"""Real servers: fetched with Maven once, and started only if they are byte for byte those of the lock file."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["JarsMissingError", "locked_archive", "locked_jars"]


class JarsMissingError(Exception):
    """The jars are not in the cache and cannot be fetched here."""


def locked_jars(server: Path) -> Path:
    """The folder with the jars that ``{server}/{name}.lock.toml`` lists, fetched by ``{server}/pom.xml`` if need be."""
    return _locked(server, "jar", lambda work, libs: _fetch(server / "pom.xml", work, libs))


def locked_archive(server: Path) -> Path:
    """The archive that ``{server}/{name}.lock.toml`` names by ``group:artifact:version:type:classifier``."""
    text = (server / f"{server.name}.lock.toml").read_text()
    (archive,) = tomllib.loads(text)["archive"]
    options = [f"-Dartifact={archive['coordinates']}"]
    folder = _locked(server, "archive", lambda work, libs: _maven(work, libs, "dependency:copy", *options))
    return folder / _file_name(archive["coordinates"])


def _locked(server: Path, kind: str, fetch: Callable[[Path, Path], None]) -> Path:
    lock_text = (server / f"{server.name}.lock.toml").read_bytes()
    wanted = {_file_name(one["coordinates"]): one["sha256"] for one in tomllib.loads(lock_text.decode())[kind]}
    cache = Path(os.environ.get("TICDC_EMIT_TEST_CACHE") or Path.home() / ".cache" / "ticdc-emit")
    folder = cache / "jars" / f"{server.name}-{hashlib.sha256(lock_text).hexdigest()[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            libs = Path(fresh, "libs")
            fetch(Path(fresh), libs)
            _verify(libs, wanted)
            try:
                libs.rename(folder)
            except OSError:
                # Another test process was quicker; what it left is verified below.
                if not folder.is_dir():
                    raise
    _verify(folder, wanted)
    return folder


def _file_name(coordinates: str) -> str:
    """``group:artifact:version[:type[:classifier]]`` as Maven names the file."""
    _, artifact, version, kind, classifier = [*coordinates.split(":"), "jar", ""][:5]
    return f"{artifact}-{version}{'-' if classifier else ''}{classifier}.{kind}"


def _fetch(pom: Path, work: Path, libs: Path) -> None:
    # Maven writes a target folder beside the pom that it is given.
    shutil.copy(pom, work / "pom.xml")
    _maven(work, libs, "-f", work / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime")


def _maven(work: Path, libs: Path, *arguments: str | Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsMissingError("mvn is not on PATH, and the jars are not in the cache")
    command = [maven, "-B", "-q", *arguments, f"-DoutputDirectory={libs}"]
    answer = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, timeout=600)
    if answer.returncode:
        said = f"{answer.stdout[-2000:]}{answer.stderr[-2000:]}"
        raise JarsMissingError(f"{' '.join(map(str, command))} failed:\n{said}")


def _verify(folder: Path, wanted: dict[str, str]) -> None:
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    wrong = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    if wrong:
        raise AssertionError(f"{folder} does not match its lock file in: {', '.join(wrong)}")
