"""Random tables and rows of every type. A TIMESTAMP is drawn as an instant, and given as text of the zone."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from plain_reference import json_document, moment_text, time_text

COMMIT_TS = 450000000262144000


def _same(value: Any, zone: str) -> Any:
    return value


@dataclass(frozen=True)
class Kind:
    """One column type: its SQL, values as they are drawn, and ``plain`` as rows have them.

    ``key``: whether it can be part of a key. ``labels``: of ENUM and SET.
    """

    sql: str
    values: st.SearchStrategy[Any]
    plain: Callable[[Any, str], Any] = _same
    default: str = ""
    key: bool = True
    labels: tuple[str, ...] = ()


def _integer(name: str, bits: int, default: str = "5") -> list[Kind]:
    signed = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) | st.sampled_from([-1, 0, 63, 64, -64, -65])
    unsigned = st.integers(0, (1 << bits) - 1) | st.sampled_from([(1 << bits) - 1, 1 << bits - 1])
    return [Kind(name, signed, default=default), Kind(f"{name} unsigned", unsigned, default=default)]


def _bits(width: int) -> Kind:
    return Kind(f"bit({width})", st.integers(0, (1 << width) - 1), default="b'1'")


def _decimal(precision: int, scale: int, default: str) -> Kind:
    largest = 10**precision - 1

    def text(unscaled: int) -> str:
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        body = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
        return f"-{body}" if unscaled < 0 else body

    unscaled = st.integers(-largest, largest) | st.sampled_from([0, -128, 127, 128, -129, largest, -largest])
    values = unscaled.map(lambda number: text(max(-largest, min(largest, number))))
    return Kind(f"decimal({precision},{scale})", values, default=default)


def _labels(kind: str, elements: list[str]) -> Kind:
    quoted = ",".join("'" + element.replace("\\", "\\\\").replace("'", "''") + "'" for element in elements)
    one = st.sampled_from(elements)
    if kind == "set":
        one = st.sets(one).map(lambda chosen: ",".join(element for element in elements if element in chosen))
    return Kind(f"{kind}({quoted})", one, default=f"'{elements[0]}'", labels=tuple(elements))


_WORDS = st.text(st.sampled_from('ab"\\<>&\n\x00\x08\u2028é😀'), max_size=8)
_MICROS = st.integers(2 * 10**6, (1 << 31) * 10**6 - 1)
_SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


KINDS = [
    *_integer("tinyint", 8), *_integer("smallint", 16), *_integer("mediumint", 24), *_integer("int", 32),
    *_integer("bigint", 64, "6"),
    Kind("year", st.sampled_from([0, 1901, 2024, 2155]), default="2024"),
    _bits(1), _bits(20), _bits(64),
    Kind("float", _SINGLES, default="1.5"),
    Kind("double", _DOUBLES, default="1.5"),
    _decimal(10, 4, "1.5"), _decimal(5, 0, "3"), _decimal(38, 10, "0"), _decimal(65, 30, "0.1"),
    Kind("char(8)", _WORDS, default="'x'"), Kind("varchar(16)", _WORDS, default="'x<'"),
    Kind("text", _WORDS, key=False), Kind("longtext", _WORDS.map(lambda word: word * 40), key=False),
    Kind("binary(4)", st.binary(max_size=4), lambda value, zone: value.ljust(4, b"\0"), default="'x'"),
    Kind("varbinary(16)", st.binary(max_size=16), default="'x'"), Kind("blob", st.binary(max_size=9), key=False),
    Kind("date", st.dates().map(str) | st.sampled_from(["0000-00-00", "2024-00-00"]), default="'2020-01-01'"),
    Kind(
        "datetime(3)", st.integers(-62 * 10**12, 253 * 10**12).map(lambda ms: moment_text(ms * 1000, 3, None)),
        default="'2020-01-01 00:00:00.5'",
    ),
    Kind("timestamp(6)", _MICROS, lambda value, zone: moment_text(value, 6, zone)),
    Kind("time(2)", st.integers(-302039900, 302039900).map(lambda n: time_text(n * 10**4, 2)), default="'01:02:03'"),
    _labels("enum", ["a", "b'c", "<d>", "é,f", "x''y", "g\\h", "z"]), _labels("set", ["a", "b'c", "<d>", "é", "x''z"]),
    Kind(
        "json",
        st.dictionaries(st.text("ab1", max_size=2), st.integers(0, 9) | st.floats(0, 1) | _WORDS, max_size=3).map(
            json_document
        ),
        key=False,
    ),
    Kind("vector(3)", st.lists(_SINGLES, min_size=3, max_size=3), key=False),
]  # fmt: skip


@dataclass(frozen=True)
class RandomTable:
    """A CREATE TABLE and changes of the table, each an op (``c``, ``u``, ``d``) and an image.

    ``key``: the columns of its primary key; ``zone``: the changefeed's time zone.
    """

    schema: str
    table: str
    sql: str
    names: list[str]
    kinds: list[Kind]
    key: list[str]
    rows: list[tuple[str, dict[str, Any]]]
    zone: str

    def given(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row as the encoder takes it: TIMESTAMP as text of the changefeed's zone."""
        return {
            name: kind.plain(row[name], self.zone)
            if kind.sql.startswith("timestamp") and row[name] is not None
            else row[name]
            for name, kind in zip(self.names, self.kinds, strict=True)
        }

    def kind(self, name: str) -> Kind:
        return self.kinds[self.names.index(name)]


identifiers = st.text(
    st.sampled_from(string.ascii_letters + string.digits + "_ -.\"'\\<>&é中`"), min_size=1, max_size=6
)
zones = st.sampled_from(["UTC", "America/New_York", "Asia/Shanghai", "Europe/Berlin", "Australia/Lord_Howe"])


def quoted_name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


@st.composite
def random_tables(draw: st.DrawFn) -> RandomTable:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=7))
    names = [f"{draw(identifiers)}{place}" for place in range(len(kinds))]
    key, clauses, nullable = [], [], []
    keyed = draw(st.booleans())
    for name, kind in zip(names, kinds, strict=True):
        in_key = keyed and kind.key and (not key or draw(st.integers(0, 5)) == 0)
        if in_key:
            key.append(name)
        nullable.append(not in_key and draw(st.booleans()))
        default = f" default {kind.default}" if kind.default and draw(st.booleans()) else ""
        clauses.append(f"{quoted_name(name)} {kind.sql} {'null' if nullable[-1] else 'not null'}{default}")
    if key:
        clauses.append(f"primary key ({','.join(map(quoted_name, key))})")

    def row() -> dict[str, Any]:
        return {
            name: None if may and draw(st.integers(0, 3)) == 0 else draw(kind.values)
            for name, kind, may in zip(names, kinds, nullable, strict=True)
        }

    ops = draw(st.lists(st.sampled_from("cud"), min_size=1, max_size=8))
    schema, table = draw(identifiers).strip() + "s", draw(identifiers).strip() + "t"
    sql = f"create table {quoted_name(schema)}.{quoted_name(table)} ({','.join(clauses)})"
    return RandomTable(schema, table, sql, names, kinds, key, [(op, row()) for op in ops], draw(zones))
