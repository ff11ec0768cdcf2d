"""``ticdc-emit emit``: the user's own data to Kafka or files; small local files without Spark."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from ticdc_emit.cli.console import print_json, print_summary, result_console, row_progress, warn_of_nothing
from ticdc_emit.cli.emit_input import ChangeForm, changes_here, changes_on_spark, format_of
from ticdc_emit.cli.html import Pictures
from ticdc_emit.cli.input_files import check_readable, find_files
from ticdc_emit.cli.session import (
    MOST_BYTES_HERE,
    MOST_ROWS_HERE,
    CountedBatches,
    runs_here,
    spark_for,
)
from ticdc_emit.config import ChangefeedConfig, load_changefeed, mask_uri
from ticdc_emit.errors import SchemaError, UnknownTableError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.ddl import catalog_for
from ticdc_emit.registry.base import registry_for
from ticdc_emit.registry.http import RegistryTls
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo, schema_and_name
from ticdc_emit.tso import compose

__all__ = ["run"]

_SHORT_BYTES = 16 * 1024 * 1024


def run(
    *,
    schema: Path,
    input_path: str,
    sink_uri: str,
    config: Path | None,
    table: str | None,
    input_format: str | None,
    commit_time_column: str | None,
    commit_ts: int | None,
    time_zone: str,
    profile: str | None,
    schema_registry: str | None,
    registry_tls: tuple[Path | None, Path | None, Path | None],
    bad_rows: str,
    bad_rows_path: str | None,
    ignore_unknown: bool,
    on_spark: bool,
    spark: Mapping[str, str],
    html: Path | None,
    as_json: bool,
) -> int:
    """Emit a file or folder of row changes, or of plain rows as inserts; print a summary and return the exit code.

    ``registry_tls``: files of CA, client certificate and key. ``ignore_unknown``: leave out columns that the table does
    not have. ``on_spark``: even for small files. ``spark``:
    further settings of Spark.
    """
    pictures = Pictures(html, "ticdc-emit emit")
    changefeed = load_changefeed(
        sink_uri, config, profile=profile, time_zone=time_zone, schema_registry=schema_registry
    )
    registry = registry_for(changefeed, RegistryTls(*registry_tls)) if any(registry_tls) else None
    catalog = _catalog(schema, changefeed)
    info = _table(catalog, table)
    form = ChangeForm(
        info,
        format_of(input_path, input_format),
        commit_time_column,
        compose(time.time_ns() // 1_000_000) if commit_ts is None else commit_ts,
        ignore_unknown,
    )
    files = find_files(input_path, spark)
    check_readable(input_path, "input", files)
    from ticdc_emit.spark import TicdcSink

    sink = TicdcSink(
        changefeed,
        catalog,
        table=info.full_name,
        registry=registry,
        bad_rows=bad_rows,  # type: ignore[arg-type]  # checked there
        bad_rows_path=bad_rows_path,
    )
    doing = f"emitting {input_path} as changes of {info.full_name} to {mask_uri(sink_uri)}"
    size = math.inf if files is None else files.size
    rows = None
    if files is not None and runs_here(size, MOST_BYTES_HERE, on_spark=on_spark, settings=spark):
        rows = changes_here(files, form, MOST_ROWS_HERE)
    with ExitStack() as stack:
        if rows is None:
            session = spark_for(stack, "emit", short=size <= _SHORT_BYTES, settings=spark, quiet=as_json)
            changes = changes_on_spark(session, input_path, files, form)
            with row_progress(doing, session, None, quiet=as_json):
                report = sink.write(changes)
        else:
            batches = CountedBatches(rows)
            with row_progress(doing, lambda: batches.read, rows.num_rows, quiet=as_json):
                report = sink.write({info.full_name: batches})
        warn_of_nothing(report)
        pictures.add_run([report], changefeed)
        pictures.write()
        if as_json:
            print_json({"table": info.full_name, **report.to_dict()})
        else:
            print_summary(result_console(), report)
    return 0


def _catalog(schema: Path, changefeed: ChangefeedConfig) -> Catalog:
    try:
        return catalog_for(changefeed, schema.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"cannot read the schema file: {error}", remedy="Give a file in UTF-8 that can be read", path=str(schema)
        ) from None


def _table(catalog: Catalog, table: str | None) -> TableInfo:
    known = [(info.schema, info.name) for info in catalog.tables() if not info.is_view]
    names = [f"{schema}.{name}" for schema, name in known]
    if table is None and len(known) == 1:
        return catalog.table(*known[0])
    if table is None:
        raise SchemaError(
            f"the schema file has {len(known)} tables",
            remedy=f"Choose one with --table: {', '.join(names)}" if known else "Add a CREATE TABLE statement",
        )
    try:
        return catalog.table(*schema_and_name(table, known))
    except UnknownTableError as error:
        remedy = f"{did_you_mean(table, names)}The schema file has: {', '.join(names)}"
        raise UnknownTableError(error.message, remedy=remedy, option="table") from None
