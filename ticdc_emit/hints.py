"""Parts of sentences: ``Did you mean``, counts, cut bytes; and tuples of given names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral
from typing import Any

from ticdc_emit.errors import ConfigError, shown

_LONGEST = 200
_MOST_BYTES = 48


def closest(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the most similar name in ``known``; case and ``_`` for ``-`` do not count. ``likeness``: 0 to 1."""
    by_plain_name = {_plain(each): each for each in known}
    found = get_close_matches(_plain(name[:_LONGEST]), by_plain_name, n=1, cutoff=likeness)
    return by_plain_name[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return ``Did you mean bank? `` for ``bnak``, with the space that joins it to a sentence; else an empty text."""
    found = closest(name, known, likeness=likeness)
    return "" if found is None else f"Did you mean {found}? "


def values(value: Any) -> tuple[Any, ...]:
    """Return the values of an argument that takes several. A text is one value, as is anything but a collection."""
    if isinstance(value, str):
        return (value,)
    try:
        several = iter(value)
    except TypeError:
        return (value,)
    return tuple(several)


def names(value: str | Iterable[str], option: str | None = None) -> tuple[str, ...]:
    """Return the names of an argument that takes several, or one name; ``ConfigError`` unless each is text."""
    found = values(value)
    if isinstance(value, Mapping):
        raise ConfigError(
            f"{option or 'it'} takes names alone", remedy="Give a list instead of a mapping", option=option
        )
    for each in found:
        if not isinstance(each, str):
            raise ConfigError(
                f"{shown(each)} is not a name", remedy="Give a name as text, or a list of names", option=option
            )
    return found


def whole_number(value: Any) -> int | None:
    """Return a whole number, also one that is given as text; ``None`` for anything else."""
    try:
        return int(value) if isinstance(value, str | Integral) else None
    except ValueError:
        return None


def hold_names(record: Any, *fields: str) -> None:
    """Turn fields of a new frozen record, each several names or one as text, into tuples (in ``__post_init__``)."""
    for field in fields:
        object.__setattr__(record, field, names(getattr(record, field), field))


def counted(count: int, thing: str, things: str = "") -> str:
    """Return ``1 row``, ``2 rows`` or ``1,000 rows`` for ``row``. ``things``: a plural that has more than an ``s``."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def short_bytes(data: bytes | None) -> str:
    """Return the ``repr`` of bytes, cut after 48 of them with their number: ``b'{"id":0…' (229 bytes)``."""
    if data is None or len(data) <= _MOST_BYTES:
        return repr(data)
    return f"{data[:_MOST_BYTES]!r}… ({len(data):,} bytes)"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
