"""The expected tables: a history folded into the final rows of its tables, DDL included. Nothing is read from messages:
this is the independent judge of every consumer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.binary_text import go_quoted_json
from ticdc_emit.columnar.escape import GO_STD
from ticdc_emit.columnar.strings import label_reader
from ticdc_emit.config.protocols import BinaryForm, ProtocolSpec, spec_of
from ticdc_emit.database.tables import Database, Tables, add_row
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql.types import BLOB_TYPES, LABEL_TYPES, STRING_TYPES

_Change: TypeAlias = Mapping[str, Any]


class TableFold(Database):
    """Follows a history in commit order."""

    def follow(self, rows: Iterable[_Change], ddl: Iterable[tuple[int, str] | tuple[int, str, str]]) -> Tables:
        """Take a whole history, in any order, and return its final tables. Rows come before DDL of their commit_ts."""
        of = itemgetter("commit_ts", "schema", "table")
        steps: list[tuple[int, bool, Any]] = [(each[0], True, each) for each in ddl]
        steps += [(key[0], False, list(changes)) for key, changes in groupby(sorted(rows, key=of), of)]
        for commit_ts, is_ddl, step in sorted(steps, key=itemgetter(0, 1)):
            if is_ddl:
                _, query, *schema = step
                self.apply(commit_ts, query, schema=schema[0] if schema else None)
            else:
                self.commit(step)
        return self.tables


# -- as messages show them -------------------------------------------------------------------------------------------


def shown_tables(tables: Tables, version: Callable[[str, str], TableInfo], protocol: str) -> Tables:
    """Return the tables with ENUM, SET and binary values, also those in keys, as a protocol's messages show them."""
    spec = spec_of(protocol)
    shown: Tables = {}
    for name, rows in tables.items():
        info = version(*name)
        shows = {column.name: show for column in info.row_columns if (show := as_shown(column, spec)) is not None}
        shown[name] = {}
        for row in rows.values():  # which may lack columns, if they are of messages that end too early
            changed: Row = {each: show(text) for each, show in shows.items() if (text := row.get(each)) is not None}
            add_row(shown[name], info, row | changed)
    return shown


def as_shown(column: Column, spec: ProtocolSpec) -> Callable[[str], str] | None:
    """Return what makes a message's text of canonical text, ``None`` if both are the same."""
    if column.type in LABEL_TYPES:
        return (lambda label: str(label_reader(column)(label))) if spec.numbers_labels else None
    if column.type not in STRING_TYPES:
        return None
    if spec.binary is BinaryForm.LATIN_1 and column.is_binary:
        return lambda text: base64.b64decode(text).decode("latin-1")
    if spec.binary is BinaryForm.GO_QUOTED and column.is_binary and column.type not in BLOB_TYPES:
        return _go_quoted
    if spec.binary is BinaryForm.GO_QUOTED and column.type in BLOB_TYPES and not column.is_binary:
        return lambda text: base64.b64encode(text.encode()).decode()
    return None


def _go_quoted(text: str) -> str:
    (printed,) = go_quoted_json(pa.array([base64.b64decode(text)]), GO_STD).to_pylist()
    return str(json.loads(f'"{printed}"'))
