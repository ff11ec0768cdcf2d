"""Objects of the library as one line of JSON, for programs in other languages, and back; errors name the place. Each
object has a ``version``, so that a later form of it is refused and never misread.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from math import isfinite
from numbers import Integral
from typing import Any, NoReturn, TypeAlias, TypeVar

from ticdc_emit.errors import JsonError, shown
from ticdc_emit.hints import did_you_mean
from ticdc_emit.sql.json_depth import parsed

_T = TypeVar("_T")

VERSION = 1
"""The only version of each object so far."""

_KINDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def json_line(members: Mapping[str, Any], *, what: str) -> str:
    """Return an object as one line of ASCII; ``what``: such as ``a history``. Raises :class:`JsonError`."""
    for place, value in _foreign(members, ""):
        raise JsonError(
            f"{what} cannot be JSON: {shown(value)} is of the Python type {type(value).__name__}",
            remedy="Give text, whole numbers, finite floats, true, false, None, lists and mappings with text as keys",
            member=place,
        )
    return json.dumps(
        members,
        separators=(",", ":"),
        default=lambda value: dict(value) if isinstance(value, Mapping) else int(value),  # nothing else is left
    )


def _foreign(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            inner = f"{place}.{name}" if place else str(name)
            if not isinstance(name, str):
                yield inner, name
            yield from _foreign(each, inner)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _foreign(each, f"{place}[{number}]")
    elif not (value is None or isinstance(value, str | Integral) or (isinstance(value, float) and isfinite(value))):
        yield place, value


def encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


class Members:
    """The members of ``what`` at a ``place`` of the text; readers raise :class:`~ticdc_emit.errors.JsonError`."""

    def __init__(self, content: Any, what: str, place: str = "") -> None:
        self._what, self._place = what, place
        if not isinstance(content, Mapping):
            self._refuse(f"{shown(content)} is not an object", f"Give {what} as an object", place)
        self._content: Mapping[str, Any] = content
        self._read: list[str] = []

    @classmethod
    def of(cls, data: Json, what: str) -> Members:
        """Read a JSON text, or take an object that was read already; also check its ``version``."""
        if isinstance(data, str | bytes):
            text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
            try:
                data = parsed(text, object_pairs_hook=_once, parse_constant=_no_constant)
            except ValueError as fault:
                raise JsonError(f"{what} cannot be read: {fault}", remedy="Give one JSON object, in UTF-8") from None
        members = data if isinstance(data, Members) else cls(data, what)
        if (version := members.get("version", int)) != VERSION:
            remedy = (
                f"This release of the library reads version {VERSION}: use the release that wrote version {version}"
            )
            members._refuse(f"version {version} of {what} is unknown", remedy, members._at("version"))
        return members

    def get(self, name: str, *kinds: type[_T]) -> _T:
        self._read.append(name)
        wanted = " or ".join(_KINDS[kind] for kind in kinds)
        if name not in self._content:
            hint = did_you_mean(name, (each for each in self._content if each not in self._read))
            self._refuse(f"{self._what} has no {name}", f"{hint}Give {name} as {wanted}", self._at(name))
        value: Any = self._content[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self._refuse(f"{shown(value)} is not {wanted}", f"Give {name} as {wanted}", self._at(name))
        return value

    def object(self, name: str) -> Members:
        return Members(self.get(name, dict), name, self._at(name))

    def objects(self, name: str, what: str) -> list[Members]:
        listed = enumerate(self.get(name, list))
        return [Members(each, what, f"{self._at(name)}[{number}]") for number, each in listed]

    def binary(self, name: str) -> bytes | None:
        """Return the bytes of base64; ``None`` for null."""
        if name in self._content and self._content[name] is None:
            self._read.append(name)
            return None
        text = self.get(name, str)
        try:
            return base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            self._refuse(f"{shown(text)} is not base64", "Give base64 with its padding, or null", self._at(name))

    def names(self) -> list[str]:
        return list(self._content)

    def value(self, name: str) -> Any:
        self._read.append(name)
        return self._content[name]

    def finish(self) -> None:
        """Refuse the members that nothing has read: a misspelt one would be lost."""
        for name in self._content:
            if name not in self._read:
                hint = did_you_mean(name, self._read)
                remedy = f"{hint}{self._what[0].upper()}{self._what[1:]} has: {', '.join(self._read)}"
                self._refuse("the member is unknown", remedy, self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _refuse(self, cause: str, remedy: str, place: str) -> NoReturn:
        raise JsonError(cause, remedy=remedy, member=place or None)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return members


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


Json: TypeAlias = "str | bytes | Mapping[str, Any] | Members"
"""What an object is read from: a text, what was read from it, or a part of that."""
