"""What a package offers under its own name: names that are imported when they are first used.

In: a package that imports them for type checkers only, each ``as`` itself, which makes it public for them. Out: its
``__all__``, ``__getattr__`` and ``__dir__`` (PEP 562): the imports are the one list.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from linecache import getlines
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__``, which knows ``__all__``, too, and ``__dir__`` of a package."""

    @cache
    def homes() -> dict[str, str]:
        module = sys.modules[package]
        tree = ast.parse("".join(getlines(str(module.__file__), vars(module))))  # pytest's loader has no get_source
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        return {name.asname: str(node.module) for node in imports for name in node.names if name.asname}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(homes())
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*homes(), *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return get, listed
