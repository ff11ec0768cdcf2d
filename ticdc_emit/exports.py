"""What a package offers under its own name: names that are imported when they are first used.

In: a package that imports them for type checkers only. Out: its ``__getattr__`` and ``__dir__`` (PEP 562).
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
    """Return ``__getattr__`` and ``__dir__`` of a package; ``dir()`` lists its ``__all__``."""

    @cache
    def homes() -> dict[str, str]:
        module = sys.modules[package]
        tree = ast.parse("".join(getlines(str(module.__file__), vars(module))))  # pytest's loader has no get_source
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        return {name.name: str(node.module) for node in imports for name in node.names}

    def get(name: str) -> Any:
        module = sys.modules[package]
        if name not in module.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(module, name, value)
        return value

    def listed() -> list[str]:
        module = sys.modules[package]
        return sorted({*module.__all__, *(name for name in vars(module) if name.startswith("__"))})

    return get, listed
