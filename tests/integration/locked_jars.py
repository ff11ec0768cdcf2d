"""Jars of real servers: fetched with Maven once, and started only if they are byte for byte those of the lock file."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["JarsMissingError", "locked_jars"]


class JarsMissingError(Exception):
    """The jars are not in the cache and cannot be fetched here."""


def locked_jars(server: Path) -> Path:
    """The folder with the jars that ``{server}/{name}.lock.toml`` lists, fetched by ``{server}/pom.xml`` if need be."""
    lock_text = (server / f"{server.name}.lock.toml").read_bytes()
    wanted = {
        "{1}-{2}.jar".format(*jar["coordinates"].split(":")): jar["sha256"]
        for jar in tomllib.loads(lock_text.decode())["jar"]
    }
    cache = Path(os.environ.get("TICDC_EMIT_TEST_CACHE") or Path.home() / ".cache" / "ticdc-emit")
    folder = cache / "jars" / f"{server.name}-{hashlib.sha256(lock_text).hexdigest()[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            libs = Path(fresh, "libs")
            _fetch(server / "pom.xml", Path(fresh), libs)
            _verify(libs, wanted)
            try:
                libs.rename(folder)
            except OSError:
                # Another test process was quicker; what it left is verified below.
                if not folder.is_dir():
                    raise
    _verify(folder, wanted)
    return folder


def _fetch(pom: Path, work: Path, libs: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsMissingError("mvn is not on PATH, and the jars are not in the cache")
    # Maven writes a target folder beside the pom that it is given.
    shutil.copy(pom, work / "pom.xml")
    command = [maven, "-B", "-q", "-f", work / "pom.xml", "dependency:copy-dependencies"]
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={libs}"]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=600)
    if answer.returncode:
        raise JarsMissingError(
            f"mvn could not fetch the jars of {pom}:\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}"
        )


def _verify(folder: Path, wanted: dict[str, str]) -> None:
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    wrong = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    if wrong:
        raise AssertionError(f"{folder} does not match its lock file in: {', '.join(wrong)}")
