"""A syntax tree as a whole: every node of it, or the tree with its children changed.

In: a node, a tuple of nodes, or what a node holds besides (text, numbers), which has no children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

__all__ = ["every_node", "with_children"]

_N = TypeVar("_N")


def every_node(node: object) -> Iterator[object]:
    """Yield a node and everything below it, in order of appearance."""
    pending = [node]
    while pending:
        node = pending.pop()
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
