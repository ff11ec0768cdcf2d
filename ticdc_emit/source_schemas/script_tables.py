"""A table of another system's script while its statements are read: its columns and keys as the system has them.

In: definitions of columns and keys (``definitions``), in the order of the statements that give, change and drop them.
Out: the :class:`~ticdc_emit.source_schemas.source_table.SourceTable` of TiDB that is left at the end of the script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import counted, did_you_mean
from ticdc_emit.source_schemas.column_choices import UserType, resolved_columns
from ticdc_emit.source_schemas.definitions import ColumnDefinition, Definitions, KeyDefinition, KeyOverIndex, Name
from ticdc_emit.source_schemas.source_script import Lexicon
from ticdc_emit.source_schemas.source_table import SourceTable
from ticdc_emit.sql.script import place_in
from ticdc_emit.sql.words import to_lower


@dataclass
class ScriptTable:
    """A table while its statements are read. ``columns``: by name as TiDB compares it. ``offset``: in the script."""

    schema: str
    name: str
    offset: int
    columns: dict[str, ColumnDefinition] = field(default_factory=dict)
    primary: KeyDefinition | None = None
    unique: list[KeyDefinition] = field(default_factory=list)
    comment: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    def move_column(self, column: ColumnDefinition) -> None:
        """Put a column where its definition says: after another one, or first."""
        after, column.after = column.after, None
        if after is None:
            return
        others = [(key, each) for key, each in self.columns.items() if each is not column]
        place = 1 + [key for key, _ in others].index(to_lower(after)) if to_lower(after) in self.columns else 0
        self.columns = dict([*others[:place], (to_lower(column.name), column), *others[place:]])

    def keys_of_column(self, column: ColumnDefinition) -> None:
        """Take the keys that a column's definition has, and what it leaves out."""
        if column.is_primary:
            self.add_key(KeyDefinition((column.name,), is_primary=True))
        if column.is_unique:
            self.add_key(KeyDefinition((column.name,), is_primary=False))
        column.is_primary = column.is_unique = False
        self.left_out.update(column.left_out)
        column.left_out = []

    def add_key(self, key: KeyDefinition) -> None:
        """Add a key, or count it where TiDB has no such key."""
        if None in key.columns:
            self.left_out["unique index over an expression"] += 1
        elif key.is_primary:
            self.primary = key
        else:
            self.unique.append(key)

    def add_key_over_index(self, key: KeyOverIndex) -> None:
        """Make a unique index of the table a key, which takes its name if it has none; count one of no index here."""
        found = next((each for each in self.unique if to_lower(each.name) == to_lower(key.index)), None)
        if found is None:
            self.left_out["key over an index of its own"] += 1
            return
        self.unique.remove(found)
        self.add_key(replace(found, is_primary=key.is_primary, name=key.name or key.index))

    def drop_unique(self, name: str) -> bool:
        """Drop the unique keys with a name; return whether there were any."""
        others = [each for each in self.unique if to_lower(each.name) != to_lower(name)]
        is_dropped = len(others) < len(self.unique)
        self.unique = others
        return is_dropped

    def drop_column(self, name: str) -> None:
        """Drop a column, with the keys that it is in."""
        column = self.columns.pop(to_lower(name), None)
        if column is not None:
            keys = [each for each in (self.primary, *self.unique) if each is not None and not _has(each, name)]
            self.primary = self.primary if self.primary in keys else None
            self.unique = [each for each in keys if each is not self.primary]

    def column(self, reader: Definitions, name: str) -> ColumnDefinition:
        """Return a column by its name; fail at the place of ``reader`` without one."""
        found = self.columns.get(to_lower(name))
        if found is None:
            shown = [each.name for each in self.columns.values()]
            reader.statement.fail(
                f"the table has no column {name}",
                reader.last.start,
                remedy=f"{did_you_mean(name, shown)}It has: {', '.join(shown)}",
                table=self.full_name,
                column=name,
            )
        return found

    def rename_column(self, column: ColumnDefinition, new: str) -> None:
        """Give a column another name, also in keys."""
        self.columns = {(to_lower(new) if each is column else key): each for key, each in self.columns.items()}
        old, column.name = column.name, new

        def renamed(key: KeyDefinition) -> KeyDefinition:
            names = (new if to_lower(str(each)) == to_lower(old) else each for each in key.columns)
            return replace(key, columns=tuple(names))

        self.primary = None if self.primary is None else renamed(self.primary)
        self.unique = [renamed(each) for each in self.unique]

    def drop(self, action: Definitions) -> None:
        """Drop columns, or a key, as the rest of an action says."""
        if action.accept("PRIMARY", "KEY"):
            self.primary = None
        elif action.at("UNIQUE") and action.at_symbol("(", 1):
            action.next()
            columns = [to_lower(str(each)) for each in action.key_columns()]
            self.unique = [each for each in self.unique if [to_lower(str(name)) for name in each.columns] != columns]
        elif action.accept("CONSTRAINT"):
            action.accept("IF", "EXISTS")
            self._drop_key(action.name())
        else:
            is_column = bool(action.accept_one("COLUMN", "COLUMNS"))
            action.accept("IF", "EXISTS")
            for member in action.members() if action.at_symbol("(") else [action]:
                if member.at_name:
                    name = member.name()
                    if is_column or to_lower(name) in self.columns:
                        self.drop_column(name)
                    else:
                        self._drop_key(name)

    def _drop_key(self, name: str) -> None:
        if self.primary is not None and to_lower(self.primary.name) == to_lower(name):
            self.primary = None
        self.drop_unique(name)

    def built(self, script: str, types: Mapping[Name, UserType], lexicon: Lexicon, dialect: str) -> SourceTable:
        """Return the table in TiDB's SQL. Raises the family of :class:`SchemaError`, with the place in the script."""

        def fail(error: SchemaError, offset: int) -> SchemaError:
            context: dict[str, Any] = {"table": self.full_name, "place": place_in(script, offset)}
            return type(error)(error.message, remedy=error.remedy, **{**error.context, **context})

        definitions = list(self.columns.values())
        for name in (str(each) for key in (self.primary, *self.unique) if key is not None for each in key.columns):
            if to_lower(name) not in self.columns:
                shown = [each.name for each in definitions]
                raise fail(
                    SchemaError(
                        f"the table has no column {name}, which is in a key",
                        remedy=f"{did_you_mean(name, shown)}It has: {', '.join(shown)}",
                        column=name,
                    ),
                    self.offset,
                )
        unique = [tuple(map(str, key.columns)) for key in self.unique]
        primary = () if self.primary is None else tuple(map(str, self.primary.columns))
        choices = resolved_columns(definitions, primary, unique, types, lexicon, dialect)
        if isinstance(choices, tuple):
            column, error = choices
            raise fail(error, column.offset)
        if self.left_out:
            listed = ", ".join(
                what if what == "partitioning" else counted(count, what)
                for what, count in sorted(self.left_out.items())
            )
            choices.notes.append(f"Left out: {listed}.")
        while True:
            try:
                return SourceTable.of(
                    self.schema,
                    self.name,
                    choices.columns,
                    primary,
                    unique=choices.unique,
                    comment=self.comment,
                    assumptions=[*choices.notes, *self.notes],
                )
            except SchemaError as error:
                name = str(error.context.get("column", ""))
                if not choices.drop_default(name):
                    named = self.columns.get(to_lower(name))
                    raise fail(error, self.offset if named is None else named.offset) from None


def _has(key: KeyDefinition, column: str) -> bool:
    return to_lower(column) in (to_lower(str(each)) for each in key.columns)
