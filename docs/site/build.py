"""Builds the documentation site: python docs/site/build.py

In: README.md, which becomes the first page, ``docs/``, the project's other Markdown files, and the files of
``examples/``, which become one page. Out: ``build/site`` with ``llms.txt``, complete in itself: it opens from a disk
and asks no other server for anything. A broken link, a page that the navigation leaves out, a name of the API that does
not exist, one that is a module instead of what it exports, a private default and a resource of another server end the
build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/pages"
SITE = ROOT / "build/site"
CONFIG = ROOT / "mkdocs.yml"

EXAMPLES = "examples.md"
_NOT_SHOWN = {"go.sum", "target", "__pycache__"}  # sums, and what tools write beside the examples
PROJECT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples": EXAMPLES,
}
"""Files outside ``docs/`` that are pages of the site."""

_LINK = re.compile(r"(?:\[([^\[\]]*))?(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_IN_NAVIGATION = re.compile(r"""^ *- (?:"?([^"\n]+?)"?: )?([\w./-]+\.md)$""", re.MULTILINE)
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(https?:)?//[^"' >]+|"""
    r"""<link\b[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon)[^>]*\bhref=["']?(https?:)?//[^"' >]+|"""
    r"""(?:@import\s+|url\()["']?(https?:)?//[^"')]+"""
)
"""What a browser fetches by itself; a link that a reader follows is none of it."""

_MODULES = ("ticdc_emit.errors",)
"""Modules that the API reference shows with all their names."""

_SHOWN_MODULE = re.compile(r'doc-module-name">([\w.]+)<')
_PRIVATE_DEFAULT = re.compile(r'<span class="o">=</span>\s*<span class="n">(?:<[^>]*>)*(_\w+)')


def pages() -> dict[str, Path]:
    """Return the Markdown files of the site by their place in it."""
    found = {
        path.relative_to(ROOT / "docs").as_posix(): path
        for path in sorted(ROOT.glob("docs/**/*.md"))
        if ROOT / "docs/assets" not in path.parents
    }
    return found | {place: ROOT / name for name, place in PROJECT_PAGES.items() if place != EXAMPLES}


def pages_of_navigation() -> list[str]:
    """Return the pages that the navigation in ``mkdocs.yml`` names, in its order."""
    return [page for _, page in _IN_NAVIGATION.findall(CONFIG.read_text(encoding="utf-8"))]


def titles() -> dict[str, str]:
    """Return the title of each page of the navigation: there, else the page's heading."""
    sources, named = pages(), _IN_NAVIGATION.findall(CONFIG.read_text(encoding="utf-8"))
    return {
        page: title or next(iter(_HEADING.findall(sources[page].read_text(encoding="utf-8"))), page)
        for title, page in named
    }


def rewritten(text: str, source: Path, place: str) -> str:
    """Return a page with links that hold in the site: files that are not pages are copied into it.

    A link whose text is the name of a page's file, as one reads it in the repository, has the page's title instead.
    """
    title_of = titles()

    def link(match: re.Match[str]) -> str:
        shown, before, target, after = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group()
        file = Path(os.path.normpath(source.parent / target))
        name = file.relative_to(ROOT).as_posix()
        if name in PROJECT_PAGES:
            in_site = PROJECT_PAGES[name]
        elif name.startswith("docs/assets/") or (name.startswith("docs/") and file.suffix == ".md"):
            in_site = name.removeprefix("docs/")
        else:
            in_site = f"files/{name}"
            (PAGES / in_site).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, PAGES / in_site)
        if shown is not None:
            is_name = in_site in title_of and shown.strip("`") in (target, PurePosixPath(target).name)
            before = f"[{title_of[in_site] if is_name else shown}{before}"
        return f"{before}{os.path.relpath(in_site, PurePosixPath(place).parent)}{after}"

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def examples_page() -> str:
    """Return a page with the text files of ``examples/``."""
    lines = [
        "# Files of the examples",
        "",
        "The commands and snippets of these pages use the files in `examples/`.",
        "",
    ]
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and path.suffix != ".ipynb" and not _NOT_SHOWN.intersection(path.parts):
            name = path.relative_to(ROOT / "examples").as_posix()
            language = {".py": "python", ".csv": "text"}.get(path.suffix, path.suffix[1:])
            lines += [f"## {name}", ""]
            if path.suffix == ".parquet":
                lines += ["`make_parquet.py` writes this file.", ""]
            else:
                lines += [f"```{language}", path.read_text(encoding="utf-8").rstrip("\n"), "```", ""]
    return "\n".join(lines)


def gather() -> None:
    """Write the pages of the site to ``build/pages``."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs/assets", PAGES / "assets", ignore=shutil.ignore_patterns("screens"))
    for name in ("extra.css", "extra.js"):
        shutil.copyfile(ROOT / "docs/site" / name, PAGES / "assets" / name)
    for place, source in pages().items():
        path = PAGES / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rewritten(source.read_text(encoding="utf-8"), source, place), encoding="utf-8")
    (PAGES / EXAMPLES).write_text(examples_page(), encoding="utf-8")
    (PAGES / "llms.txt").write_text(llms_txt(), encoding="utf-8")


def llms_txt() -> str:
    """Return the site for a language model (llmstxt.org): what the project is; each page with its first sentence."""
    config, _, navigation = CONFIG.read_text(encoding="utf-8").partition("\nnav:\n")
    name, summary = (re.findall(rf"^site_{key}: (.+)$", config, re.MULTILINE)[0] for key in ("name", "description"))
    lines = [f"# {name}", "", f"> {summary}"]
    title_of, texts = titles(), {place: source.read_text(encoding="utf-8") for place, source in pages().items()}
    for section, entries in re.findall(r"^  - (.+):\n((?:      .*\n?)+)", navigation, re.MULTILINE):
        lines += ["", f"## {section}", ""]
        for _, place in _IN_NAVIGATION.findall(entries):
            prose = _FENCED.sub("", texts.get(place) or examples_page())
            first = re.search(r"^(?![#!\[<|>-])\S.*(?:\n\S.*)*", prose, re.MULTILINE)
            said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first[0].split())) if first else ""
            sentence = re.split(r"(?<=\.)(?:\*\*)? ", said, maxsplit=1)[0].rstrip(":")
            lines.append(f"- [{title_of[place]}]({place.removesuffix('.md')}.html): {sentence}".removesuffix(": "))
    return "\n".join(lines) + "\n"


def fetched_from_elsewhere() -> Iterator[str]:
    """Yield each resource of another server that a page or a style sheet of the built site would fetch."""
    for path in sorted(SITE.rglob("*")):
        if path.suffix in {".html", ".css"}:
            for match in _FETCHED.finditer(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(SITE)}: {match.group()}"


def internals_shown() -> Iterator[str]:
    """Yield each module and each default with a private name in the built API reference."""
    for path in sorted(SITE.glob("api/*.html")):
        html = path.read_text(encoding="utf-8")
        for name in [each for each in _SHOWN_MODULE.findall(html) if each not in _MODULES]:
            yield f"{path.name}: {name} is shown as a module"
        for name in _PRIVATE_DEFAULT.findall(html):
            yield f"{path.name}: {name} is a default"


def main() -> int:
    gather()
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(CONFIG)]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    problems = [
        f"not in the navigation of mkdocs.yml: {page}" for page in {*pages(), EXAMPLES} - {*pages_of_navigation()}
    ]
    problems += [f"fetched from another server: {each}" for each in fetched_from_elsewhere()]
    problems += [f"not public: {each}" for each in internals_shown()]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if code or problems else 0


if __name__ == "__main__":
    sys.exit(main())
