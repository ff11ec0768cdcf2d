"""Generated text, numbers and JSON documents by the meaning of a column's name, as Spark SQL.

In: a column and hashes. Out: SQL of a likely value: names, addresses, amounts, codes. The lists of words are short,
because they are part of every plan; their order affects the output.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES, MOMENT_TYPES, STRING_TYPES, MySQLType, integer_range
from ticdc_emit.traffic.generate.sql import (
    Alternating,
    between,
    hashed,
    moment,
    native_type,
    padded,
    pick,
    salt_of,
    scaled,
    units,
)

__all__ = [
    "ADJECTIVES",
    "CARRIERS",
    "CITIES",
    "COLORS",
    "COMPANIES",
    "COUNTRIES",
    "COUNTRY_NAMES",
    "CURRENCIES",
    "DOMAINS",
    "FIRST_NAMES",
    "LANGUAGES",
    "LASTING",
    "LAST_NAMES",
    "LOGINS",
    "NOUNS",
    "RANGES",
    "STATES",
    "STATUSES",
    "STREETS",
    "VERBS",
    "Bits",
    "binary_float",
    "capacity",
    "decimal",
    "document",
    "from_number",
    "integer",
    "meaning",
    "realistic_text",
    "tokens",
    "unique_text",
]


FIRST_NAMES = (
    "Ada", "Grace", "Linus", "Zoë", "Alan", "Mei", "José", "Fatima", "Barbara", "Edsger", "Katherine", "Dennis",
    "Radia", "Søren", "Yuki", "Priya", "李娜", "Omar", "Ingrid", "Kofi", "Frances", "Tim", "Hedy", "Oleksandr",
)  # fmt: skip
LAST_NAMES = (
    "Lovelace", "Hopper", "Turing", "O'Neil", "García", "Chen", "Liskov", "Dijkstra", "Johnson", "Ritchie", "Perlman",
    "Kierkegaard", "Tanaka", "Sharma", "王", "Haddad", "Bergström", "Mensah", "Allen", "Berners-Lee", "Lamarr",
    "Шевченко",
)  # fmt: skip
LOGINS = (
    "ada", "grace", "linus", "zoe", "alan", "mei", "jose", "fatima", "barbara", "edsger", "katherine", "dennis",
    "radia", "soren", "yuki", "priya", "lina", "omar", "ingrid", "kofi", "frances", "tim", "hedy", "oleksandr",
)  # fmt: skip
CITIES = (
    "Lisbon", "Osaka", "Nairobi", "São Paulo", "Zürich", "Boston", "Chennai", "Kraków", "Cairo", "Auckland", "Montréal",
    "Hamburg", "Bogotá", "Seoul", "Tromsø", "Leeds",
)  # fmt: skip
STREETS = (
    "High Street",
    "Mill Lane",
    "Park Avenue",
    "Station Road",
    "Rue de Rivoli",
    "Hauptstraße",
    "King's Road",
    "Elm St.",
)
STATES = ("CA", "NY", "TX", "WA", "BY", "NSW", "ON", "SP")
COUNTRIES = ("PT", "JP", "KE", "BR", "CH", "US", "IN", "PL", "EG", "NZ", "CA", "DE", "CO", "KR", "NO", "GB")
COUNTRY_NAMES = (
    "Portugal", "Japan", "Kenya", "Brazil", "Switzerland", "United States", "India", "Poland", "Egypt", "New Zealand",
    "Canada", "Germany", "Colombia", "South Korea", "Norway", "United Kingdom",
)  # fmt: skip
CURRENCIES = ("EUR", "USD", "JPY", "GBP", "CHF", "BRL", "INR", "KRW")
LANGUAGES = ("en", "pt", "ja", "de", "fr", "pl", "ko", "sw")
DOMAINS = ("example.com", "example.org", "example.net", "mail.example")
COMPANIES = ("Acme", "Globex", "Initech", "Umbrella", "Hooli", "Stark & Co", "Wayne Ltd", "Tyrell")
CARRIERS = ("DHL", "UPS", "FedEx", "Post", "GLS", "DPD")
COLORS = ("red", "green", "blue", "black", "white", "amber", "teal", "plum")
STATUSES = ("new", "active", "paused", "closed")
ADJECTIVES = (
    "small",
    "quick",
    "silent",
    "bright",
    "heavy",
    "plain",
    "late",
    "curious",
    "steady",
    "rare",
    "warm",
    "open",
)
NOUNS = (
    "lamp",
    "kettle",
    "bicycle",
    "ledger",
    "river",
    "window",
    "parcel",
    "engine",
    "garden",
    "letter",
    "harbour",
    "clock",
)
VERBS = ("arrived", "was checked", "waits", "changed hands", "was returned", "is on its way", "broke", "was repaired")


_FRACTION = 6  # digits of a decimal that vary
_FLAGS = frozenset({"is", "has", "enabled", "active", "deleted", "newsletter", "bool", "flag", "verified"})
_AMOUNTS = frozenset({"amount", "balance", "total", "price", "cost", "salary", "revenue", "income", "value", "limit"})
RANGES = {
    "age": (18, 90), "quantity": (1, 20), "qty": (1, 20), "count": (0, 1000), "units": (1, 100), "rating": (1, 5),
    "stars": (1, 5), "score": (0, 100), "percent": (0, 100), "priority": (1, 5), "level": (1, 10), "line": (1, 99),
    "port": (1024, 65535), "month": (1, 12), "hour": (0, 23), "year": (1990, 2030), "k": (1, 100_000), "fee": (0, 20),
    "rate": (0, 1), "ratio": (0, 1), "discount": (0, 50), "weight": (0, 40), "latitude": (-90, 89), "lat": (-90, 89),
    "longitude": (-180, 179), "lon": (-180, 179), "lng": (-180, 179), "id": (1, 100_000), "price": (1, 500),
}  # fmt: skip


def integer(column: Column, bits: Bits) -> str:
    """Return SQL of an integer: a flag, a likely number for the column's name, or now and then an end of its range."""
    low, high = integer_range(column.type, unsigned=column.unsigned)
    known = tokens(column.name)
    if column.type is MySQLType.TINY and (column.flen == 1 or set(known) & _FLAGS):
        return units(bits(0), 2)
    if named := _named_range(column, low, high):
        return between(bits(0), *named)
    common = between(bits(0), max(low, -1_000_000), min(high, 1_000_000))
    top = min(high, (1 << 63) - 1)  # the greatest value of a Spark long
    bottom = "(-9223372036854775807L - 1L)" if low == -(1 << 63) else f"{low}L"
    if isinstance(alternating := bits(0), Alternating):  # the bottom is even, and the top is odd
        end = f"if({alternating.parity} = 0L, {bottom}, {top}L)"
        return f"if({units(bits(1), 25)} = 0L, {end}, {common})"
    return f"(case {units(bits(1), 50)} when 0L then {bottom} when 1L then {top}L else {common} end)"


def _named_range(column: Column, low: int, high: int) -> tuple[int, int] | None:
    """Return the range for a word of the column's name, limited to ``low`` to ``high``; ``None`` if there is none.

    The last known word decides, as in ``birth_year``.
    """
    least, most = next((RANGES[token] for token in reversed(tokens(column.name)) if token in RANGES), (1, 0))
    least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def decimal(column: Column, bits: Bits) -> str:
    """Return SQL of a DECIMAL: an amount if the column's name is one, else a number of either sign."""
    scale = max(column.decimal, 0)
    varied = min(scale, _FRACTION)
    greatest = 10 ** (column.flen - scale) - 1
    least = 0 if column.unsigned else -greatest
    is_amount = bool(set(tokens(column.name)) & _AMOUNTS)
    common = 10_000 if is_amount else 1_000_000
    usual = max(least, 0 if is_amount else -common), min(greatest, common)
    low, high = _named_range(column, least, greatest) or usual
    unscaled = between(bits(0), low * 10**varied, max(high * 10**varied, 10**varied - 1))
    return scaled(column, unscaled, varied)


def binary_float(column: Column, bits: Bits) -> str:
    """Return hundredths with so few digits that the shortest text of the float has the same digits."""
    most, places = 9_999 if column.type is MySQLType.FLOAT else 999_999, 2
    if column.decimal >= 0:
        most, places = min(most, 10 ** max(column.flen - column.decimal, 0) - 1), min(column.decimal, 2)
    least = 0 if column.unsigned else -most
    low, high = _named_range(column, least, most) or (least, most)
    hundredths = between(bits(0), low * 10**places, max(high * 10**places, 10**places - 1))
    return f"cast(cast({hundredths} as double) / {10**places}D as {native_type(column)})"


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
    login = pick(LOGINS, person(0))
    if known == "email" and room >= 44:
        return f"concat({login}, '.', cast({number} as string), '@', {pick(DOMAINS, person(3))})"
    if known == "login" and room >= 30:
        return f"concat({login}, cast({number} as string))"
    if known == "name" and room >= 44:
        return f"concat({_full_name(person, column.charset in _UTF8)}, ' ', cast({number} as string))"
    return f"concat('SKU-', {code})" if known == "sku" and room >= width + 4 else code


def document(column: Column, bits: Bits) -> str:
    """Return a JSON document as TiDB prints it: keys in order, a blank after commas and colons."""
    if "tags" in tokens(column.name):
        return f"""concat('["', {pick(COLORS, bits(0))}, '", "', {pick(NOUNS, bits(1))}, '"]')"""
    return (
        f"""concat('{{"ok": ', if({units(bits(3), 2)} = 0, 'true', 'false'), ', "product": "', """
        f"""{pick(ADJECTIVES, bits(0))}, ' ', {pick(NOUNS, bits(1))}, '", "tags": ["web", "v', """
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
    first, last = (_ascii(each, utf8) for each in (FIRST_NAMES, LAST_NAMES))
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
        f"concat('the ', {pick(ADJECTIVES, one)}, ' ', {pick(NOUNS, f'shiftright({one}, 16)')}, ' ', "
        f"{pick(VERBS, f'shiftright({one}, 32)')}"
    )
    more = f"', then the ', {pick(NOUNS, two)}, ' ', {pick(VERBS, f'shiftright({two}, 16)')}"
    if 0 <= recipe.room < 60:
        return _Text(f"{sentence})", 40)
    return _Text(f"{sentence}, {more})", 76)


def _email(recipe: _Recipe) -> _Text:
    number = f"cast({units(recipe.person(2), 10_000)} as string)"
    text = f"concat({pick(LOGINS, recipe.person(0))}, '.', {number}, '@', {pick(DOMAINS, recipe.person(3))})"
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
        f"concat('https://', {pick(DOMAINS, r.bits(0))}, '/', {pick(NOUNS, r.bits(1))}, '/', "
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
    "city": lambda r: r.one_of(CITIES, r.bits(0)),
    "street": lambda r: _Text(
        f"concat(cast({units(r.bits(0), 200)} + 1 as string), ' ', {r.one_of(STREETS, r.bits(1)).text})", 17
    ),
    "state": lambda r: r.one_of(STATES, r.bits(0)),
    "currency": lambda r: r.one_of(CURRENCIES, r.bits(0)),
    "language": lambda r: r.one_of(LANGUAGES, r.bits(0)),
    "company": lambda r: r.one_of(COMPANIES, r.bits(0)),
    "color": lambda r: r.one_of(COLORS, r.bits(0)),
    "carrier": lambda r: r.one_of(CARRIERS, r.bits(0)),
    "sku": lambda r: _Text(f"concat('SKU-', {_number(r.bits(0), 10**6, 6)})", 10),
    "login": lambda r: _Text(f"concat({pick(LOGINS, r.person(0))}, {_number(r.person(2), 10_000, 4)})", 13),
    "first": lambda r: r.one_of(FIRST_NAMES, r.person(0)),
    "last": lambda r: r.one_of(LAST_NAMES, r.person(1)),
    "name": lambda r: _Text(_full_name(r.person, r.utf8), 21),
    "country": lambda r: r.one_of(COUNTRY_NAMES, r.bits(0)),
    "country_code": lambda r: r.one_of(COUNTRIES, r.bits(0)),
    "status": lambda r: r.one_of(STATUSES, r.bits(0)),
    "digest": _hex,
    "title": lambda r: _Text(f"concat({pick(ADJECTIVES, r.bits(0))}, ' ', {pick(NOUNS, r.bits(1))})", 16),
    "prose": _prose,
    "digits": _digits,
    "code": lambda r: _Text(_code(r.bits(0), _CODE_WIDTH), _CODE_WIDTH),
}


_FIRST_SECOND = 1_704_067_200  # 2024
_TEXT_WIDTH, _BINARY_WIDTH = 12, 8


def capacity(column: Column, prefix: int | None = None) -> int:
    """Return how many numbers a column can encode; 0 if it cannot."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return integer_range(kind, unsigned=column.unsigned)[1] + 1
    if kind is MySQLType.NEWDECIMAL:
        return int(10 ** min(column.flen - column.decimal, 18))
    if kind in STRING_TYPES:
        width = _text_width(column, prefix)
        return int(256**width if column.is_binary else 36**width)
    if kind is MySQLType.BIT:
        return 1 << max(column.flen, 1)
    if kind in MOMENT_TYPES:
        return 400_000_000  # seconds until 2036
    if kind is MySQLType.DATE:
        return 2_000_000
    if kind is MySQLType.DOUBLE:
        return 1 << 53
    return 0


def _text_width(column: Column, prefix: int | None) -> int:
    """Return the number of characters (bytes in a binary column) that encode a number."""
    limits = [limit for limit in (column.flen, prefix) if limit is not None and limit > 0]
    return min([_BINARY_WIDTH if column.is_binary else _TEXT_WIDTH, *limits])


def from_number(
    column: Column, seed_of: tuple[object, ...], number: str, width: int | None, *, digit: bool = False
) -> str:
    """Return the value that encodes a number (bigint, from 0 on): different for different numbers, equal for equal
    ones.

    ``width``: the number of characters or bytes of a text that encode it, if not all. ``digit``: the number is small.
    """
    kind = column.type
    if kind in INTEGER_TYPES:
        return f"cast({number} + 1L as {native_type(column)})"
    if kind is MySQLType.NEWDECIMAL:
        return scaled(column, f"({number} + 1L)", 0)
    if kind is MySQLType.BIT:
        return number
    if kind is MySQLType.DOUBLE:
        return f"cast({number} + 1L as double)"
    if kind in MOMENT_TYPES:
        return moment(column, f"(({number} + {_FIRST_SECOND}L) * 1000000L)")
    if kind is MySQLType.DATE:
        return f"date_add(date'1970-01-01', cast({number} as int))"
    text_width = _text_width(column, width)
    if column.is_binary:
        return padded(column, f"unhex(lpad(hex({number}), {2 * text_width}, '0'))", text_width)

    def person(nth: int) -> str:
        return hashed(salt_of(*seed_of) + nth, number)

    return unique_text(column, number, text_width, person, whole=width is None and not digit)
