"""Scripts of other databases as ``CREATE TABLE`` of TiDB: dumps of PostgreSQL, and what sqlglot reads of others.

CREATE TABLE, what dumps add to a table (ALTER TABLE, unique indexes, comments) and types count; other statements are
skipped and counted. A change of a table that dumps do not write is refused.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, TypeAlias

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.dialect import Dialect, Dialects, NormalizationStrategy
from sqlglot.errors import ParseError, SqlglotError

from ticdc_emit.errors import ConfigError, DdlError, MissingColumnError, SchemaError, UnsupportedTypeError
from ticdc_emit.hints import counted, did_you_mean
from ticdc_emit.schema.frames.source_table import SourceColumn, SourceTable, TypeChoice, may_be_in_key, no_default
from ticdc_emit.schema.script_types import JSON_VALUE, counts_up, default_of, enum_type, tidb_type, type_name
from ticdc_emit.sql.script import place_in, refuse_path
from ticdc_emit.sql.words import quoted, to_lower

__all__ = ["DIALECTS", "SourceSchema", "schema_sql", "source_schema"]

_OWN_NAMES = ("tidb", "mysql", "mariadb")
_NO_DATABASES = ("", "dax", "prql", "solr", "tableau", "mysql")
DIALECTS = tuple(each.value for each in Dialects if each.value not in _NO_DATABASES)
"""The dialects that scripts may be in: those that sqlglot reads."""

_OTHER_NAMES = {"postgresql": "postgres", "pg": "postgres", "sqlserver": "tsql", "mssql": "tsql"}
_TITLES = {"postgres": "PostgreSQL", "tsql": "SQL Server"}
_LOWER_CASE = ("athena", "hive", "presto", "redshift", "trino")
"""Systems that ignore the case of names, and keep them in lower case."""

_KEYS_UNCHECKED = ("athena", "bigquery", "databricks", "hive", "redshift", "snowflake", "spark")

_COPIED = re.compile(
    r"^COPY\b[^;]*\bFROM\s+stdin\b[^;]*;[^\n]*\n(?:.*?^\\\.[ \t]*\r?$|.*)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_OF_CLIENT = re.compile(
    r"^(?:\\.*|[ \t]*GO[ \t\d]*|[ \t]*/[ \t]*|-- COMMAND -+[ \t]*)\r?$", re.MULTILINE | re.IGNORECASE
)
"""Lines that the system's own client reads, which end a statement."""

_REWRITTEN = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), text)
    for pattern, text in (
        (r"\bADD\s+GENERATED\s+(ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY\b.*", "SET DEFAULT nextval('')"),
        (r"^CREATE\s+TYPE\s+(\S+)(?:\s+AS\s+RANGE\b.*|\s*\(.*|)$", r"CREATE TABLE \1 (domain point)"),
        (r"^CREATE\s+(?:DOMAIN|TYPE)\s+(\S+)\s+(?:AS\s+|FROM\s+)?(.*)", r"CREATE TABLE \1 (domain \2)"),
        (r"^SET\s+search_path\s*(?:=|\bTO\b)\s*(?!pg_catalog|'|\"?\$)([^\s,]+).*", r"USE \1"),
        (r"\bATTACH\s+PARTITION\s+(.*?)\s+(FOR\s+VALUES|DEFAULT)\b.*", r"RENAME TO \1"),
        (r"\bbit\s+varying\b", "varbit"),
        (r"\bnational\s+(?=char)|\bWITHOUT\s+OVERLAPS\b", ""),
        (r"(?<=\))\s*VIRTUAL\b", " STORED"),
        (r"(?<=second|terval)\s*\(\d\)", ""),
        (r"\b(numeric)\s*\(\d+,\s*-\d+\)", r"\1"),
        (r"(?<=\sON)\s+ONLY\b", ""),
        (r"\b(USING\s+INDEX\s+)?ENABLE\b", ""),
    )
)
"""What sqlglot does not read, as something that it reads."""

_MODIFIERS = ("OR", "REPLACE", "GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "EXTERNAL", "UNLOGGED", "UNIQUE", "TRANSIENT")
_READ = (
    *("CREATE TABLE", "CREATE TYPE", "CREATE DOMAIN", "CREATE INDEX", "DROP TABLE", "other ALTER TABLE", "COMMENT"),
    *("USE", "SET"),
)
_DEFECTS = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError)
"""What sqlglot raises for text that is not SQL."""

_COUNTING = re.compile(r"(?:TINY|SMALL|MEDIUM|BIG)?INT\b")
_WHOLE = re.compile(r"DECIMAL\((?:\d+,0|65,30)\)")
_CHECK, _FOREIGN, _EXCLUSION, _COLLATION = "CHECK constraint", "foreign key", "EXCLUDE constraint", "collation"
_LEFT_OUT: Mapping[type[exp.Expr], str] = {
    exp.CheckColumnConstraint: _CHECK,
    exp.ForeignKey: _FOREIGN,
    exp.Reference: _FOREIGN,
    exp.ExcludeColumnConstraint: _EXCLUSION,
    exp.CollateColumnConstraint: _COLLATION,
}
Name: TypeAlias = tuple[str, str]


@dataclass
class _Column:
    """``nullable``: ``None`` if it is not written. ``generated``: the text of an expression, "" for none."""

    name: str
    offset: int
    type: exp.DataType | None = None
    nullable: bool | None = None
    default: exp.Expr | None = None
    generated: str = ""
    counts: bool = False
    comment: str = ""


@dataclass
class _Table:
    """``columns``: by name as TiDB compares it. ``offset``: in the script. ``is_partition``: its rows are another's."""

    schema: str
    name: str
    offset: int
    columns: dict[str, _Column] = field(default_factory=dict)
    primary: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    comment: str = ""
    is_partition: bool = False
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class SourceSchema:
    """The tables of a script. ``dialect``: of the script. ``assumptions``: sentences about the script as a whole."""

    dialect: str
    tables: tuple[SourceTable, ...]
    assumptions: tuple[str, ...] = ()

    def sql(self) -> str:
        """Return the script in TiDB's SQL, with what was assumed as comments before each table."""
        lines = [f"-- A schema of {_title(self.dialect)} in TiDB's SQL.", *(f"-- {each}" for each in self.assumptions)]
        return "\n\n".join(("\n".join(lines), *(table.script() for table in self.tables)))


def source_schema(text: str, dialect: str, *, schema: str = "test") -> SourceSchema:
    """Read a script of another system and return its tables.

    ``dialect``: ``postgres``, ``oracle``, ``tsql`` (SQL Server), ``snowflake``, ``bigquery``, ``redshift``, ``spark``,
    ``hive``, or another that sqlglot reads. ``schema``: the database of tables whose name has no schema. A schema of
    the system is a database of TiDB; what is left of it in a longer name is left out.

    Raises :class:`DdlError` with its place, :class:`~ticdc_emit.errors.UnsupportedTypeError` and :class:`SchemaError`.
    """
    name = dialect_of(dialect)
    refuse_path(text)
    script = _Script(text, name, schema)
    script.run()
    made = [table for table in script.tables.values() if not table.is_partition]
    tables, assumptions = tuple(map(script.built, made)), tuple(script.assumptions())
    if not tables:
        raise DdlError(
            " ".join(("the script makes no table.", *assumptions)),
            remedy="Give CREATE TABLE statements with columns and types",
            statement=text,
            position=0,
        )
    return SourceSchema(name, tables, assumptions)


def schema_sql(text: str, dialect: str, *, schema: str = "test") -> str:
    """Return the tables of a script of another system in TiDB's SQL, for everything that takes DDL.

        TicdcSink(uri, schema_sql(script, "postgres"))

    What was assumed is in the comments. Arguments and errors are those of :func:`source_schema`.
    """
    return source_schema(text, dialect, schema=schema).sql()


def dialect_of(name: str) -> str:
    """Return a dialect by its name or another name of it. Raises :class:`ConfigError` for an unknown one."""
    plain = name.lower().replace(" ", "").replace("_", "").replace("-", "")
    found = _OTHER_NAMES.get(plain, plain)
    if found in _OWN_NAMES:
        raise ConfigError(
            f"{name!r} is not a dialect of a schema: TiDB reads its SQL as it is",
            remedy="Give the schema without a dialect",
            option="schema-dialect",
        )
    if found not in DIALECTS:
        raise ConfigError(
            f"{name!r} is not a dialect of a schema",
            remedy=f"{did_you_mean(name, [*DIALECTS, *_OTHER_NAMES])}Choose one: {', '.join(DIALECTS)}; leave it out "
            "for TiDB and MySQL",
            option="schema-dialect",
        )
    return found


def _title(dialect: str) -> str:
    return _TITLES.get(dialect) or type(Dialect.get_or_raise(dialect)).__name__


class _Script:
    def __init__(self, text: str, dialect: str, schema: str) -> None:
        self.text, self.dialect, self.schema = text, dialect, schema
        self.tables: dict[Name, _Table] = {}
        self._reader = Dialect.get_or_raise(dialect)
        self._types: dict[Name, tuple[TypeChoice, _Column | None]] = {}
        self._skipped: Counter[str] = Counter()
        self._without_columns: list[str] = []
        self._start = 0
        self._statement = ""

    # -- statements --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Read all statements. Raises :class:`DdlError` with its place for one that makes a table and has no tree."""
        log = logging.getLogger("sqlglot")
        was_silent, log.disabled = log.disabled, True  # it warns of each statement that it does not know
        try:
            for start, statement, words in self._statements():
                self._start, self._statement = start, statement
                label = _label(words)
                tree = self._tree(label) if label in _READ else None
                if tree is None or not self._apply(tree):
                    self._skipped[label] += 1
        finally:
            log.disabled = was_silent

    def _statements(self) -> Iterator[tuple[int, str, list[str]]]:
        text = self.text
        for lines in (_COPIED, _OF_CLIENT):
            text = lines.sub(lambda found: ";" + re.sub(r"[^\n]", " ", found[0])[1:], text)
        try:
            tokens = self._reader.tokenize(text.replace("\ufeff", " "))
        except _DEFECTS as error:
            self._fail(f"the script cannot be read: {error}", 0)
        current, depth = list[Any](), 0
        for token, following in zip(tokens, [*tokens[1:], None], strict=False):
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            is_table = token.text.upper() == "CREATE" and following is not None and following.text.upper() == "TABLE"
            begins = is_table and depth == 0 and self.dialect in ("tsql", "fabric")  # which have no semicolons
            if current and (begins or token.token_type is TokenType.SEMICOLON):
                yield self._part(current)
                current = []
            if token.token_type is not TokenType.SEMICOLON:
                current.append(token)
        if current:
            yield self._part(current)

    def _part(self, tokens: Sequence[Any]) -> tuple[int, str, list[str]]:
        start = tokens[0].start
        return start, self.text[start : tokens[-1].end + 1], [token.text.upper() for token in tokens[:8]]

    def _tree(self, label: str) -> exp.Expr | None:
        first: Exception | None = None
        for reading in self._readings():
            try:
                tree = self._reader.parser(error_level=ErrorLevel.IMMEDIATE).parse(
                    self._reader.tokenize(reading), reading
                )[0]
            except _DEFECTS as error:
                first = first or error
                continue
            if tree is not None and not isinstance(tree, exp.Command):
                return tree
        if first is not None and label == "CREATE TABLE":
            found = first.errors[0] if isinstance(first, ParseError) and first.errors else {}
            near = f" near {found['highlight']}" if found.get("highlight") else ""
            before = self._statement.split("\n")[: found.get("line", 1) - 1]
            column = max(found.get("col", 1) - len(found.get("highlight", "")), 0)
            offset = sum(len(line) + 1 for line in before) + column
            message = str(found.get("description", first)).rstrip(".")
            self._fail(f"sqlglot does not read the statement: {message}{near}", offset)
        return None

    def _readings(self) -> Iterator[str]:
        if self._statement[:4].upper() != "SET ":  # of which USE is made
            yield self._statement
        rewritten = self._statement
        for pattern, text in _REWRITTEN:
            rewritten = pattern.sub(partial(_padded, text), rewritten)
        if rewritten != self._statement:
            yield rewritten
        for text in (self._statement, rewritten):
            depth = 0
            for token in self._reader.tokenize(text):
                depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
                if token.token_type is TokenType.R_PAREN and depth == 0:
                    yield text[: token.end + 1]
                    break

    def _apply(self, tree: exp.Expr) -> bool:
        match tree, str(tree.args.get("kind") or "").upper():
            case exp.Create(), "TABLE" if re.match(r"CREATE\s+(DOMAIN|TYPE)\b", self._statement, re.IGNORECASE):
                made = _Table("", "", 0)  # rewritten
                self._element(made, tree.this.expressions[0])
                for column in made.columns.values():
                    with suppress(UnsupportedTypeError):
                        self._types[self._key(tree.this.this)] = self._choice(column), column
            case exp.Create(), "TABLE":
                return self._create_table(tree)
            case exp.Create(), "TYPE":
                made, target = tree.expression, tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
                is_enum = isinstance(made, exp.DataType) and made.this is exp.DType.ENUM
                self._types[self._key(target)] = enum_type(made) if is_enum else TypeChoice("JSON", JSON_VALUE), None
            case exp.Create(), "INDEX" if tree.args.get("unique"):
                return self._unique_index(tree)
            case exp.Drop(), "TABLE":
                for each in tree.find_all(exp.Table):
                    self.tables.pop(self._key(each), None)
            case exp.Alter(), "TABLE":
                return self._alter_table(tree)
            case exp.Comment(), "TABLE" | "COLUMN":
                return self._comment(tree)
            case exp.Use(), "" | "SCHEMA" if self.dialect != "tsql":
                self.schema = self._text(tree.this.this)
            case _:
                return False
        return True

    def _fail(self, message: str, offset: int, remedy: str = "", **context: str) -> NoReturn:
        raise DdlError(
            message,
            remedy=remedy or "Correct it, or leave the statement out",
            statement=self._statement,
            position=offset,
            place=place_in(self.text, self._start + offset),
            **context,
        )

    # -- names -------------------------------------------------------------------------------------------------------

    def _text(self, identifier: exp.Expr) -> str:
        name = identifier.name
        if self._reader.normalization_strategy in (NormalizationStrategy.LOWERCASE, NormalizationStrategy.UPPERCASE):
            return self._reader.normalize_identifier(identifier.copy()).name
        return name.lower() if self.dialect in _LOWER_CASE else name

    def _name(self, table: exp.Expr) -> Name:
        schema = table.args.get("db")
        return (self.schema if schema is None else self._text(schema)), self._text(table.this)

    def _key(self, table: exp.Expr) -> Name:
        schema, name = self._name(table)
        return to_lower(schema), to_lower(name)

    def _names(self, members: Iterable[exp.Expr]) -> tuple[str | None, ...]:
        found: list[str | None] = []
        for each in members:
            while isinstance(each, exp.Ordered | exp.Column | exp.Opclass | exp.Collate):
                each = each.this
            found.append(self._text(each) if isinstance(each, exp.Identifier) else None)
        return tuple(found)

    # -- tables ------------------------------------------------------------------------------------------------------

    def _create_table(self, tree: exp.Create) -> bool:
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        if target.this is None or not target.name:
            self._fail("the table has no name", 0)
        properties = tree.args["properties"].expressions if tree.args.get("properties") else []
        kinds = {type(each) for each in properties}
        if exp.TemporaryProperty in kinds or exp.PartitionedOfProperty in kinds or target.this.args.get("temporary"):
            self._skipped["partition" if exp.PartitionedOfProperty in kinds else "temporary table"] += 1
            return True
        offset = target.this.meta.get("start", 0)
        schema, name = self._name(target)
        table, key = _Table(schema, name, self._start + offset), self._key(target)
        if other := self.tables.get(key):
            if tree.args.get("exists"):
                return True
            if not tree.args.get("replace"):
                message = f"the table {table.full_name} is created twice"
                if other.full_name != table.full_name:
                    message = f"{other.full_name} and {table.full_name} have one name in TiDB, which ignores case"
                self._fail(message, offset, table=table.full_name)
        for each in properties:
            match each:
                case exp.InheritsProperty():
                    for parent in each.expressions:
                        inherited = self.tables.get(self._key(parent))
                        own = {} if inherited is None else inherited.columns
                        table.columns |= {name: replace(column) for name, column in own.items()}
                case exp.SchemaCommentProperty():
                    table.comment = each.this.name
                case exp.Property() if each.name == "description":
                    table.comment = each.args["value"].name
                case exp.PartitionedByProperty():
                    table.left_out["partitioning"] += 1
        for element in tree.this.expressions if isinstance(tree.this, exp.Schema) else ():
            self._element(table, element)
        for each in properties:
            if isinstance(each, exp.PartitionedByProperty) and isinstance(each.this, exp.Schema):  # Hive's own columns
                for element in each.this.find_all(exp.ColumnDef):
                    self._element(table, element)
        self.tables.pop(key, None)
        if table.columns:
            self.tables[key] = table
        else:
            self._without_columns.append(table.full_name)
        return True

    def _element(self, table: _Table, element: exp.Expr) -> None:
        match element:
            case exp.ColumnDef():
                self._column(table, element)
            case exp.Constraint():
                kinds = {type(each) for each in element.expressions}
                for each in element.expressions:
                    if isinstance(each, exp.ClusteredColumnConstraint | exp.NonClusteredColumnConstraint):
                        self._add_key(table, each.this, is_primary=exp.PrimaryKeyColumnConstraint in kinds)
                    else:
                        self._element(table, each)
            case exp.PrimaryKey():
                self._add_key(table, element.expressions, is_primary=True)
            case exp.UniqueColumnConstraint() if isinstance(element.this, exp.Schema):
                self._add_key(table, element.this.expressions)
            case exp.Identifier() if table.columns:
                name, offset = self._text(element), element.meta.get("start", 0)
                self._fail(f"{name} has no type", offset, "Write one", table=table.full_name, column=name)
            case exp.LikeProperty():
                self._fail("the table is LIKE another one", 0, "Write its columns", table=table.full_name)
            case _:
                if what := _LEFT_OUT.get(type(element)):
                    table.left_out[what] += 1

    def _add_key(self, table: _Table, members: Iterable[exp.Expr], *, is_primary: bool = False) -> None:
        names = tuple(name for name in self._names(members) if name is not None)
        if is_primary:
            table.primary = names
        else:
            table.unique.append(names)

    def _column(self, table: _Table, definition: exp.ColumnDef) -> None:
        offset = definition.this.meta.get("start", 0)
        column = _Column(self._text(definition.this), self._start + offset, definition.kind)
        if to_lower(column.name) in table.columns:
            if definition.args.get("exists"):
                return
            self._fail(f"the column {column.name} is there twice", offset, table=table.full_name, column=column.name)
        table.columns[to_lower(column.name)] = column
        serial = (exp.DType.SMALLSERIAL, exp.DType.SERIAL, exp.DType.BIGSERIAL)
        if column.type is not None and (column.type.this in serial or type_name(column.type)[:6].lower() == "serial"):
            column.counts, column.nullable = True, False
        for constraint in definition.constraints:
            self._option(table, column, constraint.kind)

    def _option(self, table: _Table, column: _Column, option: exp.Expr) -> None:
        match option:
            case exp.NotNullColumnConstraint():
                column.nullable = bool(option.args.get("allow_null"))
            case exp.DefaultColumnConstraint():
                column.default = option.this
            case exp.PrimaryKeyColumnConstraint():
                table.primary = (column.name,)
            case exp.UniqueColumnConstraint():
                table.unique.append((column.name,))
            case exp.CommentColumnConstraint():
                column.comment = option.this.name
            case exp.GeneratedAsIdentityColumnConstraint() if option.expression:
                column.generated = option.expression.sql(self._reader)
            case exp.GeneratedAsIdentityColumnConstraint() | exp.AutoIncrementColumnConstraint():
                column.counts = True
                if column.nullable is None and self.dialect != "snowflake":
                    column.nullable = False
            case exp.ComputedColumnConstraint():
                column.generated = option.this.sql(self._reader)
            case exp.Properties():
                comments = [each.args["value"].name for each in option.expressions if each.name == "description"]
                column.comment = "".join(comments)
            case _:
                if what := _LEFT_OUT.get(type(option)):
                    table.left_out[what] += 1

    # -- what is added to tables -------------------------------------------------------------------------------------

    def _alter_table(self, tree: exp.Alter) -> bool:
        table, actions = self.tables.get(self._key(tree.this)), tree.args.get("actions") or []
        if table is None:
            return False
        if re.search(r"\bATTACH\s+PARTITION\b", self._statement, re.IGNORECASE):  # rewritten
            if part := self.tables.get(self._key(actions[0].this)):
                part.is_partition = True
            return True
        for action in actions:
            match action:
                case exp.ColumnDef():
                    self._column(table, action)
                case exp.AddConstraint():
                    for each in action.expressions:
                        self._element(table, each)
                case exp.AlterColumn():
                    self._alter_column(table, action)
                case exp.Drop() | exp.RenameColumn() | exp.AlterRename():
                    self._fail(
                        "ALTER TABLE that drops or renames is not read in a script of another system",
                        0,
                        "Write the table in CREATE TABLE as it is in the end",
                        table=table.full_name,
                    )
                case _:
                    return False
        return True

    def _alter_column(self, table: _Table, action: exp.AlterColumn) -> None:
        column = table.columns.get(to_lower(self._text(action.this)))
        if column is None:
            shown = [each.name for each in table.columns.values()]
            self._fail(
                f"the table has no column {action.this.name}",
                action.this.meta.get("start", 0),
                f"{did_you_mean(action.this.name, shown)}It has: {', '.join(shown)}",
                table=table.full_name,
                column=action.this.name,
            )
        given = action.args
        if given.get("dtype"):
            column.type = given["dtype"]
        if given.get("default"):
            column.default = given["default"]
        elif given.get("allow_null") is not None:
            column.nullable = bool(given["allow_null"])
        elif given.get("drop"):
            column.default = None
        if given.get("comment"):
            column.comment = given["comment"].name

    def _unique_index(self, tree: exp.Create) -> bool:
        index = tree.this
        table = self.tables.get(self._key(index.args["table"])) if index.args.get("table") else None
        parameters = index.args.get("params")
        if table is None or parameters is None:
            return False
        names = self._names(parameters.args.get("columns") or [])
        if parameters.args.get("where"):
            table.left_out["unique index with WHERE"] += 1
        elif None in names or not names:
            table.left_out["unique index over an expression"] += 1
        else:
            table.unique.append(tuple(map(str, names)))
        return True

    def _comment(self, tree: exp.Comment) -> bool:
        target, is_column = tree.this, isinstance(tree.this, exp.Column)
        owner = exp.Table(this=target.args.get("table"), db=target.args.get("db")) if is_column else target
        table = self.tables.get(self._key(owner)) if owner.this is not None else None
        if table is None:
            return False
        if not is_column:
            table.comment = tree.expression.name
        elif column := table.columns.get(to_lower(self._text(target.this))):
            column.comment = tree.expression.name
        return True

    # -- the result --------------------------------------------------------------------------------------------------

    def built(self, table: _Table) -> SourceTable:
        """Return a table in TiDB's SQL. Raises the family of :class:`SchemaError`, with the place in the script."""
        notes: list[str] = []
        columns = [made for column in table.columns.values() if (made := self._built(table, column, notes))]
        names = {to_lower(column.name): column for column in columns}
        unique: list[tuple[str, ...]] = []
        for key in table.unique:
            kinds = [names[to_lower(each)].type for each in key if to_lower(each) in names]
            if len(kinds) < len(key) and all(to_lower(each) in table.columns for each in key):
                notes.append(f"The unique key ({', '.join(map(quoted, key))}) is left out with its column.")
            elif not all(map(may_be_in_key, kinds)):
                shown = ", ".join(map(quoted, key))
                notes.append(f"The unique key ({shown}) is left out: JSON and VECTOR have none in TiDB.")
            elif len(set(key)) == len(key) and key not in (table.primary, *unique):
                unique.append(key)
        if table.left_out:
            listed = ", ".join(
                what if what == "partitioning" else counted(count, what, _plural(what))
                for what, count in sorted(table.left_out.items())
            )
            notes.append(f"Left out: {listed}.")
        for name in map(to_lower, table.primary):
            if name in names:
                columns[columns.index(names[name])] = replace(names[name], nullable=False)
        while True:
            try:
                return SourceTable.of(
                    table.schema,
                    table.name,
                    columns,
                    table.primary,
                    unique=unique,
                    comment=table.comment,
                    assumptions=notes,
                )
            except (SchemaError, MissingColumnError) as error:
                place, name = table.offset, to_lower(str(error.context.get("column", "")))
                if name in table.columns:
                    place = table.columns[name].offset
                at = next((each for each, column in enumerate(columns) if to_lower(column.name) == name), None)
                if at is None or columns[at].default is None:
                    raise self._placed(error, table, place) from None
                notes.append(f"`{columns[at].name}` {no_default(str(columns[at].default))}")
                columns[at] = replace(columns[at], default=None)

    def _placed(self, error: SchemaError | MissingColumnError, table: _Table, offset: int) -> SchemaError:
        context = {"table": table.full_name, "place": place_in(self.text, offset)}
        kind = type(error) if isinstance(error, SchemaError) else SchemaError
        return kind(error.message, remedy=error.remedy, **{**error.context, **context})

    def _built(self, table: _Table, column: _Column, notes: list[str]) -> SourceColumn | None:
        shown = quoted(column.name)
        if column.type is None:
            notes.append(f"{shown} is left out, because {column.generated} has no equal in TiDB.")
            return None
        _, domain = self._type_of(column.type) or (None, None)
        own = [column, domain] if domain is not None else [column]
        try:
            choice = self._choice(column)
        except UnsupportedTypeError as error:
            message = f"Column `{column.name}`: {error.message}"
            remedy = f"{error.remedy}, or leave the column out"
            wrong = UnsupportedTypeError(message, remedy=remedy, column=column.name)
            raise self._placed(wrong, table, column.offset) from None
        nullable = next((each.nullable for each in own if each.nullable is not None), True)
        default = next((each.default for each in own if each.default is not None), None)
        made = SourceColumn(column.name, choice.text, nullable, comment=column.comment, assumption=choice.assumption)
        if column.generated:
            notes.append(
                f"{shown} is a plain column, because {column.generated} has no equal in TiDB: give its values."
            )
        elif column.counts or (default is not None and counts_up(default)):
            is_whole = _WHOLE.fullmatch(choice.text)
            if is_whole:
                because = f"counts up, so it is BIGINT instead of {column.type.sql(self._reader)}."
                made = replace(made, type="BIGINT", assumption=because)
            if is_whole or _COUNTING.match(choice.text):
                return replace(made, auto_increment=True)
            notes.append(f"{shown} does not count up in TiDB, because it is not a whole number.")
        elif default is not None and not isinstance(default, exp.Null):
            found = default_of(default, choice, self.dialect)
            if found is None:
                notes.append(f"{shown} {no_default(default.sql(self._reader))}")
            elif found:
                made = replace(made, default=found)
        return made

    def _type_of(self, kind: exp.DataType) -> tuple[TypeChoice, _Column | None] | None:
        named = kind.args.get("kind")
        if not isinstance(named, exp.Expr):
            return None
        name = to_lower(self._text(named.expression if isinstance(named, exp.Dot) else named))
        schema = to_lower(self._text(named.this)) if isinstance(named, exp.Dot) else to_lower(self.schema)
        known = [each for each in self._types if each[1] == name]
        return self._types[(schema, name) if (schema, name) in known else known[0]] if known else None

    def _choice(self, column: _Column) -> TypeChoice:
        assert column.type is not None
        found = self._type_of(column.type)
        return tidb_type(column.type, self.dialect) if found is None else found[0]

    def assumptions(self) -> Iterator[str]:
        if self._without_columns:
            yield (
                f"These tables are left out, because their columns have no types in the script: "
                f"{', '.join(self._without_columns)}."
            )
        if self.dialect in _KEYS_UNCHECKED and any(table.primary or table.unique for table in self.tables.values()):
            yield f"Keys are those of the script; {_title(self.dialect)} does not check that they are unique."
        partitions = Counter({"partition": sum(table.is_partition for table in self.tables.values())})
        if skipped := self._skipped + partitions:
            listed = (
                counted(count, what) if what.islower() else f"{count:,} {what}"
                for what, count in sorted(skipped.items())
            )
            yield f"Statements that make no table were skipped: {', '.join(listed)}."


def _padded(text: str, found: re.Match[str]) -> str:
    return found.expand(text).ljust(len(found[0]))


def _plural(what: str) -> str:
    noun, *more = re.split("(?= over | with )", what, maxsplit=1)
    return f"{noun}{'es' if noun.endswith('x') else 's'}{''.join(more)}"


def _label(words: Sequence[str]) -> str:
    if words[0] not in ("CREATE", "ALTER", "DROP"):
        return words[0] if words[0].isalpha() else "other"
    rest = [word for word in words[1:] if word not in _MODIFIERS]
    return "other ALTER TABLE" if words[0] == "ALTER" and rest[:1] == ["TABLE"] else " ".join((words[0], *rest[:1]))
