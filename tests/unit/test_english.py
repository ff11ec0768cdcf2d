"""What users read follows the project's rules of plain English, as far as a pattern can tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from documented import PAGES, text_of

ROOT = Path(__file__).parents[2]

STILTED = {
    r"(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|problem\b)\w+": "negate the verb: `is not a ...`",
    r"\b(?:mends?|mended|whoever|whomever|who believes)\b": "write `fix`, `anyone who`",
    r"\b(?:so many|how-manieth|there is none|in whichever)\b": "name the number or the thing",
    r"\b(?:is|are) such\b|\bof such\b": "repeat the noun",
    r"(?:^|[.:;] )Of [a-z]": "begin with the subject",
    r"\b(?:stands?|comes?|goes) behind\b|\bin front of\b": "write `after`, `before`",
}

LINEAGE = {r"\blineages?\b(?!\.md)": "write `release`; docs/releases.md explains lineages"}


def _faults(text: str, patterns: dict[str, str]) -> Iterator[str]:
    for pattern, remedy in patterns.items():
        for found in re.finditer(pattern, text, re.MULTILINE):
            yield f"{text[max(0, found.start() - 30) : found.end() + 20]!r}: {remedy}"


def _texts(call: ast.Call) -> Iterator[str]:
    for value in [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("remedy", "help"))]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "X" for part in value.values)


def test_errors_and_help() -> None:
    faults = []
    for path in sorted(ROOT.glob("ticdc_emit/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if name.endswith(("Error", "Option", "Argument", "refused", "warning")):
                    faults += [
                        f"{path.name}:{node.lineno}: {each}"
                        for text in _texts(node)
                        for each in _faults(text, STILTED | LINEAGE)
                    ]
    assert not faults, "\n".join(faults)


def test_pages() -> None:
    faults = []
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
        patterns = STILTED if page == "docs/releases.md" else STILTED | LINEAGE
        faults += [f"{page}: {each}" for each in _faults(prose, patterns)]
    assert not faults, "\n".join(faults)
