"""Forms: one text for a clause, from which the parser reads the clause and the printer prints it.

    RENAME INDEX|KEY {old_name:index} TO {new_name:index}

WORDS and signs are read and printed, blanks only printed. ``A|B``: either word is read, the first is printed. ``A?``:
the word may be missing in what is read; so may every ``=`` (``==`` may not). ``[A|B]``: a word may be read, and is not
printed. ``<...>``: what is read if its first words or sign follow (or anything, if it begins with a value), and printed
if its first value is given; a field that is not read keeps its default.

``{field:kind}`` is a value (:data:`PRINTERS`, :mod:`ticdc_emit.sql.parser`); without a kind a node, a number, or nodes
with commas between. ``{field:A|B}`` is one of the words. ``{field?A B }`` is true if the words follow, and prints them
with their blanks; of ``{field?A|B }`` either is read, the first is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple
from typing import Literal as Choice

from ticdc_emit.sql.nodes.base import WIRE, Style, joined, special_comment, string
from ticdc_emit.sql.words import quoted

NAMES = {
    "column": "a column name",
    "constraint": "a constraint",
    "database": "a database",
    "foreign key": "a foreign key",
    "index": "an index",
    "index name": "an index name",
    "name": "a name",
    "parser": "a parser",
    "partition": "a partition",
    "policy": "a policy",
    "resource group": "a resource group",
    "savepoint": "a savepoint",
}
"""Kinds of names, and what an error says that it expected."""
NUMBERS = {
    "job": "a job",
    "number": "a number",
    "partition count": "a number of partitions",
    "regions": "a number of regions",
    "replicas": "a number of replicas",
}
"""Kinds of numbers, and what an error says that it expected."""


def _printed(value: Any, style: Style) -> str:
    if isinstance(value, tuple):
        return joined(value, style)
    text: str = str(value) if isinstance(value, int) else value.restore(style)
    return text


def _names(separator: str) -> Callable[[Sequence[str], Style], str]:
    return lambda names, style: separator.join(map(quoted, names))


def _choice(yes: str, no: str) -> Callable[[bool, Style], str]:
    return lambda given, style: style.word(yes if given else no)


def _comment(words: str, *, by_style: bool = False) -> Callable[[bool, Style], str]:
    return lambda given, style: special_comment(words, style=style if by_style else WIRE) if given else ""


def _clustered(given: bool | None, style: Style) -> str:
    words = "CLUSTERED" if given else "NONCLUSTERED"
    return "" if given is None else " " + special_comment(words, "clustered_index", style)


def _whens(whens: Sequence[tuple[Any, Any]], style: Style) -> str:
    return "".join(style.word(" WHEN ") + joined(each, style, style.word(" THEN ")) for each in whens)


def _labels(labels: Sequence[str], style: Style) -> str:
    return style.word(" LOCATION LABELS ") + ", ".join(map(string, labels)) if labels else ""


PRINTERS: dict[str, Callable[[Any, Style], str]] = {
    **dict.fromkeys(NAMES, lambda name, style: quoted(name)),
    **dict.fromkeys(NUMBERS, lambda number, style: str(number)),
    "condition": lambda words, style: style.word(words),
    "each": lambda nodes, style: "".join(" " + node.restore(style) for node in nodes),
    "each word": lambda words, style: "".join(" " + style.word(word) for word in words),
    "enforced": _choice("ENFORCED", "NOT ENFORCED"),
    "if exists": _comment("IF EXISTS "),
    "if not exists": _comment("IF NOT EXISTS "),
    " if not exists": _comment(" IF NOT EXISTS"),
    "own if not exists": _comment("IF NOT EXISTS ", by_style=True),
    " global": lambda given, style: " " + special_comment("GLOBAL", "global_index", style) if given else "",
    " clustered": _clustered,
    " visible": lambda shown, style: "" if shown is None else style.word(" VISIBLE" if shown else " INVISIBLE"),
    "run": lambda nodes, style: joined(nodes, style, ""),
    "table or view": _choice("VIEW", "TABLE"),
    "labels": _labels,
    "list": lambda nodes, style: joined(nodes, style, ", "),
    "current or name": lambda name, style: "" if name is None else " " + quoted(name),
    "names": _names(", "),
    "partitions or all": lambda names, style: ",".join(map(quoted, names)) or style.word("ALL"),
    "partitions": _names(","),
    "phrase": lambda nodes, style: joined(nodes, style, " "),
    "qualified": lambda names, style: quoted(*names),
    "renamings": lambda pairs, style: ", ".join(joined(pair, style, style.word(" TO ")) for pair in pairs),
    "string": lambda text, style: string(text),
    "text": lambda text, style: text,
    "text or default": lambda text, style: style.word("DEFAULT") if text is None else string(text),
    "truth": _choice("TRUE", "FALSE"),
    "visible": _choice("VISIBLE", "INVISIBLE"),
    "validation": _choice("", " WITHOUT VALIDATION"),
    "time unit": lambda text, style: style.word(text),
    "whens": _whens,
    "word": lambda text, style: style.word(text),
}
PRINTERS |= dict.fromkeys(("columns", "definitions", "indexes", "tables"), PRINTERS["list"])
PRINTERS |= dict.fromkeys(("database options", "some database options"), PRINTERS["each"])
_PART = re.compile(
    r"""
    \{(?P<field>\w+) (?: \?(?P<flag>[^}]+) | :(?P<kind>[^}]+) )? \}
  | <(?P<group>[^>]+)>
  | \[(?P<unprinted>[^]]+)\]
  | (?P<maybe>[A-Z_]+)\?
  | (?P<either>[A-Z_]+(?:\|[A-Z_]+)+)
  | (?P<words>[A-Z_]+(?:[ ][A-Z_]+(?![A-Z_]*[|?]))*)
  | (?P<sign>==?|[(),])
  | (?P<raw>[ ]+ | /\*[ ].*?\*/ | [^A-Z\w{}<>]+)
    """,
    re.VERBOSE,
)
_NOT_GIVEN = (None, "", (), 0)  # 0 is False too


class Step(NamedTuple):
    """``words``: by ``reads`` all of them are read, one of them, or at most one. A ``value`` is of a ``kind``, or one
    of its words; a ``flag`` is whether its words follow.
    """

    reads: Choice["", "all", "one", "maybe", "sign", "maybe sign", "flag", "value", "group"]
    text: str = ""
    words: tuple[str, ...] = ()
    kind: str = ""
    field: str = ""
    group: Form | None = None


def _step(part: re.Match[str]) -> Step:
    if flag := part["flag"]:
        choices = tuple(flag.split("|"))
        blank = " " if len(choices) > 1 and flag.endswith(" ") else ""
        return Step("flag", choices[0] + blank, choices, field=part["field"])
    if field := part["field"]:
        kind = part["kind"] or ""
        words = tuple(kind.split("|")) if kind.isupper() else ()
        return Step("value", words=words, kind="" if words else kind or field, field=field)
    if group := part["group"]:
        return Step("group", group=Form(group))
    if optional := part["unprinted"] or part["maybe"]:
        return Step("maybe", part["maybe"] or "", tuple(optional.split("|")))
    if part["either"]:
        choices = tuple(part["either"].split("|"))
        return Step("one", choices[0], choices)
    if text := part["words"]:
        return Step("all", text, tuple(text.split()))
    if sign := part["sign"]:
        return Step("maybe sign" if sign == "=" else "sign", sign[0])
    return Step("", part[0])


class Form:
    """``lead``: the words, each with its synonyms, by which the parser knows the clause."""

    def __init__(self, text: str, lead: int | None = None) -> None:
        self.text = text
        parts = list(_PART.finditer(text))
        assert "".join(part[0] for part in parts) == text, f"{text!r} is not a form"
        self.steps = tuple(map(_step, parts))
        self.first_field = next((step.field for step in self.steps if step.field), "")
        first: list[tuple[str, ...]] = []
        for step in self.steps:
            if step.reads == "all":
                first += [(word,) for word in step.words]
            elif step.reads == "one":
                first.append(step.words)
            elif step.reads:
                break
        self.lead = tuple(first[:lead])

    def restore(self, values: Mapping[str, Any], style: Style = WIRE) -> str:
        return self._text(values.__getitem__, style)

    def restore_node(self, node: object, style: Style = WIRE) -> str:
        return self._text(partial(getattr, node), style)

    def _text(self, value_of: Callable[[str], Any], style: Style) -> str:
        text = ""
        for step in self.steps:
            if step.reads == "value":
                value = value_of(step.field)
                text += style.word(value) if step.words else PRINTERS.get(step.kind, _printed)(value, style)
            elif step.group is not None:
                if value_of(step.group.first_field) not in _NOT_GIVEN:
                    text += step.group._text(value_of, style)
            elif step.reads in ("", "sign", "maybe sign"):
                text += step.text
            elif step.reads != "flag" or value_of(step.field):
                text += style.word(step.text)
        return text


@dataclass(frozen=True)
class Clause:
    """A node that its ``form`` prints."""

    form: ClassVar[Form]

    def restore(self, style: Style = WIRE) -> str:
        return self.form.restore_node(self, style)
