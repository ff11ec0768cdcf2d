"""The settings of generated traffic: the arguments of ``generate``, ``generate_stream`` and ``generate_arrow``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypedDict

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.hints import names as names_of
from ticdc_emit.traffic.generate.model import Model, ModelSource, is_number, read_model
from ticdc_emit.tso import tso_of

_DEFAULT_RATE = 1000.0
_MAX_RATE = 1_000_000
_DEFAULT_START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)


class TrafficOptions(TypedDict, total=False):
    """The arguments that all functions which generate have besides ``rows``: the fields of :class:`Settings`."""

    seed: int
    tables: str | Iterable[str] | None
    start: int | dt.datetime | None
    rate: float | None
    time_zone: str
    model: ModelSource | None


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
    time_zone: str = "UTC"
    """The changefeed's, for TIMESTAMP in canonical text."""
    model: Model = field(default_factory=Model)
    """How tables, columns, load and trouble are; checked with the schema."""

    @classmethod
    def of(cls, function: str, rows: int | None, options: TrafficOptions) -> Settings:
        """Return the settings of a call; ``TypeError``, which names the function, for an option that is none."""
        refuse_unknown(function, options, TrafficOptions)
        given: dict[str, Any] = {**options, "tables": names_of(options.get("tables") or (), "tables")}
        return cls(rows, **given | {"model": read_model(options.get("model"))})

    def __post_init__(self) -> None:
        rate, ddl_rate = self.changes_per_second, self.model.load.ddl_rate
        for name, is_within, expected in (
            ("rows", self.rows is None or (is_number(self.rows) and self.rows >= 1), "from 1"),
            ("rate", is_number(rate) and 0 < rate <= _MAX_RATE, "above 0 up to 1,000,000"),
            ("ddl_rate", not is_number(rate) or ddl_rate <= rate, "from 0 up to rate"),
        ):
            if not is_within:
                message = f"{name} is out of its range: {ddl_rate if name == 'ddl_rate' else getattr(self, name)!r}"
                raise SchemaError(message, remedy=f"Give a number {expected}", option=name)

    @property
    def changes_per_second(self) -> float:
        return _DEFAULT_RATE if self.rate is None else self.rate

    @property
    def first_commit(self) -> int:
        """The TSO of ``start``. Raises :class:`~ticdc_emit.errors.ConfigError` if it is not a moment."""
        return tso_of(_DEFAULT_START if self.start is None else self.start, "start")


def require_zone(changefeed: str, changes: str) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` if a changefeed's time zone is not that of the changes."""
    if changefeed != changes:
        raise ConfigError(
            f"the changefeed's time zone is {changefeed}, that of the changes {changes}",
            remedy="Generate the changes with the changefeed's time_zone",
            option="time_zone",
        )
