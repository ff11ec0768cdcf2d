"""What a package offers under its own name: names that are imported when they are first used.

In: a package's table of names and the modules that hold them. Out: the module functions ``__getattr__`` and ``__dir__``
(PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports ``homes`` when they are first used.

    ``homes``: the module of each name, relative to the package (``"sink"``) or absolute (``"ticdc_emit.errors"``);
    a module without a name of its own is given as ``"."``. ``dir()`` lists the package's ``__all__``.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == ".":
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home if home.startswith("ticdc_emit.") else f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        module = sys.modules[package]
        return sorted({*module.__all__, *(name for name in vars(module) if name.startswith("__"))})

    return get, listed
