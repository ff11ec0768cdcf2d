"""What data looks like, without the data: the model of a source for ``generate``, and the distance of two sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.model import Op
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.hints import names
from ticdc_emit.profile.columns import (
    FEW_TEXTS,
    SMALLEST_GROUP,
    children_of,
    counts_of,
    distance,
    numbers_of,
    options_of,
)
from ticdc_emit.profile.sources import Changefeed, Rows, Source, read_source
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.changes import check_model
from ticdc_emit.traffic.generate.column_options import options_by_column
from ticdc_emit.traffic.generate.model import ModelSource, document_of, read_model
from ticdc_emit.traffic.generate.tables import Refusals, SourceTable, source_tables

__all__ = ["compare", "model_text", "profile_of"]


def profile_of(
    source: Any,
    *,
    schema: str | Path | None = None,
    keep_values: str | Iterable[str] = (),
    changefeed: Changefeed | None = None,
) -> dict[str, Any]:
    """Return the model of a source, a mapping for ``model=``; :func:`model_text` makes its TOML file.

    ``source``: Parquet or CSV, a file or a folder with a file or folder for each table; a mapping from ``schema.table``
    to such paths or to frames of Arrow, pandas, polars or Spark; a :class:`~ticdc_emit.History`; or messages,
    with ``schema`` and their ``changefeed``, a sink URI or configuration. ``schema``: SQL, a file or a sample; default:
    the source's columns. ``keep_values``: columns (``state``, ``orders.state``) whose values become labels; no other
    text leaves, and no group of fewer than 20 rows. Raises :class:`~ticdc_emit.errors.ConfigError`, and the errors of
    the schema and of messages.
    """
    return model_of(read_source(source, schema, changefeed), names(keep_values, "keep_values"))


def model_of(source: Source, keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the model of a source that was read; errors as of :func:`profile`. ``generate`` takes all that it says."""
    totals = {name: max(rows.changes.total() or rows.total, 1) for name, rows in source.tables.items()}
    model: dict[str, Any] = {"tables": {}, "columns": {}}
    children: dict[str, dict[str, Any]] = {}
    unknown = {*keep}
    for table, rows in _tables(source):
        name = table.info.full_name
        keys = *(each.columns for each in table.unique_keys), *(each.columns for each in table.references)
        linked = {*(table.listed or ())[:1], *(column for key in keys for column in key)}
        own = {"weight": min(float(f"{totals[name] / min(totals.values()):.3g}"), 1e6)}
        if rows.changes:
            own["updates"] = min(round(rows.changes[Op.UPDATE] / max(rows.total, 1), 3), 1000.0)
            own["deletes"] = min(round(rows.changes[Op.DELETE] / max(rows.total, 1), 3), 1.0)
        model["tables"][name] = own
        children |= _children(source, table, rows)
        for column, values in _columns(table, rows):
            kept = {each for each in keep if f".{name}.{column.name}".endswith(f".{each}")}
            unknown -= kept
            options = {} if column.name in linked else options_of(column, values, keep=bool(kept))
            path, refusals = f"{name}.{column.name}", Refusals()
            options_by_column({path: options} if options else {}, [table], refusals)
            if kept:
                refusals.raise_all()
            options = {key: value for key, value in options.items() if not refusals or key == "nulls"}
            model["columns"] |= {path: options} if options else {}
    if unknown:
        remedy = "Write column, table.column or schema.table.column"
        raise ConfigError(f"no table of the source has {min(unknown)!r}", remedy=remedy, option="keep_values")
    for name, each in children.items():
        left_out = {"deletes"} if each["distribution"] == "zipf" else {"deletes", "weight"}
        own = {key: value for key, value in model["tables"][name].items() if key not in left_out}
        tried = {**model, "tables": {**model["tables"], name: {**own, "children": each}}}
        with suppress(ConfigError, SchemaError):  # more children than a cycle has room for
            check_model(source.schema, read_model(tried))
            model = tried
    if source.commits:
        model["load"] = {"transaction_size": round(sum(totals.values()) / source.commits, 2)}
    return model


def _tables(source: Source) -> Iterator[tuple[SourceTable, Rows]]:
    """Yield the tables that the source has rows of."""
    for table in source_tables(catalog_from_sql(source.schema), None, Refusals()):
        if table.info.full_name in source.tables:
            yield table, source.tables[table.info.full_name]


def _columns(table: SourceTable, rows: Rows) -> Iterator[tuple[Column, pa.ChunkedArray]]:
    """Yield the columns of a table that rows have and nothing computes."""
    for column in table.info.row_columns:
        if column.generated is None and column.name in rows.values.column_names:
            values = rows.values.column(column.name)
            yield column, values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _children(source: Source, table: SourceTable, rows: Rows) -> dict[str, Any]:
    """Return how many rows refer to a row of the first parent, if the rows of both tables are here, and all of them, by
    the table.
    """
    for each in table.references:
        parent = source.tables.get(".".join(each.parent))
        if parent is not None and each.parent != table.name and rows.total == len(rows.values):
            links = rows.values.select(each.columns).drop_null().group_by(each.columns).aggregate([([], "count_all")])
            counts = links.column("count_all").to_numpy()
            counts = np.concatenate([counts, np.zeros(max(parent.total - len(counts), 0), np.int64)])
            if len(counts) >= SMALLEST_GROUP and counts.any():
                return {table.info.full_name: {"of": ".".join(each.parent), **children_of(counts)}}
    return {}


def model_text(model: Mapping[str, Any]) -> str:
    """Return a model as TOML."""
    sections = {name: section for name, section in model.items() if name != "columns"}
    sections |= {f"columns.{_key(path)}": options for path, options in model["columns"].items()}
    lines = []
    for name, section in sections.items():
        lines += [f"[{name}]", *(f"{_key(key)} = {_toml(each)}" for key, each in section.items()), ""]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_toml(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def below(model: Mapping[str, Any], above: ModelSource | None) -> dict[str, Any]:
    """Return a model with what another one says instead of it: options of tables, and all those of a column."""
    other = document_of(above)
    read_model(other)
    merged = {name: {**model.get(name, {}), **other.get(name, {})} for name in {**model, **other}}
    shared = model["tables"].keys() & other.get("tables", {}).keys()
    merged["tables"] |= {name: {**model["tables"][name], **other["tables"][name]} for name in shared}
    return merged


def compare(
    first: Any, second: Any, *, schema: str | Path | None = None, changefeed: Changefeed | None = None
) -> list[dict[str, Any]]:
    """Return how far two sources are apart, a mapping for each column of both; arguments and errors of :func:`profile`.

    ``nulls``: the difference of the shares of NULL. ``distance``: from 0 to 1, ``by`` values (Kolmogorov-Smirnov, of
    numbers and times), labels or lengths (total variation, of few different texts and of many), or frequencies (of few
    that are all different, as those of a model); ``None`` without any.
    """
    one = read_source(first, schema, changefeed)
    two = read_source(second, one.schema, changefeed)
    found = []
    for table, rows in _tables(one):
        name = table.info.full_name
        others = dict(_columns(table, two.tables[name])) if name in two.tables else {}
        for column, values in _columns(table, rows):
            if column in others:
                pair = values, others[column]
                shares = [each.null_count / len(each) if len(each) else 1.0 for each in pair]
                by, apart = _distance(column, *pair) if max(shares) < 1 else (None, None)
                nulls = round(abs(shares[0] - shares[1]), 4)
                found.append({"table": name, "column": column.name, "nulls": nulls, "by": by, "distance": apart})
    return found


def _distance(column: Column, first: pa.ChunkedArray, second: pa.ChunkedArray) -> tuple[str, float]:
    one, two = numbers_of(column, first), numbers_of(column, second)
    if one is not None and two is not None:
        return "values", round(distance(one, two), 4)
    texts = [each.drop_null().cast(pa.string()) for each in (first, second)]
    counts, by = [counts_of(each) for each in texts], "labels"
    if max(map(len, counts)) > FEW_TEXTS:
        counts, by = [counts_of(pc.utf8_length(each)) for each in texts], "lengths"
    elif not counts[0].keys() & counts[1].keys():
        counts, by = [dict(enumerate(sorted(each.values(), reverse=True))) for each in counts], "frequencies"
    parts = [{key: each / len(of) for key, each in found.items()} for found, of in zip(counts, texts, strict=True)]
    return by, round(sum(abs(parts[0].get(each, 0) - parts[1].get(each, 0)) for each in {*parts[0], *parts[1]}) / 2, 4)
