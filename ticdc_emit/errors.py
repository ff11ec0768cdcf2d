"""Every error of the library: a cause, a remedy, and its place as keyword context (``table``, ``column``, ``row`` ...).

The context is printed and kept as attributes. Spark workers pickle errors back to the driver, hence
:meth:`TicdcEmitError.__reduce__`. Never put a secret into a message or a context value: mask URIs with
:func:`ticdc_emit.config.secrets.mask_uri` first.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "Alike",
    "AuthenticationError",
    "BatchTooLargeError",
    "BrokerUnreachableError",
    "ChangefeedStateError",
    "ClaimCheckError",
    "ColumnSelectorError",
    "ConfigError",
    "CorruptedRowError",
    "DdlError",
    "DeliveryError",
    "DispatcherError",
    "DuplicateChangeError",
    "HistoryError",
    "IncompatibleSchemaError",
    "InvalidValueError",
    "JarsMissingError",
    "JsonError",
    "LateRowError",
    "MessageTooLargeError",
    "MissingColumnError",
    "MissingDependencyError",
    "MissingImageError",
    "RegistryError",
    "RegistryUnreachableError",
    "ReleaseDefectError",
    "RowError",
    "SchemaError",
    "ServerBusyError",
    "ServerError",
    "SharedSubjectError",
    "StateError",
    "StatementError",
    "StrategyError",
    "TableRouteError",
    "TemporaryFileError",
    "TicdcEmitError",
    "TicdcEmitWarning",
    "UnknownChangefeedError",
    "UnknownTableError",
    "UnknownTopicError",
    "UnsupportedStatementError",
    "UnsupportedTypeError",
]


_LONGEST_MESSAGE = 2000
_LONGEST_TEXT = 300
_LONGEST_VALUE = 60


class TicdcEmitError(Exception):
    """Root of all errors that this library raises on purpose: ``message``, ``remedy``, and ``context``, its place.

    ``messages``: of :meth:`~ticdc_emit.Encoder.execute`, the record batch of what was made before. ``sent``: of
    :meth:`~ticdc_emit.testing.Emulator.run_sql`, what was sent before. ``others``: independent errors of the script.
    """

    messages: Any = None
    sent: Any = None
    others: Sequence[TicdcEmitError] = ()

    def __init__(self, message: str, *, remedy: str = "", **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.context = {name: value for name, value in context.items() if value is not None}

    def __getattr__(self, name: str) -> Any:
        context = self.__dict__.get("context")
        if context and name in context:
            return context[name]
        raise AttributeError(name)

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("messages", "bad_rows", "others")
        state = {name: value for name in names if (value := getattr(self, name, None)) is not None}
        return _rebuild, (type(self), self.message, self.remedy, self.context), state

    def __str__(self) -> str:
        said = {"position"} if "place" in self.context else set()  # the place is its line and column
        said |= {name for name in ("code", "releases") if str(self.context.get(name)) in self.message}
        shown = ((name, self._shown(value)) for name, value in self.context.items() if name not in said)
        place = ", ".join(f"{name}={value!r}" for name, value in shown)
        message = shortened(self.message, 0, _LONGEST_MESSAGE)
        text = message if not place else f"{message} [{place}]"
        return "\n".join([f"{text}. {self.remedy}" if self.remedy else text, *map(str, self.others)])

    def _shown(self, value: Any) -> Any:
        """Return a value as it is printed: of a long text the part around ``position``."""
        if not isinstance(value, str):
            return value
        position = self.context.get("position", 0)
        return shortened(value, position if isinstance(position, int) else 0)


def shortened(text: str, position: int = 0, length: int = _LONGEST_TEXT) -> str:
    """Return a text, or the part of a long one around ``position``."""
    if len(text) <= length:
        return text
    start = min(max(position - length // 2, 0), len(text) - length)
    before, after = "..." * (start > 0), "..." * (start + length < len(text))
    return f"{before}{text[start : start + length]}{after} ({len(text):,} characters)"


def shown(value: object) -> str:
    """Return a value as errors show it: in Python's notation, and cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python converts
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... ({len(text)} characters)"


class TicdcEmitWarning(UserWarning):
    """Root of all warnings: TiCDC accepts the input, but it is probably not what was meant.
    ``warnings.simplefilter("error", TicdcEmitWarning)`` makes them errors, as ``--strict`` does.
    """


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into this library. (``skip_file_prefixes`` of Python 3.12 misses generated code.)"""
    frame, inside = sys._getframe().f_back, 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        frame, inside = frame.f_back, inside + 1
    warnings.warn(message, category, stacklevel=inside + 1)


def _rebuild(kind: type[TicdcEmitError], message: str, remedy: str, context: dict[str, Any]) -> TicdcEmitError:
    return kind(message, remedy=remedy, **context)


class ConfigError(TicdcEmitError, ValueError):
    """A sink URI or changefeed option is wrong. ``option`` names it; ``code`` is TiCDC's own RFC error code, if any."""


class SchemaError(TicdcEmitError, ValueError):
    """A table schema is wrong or does not fit the operation (unknown column, empty table ...)."""


class DdlError(SchemaError):
    """A DDL statement cannot be read or applied. ``statement`` is its text, ``position`` the offset."""


class UnprintableDdlError(DdlError):
    """TiDB has no canonical text for a statement, so a changefeed cannot send it; ``position``: of the clause."""


class UnknownTableError(SchemaError, LookupError):
    """A row or DDL names a table that the catalog does not have at that point of the history."""


class UnsupportedTypeError(SchemaError, TypeError):
    """A column's Arrow or Spark type does not fit the MySQL type (docs/types.md lists the types that do)."""


class DispatcherError(SchemaError):
    """A dispatcher does not fit a table: no such index or column, or a virtual one (CDC:ErrDispatcherFailed)."""


class TableRouteError(SchemaError):
    """Two tables would have one name (CDC:ErrTableRouteConflict), or a DDL fails (CDC:ErrTableRoutingFailed)."""


class ColumnSelectorError(SchemaError):
    """A column selector drops a table's keys, or a dispatcher's column (CDC:ErrColumnSelectorFailed)."""


@dataclass(frozen=True)
class Alike:
    """Bad rows with the same cause. ``places``: of the rows. ``error``: the error of each, by its number among them."""

    places: Sequence[int]
    error: Callable[[int], RowError]


class RowError(TicdcEmitError, ValueError):
    """A row change cannot be encoded. ``table``, ``column`` and ``row`` (position or key) name it. Of a refused batch,
    this is the first in order; ``bad_rows``, a :class:`~ticdc_emit.pipeline.encode.bad_rows.BadRows`, counts the bad
    rows and lists the first ten.
    """

    bad_rows: Any = None
    alike: Alike | None = None  # while the bad rows of a batch are looked for; no other process knows of it

    @classmethod
    def first(cls, places: Sequence[int], error: Callable[[int], RowError]) -> RowError:
        """Return the error of the first of several rows, with the errors of the others (:class:`Alike`)."""
        first_error = error(0)
        first_error.alike = Alike(places, error)
        return first_error

    def __str__(self) -> str:
        listed = "" if self.bad_rows is None else str(self.bad_rows)
        return f"{super().__str__()}\n{listed}" if listed else super().__str__()


class InvalidValueError(RowError):
    """A value is outside its column: range, length, label, encoding, NULL in NOT NULL, NaN or infinity."""


class CorruptedRowError(RowError):
    """A row is marked as corrupted and ``corruption-handle-level`` is ``error``."""


class MissingColumnError(RowError):
    """The input lacks a column that the table (or the change format) needs."""


class MissingImageError(RowError):
    """A change lacks the before or after image that its operation needs."""


class ReleaseDefectError(RowError):
    """The release crashes or fails at a row, or at all of a table; newer ones do not. ``releases``: those that do."""


class DuplicateChangeError(RowError):
    """Two changes of one key have the same commit_ts and no ``seq`` to order them."""


class HistoryError(RowError):
    """A change of a history does not fit the rows before it: the row exists, or it does not."""


class LateRowError(RowError):
    """A row's commit_ts is at or below a watermark that was already emitted."""


class MessageTooLargeError(RowError):
    """A message exceeds ``max-message-bytes`` (TiCDC: CDC:ErrMessageTooLarge)."""


class BatchTooLargeError(TicdcEmitError, ValueError):
    """The messages of a batch exceed what one Arrow array holds (2 GiB)."""


class TemporaryFileError(TicdcEmitError, RuntimeError):
    """A temporary file in ``folder`` cannot be written, or it is gone before it is read."""


class StatementError(TicdcEmitError, ValueError):
    """A SQL statement fails as in TiDB, with MySQL's error ``number``, and has changed nothing."""


class UnsupportedStatementError(TicdcEmitError, ValueError):
    """A SQL statement that this library does not execute, such as a join. It has changed nothing."""


class DeliveryError(TicdcEmitError, RuntimeError):
    """The sink refused or lost a message; nothing after it is reported as delivered."""


class BrokerUnreachableError(DeliveryError):
    """No broker answered in the time given (``waited`` seconds)."""


class ClaimCheckError(DeliveryError):
    """The claim-check storage did not store an object, or does not have it. ``location`` names it, or its folder."""


class AuthenticationError(DeliveryError):
    """A broker refused the login or the certificate, or its certificate is not trusted (after ``waited`` seconds)."""


class UnknownTopicError(DeliveryError, LookupError):
    """The topic does not exist and ``auto-create-topic`` is off."""


class RegistryError(TicdcEmitError, RuntimeError):
    """The schema registry did not accept a schema (TiCDC: CDC:ErrAvroSchemaAPIError). ``subject`` names it."""


class IncompatibleSchemaError(RegistryError):
    """The registry refused a schema as incompatible. ``subject`` and ``version`` (the table version's TSO) name it."""


class SharedSubjectError(RegistryError):
    """Two tables, or a table's old and new name, share a ``subject`` and a version: TiCDC would mix up schemas."""

    REMEDY: ClassVar[str] = (
        "Give every table a topic of its own, and a renamed one another: set topic = '{schema}_{table}' in [sink] "
        "dispatchers. Or leave out avro-include-before-value if it is set."
    )


class RegistryUnreachableError(RegistryError):
    """The registry did not answer, or answered with 5xx, in all ``attempts``."""


class ServerError(TicdcEmitError, RuntimeError):
    """A server that the library starts for tests and ``ticdc-emit serve`` did not come up."""


class ServerBusyError(ServerError):
    """Another call, ``running`` for so many ``seconds``, has kept this one ``waiting`` for too long."""


class JarsMissingError(ServerError):
    """The jars of a server are not on this machine and cannot be fetched, or are not those of the lock file."""


class StateError(TicdcEmitError, RuntimeError):
    """The per-batch state store disagrees with the run (a replayed batch with other input, an unreadable record)."""


class ChangefeedStateError(TicdcEmitError, RuntimeError):
    """A changefeed that runs cannot do what is asked: it was stopped, it has failed, or there is nothing to send."""


class UnknownChangefeedError(TicdcEmitError, LookupError):
    """No changefeed has this id. ``changefeed`` names it."""


class JsonError(TicdcEmitError, ValueError):
    """JSON does not describe the object, or cannot hold it. ``member`` names the place, such as ``rows[3].op``."""


class StrategyError(TicdcEmitError, ValueError):
    """A hypothesis strategy cannot draw the requested values. ``argument`` names the wrong argument."""


class MissingDependencyError(TicdcEmitError, ImportError):
    """An optional package is missing. ``extra`` names the extra of this library that installs it."""

    def __init__(self, message: str, *, remedy: str = "", extra: str = "", **context: Any) -> None:
        if extra:
            remedy = f"Run: pip install 'ticdc-emit[{extra}]' (in a checkout: pip install '.[{extra}]')"
        super().__init__(message, remedy=remedy, **context)


@contextmanager
def importing(message: str, *, extra: str, **context: Any) -> Iterator[None]:
    """Let an import in the block that fails name the extra that installs the package."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(message, extra=extra, **context) from error
