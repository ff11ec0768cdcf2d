"""How a changefeed runs, whatever its engine: options that a run takes beside TiCDC's own configuration.

Each field of :class:`RunOptions` has its name, type, default, :class:`TextForm` for ``format("ticdc")``, and line of
help for commands. ``--help`` loads this module, so it imports no encoder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from numbers import Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import ConfigError
from ticdc_emit.tso import LOGICAL_BITS


@dataclass(frozen=True)
class TextForm:
    """How an option is given as text. ``parse``: raises ValueError, KeyError or TypeError; ``what``: for its error."""

    parse: Callable[[str], Any]
    what: str


TEXT = TextForm(str, "text")
SECONDS = TextForm(float, "a number of seconds")
FLAG = TextForm(lambda text: {"true": True, "false": False}[text.strip().lower()], "true or false")
URI = TextForm(Secret, "text")
"""It may hold a login."""
_CLOCK = TextForm(lambda text: text if text in ("commit", "wall") else int(text), "commit, wall or ms")


def _as(form: TextForm, help_: str = "") -> dict[str, Any]:
    return {"text": form, "help": help_}


@dataclass(frozen=True)
class RunOptions:
    """How a changefeed runs; ``spark.TicdcSink`` explains each option. Raises ``ConfigError``."""

    clock: Literal["commit", "wall"] | int = field(default="commit", metadata=_as(_CLOCK))
    watermark_interval: float | None = field(
        default=None, metadata=_as(SECONDS, "Commit time between watermarks within a batch or slice.")
    )
    allowed_lateness: float = field(default=0, metadata=_as(SECONDS))
    late: Literal["error", "emit", "drop"] = field(default="error", metadata=_as(TEXT))
    state_uri: Secret[str] | None = field(
        default=None, metadata=_as(URI, "Folder for the state, so that the run can resume after a stop.")
    )
    verbatim_json: bool = field(default=False, metadata=_as(FLAG))
    bad_rows: Literal["refuse", "skip"] = field(
        default="refuse", metadata=_as(TEXT, "Whether a bad row refuses its batch or is skipped.")
    )
    bad_rows_path: Secret[str] | None = field(
        default=None, metadata=_as(URI, "Folder for skipped rows, written as JSON lines.")
    )
    heartbeat: float | None = None  # a write of the data source ends with its rows
    message_digests: bool = False  # nor has it a report

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RunOptions:
        """Return the options among those of a call, which have their names; URIs are text."""
        values = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        for name, form in cls.text_forms().items():
            if form is URI and values.get(name) is not None:
                values[name] = Secret(values[name])
        return cls(**values)

    @classmethod
    def text_forms(cls) -> dict[str, TextForm]:
        """Return how options are given as text, by their names, without those that the data source does not have."""
        return {each.name: each.metadata["text"] for each in fields(cls) if each.metadata}

    def __post_init__(self) -> None:
        for option in CHOICES:
            check_choice(option, getattr(self, option))
        if self.bad_rows_path is not None and self.bad_rows != "skip":
            raise ConfigError(
                "bad_rows_path has no effect: bad rows are refused, not skipped",
                remedy="Set bad_rows='skip', or leave the path out",
                option="bad_rows_path",
            )
        if not (self.clock in ("commit", "wall") or isinstance(self.clock, int)):
            raise ConfigError(f"clock={self.clock!r} is unknown", remedy="Use commit, wall or ms", option="clock")
        _check_seconds("allowed_lateness", self.allowed_lateness)
        if self.heartbeat is not None:
            self._check_heartbeat(self.heartbeat)
        if self.watermark_interval is not None:
            _check_seconds("watermark_interval", self.watermark_interval)
            if self.watermark_interval and not self.interval_ms:
                raise ConfigError(
                    f"watermark_interval={self.watermark_interval!r} is less than a millisecond",
                    remedy="Give 0.001 seconds or more, or 0 for one watermark at the end of each batch",
                    option="watermark_interval",
                )

    @cached_property
    def lateness(self) -> int:
        """``allowed_lateness`` as a difference of TSO."""
        return round(self.allowed_lateness * 1000) << LOGICAL_BITS

    @property
    def interval_ms(self) -> int | None:
        return None if self.watermark_interval is None else round(self.watermark_interval * 1000)

    def now(self) -> int | None:
        """Return the wall clock of messages in ms, ``None`` for the time of each commit."""
        if self.clock == "commit":
            return None
        return time.time_ns() // 1_000_000 if self.clock == "wall" else int(self.clock)

    def _check_heartbeat(self, seconds: float) -> None:
        _check_seconds("heartbeat", seconds)
        if not seconds:
            raise ConfigError(
                "heartbeat=0 would send without a pause", remedy="Give seconds above 0", option="heartbeat"
            )
        if self.clock != "wall":
            raise ConfigError(
                "a heartbeat needs the wall clock, but clock is 'commit'",
                remedy="Use clock='wall' for changes that come as they commit, or leave the heartbeat out",
                option="heartbeat",
            )
        if not self.allowed_lateness:
            raise ConfigError(
                "with a heartbeat every change that is still under way would be late",
                remedy="Set allowed_lateness to more seconds than a change takes from its commit into a batch",
                option="heartbeat",
            )


CHOICES: Mapping[str, tuple[str, ...]] = {
    name: get_args(kind) for name, kind in get_type_hints(RunOptions).items() if get_origin(kind) is Literal
}
"""The values of each option that is one of a few."""


def check_choice(option: str, value: object) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` for a value that the option does not have."""
    *others, last = CHOICES[option]
    if value not in CHOICES[option]:
        remedy = f"Use {', '.join(others)} or {last}"
        raise ConfigError(f"{option}={value!r} is unknown", remedy=remedy, option=option)


def _check_seconds(option: str, value: object) -> None:
    if not (isinstance(value, Real) and 0 <= float(value) * 1000 < math.inf):
        raise ConfigError(
            f"{option}={value!r} is not a number of seconds, 0 or more", remedy="Give 0 or more seconds", option=option
        )
