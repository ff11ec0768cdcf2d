"""Forms: one text for a clause, from which the parser reads the clause and the printer prints it.

A form is written as TiDB prints the clause::

    RENAME INDEX|KEY {old_name:index} TO {new_name:index}

WORDS and signs are read and printed, blanks only printed. ``A|B``: either word is read, the first is printed. ``A?``:
the word is printed, and may be missing in what is read; so may every ``=``. ``[A ]``: the word may be read, and is not
printed.

``{field:kind}`` is a value, ``{field}`` one of the kind ``field``. This module prints the kinds, and
:mod:`ticdc_emit.sql.parser.alter` reads them. ``{field:A|B}`` is one of the words. ``{field?A B }`` is true if the
words follow, and prints them with their blanks; of ``{field?A|B }`` either word is read, the first is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, commented_if_exists, joined, string
from ticdc_emit.sql.words import quoted

__all__ = ["NAMES", "NUMBERS", "Clause", "Form", "Step"]


NAMES = {
    "column": "a column name",
    "constraint": "a constraint",
    "database": "a database",
    "foreign key": "a foreign key",
    "index": "an index",
    "partition": "a partition",
    "policy": "a policy",
    "resource group": "a resource group",
    "statistics": "the statistics' name",
}
"""Kinds of names, and what an error says that it expected."""
NUMBERS = {"partition count": "a number of partitions", "replicas": "a number of replicas"}
"""Kinds of numbers, and what an error says that it expected."""


def _names_or_all(names: Sequence[str], style: Style) -> str:
    return ",".join(map(quoted, names)) or style.word("ALL")


def _restored(node: Node, style: Style) -> str:
    return node.restore(style)


def _labels(labels: Sequence[str], style: Style) -> str:
    return style.word(" LOCATION LABELS ") + ", ".join(map(string, labels)) if labels else ""


_PRINTERS: dict[str, Callable[[Any, Style], str]] = {
    **dict.fromkeys(NAMES, lambda name, style: quoted(name)),
    **dict.fromkeys(NUMBERS, lambda number, style: str(number)),
    "columns": lambda columns, style: joined(columns, style, ", "),
    "condition": lambda words, style: style.word(words),
    "if exists": lambda given, style: commented_if_exists(given),
    "labels": _labels,
    "order": joined,
    "partitions or all": _names_or_all,
    "partitions": lambda names, style: ",".join(map(quoted, names)),
    "tables": lambda tables, style: joined(tables, style, ", "),
    "text or default": lambda text, style: style.word("DEFAULT") if text is None else string(text),
    "visible": lambda visible, style: style.word("VISIBLE" if visible else "INVISIBLE"),
    "validation": lambda validated, style: "" if validated else style.word(" WITHOUT VALIDATION"),
}
_PART = re.compile(
    r"""
    \{(?P<field>\w+) (?: \?(?P<flag>[^}]+) | :(?P<kind>[^}]+) )? \}
  | \[(?P<unprinted>[^]]+)\]
  | (?P<maybe>[A-Z_]+)\?
  | (?P<either>[A-Z_]+(?:\|[A-Z_]+)+)
  | (?P<words>[A-Z_]+(?:[ ][A-Z_]+(?![A-Z_]*[|?]))*)
  | (?P<sign>[=(),])
  | (?P<raw>[ ]+ | /\*.*?\*/)
    """,
    re.VERBOSE,
)


class Step(NamedTuple):
    """One part of a form. ``text``: what is printed. ``words``: what is read, by ``reads`` all of them, one of them, or
    at most one. A ``value`` is of a ``kind``, or one of its words; a ``flag`` is whether its words follow.
    """

    reads: Literal["", "all", "one", "maybe", "sign", "flag", "value"]
    text: str = ""
    words: tuple[str, ...] = ()
    kind: str = ""


def _step(part: re.Match[str]) -> Step:
    if flag := part["flag"]:
        choices = tuple(flag.split("|"))
        return Step("flag", choices[0] + (" " if len(choices) > 1 else ""), choices)
    if part["field"]:
        kind = part["kind"] or part["field"]
        return Step("value", words=tuple(kind.split("|"))) if kind.isupper() else Step("value", kind=kind)
    if words := part["unprinted"] or part["maybe"]:
        return Step("maybe", part["maybe"] or "", (words,))
    if part["either"]:
        choices = tuple(part["either"].split("|"))
        return Step("one", choices[0], choices)
    if words := part["words"]:
        return Step("all", words, tuple(words.split()))
    return Step("sign" if part["sign"] else "", part[0])


class Form:
    """A form in steps. ``fields``: those of its values, in order.

    ``lead``: the words, each with its synonyms, by which the parser knows the clause: all words before the first value,
    or as many as are given.
    """

    def __init__(self, text: str, lead: int | None = None) -> None:
        self.text = text
        parts = list(_PART.finditer(text))
        assert "".join(part[0] for part in parts) == text, f"{text!r} is not a form"
        self.steps = tuple(map(_step, parts))
        self.fields = tuple(part["field"] for part in parts if part["field"])
        first: list[tuple[str, ...]] = []
        for step in self.steps:
            if step.reads == "all":
                first += [(word,) for word in step.words]
            elif step.reads == "one":
                first.append(step.words)
            elif step.reads:
                break
        self.lead = tuple(first[:lead])

    def restore(self, values: Iterable[Any], style: Style = WIRE) -> str:
        """Return the text of the clause with these values."""
        text, rest = "", iter(values)
        for step in self.steps:
            if step.reads == "value":
                value = next(rest)
                printer = _PRINTERS.get(step.kind, _restored)
                text += style.word(value) if step.words else printer(value, style)
            elif step.reads in ("", "sign"):
                text += step.text
            elif step.reads != "flag" or next(rest):
                text += style.word(step.text)
        return text

    def restore_node(self, node: object, style: Style = WIRE) -> str:
        """Return the text of a node that has the fields of the form."""
        return self.restore([getattr(node, field) for field in self.fields], style)


@dataclass(frozen=True)
class Clause:
    """A node that its ``form`` prints."""

    form: ClassVar[Form]

    def restore(self, style: Style = WIRE) -> str:
        return self.form.restore_node(self, style)
