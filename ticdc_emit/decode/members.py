"""Members of a decoded JSON or Avro object, checked for what they must be.

In: an object and a member's name. Out: the member. ``part`` says in errors whether a ``key`` or a ``value`` is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ticdc_emit.decode.errors import DecodeError

__all__ = ["member", "objects", "texts"]

_REQUIRED: Any = object()
_T = TypeVar("_T")


def member(
    members: Mapping[str, Any], name: str, kind: type[_T], default: _T = _REQUIRED, *, part: str = "value"
) -> _T:
    """Return a member, which must be of a type; one without default must be there. Raises :class:`DecodeError`."""
    found: Any = members.get(name, default)
    if type(found) is kind:
        return found
    if found is _REQUIRED:
        raise DecodeError("the message lacks a member", part=part, member=name)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise DecodeError(f"a member is no {kind.__name__}: {found!r:.100}", part=part, member=name)
    return found


def objects(members: Mapping[str, Any], name: str, *, part: str = "value") -> list[Mapping[str, Any]]:
    """Return a member that is a list of objects. Raises :class:`DecodeError`."""
    found = member(members, name, list, part=part)
    if not all(isinstance(each, Mapping) for each in found):
        raise DecodeError("a member is no list of objects", part=part, member=name)
    return found


def texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a member that is a list of texts. Raises :class:`DecodeError`."""
    found = member(members, name, list)
    if not all(isinstance(each, str) for each in found):
        raise DecodeError("a member is no list of texts", part="value", member=name)
    return tuple(found)
