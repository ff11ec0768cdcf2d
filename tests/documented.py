"""What README and the pages of docs/ tell a reader to run: their fenced blocks, and the means to run them.

A page's Python blocks run in order and share their names, as for a reader who pastes one after the other (README's run
alone, and so does each part of a page of :data:`PARTED`). Commands are taken apart by bash and run in this process.
Both run in a copy of ``examples/``. A block of ``text`` behind one of Python is what it prints. The programs of the
cookbook are files of ``examples/cookbook/``, whose cells (``# %%``) are blocks of the part that links to them; what the
page shows of them is an excerpt, word for word.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from child import exit_code

from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.testing import EmbeddedKafka

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINKED = re.compile(r"\]\(\.\./(examples/cookbook/[\w-]+\.(\w+))\)")
_CELL = re.compile(r"^(?:#|--) %%.*\n", re.MULTILINE)
_PRINTS = re.compile(r"^# %% prints\n((?:#.*\n)*)", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)

PARTED = ("docs/cookbook.md", "docs/operations.md", "docs/rows.md")
"""Pages whose parts are for different readers; a part is named as in a link: ``docs/cookbook.md#flink``."""


def parts_of(page: str) -> dict[str, str]:
    """Return the parts of a page by anchor, each after the lines before it, emptied; ``""``: what comes first."""
    text = (ROOT / page).read_text(encoding="utf-8")
    heads = [(0, ""), *((found.start(), found[1].lower().replace(" ", "-")) for found in _HEADING.finditer(text))]
    ends = [start for start, _ in heads[1:]] + [len(text)]
    return {
        name: "\n" * text.count("\n", 0, start) + text[start:end]
        for (start, name), end in zip(heads, ends, strict=True)
    }


def text_of(page: str) -> str:
    """Return the text of a page, or of a part of it."""
    path, divider, part = page.partition("#")
    return parts_of(path)[part] if divider else (ROOT / path).read_text(encoding="utf-8")


def _pages() -> Iterator[str]:
    yield "README.md"
    for page in sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")):
        yield from [f"{page}#{part}" for part in parts_of(page)] if page in PARTED else [page]


PAGES = [*_pages()]
SHELLS = ("sh", "bash")

NOT_RUN = {
    "python3 -m venv": "tox and .ci/run make the environments; `tox -m pythons` runs the demo in fresh ones",
    ". .venv/bin/activate": "the tests run in an environment of their own",
    "pip install": "as above",
    "job-env/bin/venv-pack": "tests/cluster packs and ships such an environment at night",
    "PYSPARK_DRIVER_PYTHON": "as above: tests/cluster submits such a job",
    "tox": "as above",
    "ticdc-emit tail --follow": "does not end",
    "ticdc-emit tail --sink-uri @": "tests/unit/cli/test_options.py reads sink URIs from files",
    "kafka-console-consumer": "does not end; tests/integration/consumers/test_serve_attached.py runs it at night",
    "curl": "tests/unit/emulator/test_control_page.py sends what the commands of docs/control.md send",
    "cat rows/": "tests/unit/cli/test_emit.py reads rows from standard input",
    "export TICDC_EMIT_CONTROL_TOKEN": "tests/image gives its container a token",
    "docker": "tests/image builds the image and runs demo, serve and a consumer in it at night",
    "ticdc-emit serve": "does not end; tests/unit/cli/test_serve.py runs it until a signal",
}
"""Commands that are not run, by their beginning, each with the reason."""

AT_NIGHT = {
    "docs/cookbook.md#auto-cdc-files": "tests/integration/consumers/test_auto_cdc_cookbook.py",
    "docs/cookbook.md#auto-cdc": "tests/integration/consumers/test_auto_cdc_cookbook.py",
    "docs/cookbook.md#confluent": "tests/integration/consumers/test_confluent_cookbook.py",
    "docs/cookbook.md#replay-delta": "tests/lakes/test_delta_feed.py",
    "docs/cookbook.md#replay-iceberg": "tests/lakes/test_iceberg_page.py",
    "docs/cookbook.md#spark": "tests/integration/consumers/test_spark_cookbook.py",
    "docs/cookbook.md#tail-delta": "tests/lakes/test_tail_page.py",
}
"""Pages whose Python blocks need real servers, each with the module of nightly tests that runs the blocks."""

FILES = {"from pyspark import pipelines as dp": "tests/spark/test_pipelines.py"}
"""Python blocks that another program reads from files, by a line of them, each with the nightly test that runs it."""

_PROJECTS = ("java", "go", "python", "testcontainers")
"""Folders of the examples that no block reads: projects; tests/integration/test_other_languages.py runs three."""

_SMALLER = ((r"--rows \d+", "--rows 200"), (r" --speed \d+", ""))
"""Commands run with fewer rows, and a replay does not wait."""

_BROKER = "127.0.0.1:9092"

_SPARK = re.compile(r"local_session|pyspark|ticdc-emit (demo|emit|generate|replay)\b")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    code: str
    printed: str | None = None
    file: str = ""

    @property
    def place(self) -> str:
        return f"{self.file or self.page}:{self.line}"


def blocks_of(page: str) -> list[Block]:
    """Return the fenced blocks of a page, each with the ``text`` that follows it, and the programs that it links to."""
    text = text_of(page)
    blocks = [block for link in dict.fromkeys(_LINKED.findall(text)) for block in _cells(page, *link)]
    programs, end = _bare("".join(block.code + (block.printed or "") for block in blocks)), 0
    for found in _FENCE.finditer(text):
        language, code = found.groups()
        if programs and language not in SHELLS:
            assert _bare(code) in programs, f"{page} shows what the files that it links to do not have:\n{code}"
            continue
        if language == "text" and blocks and not text[end : found.start()].strip():
            last = blocks.pop()
            blocks.append(Block(last.page, last.line, last.language, last.code, code))
        else:
            blocks.append(Block(page, text[: found.start()].count("\n") + 1, language, code))
        end = found.end()
    return blocks


def _cells(page: str, path: str, ending: str) -> Iterator[Block]:
    """Yield the cells of a file; what a cell prints follows it as a comment."""
    text = (ROOT / path).read_text(encoding="utf-8")
    starts = [found.end() for found in _CELL.finditer(text) if "prints" not in found[0]] or [0]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        code = text[start:end]
        found = _PRINTS.search(code)
        printed = None if found is None else re.sub("^# ?", "", found[1], flags=re.MULTILINE)
        code = _CELL.split(code)[0]
        yield Block(page, text.count("\n", 0, start), {"py": "python"}.get(ending, ending), code, printed, path)


def _bare(code: str) -> str:
    return "\n".join(map(str.strip, code.strip().splitlines()))


def pages_with(*languages: str, spark: bool) -> Iterator[tuple[str, list[Block]]]:
    """Yield the pages that have blocks of these languages, and need Spark for them or not."""
    for page in PAGES:
        known = [each for each in languages if each != "python" or page not in AT_NIGHT]
        blocks = [block for block in blocks_of(page) if block.language in known and test_of_file(block) is None]
        if blocks and any(_SPARK.search(block.code) for block in blocks) is spark:
            yield page, blocks


def test_of_file(block: Block) -> str | None:
    """Return the test that runs a block of :data:`FILES`."""
    return next((test for line, test in FILES.items() if line in block.code.splitlines()), None)


def commands_of(block: Block) -> list[str]:
    """Return the commands of a block; one may have several lines."""
    joined = block.code.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def reason_not_to_run(command: str) -> str | None:
    beginning = next((known for known in NOT_RUN if command.startswith(known)), None)
    if beginning is None and " --follow" in command:
        beginning = "ticdc-emit tail --follow"
    return None if beginning is None else NOT_RUN[beginning]


def sinks_without_admin(patch: pytest.MonkeyPatch) -> None:
    """Let ``kafka://`` mean a sink for the embedded cluster, which makes topics itself."""
    usual = KafkaSink.of
    patch.setattr(KafkaSink, "of", lambda *given: replace(usual(*given), admin_api=False))


class Workplace:
    """A copy of ``examples/`` in ``folder``; ``kafka`` is what the pages call 127.0.0.1:9092."""

    def __init__(self, folder: Path, kafka: EmbeddedKafka) -> None:
        self.folder = folder / "examples"
        shutil.copytree(ROOT / "examples", self.folder, ignore=shutil.ignore_patterns(*_PROJECTS))
        (folder / "tmp").mkdir()
        self._places = {
            "/tmp/": f"{folder}/tmp/",
            _BROKER: kafka.bootstrap,
            "start_http_server(8300)": "start_http_server(0)",
        }

    def python(self, block: Block, names: dict[str, object]) -> None:
        """Run a block of Python in the folder."""
        code = self._placed(block.code)
        for path in self.folder.iterdir():  # Spark's JVM is elsewhere
            code = code.replace(f'"{path.name}"', f'"{path}"')
        exec(compile(code, block.place, "exec"), names)

    def command(self, line: str, printed: Callable[[], str]) -> int:
        """Run a command line that begins with ``ticdc-emit``, and return its exit code; stdout may go to a file."""
        for pattern, smaller in _SMALLER:
            line = re.sub(pattern, smaller, line)
        script = (
            f"""ticdc-emit() {{ printf '%s\\0' "$@" > {self.folder}/.call; echo {_MARK}; }}; {self._placed(line)}"""
        )
        subprocess.run(["bash", "-euc", f"shopt -s failglob; {script}"], cwd=self.folder, check=True, timeout=120)
        arguments = [self._argument(each) for each in (self.folder / ".call").read_text().split("\0")[:-1]]
        code = exit_code(*arguments)
        output = printed()
        for path in self.folder.iterdir():
            if path.is_file() and path.suffix == ".json" and path.read_text() == f"{_MARK}\n":
                path.write_text(output, encoding="utf-8")
        return code

    def _placed(self, text: str) -> str:
        for written, place in self._places.items():
            text = text.replace(written, place)
        return text

    def _argument(self, argument: str) -> str:
        """Return an argument whose relative path to a file of the examples, or pattern for some, is absolute."""
        name, divider, path = argument.rpartition("=")
        is_example = bool(path) and not path.startswith(("/", "*")) and any(self.folder.glob(path))
        return f"{name}{divider}{self.folder / path}" if is_example else argument


_MARK = "the output of the command"


def check_snippets(workplace: Workplace, page: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a page's blocks of Python; each must print something, and what the page shows of it."""
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        workplace.python(block, names)
        printed = capsys.readouterr().out
        assert printed.strip(), f"{block.place} shows nothing"
        assert block.printed in (None, printed), block.place


def check_commands(workplace: Workplace, blocks: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a page that can run; each must end with 0."""
    for block in blocks:
        for command in commands_of(block):
            if reason_not_to_run(command) is None:
                code = workplace.command(command, lambda: capsys.readouterr().out)
                assert code == 0, f"{block.place}: {command}\n{capsys.readouterr().err}"
