"""Row changes that are given as such, not as SQL; an error has the ``position`` of the first that does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ticdc_emit.changes.images import refused_value
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.database.row_values import accepted, canonical_texts
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.database.tables import row_place
from ticdc_emit.database.transaction import StoredTable
from ticdc_emit.database.update import differs, refuse_moves
from ticdc_emit.errors import (
    HistoryError,
    InvalidValueError,
    MissingColumnError,
    MissingImageError,
    TicdcEmitError,
    shown,
)
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql.nodes import TableName


def change_rows(changes: Sequence[Mapping[str, Any]], running: RunningStatement) -> None:
    """Make the changes in their order. ``after`` has all columns but generated ones, ``before`` at least the key."""
    positions: dict[tuple[str, str], list[int]] = {}
    for position, change in enumerate(changes):
        positions.setdefault((change["schema"], change["table"]), []).append(position)
    tables: dict[int, StoredTable] = {}
    befores: dict[int, Row] = {}
    afters: dict[int, Row] = {}
    for name, own in positions.items():
        table = running.table(TableName(*name))
        tables |= dict.fromkeys(own, table)
        for which, without, images in (("before", Op.INSERT, befores), ("after", Op.DELETE, afters)):
            given = {at: changes[at][which] for at in own if Op.parse(changes[at]["op"]) is not without}
            images |= _canonical(table, which, given, running)
        changed = [at for at in own if at in afters]
        for at, row in zip(changed, running.completed(table, [afters[at] for at in changed]), strict=True):
            for column in (each for each in table.info.row_columns if each.generated and each.name in afters[at]):
                if differs(column, row[column.name], afters[at][column.name]):
                    context = {"table": table.info.full_name, "column": column.name, "row": {"position": at}}
                    fault = f"the generated column has the value {shown(row[column.name])}"
                    raise InvalidValueError(fault, remedy="Leave it out", **context)
            afters[at] = row
    for position in range(len(changes)):
        try:
            _change(tables[position], befores.get(position), afters.get(position), running)
        except TicdcEmitError as error:
            context = {"row": {"position": position}, **error.context}
            raise type(error)(error.message, remedy=error.remedy, **context) from None


def _change(table: StoredTable, before: Row | None, new: Row | None, running: RunningStatement) -> None:
    old = None
    if before is not None:
        old = table.rows.get(row_place(table.rows, table.info, before, added=True))
        if old is None or any(differs(table.info.column(name), old[name], text) for name, text in before.items()):
            raise HistoryError(
                "the row that is updated or deleted " + ("does not exist" if old is None else f"is {shown(old)}"),
                remedy="Give the row as GET /tables has it, or its key alone",
                table=table.info.full_name,
            )
    running.database.raise_counter(table.info, new)
    if old is not None and new is not None:
        refuse_moves(table, [(old, new)], running)
    running.write(table, *(None if row is None else running.stored(table, [row])[0] for row in (old, new)))


def _canonical(
    table: StoredTable, which: str, images: Mapping[int, Mapping[str, Any] | None], running: RunningStatement
) -> dict[int, Row]:
    info = table.info
    key = info.handle_key_names if which == "before" else ()
    needed = key or tuple(column.name for column in info.row_columns if not column.generated)
    known = {column.name for column in info.columns}
    for position, image in images.items():
        context = {"table": info.full_name, "row": {"position": position}}
        if image is None:
            raise MissingImageError(f"the change has no {which} image", remedy=f"Give {which}", **context)
        for name in (name for name in needed if name not in image):
            raise MissingColumnError(
                f"the {which} image lacks a column", remedy="Give it, NULL as null", column=name, **context
            )
        for name in image.keys() - known:
            remedy = f"{did_you_mean(name, known)}Leave it out"
            raise InvalidValueError(f"the table has no column {name!r}", remedy=remedy, **context)
    rows: dict[int, Row] = {position: {} for position in images}
    for column in info.row_columns:
        own = {position: image for position, image in images.items() if image is not None and column.name in image}
        try:
            values = accepted(column, [dict(image) for image in own.values()], running.rendering)
        except ValueRefused as fault:
            place: dict[str, object] = {"position": list(own)[fault.index]}
            raise refused_value(fault, column, info.full_name, place) from None
        for position, text in zip(own, canonical_texts(column, values), strict=True):
            rows[position][column.name] = text
    return rows
