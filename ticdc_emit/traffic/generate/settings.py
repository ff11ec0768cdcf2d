"""The settings of generated traffic: the arguments of ``generate``, ``generate_stream`` and ``generate_arrow``."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.hints import names as names_of
from ticdc_emit.traffic.generate.column_options import Columns
from ticdc_emit.traffic.generate.cycle import Lifetimes
from ticdc_emit.tso import tso_of

_DEFAULT_RATE = 1000.0
_MAX_RATE = 1_000_000
_SHARES = ("deletes", "shared_commits", "redelivery", "lag")
_DEFAULT_START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)


class TrafficOptions(TypedDict, total=False):
    """The arguments that all functions which generate have besides ``rows``: the fields of :class:`Settings`."""

    seed: int
    tables: str | Iterable[str] | None
    start: int | dt.datetime | None
    rate: float | None
    transaction_size: float
    shared_commits: float
    updates: float
    deletes: float
    skew: float
    ddl_rate: float
    time_zone: str
    columns: Columns | None
    redelivery: float
    lag: float


@dataclass(frozen=True)
class Settings:
    """What changes to generate. Raises :class:`~ticdc_emit.errors.SchemaError` for a number out of its range."""

    rows: int | None
    """Changes of all tables, from 1; ``None`` for no end."""
    seed: int = 0
    """The same seed and settings give the same changes."""
    tables: tuple[str, ...] = ()
    """Only these tables, each ``schema.name``, or ``name`` if one schema has it; empty for all."""
    start: int | dt.datetime | None = None
    """The first commit, a TSO or an aware datetime; ``None`` for the beginning of 2024."""
    rate: float | None = None
    """Changes per second of commit time, above 0 up to 1,000,000; ``None`` for 1,000."""
    transaction_size: float = 1.0
    """Changes with one commit_ts, on average, from 1."""
    shared_commits: float = 0.0
    """Share of transactions that have the commit_ts of another one, from 0 to 1."""
    updates: float = 3.0
    """Updates of a row, on average, from 0 to 1,000."""
    deletes: float = 0.5
    """Share of rows that are deleted in the end, from 0 to 1."""
    skew: float = 1.0
    """Exponent of the Zipf distribution of updates over rows, from 0 (evenly) to 5."""
    ddl_rate: float = 0.0
    """Schema changes per second of commit time, from 0 to ``rate``."""
    time_zone: str = "UTC"
    """The changefeed's, for TIMESTAMP in canonical text."""
    columns: Columns | None = None
    """The user's options for columns, a TOML file or a mapping; checked with the schema."""
    redelivery: float = 0.0
    """Share of messages that come again, from 0 to 1."""
    lag: float = 0.0
    """Share of changes that later ones of other tables overtake, from 0 to 1."""

    @classmethod
    def of(cls, function: str, rows: int | None, options: TrafficOptions) -> Settings:
        """Return the settings of a call; ``TypeError``, which names the function, for an option that is none."""
        refuse_unknown(function, options, TrafficOptions)
        given: dict[str, Any] = {**options, "tables": names_of(options.get("tables") or (), "tables")}
        return cls(rows, **given)

    def __post_init__(self) -> None:
        rate = self.changes_per_second
        has_rate = _within(rate, 0, _MAX_RATE) and rate > 0
        ranges = {
            "rows": (self.rows is None or _within(self.rows, 1), "from 1"),
            "rate": (has_rate, "above 0 up to 1,000,000"),
            "ddl_rate": (_within(self.ddl_rate, 0, rate if has_rate else _MAX_RATE), "from 0 up to rate"),
            "updates": (_within(self.updates, 0, 1000), "from 0 to 1,000"),
            "skew": (_within(self.skew, 0, 5), "from 0 to 5"),
            "transaction_size": (_within(self.transaction_size, 1), "from 1"),
            **{name: (_within(getattr(self, name), 0, 1), "from 0 to 1") for name in _SHARES},
        }
        for name, (is_within, expected) in ranges.items():
            if not is_within:
                message = f"{name} is out of its range: {getattr(self, name)!r}"
                raise SchemaError(message, remedy=f"Give a number {expected}", option=name)

    @property
    def changes_per_second(self) -> float:
        return _DEFAULT_RATE if self.rate is None else self.rate

    @property
    def first_commit(self) -> int:
        """The TSO of ``start``. Raises :class:`~ticdc_emit.errors.SchemaError` if it is not a moment."""
        try:
            return tso_of(_DEFAULT_START if self.start is None else self.start, "start")
        except ConfigError as fault:
            raise SchemaError(fault.message, remedy=fault.remedy, option="start") from None

    @property
    def lives(self) -> Lifetimes:
        return Lifetimes(self.updates, self.deletes, self.skew, self.transaction_size)


def require_zone(changefeed: str, changes: str) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` if a changefeed's time zone is not that of the changes."""
    if changefeed != changes:
        raise ConfigError(
            f"the changefeed's time zone is {changefeed}, that of the changes {changes}",
            remedy="Generate the changes with the changefeed's time_zone",
            option="time_zone",
        )


def _within(value: object, low: float, high: float = math.inf) -> bool:
    return isinstance(value, int | float) and low <= value <= high
