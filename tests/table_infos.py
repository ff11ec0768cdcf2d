"""``TableInfo`` from the golden vectors' ``table_info``: the way back from ``conformance.table_infos``."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from ticdc_emit.conformance.table_infos import FLAGS
from ticdc_emit.schema.indexes import HIDDEN_PREFIX
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType

__all__ = ["table_info_from_dict"]

_FLAG_OF_NAME = dict(FLAGS)


def table_info_from_dict(data: Mapping[str, Any]) -> TableInfo:
    """Build a ``TableInfo`` from the vectors' shape; index ids are their position, from 1."""
    columns = tuple(_column_from_dict(column) for column in data["columns"] or ())
    indexes = data.get("indexes") or ()
    return TableInfo(
        schema=data["schema"],
        name=data["table"],
        id=data["table_id"],
        columns=columns,
        indexes=tuple(_index_from_dict(index, position) for position, index in enumerate(indexes, start=1)),
        charset=data["charset"],
        collate=data["collate"],
        version=data["version"],
        update_ts=data["update_ts"],
        pk_is_handle=data["pk_is_handle"],
        common_handle=data["common_handle"],
        is_view=bool(columns) and all(column.type is MySQLType.UNSPECIFIED for column in columns),
    )


def _column_from_dict(data: Mapping[str, Any]) -> Column:
    """Build a ``Column`` from one entry of ``columns``; the names of the types follow from the rest."""
    flags = ColumnFlag.NONE
    for name in data["flags"] or ():
        flags |= _FLAG_OF_NAME[name]
    return Column(
        id=data["id"],
        name=data["name"],
        type=MySQLType(data["mysql_type"]),
        flen=data["flen"],
        decimal=data["decimal"],
        charset=data["charset"],
        collate=data["collate"],
        flags=flags,
        elems=tuple(data["elems"] or ()),
        default=_default_from_dict(data.get("default"), MySQLType(data["mysql_type"])),
        comment=data.get("comment", ""),
        generated=data.get("generated"),
        hidden=data["name"].startswith(HIDDEN_PREFIX) and data.get("generated") == "virtual",
    )


def _index_from_dict(data: Mapping[str, Any], index_id: int) -> Index:
    """Build an ``Index`` from one entry of ``indexes``."""
    return Index(
        id=index_id,
        name=data["name"],
        columns=tuple(data["columns"]),
        unique=data["unique"],
        primary=data["primary"],
    )


def _default_from_dict(default: Any, kind: MySQLType) -> str | bytes | None:
    if default is None:
        return None
    if isinstance(default, Mapping):
        return base64.b64decode(default["base64"])
    # only BIT keeps its default as raw bytes (TiDB: DefaultValueBit); everything else is text.
    return str(default).encode() if kind is MySQLType.BIT else str(default)
