"""The public forms of row changes as Arrow columns: which they are, and how they become one normal form.

**Typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (a timestamp with a zone), optional ``seq`` and what
``changes.attributes`` lists, ``before`` and ``after`` as structs or maps of one table's columns. **Generic**: the same
with the columns ``schema`` and ``table``, and images as ``map<string, string>`` of canonical text. Rows with
``op = 'ddl'`` and a ``query`` are DDL, in both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.commit_ts import missing_commit_ts
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.buffers import compact, null_mask, order_of_codes, text_buffers
from ticdc_emit.columnar.escape import first_invalid_utf8
from ticdc_emit.columnar.nested_json import is_list, plain_layout
from ticdc_emit.errors import InvalidValueError, MissingColumnError, SchemaError, UnsupportedTypeError

DDL_OP = "ddl"
"""The ``op`` of rows that are DDL, in any case; their statement is their ``query``."""

GENERIC_NAMES = ("schema", "table")
CHANGE_COLUMNS = frozenset(
    (*GENERIC_NAMES, *ATTRIBUTES, "op", "commit_ts", "commit_time", "seq", "before", "after", "query")
)
"""The columns of changes, in the typed and in the generic form."""
_MOST_SHOWN = 5


def is_generic(names: Sequence[str]) -> bool:
    """Return whether rows with these columns name their tables."""
    return set(GENERIC_NAMES) <= set(names)


def check_columns(names: Sequence[str], where: str) -> None:
    """Raise :class:`MissingColumnError` or :class:`SchemaError` if rows with these columns cannot be row changes."""
    refuse_plain_rows(names, where)
    if "op" not in names:
        raise MissingColumnError("the changes have no op", remedy="Add op: c, u or d", table=where, column="op")
    if not {"before", "after"} & set(names):
        raise MissingColumnError(
            "the changes have neither before nor after", remedy="Add the rows' images", table=where, column="after"
        )
    if not {"commit_ts", "commit_time"} & set(names):
        raise missing_commit_ts(where)


def refuse_plain_rows(names: Collection[str], where: str) -> None:
    """Refuse columns of a table or change feed for row changes; :class:`SchemaError` for one that is there twice."""
    for name in sorted(CHANGE_COLUMNS):
        if list(names).count(name) > 1:
            raise SchemaError(
                "the changes have two columns with the same name",
                remedy="Give each column a different name",
                table=where,
                column=name,
            )
    if "_change_type" in names and "op" not in names:
        raise MissingColumnError(
            "a change feed is not row changes yet",
            remedy="Make them with ticdc_emit.from_changes(df, keys), or give the change feed to TicdcSink",
            table=where,
            column="op",
        )
    others = [name for name in names if name not in CHANGE_COLUMNS]
    if others and not {"before", "after", "query"} & set(names):
        raise MissingColumnError(
            f"plain rows are not row changes: {', '.join(map(str, others[:_MOST_SHOWN]))} must be in an image",
            remedy="Give op, commit_ts and after: {'op': 'c', 'commit_ts': tso, 'after': row}. With pandas: "
            "pd.DataFrame({'op': 'c', 'commit_ts': tso, 'after': df.to_dict('records')}); with Spark: "
            "ticdc_emit.snapshot_inserts(df, at). The command ticdc-emit emit takes plain rows",
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


_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__")


def is_tabular(changes: Any) -> bool:
    """Return whether :func:`changes_table` reads the object. Spark's DataFrames may be tabular too: test them first."""
    return any(hasattr(changes, name) for name in _INTERFACES) or _is_pandas(changes)


def changes_table(changes: Any) -> pa.Table:
    """Return the object's rows as an Arrow table; the index of a pandas DataFrame is left out."""
    if isinstance(changes, pa.Table):
        return changes
    if isinstance(changes, pa.RecordBatch):
        return pa.Table.from_batches([changes])
    try:
        if _is_pandas(changes):
            return pa.Table.from_pandas(changes, preserve_index=False)
        if is_tabular(changes):
            return pa.table(changes)
        cause = "it is not a table"
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as fault:
        cause = str(fault)
    raise UnsupportedTypeError(
        f"{type(changes).__name__} cannot be read as an Arrow table: {cause}",
        remedy="Give an Arrow table, a pandas or polars DataFrame, or an object with __arrow_c_stream__. "
        "The values of one column need one type",
    )


def _is_pandas(changes: Any) -> bool:
    kind = type(changes)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


_NAMES = ("op", "schema", "table", "query")
_LEAVES = frozenset(
    kind.id
    for kind in (
        *(pa.null(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(1)),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float32(), pa.float64(), pa.decimal128(1), pa.decimal256(1), pa.date32(), pa.date64()),
        *(pa.timestamp("s"), pa.time32("s"), pa.time64("us"), pa.duration("s")),
    )
)
_TEXT_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def normal_form(batch: pa.RecordBatch, table: str, first_row: int = 0) -> pa.RecordBatch:
    """Return the batch's columns of the change form and of DDL; ``table`` and ``first_row`` are for errors."""
    fields, columns = [], []
    for place, field in enumerate(batch.schema):
        if field.name not in CHANGE_COLUMNS:
            continue
        column = _normal(batch.column(place), table, field.name)
        if field.name in _NAMES:
            column = _name(column, field.name, table, first_row)
        elif is_list(column.type):
            raise _refused_type(column.type, table, field.name)
        fields.append(field if column.type == field.type else pa.field(field.name, column.type))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _is_normal(kind: pa.DataType) -> bool:
    if kind.id in _LEAVES:
        return True
    if pa.types.is_struct(kind):
        return all(_is_normal(field.type) for field in kind)
    if pa.types.is_map(kind):
        return pa.types.is_string(kind.key_type) and _is_normal(kind.item_type)
    return is_list(kind) and _is_normal(kind.value_type)


def _normal(array: pa.Array, table: str, column: str) -> pa.Array:
    kind = array.type
    if _is_normal(kind):
        return array
    if pa.types.is_dictionary(kind):
        return _from_dictionary(array, _normal(array.dictionary, table, column))
    if pa.types.is_run_end_encoded(kind):
        ends = np.asarray(array.run_ends)
        rows = np.searchsorted(ends, np.arange(array.offset, array.offset + len(array)), side="right")
        return _taken(_normal(array.values, table, column), pa.array(rows))
    if pa.types.is_struct(kind):
        fields = [_normal(array.field(place), table, field.name) for place, field in enumerate(kind)]
        nulls = null_mask(array)
        return pa.StructArray.from_arrays(
            fields,
            fields=[pa.field(field.name, values.type) for field, values in zip(kind, fields, strict=True)],
            mask=None if nulls is None else pa.array(nulls),
        )
    if pa.types.is_map(kind):
        return _map(array, lambda child: _normal(child, table, column))
    if kind == pa.string_view() or kind == pa.binary_view():
        return _from_view(array)
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    if is_list(kind):
        try:
            return array.cast(plain_layout(kind))
        except (pa.ArrowException, TypeError):
            raise _refused_type(kind, table, column) from None
    if isinstance(kind, pa.BaseExtensionType):
        return _normal(array.storage, table, column)
    raise _refused_type(kind, table, column)


def _refused_type(kind: pa.DataType, table: str, column: str) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"`{column}` is {kind}, which no column accepts",
        remedy="Cast it to a type of the table in docs/types.md, or to canonical text",
        table=table,
        column=column,
    )


def _from_view(array: pa.Array) -> pa.Array:
    plain, large = pa.string(), pa.large_string()
    if array.type == pa.binary_view():
        plain, large = pa.binary(), pa.large_binary()
    try:
        return array.cast(plain)
    except pa.ArrowInvalid:  # more than 2 GiB, as one plain array cannot hold
        return array.cast(large)


def _from_dictionary(array: pa.Array, values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return _taken(values, array.indices)
    indices, values = array.indices.cast(pa.int32()), values.cast(pa.string())
    nulls = null_mask(values)
    if nulls is not None:
        places = np.asarray(indices.fill_null(0))
        hidden = nulls[places] | np.asarray(indices.is_null().to_numpy(zero_copy_only=False))
        indices, values = pa.array(places, mask=hidden), values.fill_null("")
    if _first_invalid(values) is not None:  # no reader of labels may meet one that no row has
        return compact(values.take(indices)).dictionary_encode().cast(_TEXT_DICTIONARY)
    return pa.DictionaryArray.from_arrays(indices, values)


def _taken(values: pa.Array, rows: pa.Array) -> pa.Array:
    decoded = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    return decoded.take(rows)


def _map(array: pa.MapArray, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    offsets = np.asarray(array.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    children = []
    for child in (array.keys, array.items):  # of the whole buffer, or of the slice: releases of pyarrow differ
        own = child.slice(first, last - first) if len(child) != last - first else child
        values = convert(own)
        children.append(values.dictionary_decode() if pa.types.is_dictionary(values.type) else values)
    keys, items = children
    if pa.types.is_large_string(keys.type):
        keys = keys.cast(pa.string())
    starts = pa.array(np.ascontiguousarray(offsets - first, np.int32))
    nulls = null_mask(array)
    # not Array.from_buffers: with pyarrow 25 it ends the process where the array was made by take
    return pa.MapArray.from_arrays(starts, keys, items, mask=None if nulls is None else pa.array(nulls))


def _name(array: pa.Array, column: str, table: str, first_row: int) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        if column == "op" and _first_invalid(array.dictionary) is None:
            return array
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type):
        array = array.cast(pa.string())
    if pa.types.is_null(array.type):
        return array
    if not pa.types.is_string(array.type):
        raise UnsupportedTypeError(
            f"`{column}` is {array.type}, but it needs text",
            remedy="Give op as c, u, d or insert, update, delete" if column == "op" else "Cast it to string",
            table=table,
            column=column,
        )
    bad = _first_invalid(array)
    if bad is None:
        return array
    text = compact(array)
    bad = _first_invalid(text)
    if bad is None:
        return text
    raise InvalidValueError(
        f"the text in `{column}` is not valid UTF-8: {text.view(pa.binary())[bad].as_py()!r}",
        remedy="Repair the text",
        table=table,
        column=column,
        row={"position": first_row + bad},
    )


def _first_invalid(text: pa.Array) -> int | None:
    parts = text_buffers(text)
    return first_invalid_utf8(parts.offsets, parts.data)


def rows_by_table(schemas: pa.Array, tables: pa.Array) -> list[tuple[tuple[Any, Any], npt.NDArray[np.int64]]]:
    """Return each (schema, table) with the places of its rows; a NULL name is a name of its own."""
    one, two = schemas.dictionary_encode("encode"), tables.dictionary_encode("encode")
    codes = np.asarray(one.indices).astype(np.int64) * len(two.dictionary) + np.asarray(two.indices)
    order = order_of_codes(codes)
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    return [((schemas[int(rows[0])].as_py(), tables[int(rows[0])].as_py()), rows) for rows in groups]
