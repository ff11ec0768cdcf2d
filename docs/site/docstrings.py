"""A Griffe extension: docstrings as editors show them become Markdown for the pages of the API reference.

Sphinx roles (``:class:`~a.b.C```) become links; a name without a page stays a name. A paragraph that explains one
argument after the other (````rows``: how many. ``seed``: ...``) becomes a list.

What a package exports is shown as such where a module has the same name: ``strategies.columns`` is the function. A
private constant that is a default is shown by its value, and an option (``declare``) by its default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`(~?)([\w.]+)`")
_NAMES = r"``\w+``(?:(?:, | and | to )``\w+``)*(?: \([^)]*\))?: "
_ARGUMENTS = re.compile(rf"\A{_NAMES}")
_NEXT_ARGUMENT = re.compile(rf"(?<=[.;])\s+(?={_NAMES})")


class Docstrings(griffe.Extension):
    """Rewrites the docstrings of a package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _resolve(pkg)  # before an object stands in the place of its module
        exported = {module.path: each for module, each in _export(pkg)}
        _redirect(pkg, exported)
        self._rewrite(pkg)

    def _rewrite(self, part: griffe.Object) -> None:
        if part.docstring is not None:
            text = "\n\n".join(_as_list(each) for each in part.docstring.value.split("\n\n"))
            part.docstring.value = _ROLE.sub(lambda role: _link(part, *role.groups()), text)
        if isinstance(part, griffe.Function):
            _tell_defaults(part)
        if isinstance(part, griffe.Attribute):
            part.value = _default(part.value)
        for member in part.members.values():
            if isinstance(member, griffe.Object):
                self._rewrite(member)


def _resolve(package: griffe.Module) -> None:
    for member in package.members.values():
        if isinstance(member, griffe.Module):
            _resolve(member)
        elif isinstance(member, griffe.Alias):
            with suppress(griffe.AliasResolutionError, griffe.CyclicAliasError):  # of what is installed nowhere
                member.resolve_target()


def _export(package: griffe.Module) -> Iterator[tuple[griffe.Module, griffe.Object]]:
    """Put each object that a package imports from its module of the same name in the module's place; yield both."""
    for name, member in list(package.members.items()):
        if not isinstance(member, griffe.Module):
            continue
        yield from _export(member)
        exported = member.members.get(name)
        if package.imports.get(name) == f"{member.path}.{name}" and isinstance(exported, griffe.Object):
            yield member, exported
            for part in [exported, *exported.members.values()]:  # which find their module's constants only here
                if isinstance(part, griffe.Function):
                    _tell_defaults(part)
            exported.parent = package
            package.members[name] = exported


def _redirect(package: griffe.Module, exported: dict[str, griffe.Object]) -> None:
    """Let other packages that export the same name mean the object, too."""
    for member in package.members.values():
        if isinstance(member, griffe.Module):
            _redirect(member, exported)
        elif isinstance(member, griffe.Alias) and member.resolved:
            with suppress(griffe.AliasResolutionError):  # a name of another package that `import *` passes on
                if isinstance(member.final_target, griffe.Module):
                    member.target = exported.get(member.final_target.path, member.final_target)


def _default(value: Any) -> Any:
    """Return the default of an option: the first argument of ``declare``."""
    is_option = isinstance(value, griffe.ExprCall) and str(value.function) in ("declare", "_declare_timeout")
    return value.arguments[0] if is_option else value


def _tell_defaults(function: griffe.Function) -> None:
    for parameter in function.parameters:
        parameter.default = _default(parameter.default)
        constant = function.module.members.get(str(parameter.default))
        if str(parameter.default).startswith("_") and isinstance(constant, griffe.Attribute) and constant.value:
            parameter.default = constant.value


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
