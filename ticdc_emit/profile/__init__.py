"""What data looks like, without the data: the model of a source for ``generate``, and the distance of two sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.model import Op
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import names
from ticdc_emit.profile.columns import SMALLEST_GROUP, children_of, distance, numbers_of, options_of
from ticdc_emit.profile.sources import Changefeed, Rows, Source, read_source
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.traffic.generate.tables import Refusals, SourceTable, source_tables

__all__ = ["compare", "model_text", "profile"]

_MOST_LABELS = 50


def profile(
    source: Any,
    *,
    schema: str | Path | None = None,
    keep_values: str | Iterable[str] = (),
    changefeed: Changefeed | None = None,
) -> dict[str, Any]:
    """Return the model of a source, a mapping for ``model=``; :func:`model_text` makes its TOML file.

    ``source``: Parquet or CSV, a file or a folder with a file or folder for each table; a mapping from ``schema.table``
    to such paths or to frames of Arrow, pandas, polars or Spark; a :class:`~ticdc_emit.traffic.History`; or messages,
    with ``schema`` and their ``changefeed``, a sink URI or configuration. ``schema``: SQL, a file or a sample; default:
    the source's columns. ``keep_values``: columns (``state``, ``orders.state``) whose values become labels; no other
    text leaves, and no group of fewer than 20 rows. Raises :class:`~ticdc_emit.errors.ConfigError`, and the errors of
    the schema and of messages.
    """
    return model_of(read_source(source, schema, changefeed), names(keep_values, "keep_values"))


def model_of(source: Source, keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the model of a source that was read; errors as of :func:`profile`."""
    totals = {name: rows.changes.total() or rows.total for name, rows in source.tables.items()}
    model: dict[str, Any] = {"tables": {}, "columns": {}, "load": {}}
    unknown = {*keep}
    for table, rows in _tables(source):
        name, unique = table.info.full_name, {key.columns for key in table.unique_keys}
        linked = {each for key in (*unique, *(each.columns for each in table.references)) for each in key}
        model["tables"][name] = {"weight": float(f"{totals[name] / max(min(totals.values()), 1):.3g}")}
        for rate, kind in (("updates", Op.UPDATE), ("deletes", Op.DELETE)) if rows.changes else ():
            model["tables"][name][rate] = round(
                rows.changes[kind] / max(rows.total, 1, rows.changes[kind] * (kind is Op.DELETE)), 3
            )
        model["tables"][name] |= _children(source, table, rows)
        columns = model["columns"].setdefault(table.info.schema, {}).setdefault(table.info.name, {})
        for column, values in _columns(table, rows):
            kept = {each for each in keep if f".{name}.{column.name}".endswith(f".{each}")}
            unknown -= kept
            alone = (column.name,) in unique and not any(column.name in each.columns for each in table.references)
            if alone or column.name not in linked:
                options = options_of(column, values, keep=bool(kept), is_key=alone)
                columns |= {column.name: options} if options else {}
    if unknown:
        remedy = "Write column, table.column or schema.table.column"
        raise ConfigError(f"no table of the source has {min(unknown)!r}", remedy=remedy, option="keep_values")
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
    """Return how many rows refer to a row of the first parent, if the rows of both tables are here, and all of them."""
    for each in table.references:
        parent = source.tables.get(".".join(each.parent))
        if parent is not None and each.parent != table.name and rows.total == len(rows.values):
            links = rows.values.select(each.columns).drop_null().group_by(each.columns).aggregate([([], "count_all")])
            counts = links.column("count_all").to_numpy()
            counts = np.concatenate([counts, np.zeros(max(parent.total - len(counts), 0), np.int64)])
            if len(counts) >= SMALLEST_GROUP and counts.any():
                return {"children": {"of": ".".join(each.parent), **children_of(counts)}}
    return {}


def model_text(model: Mapping[str, Any]) -> str:
    """Return a model as TOML."""
    lines = ["[tables]", *(f"{_toml(name)} = {_toml(each)}" for name, each in model["tables"].items())]
    for schema, tables in model["columns"].items():
        for table, columns in tables.items():
            for column, options in columns.items():
                lines += ["", f"[columns.{_toml(schema)}.{_toml(table)}.{_toml(column)}]"]
                lines += [f"{name} = {_toml(value)}" for name, value in options.items()]
    return "\n".join([*lines, "", "[load]", *(f"{name} = {value}" for name, value in model["load"].items()), ""])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_toml(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def compare(
    first: Any, second: Any, *, schema: str | Path | None = None, changefeed: Changefeed | None = None
) -> list[dict[str, Any]]:
    """Return how far two sources are apart, a mapping for each column of both; arguments and errors of :func:`profile`.

    ``nulls``: the difference of the shares of NULL. ``distance``: from 0 to 1, ``by`` values (Kolmogorov-Smirnov, of
    numbers and times), labels or lengths (total variation, of few different texts and of many); ``None`` without any.
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
                shares = [each.null_count / max(len(each), 1) for each in pair]
                by, apart = (
                    (None, None) if any(len(each) == each.null_count for each in pair) else _distance(column, *pair)
                )
                nulls = round(abs(shares[0] - shares[1]), 4)
                found.append({"table": name, "column": column.name, "nulls": nulls, "by": by, "distance": apart})
    return found


def _distance(column: Column, first: pa.ChunkedArray, second: pa.ChunkedArray) -> tuple[str, float]:
    one, two = numbers_of(column, first), numbers_of(column, second)
    if one is not None and two is not None:
        return "values", round(distance(one, two), 4)
    texts = [each.drop_null().cast(pa.string()) for each in (first, second)]
    by = "labels" if all(pc.count_distinct(each).as_py() <= _MOST_LABELS for each in texts) else "lengths"
    counts = [pc.value_counts(each if by == "labels" else pc.utf8_length(each)).to_pylist() for each in texts]
    parts = [
        {each["values"]: each["counts"] / len(of) for each in found} for found, of in zip(counts, texts, strict=True)
    ]
    return by, round(sum(abs(parts[0].get(each, 0) - parts[1].get(each, 0)) for each in {*parts[0], *parts[1]}) / 2, 4)
