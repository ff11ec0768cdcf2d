"""A table of another system's script while its statements are read: its columns and keys as the system has them.

In: definitions of columns and keys (``definitions``), in the order of the statements that give, change and drop them.
Out: the :class:`~ticdc_emit.schema.frames.source_table.SourceTable` of TiDB that is left at the end of the script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import counted, did_you_mean
from ticdc_emit.schema.frames.source_table import SourceTable
from ticdc_emit.source_schemas.column_choices import UserType, resolved_columns
from ticdc_emit.source_schemas.definitions import ColumnDefinition, Definitions, KeyDefinition, KeyOverIndex, Name
from ticdc_emit.source_schemas.source_script import Lexicon
from ticdc_emit.sql.script import place_in
from ticdc_emit.sql.words import to_lower


@dataclass
class ScriptTable:
    """A table while its statements are read. ``columns``: by name as TiDB compares it. ``offset``: in the script.
    ``keeps_not_null``: whether columns stay NOT NULL without the primary key that made them so. ``partition_columns``:
    the names of Hive's PARTITIONED BY. ``is_partition``: whether its rows are another table's.
    """

    schema: str
    name: str
    offset: int
    keeps_not_null: bool = True
    columns: dict[str, ColumnDefinition] = field(default_factory=dict)
    primary: KeyDefinition | None = None
    unique: list[KeyDefinition] = field(default_factory=list)
    comment: str = ""
    partition_columns: set[str] = field(default_factory=set)
    is_partition: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def _keys(self) -> list[KeyDefinition]:
        return [*([] if self.primary is None else [self.primary]), *self.unique]

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
            self.add_key(KeyDefinition((column.name,), is_primary=True, name=column.constraints.get("PRIMARY", "")))
        if column.is_unique:
            self.add_key(KeyDefinition((column.name,), is_primary=False, name=column.constraints.get("UNIQUE", "")))
        column.is_primary = column.is_unique = False
        self.left_out.update(column.left_out)
        column.left_out = []

    def add_key(self, key: KeyDefinition) -> None:
        """Add a key, or count it where TiDB has no such key. One without a name has that of PostgreSQL."""
        if None in key.columns:
            self.left_out["unique index over an expression"] += 1
            return
        usual = (self.name, "pkey") if key.is_primary else (self.name, *map(str, key.columns), "key")
        named = replace(key, name=key.name or "_".join(usual))
        if named.is_primary:
            self.primary = named
        else:
            self.unique.append(named)

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
        return self._drop_keys(lambda key: not key.is_primary and to_lower(key.name) == to_lower(name))

    def _drop_keys(self, is_dropped: Callable[[KeyDefinition], bool]) -> bool:
        dropped = [key for key in self._keys if is_dropped(key)]
        if self.primary in dropped:
            for name in _names(dropped[0]) if self.keeps_not_null else ():
                if name in self.columns:
                    self.columns[name].nullable = False
            self.primary = None
        self.unique = [key for key in self.unique if key not in dropped]
        return bool(dropped)

    def _drop_column(self, name: str) -> None:
        """Drop a column, with the keys that it is in."""
        self._drop_keys(lambda key: to_lower(name) in _names(key))
        self.columns.pop(to_lower(name), None)

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
        old, column.name = to_lower(column.name), new
        self._change_keys(
            lambda key: replace(key, columns=tuple(new if to_lower(str(each)) == old else each for each in key.columns))
        )

    def rename_key(self, old: str, new: str) -> None:
        """Give a key another name."""
        self._change_keys(lambda key: replace(key, name=new) if to_lower(key.name) == to_lower(old) else key)

    def _change_keys(self, changed: Callable[[KeyDefinition], KeyDefinition]) -> None:
        self.primary = None if self.primary is None else changed(self.primary)
        self.unique = [changed(each) for each in self.unique]

    def drop(self, action: Definitions) -> None:
        """Drop columns, or a key, as the rest of an action says."""
        if action.accept("PRIMARY", "KEY"):
            self._drop_keys(lambda key: key.is_primary)
        elif action.at("UNIQUE") and action.at_symbol("(", 1):
            action.next()
            columns = [to_lower(str(each)) for each in action.key_columns()]
            self._drop_keys(lambda key: not key.is_primary and _names(key) == columns)
        elif action.accept("CONSTRAINT"):
            action.accept("IF", "EXISTS")
            self._drop_constraint(action.name())
        else:
            is_column = bool(action.accept_one("COLUMN", "COLUMNS"))
            action.accept("IF", "EXISTS")
            for member in action.members() if action.at_symbol("(") else [action]:
                if member.at_name:
                    name = member.name()
                    if is_column or to_lower(name) in self.columns:
                        self._drop_column(name)
                    else:
                        self._drop_constraint(name)

    def _drop_constraint(self, name: str) -> None:
        self._drop_keys(lambda key: to_lower(key.name) == to_lower(name))
        for column in self.columns.values():
            if to_lower(column.constraints.get("DEFAULT", "")) == to_lower(name):
                column.default = None

    def built(self, script: str, types: Mapping[Name, UserType], lexicon: Lexicon, dialect: str) -> SourceTable:
        """Return the table in TiDB's SQL. Raises the family of :class:`SchemaError`, with the place in the script."""

        def fail(error: SchemaError, offset: int) -> SchemaError:
            context: dict[str, Any] = {"table": self.full_name, "place": place_in(script, offset)}
            return type(error)(error.message, remedy=error.remedy, **{**error.context, **context})

        definitions = list(self.columns.values())
        for name in (str(each) for key in self._keys for each in key.columns):
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
                what if what == "partitioning" else counted(count, what, _plural(what))
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


def _plural(what: str) -> str:
    noun, *more = re.split("(?= over | with )", what, maxsplit=1)
    return f"{noun}{'es' if noun.endswith('x') else 's'}{''.join(more)}"


def _names(key: KeyDefinition) -> list[str]:
    return [to_lower(str(each)) for each in key.columns]
