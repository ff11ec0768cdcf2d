"""The columns of another system's table with TiDB's types, defaults and expressions, and what each choice assumed.

In: the definitions of a table's columns, its keys, and the types that the script created. Out: :class:`Columns`, or the
error of the column that TiDB has nothing for. Rule source: pingcap/tidb ``pkg/ddl`` (which types count up).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ticdc_emit.errors import SchemaError, UnsupportedTypeError
from ticdc_emit.schema.frames.key_lengths import MAX_KEY_BYTES, has_length, key_bytes, may_be_in_key, of_length
from ticdc_emit.schema.frames.source_table import KEEPS_SPACES, SourceColumn, TypeChoice, no_default
from ticdc_emit.source_schemas.definitions import ColumnDefinition, Name, one_line
from ticdc_emit.source_schemas.generated_columns import Generated, generated_of, holds
from ticdc_emit.source_schemas.source_script import Lexicon, Token
from ticdc_emit.source_schemas.source_types import AS_TEXT, JSON_VALUE, WITHOUT_CURRENCY, SourceType, tidb_type
from ticdc_emit.source_schemas.source_values import Default, default_of, parsed, unnested
from ticdc_emit.sql.words import quoted, string_literal, to_lower


@dataclass(frozen=True)
class EnumType:
    """A type of labels that the script created."""

    labels: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """Another name of a type, with the options of ``column``."""

    column: ColumnDefinition


@dataclass(frozen=True)
class TextType:
    """Any other type that the script created: its values are text, or JSON."""

    is_json: bool = False


UserType: TypeAlias = EnumType | Domain | TextType


def type_name(name: Name, types: Mapping[Name, UserType]) -> Name | None:
    """Return the full name of a type of the script, given with or without its schema; ``None`` for another type."""
    plain = tuple(map(to_lower, name))
    return plain if plain in types else next((known for known in types if known[-1:] == plain[-1:]), None)


_COUNTING = re.compile(r"(?:TINY|SMALL|MEDIUM|BIG)?INT\b")
_WHOLE = re.compile(r"DECIMAL\((?:\d+,0|65,30)\)")
_MOST_SHOWN = 60


@dataclass
class Columns:
    """``unique``: the keys that TiDB can have. ``notes``: sentences."""

    columns: list[SourceColumn] = field(default_factory=list)
    unique: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def drop_default(self, name: str) -> bool:
        """Leave out the default of a column, which TiDB refuses; return whether it has one."""
        for place, column in enumerate(self.columns):
            if to_lower(column.name) == to_lower(name) and column.default is not None:
                self.columns[place] = replace(column, default=None)
                self.notes.append(f"`{column.name}` {no_default(column.default)}")
                return True
        return False


def resolved_columns(
    definitions: Sequence[ColumnDefinition],
    primary: Sequence[str],
    unique: Iterable[Sequence[str]],
    types: Mapping[Name, UserType],
    lexicon: Lexicon,
    dialect: str,
) -> Columns | tuple[ColumnDefinition, SchemaError]:
    """Return the columns in TiDB's SQL; or a column and its error."""
    result = Columns()
    resolver = _Resolver(types, lexicon, dialect)
    choices: dict[str, TypeChoice] = {}
    for column in definitions:
        if column.type is not None:
            try:
                choices[column.name] = resolver.type(column)
            except SchemaError as error:
                return column, error
    expressions = resolver.expressions(
        definitions, choices, {to_lower(each) for key in (primary, *unique) for each in key}
    )
    for column in definitions:
        if column.type is None and column.name not in choices:
            shown = _shown(column.generated or [], column.script)
            result.notes.append(f"`{column.name}` is left out, because {shown} has no equal in TiDB.")
    kept = [column for column in definitions if column.name in choices]
    names = {to_lower(column.name): column.name for column in definitions}
    left_out = {column.name for column in definitions} - choices.keys()
    keys = [tuple(names.get(to_lower(each), each) for each in key) for key in (primary, *unique)]
    shortened = _fitted(keys, choices, left_out, result)
    counting = resolver.counting(kept, keys[0])
    for column in kept:
        resolved, notes = resolver.column(
            column, choices[column.name], expressions.get(column.name), is_counting=column is counting
        )
        if column.name in keys[0]:
            resolved = replace(resolved, nullable=False)
        result.columns.append(resolved)
        result.notes += [f"`{column.name}` {note}" for note in notes]
    result.notes += shortened
    return result


def _fitted(
    keys: list[tuple[str, ...]], choices: dict[str, TypeChoice], left_out: set[str], result: Columns
) -> list[str]:
    """Choose lengths for text in keys, and the unique keys that TiDB can have; return sentences."""
    notes, lengths = [], dict[str, int]()
    for place, key in enumerate(keys):
        texts = [choices[each].text if each in choices else "" for each in key]
        if place and (len(set(key)) < len(key) or key in (keys[0], *result.unique)):
            continue
        if place and any(each in left_out for each in key):
            notes.append(f"The unique key ({', '.join(map(quoted, key))}) is left out with its column.")
            continue
        if place and not all(map(may_be_in_key, texts)):
            notes.append(
                f"The unique key ({', '.join(map(quoted, key))}) is left out: JSON and VECTOR have none in TiDB."
            )
            continue
        if place:
            result.unique.append(key)
        sizes = {name: key_bytes(text) if text else 0 for name, text in zip(key, texts, strict=True)}
        shrinkable = {name for name, text in zip(key, texts, strict=True) if has_length(text)}
        while sum(filter(None, sizes.values())) > MAX_KEY_BYTES * 2 // 3 and shrinkable:
            if None not in sizes.values() and sum(filter(None, sizes.values())) <= MAX_KEY_BYTES:
                break
            longest = max(shrinkable, key=lambda name: sizes[name] or 0)
            shrinkable.discard(longest)
            sizes[longest] = None
        open_length = [name for name, size in sizes.items() if size is None]
        if open_length:
            share = (MAX_KEY_BYTES - sum(filter(None, sizes.values()))) // len(open_length)
            for name in open_length:
                lengths[name] = min(share, lengths.get(name, share))
    for name, most_bytes in lengths.items():
        text, note = of_length(name, choices[name].text, most_bytes)
        choices[name] = choices[name]._replace(text=text)
        notes.append(note)
    return notes


@dataclass(frozen=True)
class _Resolver:
    types: Mapping[Name, UserType]
    lexicon: Lexicon
    dialect: str

    def user_type(self, name: Name) -> UserType | None:
        """Return a type of the script by its name."""
        known = type_name(name, self.types)
        return None if known is None else self.types[known]

    def type(self, column: ColumnDefinition) -> TypeChoice:
        """Return TiDB's type of a column. Raises :class:`UnsupportedTypeError` with the column."""
        source = column.type
        assert source is not None
        known = self.user_type(column.type_name)
        if known is not None and source.is_array:
            return TypeChoice("JSON", JSON_VALUE)
        match known:
            case EnumType(labels):
                return TypeChoice(f"ENUM({', '.join(map(string_literal, labels))})")
            case TextType(is_json):
                return tidb_type("postgres", SourceType("HSTORE" if is_json else "POINT")) or TypeChoice("LONGTEXT")
            case Domain(inner):
                if inner.nullable is False:
                    column.nullable = False if column.nullable is None else column.nullable
                column.default = column.default or inner.default
                return self.type(replace(inner, name=column.name))
        try:
            choice = tidb_type(self.dialect, source)
        except UnsupportedTypeError as error:
            message = f"Column `{column.name}`: {error.message}"
            raise UnsupportedTypeError(
                message, remedy=f"{error.remedy}, or leave the column out", column=column.name
            ) from None
        if choice is None and source.name.startswith("INTERVAL "):
            choice = tidb_type(self.dialect, source._replace(name="INTERVAL"))
        if choice is None:
            raise UnsupportedTypeError(
                f"Column `{column.name}` has an unknown type: neither {self.lexicon.title} nor the script has "
                f"{source.shown}",
                remedy="Put its CREATE TYPE before the table, or write varchar or text for the column",
                column=column.name,
            )
        if self.dialect == "postgres" and source.name.rstrip("248").endswith("SERIAL"):
            column.counts, column.nullable = True, False
        return choice

    # -- expressions -----------------------------------------------------------------------------------------------

    def text(self, column: ColumnDefinition, tokens: Sequence[Token]) -> str:
        return column.script[tokens[0].start : tokens[-1].end]

    def expressions(
        self, definitions: Sequence[ColumnDefinition], choices: dict[str, TypeChoice], in_keys: set[str]
    ) -> dict[str, Generated]:
        """Return the generated columns that TiDB generates too; give those without a type theirs."""
        plain = {
            each.name: operand
            for each in definitions
            if each.name in choices and each.generated is None and not each.counts
            if (operand := self.operand(each, choices[each.name])) is not None
        }
        by_name = {to_lower(name): name for name in plain}
        found: dict[str, Generated] = {}
        for column in definitions:
            if column.generated is None:
                continue
            try:
                generated = generated_of(
                    unnested(parsed(self.text(column, column.generated), self.lexicon.reader)),
                    plain,
                    lambda each: by_name.get(to_lower(self.lexicon.name(each.this, is_quoted=bool(each.quoted))), ""),
                    self.dialect,
                )
            except RecursionError:  # a sum of thousands
                generated = None
            if generated is not None and column.type is None:
                choices[column.name] = TypeChoice(generated.type)
            if generated is None or to_lower(column.name) in in_keys:
                continue
            choice = choices[column.name]
            if column.type is None or (holds(choice.text, generated) and choice.assumption != KEEPS_SPACES):
                found[column.name] = generated
        return found

    def operand(self, column: ColumnDefinition, choice: TypeChoice) -> Generated | None:
        """Return a column in an expression; ``None`` if the system computes with other values than TiDB keeps."""
        is_trimmed = choice.assumption == KEEPS_SPACES and self.dialect in ("postgres", "redshift")
        if is_trimmed or choice.assumption in (AS_TEXT, WITHOUT_CURRENCY):
            return None
        return Generated(quoted(column.name), choice.text, is_money=self.is_money(column))

    def is_money(self, column: ColumnDefinition) -> bool:
        """Return whether a column is SQL Server's money, also by another name."""
        known = self.user_type(column.type_name)
        if isinstance(known, Domain):
            return self.is_money(known.column)
        return column.type is not None and column.type.name in ("MONEY", "SMALLMONEY")

    # -- columns ---------------------------------------------------------------------------------------------------

    def counting(self, columns: Sequence[ColumnDefinition], key: Sequence[str]) -> ColumnDefinition | None:
        """Return the one column that counts up in TiDB: the first of the key, else the first."""
        counting = [column for column in columns if self._counts(column)]
        return next((each for each in counting if each.name in key), counting[0] if counting else None)

    def _counts(self, column: ColumnDefinition) -> bool:
        if column.counts or column.default is None:
            return column.counts
        return self._default(column, column.default, TypeChoice("")).counts

    def _default(self, column: ColumnDefinition, tokens: Sequence[Token], choice: TypeChoice) -> Default:
        expression = parsed(self.text(column, tokens), self.lexicon.reader)
        is_padded = choice.assumption == KEEPS_SPACES
        return default_of(expression, choice.text, dialect=self.dialect, is_padded=is_padded)

    def column(
        self, column: ColumnDefinition, choice: TypeChoice, generated: Generated | None, *, is_counting: bool
    ) -> tuple[SourceColumn, list[str]]:
        """Return a column in TiDB's SQL, and the ends of sentences about more than its type."""
        notes = []
        text = choice.text
        nullable = column.nullable is not False
        result = SourceColumn(column.name, text, nullable, comment=column.comment or "", assumption=choice.assumption)
        if generated is not None:
            kind = "STORED" if column.is_stored else "VIRTUAL"
            result = replace(result, generated=f"({generated.text}) {kind}")
        elif column.generated is not None:
            shown = _shown(column.generated, column.script)
            notes.append(f"is a plain column, because {shown} has no equal in TiDB: give its values.")
        elif is_counting and (_COUNTING.match(text) or _WHOLE.fullmatch(text)):
            if _WHOLE.fullmatch(text):
                shown = "" if column.type is None else column.type.shown
                result = replace(result, type="BIGINT", assumption=f"counts up, so it is BIGINT instead of {shown}.")
            result = replace(result, auto_increment=True)
        elif self._counts(column):
            notes.append("does not count up in TiDB, which has one such column per table, a whole number.")
        elif column.default is not None:
            default = self._default(column, column.default, choice)
            if default.is_equal:
                result = replace(result, default=default.text)
            else:
                notes.append(no_default(_shown(column.default, column.script)))
        return result, notes


def _shown(tokens: Sequence[Token], script: str) -> str:
    text = one_line(script[tokens[0].start : tokens[-1].end]) if tokens else ""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
