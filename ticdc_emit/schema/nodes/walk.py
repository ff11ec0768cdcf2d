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
    yield node
    if isinstance(node, tuple):
        for member in node:
            yield from every_node(member)
    elif is_dataclass(node):
        for each in fields(node):
            yield from every_node(getattr(node, each.name))


def with_children(node: _N, change: Callable[[object], object]) -> _N:
    """Return a node with a function applied to every child."""
    if isinstance(node, tuple):
        return tuple(change(child) for child in node)  # type: ignore[return-value]
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changed = {}
    for field in fields(node):
        old = getattr(node, field.name)
        if isinstance(old, tuple) or is_dataclass(old):
            new = change(old)
            if new != old:
                changed[field.name] = new
    return replace(node, **changed) if changed else node
