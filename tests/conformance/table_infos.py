"""``TableInfo`` as a plain dict, in the shape of the golden vectors' ``table_info``.

The shape (``tests/vectors``): empty lists of flags and labels are null; ``default``, ``comment`` and ``generated`` are
absent if there is none; a default that is not UTF-8 is ``{"base64": ...}``. It has no index ids (the order is TiDB's
and replaces them), no partitions, no table comment and no ON UPDATE flag.
"""

from __future__ import annotations

import base64
from typing import Any

from ticdc_emit.schema.model import Column, Index, TableInfo, sql_type, type_desc
from ticdc_emit.sql.types import ColumnFlag

FLAGS = (
    ("unsigned", ColumnFlag.UNSIGNED),
    ("not_null", ColumnFlag.NOT_NULL),
    ("primary_key", ColumnFlag.PRIMARY_KEY),
    ("zerofill", ColumnFlag.ZEROFILL),
    ("auto_increment", ColumnFlag.AUTO_INCREMENT),
)


def table_info_to_dict(table: TableInfo) -> dict[str, Any]:
    """Return ``table`` in the vectors' shape (JSON-serialisable)."""
    return {
        "charset": table.charset,
        "collate": table.collate,
        "columns": [_column_to_dict(column) for column in table.columns],
        "common_handle": table.common_handle,
        "indexes": [_index_to_dict(index) for index in table.indexes],
        "pk_is_handle": table.pk_is_handle,
        "schema": table.schema,
        "table": table.name,
        "table_id": table.id,
        "update_ts": table.update_ts,
        "version": table.version,
    }


def _column_to_dict(column: Column) -> dict[str, Any]:
    """Return one entry of ``columns``."""
    data: dict[str, Any] = {
        "charset": column.charset,
        "collate": column.collate,
        "decimal": column.decimal,
        "elems": list(column.elems) or None,
        "flags": [name for name, flag in FLAGS if column.flags & flag] or None,
        "flen": column.flen,
        "id": column.id,
        "mysql_type": int(column.type),
        "name": column.name,
        "sql_type": sql_type(column),
        "type_desc": type_desc(column),
        "visible": not column.is_virtual,
    }
    if column.default is not None:
        data["default"] = _default_to_dict(column.default)
    if column.comment:
        data["comment"] = column.comment
    if column.generated is not None:
        data["generated"] = column.generated
    return data


def _index_to_dict(index: Index) -> dict[str, Any]:
    """Return one entry of ``indexes``."""
    return {"columns": list(index.columns), "name": index.name, "primary": index.primary, "unique": index.unique}


def _default_to_dict(default: str | bytes) -> str | dict[str, str]:
    if isinstance(default, str):
        return default
    try:
        return default.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(default).decode("ascii")}
