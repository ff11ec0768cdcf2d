"""A table of another system as TiDB's ``CREATE TABLE``: its columns, its key, and what the translation assumed.

Rule source: pingcap/tidb ``pkg/meta/model/table.go`` (comments), ``pkg/ddl/index.go`` (``getIndexColumnLength``: 3072
bytes of a key), and what :mod:`ticdc_emit.schema` refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

from ticdc_emit.errors import ConfigError, DdlError, MissingColumnError, SchemaError, UnsupportedTypeError, shown
from ticdc_emit.hints import did_you_mean, names
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.columns import MAX_COMMENT, MAX_VARCHAR_BYTES, build_type
from ticdc_emit.sql.charsets import max_bytes_per_char
from ticdc_emit.sql.nodes.statements import CreateTable
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.types import STRING_TYPES, MySQLType
from ticdc_emit.sql.words import quoted, string_literal, to_lower

_MAX_TABLE_COMMENT = 2048
MAX_KEY_BYTES = 3072
"""TiDB's default of ``max-index-length``: all columns of a key together, a character as its longest form."""

_CHARSET = "utf8mb4", "utf8mb4_bin"
CHARACTER_BYTES = max_bytes_per_char(_CHARSET[0])

_OPEN = re.compile(r"^(TINY|MEDIUM|LONG)?(TEXT|BLOB)\b", re.IGNORECASE)
_TEXT_TYPE = re.compile(r"^((TINY|MEDIUM|LONG)?TEXT|(VAR)?CHAR)\b(\(\d+\))?", re.IGNORECASE)
_BYTES_TYPE = re.compile(r"^((TINY|MEDIUM|LONG)?BLOB|(VAR)?BINARY)\b(\(\d+\))?", re.IGNORECASE)
_FIXED_BYTES = {
    MySQLType.TINY: 1,
    MySQLType.SHORT: 2,
    MySQLType.INT24: 3,
    MySQLType.LONG: 4,
    MySQLType.LONGLONG: 8,
    MySQLType.FLOAT: 4,
    MySQLType.DOUBLE: 8,
    MySQLType.YEAR: 1,
    MySQLType.DATE: 3,
    MySQLType.DURATION: 3,
    MySQLType.DATETIME: 8,
    MySQLType.TIMESTAMP: 4,
    MySQLType.BIT: 8,
}
"""What a value takes in a key, in bytes."""


class TypeChoice(NamedTuple):
    """``text``: TiDB's type. ``assumption``: the end of a sentence about the column, "" where values are the same."""

    text: str
    assumption: str = ""


ONLY_NULLS = "has no type, only NULLs, so it is LONGTEXT."
MICROSECONDS = "has no more than six fraction digits in TiDB; values with more are refused."
KEEPS_SPACES = "keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR."
JSON_TEXT = "is JSON, in which decimals, times and bytes are text."


CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""The metadata of a field that Spark reads as string, with its type in the table: ``varchar(20)``."""

_LENGTH = re.compile(r"(?:var)?char\((\d+)\)", re.IGNORECASE)
LONGEST_VARCHAR = MAX_VARCHAR_BYTES // CHARACTER_BYTES
"""Characters of a VARCHAR of utf8mb4."""


def char_or_varchar(text: str) -> TypeChoice | None:
    """Return the type of a field with this :data:`CHAR_VARCHAR`; ``None`` for another text."""
    length = _LENGTH.fullmatch(text)
    return None if length is None else text_of_length(int(length[1]), is_char=text.lower().startswith("char"))


def text_of_length(length: int, *, is_char: bool) -> TypeChoice:
    """Return the type of text that has at most so many characters. ``is_char``: padded with spaces."""
    if length > LONGEST_VARCHAR:
        return TypeChoice("LONGTEXT")
    return TypeChoice(f"VARCHAR({length})", KEEPS_SPACES if is_char else "")


def moment_type(digits: int, *, is_instant: bool) -> TypeChoice:
    """Return the type of a timestamp with so many fraction digits. ``is_instant``: its values have a time zone."""
    precision = f"({digits})" if digits else ""
    if not is_instant:
        return TypeChoice(f"DATETIME{precision}")
    return TypeChoice(
        f"DATETIME{precision}",
        f"is DATETIME{precision}: an instant is written as the wall clock of the changefeed's time zone. "
        f"TIMESTAMP{precision} would hold only the years 1970 to 2038.",
    )


def time_span_type(digits: int) -> TypeChoice:
    kind = f"TIME({digits})" if digits else "TIME"
    return TypeChoice(kind, f"is {kind}, which holds at most 838:59:59; longer values are refused.")


def no_default(shown: str) -> str:
    return f"has no default in TiDB, instead of {shown}."


def unsupported(kind: str, cause: str, remedy: str, column: str, table: str | None) -> UnsupportedTypeError:
    message = f"column `{column}` is {kind}, but {cause}"
    return UnsupportedTypeError(message, remedy=f"{remedy}, or leave the column out", table=table, column=column)


def keys_without_text(kind: str, column: str, table: str | None) -> UnsupportedTypeError:
    cause = "the keys of a JSON object are text, not bytes or nested values"
    return unsupported(kind, cause, "Cast the keys to string first", column, table)


def equal_fields(kind: str, column: str, table: str | None) -> UnsupportedTypeError:
    return unsupported(kind, "two of its fields have the same name", "Rename one of them first", column, table)


def own_types(types: Mapping[str, str] | None, columns: Sequence[str], table: str) -> Mapping[str, str]:
    """Return TiDB's types that the caller chose, by column. Raises ``ConfigError`` and ``MissingColumnError``."""
    if not isinstance(types or {}, Mapping):
        raise ConfigError(
            f"{shown(types)} does not give types by column", remedy="Give {column: type}", option="types", table=table
        )
    for column in types or {}:
        if column not in columns:
            raise MissingColumnError(
                "types= names a column that the table does not have",
                remedy=f"{did_you_mean(column, columns)}It has: {', '.join(columns)}",
                table=table,
                column=column,
            )
    return types or {}


@dataclass(frozen=True)
class SourceColumn:
    """A column. ``type``: TiDB's type text, such as ``DECIMAL(10,2)``. ``default``: its text in TiDB's SQL, ``None``
    for none. ``generated``: an expression in parentheses, and VIRTUAL or STORED. ``assumption``: as in ``TypeChoice``.
    """

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str = ""
    auto_increment: bool = False
    generated: str = ""
    assumption: str = ""

    def definition(self) -> str:
        """Return the column as in CREATE TABLE and in ADD COLUMN."""
        parts = [quoted(self.name), self.type]
        if self.generated:
            parts.append(f"GENERATED ALWAYS AS {self.generated}")
        if not self.nullable:
            parts.append("NOT NULL")
        if self.auto_increment:
            parts.append("AUTO_INCREMENT")
        elif self.default is not None:
            parts.append(f"DEFAULT {self.default}")
        if self.comment:
            parts.append(f"COMMENT {string_literal(self.comment[:MAX_COMMENT])}")
        return " ".join(parts)


@dataclass(frozen=True)
class SourceTable:
    """A table that TiDB accepts; make it with :meth:`of`. ``keys``: the columns of the primary key, () for none.
    ``unique``: further unique keys. ``assumptions``: sentences, those of the columns first.
    """

    schema: str
    name: str
    columns: tuple[SourceColumn, ...]
    keys: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    comment: str = ""
    assumptions: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        schema: str,
        name: str,
        columns: Iterable[SourceColumn],
        keys: str | Iterable[str] = (),
        *,
        unique: Iterable[str | Iterable[str]] = (),
        comment: str = "",
        assumptions: Iterable[str] = (),
    ) -> SourceTable:
        """Return the table with its key: the key's columns are NOT NULL, its text VARCHAR, its bytes VARBINARY.

        Raises :class:`SchemaError`, with the column, for what TiDB refuses; ``MissingColumnError``.
        """
        given = tuple(columns)
        if not given:
            raise SchemaError(
                f"{schema}.{name} needs at least one column", remedy="Give them", table=f"{schema}.{name}"
            )
        uncounted = tuple(replace(column, auto_increment=False) for column in given)
        cls(schema, name, uncounted, comment=comment)._check_statement()  # before keys, which need known columns
        table = cls(schema, name, given, names(keys, "keys"), tuple(map(names, unique)), comment)
        own = {to_lower(column.name): column.name for column in table.columns}
        table = replace(
            table,
            keys=tuple(table._key_column(own, key) for key in table.keys),
            unique=tuple(tuple(table._key_column(own, key) for key in each) for each in table.unique),
        )
        notes: list[str] = []
        table = table._with_keys(notes)._with_one_auto_increment(notes)
        of_columns = [f"{quoted(column.name)} {column.assumption}" for column in table.columns if column.assumption]
        table = replace(table, assumptions=(*of_columns, *notes, *table._shortened_comments(), *assumptions))
        table._check_statement()
        return table

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    def create_table(self) -> str:
        """Return the CREATE TABLE, a column per line, without a semicolon."""
        lines = [column.definition() for column in self.columns]
        if self.keys:
            lines.append(f"PRIMARY KEY ({', '.join(map(quoted, self.keys))})")
        lines += [f"UNIQUE KEY ({', '.join(map(quoted, each))})" for each in self.unique]
        comment = f" COMMENT={string_literal(self.comment[:_MAX_TABLE_COMMENT])}" if self.comment else ""
        body = ",\n  ".join(lines)
        return f"CREATE TABLE {quoted(self.schema, self.name)} (\n  {body}\n){comment}"

    def script(self) -> str:
        """Return the assumptions as comments, and the statement with a semicolon."""
        notes = "".join(f"-- {' '.join(note.split())}\n" for note in together(self.assumptions))
        return f"{notes}{self.create_table()};"

    def _refuse(self, message: str, remedy: str, column: str | None = None) -> NoReturn:
        raise SchemaError(message, remedy=remedy, table=self.full_name, column=column)

    def _key_column(self, own: dict[str, str], key: str) -> str:
        if to_lower(key) not in own:
            raise MissingColumnError(
                "the key is not a column of the table",
                remedy=f"{did_you_mean(key, own.values())}It has: {', '.join(own.values())}",
                table=self.full_name,
                column=key,
            )
        return own[to_lower(key)]

    def _with_keys(self, notes: list[str]) -> SourceTable:
        columns = {column.name: column for column in self.columns}
        lengths: dict[str, int] = {}  # in bytes
        for key in filter(None, (self.keys, *self.unique)):
            if len(set(key)) < len(key):
                self._refuse("the key has a column twice", "Name each column of the key once", key[0])
            for name in key:
                if not may_be_in_key(kind := columns[name].type):
                    remedy = "Choose other keys, or cast the column to a number or text first"
                    self._refuse(f"column `{name}` is {kind} in TiDB, which cannot be in a key", remedy, name)
            sizes = {name: key_bytes(columns[name].type) for name in key}
            texts = {name for name in key if any(each.match(columns[name].type) for each in (_TEXT_TYPE, _BYTES_TYPE))}
            shrinkable = {name for name in texts if sizes[name] is not None}
            while shrinkable and _fixed(sizes) > (MAX_KEY_BYTES * 2 // 3 if None in sizes.values() else MAX_KEY_BYTES):
                longest = max(shrinkable, key=lambda name: sizes[name] or 0)
                shrinkable.discard(longest)
                sizes[longest] = None
            shared = [name for name, size in sizes.items() if size is None]
            if _fixed(sizes) + len(shared) * CHARACTER_BYTES > MAX_KEY_BYTES:
                self._refuse(
                    f"the key ({', '.join(key)}) takes more than {MAX_KEY_BYTES:,} bytes",
                    "Choose fewer or shorter key columns; a character takes 4 bytes",
                    key[0],
                )
            for name in shared:
                share = (MAX_KEY_BYTES - _fixed(sizes)) // len(shared)
                lengths[name] = min(share, lengths.get(name, share))
        for name, most_bytes in lengths.items():
            text, note = of_length(name, columns[name].type, most_bytes)
            notes.append(note)
            columns[name] = replace(columns[name], type=text)
        for name in self.keys:
            column = columns[name]
            if column.nullable:
                notes.append(f"{quoted(name)} is NOT NULL, because it is in the key.")
                default = None if column.default == "NULL" else column.default
                columns[name] = replace(column, nullable=False, default=default)
        return replace(self, columns=tuple(columns.values()))

    def _with_one_auto_increment(self, notes: list[str]) -> SourceTable:
        first = {key[0] for key in (self.keys, *self.unique) if key}
        columns, is_taken = [], False
        for column in self.columns:
            if column.auto_increment and (is_taken or column.name not in first):
                reason = "a table has one such column" if is_taken else "no key begins with it"
                notes.append(f"{quoted(column.name)} is not AUTO_INCREMENT, because {reason}.")
                column = replace(column, auto_increment=False)
            is_taken |= column.auto_increment
            columns.append(column)
        return replace(self, columns=tuple(columns))

    def _shortened_comments(self) -> list[str]:
        longer = [each.name for each in self.columns if len(each.comment) > MAX_COMMENT]
        notes = [f"The comment of {quoted(name)} is cut to {MAX_COMMENT:,} characters." for name in longer]
        if len(self.comment) > _MAX_TABLE_COMMENT:
            notes.append(f"The table's comment is cut to {_MAX_TABLE_COMMENT:,} characters.")
        return notes

    def _check_statement(self) -> None:
        catalog = Catalog()
        try:
            catalog.apply(f"CREATE DATABASE IF NOT EXISTS {quoted(self.schema)}")
            catalog.apply(self.create_table())
        except DdlError as error:
            column = error.context.get("column")
            raise SchemaError(error.message, remedy=error.remedy, table=self.full_name, column=column) from None


def _fixed(sizes: Mapping[str, int | None]) -> int:
    return sum(filter(None, sizes.values()))


def together(assumptions: Iterable[str]) -> list[str]:
    """Return sentences about columns, one for all columns of which the same is said."""
    columns: dict[str, list[str]] = {}
    for sentence in assumptions:
        name, end = "", sentence
        if sentence.startswith("`") and (close := sentence.find("` ")) > 0:
            name, end = sentence[: close + 1], sentence[close + 2 :]
        columns.setdefault(end, []).append(name)
    return [_sentence([name for name in names if name], end) for end, names in columns.items()]


_PLURALS = {"is": "are", "has": "have", "keeps": "keep", "counts": "count", "does": "do"}


def _sentence(names: list[str], end: str) -> str:
    verb, _, rest = end.partition(" ")
    if len(names) > 1:
        return f"{', '.join(names)} {_PLURALS.get(verb, verb)} {rest}"
    return f"{names[0]} {end}" if names else end


# -- keys --------------------------------------------------------------------------------------------------------------


def may_be_in_key(kind: str) -> bool:
    """Return whether TiDB takes columns of a type in keys at all: all types but JSON and VECTOR."""
    return not re.match(r"(JSON|VECTOR)\b", kind, re.IGNORECASE)


def key_bytes(kind: str) -> int | None:
    """Return what a column of a type takes in a key; ``None`` for TEXT and BLOB. Raises ``DdlError``."""
    if _OPEN.match(kind):
        return None
    statement = parse_ddl(f"CREATE TABLE t (c {kind})")
    assert isinstance(statement, CreateTable)
    built = build_type("c", statement.columns[0].type, "", _CHARSET)
    if built.type in STRING_TYPES:
        return built.flen * max_bytes_per_char(built.charset)
    if built.type is MySQLType.NEWDECIMAL:
        return built.flen // 9 * 4 + (built.flen % 9 + 1) // 2
    return _FIXED_BYTES.get(built.type, 8)


def of_length(name: str, kind: str, most_bytes: int) -> tuple[str, str]:
    """Return text or bytes as VARCHAR or VARBINARY of at most ``most_bytes``, and the sentence about the column."""
    is_bytes = _BYTES_TYPE.match(kind) is not None
    length = most_bytes if is_bytes else most_bytes // CHARACTER_BYTES
    text = _BYTES_TYPE.sub(f"VARBINARY({length})", kind) if is_bytes else _TEXT_TYPE.sub(f"VARCHAR({length})", kind)
    unit = "bytes" if is_bytes else "characters"
    return text, (
        f"{quoted(name)} is {text}, because a key has a length: values of more than {length} {unit} are refused."
    )
