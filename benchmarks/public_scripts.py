"""Translate the DDL of public repositories and count what comes through: the table of docs/schemas.md.

    python -m benchmarks.public_scripts

``public_scripts.toml`` names the repositories, their commits and the paths of the scripts, by dialect. A script is a
file below 4 MiB that creates at least one permanent table with columns. It comes through whole, in part (without the
tables whose columns have no types) or not at all: refused with an error of ours, or crashed with another one. The
scripts themselves are not part of this project: missing repositories are fetched from GitHub.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.config.document import toml_document
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.source_schemas.dialects import source_schema

__all__ = ["Outcome", "Source", "read_manifest", "scripts_of", "translate"]

MANIFEST = Path(__file__).with_suffix(".toml")
_LARGEST = 4 * 1024 * 1024  # bytes; larger files are rows
_KINDS = ("whole", "in part", "refused")
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r"(?:\"[^\"]*\"|\[[^]]*\]|`[^`]*`|\{\{[^}]*\}\}|[^\s(;#\"'`\[])+"
_TABLE = re.compile(
    rf"\bCREATE\s+(?:(?!TEMP|VOLATILE|FOREIGN|DYNAMIC)\w+\s+){{0,3}}TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*"
    r"\((?!\s*(?:SELECT|WITH)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Source:
    """The scripts of one dialect in a repository. ``paths``: patterns; ``!`` before one leaves its paths out."""

    dialect: str
    repository: str
    commit: str
    paths: tuple[str, ...]
    limit: int

    def has(self, path: str) -> bool:
        """Return whether a path is one of the patterns', and not left out."""
        kept = [each for each in self.paths if not each.startswith("!")]
        left_out = [each[1:] for each in self.paths if each.startswith("!")]
        return any(_matches(each, path) for each in kept) and not any(_matches(each, path) for each in left_out)


@dataclass(frozen=True)
class Outcome:
    """``kind``: whole, in part, refused or crashed. ``reason``: the error, or the tables that are left out."""

    kind: str
    tables: int = 0
    reason: str = ""


def read_manifest(path: Path = MANIFEST) -> list[Source]:
    """Return the sources of a manifest, by dialect."""
    manifest = toml_document(path.read_text(encoding="utf-8"))
    return [
        Source(dialect, repository, manifest["commits"][repository], tuple(paths), manifest["limit"])
        for dialect, repositories in manifest["dialects"].items()
        for repository, paths in repositories.items()
    ]


def _matches(pattern: str, path: str) -> bool:
    """Return whether a path has a pattern's form: ``*`` ends at a folder, ``**`` does not."""
    expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, path) is not None


def _git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    return subprocess.run(["git", "--git-dir", folder, *arguments], input=data, check=True, capture_output=True).stdout


def _clone(source: Source, clones: Path) -> Path:
    """Return the git directory of a repository; fetch its commit if it is missing."""
    folder = clones / source.repository.replace("/", "+")
    if not folder.exists():
        subprocess.run(["git", "init", "--bare", "--quiet", folder], check=True)
        _git(folder, "fetch", "--quiet", "--depth", "1", f"https://github.com/{source.repository}", source.commit)
    return folder / ".git" if (folder / ".git").exists() else folder


def scripts_of(source: Source, clones: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each script of a source, in the order of paths."""
    folder = _clone(source, clones)
    listed = (line.partition("\t") for line in _git(folder, "ls-tree", "-rz", source.commit).decode().split("\0"))
    blobs = sorted((path, entry.split()[2]) for entry, _, path in listed if source.has(path))
    contents = _git(folder, "cat-file", "--batch", data="".join(f"{blob}\n" for _, blob in blobs).encode())
    found, position = 0, 0
    for path, _ in blobs:
        if found == source.limit:
            return
        header, position = contents[position : contents.index(b"\n", position)], contents.index(b"\n", position) + 1
        if header.endswith(b" missing"):  # a clone without large files
            continue
        size = int(header.split()[2])
        text, position = _decoded(contents[position : position + size]), position + size + 1
        if size < _LARGEST and _TABLE.search(_COMMENTS.sub(" ", text)):
            found += 1
            yield path, text


def _decoded(data: bytes) -> str:
    """Return the text of a file: UTF-16 with its mark, UTF-8, or else Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def translate(script: str, dialect: str) -> Outcome:
    """Translate a script, and read the result as TiDB's DDL."""
    try:
        schema = source_schema(script, dialect)
        catalog_from_sql(schema.sql())
    except TicdcEmitError as error:
        return Outcome("refused", reason=str(error))
    except Exception as error:  # not an error for users: a defect
        return Outcome("crashed", reason=f"{type(error).__name__}: {error}")
    left_out = [each for each in schema.assumptions if each.startswith("These tables are left out")]
    return Outcome("in part" if left_out else "whole", len(schema.tables), "".join(left_out))


app = typer.Typer(pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def measure(
    clones: Annotated[
        Path, typer.Option(help="Folder of git clones named owner+name, bare or not; missing ones are fetched.")
    ] = Path("public-scripts"),
    dialect: Annotated[str | None, typer.Option(help="Measure one dialect alone.")] = None,
) -> None:
    """Print how many public scripts come through whole, in part, or are refused, and why."""
    outcomes: dict[str, list[tuple[str, Outcome]]] = {}
    sources = [source for source in read_manifest() if dialect in (None, source.dialect)]
    for source in sources:
        for path, text in scripts_of(source, clones):
            place = f"{source.repository}/{path}"
            outcomes.setdefault(source.dialect, []).append((place, translate(text, source.dialect)))
    columns = ("dialect", "scripts", *_KINDS, "tables")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name, found in outcomes.items():
        print(_line(f"`{name}`", [outcome for _, outcome in found]))
    print(_line("all", [outcome for found in outcomes.values() for _, outcome in found]))
    print(f"\n{len({source.repository for source in sources})} repositories")
    others = [(name, *each) for name, found in outcomes.items() for each in found if each[1].kind != "whole"]
    for name, place, outcome in others:
        print(f"\n{name}: {place}: {outcome.kind}: {outcome.reason}")
    if any(outcome.kind == "crashed" for _, _, outcome in others):
        raise typer.Exit(1)


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    kinds = [sum(outcome.kind == kind for outcome in outcomes) for kind in _KINDS]
    counts = [len(outcomes), *kinds, sum(outcome.tables for outcome in outcomes)]
    return "".join(f"| {cell} " for cell in (name, *(count or "" for count in counts))).replace("|  ", "| ") + "|"


if __name__ == "__main__":
    app(prog_name="python -m benchmarks.public_scripts")
