"""Realistic text by a column's name: ``email``, ``city``, ``note`` ... as Spark SQL.

In: a column and a function that gives hashes. Out: SQL text of type string that fits the column's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.traffic.generate import words
from ticdc_emit.traffic.generate.sql import Alternating, pick, salt_of, units

__all__ = ["LASTING", "Bits", "document", "meaning", "realistic_text", "tokens", "unique_text"]

Bits = Callable[[int], str]
"""The n-th independent hash of a value."""

LASTING = frozenset({"name", "first", "last", "email", "login", "uuid", "country", "country_code", "sku", "company"})
"""Meanings of text that never changes in a row."""

_MEANINGS = {
    "email": "email mail",
    "uuid": "uuid guid",
    "url": "url uri link website homepage",
    "ip": "ip ipv4 ipaddress host",
    "phone": "phone mobile tel telephone fax",
    "zip": "zip zipcode postcode postal",
    "city": "city town",
    "street": "street address addr",
    "state": "province state_code region",
    "currency": "currency",
    "language": "lang language locale",
    "company": "company organization organisation vendor supplier",
    "color": "color colour",
    "carrier": "carrier",
    "sku": "sku product article item",
    "login": "login username nickname nick user",
    "first": "first given",
    "last": "last family surname",
    "name": "name customer owner author person holder",
    "country": "country nation",
    "status": "status state stage phase",
    "digest": "hash checksum token md5 sha digest signature",
    "title": "title label subject headline tag category kind type",
    "prose": "note notes description comment comments text content body bio message remark reason summary",
    "code": "code ref reference iban number no tracking key",
}
_BY_TOKEN = {token: meaning for meaning, listed in _MEANINGS.items() for token in listed.split()}
_UTF8 = ("utf8", "utf8mb4")
_CODE_WIDTH = 8
_GROUPS = tuple(
    f"{salt_of('digits', n) % 10**11:011}" for n in range(128)
)  # picked from a list, because printing digits is slower


def tokens(name: str) -> list[str]:
    """Return the words of a column's name, lower case: ``customerEmail2`` is customer, email."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return [token for token in re.split(r"[^a-z0-9]+|(?<=[a-z])(?=\d+$)", parted) if token and not token.isdigit()]


def meaning(column: Column) -> str:
    """Return the meaning of a column's text by the words of its name; by default ``prose`` or ``title``."""
    words = tokens(column.name)
    if words in (["c"], ["pad"]):
        return "digits"
    for token in reversed(words):
        if token == "name" and len(words) > 1 and _BY_TOKEN.get(words[-2]) in ("first", "last", "login", "company"):
            continue
        if token in _BY_TOKEN:
            known = _BY_TOKEN[token]
            return "country_code" if known == "country" and 0 <= column.flen <= 3 else known
    return "prose" if column.type is not MySQLType.STRING and (column.flen < 0 or column.flen > 60) else "title"


def realistic_text(column: Column, bits: Bits, person: Bits) -> str:
    """Return text that fits the column. ``person``: hashes that all columns of a row share, for name and email.

    Text of :class:`Alternating` bits differs between two neighbouring steps. If words would be cut, a code is used.
    """
    known = meaning(column)
    text = _RECIPES[known](_Recipe(bits, person, column.charset in _UTF8, column.flen))
    if column.flen < 0 or text.longest <= column.flen:
        return text.text
    if isinstance(bits(0), Alternating) and column.flen:
        return _code(bits(0), min(column.flen, _CODE_WIDTH))
    return f"rtrim(left({text.text}, {column.flen}))"


def unique_text(column: Column, number: str, width: int, person: Bits, *, whole: bool) -> str:
    """Return text that encodes ``number`` (bigint). ``whole``: an index covers all of it, not only ``width``."""
    code = f"lower(lpad(conv(cast({number} as string), 10, 36), {width}, '0'))"
    known, room = meaning(column), column.flen if column.flen > 0 else 255
    if not whole or known == "digest":
        return code
    if known == "uuid" and room >= 36:
        return _uuid(person, f"lower(lpad(hex({number}), 12, '0'))")
    login = pick(words.LOGINS, person(0))
    if known == "email" and room >= 44:
        return f"concat({login}, '.', cast({number} as string), '@', {pick(words.DOMAINS, person(3))})"
    if known == "login" and room >= 30:
        return f"concat({login}, cast({number} as string))"
    if known == "name" and room >= 44:
        return f"concat({_full_name(person, column.charset in _UTF8)}, ' ', cast({number} as string))"
    return f"concat('SKU-', {code})" if known == "sku" and room >= width + 4 else code


def document(column: Column, bits: Bits) -> str:
    """Return a JSON document as TiDB prints it: keys in order, a blank after commas and colons."""
    if "tags" in tokens(column.name):
        return f"""concat('["', {pick(words.COLORS, bits(0))}, '", "', {pick(words.NOUNS, bits(1))}, '"]')"""
    return (
        f"""concat('{{"ok": ', if({units(bits(3), 2)} = 0, 'true', 'false'), ', "product": "', """
        f"""{pick(words.ADJECTIVES, bits(0))}, ' ', {pick(words.NOUNS, bits(1))}, '", "tags": ["web", "v', """
        f"""cast({units(bits(2), 9)} as string), '"], "units": ', cast({units(bits(3), 1000)} as string), '}}')"""
    )


@dataclass(frozen=True)
class _Text:
    """SQL text and the length of the longest value in characters."""

    text: str
    longest: int


@dataclass(frozen=True)
class _Recipe:
    bits: Bits
    person: Bits
    utf8: bool
    room: int

    def one_of(self, listed: tuple[str, ...], of: str) -> _Text:
        usable = _ascii(listed, self.utf8)
        return _Text(pick(usable, of), max(map(len, usable)))


def _full_name(person: Bits, utf8: bool) -> str:
    first, last = (_ascii(each, utf8) for each in (words.FIRST_NAMES, words.LAST_NAMES))
    return f"concat({pick(first, person(0))}, ' ', {pick(last, person(1))})"


def _ascii(listed: tuple[str, ...], utf8: bool) -> tuple[str, ...]:
    return listed if utf8 else tuple(word for word in listed if word.isascii())


def _number(of: str, count: int, digits: int) -> str:
    return f"lpad(cast({units(of, count)} as string), {digits}, '0')"


def _code(of: str, width: int) -> str:
    return f"upper(conv(cast({units(of, 36**width)} as string), 10, 36))"


def _uuid(bits: Bits, last: str) -> str:
    wide = f"lower(lpad(hex({bits(2)}), 16, '0'))"
    return (
        f"concat(left({wide}, 8), '-', substring({wide}, 9, 4), '-4', substring({wide}, 13, 3), '-a', "
        f"right({wide}, 3), '-', {last})"
    )


def _prose(recipe: _Recipe) -> _Text:
    one, two = recipe.bits(0), recipe.bits(1)
    sentence = (
        f"concat('the ', {pick(words.ADJECTIVES, one)}, ' ', {pick(words.NOUNS, f'shiftright({one}, 16)')}, ' ', "
        f"{pick(words.VERBS, f'shiftright({one}, 32)')}"
    )
    more = f"', then the ', {pick(words.NOUNS, two)}, ' ', {pick(words.VERBS, f'shiftright({two}, 16)')}"
    if 0 <= recipe.room < 60:
        return _Text(f"{sentence})", 40)
    return _Text(f"{sentence}, {more})", 76)


def _email(recipe: _Recipe) -> _Text:
    number = f"cast({units(recipe.person(2), 10_000)} as string)"
    text = (
        f"concat({pick(words.LOGINS, recipe.person(0))}, '.', {number}, '@', {pick(words.DOMAINS, recipe.person(3))})"
    )
    return _Text(text, 28)


def _digits(recipe: _Recipe) -> _Text:
    """Groups of eleven digits with dashes, as sysbench fills its columns c and pad."""
    groups = max(1, min(10, (recipe.room if recipe.room > 0 else 120) // 12))
    drawn = (f"shiftright({recipe.bits(n // 8)}, {n % 8 * 7})" if n % 8 else recipe.bits(n // 8) for n in range(groups))
    text = ", '-', ".join(pick(_GROUPS, each) for each in drawn)
    return _Text(f"concat({text})", 12 * groups - 1)


def _hex(recipe: _Recipe) -> _Text:
    width = min(recipe.room if recipe.room > 0 else 32, 32)
    halves = [f"lpad(hex({recipe.bits(n)}), 16, '0')" for n in range(1 + (width > 16))]
    return _Text(f"lower(concat({', '.join(halves)}))", 16 * len(halves))


_RECIPES: dict[str, Callable[[_Recipe], _Text]] = {
    "email": _email,
    "uuid": lambda r: _Text(_uuid(r.bits, f"lower(right(lpad(hex({r.bits(3)}), 16, '0'), 12))"), 36),
    "url": lambda r: _Text(
        f"concat('https://', {pick(words.DOMAINS, r.bits(0))}, '/', {pick(words.NOUNS, r.bits(1))}, '/', "
        f"cast({units(r.bits(1), 100_000)} as string))",
        39,
    ),
    "ip": lambda r: _Text(
        f"concat('10.', cast({units(r.bits(0), 256)} as string), '.', cast({units(r.bits(1), 256)} as string), '.', "
        f"cast({units(r.bits(2), 256)} as string))",
        14,
    ),
    "phone": lambda r: _Text(
        f"concat('+', cast({units(r.bits(0), 89)} + 10 as string), ' 555 ', {_number(r.bits(1), 10**7, 7)})", 15
    ),
    "zip": lambda r: _Text(_number(r.bits(0), 100_000, 5), 5),
    "city": lambda r: r.one_of(words.CITIES, r.bits(0)),
    "street": lambda r: _Text(
        f"concat(cast({units(r.bits(0), 200)} + 1 as string), ' ', {r.one_of(words.STREETS, r.bits(1)).text})", 17
    ),
    "state": lambda r: r.one_of(words.STATES, r.bits(0)),
    "currency": lambda r: r.one_of(words.CURRENCIES, r.bits(0)),
    "language": lambda r: r.one_of(words.LANGUAGES, r.bits(0)),
    "company": lambda r: r.one_of(words.COMPANIES, r.bits(0)),
    "color": lambda r: r.one_of(words.COLORS, r.bits(0)),
    "carrier": lambda r: r.one_of(words.CARRIERS, r.bits(0)),
    "sku": lambda r: _Text(f"concat('SKU-', {_number(r.bits(0), 10**6, 6)})", 10),
    "login": lambda r: _Text(f"concat({pick(words.LOGINS, r.person(0))}, {_number(r.person(2), 10_000, 4)})", 13),
    "first": lambda r: r.one_of(words.FIRST_NAMES, r.person(0)),
    "last": lambda r: r.one_of(words.LAST_NAMES, r.person(1)),
    "name": lambda r: _Text(_full_name(r.person, r.utf8), 21),
    "country": lambda r: r.one_of(words.COUNTRY_NAMES, r.bits(0)),
    "country_code": lambda r: r.one_of(words.COUNTRIES, r.bits(0)),
    "status": lambda r: r.one_of(words.STATUSES, r.bits(0)),
    "digest": _hex,
    "title": lambda r: _Text(f"concat({pick(words.ADJECTIVES, r.bits(0))}, ' ', {pick(words.NOUNS, r.bits(1))})", 16),
    "prose": _prose,
    "digits": _digits,
    "code": lambda r: _Text(_code(r.bits(0), _CODE_WIDTH), _CODE_WIDTH),
}
