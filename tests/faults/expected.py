"""What must arrive: the messages of every change of a history, made by ``Encoder`` without Spark, Kafka or faults.

Messages are known by a digest of key and value, so that a million of them fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.encoder import Encoder

from .history import DATABASE, key_columns

_CHUNK_ROWS = 50_000


class Change(NamedTuple):
    table: str
    key: tuple[str, ...]
    commit_ts: int
    partition: int


def digest(key: bytes | None, value: bytes | None) -> bytes:
    """Return 16 bytes that tell one message from another, a null from an empty one too."""
    head = b"%d %d " % (-1 if key is None else len(key), -1 if value is None else len(value))
    return blake2b(head + (key or b"") + (value or b""), digest_size=16).digest()


@dataclass(frozen=True)
class Expected:
    changes: Mapping[bytes, Change] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.changes)


def expected_messages(encoder: Encoder, history: pa.Table) -> Expected:
    changes: dict[bytes, Change] = {}
    for name in sorted(pc.unique(history["table"]).to_pylist()):
        rows = history.filter(pc.equal(history["table"], name)).drop_columns(["schema", "table"])
        keys = _keys(rows, name)
        for taken in _one_row_per_commit(rows["commit_ts"].to_numpy()):
            made = encoder.encode(rows.take(pa.array(taken)), f"{DATABASE}.{name}").to_pydict()
            texts = zip(*(column[taken].astype(str).tolist() for column in keys), strict=True)
            columns = (made["key"], made["value"], made["commit_ts"], made["partition"])
            for parts, key, value, commit_ts, partition in zip(texts, *columns, strict=True):
                changes[digest(key, value)] = Change(name, parts, commit_ts, partition)
    if len(changes) != len(history):
        raise AssertionError(f"{len(history)} changes have {len(changes)} different messages")
    return Expected(changes)


def _one_row_per_commit(stamps: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield places of rows, each time of different commits: their messages come back in commit order, whatever the
    order inside a transaction is.
    """
    places = np.arange(len(stamps))
    first = np.r_[True, stamps[1:] != stamps[:-1]]
    rank = places - np.maximum.accumulate(np.where(first, places, 0))
    for number in range(int(rank.max()) + 1):
        rows = np.flatnonzero(rank == number)
        for start in range(0, len(rows), _CHUNK_ROWS):
            yield rows[start : start + _CHUNK_ROWS]


def _keys(rows: pa.Table, table: str) -> list[npt.NDArray[np.int64]]:
    image = pc.if_else(pc.is_valid(rows["after"]), rows["after"], rows["before"]).combine_chunks()
    return [
        pc.map_lookup(image, name, "first").cast(pa.int64()).to_numpy(zero_copy_only=False)
        for name in key_columns(table)
    ]
