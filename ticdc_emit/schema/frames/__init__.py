"""Frames, Arrow's and Spark's schemas and tables of Spark's catalog as ``CREATE TABLE`` of TiDB.

:func:`table_sql` gives the statement of a frame or schema, :func:`table_of` the same as data, with the list of what was
assumed.
"""

from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning, table_of, table_sql
from ticdc_emit.schema.frames.source_table import SourceColumn, SourceTable

__all__ = ["AssumedSchemaWarning", "SourceColumn", "SourceTable", "table_of", "table_sql"]
