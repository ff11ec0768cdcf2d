"""Generated numbers, text and JSON documents by the meaning of a column's name, as Arrow arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES, MOMENT_TYPES, STRING_TYPES, MySQLType, integer_range
from ticdc_emit.traffic.generate.arrays import (
    BASE_36,
    Bytes,
    Hashes,
    Ints,
    between,
    concat_texts,
    decimal_of,
    digits,
    fixed_width,
    hex_digits,
    integers,
    moment,
    native_type,
    octets,
    one_of,
    salt_of,
    units,
    uuid_text,
)

_LINES = files(__package__).joinpath("words.txt").read_text(encoding="utf-8").splitlines()
WORDS = {name: tuple(words.split("; ")) for name, words in (line.split(": ", 1) for line in _LINES)}
"""Lists of words by what they are, from ``words.txt``; their order affects the values."""

DOMAINS, COLORS = WORDS["domain"], WORDS["color"]
ADJECTIVES, NOUNS, VERBS = WORDS["adjective"], WORDS["noun"], WORDS["verb"]
_FRACTION = 6  # digits of a decimal that vary
_OPERAND = 1_000  # at most, of an integer from which a stored column is computed
_FLAGS = frozenset({"is", "has", "enabled", "active", "deleted", "newsletter", "bool", "flag", "verified"})
_AMOUNTS = frozenset({"amount", "balance", "total", "price", "cost", "salary", "revenue", "income", "value", "limit"})
RANGES = {
    "age": (18, 90), "quantity": (1, 20), "qty": (1, 20), "count": (0, 1000), "units": (1, 100), "rating": (1, 5),
    "stars": (1, 5), "score": (0, 100), "percent": (0, 100), "priority": (1, 5), "level": (1, 10), "line": (1, 99),
    "port": (1024, 65535), "month": (1, 12), "hour": (0, 23), "year": (1990, 2030), "k": (1, 100_000), "fee": (0, 20),
    "rate": (0, 1), "ratio": (0, 1), "discount": (0, 50), "weight": (0, 40), "latitude": (-90, 89), "lat": (-90, 89),
    "longitude": (-180, 179), "lon": (-180, 179), "lng": (-180, 179), "id": (1, 100_000), "price": (1, 500),
}  # fmt: skip


def integer(column: Column, bits: Hashes, *, is_operand: bool = False) -> pa.Array:
    """Return integers: flags, likely numbers for the column's name, or now and then an end of its range.
    ``is_operand``: small numbers instead, whose sums and products fit in a generated column.
    """
    low, high = integer_range(column.type, unsigned=column.unsigned)
    known = tokens(column.name)
    if column.type is MySQLType.TINY and (column.flen == 1 or set(known) & _FLAGS):
        numbers = units(bits(0), 2)
    elif named := _named_range(column, low, high):
        numbers = between(bits(0), *named)
    else:
        most = _OPERAND if is_operand else 1_000_000
        numbers = between(bits(0), max(low, -most), min(high, most))
        if not is_operand:
            numbers = _with_ends(numbers, low, min(high, (1 << 63) - 1), bits)
    return pa.array(numbers.astype(native_type(column).to_pandas_dtype(), copy=False))


def _with_ends(numbers: Ints, low: int, high: int, bits: Hashes) -> Ints:
    """Replace a 25th of the numbers by the ends of the range: the low one is even, the high one odd."""
    parity = bits.parity
    which = units(bits(1), 25 if parity is not None else 50)
    if parity is not None:
        return np.where(which == 0, np.where(parity == 0, low, high), numbers)
    return np.where(which == 0, low, np.where(which == 1, high, numbers))


def _named_range(column: Column, low: int, high: int) -> tuple[int, int] | None:
    """Return the range for the last known word of a name, within ``low`` to ``high``; ``None`` without one."""
    least, most = next((RANGES[token] for token in reversed(tokens(column.name)) if token in RANGES), (1, 0))
    least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def decimal(column: Column, bits: Hashes) -> pa.Array:
    """Return DECIMALs: amounts if the column's name is one, else numbers of either sign."""
    scale = column.fraction_digits
    varied = min(scale, _FRACTION)
    greatest = 10 ** (column.flen - scale) - 1
    least = 0 if column.unsigned else -greatest
    is_amount = bool(set(tokens(column.name)) & _AMOUNTS)
    common = 10_000 if is_amount else 1_000_000
    usual = max(least, 0 if is_amount else -common), min(greatest, common)
    low, high = _named_range(column, least, greatest) or usual
    unscaled = between(bits(0), low * 10**varied, max(high * 10**varied, 10**varied - 1))
    return decimal_of(column, unscaled, varied)


def binary_float(column: Column, bits: Hashes) -> pa.Array:
    """Return hundredths with so few digits that the shortest text of the float has the same digits."""
    most, places = 9_999 if column.type is MySQLType.FLOAT else 999_999, 2
    if column.decimal >= 0:
        most, places = min(most, 10 ** max(column.flen - column.decimal, 0) - 1), min(column.decimal, 2)
    least = 0 if column.unsigned else -most
    low, high = _named_range(column, least, most) or (least, most)
    hundredths = between(bits(0), low * 10**places, max(high * 10**places, 10**places - 1))
    return pa.array((hundredths / 10**places).astype(native_type(column).to_pandas_dtype()))


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
_GROUPS = tuple(f"{salt_of('digits', n) % 10**11:011}" for n in range(128))  # of the columns that sysbench fills
_THOUSAND, _TEN_THOUSAND = (tuple(map(str, range(count))) for count in (1_000, 10_000))
_FOUR_DIGITS = tuple(f"{number:04}" for number in range(10_000))


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


def realistic_text(column: Column, bits: Hashes, person: Hashes) -> pa.Array:
    """Return text that fits the column. ``person``: hashes that all columns of a row share, for name and email. Text of
    hashes with a parity differs between two neighbouring steps. If words would be cut, a code is used.
    """
    room = column.flen
    known, recipe = meaning(column), _Recipe(bits, person, column.charset in _UTF8, room)
    text = _RECIPES[known](recipe) if known in _RECIPES else recipe.words(known)
    if room < 0 or text.longest <= room:
        return text.values
    if bits.parity is not None and room:
        return _code(bits, min(room, _CODE_WIDTH))
    return pc.utf8_rtrim(pc.utf8_slice_codeunits(text.values, 0, room), " ")


def _unique_text(column: Column, number: Ints, width: int, person: Hashes, *, whole: bool) -> pa.Array:
    """Return text that encodes ``number``. ``whole``: an index covers all of it, not only ``width``."""
    known, room = meaning(column), column.flen if column.flen > 0 else 255
    if whole and known == "uuid" and room >= 36:
        return _uuid(person, number.view(np.uint64))
    if whole and known == "email" and room >= 44:
        return concat_texts(_login(person, "."), integers(number), _at_domain(person))
    if whole and known == "login" and room >= 30:
        return concat_texts(_login(person), integers(number))
    if whole and known == "name" and room >= 44:
        return concat_texts(_full_name(person, column.charset in _UTF8), " ", integers(number))
    code = fixed_width(_BASE_36_LOWER[_in_base_36(number, width)])
    return concat_texts("SKU-", code) if whole and known == "sku" and room >= width + 4 else code


def document(column: Column, bits: Hashes) -> pa.Array:
    """Return JSON documents as TiDB prints them: keys in order, a blank after commas and colons."""
    if "tags" in tokens(column.name):
        places = units(bits(0), len(COLORS)) * len(NOUNS) + units(bits(1), len(NOUNS))
        return one_of(places, COLORS, NOUNS, text='["{}", "{}"]')
    head = (units(bits(0), len(ADJECTIVES)) * len(NOUNS) + units(bits(1), len(NOUNS))) * 9 + units(bits(2), 9)
    words = one_of(head, ADJECTIVES, NOUNS, _THOUSAND[:9], text='"product": "{} {}", "tags": ["web", "v{}"], ')
    flags = one_of(units(bits(3), 2), ("true", "false"), text='{{"ok": {}, ')
    return concat_texts(flags, words, one_of(units(bits(3), 1_000, 16), _THOUSAND, text='"units": {}}}'))


class _Text(NamedTuple):
    """Texts and the length of the longest possible one in characters."""

    values: pa.Array
    longest: int


class _Recipe(NamedTuple):
    bits: Hashes
    person: Hashes
    utf8: bool
    room: int

    def words(self, listed: str, of: Hashes | None = None, nth: int = 0) -> _Text:
        usable = _ascii(WORDS[listed], self.utf8)
        return _Text(one_of(units((of or self.bits)(nth), len(usable)), usable), max(map(len, usable)))


def _ascii(listed: tuple[str, ...], utf8: bool) -> tuple[str, ...]:
    return listed if utf8 else tuple(word for word in listed if word.isascii())


def _full_name(person: Hashes, utf8: bool) -> pa.Array:
    first, last = (_ascii(WORDS[each], utf8) for each in ("first", "last"))
    places = units(person(0), len(first)) * len(last) + units(person(1), len(last))
    return one_of(places, first, last, text="{} {}")


def _login(person: Hashes, end: str = "") -> pa.Array:
    return one_of(units(person(0), len(WORDS["login"])), WORDS["login"], text="{}" + end)


def _at_domain(person: Hashes) -> pa.Array:
    return one_of(units(person(3), len(DOMAINS)), DOMAINS, text="@{}")


def _in_base_36(numbers: Ints, width: int) -> Ints:
    places = np.empty((len(numbers), width), np.int64)
    for place in reversed(range(width)):
        numbers, places[:, place] = np.divmod(numbers, 36)
    return places


_BASE_36_LOWER = np.frombuffer(BASE_36.tobytes().lower(), np.uint8)


def _code(bits: Hashes, width: int) -> pa.Array:
    return fixed_width(BASE_36[_in_base_36(units(bits(0), 36**width), width)])


def _uuid(bits: Hashes, last: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> pa.Array:
    head, tail = hex_digits(bits(2).bits), hex_digits(last)
    rows = np.empty((len(head), 32), np.uint8)
    rows[:, :12], rows[:, 12], rows[:, 13:16] = head[:, :12], ord("4"), head[:, 12:15]
    rows[:, 16], rows[:, 17:20], rows[:, 20:] = ord("a"), head[:, 13:], tail[:, 4:]
    return uuid_text(rows)


def _number(numbers: Ints, width: int) -> pa.Array:
    return fixed_width(digits(numbers, width))


def _prose(recipe: _Recipe) -> _Text:
    one, two = recipe.bits(0), recipe.bits(1)
    places = units(one, len(ADJECTIVES)) * len(NOUNS) + units(one, len(NOUNS), 16)
    start = one_of(places * len(VERBS) + units(one, len(VERBS), 24), ADJECTIVES, NOUNS, VERBS, text="the {} {} {}")
    if 0 <= recipe.room < 60:
        return _Text(start, 40)
    more = units(two, len(NOUNS)) * len(VERBS) + units(two, len(VERBS), 16)
    return _Text(concat_texts(start, one_of(more, NOUNS, VERBS, text=", then the {} {}")), 76)


def _email(recipe: _Recipe) -> _Text:
    number = one_of(units(recipe.person(2), 10_000), _TEN_THOUSAND)
    return _Text(concat_texts(_login(recipe.person, "."), number, _at_domain(recipe.person)), 28)


def _url(recipe: _Recipe) -> _Text:
    places = units(recipe.bits(0), len(DOMAINS)) * len(NOUNS) + units(recipe.bits(1), len(NOUNS))
    head = one_of(places, DOMAINS, NOUNS, text="https://{}/{}/")
    return _Text(concat_texts(head, integers(units(recipe.bits(1), 100_000, 16))), 39)


def _address(recipe: _Recipe) -> _Text:
    bits = recipe.bits
    head = one_of(units(bits(0), 256), _THOUSAND[:256], text="10.{}.")
    tail = one_of(units(bits(1), 1 << 16), _THOUSAND[:256], _THOUSAND[:256], text="{}.{}")
    return _Text(concat_texts(head, tail), 14)


def _phone(recipe: _Recipe) -> _Text:
    rows = np.empty((len(recipe.bits(0).bits), 15), np.uint8)
    rows[:] = np.frombuffer(b"+00 555 0000000", np.uint8)
    rows[:, 1:3], rows[:, 8:] = digits(units(recipe.bits(0), 89) + 10, 2), digits(units(recipe.bits(1), 10**7), 7)
    return _Text(fixed_width(rows), 15)


def _street(recipe: _Recipe) -> _Text:
    streets = _ascii(WORDS["street"], recipe.utf8)
    places = units(recipe.bits(0), 200) * len(streets) + units(recipe.bits(1), len(streets))
    return _Text(one_of(places, _THOUSAND[1:201], streets, text="{} {}"), 17)


def _digits(recipe: _Recipe) -> _Text:
    """Groups of eleven digits with dashes, as sysbench fills its columns c and pad."""
    groups = max(1, min(10, (recipe.room if recipe.room > 0 else 120) // 12))
    parts = [
        one_of(units(recipe.bits(n // 4), len(_GROUPS), n % 4 * 8), _GROUPS, text="{}" if n == 0 else "-{}")
        for n in range(groups)
    ]
    return _Text(parts[0] if groups == 1 else concat_texts(*parts), 12 * groups - 1)


def _hex(recipe: _Recipe) -> _Text:
    width = min(recipe.room if recipe.room > 0 else 32, 32)
    halves = [hex_digits(recipe.bits(n).bits) for n in range(1 + (width > 16))]
    return _Text(fixed_width(np.concatenate(halves, axis=1)), 16 * len(halves))


def _title(recipe: _Recipe) -> _Text:
    places = units(recipe.bits(0), len(ADJECTIVES)) * len(NOUNS) + units(recipe.bits(1), len(NOUNS))
    return _Text(one_of(places, ADJECTIVES, NOUNS, text="{} {}"), 16)


_RECIPES: dict[str, Callable[[_Recipe], _Text]] = {
    "email": _email,
    "uuid": lambda r: _Text(_uuid(r.bits, r.bits(3).bits), 36),
    "url": _url,
    "ip": _address,
    "phone": _phone,
    "zip": lambda r: _Text(_number(units(r.bits(0), 100_000), 5), 5),
    "street": _street,
    "sku": lambda r: _Text(concat_texts("SKU-", _number(units(r.bits(0), 10**6), 6)), 10),
    "login": lambda r: _Text(concat_texts(_login(r.person), one_of(units(r.person(2), 10_000), _FOUR_DIGITS)), 13),
    "first": lambda r: r.words("first", r.person),
    "last": lambda r: r.words("last", r.person, 1),
    "name": lambda r: _Text(_full_name(r.person, r.utf8), 21),
    "digest": _hex,
    "title": _title,
    "prose": _prose,
    "digits": _digits,
    "code": lambda r: _Text(_code(r.bits, _CODE_WIDTH), _CODE_WIDTH),
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


def from_number(column: Column, number: Ints, width: int | None, person: Hashes, *, is_digit: bool = False) -> pa.Array:
    """Return values that encode numbers from 0 on, one to one, in ``width`` characters or bytes, by default in all."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return pa.array((number + 1).astype(native_type(column).to_pandas_dtype()))
    if kind is MySQLType.NEWDECIMAL:
        return decimal_of(column, number + 1, 0)
    if kind is MySQLType.BIT:
        return pa.array(number)
    if kind is MySQLType.DOUBLE:
        return pa.array((number + 1).astype(np.float64))
    if kind in MOMENT_TYPES:
        return moment(column, (number + _FIRST_SECOND) * 1_000_000)
    if kind is MySQLType.DATE:
        return pa.array(number.astype(np.int32)).view(pa.date32())
    text_width = _text_width(column, width)
    if column.is_binary:
        return fixed_width(padded(column, octets(number.view(np.uint64))[:, 8 - text_width :]), binary=True)
    return _unique_text(column, number, text_width, person, whole=width is None and not is_digit)


def padded(column: Column, rows: Bytes) -> Bytes:
    """Pad the bytes of a BINARY with zero bytes, as TiDB stores it."""
    missing = column.flen - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing))) if column.type is MySQLType.STRING and missing > 0 else rows
