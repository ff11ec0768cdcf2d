"""The public forms of row changes as Arrow columns: which there are, and which columns they need.

**Typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (a timestamp with a zone), optional ``seq`` and what
``changes.attributes`` lists, ``before`` and ``after`` as structs or maps of one table's columns. **Generic**: the same
with the columns ``schema`` and ``table``, and images as ``map<string, string>`` of canonical text. Rows with
``op = 'ddl'`` and a ``query`` are DDL, in both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.errors import MissingColumnError, SchemaError

__all__ = ["DDL_OP", "GENERIC_NAMES", "check_columns", "is_ddl", "is_generic", "only_op", "refuse_plain_rows"]

DDL_OP = "ddl"
"""The ``op`` of rows that are DDL, in any case; their statement is their ``query``."""

GENERIC_NAMES = ("schema", "table")
_OF_CHANGES = frozenset(
    (*GENERIC_NAMES, *ATTRIBUTES, "op", "commit_ts", "commit_time", "seq", "before", "after", "query")
)
_MOST_SHOWN = 5


def is_generic(names: Sequence[str]) -> bool:
    """Return whether rows with these columns name their tables."""
    return set(GENERIC_NAMES) <= set(names)


def check_columns(names: Sequence[str], where: str) -> None:
    """Raise :class:`MissingColumnError` or :class:`SchemaError` if rows with these columns cannot be row changes."""
    refuse_plain_rows(names, where)
    for name in (*GENERIC_NAMES, "query", "op", "before", "after", "commit_ts", "commit_time"):
        if list(names).count(name) > 1:
            raise SchemaError(
                "the changes have two columns with the same name",
                remedy="Give each column a different name",
                table=where,
                column=name,
            )
    if "op" not in names:
        raise MissingColumnError("the changes have no op", remedy="Add op: c, u or d", table=where, column="op")
    if not {"before", "after"} & set(names):
        raise MissingColumnError(
            "the changes have neither before nor after", remedy="Add the rows' images", table=where, column="after"
        )
    if not {"commit_ts", "commit_time"} & set(names):
        raise MissingColumnError(
            "the changes have neither commit_ts nor commit_time",
            remedy="Add commit_ts (TSO) or commit_time (a timestamp with a zone)",
            table=where,
            column="commit_ts",
        )


def refuse_plain_rows(names: Collection[str], where: str) -> None:
    """Raise :class:`MissingColumnError` if these are a table's own columns, not those of row changes."""
    others = [name for name in names if name not in _OF_CHANGES]
    if others and not {"before", "after", "query"} & set(names):
        raise MissingColumnError(
            f"plain rows are not row changes: {', '.join(map(str, others[:_MOST_SHOWN]))} must be in an image",
            remedy="Give op, commit_ts and after: {'op': 'c', 'commit_ts': tso, 'after': row}. With pandas: "
            "pd.DataFrame({'op': 'c', 'commit_ts': tso, 'after': df.to_dict('records')}); with Spark: "
            "ticdc_emit.traffic.replay.snapshot_inserts(df, at). The command ticdc-emit emit takes plain rows",
            table=where,
            column="after",
        )


def only_op(ops: pa.Array) -> Op | None:
    """Return the kind of all rows if they have one in one spelling, as most batches do; else ``None``."""
    if not pa.types.is_string(ops.type) or not len(ops) or ops.null_count:
        return None
    first: str = ops[0].as_py()
    if len(ops) == 1:
        return Op.parse(first)
    parts, spelling = text_buffers(ops), first.encode()
    same = parts.data.tobytes() == spelling * len(ops) and int(parts.lengths.max()) == len(spelling)
    return Op.parse(first) if same else None


def is_ddl(batch: pa.RecordBatch) -> pa.Array:
    """Return which rows are DDL, ``bool``. A wrong ``op`` is refused later, with the row."""
    ops = batch.column("op") if "op" in batch.schema.names else pa.nulls(batch.num_rows, pa.string())
    if pa.types.is_dictionary(ops.type):
        ops = ops.dictionary_decode()
    if not (pa.types.is_string(ops.type) or pa.types.is_large_string(ops.type)):
        return pa.repeat(pa.scalar(False), batch.num_rows)
    return pc.equal(pc.utf8_lower(ops), pa.scalar(DDL_OP, ops.type)).fill_null(False)
