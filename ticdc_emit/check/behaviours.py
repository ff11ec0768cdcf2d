"""What a consumer of TiCDC has to bear: one behaviour a line of the verdict, each with its own examples.

A behaviour is a scenario (after an incident), a group of column types, a kind of statement, a fault of delivery, or all
of them at random. Adding a scenario, a type or a fault adds its line; nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ticdc_emit.check.examples import Example, Setting, follows_ddl
from ticdc_emit.strategies.changefeeds import FeedOptions
from ticdc_emit.strategies.ddl import DDL_KINDS
from ticdc_emit.strategies.deliveries import Delivery
from ticdc_emit.traffic.scenarios import deliveries, rows, schema_changes
from ticdc_emit.traffic.scenarios.delivery_order import FAULTS, kinds_of
from ticdc_emit.traffic.scenarios.library import scenario
from ticdc_emit.traffic.scenarios.model import ScenarioKind, kind_named, kinds_in

_FEW = 6
"""Examples of a group of types, a statement or a fault."""

_TYPES: Mapping[str, tuple[str, ...]] = {
    "integers": ("tinyint", "smallint", "mediumint", "int", "bigint", "year"),
    "decimals": ("decimal",),
    "floats": ("float", "double"),
    "texts": ("char", "varchar", "tinytext", "text", "mediumtext", "longtext"),
    "bytes": ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit"),
    "times": ("date", "datetime", "timestamp", "time"),
    "labels": ("enum", "set"),
    "json": ("int", "json"),
    "vectors": ("int", "vector"),
}


@dataclass(frozen=True)
class Behaviour:
    """``what``: a sentence without its end. ``scenario``: the only example, else ``options`` of
    :func:`~ticdc_emit.strategies.histories` and ``faults`` for examples that are drawn.
    """

    name: str
    group: str
    what: str
    scenario: ScenarioKind | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def of(self, setting: Setting) -> Setting:
        """Return what its examples are drawn for: types and statements are tried in order, in one partition."""
        return setting.in_one_partition() if self.group in ("types", "statements") else setting

    def why_not(self, setting: Setting) -> str | None:
        """Return why a changefeed does not have it; ``None`` if it does."""
        config = self.of(setting).config
        if self.scenario is not None:
            if self.scenario.asks_source:
                return "a consumer has to read the large rows in TiDB"
            if config.codec.form not in self.scenario.protocols:
                return f"the scenario does not exist for {config.codec.form}"
            if config.release.name not in self.scenario.releases(config.codec.form):
                return f"TiCDC {config.release.name} cannot send it"
        elif self.group == "statements" and not follows_ddl(config):
            return "the messages do not tell which rows come before a statement"
        elif self.group == "types" and setting.schema is not None:
            return "the tables are given"
        elif self.faults and not set(self.faults) & set(kinds_of(config)):
            return "the messages have no watermarks, or there is only one partition"
        return None

    def examples(self, setting: Setting, count: int) -> Iterator[Example]:
        """Yield its examples; ``count``: of random histories."""
        if self.scenario is not None:
            config = setting.config
            story = scenario(self.name, protocol=config.codec.form, release=config.release, seed=setting.seed)
            feed = FeedOptions(story.sink_uri, dict(story.changefeed))
            arrival = Delivery(story.history, story.config, feed, story.messages, story.partitions, story.schemas)
            refusal = None if story.refusal is None else story.refusal.__name__
            yield Example(self.name, 1, arrival, story.expected, story.shown, story.keys, refusal)
            return
        faults = tuple(kind for kind in self.faults if kind in kinds_of(setting.config))
        yield from self.of(setting).drawn(
            self.name, count if self.group == "histories" else _FEW, faults, **self.options
        )


_GROUPS = {deliveries: "delivery", schema_changes: "schema changes", rows: "values"}


BEHAVIOURS: tuple[Behaviour, ...] = (
    *(
        Behaviour(f"type-{name}", "types", f"values of {', '.join(types)}", options={"types": types, "ddl_kinds": ()})
        for name, types in _TYPES.items()
    ),
    *(
        Behaviour(
            kind.replace(" ", "-"), "statements", f"rows before and after {kind.upper()}", options={"ddl_kinds": kind}
        )
        for kind in DDL_KINDS
    ),
    *(
        Behaviour(kind.name, group, kind.incident, kind)
        for home, group in _GROUPS.items()
        for kind in kinds_in(home, ScenarioKind)
    ),
    *(Behaviour(f"fault-{kind}", "faults", what, faults=(kind,)) for kind, what in FAULTS.items()),
    Behaviour("random", "histories", "random histories"),
    Behaviour("random-faults", "histories", "random histories with random faults", faults=tuple(FAULTS)),
)
"""All of them, in the order in which they are tried: what is simple first."""


def chosen(names: tuple[str, ...]) -> tuple[Behaviour, ...]:
    """Return the behaviours of these names, or of these groups; all for none. Raises ``ConfigError`` for others."""
    if not names:
        return BEHAVIOURS
    groups = {each.group for each in BEHAVIOURS}
    for name in set(names) - groups:
        kind_named(name, BEHAVIOURS, what="behaviour")
    return tuple(each for each in BEHAVIOURS if {each.name, each.group} & set(names))
