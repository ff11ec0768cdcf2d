"""What several files state about a release is the same in all: version, Pythons, licence, environments of workflows."""

from __future__ import annotations

import configparser
import re
import tarfile
from pathlib import Path

import pytest
from vector_archive import write_archive

import ticdc_emit

tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BADGES = ROOT / "docs/assets/badges"
VECTORS = ROOT / "tests/vectors"


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _environments(text: str) -> set[str]:
    """Expand tox's braces: ``py3{10,11}`` is two environments."""
    braces = re.fullmatch(r"(\w*)\{([\w,]+)\}", text)
    return {braces[1] + each for each in braces[2].split(",")} if braces else {text}


def _tox() -> configparser.ConfigParser:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    return tox


def _matrix(workflow: str) -> set[str]:
    """Return the tox environments that a workflow has in its matrix."""
    lists = re.findall(r"^ +environment: \[(.*)\]$", _text(f".github/workflows/{workflow}"), re.MULTILINE)
    return {name.strip() for names in lists for name in names.split(",")}


def _pythons() -> list[str]:
    minors = re.findall(r"Python :: 3\.(\d+)'", str(PROJECT["project"]["classifiers"]))
    return [f"3.{minor}" for minor in minors]


def test_the_version_is_written_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    newest = re.search(r"^## (\S+)", _text("CHANGELOG.md"), re.MULTILINE)
    assert newest
    assert newest[1] == ticdc_emit.__version__
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    assert [page.name for page in pages if re.search(r"ticdc[-_]emit(-vectors)?-\d", page.read_text("utf-8"))] == []


def test_the_pythons_are_those_of_tox_and_of_the_badge() -> None:
    pythons = _pythons()
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert PROJECT["tool"]["mypy"]["python_version"] == pythons[0]
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{pythons[0].replace('.', '')}"
    label = {name.strip() for name in _tox()["tox"]["labels"].partition("=")[2].split(",")}
    assert {name for name in label if name.startswith("py")} == {f"py{python.replace('.', '')}" for python in pythons}
    assert f">Python {' | '.join(pythons)}<" in (BADGES / "python.svg").read_text(encoding="utf-8")


def test_the_licence_is_that_of_the_badge() -> None:
    assert f">Licence {PROJECT['project']['license']}<" in (BADGES / "licence.svg").read_text(encoding="utf-8")


def test_the_workflows_run_the_environments_of_tox() -> None:
    tox = _tox()
    known = set()
    for section in tox.sections():
        known |= _environments(section.removeprefix("testenv:"))
    label = {name.strip() for name in tox["tox"]["labels"].partition("=")[2].split(",")}
    assert _matrix("ci.yml") == label | {"dist", "docs", "workflows"}
    assert "nightly" in _matrix("nightly.yml")
    assert _matrix("ci.yml") | _matrix("nightly.yml") <= known
    assert "run: .ci/run" in _text(".github/workflows/ci.yml")
    assert "schedule:" in _text(".github/workflows/nightly.yml")


def test_the_image_has_the_extras_that_need_neither_spark_nor_a_cloud() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    (default,) = re.findall(r"^ARG EXTRAS=(.*)$", _text("Dockerfile"), re.MULTILINE)
    without = {"all", "test", "spark", "java", "glue", "metrics", "s3", "gcs", "azblob"}
    assert set(default.split(",")) == extras - without
    assert f" extras={default} " in _text("action.yml")
    page = _text("docs/operations.md")
    assert all(f"`{name}`" in page for name in without - {"all"})
    (base,) = re.findall(r"^ARG BASE=docker.io/library/(.*)$", _text("Dockerfile"), re.MULTILINE)
    assert f"`{base}`" in page
    assert re.fullmatch(r"python:(3\.\d+)-slim-\w+", base)[1] in _pythons()  # type: ignore[index]


def test_the_build_of_the_image_gets_what_it_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", _text("Dockerfile"), re.MULTILINE)
    sources = {name for line in copied for name in line.split()}
    assert {name for name in sources if not (ROOT / name).exists()} == set()
    assert {line[1:] for line in _text(".dockerignore").splitlines() if line.startswith("!")} == sources


def test_ports_and_services_of_the_image_agree() -> None:
    dockerfile, compose, page = _text("Dockerfile"), _text("compose.yaml"), _text("docs/operations.md")
    (ports,) = re.findall(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)
    assert set(re.findall(r":(\d+)\"", compose)) == set(ports.split()) - {"8300"}  # the control API is off
    assert all(port in page for port in ports.split())
    (user,) = re.findall(r"^USER (\d+):\1$", dockerfile, re.MULTILINE)
    assert f"| user | {user}, group {user};" in page
    for source in re.findall(r"\"\./([^:]+):", compose):
        assert (ROOT / source).is_file()


def test_a_tag_publishes_what_was_built_and_tested() -> None:
    workflow = _text(".github/workflows/release.yml")
    assert 'tags: ["v*"]' in workflow
    jobs = dict(re.findall(r"^  ([\w-]+):\n((?: {4}.*\n|\n)+)", workflow.partition("\njobs:\n")[2], re.MULTILINE))
    assert {"tox -e dist,docs", "tox -e image"} <= {*re.findall(r"tox -e [\w,]+", jobs["build"] + jobs["test-image"])}
    needs = {
        job: re.findall(r"[\w-]+", *re.findall(r"^    needs: (.*)$", text, re.M) or [""]) for job, text in jobs.items()
    }
    assert needs["publish"] == needs["image"] == ["build", "test-image"]
    assert (needs["github"], needs["site"]) == (["publish"], ["github"])
    assert [job for job, text in jobs.items() if "pip install" in text and "write" in text] == []


def test_actions_are_pinned_and_workflows_have_no_permissions_but_those_of_a_job() -> None:
    for path in ROOT.glob(".github/workflows/*.yml"):
        workflow = path.read_text(encoding="utf-8")
        used = re.findall(r"uses: (?!\./)(.*)$", workflow, re.MULTILINE)
        assert [each for each in used if not re.match(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == [], path.name
        assert "\npermissions: {}\n" in workflow
        assert workflow.count("actions/checkout@") == workflow.count("persist-credentials: false")


def test_nightly_runs_every_module_that_has_fewer_examples_elsewhere() -> None:
    commands = _tox()["testenv:nightly"]["commands"]
    named = [ROOT / word for word in commands.split() if word.startswith("tests/")]
    assert [path for path in named if not path.exists()] == []
    costly = re.compile(r"max_examples=examples\(\d")
    modules = [path for path in (ROOT / "tests").rglob("test_*.py") if costly.search(path.read_text(encoding="utf-8"))]
    assert len(modules) > 10
    assert [path for path in modules if not any(path.is_relative_to(folder) for folder in named)] == []
    assert "pytest tests -m slow" in commands


def test_the_archive_of_the_vectors_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    archive, again = write_archive(tmp_path / "one"), write_archive(tmp_path / "two")
    assert archive.read_bytes() == again.read_bytes()
    with tarfile.open(archive) as tar:
        top = f"ticdc-emit-vectors-{ticdc_emit.__version__}"
        names = {name.removeprefix(f"{top}/") for name in tar.getnames()}
        stored = tar.extractfile(f"{top}/classic/adv_json.json.gz")
        assert stored
        assert stored.read() == (VECTORS / "classic/adv_json.json.gz").read_bytes()
    runner = {name for name in names if name.startswith("conformance/")}
    assert {"conformance/__init__.py", "conformance/__main__.py", "conformance/README.md"} <= runner
    assert names - runner == {"LICENSE"} | {
        str(path.relative_to(VECTORS)) for path in VECTORS.rglob("*") if path.is_file()
    }
