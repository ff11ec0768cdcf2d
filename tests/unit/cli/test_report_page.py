"""``--report``: the page has true totals, the messages around a finding, and none where they cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from child import Cli


def _page(path: Path) -> str:
    page = path.read_text(encoding="utf-8")
    assert not [each for each in path.parent.iterdir() if each.name.startswith(".")]
    return page


def _changes(page: str) -> list[tuple[int, ...]]:
    """Return inserts, updates and deletes of each table."""
    (table,) = re.findall(r"<h2>Changes</h2>(.*?)</table>", page) or [""]
    return [tuple(map(int, row)) for row in re.findall(r"<td class=p>(\d+)<td class=p>(\d+)<td class=p>(\d+)", table)]


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple"])
def test_what_was_sent_and_read_has_true_totals(cli: Cli, tmp_path: Path, protocol: str) -> None:
    uri, report = f"jsonl://{tmp_path}/out?protocol={protocol}&partition-num=2", tmp_path / "page.html"
    for seed in (1, 2):  # the second run finds messages of the first
        cli("generate", "--schema", "bank", "--rows", 200, "--seed", seed, "--sink-uri", uri, "--report", report)
    sent = _changes(_page(report))
    assert (len(sent), sum(map(sum, sent))) == (3, 200)
    rows = re.findall(r"<td>(ticdc/\d)<td class=n>(\d+)<td>\w+<td class=n>\d*<td class=t>(\S+ \S+)Z", _page(report))
    times, own = [time for *_, time in rows], [int(offset) for lane, offset, _ in rows if lane == "ticdc/1"]
    assert times == sorted(times)
    assert own == sorted(own)
    assert {lane for lane, *_ in rows} == {"ticdc/0", "ticdc/1"}
    cli("verify", "--sink-uri", uri, "--report", report, code=1)  # one commit_ts twice, with other values
    read = _changes(_page(report))
    assert (len(read), sum(map(sum, read))) == (3, 400)
    assert "<p class=bad>✗ Checked " in _page(report)


def test_a_finding_is_marked_however_far_from_the_ends(cli: Cli, tmp_path: Path) -> None:
    uri, report = f"jsonl://{tmp_path}/out?protocol=canal-json&partition-num=1", tmp_path / "page.html"
    cli("generate", "--schema", "orders", "--rows", 2000, "--sink-uri", uri)
    (file,) = (tmp_path / "out").rglob("*.jsonl")
    lines = file.read_bytes().split(b"\n")
    lines[1000] = lines[1000].replace(b'"value":"{', b'"value":"<b>{')
    file.write_bytes(b"\n".join(lines))
    cli("verify", "--sink-uri", uri, "--report", report, code=1)
    page = _page(report)
    assert re.search(r"<li><a href=#g\d+>ticdc/0@1000</a> ", page)
    assert page.count("<a id=g") == 2  # and the key's next message, which does not continue the one before
    assert re.search(r"<td class=n>995<td>[iud]", page)
    assert re.search(r"A sample of \d+ of 2,000 messages around the marked ones", page)


def test_messages_that_cannot_be_read_again(cli: Cli, tmp_path: Path) -> None:
    report, uri = tmp_path / "page.html", "memory://gone?protocol=canal-json"
    cli("generate", "--schema", "bank", "--rows", 20, "--sink-uri", uri, "--report", report)
    assert "No messages are shown, because they cannot be read here" in _page(report)
    assert "<h2>Acknowledged</h2>" in _page(report)


@pytest.mark.parametrize("place", ["", "no/page.html", "x" * 300])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(cli: Cli, tmp_path: Path, place: str) -> None:
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json"
    told = cli("generate", "--schema", "bank", "--sink-uri", uri, "--report", tmp_path / place, code=2).err
    assert re.search(r"the file cannot be written: |is\W+a\W+directory", told)
    assert list(tmp_path.iterdir()) == []
