"""The changefeed file as typed tables that remember what was read.

In: the path of a TOML file, TOML text, or a mapping.  Out: a :class:`Section` over the document; after all options are
read, :meth:`Section.unread` names the keys that nothing has read.  A wrong type is a ``ConfigError`` with the option
and the two types, never with the value.  Key names match as in BurntSushi's decoder: exactly, else ignoring case.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import closest

__all__ = ["Section", "hinted", "read_document"]

T = TypeVar("T")

# Python 3.10 has no TOML reader of its own.
_toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_NAMES = {bool: "boolean", int: "integer", float: "float", str: "string", list: "array", tuple: "array", dict: "table"}


def read_document(changefeed: str | os.PathLike[str] | Mapping[str, Any] | None) -> Section:
    """Return the root section. Text with a newline or ``=``, or an empty one, is TOML; any other is a file's path."""
    if changefeed is None:
        return Section({}, "")
    if isinstance(changefeed, Mapping):
        return Section(changefeed, "")
    if isinstance(changefeed, str) and (not changefeed.strip() or "\n" in changefeed or "=" in changefeed):
        return Section(_parse(changefeed, "the changefeed text"), "")
    try:
        path = Path(changefeed)
    except TypeError:
        raise ConfigError(
            f"the changefeed is of type {type(changefeed).__name__}",
            remedy="Give the path of a TOML file, TOML text or a mapping",
            option="changefeed",
        ) from None
    place = mask_text(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(
            f"cannot read the changefeed file {place}: {cause}",
            remedy="Give the path of a TOML file in UTF-8 that can be read, or TOML text",
            option="changefeed",
        ) from None
    return Section(_parse(text, place), "")


def _parse(text: str, place: str) -> dict[str, Any]:
    try:
        document: dict[str, Any] = _toml.loads(text)
    except ValueError as error:
        # The decoder's exception carries the whole document, secrets included: only its message may go on.
        raise ConfigError(
            f"{place} is not TOML: {mask_text(str(error))}", remedy="Correct the TOML at that line", option="changefeed"
        ) from None
    except RecursionError:
        raise ConfigError(
            f"{place} is nested too deeply", remedy="Use fewer arrays and tables inside each other", option="changefeed"
        ) from None
    return document


def hinted(name: str, known: Collection[str], shown: str | None = None) -> str:
    """Return the name of an ignored option (displayed as ``shown``), and the known option that may have been meant."""
    # some options that are rightly ignored resemble others, so only a close match counts
    meant = closest(str(name), known, likeness=0.8)
    return (shown or name) + ("" if meant is None else f" (did you mean {meant}?)")


class Section:
    """One TOML table.  Readers return None where the key is absent."""

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        keys: Collection[object] = table.keys()
        for key in keys:
            if not isinstance(key, str):
                raise ConfigError(
                    f"a key of {path or 'the changefeed'} is of type {type(key).__name__}, not text",
                    remedy="Give every key as text, as TOML has it",
                    option=path or "changefeed",
                )
        self._table = table
        self._path = path
        self._read: set[str] = set()
        self._children: dict[str, Section] = {}

    def boolean(self, name: str) -> bool | None:
        return self._typed(name, bool, "boolean")

    def text(self, name: str) -> str | None:
        return self._typed(name, str, "string")

    def integer(self, name: str, bits: int = 64) -> int | None:
        """Return a signed integer of that many bits."""
        value = self._typed(name, int, "integer")
        if value is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise self._too_large(name, f"{bits} bits")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return an array of strings."""
        values = self._sequence(name)
        if values is None:
            return None
        for value in values:
            if not isinstance(value, str):
                raise self._wrong_type(name, "array of strings", value)
        return tuple(values)

    def integers(self, name: str, bits: int = 64) -> tuple[int, ...] | None:
        """Return an array of unsigned integers of that many bits."""
        values = self._sequence(name)
        if values is None:
            return None
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                raise self._wrong_type(name, "array of integers", value)
            if not 0 <= value < 1 << bits:
                raise self._too_large(name, f"{bits} unsigned bits")
        return tuple(values)

    def table(self, name: str) -> Section | None:
        """Return a table, None where it is absent."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._wrong_type(name, "table", value)
        return self._child(value, self._place(name))

    def tables(self, name: str) -> tuple[Section, ...]:
        """Return an array of tables, empty where it is absent."""
        values = self._sequence(name) or ()
        for value in values:
            if not isinstance(value, Mapping):
                raise self._wrong_type(name, "array of tables", value)
        return tuple(self._child(value, f"{self._place(name)}[{index}]") for index, value in enumerate(values))

    def unread(self) -> list[str]:
        """Dotted names of the keys, here and below, that nothing has read."""
        names = [hinted(key, self._read, self._place(key)) for key in self._table if key not in self._read]
        return names + [name for child in self._children.values() for name in child.unread()]

    def _child(self, table: Mapping[str, Any], path: str) -> Section:
        # one child per key, so that several readers share the record of what was read
        return self._children.setdefault(path, Section(table, path))

    def _place(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _get(self, name: str) -> Any:
        key = name
        if key not in self._table:
            folded = (key for key in self._table if key.casefold() == name)
            key = next(folded, name)
        self._read.add(key)
        return self._table.get(key)

    def _typed(self, name: str, kind: type[T], kind_name: str) -> T | None:
        value = self._get(name)
        if value is None:
            return None
        # bool is an int in Python, and is not one in TOML
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._wrong_type(name, kind_name, value)
        return value

    def _sequence(self, name: str) -> Sequence[Any] | None:
        value = self._get(name)
        if value is not None and not isinstance(value, (list, tuple)):
            raise self._wrong_type(name, "array", value)
        return value

    def _wrong_type(self, name: str, wanted: str, value: Any) -> ConfigError:
        place = self._place(name)
        found = _NAMES.get(type(value), type(value).__name__)
        a_wanted = f"{'an' if wanted[0] in 'aeiou' else 'a'} {wanted}"
        return ConfigError(f"{place}: expected {wanted}, got {found}", remedy=f"Give {a_wanted}", option=place)

    def _too_large(self, name: str, size: str) -> ConfigError:
        place = self._place(name)
        return ConfigError(f"{place} does not fit {size}", remedy="Give a number that does", option=place)
