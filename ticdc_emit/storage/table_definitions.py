"""What a schema file of a storage sink holds, and the checksum in its name; made and read.

Out: JSON as Go's ``json.MarshalIndent`` makes it (four blanks, ``<`` ``>`` ``&`` escaped), and CRC-32 of the same
without query, type and version, with columns ordered by name. Virtual and hidden columns are shown as others are.
Source: ``pkg/sink/cloudstorage/table_definition.go`` of pingcap/tiflow, ``pkg/cloudstorage/schema_file.go`` of
pingcap/ticdc. TiDB sets the unsigned flag on BIT and YEAR, and here it is shown.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ticdc_emit.columnar.escape import GO_STD, quoted
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    DATE_TYPES,
    FLOAT_TYPES,
    FSP_TYPES,
    LABEL_TYPES,
    TYPES,
    UNSPECIFIED_LENGTH,
    ColumnFlag,
    MySQLType,
    type_name,
)
from ticdc_emit.storage.paths import SchemaFile

_VERSION = 1
"""The version of the format. The checksum is made with 0."""
_INDENT = b"    "
_TEXT_CHARSET = "utf8mb4"
_TYPES = {
    type_name(kind, charset).upper(): (kind, charset)
    for charset in (BINARY_CHARSET, _TEXT_CHARSET)
    for kind in TYPES
    if kind is not MySQLType.NEWDATE
}
"""Types and charsets by the names in schema files."""
_WITHOUT_PRECISION = DATE_TYPES | FSP_TYPES | LABEL_TYPES | {MySQLType.JSON, MySQLType.VECTOR_FLOAT32}


@dataclass(frozen=True)
class TableDefinition:
    """The schema of a table or, without ``table`` and columns, a database. ``version``: a TSO.

    ``action``: TiDB's number of the statement; empty if rows need it. ``columns``: ``None`` where TiCDC has none.
    ``shows_ids``: ``output-column-id``; ``shows_labels``: of ENUM and SET.
    """

    schema: str
    table: str
    version: int
    columns: tuple[Column, ...] | None
    query: str = ""
    action: int = 0
    shows_ids: bool = False
    shows_labels: bool = False

    @classmethod
    def of_table(
        cls, info: TableInfo, version: int, *, shows_ids: bool = False, shows_labels: bool = False
    ) -> TableDefinition:
        """Return the definition of a table version."""
        return cls(info.schema, info.name, version, info.columns, shows_ids=shows_ids, shows_labels=shows_labels)

    def by(self, event: DdlEvent) -> TableDefinition:
        """Return the definition as the DDL writes it."""
        return replace(self, query=event.query, action=event.action_code)

    @property
    def file(self) -> SchemaFile:
        """The version and the checksum in the file's name."""
        return SchemaFile(self.version, self.checksum)

    @cached_property
    def checksum(self) -> int:
        """What all versions with the same columns have in common, in whatever order."""
        return checksum_of(self._members())

    def content(self) -> bytes:
        """Return the bytes of the file."""
        return _marshalled(self._members(), 0)

    def _members(self) -> dict[str, Any]:
        return {
            "Table": self.table,
            "Schema": self.schema,
            "Version": _VERSION,
            "TableVersion": self.version,
            "Query": self.query,
            "Type": self.action,
            "TableColumns": [self._column(column) for column in self.columns] if self.columns else None,
            "TableColumnsTotal": len(self.columns or ()),
        }

    def _column(self, column: Column) -> dict[str, Any]:
        unsigned = " UNSIGNED" if column.unsigned else ""
        has_none = column.type in _WITHOUT_PRECISION or column.type is MySQLType.UNSPECIFIED
        precision, scale = None if has_none else column.length, _scale(column)
        members = {
            "ColumnId": str(column.id) if self.shows_ids else None,
            "ColumnName": column.name,
            "ColumnType": f"{type_name(column.type, column.charset).upper()}{unsigned}",
            "ColumnDefault": column.default,
            "ColumnPrecision": None if precision is None else str(precision),
            "ColumnScale": None if scale is None else str(scale),
            "ColumnNullable": None if column.nullable else "false",
            "ColumnIsPk": "true" if column.is_primary_key else None,
            "ColumnElems": list(column.elems) if self.shows_labels and column.elems else None,
        }
        return {name: value for name, value in members.items() if value is not None}


def checksum_of(document: Mapping[str, Any]) -> int:
    """Return the checksum of a schema file, given its members, as it must be in the file's name."""
    columns = sorted(document.get("TableColumns") or (), key=lambda column: str(column["ColumnName"]).encode())
    members = {
        "Table": document["Table"],
        "Schema": document["Schema"],
        "Version": 0,
        "TableColumns": columns,
        "TableColumnsTotal": document["TableColumnsTotal"],
    }
    return zlib.crc32(_marshalled(members, 0))


def table_of(document: Mapping[str, Any]) -> TableInfo | None:
    """Return what a schema file shows of its table (the primary key alone); ``None`` for a database.

    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for other members.
    """
    if not document["Table"]:
        return None
    columns = tuple(_column_of(each, number) for number, each in enumerate(document["TableColumns"] or (), 1))
    return TableInfo(document["Schema"], document["Table"], 0, columns, version=document["TableVersion"])


def _column_of(members: Mapping[str, Any], number: int) -> Column:
    name, _, sign = members["ColumnType"].partition(" ")
    kind, charset = _TYPES[name]
    flags = ColumnFlag.UNSIGNED if sign else ColumnFlag.NONE
    flags |= ColumnFlag.NOT_NULL if members.get("ColumnNullable") == "false" else ColumnFlag.NONE
    flags |= ColumnFlag.PRIMARY_KEY if members.get("ColumnIsPk") == "true" else ColumnFlag.NONE
    length, scale = (int(members.get(each, UNSPECIFIED_LENGTH)) for each in ("ColumnPrecision", "ColumnScale"))
    labels = tuple(members.get("ColumnElems") or ())
    return Column(number, members["ColumnName"], kind, length, scale, charset, charset, flags, labels)


def _marshalled(value: Any, depth: int) -> bytes:
    if isinstance(value, Mapping):
        members = (b'"%s": %s' % (name.encode(), _marshalled(each, depth + 1)) for name, each in value.items())
        return _enclosed(b"{", members, b"}", depth)
    if isinstance(value, list):
        items = [_marshalled(each, depth + 1) for each in value]
        return _enclosed(b"[", items, b"]", depth) if items else b"[]"
    return quoted(value, GO_STD) if isinstance(value, str | bytes) else json.dumps(value).encode()


def _scale(column: Column) -> int | None:
    kind = column.type
    if kind is MySQLType.NEWDECIMAL:
        return column.scale
    if kind in FSP_TYPES:
        return column.decimal if column.decimal > 0 else None
    if kind in FLOAT_TYPES:
        return column.decimal if column.decimal not in (0, UNSPECIFIED_LENGTH) else None
    return None


def _enclosed(opening: bytes, items: Iterable[bytes], closing: bytes, depth: int) -> bytes:
    inside, outside = b"\n" + _INDENT * (depth + 1), b"\n" + _INDENT * depth
    return opening + inside + (b"," + inside).join(items) + outside + closing
