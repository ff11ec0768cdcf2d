"""The jars of real servers: fetched once with Maven, used only if they match a lock file byte for byte.

In: a folder with ``pom.xml`` and ``{name}.lock.toml``, which lists coordinates and SHA-256 sums. Out: a folder with the
jars, below ``~/.cache/ticdc-emit/jars``.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ticdc_emit.errors import JarsMissingError
from ticdc_emit.java import user_cache

__all__ = ["JarsMissingError", "locked_archive", "locked_jars"]

_toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def locked_jars(server: Path) -> Path:
    """Return the folder with the jars that ``{server}/{name}.lock.toml`` lists, fetched by ``{server}/pom.xml`` if
    necessary.
    """
    return _locked(server, "jar", lambda work, libs: _fetch(server / "pom.xml", work, libs))


def locked_archive(server: Path) -> Path:
    """Return the archive that ``{server}/{name}.lock.toml`` names by ``group:artifact:version:type:classifier``."""
    text = (server / f"{server.name}.lock.toml").read_text()
    (archive,) = _toml.loads(text)["archive"]
    options = [f"-Dartifact={archive['coordinates']}"]
    folder = _locked(server, "archive", lambda work, libs: _maven(work, libs, "dependency:copy", *options))
    return folder / _file_name(archive["coordinates"])


def _locked(server: Path, kind: str, fetch: Callable[[Path, Path], None]) -> Path:
    lock_text = (server / f"{server.name}.lock.toml").read_bytes()
    wanted = {_file_name(one["coordinates"]): one["sha256"] for one in _toml.loads(lock_text.decode())[kind]}
    folder = user_cache() / "jars" / f"{server.name}-{hashlib.sha256(lock_text).hexdigest()[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            libs = Path(fresh, "libs")
            fetch(Path(fresh), libs)
            _verify(libs, wanted)
            try:
                libs.rename(folder)
            except OSError:
                # another process was faster; its files are verified below
                if not folder.is_dir():
                    raise
    _verify(folder, wanted)
    return folder


def _file_name(coordinates: str) -> str:
    """``group:artifact:version[:type[:classifier]]`` as Maven names the file."""
    _, artifact, version, kind, classifier = [*coordinates.split(":"), "jar", ""][:5]
    return f"{artifact}-{version}{'-' if classifier else ''}{classifier}.{kind}"


def _fetch(pom: Path, work: Path, libs: Path) -> None:
    # Maven writes a target folder next to the given pom
    shutil.copy(pom, work / "pom.xml")
    _maven(work, libs, "-f", work / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime")


def _maven(work: Path, libs: Path, *arguments: str | Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsMissingError(
            "the server's jars are not in the cache, and Maven, which fetches them, is not installed",
            remedy="Install Maven (apt install maven, brew install maven)",
        )
    command = [maven, "-B", "-q", *arguments, f"-DoutputDirectory={libs}"]
    answer = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, timeout=600)
    if answer.returncode:
        output = f"{answer.stdout[-2000:]}{answer.stderr[-2000:]}".strip()
        raise JarsMissingError(
            f"Maven could not fetch the server's jars: {output}", remedy="Check that this machine reaches Maven Central"
        )


def _verify(folder: Path, wanted: dict[str, str]) -> None:
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    wrong = sorted(name for name in sums.keys() | wanted.keys() if sums.get(name) != wanted.get(name))
    if wrong:
        raise JarsMissingError(
            f"jars differ from the lock file: {', '.join(wrong)}",
            remedy="Remove the folder, and they are fetched again",
            folder=str(folder),
        )
