"""A Griffe extension: docstrings as editors show them become Markdown for the pages of the API reference.

Sphinx roles (``:class:`~a.b.C```) become links; a name without a page stays a name. A paragraph that explains one
argument after the other (````rows``: how many. ``seed``: ...``) becomes a list.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`(~?)([\w.]+)`")
_NAMES = r"``\w+``(?:(?:, | and | to )``\w+``)*(?: \([^)]*\))?: "
_ARGUMENTS = re.compile(rf"\A{_NAMES}")
_NEXT_ARGUMENT = re.compile(rf"(?<=[.;])\s+(?={_NAMES})")


class Docstrings(griffe.Extension):
    """Rewrites the docstrings of a package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        self._rewrite(pkg)

    def _rewrite(self, part: griffe.Object) -> None:
        if part.docstring is not None:
            text = "\n\n".join(_as_list(each) for each in part.docstring.value.split("\n\n"))
            part.docstring.value = _ROLE.sub(lambda role: _link(part, *role.groups()), text)
        for member in part.members.values():
            if isinstance(member, griffe.Object):
                self._rewrite(member)


def _as_list(paragraph: str) -> str:
    if not _ARGUMENTS.match(paragraph):
        return paragraph
    return "\n".join(f"- {' '.join(item.split())}" for item in _NEXT_ARGUMENT.split(paragraph))


def _link(place: griffe.Object, short: str, name: str) -> str:
    shown = name.rpartition(".")[2] if short else name
    try:
        path = place.resolve(name)
    except griffe.NameResolutionError:
        path = name
    return f'<autoref optional identifier="{path}"><code>{shown}</code></autoref>'
