"""A seeded history of row changes over many tables, in the generic form, as Parquet files.

In: a number of changes, tables and files, and a seed. Out: files of ``schema, table, op, commit_ts, before, after``,
each one batch of a stream. The same arguments give the same rows. Every key lives: insert, updates, and for some keys
one delete and a second life behind it. At most one delete per key, so that Avro's tombstones, which carry no commit_ts,
are different messages too. Up to four rows share a commit_ts, never two of one key.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DATABASE = "shop"
FIRST_TSO = 450_000_000_262_144_000
STEP_MS = 10
"""Between two commits."""

_CHANGES_PER_KEY = 5
_MOST_PER_COMMIT = 4
_NO_DELETE = 1 << 30
_MTIME = 1_700_000_000
_COLUMNS = (
    ("id", "owner", "balance", "note", "touched", "flags"),
    ("tenant", "id", "owner", "balance", "note", "touched"),
)
_DDL = (
    "create table {name} (id bigint primary key, owner varchar(40) not null, balance decimal(12,2), note text,"
    " touched datetime(3), flags int unsigned)",
    "create table {name} (tenant int, id bigint, owner varchar(40) not null, balance decimal(12,2), note text,"
    " touched datetime(3), primary key (tenant, id))",
)
_NOTES = pa.array([None, "plain", 'a "quoted" word\n', "né à Łódź <&>", "", "tab\tand \\ backslash"])
_Ints = npt.NDArray[np.int64]


def table_name(number: int) -> str:
    return f"t{number:02}"


def key_columns(table: str) -> tuple[str, ...]:
    return ("tenant", "id") if int(table[1:]) % 2 else ("id",)


def schema_sql(tables: int) -> str:
    return ";\n".join(_DDL[n % 2].format(name=f"{DATABASE}.{table_name(n)}") for n in range(tables))


@dataclass(frozen=True)
class History:
    rows: int
    tables: int
    files: int
    seed: int = 7

    def table(self) -> pa.Table:
        rng = np.random.default_rng(self.seed)
        keys = rng.integers(0, max(self.rows // _CHANGES_PER_KEY, 1), self.rows)
        life, distance = _lives(keys)
        dies = np.where(rng.random(self.rows) < 0.5, rng.integers(2, 7, self.rows), _NO_DELETE)[keys]
        ops = np.where((life == 0) | (life == dies + 1), "c", np.where(life == dies, "d", "u"))
        places = np.arange(self.rows)
        first = (rng.random(self.rows) < 0.5) | (places % _MOST_PER_COMMIT == 0) | (distance < _MOST_PER_COMMIT)
        stamps = FIRST_TSO + np.cumsum(first) * (STEP_MS << 18)
        tables = keys % self.tables
        return pa.table(
            {
                "schema": pa.repeat(DATABASE, self.rows),
                "table": pa.array([table_name(n) for n in range(self.tables)]).take(pa.array(tables)),
                "op": pa.array(ops),
                "commit_ts": pa.array(stamps),
                "before": _images(tables, keys, life - 1, ops != "c"),
                "after": _images(tables, keys, life, ops != "d"),
            }
        )

    def write(self, folder: Path) -> pa.Table:
        folder.mkdir(parents=True)
        table = self.table()
        borders = np.linspace(0, self.rows, self.files + 1).astype(int).tolist()
        for number, (start, stop) in enumerate(pairwise(borders)):
            file = folder / f"{number:05}.parquet"
            pq.write_table(table.slice(start, stop - start), file)
            # A file stream takes files by their time of modification.
            os.utime(file, (_MTIME + number, _MTIME + number))
        return table


def _lives(keys: _Ints) -> tuple[_Ints, _Ints]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    fresh = np.r_[True, ordered[1:] != ordered[:-1]]
    place = np.arange(len(keys))
    rank = place - np.maximum.accumulate(np.where(fresh, place, 0))
    gap = np.where(fresh, _NO_DELETE, order - np.r_[0, order[:-1]])
    life, distance = np.empty_like(rank), np.empty_like(rank)
    life[order], distance[order] = rank, gap
    return life, distance


def _images(tables: _Ints, keys: _Ints, life: _Ints, present: npt.NDArray[np.bool_]) -> pa.MapArray:
    rows = np.flatnonzero(present)
    tables, keys, life = tables[rows], keys[rows], life[rows]
    odd = tables % 2
    cents = (keys * 7919 + life * 104_729) % 1_000_000
    owner = _joined("owner ", keys, " of ", tables)
    balance = _joined("", cents // 100, ".", pc.utf8_lpad(_text(cents % 100), 2, "0"))
    note = _NOTES.take(pa.array((keys + life) % len(_NOTES)))
    seconds, millis = pc.utf8_lpad(_text(life % 60), 2, "0"), pc.utf8_lpad(_text(keys % 1000), 3, "0")
    touched = _joined("2024-05-06 12:34:", seconds, ".", millis)
    named = {
        "id": _text(keys),
        "tenant": _text(keys % 97),
        "owner": owner,
        "balance": balance,
        "note": note,
        "touched": touched,
        "flags": _text(life),
    }
    width = len(_COLUMNS[0])
    cells = pa.chunked_array([named[name] for columns in _COLUMNS for name in columns]).combine_chunks()
    picked = (np.arange(width)[None, :] + odd[:, None] * width) * len(rows) + np.arange(len(rows))[:, None]
    names = pa.array([name for columns in _COLUMNS for name in columns])
    name_of = (np.arange(width)[None, :] + odd[:, None] * width).ravel()
    offsets = np.r_[0, np.cumsum(present) * width].astype(np.int32)
    return pa.MapArray.from_arrays(
        pa.array(offsets), names.take(pa.array(name_of)), cells.take(pa.array(picked.ravel())), mask=pa.array(~present)
    )


def _text(values: Any) -> pa.Array:
    return values if isinstance(values, pa.Array) else pc.cast(pa.array(values), pa.string())


def _joined(*parts: Any) -> pa.Array:
    texts = [part if isinstance(part, str) else _text(part) for part in parts]
    return pc.binary_join_element_wise(*texts, "")
