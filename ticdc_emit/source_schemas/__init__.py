"""Scripts of other databases as ``CREATE TABLE`` of TiDB.

:func:`schema_sql` gives the statements, :func:`source_schema` the same as data, with the lists of what was assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.source_schemas.dialects import DIALECTS, SourceSchema, schema_sql, source_schema

__all__ = ["DIALECTS", "SourceSchema", "schema_sql", "source_schema"]

__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__, "dialects"))  # sqlglot is imported with the first script
