"""TiCDC's releases, each a frozen record of the switches of ``config/switches.py``, and which one a version means.

``classic`` and ``next`` are the newest of the two lineages, ``master`` has what came after ``next``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, NamedTuple

from ticdc_emit.config import switches
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean


@dataclass(frozen=True)
class Release:
    """The switches of one release. The defaults are those of ``classic``."""

    name: str
    options: switches.OptionSwitches = switches.OptionSwitches()
    canal_json: switches.CanalJsonSwitches = switches.CanalJsonSwitches()
    avro: switches.AvroSwitches = switches.AvroSwitches()
    simple: switches.SimpleSwitches = switches.SimpleSwitches()
    debezium: switches.DebeziumSwitches = switches.DebeziumSwitches()
    open_protocol: switches.OpenSwitches = switches.OpenSwitches()
    csv: switches.CsvSwitches = switches.CsvSwitches()
    storage: switches.StorageSwitches = switches.StorageSwitches()
    routing: switches.RoutingSwitches = switches.RoutingSwitches()
    delivery: switches.DeliverySwitches = switches.DeliverySwitches()
    values: switches.ValueSwitches = switches.ValueSwitches()
    transactions: switches.TransactionSwitches = switches.TransactionSwitches()
    filtering: switches.FilterSwitches = switches.FilterSwitches()
    ddl: switches.DdlSwitches = switches.DdlSwitches()

    def but(self, name: str, **differences: Mapping[str, Any]) -> Release:
        """Return a release that differs from this one: by record, its switches with their values."""
        records = {record: replace(getattr(self, record), **changed) for record, changed in differences.items()}
        return replace(self, name=name, **records)

    @classmethod
    def parse(cls, release: str | Release) -> Release:
        """Return the release of a name: one of :data:`RELEASES`, a version (``8.5.3``), or ``next-8.5.7``.

        Two numbers mean the newest release of the line.
        """
        if isinstance(release, Release):
            return release
        if release in RELEASES:
            return RELEASES[release]
        meant, nearest = _meant(str(release))
        if not meant:
            known = " and ".join(each.name for each in nearest)
            hint = f"The nearest to it: {known}. " if known else did_you_mean(str(release), RELEASES)
            raise ConfigError(
                f"unknown release {release!r}", remedy=f"{hint}Use one of: {', '.join(RELEASES)}", option="release"
            )
        if len(meant) > 1:
            names = " or ".join(each.name for each in meant)
            raise ConfigError(
                f"two TiCDCs have the version {release}, of the classic and of the new architecture",
                remedy=f"Use {names}: the new one runs where the TiCDC servers have newarch = true",
                option="release",
            )
        return meant[0]


def _release(name: str) -> Release:
    records: dict[str, Any] = {}
    for record in fields(Release)[1:]:
        newest: Any = record.default
        given = {each.name: each.metadata["by release"][name] for each in fields(newest) if each.metadata}
        records[record.name] = replace(newest, **given)
    return Release(name, **records)


LINEAGES = {
    lineage: tuple(_release(name) for name, (of_lineage, _) in switches.RELEASE_NAMES.items() if of_lineage == lineage)
    for lineage in switches.LINEAGES
}
"""The releases of each lineage, the oldest of each line first."""
CLASSIC = LINEAGES["classic"][-1]
NEXT, MASTER = LINEAGES["next"][-2:]
RELEASES = {each.name: each for each in (CLASSIC, NEXT, MASTER, *LINEAGES["classic"], *LINEAGES["next"])}
"""All releases by name, the newest first."""


def releases_with(test: Callable[[Release], bool]) -> str:
    """Return the names of the releases that pass a test, with ``to`` between the first and the last of neighbours."""
    spans = []
    for releases in LINEAGES.values():
        for passes, group in groupby(releases, key=test):
            names = [each.name for each in group]
            if passes:
                spans.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(spans)


_VERSION = re.compile(r"(?:(classic|next)-)?v?([0-9]+\.[0-9]+)(?:\.([0-9]+)(?:-release\.([0-9]+))?)?", re.IGNORECASE)
_FINAL = 10
"""The number of the release candidate that became the final release: 8.5.4 is 8.5.4-release.10."""


class _Version(NamedTuple):
    """``lineage``: "" if none is named; ``patch``: its number and that of the release candidate, None for a line."""

    lineage: str
    line: tuple[int, ...]
    patch: tuple[int, int] | None

    @classmethod
    def read(cls, text: str) -> _Version | None:
        written = _VERSION.fullmatch(text.strip())
        if written is None:
            return None
        lineage, line, patch, candidate = written.groups()
        named = "next" if candidate and not lineage else (lineage or "").lower()
        if candidate and named == "classic":
            return None
        numbers = tuple(map(int, line.split(".")))
        return cls(named, numbers, (int(patch), int(candidate or _FINAL)) if patch else None)


def _meant(text: str) -> tuple[list[Release], list[Release]]:
    wanted = _Version.read(text)
    meant: list[Release] = []
    nearest: list[Release] = []
    if wanted is None:
        return meant, nearest
    for lineage in [wanted.lineage] if wanted.lineage else LINEAGES:
        known = [(have[1:], each) for each in LINEAGES[lineage] if (have := _Version.read(each.name))]
        meant += [each for (line, patch), each in known if (line, wanted.patch or patch) == (wanted.line, patch)][-1:]
        older = [each for have, each in known if have < (wanted.line, wanted.patch or (0, 0))]
        nearest += older[-1:] or [known[0][1]]
    return meant, nearest
