"""Statements of other systems, and the tables that they leave behind.

In: the statements of a script, one after the other (:class:`Translation`). Out: a
:class:`~ticdc_emit.schema.frames.source_table.SourceTable` for each table, and sentences about the script as a whole.
CREATE, ALTER and DROP TABLE, unique indexes, types, comments and the current schema count; other statements are
skipped. Rule source: the systems' manuals (CREATE TABLE, ALTER TABLE, CREATE TYPE, COMMENT).
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ticdc_emit.hints import counted
from ticdc_emit.schema.frames.source_table import SourceTable
from ticdc_emit.source_schemas.column_choices import Domain, EnumType, TextType, UserType, type_name
from ticdc_emit.source_schemas.definitions import (
    ColumnDefinition,
    DefaultOf,
    Definitions,
    KeyDefinition,
    KeyOverIndex,
    LeftOut,
    LikeTable,
    Name,
)
from ticdc_emit.source_schemas.script_tables import ScriptTable
from ticdc_emit.source_schemas.source_script import Lexicon, SourceStatement
from ticdc_emit.sql.words import to_lower

_MODIFIERS = frozenset(
    """
    OR REPLACE GLOBAL LOCAL PRIVATE TEMP TEMPORARY TRANSIENT UNLOGGED EXTERNAL VOLATILE FOREIGN HYBRID DYNAMIC ICEBERG
    IMMUTABLE SHARDED DUPLICATED BLOCKCHAIN MANAGED SNAPSHOT UNIQUE CLUSTERED NONCLUSTERED BITMAP EDITIONABLE
    NONEDITIONABLE MATERIALIZED SECURE FORCE COLUMNSTORE FULLTEXT RECURSIVE EVENT IF NOT EXISTS STREAMING LIVE PUBLIC
    TRANSACTIONAL REFRESH INTERACTIVE ALTER
    """.split()  # noqa: SIM905 (words)
)
_TEMPORARY = frozenset({"TEMP", "TEMPORARY", "VOLATILE", "FOREIGN", "DYNAMIC"})
_OPTION_WORDS = ("NOT", "NULL", "DEFAULT", "CONSTRAINT", "PRIMARY", "UNIQUE", "GENERATED")
_NOT_COLUMNS = ("CONSTRAINT", "DISTKEY", "SORTKEY", "DISTSTYLE", "COMPOUND", "INDEX", "ENCODE")
_VERBS = ("ADD", "ALTER", "MODIFY", "CHANGE", "RENAME", "REPLACE", "DROP", "ATTACH", "DETACH", "SET")
_VERB_ONCE = ("tsql", "snowflake", "spark", "hive")
"""Where the first word of ALTER TABLE holds for all its actions."""

_NOT_ADDED = ("PARTITION", "ROW", "CLUSTERING", "SEARCH", "SUPPLEMENTAL", "TBLPROPERTIES")
_COLUMN_CHANGES = ("TYPE", "SET", "DROP", "COMMENT", "FIRST", "AFTER")
_FILTERS = ("WHERE", "ORDER", "LIMIT", "DISTRIBUTE", "CLUSTER", "SORT", "TABLESAMPLE", "SAMPLE", "WITH")
"""Words after which a query has fewer rows, or others first, but the same columns."""

_OBJECT_WORDS = ("OBJECT", "VARRAY", "VARYING", "TABLE")
_KEPT_ELSEWHERE = {"FOREIGN": "foreign table", "DYNAMIC": "dynamic table"}


class Translation:
    """What the statements of a script have made so far. ``schema``: the database of names without a schema."""

    def __init__(self, dialect: str, lexicon: Lexicon, schema: str) -> None:
        self.dialect, self.lexicon = dialect, lexicon
        self._default_schema = self._schema = schema
        self._tables: dict[tuple[str, str], ScriptTable] = {}
        self._types: dict[Name, UserType] = {}
        self._skipped: Counter[str] = Counter()
        self._without_columns: list[str] = []

    def run(self, statement: SourceStatement) -> None:
        """Apply a statement, or count it."""
        words = statement.words
        made = [word for word in words[1:] if word not in _MODIFIERS][:1] if words[:1] == ("CREATE",) else []
        match words[:2], made:
            case _, ["TABLE"]:
                self._create_table(self._read(statement))
            case _, ["TYPE" | "DOMAIN"]:
                self._create_type(self._read(statement))
            case _, ["INDEX"] if "UNIQUE" in words[:4]:
                self._unique_index(self._read(statement))
            case ("CREATE", _), ["SCHEMA"] if self.dialect == "snowflake":
                self._use(self._read(statement), "SCHEMA")
            case ("CREATE", "SCHEMA"), _:
                self._create_schema(statement)
            case ("DROP", "SCHEMA" | "DATABASE"), _:
                self._drop_schema(self._read(statement))
            case ("ALTER", "TABLE"), _:
                self._alter_table(self._read(statement))
            case ("ALTER", "TYPE"), _:
                self._alter_type(self._read(statement))
            case ("ALTER", "SESSION"), _:
                self._use(self._read(statement), "CURRENT_SCHEMA")
            case ("DROP", "INDEX"), _:
                self._drop_index(self._read(statement))
            case ("DROP", "TABLE"), _:
                self._drop_table(self._read(statement))
            case ("COMMENT", "ON"), _:
                self._comment(self._read(statement))
            case ("USE", *_), _ if self.dialect != "tsql":
                self._use(self._read(statement), "USE")
            case ("SET", "SEARCH_PATH" | "SCHEMA"), _:
                self._use(self._read(statement), words[1])
            case (("EXEC" | "EXECUTE"), *_), _ if self.dialect == "tsql":
                self._execute(self._read(statement))
            case ("RENAME", _), _ if self.dialect == "oracle":
                self._rename_table(statement)
            case _:
                self._skip(_label(words))

    def _read(self, statement: SourceStatement) -> Definitions:
        return Definitions(statement, self.lexicon, statement.tokens(self.lexicon))

    def _skip(self, what: str) -> None:
        self._skipped[what] += 1

    # -- names -----------------------------------------------------------------------------------------------------

    def _full_name(self, name: Name) -> tuple[str, str]:
        return (name[-2] if len(name) > 1 and name[-2] else self._schema), name[-1]

    def _find(self, name: Name) -> ScriptTable | None:
        """Return a table by its name, with or without the schema that all names have."""
        schema, table = self._full_name(name)
        for each in self._schemas(schema):
            if found := self._tables.get((to_lower(each), to_lower(table))):
                return found
        return None

    def _schemas(self, schema: str) -> tuple[str, ...]:
        """Return the schemas that names with this schema may be in."""
        usual = {self.lexicon.schema, self._default_schema, self._schema}
        return (schema, *(sorted(usual) if schema in usual else ()))

    def _create_schema(self, statement: SourceStatement) -> None:
        """Run the statements that are elements of CREATE SCHEMA."""
        reader = self._read(statement)
        reader.next()
        reader.next()
        reader.accept("IF", "NOT", "EXISTS")
        reader.accept("AUTHORIZATION")
        outer, schema = self._schema, reader.qualified_name("a schema")[-1] if reader.at_name else self._schema
        starts = []
        while not reader.at_end:
            if reader.at("CREATE"):
                starts.append(reader.token.start)
            reader.balanced()
        ends = [*starts, reader.token.end][1:]
        self._schema = schema
        for start, end in zip(starts, ends, strict=True):
            self.run(SourceStatement(statement.script, start, statement.script[start:end].rstrip()))
        self._schema = outer
        if not starts:
            self._skip("CREATE SCHEMA")

    def _drop_schema(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        reader.accept("IF", "EXISTS")
        for part in reader.parts():
            if part.at_name:
                schema = to_lower(part.qualified_name()[-1])
                self._tables = {key: table for key, table in self._tables.items() if key[0] != schema}

    def _use(self, reader: Definitions, word: str) -> None:
        """Change the schema of names that have none."""
        while not reader.at_end and reader.word() != word:
            reader.next()
        reader.next()
        kind = reader.accept_one("SCHEMA", "DATABASE", "CATALOG", "ROLE", "WAREHOUSE", "SECONDARY", "NAMESPACE")
        reader.accept("IF", "NOT", "EXISTS")
        if not reader.accept_symbol("="):
            reader.accept("TO")
        if kind in ("ROLE", "WAREHOUSE", "SECONDARY", "CATALOG") or (
            kind == "DATABASE" and self.dialect == "snowflake"
        ):
            return
        if reader.token.kind == "string":
            name: Name = (reader.next().text,)
        elif reader.at_name:
            name = reader.qualified_name()
        else:
            return
        if self.dialect == "snowflake" and "SCHEMA" not in (kind, word) and len(name) == 1:  # a database
            return
        if name[-1] and to_lower(name[-1]) not in ("pg_catalog", "$user"):
            self._schema = name[-1]

    # -- tables ----------------------------------------------------------------------------------------------------

    def _create_table(self, reader: Definitions) -> None:
        words = []
        while not reader.at("TABLE") and not reader.at_end:
            words.append(reader.next().word)
        if not reader.accept("TABLE"):
            reader.fail("TABLE")
        if kept := _TEMPORARY.intersection(words):
            self._skip(_KEPT_ELSEWHERE.get(min(kept), "temporary table"))
            return
        if_not_exists = reader.accept("IF", "NOT", "EXISTS")
        if reader.token.text.startswith("#"):
            self._skip("temporary table")
            return
        offset = reader.token.start
        schema, name = self._full_name(reader.table_name())
        table = ScriptTable(schema, name, offset, keeps_not_null=self.dialect != "oracle")
        reader.table = table.full_name
        key = to_lower(schema), to_lower(name)
        if key in self._tables and if_not_exists:
            return
        if key in self._tables and not {"REPLACE", "ALTER"}.intersection(words):
            other = self._tables[key].full_name
            message = f"the table {table.full_name} is created twice"
            if other != table.full_name:
                message = f"the tables {other} and {table.full_name} have one name in TiDB, which ignores case"
            reader.statement.fail(message, offset, table=table.full_name)
        if reader.accept("PARTITION", "OF"):
            self._skip("partition")
            return
        names: list[str] = []  # of the columns of AS SELECT
        if reader.accept_one("LIKE", "CLONE", "COPY"):
            source = reader.table_name()
            if self._find(source) is not None:
                self._copy(table, reader, LikeTable(source, with_defaults=True, with_keys=True))
        elif reader.at_symbol("("):
            elements = reader.members()
            if all(element.at_name and len(element.rest()) == 1 for element in elements):
                names = [element.name() for element in elements]
            else:
                for element in elements:
                    if element.at("SELECT") or element.at("WITH"):
                        break
                    self._element(table, element)
        self._table_options(table, reader, names)
        if table.columns:
            self._tables[key] = table
        else:
            self._tables.pop(key, None)  # which it replaces
            self._without_columns.append(table.full_name)

    def _table_options(self, table: ScriptTable, reader: Definitions, names: Sequence[str]) -> None:
        """Read what follows the columns, or their names alone."""
        while not reader.at_end:
            if reader.accept("COMMENT"):
                reader.accept_symbol("=")
                if reader.token.kind == "string" or self.lexicon.backslashes:
                    table.comment = reader.next().text
            elif reader.at("OPTIONS") and self.dialect == "bigquery":
                reader.next()
                table.comment = reader.description() or table.comment
            elif reader.accept("PARTITIONED", "BY") and reader.at_symbol("("):
                self._partition_columns(table, reader)
            elif reader.accept("INHERITS"):
                own, table.columns = table.columns, {}
                for parent in reader.members():
                    self._copy(table, parent, LikeTable(parent.qualified_name("a table"), with_defaults=True))
                table.columns |= own
            elif reader.accept("PARTITION", "BY"):
                table.left_out["partitioning"] += 1
            elif reader.accept("AS"):
                if reader.at("SELECT") or reader.at("WITH") or reader.at_symbol("("):
                    self._query_columns(table, reader, names)
                    return
            else:
                reader.balanced()

    def _query_columns(self, table: ScriptTable, reader: Definitions, names: Sequence[str]) -> None:
        """Take the columns of ``SELECT * FROM`` a table of the script, without defaults, keys and NOT NULL."""
        query = reader.inside(reader.balanced()[1:-1]) if reader.at_symbol("(") else reader
        if table.columns or not (query.accept("SELECT") and query.accept_symbol("*") and query.accept("FROM")):
            return
        source = self._find(query.qualified_name()) if query.at_name else None
        if source is None or not (query.at_end or query.word() in _FILTERS):
            return
        columns = list(source.columns.values())
        names = names or [column.name for column in columns]
        if len(names) != len(columns) or any(column.type is None for column in columns):
            return
        for name, each in zip(names, columns, strict=True):
            table.columns[to_lower(name)] = ColumnDefinition(
                name, table.offset, each.script, each.type, each.type_name, comment=each.comment
            )

    def _partition_columns(self, table: ScriptTable, reader: Definitions) -> None:
        """Read the columns of partitions, which are the table's last ones in Hive."""
        table.left_out["partitioning"] += 1
        for member in reader.members():
            if member.word(1) or (member.token.kind == "quoted" and not member.at_symbol("(", 1)):
                first = member.token
                if member.lexicon.name(first.text, is_quoted=True) and _has_type(member):
                    self._element(table, member)
                    table.partition_columns.add(list(table.columns)[-1])

    def _copy(self, table: ScriptTable, reader: Definitions, like: LikeTable) -> None:
        source = self._find(like.name)
        if source is None:
            reader.statement.fail(
                f"{'.'.join(like.name)} is not a table of the script",
                reader.last.start,
                remedy="Put its CREATE TABLE before",
                table=table.full_name,
            )
        for key, column in source.columns.items():
            own = copy.deepcopy(column)
            if not like.with_defaults:
                own.default, own.counts, own.generated = None, False, None
            table.columns.setdefault(key, own)
        if like.with_keys:
            for own_key in (source.primary, *source.unique):
                if own_key is not None and not (own_key.is_primary and table.primary):
                    table.add_key(replace(own_key, name=""))

    def _element(self, table: ScriptTable, reader: Definitions, *, if_not_exists: bool = False) -> None:
        reader.table = table.full_name
        element = reader.element()
        match element:
            case ColumnDefinition() if if_not_exists and to_lower(element.name) in table.columns:
                pass
            case ColumnDefinition():
                if to_lower(element.name) in table.columns:
                    reader.statement.fail(
                        "the table has the column twice", element.offset, table=table.full_name, column=element.name
                    )
                table.columns[to_lower(element.name)] = element
                table.keys_of_column(element)
                table.move_column(element)
            case KeyDefinition():
                table.add_key(element)
            case KeyOverIndex():
                table.add_key_over_index(element)
            case LeftOut():
                table.left_out[element.what] += 1
            case LikeTable():
                self._copy(table, reader, element)
            case DefaultOf():
                column = table.column(reader, element.column)
                column.default, column.constraints["DEFAULT"] = element.default, element.name

    def _drop_table(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        reader.accept("IF", "EXISTS")
        for part in reader.parts():
            if part.at_name:
                self._tables.pop(tuple(map(to_lower, self._full_name(part.qualified_name()))), None)  # type: ignore[arg-type]

    def _unique_index(self, reader: Definitions) -> None:
        while not reader.at_end and not reader.at("INDEX"):
            reader.next()
        reader.next()
        reader.accept("CONCURRENTLY")
        reader.accept("IF", "NOT", "EXISTS")
        index = "" if reader.at("ON") else reader.qualified_name("an index")[-1]
        while not reader.at_end and not reader.at("ON"):
            reader.next()
        reader.next()
        reader.accept("ONLY")
        table = self._find(reader.qualified_name("a table"))
        if reader.accept("USING"):
            reader.next()
        if table is None or not reader.at_symbol("("):
            self._skip("CREATE UNIQUE INDEX")
            return
        columns = reader.key_columns()
        while not reader.at_end and not reader.at("WHERE"):
            reader.balanced()
        if reader.at("WHERE"):
            table.left_out["unique index with WHERE"] += 1
        else:
            table.add_key(KeyDefinition(columns, is_primary=False, name=index))

    def _drop_index(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        reader.accept("CONCURRENTLY")
        reader.accept("IF", "EXISTS")
        for part in reader.parts():
            if part.at_name:
                name = part.qualified_name()
                if self.dialect == "tsql":  # where a table's indexes have names
                    owner = self._find(part.qualified_name("a table") if part.accept("ON") else name[:-1] or name)
                    tables = [] if owner is None else [owner]
                else:
                    schemas = self._schemas(self._full_name(name)[0])
                    tables = [table for table in self._tables.values() if table.schema in schemas]
                if not any(table.drop_unique(name[-1]) for table in tables):
                    self._skip("DROP INDEX")

    # -- ALTER TABLE -----------------------------------------------------------------------------------------------

    def _alter_table(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        reader.accept("IF", "EXISTS")
        reader.accept("ONLY")
        name = reader.qualified_name("a table")
        table = self._find(name)
        if table is None:
            self._skip("ALTER TABLE of another table")
            return
        reader.table = table.full_name
        reader.accept_symbol("*")
        if reader.at("WITH") and reader.word(1) in ("CHECK", "NOCHECK"):
            reader.next()
            reader.next()
        verb = ""
        for action in reader.parts():
            if verb and self.dialect in _VERB_ONCE:
                action.accept(verb)
            else:
                verb = action.accept_one(*_VERBS)
                if verb == "ADD" and action.word(3 if action.at("IF", "NOT", "EXISTS") else 0) in _NOT_ADDED:
                    verb = ""
            self._action(table, action, verb)
            while self.dialect == "oracle" and (more := action.accept_one(*_VERBS)):  # without a comma
                self._action(table, action, more)

    def _action(self, table: ScriptTable, action: Definitions, verb: str) -> None:
        """Apply one action, whose first word is ``verb``."""
        if verb == "CHANGE" and not self._at_alter_column(action):
            self._change(table, action)
        elif verb == "ADD":
            self._add(table, action)
        elif verb == "ALTER" and not action.at("COLUMN") and action.word() in _NOT_COLUMNS:
            self._skip("other ALTER TABLE")
        elif verb in ("ALTER", "CHANGE") or (verb == "MODIFY" and self.dialect == "snowflake"):
            for member in action.members() if action.at_symbol("(") else [action]:
                member.accept("COLUMN")
                self._alter_column(table, member)
        elif verb == "MODIFY":
            action.accept("COLUMN")
            for member in action.members() if action.at_symbol("(") else [action]:
                self._modify(table, member)
        elif verb == "RENAME":
            self._rename(table, action)
        elif verb == "REPLACE" and action.accept("COLUMNS"):
            table.columns = {key: each for key, each in table.columns.items() if key in table.partition_columns}
            self._add(table, action)
        elif verb == "DROP":
            table.drop(action)
        elif verb in ("ATTACH", "DETACH") and action.accept("PARTITION"):
            part = self._find(action.qualified_name("a table"))
            if part is not None:
                part.is_partition = verb == "ATTACH"
        elif verb == "SET" and action.accept("SCHEMA"):
            self._move(table, action.name("a schema"), table.name)
        elif verb == "SET" and action.accept("OPTIONS"):
            table.comment = action.description() or table.comment
        else:
            self._skip("other ALTER TABLE")

    def _add(self, table: ScriptTable, action: Definitions) -> None:
        action.accept_one("COLUMN", "COLUMNS")
        if_not_exists = action.accept("IF", "NOT", "EXISTS")
        for member in action.members() if action.at_symbol("(") else [action]:
            self._element(table, member, if_not_exists=if_not_exists)
        for key in [key for key in table.columns if key in table.partition_columns]:  # which stay the last ones
            table.columns[key] = table.columns.pop(key)

    def _alter_column(self, table: ScriptTable, action: Definitions) -> None:
        column = table.column(action, action.name("a column"))
        if action.accept("SET", "OPTIONS"):
            column.comment = action.description() or column.comment
        elif action.accept("SET", "DEFAULT"):
            column.default = action.expression()
        elif action.accept("DROP", "DEFAULT"):
            column.default = None
        elif action.accept("SET", "NOT", "NULL"):
            column.nullable = False
        elif action.accept("DROP", "NOT", "NULL"):
            column.nullable = True
        elif action.accept("DROP", "IDENTITY"):
            column.counts = False
        elif action.at("ADD", "GENERATED"):
            action.next()
            action.options(column)
        elif action.accept("COMMENT"):
            column.comment = action.string("a comment")
        elif action.at("FIRST") or action.at("AFTER"):
            action.options(column)
            table.move_column(column)
        elif action.accept("TYPE") or action.accept("SET", "DATA", "TYPE"):
            column.type, column.type_name = action.type()
        elif action.accept_one("SET", "ADD", "DROP", "RESET", "ENCODE", "UNSET"):
            self._skip("other ALTER TABLE")
        else:
            column.type, column.type_name = action.type()
            if self.dialect == "tsql":  # which says all of the column
                column.nullable = None
            action.options(column)

    def _at_alter_column(self, action: Definitions) -> bool:
        """Return whether a CHANGE of Spark is another word for ALTER COLUMN."""
        return self.dialect == "spark" and action.word(2 if action.at("COLUMN") else 1) in _COLUMN_CHANGES

    def _change(self, table: ScriptTable, action: Definitions) -> None:
        """Give a column a name and a type, as Hive does."""
        action.accept("COLUMN")
        column = table.column(action, action.name("a column"))
        table.rename_column(column, action.name("a column"))
        column.type, column.type_name = action.type()
        action.options(column)
        table.move_column(column)

    def _modify(self, table: ScriptTable, member: Definitions) -> None:
        """Change a column as Oracle does: what is not written stays."""
        member.table = table.full_name
        if member.accept_one("CONSTRAINT", "PRIMARY", "UNIQUE", "PARTITION", "DEFAULT", "LOB", "NESTED"):
            self._skip("other ALTER TABLE")
            return
        column = table.column(member, member.name("a column"))
        if not member.at_end and member.word() not in _OPTION_WORDS:
            column.type, column.type_name = member.type()
        member.options(column)
        table.keys_of_column(column)

    def _rename(self, table: ScriptTable, action: Definitions) -> None:
        if action.accept("TO"):
            self._move(table, table.schema, action.qualified_name("a table")[-1])
            return
        if action.accept("CONSTRAINT"):
            old = action.name()
            action.accept("TO")
            table.rename_key(old, action.name())
            return
        action.accept("COLUMN")
        column = table.column(action, action.name("a column"))
        action.accept("TO")
        new = action.name("a column")
        table.rename_column(column, new)

    def _move(self, table: ScriptTable, schema: str, name: str) -> None:
        self._tables.pop((to_lower(table.schema), to_lower(table.name)))
        table.schema, table.name = schema, name
        self._tables[to_lower(schema), to_lower(name)] = table

    # -- comments --------------------------------------------------------------------------------------------------

    def _comment(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        kind = reader.accept_one("TABLE", "COLUMN")
        if not kind:
            self._skip("COMMENT ON another object")
            return
        reader.accept("IF", "EXISTS")
        name = reader.qualified_name()
        if not reader.accept("IS"):
            reader.fail("IS")
        if kind == "COLUMN" and len(name) == 1:
            reader.statement.fail("a column's name has no table", reader.last.start, remedy="Write table.column")
        text = reader.token.text if reader.token.kind == "string" else ""
        table = self._find(name if kind == "TABLE" else name[:-1])
        if table is None:
            self._skip("COMMENT ON another object")
        elif kind == "TABLE":
            table.comment = text
        elif column := table.columns.get(to_lower(name[-1])):
            column.comment = text

    def _execute(self, reader: Definitions) -> None:
        """Run the procedures of SQL Server that change a type, a name or a description."""
        reader.next()
        procedure = to_lower(reader.qualified_name()[-1]) if reader.at_name else ""
        is_known = False
        if procedure == "sp_addtype":
            self._add_type(reader)
        elif procedure == "sp_rename":
            is_known = self._rename_object(_arguments(reader, ("objname", "newname", "objtype")))
        elif procedure == "sp_addextendedproperty":
            levels = (f"level{level}{part}" for level in (0, 1, 2) for part in ("type", "name"))
            is_known = self._describe(_arguments(reader, ("name", "value", *levels)))
        if not is_known:
            self._skip("EXEC")

    def _rename_object(self, given: dict[str, str]) -> bool:
        """Rename a table or column; return whether the script has it."""
        text, new, kind = (given.get(each, "") for each in ("objname", "newname", "objtype"))
        reader = self._read(SourceStatement(text, 0, text))
        if not reader.at_name or not new:
            return False
        name = reader.qualified_name()
        is_column = to_lower(kind) == "column"
        table = self._find(name[:-1] if is_column else name) if len(name) > is_column else None
        column = table.columns.get(to_lower(name[-1])) if table is not None and is_column else None
        if table is not None and column is not None:
            table.rename_column(column, new)
        elif table is not None and to_lower(kind) in ("", "object"):
            self._move(table, table.schema, new)
        else:
            return False
        return True

    def _describe(self, given: dict[str, str]) -> bool:
        """Read the description that SQL Server keeps as a property; return whether it is one of a table or column."""
        if to_lower(given.get("name", "")) != "ms_description" or to_lower(given.get("level1type", "")) != "table":
            return False
        table = self._find((given.get("level0name", self._schema), given.get("level1name", "")))
        if table is None:
            self._skip("COMMENT ON another object")
        elif not given.get("level2type"):
            table.comment = given.get("value", "")
        elif column := table.columns.get(to_lower(given.get("level2name", ""))):
            column.comment = given.get("value", "")
        return True

    def _rename_table(self, statement: SourceStatement) -> None:
        """Read RENAME of Oracle, after which sqlglot reads no words."""
        length = len("RENAME")
        rest = SourceStatement(statement.script, statement.start + length, statement.text[length:])
        reader = self._read(rest)
        table = self._find(reader.qualified_name("a table"))
        if table is None or not reader.accept("TO"):
            self._skip("RENAME")
        else:
            self._move(table, table.schema, reader.name("a table"))

    # -- types -----------------------------------------------------------------------------------------------------

    def _add_type(self, reader: Definitions) -> None:
        """Read ``sp_addtype name, 'type', 'NOT NULL'``."""
        parts = reader.parts()
        if len(parts) < 2 or not parts[0].token.text or parts[1].token.kind != "string":
            return
        text = f"{parts[1].token.text} {parts[2].token.text if len(parts) > 2 else ''}"
        statement = SourceStatement(text, 0, text)
        self._types[(to_lower(parts[0].token.text),)] = self._domain(self._read(statement))

    def _create_type(self, reader: Definitions) -> None:
        while reader.accept_one("CREATE", "OR", "REPLACE", "EDITIONABLE", "NONEDITIONABLE"):
            pass
        is_domain = reader.next().word == "DOMAIN"
        name = tuple(map(to_lower, reader.qualified_name("a type")))
        if is_domain:
            reader.accept("AS")
            self._types[name] = self._domain(reader)
        elif reader.accept("FROM"):  # of SQL Server
            self._types[name] = self._domain(reader)
        elif reader.accept("AS", "ENUM"):
            labels = [member.token.text for member in reader.members()]
            self._types[name] = EnumType(tuple(labels))
        elif reader.accept("AS", "RANGE") or reader.at_symbol("("):
            self._types[name] = TextType()
        elif reader.at("AS", "TABLE") and self.dialect == "tsql":  # of variables, not of columns
            self._skip("CREATE TYPE")
        elif (
            not reader.accept_one("AS", "IS")
            or reader.at_end
            or reader.word() in _OBJECT_WORDS
            or reader.at_symbol("(")
        ):
            self._types[name] = TextType(is_json=True)
        else:
            self._types[name] = self._domain(reader)

    def _domain(self, reader: Definitions) -> Domain:
        column = ColumnDefinition("", reader.token.start, reader.statement.script)
        column.type, column.type_name = reader.type()
        reader.options(column)
        return Domain(column)

    def _alter_type(self, reader: Definitions) -> None:
        reader.next()
        reader.next()
        name = type_name(reader.qualified_name("a type"), self._types)
        known = None if name is None else self._types[name]
        if name is None:
            self._skip("ALTER TYPE")
        elif reader.accept("RENAME", "TO"):
            self._rename_type(name, (*name[:-1], to_lower(reader.name("a type"))))
        elif reader.accept("SET", "SCHEMA"):
            self._rename_type(name, (to_lower(reader.name("a schema")), name[-1]))
        elif reader.accept("ADD", "VALUE") and isinstance(known, EnumType):
            reader.accept("IF", "NOT", "EXISTS")
            label, labels = reader.next().text, list(known.labels)
            place = len(labels)
            side = reader.accept_one("BEFORE", "AFTER")
            if side and reader.token.text in labels:
                place = labels.index(reader.token.text) + (side == "AFTER")
            if label not in labels:
                labels.insert(place, label)
            self._types[name] = EnumType(tuple(labels))
        elif reader.accept("RENAME", "VALUE") and isinstance(known, EnumType):
            old = reader.next().text
            reader.accept("TO")
            new = reader.next().text
            self._types[name] = EnumType(tuple(new if label == old else label for label in known.labels))
        else:
            self._skip("ALTER TYPE")

    def _rename_type(self, old: Name, new: Name) -> None:
        """Give a type another name, also where columns and other types have it."""
        columns = [column for table in self._tables.values() for column in table.columns.values()]
        columns += [known.column for known in self._types.values() if isinstance(known, Domain)]
        for column in columns:
            if type_name(column.type_name, self._types) == old:
                column.type_name = new
        self._types[new] = self._types.pop(old)

    # -- the result ------------------------------------------------------------------------------------------------

    def tables(self, script: str) -> tuple[SourceTable, ...]:
        """Return the tables. Raises the family of :class:`SchemaError`, with the place of the table or column."""
        made = [table for table in self._tables.values() if not table.is_partition]
        return tuple(table.built(script, self._types, self.lexicon, self.dialect) for table in made)

    def assumptions(self) -> tuple[str, ...]:
        """Return sentences about the script as a whole."""
        found = []
        if self._without_columns:
            found.append(
                f"These tables are left out, because their columns have no types in the script: "
                f"{', '.join(self._without_columns)}."
            )
        if not self.lexicon.enforces_keys and any(table.primary or table.unique for table in self._tables.values()):
            found.append(f"Keys are those of the script; {self.lexicon.title} does not check that they are unique.")
        if skipped := self._skipped_counts():
            found.append(f"Statements that make no table were skipped: {', '.join(skipped)}.")
        return tuple(found)

    def _skipped_counts(self) -> list[str]:
        attached = Counter({"partition": sum(table.is_partition for table in self._tables.values())})
        return [
            counted(count, what) if what.islower() else f"{count:,} {what}"
            for what, count in sorted((self._skipped + attached).items())
        ]


def _arguments(reader: Definitions, order: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a procedure by their names in lower case; ``order``: of those without a name."""
    given: dict[str, str] = {}
    for place, part in enumerate(reader.parts()):
        key = order[min(place, len(order) - 1)]
        if part.token.text.startswith("@"):
            key = part.next().text.lstrip("@") or part.next().text
            part.accept_symbol("=")
        given[to_lower(key)] = part.token.text
    return given


def _has_type(member: Definitions) -> bool:
    """Return whether a member of PARTITIONED BY is a column with its type."""
    reader = member.inside(member.rest())
    reader.name()
    return not reader.at_end and not reader.at_symbol("(")


def _label(words: tuple[str, ...]) -> str:
    """Return what a statement is, in a word or two."""
    if not words:
        return "other"
    if words[0] not in ("CREATE", "ALTER", "DROP"):
        return words[0] if len(words[0]) > 1 else "other"
    rest = [word for word in words[1:] if word not in _MODIFIERS or word == "UNIQUE"]
    return " ".join((words[0], *rest[:1]))
