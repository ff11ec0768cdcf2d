"""Wheel and sdist: what is in them, and that they work where nothing else of the project is.

The wheel is built from the unpacked sdist, as an installer does that finds no wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from unpacking import unpack
from vector_archive import write_archive

import ticdc_emit

ROOT = Path(__file__).parents[2]
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(command, cwd=folder, env=ALONE, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".pyo"}
    }


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of the tree and the wheel of that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "hatchling", "build", "-d", folder, "-t")
    _run(ROOT, *build, "sdist")
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as sdist:
        unpack(sdist, unpacked)
    _run(unpacked / f"ticdc_emit-{ticdc_emit.__version__}", *build, "wheel")
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that has pip alone."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def test_the_sdist_has_what_builds_the_wheel_and_nothing_else(distributions: Path) -> None:
    top = f"ticdc_emit-{ticdc_emit.__version__}/"
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as sdist:
        names = {name.removeprefix(top) for name in sdist.getnames()}
    package = {f"ticdc_emit/{name}" for name in _files(ROOT / "ticdc_emit")}
    schemas = {f"schemas/{name}" for name in _files(ROOT / "schemas")}
    texts = {"README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "pyproject.toml"}
    of_hatchling = {"PKG-INFO", ".gitignore"}
    assert names ^ (package | schemas | texts | of_hatchling | {"pyspark_ticdc.py"}) == set()


def test_the_wheel_has_the_package_with_its_data_and_nothing_else(distributions: Path) -> None:
    with zipfile.ZipFile(next(distributions.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = wheel.read(f"ticdc_emit-{ticdc_emit.__version__}.dist-info/METADATA").decode()
    package = {f"ticdc_emit/{name}" for name in _files(ROOT / "ticdc_emit")}
    samples = {f"ticdc_emit/traffic/schemas/{name}" for name in _files(ROOT / "schemas")}
    assert names ^ (package | samples | {"pyspark_ticdc.py"}) == set()
    assert {"ticdc_emit/py.typed", "ticdc_emit/protocols/simple/simple_message.avsc"} <= names
    assert f"\nVersion: {ticdc_emit.__version__}\n" in metadata


@pytest.mark.slow
def test_twine_has_no_complaint(distributions: Path, environment: Path, tmp_path: Path) -> None:
    _run(tmp_path, environment / "pip", "install", "-q", "twine")
    checked = _run(tmp_path, environment / "twine", "check", "--strict", distributions / "*")
    assert checked.count("PASSED") == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_an_installed_distribution_reproduces_the_vectors(distributions: Path, tmp_path: Path, kind: str) -> None:
    venv.create(tmp_path / "alone", with_pip=True)
    commands = tmp_path / "alone" / ("Scripts" if os.name == "nt" else "bin")
    file = next(distributions.glob(f"*.{kind}"))
    _run(tmp_path, commands / "pip", "install", "-q", f"{file}[avro,compression,claim-check,re2]")
    _run(tmp_path, commands / "pip", "check")
    assert _run(tmp_path, commands / "ticdc-emit", "--version") == f"ticdc-emit {ticdc_emit.__version__}\n"
    with tarfile.open(write_archive(tmp_path)) as archive:
        unpack(archive, tmp_path)
    unpacked = tmp_path / f"ticdc-emit-vectors-{ticdc_emit.__version__}"
    for protocol in ("canal-json", "simple"):
        _run(unpacked, commands / "python", "-m", "conformance", "classic", "--protocol", protocol)
