"""Texts of patterns, and unique values of a form, one to one from numbers: patterns, lists, UUIDs, ULIDs, snowflakes.

In: the numbers of rows, from 0 on, and the milliseconds of their births. Out: Arrow arrays. Numbers are mixed first, so
that neighbours do not look alike. Rule sources: RFC 9562 (UUID), the ULID specification, and Twitter's snowflake: the
milliseconds, here since 1970, before 22 bits of a number.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod

import numpy as np
import pyarrow as pa

from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.arrays import HEX, Bytes, Hashes, Ints, fixed_width, hash_numbers, octets, uuid_text
from ticdc_emit.traffic.generate.column_options import ColumnOptions, pattern_parts

_LOWER = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_ALPHABETS = {"#": np.arange(48, 58, dtype=np.uint8), "?": _LOWER, "^": _LOWER - 32}
_AT_ONCE = {"#": 9, "?": 6, "^": 6}  # of one number of 31 bits
_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
_BLOCK = 1 << 31
_NODE_BITS = 48  # of a UUID or ULID, that hold the number
_SNOWFLAKE_BITS = 22


def patterned(pattern: str, count: int, take: Callable[[int], Ints]) -> pa.Array:
    """Return ``count`` texts of a pattern. ``take`` gets a limit of 31 bits, and returns numbers below it for the next
    placeholders.
    """
    parts = [(is_placeholder, text.encode()) for is_placeholder, text in pattern_parts(pattern)]
    rows = np.empty((count, sum(len(text) for _, text in parts)), np.uint8)
    start = 0
    for is_placeholder, text in parts:
        sign, end = chr(text[0]), start + len(text)
        if not is_placeholder:
            rows[:, start:end] = np.frombuffer(text, np.uint8)
        for at in range(start, end, _AT_ONCE[sign]) if is_placeholder else ():
            width, letters = min(_AT_ONCE[sign], end - at), _ALPHABETS[sign]
            numbers = take(len(letters) ** width)
            for place in reversed(range(at, at + width)):
                numbers, letter = np.divmod(numbers, len(letters))
                rows[:, place] = letters[letter]
        start = end
    return fixed_width(rows)


def capacity_of(options: ColumnOptions) -> int:
    """Return how many unique values the options of a column give."""
    if options.pattern:
        parts = [text for is_placeholder, text in pattern_parts(options.pattern) if is_placeholder]
        return prod(len(_ALPHABETS[text[0]]) ** len(text) for text in parts)
    return 1 << _NODE_BITS if options.identifier else len(options.labels)


def identifiers(column: Column, options: ColumnOptions, numbers: Ints, salt: int, millis: Ints) -> pa.Array:
    """Return the values of numbers below :func:`capacity_of`, as texts, bytes (a UUID in BINARY) or integers."""
    if options.identifier == "snowflake":
        return pa.array(millis << _SNOWFLAKE_BITS | numbers & (1 << _SNOWFLAKE_BITS) - 1)
    if options.identifier:
        return _of_16_bytes(column, options.identifier, numbers, salt, millis)
    rest = _mixed(numbers, capacity_of(options), salt)
    if options.labels:
        return pa.array(options.labels, pa.string()).take(pa.array(rest))

    def take(limit: int) -> Ints:
        nonlocal rest
        rest, taken = np.divmod(rest, limit)
        return taken

    return patterned(options.pattern, len(numbers), take)


def _mixed(numbers: Ints, count: int, salt: int) -> Ints:
    """Return the numbers below ``count`` in another order, within each full block of 2^31."""
    block = min(count, _BLOCK)
    factor = next(each for each in range(int(block * 0.618) | 1, block + 2) if gcd(each, block) == 1)
    start = numbers // block * block
    inside = ((numbers - start) * factor + salt % block) % block
    return np.where(start + block <= count, start + inside, numbers)


def _of_16_bytes(column: Column, kind: str, numbers: Ints, salt: int, millis: Ints) -> pa.Array:
    hashes = Hashes(hash_numbers(numbers), salt)
    node = numbers.view(np.uint64) * np.uint64(salt | 1) & np.uint64((1 << _NODE_BITS) - 1)  # odd, so one to one
    rows: Bytes = np.concatenate([octets(hashes(0).bits), octets(hashes(1).bits)], axis=1)
    rows[:, 10:] = octets(node)[:, 2:]
    if kind != "uuid4":
        rows[:, :6] = octets(millis.view(np.uint64))[:, 2:]
    if kind == "ulid":
        bits = np.pad(np.unpackbits(rows, axis=1), ((0, 0), (2, 0))).reshape(-1, 26, 5)
        return fixed_width(_CROCKFORD[bits @ np.array([16, 8, 4, 2, 1])])
    rows[:, 6], rows[:, 8] = rows[:, 6] & 15 | int(kind[-1]) << 4, rows[:, 8] & 63 | 128
    if column.is_binary:
        return fixed_width(rows, binary=True)
    return uuid_text(HEX[np.stack([rows >> 4, rows & 15], axis=2).reshape(-1, 32)])
