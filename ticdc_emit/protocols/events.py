"""What reading gives: events, the errors of reading, and members of JSON objects with their types checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

from ticdc_emit.errors import SchemaError, TicdcEmitError
from ticdc_emit.sql.json_depth import parsed
from ticdc_emit.tso import MAX_TSO, physical_ms

MALFORMED = "Check that the protocol and its options are the changefeed's. If they are, the message is damaged"
"""The remedy of an error that names no other: the bytes are not what the reader expects."""
OTHER_SCHEMAS = "Give the schemas of the registry where the changefeed registers them"
OTHER_TABLES = "Give the tables and DDL statements that the changefeed had when it sent the message"
FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""The errors that Python raises for an unexpected value."""


class DecodeError(TicdcEmitError, ValueError):
    """A message, or the schema that it names, cannot be read. ``part`` is ``key`` or ``value``, ``field`` a column."""

    def __init__(self, message: str, *, remedy: str = "", **context: Any) -> None:
        super().__init__(message, remedy=remedy or MALFORMED, **context)


class ChecksumMismatchError(DecodeError):
    """A row has another checksum (``actual``) than its message says. ``corrupted``: TiCDC had already marked it."""


def compare_checksums(actual: int, stated: int, **context: Any) -> None:
    """Raise :class:`ChecksumMismatchError` for a row that differs from its checksum."""
    if actual != stated:
        text = f"the row's checksum is {actual}, the message says {stated}"
        raise ChecksumMismatchError(text, expected=stated, actual=actual, **context)


class _AsDecodeError:
    """``with as_decode_error:`` turns other errors while reading a message into :class:`DecodeError`."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, _: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        known = isinstance(fault, TicdcEmitError) and not isinstance(fault, SchemaError)
        if not known and isinstance(fault, FAULTS):
            raise DecodeError(f"the message cannot be read: {type(fault).__name__}: {fault}") from fault


as_decode_error = _AsDecodeError()
RowOp: TypeAlias = Literal["insert", "update", "delete"]
Image: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowEvent:
    """One row change.

    ``before``: only what the message has of the previous row: changed columns, the handle key, or ``None``. ``key``: if
    the message has a key (Avro, Debezium). ``commit_ms``: the physical time, if only that is known. ``schema_version``
    (Simple) is a TSO. ``handle_key_only``: of the images. ``claim_check``: where a message that was not read is stored.
    ``message``: what else the record has, in its protocol's form.
    """

    schema: str
    table: str
    op: RowOp
    commit_ts: int | None
    before: Image | None
    after: Image | None
    key: Image | None = None
    commit_ms: int | None = None
    schema_version: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """A statement; ``schema`` and ``table`` are those after it, ``table`` is "" for a database."""

    query: str
    commit_ts: int | None
    schema: str
    table: str
    commit_ms: int | None = None
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class WatermarkEvent:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BootstrapEvent:
    """The schema of a table whose rows are being sent; ``version`` is the TSO of its last change."""

    schema: str
    table: str
    version: int
    commit_ts: int | None = None
    message: Any = field(default=None, repr=False, compare=False)


Event: TypeAlias = "RowEvent | DdlEvent | WatermarkEvent | BootstrapEvent"


def kind_of(event: Event) -> str:
    """Return ``row``, ``ddl``, ``watermark`` or ``bootstrap``."""
    return type(event).__name__.removesuffix("Event").lower()


def table_of(event: Event) -> str:
    """Return ``schema.table``, only the database for a DDL without a table, and "" for a watermark."""
    if isinstance(event, WatermarkEvent):
        return ""
    return f"{event.schema}.{event.table}" if event.table else event.schema


def commit_ms_of(event: Event) -> int | None:
    """Return the physical time of an event's commit in ms; ``None`` where its message has none."""
    if event.commit_ts is not None:
        return physical_ms(event.commit_ts)
    commit_ms: int | None = getattr(event, "commit_ms", None)
    return commit_ms


_REQUIRED: Any = object()
_T = TypeVar("_T")
_LAST_MS = physical_ms(MAX_TSO)
_PLAIN = frozenset({str, int, float, bool, type(None)})


def _go_whole(text: str) -> int | float:
    return -0.0 if text == "-0" else int(text)


def _go_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


GO_NUMBERS: Mapping[str, Any] = {"parse_int": _go_whole, "parse_constant": _go_constant}
"""The hooks that read Go's numbers: it prints a float's negative zero as an integer, and no NaN or infinity."""


def document(text: bytes, part: str, **hooks: Any) -> dict[str, Any]:
    """Return a JSON object; ``hooks``: those of :func:`json.loads`. Raises :class:`DecodeError` for another text."""
    try:
        members = parsed(text, **hooks)
        if b"\\u" in text:  # a lone surrogate is JSON, but not text
            json.dumps(members, ensure_ascii=False).encode()
    except ValueError as fault:  # so is UnicodeError
        raise DecodeError(f"the {part} is not JSON: {fault}", part=part) from fault
    if not isinstance(members, dict):
        raise DecodeError(f"the {part} is not a JSON object", part=part)
    return members


def member(
    members: Mapping[str, Any], name: str, kind: type[_T], default: _T = _REQUIRED, *, part: str = "value"
) -> _T:
    """Return a member of the given type; without a default it must exist. Raises :class:`DecodeError`."""
    value: Any = members.get(name, default)
    if type(value) is kind:
        return value
    if value is _REQUIRED:
        raise DecodeError("the message lacks a member", part=part, member=name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DecodeError(f"a member is not {kind.__name__}: {value!r:.100}", part=part, member=name)
    return value


def tso(members: Mapping[str, Any], name: str, most: int = MAX_TSO) -> int:
    """Return a member that is a TSO. Raises :class:`DecodeError`."""
    value = members.get(name)
    if type(value) is int and 0 <= value <= most:
        return value
    value = member(members, name, int)
    raise DecodeError(f"a member is not in 0..{most}: {value!r:.100}", part="value", member=name)


def millis(members: Mapping[str, Any], name: str) -> int:
    """Return a member that is the physical time of a TSO in ms. Raises :class:`DecodeError`."""
    return tso(members, name, _LAST_MS)


def check_image(image: Mapping[str, Any], part: str) -> None:
    """Raise :class:`DecodeError` for a row in which a column is a list or an object."""
    if not _PLAIN.issuperset(map(type, image.values())):
        name = next(name for name, value in image.items() if type(value) not in _PLAIN)
        raise DecodeError("a value is neither text, number, boolean nor null", part=part, field=name)


def objects(members: Mapping[str, Any], name: str, *, part: str = "value") -> list[Mapping[str, Any]]:
    """Return a member that is a list of objects. Raises :class:`DecodeError`."""
    items = member(members, name, list, part=part)
    if not all(isinstance(each, Mapping) for each in items):
        raise DecodeError("a member is not a list of objects", part=part, member=name)
    return items


def texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a member that is a list of texts. Raises :class:`DecodeError`."""
    values = member(members, name, list)
    if not all(isinstance(each, str) for each in values):
        raise DecodeError("a member is not a list of texts", part="value", member=name)
    return tuple(values)


def in_any_order(image: Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    """Return an image's columns in a form that does not depend on their order in the message."""
    return None if image is None else sorted(image.items())
