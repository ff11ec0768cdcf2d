"""What the documentation site is built from: every page in its navigation, every name and link with its target.

``tox -e docs`` builds the site itself, and checks anchors and links within it.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "docs/site/build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_has_every_page_once(site: ModuleType) -> None:
    named = site.pages_of_navigation()
    assert sorted(named) == sorted({*site.pages(), site.EXAMPLES}), "add the page to `nav` in mkdocs.yml"


def test_every_link_to_a_file_has_its_file(site: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(site, "PAGES", tmp_path)
    places = {*site.pages(), site.EXAMPLES}
    places |= {each.relative_to(ROOT / "docs").as_posix() for each in (ROOT / "docs/assets").rglob("*.*")}
    for place, source in site.pages().items():
        for target in re.findall(r"\]\(([^)\s#:]+\.\w+)[)#]", site.rewritten(source.read_text("utf-8"), source, place)):
            in_site = (Path("/") / place).parent.joinpath(target).resolve().relative_to("/").as_posix()
            assert in_site in places or (tmp_path / in_site).is_file(), f"{source.relative_to(ROOT)}: {target}"


def test_links_show_the_titles_of_pages_not_their_files(
    site: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(site, "PAGES", tmp_path)
    text = "([rows.md](rows.md)), [`cli.md`](cli.md#tail), [rows](rows.md#bad-rows), ![x](assets/run.png)"
    code = "\n```sh\n[x.md](cli.md)\n```"
    assert site.rewritten(text + code, ROOT / "docs/cli.md", "cli.md") == (
        "([Rows of your own](rows.md)), [The command line](cli.md#tail), [rows](rows.md#bad-rows), ![x](assets/run.png)"
        + code
    )
    for place, source in site.pages().items():
        shown = re.findall(r"\[([^\[\]]*)\]\([^)\s:]+\.md", site.rewritten(source.read_text("utf-8"), source, place))
        assert [each for each in shown if each.endswith(".md")] == [], source.relative_to(ROOT)


def test_llms_txt_has_every_page_with_a_sentence(site: ModuleType) -> None:
    entries = re.findall(r"^- \[.+\]\((\S+)\.html\): \S.+$", site.llms_txt(), re.MULTILINE)
    assert [f"{each}.md" for each in entries] == site.pages_of_navigation()


def test_a_page_that_does_not_exist_leads_to_pages_that_do(site: ModuleType) -> None:
    text = (ROOT / "docs/site/theme/404.html").read_text("utf-8")
    led_to = [f"{each}.md" for each in re.findall(r"\{\{ '(.+?)\.html' \| url \}\}", text)]
    assert "tutorial.md" in led_to
    assert set(led_to) <= {*site.pages()}


def test_every_name_of_the_reference_exists() -> None:
    """Read, not imported: Spark and hypothesis take seconds."""
    for page in sorted(ROOT.glob("docs/api/*.md")):
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, member = name.rpartition(".")
            files = [ROOT / f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
            text = next(file for file in files if file.exists()).read_text(encoding="utf-8")
            is_module = (ROOT / f"{name.replace('.', '/')}.py").exists()
            assert is_module or re.search(rf'"{member}"| as {member}$|^(?:class|def) {member}\b', text, re.MULTILINE), (
                page.name,
                name,
            )


@pytest.mark.parametrize(
    ("html", "fetched"),
    [
        ('<script src="https://unpkg.com/x"></script>', True),
        ('<link rel="stylesheet" href="https://fonts.googleapis.com/css">', True),
        ("@import url(//fonts.example/x.css)", True),
        ('<script src="assets/x.js"></script><a href="https://example.com">', False),
    ],
)
def test_a_resource_of_another_server_is_seen(
    site: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, html: str, fetched: bool
) -> None:
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    monkeypatch.setattr(site, "SITE", tmp_path)
    assert bool(list(site.fetched_from_elsewhere())) is fetched


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ('<span class="doc doc-object-name doc-module-name">ticdc_emit.strategies.columns</span>', "as a module"),
        ('<span class="o">=</span> <span class="n"><span title="a._TOPIC">_TOPIC</span></span>', "_TOPIC is a default"),
        ('<span class="doc doc-object-name doc-module-name">ticdc_emit.errors</span>', ""),
        ('<span class="n">_topic</span> <span class="o">=</span> <span class="mi">4</span>', ""),
    ],
)
def test_an_internal_in_the_reference_is_seen(
    site: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, html: str, shown: str
) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api/page.html").write_text(html, encoding="utf-8")
    monkeypatch.setattr(site, "SITE", tmp_path)
    found = list(site.internals_shown())
    assert shown in " ".join(found)
    assert bool(found) is bool(shown)
