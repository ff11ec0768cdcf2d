"""DDL of other systems as tables of TiDB: PostgreSQL, Oracle, SQL Server, Snowflake, BigQuery, Redshift, Spark, Hive.

    schema_sql(script, "postgres")

In: the text of a script, such as pg_dump's. Out: a :class:`~ticdc_emit.schema.frames.source_table.SourceTable` for
each table that the script leaves behind, and a sentence for each choice that it does not make. Names keep the case that
the system keeps them in. docs/schemas.md is the page for users; rule sources are the systems' manuals (lexical
structure).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_emit.errors import ConfigError, DdlError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.frames.source_table import SourceTable
from ticdc_emit.source_schemas.definitions import one_line
from ticdc_emit.source_schemas.source_script import (
    BACKQUOTES,
    DOLLARS,
    HASH_COMMENT,
    SLASH_COMMENT,
    Lexicon,
    statements,
)
from ticdc_emit.source_schemas.source_statements import Translation
from ticdc_emit.sql.script import refuse_path

_ESCAPED_STRING = r"\bE'(?:\\.|''|[^'\\])*'"
_LONG_STRINGS = (r'"""(?:\\.|[^\\])*?"""', r"'''(?:\\.|[^\\])*?'''")
_SQL_PLUS = (
    r"(?:REM|REMARK|PROMPT|SET|SPOOL|WHENEVER|DEF|DEFINE|UNDEFINE|COLUMN|ACCEPT|VARIABLE|EXECUTE|EXEC|CONNECT|CONN|START|"
    r"HOST|EXIT|QUIT|SHOW|PAUSE|TTITLE|CLEAR|ALTER\s+SESSION(?!\s+SET\s+CURRENT_SCHEMA)|DISCONNECT|DESC|DESCRIBE)\b|"
    r"@|/[ \t]*\r?$|!"
)
_BATCHES = (
    r"^[ \t]*GO[ \t]*\d*[ \t]*\r?$|"
    r"(?<![\w\[])(?=(?:CREATE|ALTER|DROP)\s+(?:EXTERNAL\s+)?TABLE\b)|"
    r"^[ \t]*(?=(?:CREATE|ALTER|DROP)\s+(?:UNIQUE|INDEX|CLUSTERED|NONCLUSTERED|TYPE|SCHEMA|DATABASE|VIEW|SEQUENCE|PROC|"
    r"FUNCTION|TRIGGER|ROLE|USER|LOGIN)|(?:INSERT|EXEC|EXECUTE|PRINT|USE|IF|BEGIN|END|GRANT|DECLARE|SELECT|"
    r"UPDATE(?!\s+(?:CASCADE|NO|SET)))\b|"
    r"SET\s+(?!NULL|DEFAULT))"
)
DIALECTS: Mapping[str, Lexicon] = {
    "postgres": Lexicon(
        "PostgreSQL",
        "postgres",
        "lower",
        schema="public",
        pieces=(_ESCAPED_STRING, DOLLARS),
        client=r"\\",
        nests_comments=True,
    ),
    "oracle": Lexicon(
        "Oracle",
        "oracle",
        "upper",
        pieces=(r"\bN?Q'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<q>[^\s\[{(<]).*?(?P=q))'",),
        ends=r"^[ \t]*/[ \t]*\r?$",
        client=_SQL_PLUS,
        routine=r"(?:DECLARE|BEGIN)\b|CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?"
        r"(?:FUNCTION|PROCEDURE|TRIGGER|PACKAGE|TYPE\s+BODY|JAVA)\b",
        routine_end=r"^[ \t]*/[ \t]*\r?$",
    ),
    "tsql": Lexicon(
        "SQL Server",
        "tsql",
        schema="dbo",
        pieces=(r"\[(?:\]\]|[^\]])*\]",),
        ends=_BATCHES,
        client=r"GO[ \t]*\d*[ \t]*\r?$",
        routine=r"(?:CREATE|ALTER)\s+(?:OR\s+ALTER\s+)?(?:PROC|PROCEDURE|FUNCTION|TRIGGER|VIEW)\b",
        routine_end=r"^[ \t]*GO[ \t]*\d*[ \t]*\r?$",
        nests_comments=True,
    ),
    "snowflake": Lexicon(
        "Snowflake",
        "snowflake",
        "upper",
        schema="PUBLIC",
        pieces=(DOLLARS, SLASH_COMMENT),
        backslashes=True,
        client=r"!",
        has_identifiers=True,
        enforces_keys=False,
    ),
    "bigquery": Lexicon(
        "BigQuery",
        "bigquery",
        pieces=(*_LONG_STRINGS, BACKQUOTES, HASH_COMMENT),
        backslashes=True,
        routine=r"CREATE\s+(?:OR\s+REPLACE\s+)?PROCEDURE\b",
        routine_end=r"^[ \t]*END[ \t]*;",
        enforces_keys=False,
    ),
    "redshift": Lexicon(
        "Redshift", "redshift", "lower", "lower", schema="public", pieces=(DOLLARS,), enforces_keys=False
    ),
    "spark": Lexicon(
        "Spark",
        "databricks",
        pieces=(BACKQUOTES,),
        backslashes=True,
        schema="default",
        ends=r"^-- COMMAND -+[ \t]*\r?$",
        joins_strings=True,
        has_identifiers=True,
        enforces_keys=False,
    ),
    "hive": Lexicon(
        "Hive",
        "hive",
        "lower",
        "lower",
        pieces=(BACKQUOTES,),
        backslashes=True,
        schema="default",
        joins_strings=True,
        doubles_quotes=False,
        enforces_keys=False,
    ),
}
"""How each dialect writes its scripts."""

_OTHER_NAMES = {
    "postgresql": "postgres",
    "pg": "postgres",
    "sqlserver": "tsql",
    "mssql": "tsql",
    "databricks": "spark",
}
_OWN_NAMES = ("tidb", "mysql", "mariadb")


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
        known = [*DIALECTS, *_OTHER_NAMES]
        raise ConfigError(
            f"{name!r} is not a dialect of a schema",
            remedy=f"{did_you_mean(name, known)}Choose one: {', '.join(DIALECTS)}; leave it out for TiDB and MySQL",
            option="schema-dialect",
        )
    return found


@dataclass(frozen=True)
class SourceSchema:
    """The tables of a script. ``dialect``: of the script. ``assumptions``: sentences about the script as a whole."""

    dialect: str
    tables: tuple[SourceTable, ...]
    assumptions: tuple[str, ...] = ()

    def sql(self) -> str:
        """Return the script in TiDB's SQL, with what was assumed as comments before each table."""
        lines = [f"-- A schema of {DIALECTS[self.dialect].title} in TiDB's SQL."]
        lines += [f"-- {one_line(each)}" for each in self.assumptions]
        return "\n\n".join(("\n".join(lines), *(table.script() for table in self.tables)))


def source_schema(text: str, dialect: str, *, schema: str = "test") -> SourceSchema:
    """Read a script of another system and return its tables.

    ``dialect``: ``postgres``, ``oracle``, ``tsql`` (SQL Server), ``snowflake``, ``bigquery``, ``redshift``, ``spark``
    (Databricks) or ``hive``. ``schema``: the database of tables whose name has no schema. A schema of the system is a
    database of TiDB; what is left of it in a longer name is left out.

    Raises :class:`DdlError` for text that is not the dialect's, with its place;
    :class:`~ticdc_emit.errors.UnsupportedTypeError` for a type without an equal; :class:`SchemaError` for what TiDB
    refuses.
    """
    name = dialect_of(dialect)
    refuse_path(text)
    translation = Translation(name, DIALECTS[name], schema)
    for statement in statements(text, translation.lexicon):
        translation.run(statement)
    tables, assumptions = translation.tables(text), translation.assumptions()
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
