"""Names and signatures of what the public modules offer, as ``tests/unit/public_api.txt`` has them.

    python -m tests.public_api       # writes the file anew, after a change that is meant

A default that is neither a number, a text nor empty is shown as ``...``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODULES = ("ticdc_emit", *map("ticdc_emit.{}".format, ("config", "errors", "spark", "strategies", "testing")))
FILE = Path(__file__).parent / "unit/public_api.txt"
_SHOWN = (bool, int, float, str, type(None))


class _Bare(str):
    __repr__ = str.__str__


def lines() -> Iterator[str]:
    """Yield a line for each name, and one for each member of a class; a name's second place names the first."""
    places: dict[int, str] = {}
    for home in MODULES:
        module = importlib.import_module(home)
        for name in sorted(module.__all__):
            value, place = getattr(module, name), f"{home}.{name}"
            first = places.setdefault(id(value), place)
            if first != place:
                yield f"{place} = {first}"
            elif inspect.isclass(value):
                yield f"class {place}{_signature(value).partition(' -> ')[0]}"
                yield from _members(value)
            else:
                yield place + (_signature(value) if callable(value) else f": {type(value).__name__}")


def _members(value: type) -> Iterator[str]:
    fields = getattr(value, "__dataclass_fields__", ())
    for name in sorted(each for each in dir(value) if not each.startswith("_") and each not in fields):
        if next(base for base in value.__mro__ if name in vars(base)).__module__.startswith("ticdc_emit"):
            member = inspect.getattr_static(value, name)
            function = getattr(member, "__func__", member)  # of a class or static method
            yield f"    .{name}{_signature(function) if inspect.isfunction(function) else ''}"


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of what is written in C
        return ""
    shown = []
    for each in signature.parameters.values():
        known = type(each.default) in _SHOWN or each.default in ((), each.empty)
        note = getattr(each.annotation, "__forward_arg__", each.annotation)  # of a named tuple
        shown.append(each.replace(annotation=_annotation(note), default=each.default if known else _Bare("...")))
    return str(signature.replace(parameters=shown, return_annotation=_annotation(signature.return_annotation)))


def _annotation(note: Any) -> Any:
    return _Bare(note) if isinstance(note, str) else note


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
