"""Whether rows of these Arrow types can be changes of a table: checked before anything is sent or created.

In: a batch without rows, and a table with all its versions. Out: nothing, or the error that every row would raise.
Only types are looked at, on arrays without rows, so this costs nothing and says nothing of values.
"""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.arrange.block import FieldNames, struct_fields
from ticdc_emit.arrange.image_reader import check_fields
from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import MissingColumnError, TicdcEmitError, UnsupportedTypeError
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.schema.model import TableInfo

__all__ = ["check_images"]

_IMAGES = ("before", "after")


def check_images(batch: pa.RecordBatch, table: TablePlan, how: Rendering) -> None:
    """Raise the error of rows of these types that fit no version of the table; ``batch``: its types, without rows.

    :class:`~ticdc_emit.errors.UnsupportedTypeError` for a type that cannot hold a column,
    :class:`~ticdc_emit.errors.MissingColumnError` for a column that no image has, and what ``arrange.reader`` raises
    for a column that the table never had. Rows that fit one version are left to the check of their values.
    """
    images = [batch.column(name) for name in _IMAGES if name in batch.schema.names]
    full_name = f"{table.schema}.{table.name}"
    for name in _IMAGES:
        kind = batch.schema.field(name).type if name in batch.schema.names else pa.null()
        if not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_null(kind)):
            raise UnsupportedTypeError(
                f"the image {name!r} is {kind}, not a struct or map",
                remedy="Give a struct of the table's columns, or a map of canonical text",
                table=full_name,
                column=name,
            )
    kinds = [(field.name, field.type) for field in batch.schema if field.name in _IMAGES]
    check_fields(struct_fields(kinds, FieldNames()), table)
    structs = [image for image in images if pa.types.is_struct(image.type)]
    is_whole = not any(pa.types.is_map(image.type) for image in images)
    faults = []
    for encoder in table.encoders:
        if encoder is not None:
            fault = _fault(structs, encoder.table, how, is_whole=is_whole)
            if fault is None:
                return
            faults.append(fault)
    if faults:
        raise faults[-1]


def _fault(structs: list[pa.StructArray], info: TableInfo, how: Rendering, *, is_whole: bool) -> TicdcEmitError | None:
    """Return why no row can be of a version; ``is_whole``: whether no image is a map, whose columns are not known."""
    held = {field.name for struct in structs for field in struct.type}
    for struct in structs:
        try:
            arrays = dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))
            image = Image(info, arrays, how)
            for column in info.data_columns:
                if column.name in arrays:
                    image.values(column)
        except TicdcEmitError as fault:
            return fault
        except pa.ArrowException:  # what Arrow cannot do without rows is told with rows
            return None
    missing = [column.name for column in info.data_columns if column.name not in held]
    if structs and is_whole and missing:
        return MissingColumnError(
            "the image lacks a column of the table",
            remedy="Add the column to the before/after struct (null where unknown)",
            table=info.full_name,
            column=missing[0],
        )
    return None
