"""Frames, Arrow's and Spark's schemas and tables of Spark's catalog as ``CREATE TABLE`` of TiDB."""

from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning, table_of, table_sql
from ticdc_emit.schema.frames.source_table import SourceColumn, SourceTable

__all__ = ["AssumedSchemaWarning", "SourceColumn", "SourceTable", "table_of", "table_sql"]
