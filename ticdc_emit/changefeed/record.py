"""The records of a state store as JSON: written from a :class:`BatchState`, checked when they are read.

In: the content and the name of a file of the store. Out: a :class:`BatchState`, or a
:class:`~ticdc_emit.errors.StateError` that names the file, the field and the remedy. A record may be years old, cut off
by a full disk, or edited by hand: nothing of it is used before all of it is checked. Fields that an earlier release did
not write have their defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias, TypeGuard

from ticdc_emit.changefeed.state import BatchState, DdlStatement
from ticdc_emit.errors import StateError
from ticdc_emit.json_depth import parsed

__all__ = ["GREATEST", "Places", "batch_id_of", "damaged", "file_name", "is_ddl", "object_of", "record_of", "text_of"]

GREATEST = 2**63 - 1
"""The greatest TSO and the greatest batchId."""

Places: TypeAlias = "list[list[int]]"
"""Ranges [first, end) of statements in the history of DDL (``changefeed.ddl_history``)."""

_PLACES = "ddl_places"
_GREATEST_MS = 2**53
_GREATEST_PARTITIONS = 2**31 - 1
_NAME = re.compile(r"batch-([0-9]{1,19})\.json")
_DIGEST = re.compile(r"([0-9a-f]{32})?")
_RUN = re.compile(r"[0-9A-Za-z-]{1,60}")
_REMEDY = "Restore the file from a backup, or start with another state_uri"


def file_name(batch_id: int) -> str:
    """Return the name of a batch's file."""
    return f"batch-{batch_id}.json"


def batch_id_of(name: str) -> int | None:
    """Return whose record a file holds, ``None`` for another kind of file.

    Raises :class:`StateError` for a name like that of a record, but of no batch.
    """
    if not (name.startswith("batch-") and name.endswith(".json")):
        return None
    match = _NAME.fullmatch(name)
    number = int(match[1]) if match else -1
    if not (0 <= number <= GREATEST and name == file_name(number)):
        raise StateError(
            "the state store contains a file that is not a batch's record",
            remedy="Move the file away: records are named batch-0.json, batch-1.json and so on",
            file=name,
        )
    return number


def text_of(state: BatchState, places: Places) -> bytes:
    """Return the content of a batch's file; ``places``: of its DDL in the history."""
    own = {each.name: getattr(state, each.name) for each in fields(state) if each.name != "ddl"}
    return json.dumps({**own, _PLACES: places}).encode()


def object_of(content: bytes, name: str) -> dict[str, Any]:
    """Return the JSON object that a file of the store holds; :class:`StateError` if it holds none."""
    try:
        record = parsed(content)
    except ValueError as fault:  # of JSON, of its depth, or of its encoding
        raise damaged(name, f"it cannot be read as JSON: {fault}") from None
    if not isinstance(record, dict):
        raise damaged(name, "it is not a JSON object")
    return record


def record_of(content: bytes, batch_id: int, history: Callable[[Places], tuple[DdlStatement, ...]]) -> BatchState:
    """Return the record that a batch's file holds; :class:`StateError` if any part of it cannot be right.

    ``history``: returns the DDL at some places. An earlier release kept all DDL in each record.
    """
    name = file_name(batch_id)
    record = object_of(content, name)
    known = {_PLACES, *(each.name for each in fields(BatchState))}
    has_ddl = "ddl" if "ddl" in record else _PLACES
    for field in sorted({"batch_id", has_ddl} - record.keys()):
        raise damaged(name, f"its field {field} is missing", batch_id)
    if has_ddl != _PLACES and _PLACES in record:
        raise damaged(name, f"it has both ddl and {_PLACES}", batch_id)
    for field, value in record.items():
        if field not in known:
            raise damaged(name, f"its field {field!r:.40} is unknown: a newer release may have written it", batch_id)
        if not _CHECKS[field](value):
            raise damaged(name, f"its field {field} is {value!r:.60}", batch_id)
    if record["batch_id"] != batch_id:
        raise damaged(name, f"it is the record of batch {record['batch_id']}", batch_id)
    if has_ddl == _PLACES:
        return BatchState(ddl=history(record.pop(_PLACES)), **record)
    ddl = tuple((commit_ts, schema, query) for commit_ts, schema, query in record.pop("ddl"))
    return BatchState(**record, ddl=ddl)


def damaged(name: str, what: str, batch_id: int | None = None) -> StateError:
    """Return the error of a file that cannot be used."""
    return StateError(f"the state record cannot be used: {what}", remedy=_REMEDY, file=name, batch_id=batch_id)


def _is_whole(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_tso(value: object) -> bool:
    return _is_whole(value, -1, GREATEST)


def _is_count(value: object) -> bool:
    return _is_whole(value, 0, GREATEST)


def _is_ms(value: object) -> bool:
    return _is_whole(value, 0, _GREATEST_MS)


def _is_clock(value: object) -> bool:
    return value is None or _is_whole(value, -_GREATEST_MS, _GREATEST_MS)


def _is_watermark(value: object) -> bool:
    return value is None or _is_tso(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_digest(value: object) -> bool:
    return value is None or (isinstance(value, str) and _DIGEST.fullmatch(value) is not None)


def _is_run(value: object) -> bool:
    return value is None or (isinstance(value, str) and _RUN.fullmatch(value) is not None)


def is_ddl(value: object) -> bool:
    """Whether this is a list of statements as JSON has it."""
    return isinstance(value, list) and all(
        isinstance(entry, list)
        and len(entry) == 3
        and _is_tso(entry[0])
        and isinstance(entry[1], str)
        and isinstance(entry[2], str)
        for entry in value
    )


def _is_places(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list) and len(each) == 2 and _is_count(each[0]) and _is_whole(each[1], each[0] + 1, GREATEST)
        for each in value
    )


def _is_schedule(value: object) -> bool:
    """Whether this is what ``Bootstraps.state`` returns."""
    return value is None or (
        isinstance(value, dict)
        and _has(value, start_ms=_is_ms, passed_ms=_is_ms, started=_is_flag)
        and isinstance(value.get("tables"), list)
        and all(_is_scheduled_table(entry) for entry in value["tables"])
    )


def _is_scheduled_table(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and _has(entry, key=_is_id, last_row_ms=_is_ms, sent_ms=_is_ms, rows=_is_count, partitions=_is_partitions)
        and isinstance(entry.get("topic"), str)
        and _is_table_version(entry.get("table"))
    )


def _is_table_version(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 5
        and all(isinstance(name, str) for name in value[:2])
        and all(_is_id(number) for number in value[2:])
    )


def _is_partitions(value: object) -> bool:
    return _is_whole(value, 1, _GREATEST_PARTITIONS)


def _is_id(value: object) -> bool:
    return _is_whole(value, -GREATEST - 1, 2 * GREATEST + 1)


def _has(record: dict[str, Any], **checks: Callable[[object], bool]) -> bool:
    return all(name in record and check(record[name]) for name, check in checks.items())


_CHECKS: dict[str, Callable[[object], bool]] = {
    "batch_id": _is_count,
    "build_ts": _is_clock,
    "watermark": _is_watermark,
    "sent_until": _is_tso,
    "ddl": is_ddl,
    _PLACES: _is_places,
    "done": _is_flag,
    "end_watermark": _is_watermark,
    "end_sent_until": _is_tso,
    "rows": _is_count,
    "bootstraps": _is_schedule,
    "end_bootstraps": _is_schedule,
    "max_commit_ts": _is_tso,
    "end_max_commit_ts": _is_tso,
    "digest": _is_digest,
    "run": _is_run,
}
