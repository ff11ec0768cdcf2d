"""``ticdc-emit schema``: the CREATE TABLE of files, a table in Spark's catalog, or another system's script; and the
schema of an ``emit`` without one. CSV and JSON have no types: their columns are text, unless ``--type`` gives others.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.changes.arrow_input import CHANGE_COLUMNS
from ticdc_emit.cli.console import print_json
from ticdc_emit.cli.input_files import IMAGES, InputFiles, check_readable, find_files, unified
from ticdc_emit.cli.options import pairs
from ticdc_emit.cli.schema_files import text_of_file
from ticdc_emit.cli.session import spark_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.frames.any_frame import schema_of_changes, table_of
from ticdc_emit.schema.frames.arrow_types import with_sparks_metadata

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Emit, Schema


def run(options: Schema) -> int:
    if options.dialect is not None:
        return _print_script(options, options.dialect)
    from ticdc_emit.traffic.replay.sources import FILE_FORMATS, format_of, read_source

    given = options.format or format_of(options.source)
    if options.schema is not None:
        raise ConfigError("--schema is for a script", remedy="Add --dialect, or give --name", option="schema")
    spark = options.spark_settings
    table_options: dict[str, Any] = {
        "keys": key_names(options.keys),
        "types": pairs(options.types, "type", "column=type"),
    }
    with ExitStack() as stack:
        if given is None and "/" not in options.source:
            session = spark_for(stack, "schema", short=True, settings=spark, quiet=True)
            table = table_of(options.source, options.name, spark=session, **table_options)
        else:
            files = find_files(options.source, spark) if given in FILE_FORMATS else None
            check_readable(options.source, "source", files)
            if files is not None and given in ("parquet", "csv", "json"):
                frame: Any = columns_of_rows(files, str(given))
            else:
                session = spark_for(stack, "schema", short=True, settings=spark, quiet=True)
                frame = read_source(session, options.source, format=given)
            table = table_of(frame, options.name, **table_options)
    if options.as_json:
        print_json({"table": table.full_name, "sql": table.create_table(), "assumptions": list(table.assumptions)})
    else:
        print(table.script())
    return 0


def _print_script(options: Schema, dialect: str) -> int:
    from ticdc_emit.schema.scripts import source_schema

    table = {"name": options.name, "keys": options.keys, "type": options.types, "format": options.format}
    for name, given in table.items():
        if given:
            raise ConfigError(f"--{name} is not for a script", remedy="Leave it out, or --dialect", option=name)
    found = source_schema(text_of_file(Path(options.source)), dialect, schema=options.schema or "test")
    if options.as_json:
        tables = [
            {"table": each.full_name, "sql": each.create_table(), "assumptions": list(each.assumptions)}
            for each in found.tables
        ]
        print_json({"dialect": found.dialect, "assumptions": list(found.assumptions), "tables": tables})
    else:
        print(found.sql())
    return 0


def key_names(keys: str | None) -> tuple[str, ...]:
    """Return the columns of ``--keys``, which have commas between them."""
    return tuple(filter(None, (name.strip() for name in (keys or "").split(","))))


def columns_of_rows(files: InputFiles, file_format: str) -> pa.Schema:
    """Return the columns of files; those of JSON lines show only in all of its rows, which are read."""
    if file_format != "json":
        return with_sparks_metadata(files.layout(file_format)[0])
    batches = (batch for file in files.files for batch in files.read(file.whole, file_format, nested=True))
    return unified([batch.schema for batch in batches])


def assumed_schema(files: InputFiles | None, file_format: str, options: Emit, keyless: bool) -> str:
    """Return the schema of an input without one: the columns of its rows, or of their images. Warns with its text."""
    table = options.table
    if table is None:
        remedy = "Add --schema, or --table and --keys"
        raise ConfigError("no schema is given, and the table has no name", remedy=remedy, option="schema")
    found = None if files is None else columns_of_rows(files, file_format)
    columns = None if found is None else _columns_of_table(found, options.commit_time_column)
    if not columns:
        raise ConfigError("the input does not show the columns of its table", remedy="Add --schema", option="schema")
    images = {table: pa.schema([("after", pa.struct(columns))])}
    return schema_of_changes(images, {table: key_names(options.keys)}, keyless=keyless)


def _columns_of_table(schema: pa.Schema, but: str | None) -> list[pa.Field]:
    if "op" not in schema.names:
        return [field for field in schema if field.name != but]
    columns: dict[str, pa.Field] = {}
    for image in IMAGES[::-1]:
        for field in schema:
            if field.name == image and pa.types.is_struct(field.type):
                columns = {**{each.name: each for each in field.type}, **columns}
            elif field.name.startswith(f"{image}.") and field.name not in CHANGE_COLUMNS:
                own = field.name.removeprefix(f"{image}.")
                columns.setdefault(own, field.with_name(own))
    return list(columns.values())
