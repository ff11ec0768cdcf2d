"""How nodes print: TiDB's different texts of one syntax tree.

Rule source: pingcap/tidb ``pkg/parser/format/format.go`` (``RestoreCtx``). Flags: :data:`WIRE` of TiCDC's DDL
(``cdc/owner/ddl_sink.go``, next's ``pkg/common/event/util.go``), :data:`STORED` of expressions in schemas
(``pkg/ddl``), :data:`PLAIN` TiDB's default, with which classic splits several CREATE TABLE (``pkg/ddl/util.go``),
:data:`ROUTED` of texts in which next changed names (``pkg/routing/ddl_query_rewriter.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Protocol, TypeVar

from ticdc_emit.sql.words import quoted


@dataclass(frozen=True)
class Style:
    """``qualified``: columns with tables. ``sent``: for another database: TiDB-only syntax in comments, no placement
    policies, TTL off. ``introduced``: with the introducer of TiDB's own charset before strings.
    """

    upper: bool
    spaced: bool
    qualified: bool
    sent: bool = True
    introduced: bool = True

    def word(self, text: str) -> str:
        """Return keywords in the style's case."""
        return text.upper() if self.upper else text.lower()

    def column(self, *parts: str) -> str:
        return quoted(*parts) if self.qualified else quoted(parts[-1])


WIRE = Style(upper=True, spaced=False, qualified=True)
STORED = Style(upper=False, spaced=True, qualified=False)
PLAIN = Style(upper=True, spaced=False, qualified=True, sent=False)
ROUTED = Style(upper=True, spaced=False, qualified=True, introduced=False)


class Node(Protocol):
    """A node of the syntax tree of a statement."""

    def restore(self, style: Style = WIRE) -> str: ...


def joined(nodes: Iterable[Node], style: Style, separator: str = ",") -> str:
    return separator.join(node.restore(style) for node in nodes)


def string(value: str) -> str:
    """Return a string in single quotes. Backslashes stay single, as TiDB prints options and labels."""
    return "'" + value.replace("'", "''") + "'"


def special_comment(text: str, feature: str = "", style: Style = WIRE) -> str:
    """Return TiDB-only syntax as ``/*T![feature] text */``."""
    if not style.sent:
        return text
    return f"/*T![{feature}] {text} */" if feature else f"/*T! {text} */"


_N = TypeVar("_N")


def every_node(node: object, besides: tuple[type, ...] = ()) -> Iterator[object]:
    """Yield a node and everything below it, in order of appearance, but no node of the types ``besides``."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, besides):
            continue
        yield node
        if isinstance(node, tuple):
            pending += reversed(node)
        elif is_dataclass(node):
            pending += [getattr(node, each.name) for each in reversed(fields(node))]


def with_children(node: _N, change: Callable[[object], object]) -> _N:
    """Return a node with a function applied to every child; itself if the function returns each child as it is."""
    if isinstance(node, tuple):
        members = tuple([change(child) for child in node])
        is_same = all(new is old for new, old in zip(members, node, strict=True))
        return node if is_same else members  # type: ignore[return-value]
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changed = {}
    for field in fields(node):
        old = getattr(node, field.name)
        if isinstance(old, tuple) or is_dataclass(old):
            new = change(old)
            if new is not old:
                changed[field.name] = new
    return replace(node, **changed) if changed else node


@dataclass(frozen=True)
class TableName:
    """``schema`` is "" for the current database."""

    schema: str
    name: str

    def restore(self, style: Style = WIRE) -> str:
        return quoted(self.schema, self.name) if self.schema else quoted(self.name)


@dataclass(frozen=True)
class User:
    """``name`` and ``host`` of an account; both "" for CURRENT_USER."""

    name: str
    host: str

    def restore(self, style: Style = WIRE) -> str:
        if self == CURRENT_USER:
            return style.word("CURRENT_USER")
        return quoted(self.name) + ("@" + quoted(self.host) if self.host else "")


CURRENT_USER = User("", "")
