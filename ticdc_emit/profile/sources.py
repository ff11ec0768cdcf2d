"""Sources of a profile as Arrow tables with their schema: files, frames, histories, messages of a changefeed. Of row
changes, a table has the last image of each row; redelivered ones count once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.csv import ConvertOptions, ParseOptions

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import commit_of
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.events import RowEvent
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.frames.any_frame import table_of
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.sources import format_of
from ticdc_emit.traffic.sample_schemas import schema_text

READ_HERE = ("parquet", "csv")
_MOST_ROWS = 1_000_000
Changefeed = ChangefeedConfig | str


class Rows(NamedTuple):
    """``values``: rows of a table that has ``total``, or a sample. ``changes``: how many of each kind; none of rows."""

    values: pa.Table
    total: int
    changes: Counter[Op]


class Source(NamedTuple):
    """``tables``: rows by ``schema.name``. ``commits``: how many different ones, 0 for plain rows."""

    schema: str
    tables: dict[str, Rows]
    commits: int


def read_source(given: Any, schema: str | Path | None = None, changefeed: Changefeed | None = None) -> Source:
    """Return a source's rows. Arguments and errors: as of :func:`ticdc_emit.profile_of`."""
    text = getattr(given, "schema", None) if schema is None else schema_text(schema)
    if isinstance(given, str | Path):
        given = _tables_at(Path(given))
    if isinstance(given, Mapping):
        frames = {name if "." in name else f"test.{name}": _rows_of(each) for name, each in given.items()}
        if text is None:
            found = (table_of(rows.values, name, _likely_key(rows.values)) for name, rows in frames.items())
            text = "\n".join(table.script() for table in found)
        return Source(text, frames, 0)
    if isinstance(given, History):
        return Source(text or "", *_folded(given.rows, given.catalog()))
    if text is None or changefeed is None:
        remedy = (
            "Give a path, frames by their tables ({'shop.orders': frame}), or messages with schema= and changefeed="
        )
        raise ConfigError(f"{type(given).__name__} alone is not a source", remedy=remedy, option="source")
    catalog = catalog_from_sql(text)
    return Source(text, *_folded(_rows_in(given, changefeed, catalog), catalog))


def _tables_at(path: Path) -> dict[str, Path]:
    """Return the tables of a folder with a file or folder for each; of a file or a table's own folder, this one."""
    below = sorted(each for each in path.glob("*") if each.name[0] not in "._")
    is_one = not below or any("=" in each.name or each.name.startswith("part-") for each in below)
    return {each.name.partition(f".{format_of(str(each))}")[0]: each for each in ([path] if is_one else below)}


def _rows_of(frame: Any) -> Rows:
    """Return the rows of a frame or of files; the types of CSV are inferred from its first rows."""
    if hasattr(frame, "sparkSession"):
        total = frame.count()
        return Rows((frame.sample(_MOST_ROWS / total, 0) if total > _MOST_ROWS else frame).toArrow(), total, Counter())
    if not isinstance(frame, str | Path):
        values = pa.table(frame)
        return Rows(values, len(values), Counter())
    form = kind = format_of(str(frame))
    try:
        if kind not in READ_HERE:
            raise ValueError("only Parquet and CSV are read without Spark")
        if kind == "csv":
            nulls = ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
            form = ds.CsvFileFormat(ParseOptions(newlines_in_values=True), convert_options=nulls)
        files = ds.dataset(frame, format=form, partitioning="hive")
        total, draw = files.count_rows(), np.random.default_rng(0)
        batches = (each.filter(pa.array(draw.random(len(each)) * total < _MOST_ROWS)) for each in files.to_batches())
        return Rows(pa.Table.from_batches(batches, files.schema), total, Counter())
    except (OSError, pa.ArrowException, ValueError) as fault:
        cause, remedy = foreign_text(str(fault)), "Give files with the same columns, or a DataFrame of Spark"
        raise ConfigError(f"{frame} cannot be read: {cause}", remedy=remedy, option="source") from None


def _likely_key(values: pa.Table) -> list[str]:
    """Return the first column if it has another value in each row."""
    first = values.column(0)
    is_plain = pa.types.is_integer(first.type) or pa.types.is_string(first.type)
    is_key = is_plain and not first.null_count and pc.count_distinct(first).as_py() == len(first)
    return values.column_names[:1] if is_key else []


def _rows_in(messages: Iterable[Any], changefeed: Changefeed, catalog: Catalog) -> Iterator[Mapping[str, Any]]:
    """Yield the row changes of messages as those of a history."""
    reader = reader_for(load_changefeed(changefeed) if isinstance(changefeed, str) else changefeed)
    for message in messages:
        for part in reader.parts(message.key, message.value) if message.value is not None else ():
            event = reader.read(*part)
            if isinstance(event, RowEvent) and not event.handle_key_only and event.claim_check is None:
                row = reader.text(event, catalog.table(event.schema, event.table))
                image = {"before": row.before or row.key, "after": row.after}
                yield {"schema": row.schema, "table": row.table, "op": row.op, "commit_ts": commit_of(row), **image}


def _folded(changes: Iterable[Mapping[str, Any]], catalog: Catalog) -> tuple[dict[str, Rows], int]:
    rows: dict[str, dict[Any, Mapping[str, Any]]] = defaultdict(dict)
    counts: dict[str, Counter[Op]] = defaultdict(Counter)
    seen: set[Any] = set()
    for row in changes:
        info, kind, after = catalog.table(row["schema"], row["table"]), Op.parse(row["op"]), row["after"]
        image = after or row["before"] or {}
        key = tuple(image.get(each) for each in info.handle_key_names) or len(seen)
        change = info.full_name, key, kind, row["commit_ts"]
        if kind is not None and change not in seen:
            seen.add(change)
            counts[info.full_name][kind] += 1
            rows[info.full_name] |= {} if after is None else {key: after}
    tables = {name: pa.Table.from_struct_array(pa.array(rows[name].values())) for name in counts}
    found = {name: Rows(tables[name], max(len(rows[name]), each[Op.INSERT]), each) for name, each in counts.items()}
    return found, len({commit for *_, commit in seen})
