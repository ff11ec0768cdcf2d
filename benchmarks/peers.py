"""The encoders beside general writers on the same rows: ``python -m benchmarks.peers`` prints the figures as JSON.

A peer writes the bare row: an object of JSON, a line of CSV, an Avro record. TiCDC's envelope, its key and the checks
of values come in addition only here. All begin with columns in memory; what JSON has no type for is text in the peers'
columns already. One thread each, by turns, in CPU time; a rate is the best of the rounds. orjson, polars, DuckDB and
fastavro must be installed.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from .inputs import make_rows
from .lines import CHUNK, bench_lines

__all__ = ["main", "peers"]

_OURS = {"canal-json-ext": "Canal-JSON", "simple-json": "Simple in JSON", "csv": "CSV", "avro-ext": "Avro"}


def _plain(column: pa.Array) -> pa.Array:
    """Return integers, floats and texts as they are, binary values in hexadecimal, and all else as text."""
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    kept = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return column if kept else pc.cast(column, pa.string())


def peers(rows: pa.Table) -> dict[str, Callable[[], object]]:
    """Return what writes all rows, by format and library."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # polars reads it when it is imported
    orjson, polars, duckdb, fastavro = map(import_module, ("orjson", "polars", "duckdb", "fastavro"))
    frame, database = polars.from_arrow(rows), duckdb.connect(config={"threads": 1})
    database.register("given", rows)
    database.execute("create table plain as from given")
    kinds = {pa.int64(): "long", pa.int32(): "int", pa.float64(): "double", pa.float32(): "float"}
    fields = [{"name": each.name, "type": ["null", kinds.get(each.type, "string")]} for each in rows.schema]
    record = fastavro.parse_schema({"type": "record", "name": "orders", "fields": fields})

    def avro_records() -> list[bytes]:
        records = []
        for row in rows.to_pylist():
            out = io.BytesIO()
            fastavro.schemaless_writer(out, record, row)
            records.append(out.getvalue())
        return records

    return {
        "JSON: orjson": lambda: [orjson.dumps(row) for row in rows.to_pylist()],
        "JSON: polars": frame.write_ndjson,
        "JSON: DuckDB": lambda: database.execute("select to_json(plain) from plain").fetchall(),
        "CSV: polars": frame.write_csv,
        "CSV: DuckDB": lambda: database.execute("copy plain to '/dev/null' (format csv)"),
        "CSV: pyarrow": lambda: csv.write_csv(rows, io.BytesIO()),
        "Avro: fastavro": avro_records,
    }


def main(rounds: int = 15, rows: int = CHUNK) -> dict[str, Any]:
    """Measure, and return rows per CPU-second by what wrote them."""
    pa.set_cpu_count(1)
    plain = pa.table({name: _plain(column) for name, column in make_rows("orders", rows).columns.items()})
    ours = {line.name: line.run for line in bench_lines()}
    work = {name: ours[f"{variant}/orders/insert"] for variant, name in _OURS.items()} | peers(plain)
    best = dict.fromkeys(work, 0.0)
    for _ in range(rounds):
        for name, run in work.items():
            start = time.process_time()
            run()
            best[name] = max(best[name], rows / (time.process_time() - start))
    return {"rounds": rounds, "rows_per_cpu_s": {name: round(rate) for name, rate in best.items()}}


if __name__ == "__main__":
    json.dump(main(), sys.stdout, indent=1)
