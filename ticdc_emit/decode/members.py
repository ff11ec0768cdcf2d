"""Type-checked members of a decoded JSON or Avro object.

In: an object and a member's name. Out: the member. ``part`` (``key`` or ``value``) is for errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.json_depth import parsed
from ticdc_emit.tso import MAX_TSO, physical_ms

__all__ = ["check_image", "document", "in_any_order", "member", "millis", "objects", "texts", "tso"]

_REQUIRED: Any = object()
_T = TypeVar("_T")
_LAST_MS = physical_ms(MAX_TSO)
_PLAIN = frozenset({str, int, float, bool, type(None)})


def document(text: bytes, part: str, **hooks: Any) -> dict[str, Any]:
    """Return a JSON object; ``hooks``: those of :func:`json.loads`. Raises :class:`DecodeError` for another text."""
    try:
        members = parsed(text, **hooks)
        if b"\\u" in text:  # a lone surrogate is JSON, but not text
            json.dumps(members, ensure_ascii=False).encode()
    except ValueError as fault:  # so is UnicodeError
        raise DecodeError(f"the {part} is not JSON: {fault}", part=part) from fault
    if not isinstance(members, dict):
        raise DecodeError(f"the {part} is not a JSON object", part=part)
    return members


def member(
    members: Mapping[str, Any], name: str, kind: type[_T], default: _T = _REQUIRED, *, part: str = "value"
) -> _T:
    """Return a member of the given type; without a default it must exist. Raises :class:`DecodeError`."""
    value: Any = members.get(name, default)
    if type(value) is kind:
        return value
    if value is _REQUIRED:
        raise DecodeError("the message lacks a member", part=part, member=name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DecodeError(f"a member is not {kind.__name__}: {value!r:.100}", part=part, member=name)
    return value


def tso(members: Mapping[str, Any], name: str) -> int:
    """Return a member that is a TSO. Raises :class:`DecodeError`."""
    value = members.get(name)
    return value if type(value) is int and 0 <= value <= MAX_TSO else _refused(members, name, MAX_TSO)


def millis(members: Mapping[str, Any], name: str) -> int:
    """Return a member that is the physical time of a TSO in ms. Raises :class:`DecodeError`."""
    value = members.get(name)
    return value if type(value) is int and 0 <= value <= _LAST_MS else _refused(members, name, _LAST_MS)


def _refused(members: Mapping[str, Any], name: str, most: int) -> NoReturn:
    value = member(members, name, int)
    raise DecodeError(f"a member is not in 0..{most}: {value!r:.100}", part="value", member=name)


def check_image(image: Mapping[str, Any], part: str) -> None:
    """Raise :class:`DecodeError` for a row in which a column is a list or an object."""
    if not _PLAIN.issuperset(map(type, image.values())):
        name = next(name for name, value in image.items() if type(value) not in _PLAIN)
        raise DecodeError("a value is neither text, number, boolean nor null", part=part, field=name)


def objects(members: Mapping[str, Any], name: str, *, part: str = "value") -> list[Mapping[str, Any]]:
    """Return a member that is a list of objects. Raises :class:`DecodeError`."""
    items = member(members, name, list, part=part)
    if not all(isinstance(each, Mapping) for each in items):
        raise DecodeError("a member is not a list of objects", part=part, member=name)
    return items


def texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a member that is a list of texts. Raises :class:`DecodeError`."""
    values = member(members, name, list)
    if not all(isinstance(each, str) for each in values):
        raise DecodeError("a member is not a list of texts", part="value", member=name)
    return tuple(values)


def in_any_order(image: Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    """Return an image's columns in a form that does not depend on their order in the message."""
    return None if image is None else sorted(image.items())
