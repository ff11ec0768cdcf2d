"""How many lines each room of the package and the tests have, and how many they may have (``lines.toml``).

    python -m tests.lines            # room, lines, budget, what is left; exit code 1 above a budget
    python -m tests.lines --since main   # with the change since a commit

In: the ``.py`` files of the checkout, counted as ``wc -l`` does. A room without a budget is an error, too: a new one
takes its lines from another. The budgets of a tree must not sum up to more than ``[most]`` says, so raising a number
means lowering another in the same commit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
_TREES = ("ticdc_emit", "tests")


def rooms(files: Iterable[tuple[str, bytes]]) -> Counter[str]:
    """Return the lines of each room: a folder of the package or of the tests, ``tests/unit/`` by its folders."""
    lines: Counter[str] = Counter()
    for name, content in files:
        path = PurePosixPath(name)
        depth = 3 if path.parts[:2] == ("tests", "unit") else 2
        lines["/".join(path.parent.parts[:depth])] += content.count(b"\n")
    return lines


def above(lines: Mapping[str, int], budget: Mapping[str, int], most: Mapping[str, int]) -> list[str]:
    """Return a sentence for each room above its budget or without one, and each tree whose budgets are too large."""
    told = [
        f"{room} has {count:,} lines, and {budget[room]:,} are its budget"
        for room, count in sorted(lines.items())
        if count > budget.get(room, sys.maxsize)
    ]
    told += [f"{room} has no budget in tests/lines.toml" for room in sorted(lines.keys() - budget.keys())]
    told += [f"{room} is in tests/lines.toml only" for room in sorted(budget.keys() - lines.keys())]
    sums = {tree: sum(count for room, count in budget.items() if room.split("/")[0] == tree) for tree in _TREES}
    return told + [
        f"The budgets of {tree}/ sum up to {sums[tree]:,}, and {most[tree]:,} is the most: lower another one"
        for tree in _TREES
        if sums[tree] > most[tree]
    ]


def _of_checkout() -> Iterable[tuple[str, bytes]]:
    for tree in _TREES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def _of_commit(commit: str) -> Iterable[tuple[str, bytes]]:
    names = _git("ls-tree", "-r", "--name-only", commit, "--", *_TREES).decode().splitlines()
    for name in names:
        if name.endswith(".py"):
            yield name, _git("show", f"{commit}:{name}")


def _git(*command: str) -> bytes:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, check=True).stdout


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT", help="show the change since a commit")
    since = parser.parse_args().since
    declared = tomllib.loads((ROOT / "tests/lines.toml").read_text("utf-8"))
    budget, most = declared["lines"], declared["most"]
    lines, was = rooms(_of_checkout()), rooms(_of_commit(since)) if since else None
    for tree in _TREES:
        own = [room for room in sorted(lines | budget) if room.split("/")[0] == tree]
        for room in own:
            print(_line(room, lines[room], budget.get(room, 0), was and was[room]))
        sums = [sum(each[room] for room in own if room in each) for each in (lines, budget)]
        gone = was and sum(count for room, count in was.items() if room.split("/")[0] == tree)
        print(_line(f"{tree}, all", *sums, gone), end="\n\n")
    told = above(lines, budget, most)
    print(*told, sep="\n", file=sys.stderr)
    return 1 if told else 0


def _line(room: str, count: int, budget: int, was: int | None) -> str:
    change = "" if was is None else f"{count - was:>+8,}"
    return f"{room:<36}{count:>8,} of {budget:>7,}{budget - count:>8,} left{change}"


if __name__ == "__main__":
    sys.exit(main())
