"""The changefeed file as typed tables, Go's syntax of values, and TiCDC's refusals.

A refusal's ``message`` is TiCDC's own line (``[CDC:Code]text``), so that it can be compared with TiCDC's output; what
TiCDC's callers add around it is left out. Source of codes and templates: pingcap/tiflow ``pkg/errors/cdc_errors.go``.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.errors import ConfigError, TicdcEmitWarning, warn_caller
from ticdc_emit.hints import closest

logger = logging.getLogger(__name__)

T = TypeVar("T")
LENIENT: ContextVar[bool] = ContextVar("lenient", default=False)
"""Whether unknown options of the file are only warned of, unless ``strict`` is given. ``--lenient`` sets it."""
_NAMES = {bool: "boolean", int: "integer", float: "float", str: "string", list: "array", tuple: "array", dict: "table"}
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER = re.compile(r"[0-9]*(?:\.[0-9]*)?")
_UNIT = re.compile(r"[^.0-9]+")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class ConfigWarning(TicdcEmitWarning):
    """Options without effect, or with another one than their text says."""


def warn_of_option(text: str) -> None:
    # The log repeats the warning for runs that collect logs only; at INFO, or a bare console would show it twice.
    logger.info(text)
    warn_caller(text, ConfigWarning)


def refused(code: str, text: str, *, option: str, remedy: str = "") -> ConfigError:
    """Return the refusal ``[CDC:code]text`` of ``option``; the caller raises it."""
    return ConfigError(f"[CDC:{code}]{text}", remedy=remedy, option=option, code=f"CDC:{code}")


class GoSyntaxError(ValueError):
    """A text that Go cannot parse; ``str()`` is Go's message."""


def quote(text: str) -> str:
    """Return ``text`` as ``strconv.Quote`` writes it: in double quotes, control characters escaped."""
    parts = ['"']
    for character in text:
        code = ord(character)
        if character in '"\\':
            parts.append("\\" + character)
        elif character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif code < 0x20 or code == 0x7F:
            parts.append(f"\\x{code:02x}")
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    parts.append('"')
    return "".join(parts)


def parse_bool(text: str) -> bool:
    """``1 t T TRUE true True`` and their opposites; anything else is a :class:`GoSyntaxError`."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise GoSyntaxError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")


def parse_int(text: str, bits: int = 64) -> int:
    """Return a decimal integer with optional sign that fits ``bits``; else a :class:`GoSyntaxError`."""
    if not _INTEGER.match(text):
        raise GoSyntaxError(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    out_of_range = GoSyntaxError(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    # Python refuses to convert very long digit strings; nothing longer than this fits 64 bits anyway.
    if len(text.lstrip("+-").lstrip("0")) > 20:
        raise out_of_range
    value = int(text)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise out_of_range
    return value


def parse_duration_ms(text: str) -> int:
    """Return a Go duration such as ``10s`` or ``1m30.5s`` in whole milliseconds; else a :class:`GoSyntaxError`."""
    invalid = GoSyntaxError(f"time: invalid duration {_quote_bytes(text)}")
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    from fractions import Fraction

    total = Fraction(0)
    while rest:
        number = _NUMBER.match(rest)
        digits = number.group() if number else ""
        if digits in ("", "."):
            raise invalid
        rest = rest[len(digits) :]
        unit = _UNIT.match(rest)
        if unit is None:
            raise GoSyntaxError(f"time: missing unit in duration {_quote_bytes(text)}")
        scale = _NANOSECONDS.get(unit.group())
        if scale is None:
            raise GoSyntaxError(f"time: unknown unit {_quote_bytes(unit.group())} in duration {_quote_bytes(text)}")
        whole, _, fraction = digits.partition(".")
        if len(whole) > 19:
            raise invalid
        total += (Fraction(int(whole or "0")) + Fraction(int(fraction or "0"), 10 ** len(fraction))) * scale
        rest = rest[unit.end() :]
    if total >= 1 << 63:
        raise invalid
    milliseconds = int(total / 10**6)
    return -milliseconds if negative else milliseconds


def _quote_bytes(text: str) -> str:
    """Return ``text`` as package ``time`` quotes it: every byte outside printable ASCII as ``\\xNN``."""
    shown = []
    for byte in text.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        if byte < 0x20 or byte >= 0x80:
            shown.append(f"\\x{byte:02x}")
        else:
            shown.append("\\" + character if character in '"\\' else character)
    return '"' + "".join(shown) + '"'


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
        return tomllib.loads(text)
    except ValueError as error:
        # The decoder's exception carries the whole document, secrets included: only its message may go on.
        raise ConfigError(
            f"{place} is not TOML: {mask_text(str(error))}", remedy="Correct the TOML at that line", option="changefeed"
        ) from None
    except RecursionError:
        raise ConfigError(
            f"{place} is nested too deeply", remedy="Use fewer arrays and tables inside each other", option="changefeed"
        ) from None


def without_indices(place: str) -> str:
    """Return a dotted name in lower case, without the indices in arrays of tables: as the lists of options have it."""
    return re.sub(r"\[[0-9]+\]", "", place).lower()


def hinted(name: str, known: Collection[str]) -> str:
    """Return the name of an ignored option, and the known option that may have been meant."""
    # some options that are rightly ignored resemble others, so only a close match counts
    meant = closest(name, known, likeness=0.8)
    return name + ("" if meant is None else f" (did you mean {meant}?)")


class Section:
    """One TOML table.  Readers return None where the key is absent."""

    def __init__(self, table: Mapping[str, Any], path: str, unknown: set[str] | None = None) -> None:
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
        self._unknown = set() if unknown is None else unknown
        self._read: set[str] = set()
        self._children: dict[str, Section] = {}

    def to_dict(self) -> dict[str, Any]:
        return dict(self._table)

    def forget(self, names: Collection[str]) -> None:
        """Treat keys of these names, which may have their table before a dot, as unknown from now on."""
        self._unknown.update(names)

    def boolean(self, name: str) -> bool | None:
        return self._typed(name, bool, "boolean")

    def text(self, name: str) -> str | None:
        return self._typed(name, str, "string")

    def integer(self, name: str, bits: int = 64) -> int | None:
        value = self._typed(name, int, "integer")
        if value is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise self._too_large(name, f"{bits} bits")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        return self._items(name, str, "array of strings")

    def integers(self, name: str, bits: int = 64) -> tuple[int, ...] | None:
        """Return an array of unsigned integers of that many bits."""
        values = self._items(name, int, "array of integers")
        if not all(0 <= value < 1 << bits for value in values or ()):
            raise self._too_large(name, f"{bits} unsigned bits")
        return values

    def table(self, name: str) -> Section | None:
        """Return a table, None where it is absent."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._wrong_type(name, "table", value)
        return self._child(value, self._place(name))

    def at(self, path: str) -> Section:
        """Return the table at a dotted path; an empty one where it is absent."""
        section = self
        for name in path.split(".") if path else ():
            section = section.table(name) or Section({}, section._place(name))
        return section

    def tables(self, name: str) -> tuple[Section, ...]:
        """Return an array of tables, empty where it is absent."""
        values = self._items(name, Mapping, "array of tables") or ()
        return tuple(self._child(value, f"{self._place(name)}[{index}]") for index, value in enumerate(values))

    def unread(self) -> list[str]:
        """Dotted names of the keys, here and below, that nothing has read."""
        names = [self._place(key) for key in self._table if key not in self._read]
        return names + [name for child in self._children.values() for name in child.unread()]

    def unknown(self, known: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield keys, here and below, that are not ``known`` or are forgotten: dotted, and as they were forgotten."""
        for key, value in self._table.items():
            place, forgotten = self._place(key), self._forgotten(key)
            plain = without_indices(place)
            if forgotten or plain not in known:
                yield place, forgotten or ""
            elif any(name.startswith(f"{plain}.") for name in known):
                for index, table in enumerate(value) if isinstance(value, (list, tuple)) else [(None, value)]:
                    if isinstance(table, Mapping):
                        below = place if index is None else f"{place}[{index}]"
                        yield from Section(table, below, self._unknown).unknown(known)

    def _forgotten(self, key: str) -> str | None:
        table = self._path.rpartition(".")[2].partition("[")[0]  # without the index in an array of tables
        return next((name for name in (key, f"{table}.{key}") if name in self._unknown), None)

    def _child(self, table: Mapping[str, Any], path: str) -> Section:
        # one child per key, so that several readers share the record of what was read
        return self._children.setdefault(path, Section(table, path, self._unknown))

    def _place(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _get(self, name: str) -> Any:
        if self._forgotten(name):
            return None
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

    def _items(self, name: str, kind: type, wanted: str) -> tuple[Any, ...] | None:
        values = self._get(name)
        if values is not None and not isinstance(values, (list, tuple)):
            raise self._wrong_type(name, "array", values)
        for value in values or ():
            if not isinstance(value, kind) or isinstance(value, bool):
                raise self._wrong_type(name, wanted, value)
        return None if values is None else tuple(values)

    def _wrong_type(self, name: str, wanted: str, value: Any) -> ConfigError:
        place = self._place(name)
        found = _NAMES.get(type(value), type(value).__name__)
        a_wanted = f"{'an' if wanted[0] in 'aeiou' else 'a'} {wanted}"
        return ConfigError(f"{place}: expected {wanted}, got {found}", remedy=f"Give {a_wanted}", option=place)

    def _too_large(self, name: str, size: str) -> ConfigError:
        place = self._place(name)
        return ConfigError(f"{place} does not fit {size}", remedy="Give a number that does", option=place)
