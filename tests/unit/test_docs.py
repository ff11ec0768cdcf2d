"""Every Python block and every command of README and docs/ that needs no Spark runs as it stands there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from documented import (
    AT_NIGHT,
    FILES,
    NOT_RUN,
    PAGES,
    ROOT,
    SHELLS,
    Block,
    Workplace,
    blocks_of,
    check_commands,
    check_snippets,
    commands_of,
    pages_with,
    reason_not_to_run,
    sinks_without_admin,
)

from ticdc_emit.testing import EmbeddedKafka


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    with EmbeddedKafka() as kafka:
        here = Workplace(tmp_path, kafka)
        sinks_without_admin(monkeypatch)
        authority = trustme.CA()
        client = authority.issue_cert("client@example.com")
        authority.cert_pem.write_to_path(str(here.folder / "ca.pem"))
        client.private_key_pem.write_to_path(str(here.folder / "client.key"))
        client.cert_chain_pems[0].write_to_path(str(here.folder / "client.pem"))
        monkeypatch.chdir(here.folder)
        yield here


@pytest.mark.parametrize(
    ("page", "blocks"), [pytest.param(*each, id=each[0]) for each in pages_with("python", spark=False)]
)
def test_the_snippets_of_a_page_run(
    workplace: Workplace, page: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    check_snippets(workplace, page, blocks, capsys)


@pytest.mark.parametrize(
    ("page", "blocks"), [pytest.param(*each, id=each[0]) for each in pages_with(*SHELLS, spark=False)]
)
def test_the_commands_of_a_page_run(
    workplace: Workplace, page: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    check_commands(workplace, blocks, capsys)


def test_each_reason_is_needed() -> None:
    commands = [
        line for page in PAGES for block in blocks_of(page) if block.language in SHELLS for line in commands_of(block)
    ]
    reasons = {reason_not_to_run(command) for command in commands}
    assert {start for start, why in NOT_RUN.items() if why not in reasons} == set()


def test_every_snippet_and_command_has_its_test() -> None:
    known = [pages_with(*languages, spark=spark) for languages in (("python",), SHELLS) for spark in (False, True)]
    run = {block.place for pages in known for _, blocks in pages for block in blocks}
    blocks = [block for page in PAGES for block in blocks_of(page) if block.language in ("python", *SHELLS)]
    others = [block for block in blocks if block.place not in run and block.code.strip()]
    assert [
        each.place for each in others if each.page not in AT_NIGHT and not {*FILES} & {*each.code.splitlines()}
    ] == []


def test_every_block_says_its_language() -> None:
    plain = {block.place for page in PAGES for block in blocks_of(page) if not block.language}
    assert plain == set(), "name the language of each block: python, sh, toml, sql, json, text"


def test_the_parquet_files_are_those_of_their_script(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    subprocess.run([sys.executable, ROOT / "examples/make_parquet.py", tmp_path], check=True, timeout=60)
    files = sorted(path.name for path in (ROOT / "examples").glob("*.parquet"))
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    for name in files:
        assert pq.read_table(tmp_path / name).equals(pq.read_table(ROOT / "examples" / name))
