"""Schemas of other systems as ``CREATE TABLE`` of TiDB: Spark's and Arrow's types, and other databases' DDL.

:func:`table_sql` gives the statement, :func:`source_table` the same as data, with the list of what was assumed.
"""

from __future__ import annotations

from ticdc_emit.source_schemas.frames import AssumedSchemaWarning, source_table, table_sql
from ticdc_emit.source_schemas.source_table import SourceColumn, SourceTable

__all__ = ["AssumedSchemaWarning", "SourceColumn", "SourceTable", "source_table", "table_sql"]
