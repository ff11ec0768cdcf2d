"""The schema files of commands in TiDB's SQL, with one warning that says what a dialect's translation assumed."""

from __future__ import annotations

from collections import Counter
from contextvars import Context, ContextVar
from pathlib import Path

from ticdc_emit.errors import ConfigError, SchemaError, TicdcEmitError, warn_caller
from ticdc_emit.hints import counted
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning
from ticdc_emit.sql.script import SKIPPED, script_statements


def schema_of_file(path: Path | None, dialect: str | None) -> str | None:
    """Return the text of a schema file in TiDB's SQL, if any. Raises :class:`SchemaError`, :class:`ConfigError`."""
    if path is not None:
        return in_tidb_sql(text_of_file(path), dialect, path)
    if dialect is not None:
        raise ConfigError("--schema-dialect has no schema file", remedy="Add --schema", option="schema-dialect")
    return None


READ: ContextVar[dict[str, str]] = ContextVar("read", default={})  # noqa: B039 (never changed in place)
"""The schema files in TiDB's SQL that a command has read, by their paths."""


def name_file(error: TicdcEmitError, command: Context) -> None:
    """Give an error of a statement the path of the file that has it."""
    for each in (error, *error.others):
        for path, text in command.get(READ, {}).items():
            if "place" in each.context and str(each.context.get("statement")) in text:
                each.context["path"] = path


def without_effect(command: Context) -> str:
    """Return how many statements of its files a command skipped because they change no row, "" for none."""
    each = (one.without_effect() for text in command.get(READ, {}).values() for one in script_statements(text))
    kinds = Counter(kind for kind in each if kind) + (command.get(SKIPPED) or Counter())
    shown = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    return f"skipped {counted(kinds.total(), 'statement')} that changed no row: {shown}" if kinds else ""


def in_tidb_sql(text: str, dialect: str | None, path: object = "") -> str:
    """Return DDL in TiDB's SQL. Warns once, with the text, if that needed assumptions."""
    if dialect is None:
        READ.set({**READ.get(), str(path): text})
        return text
    from ticdc_emit.schema.scripts import source_schema

    found = source_schema(text, dialect)
    if found.assumptions or any(table.assumptions for table in found.tables):
        warn_caller(f"the schema is read as TiDB's, with assumptions:\n{found.sql()}", AssumedSchemaWarning)
    return found.sql()


def sample_or_file(schema: str, dialect: str | None) -> str:
    from ticdc_emit.traffic.sample_schemas import schema_text

    return in_tidb_sql(schema_text(schema), dialect, schema)


def text_of_file(path: Path, what: str = "schema file") -> str:
    """Return the text of a file; :class:`SchemaError` if it cannot be read. ``what``: its name for people."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"cannot read the {what}: {error}", remedy="Give a file in UTF-8 that can be read", path=str(path)
        ) from None
