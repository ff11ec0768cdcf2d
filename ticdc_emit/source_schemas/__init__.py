"""Schemas of other systems as ``CREATE TABLE`` of TiDB: Spark's and Arrow's types, and other databases' DDL.

:func:`table_sql` gives the statement of a frame or schema, :func:`schema_sql` those of another database's script.
:func:`table_of` and :func:`source_schema` give the same as data, with the lists of what was assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy
from ticdc_emit.source_schemas.frames import AssumedSchemaWarning, table_of, table_sql
from ticdc_emit.source_schemas.source_table import SourceColumn, SourceTable

if TYPE_CHECKING:
    from ticdc_emit.source_schemas.dialects import DIALECTS, SourceSchema, schema_sql, source_schema

__all__ = [
    "DIALECTS",
    "AssumedSchemaWarning",
    "SourceColumn",
    "SourceSchema",
    "SourceTable",
    "schema_sql",
    "source_schema",
    "table_of",
    "table_sql",
]

__getattr__, __dir__ = lazy(  # sqlglot is imported with the first script of another database
    __name__, dict.fromkeys(("DIALECTS", "SourceSchema", "schema_sql", "source_schema"), "dialects")
)
