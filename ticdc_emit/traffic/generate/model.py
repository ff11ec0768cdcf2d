"""The model of generated traffic: one document that says how tables, columns, load and trouble are. In goes TOML or a
mapping, out a :class:`Model` whose numbers are checked. Names of tables and columns are checked with a schema
(:meth:`Model.of_tables`, ``column_options.py``).
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.hints import did_you_mean, names
from ticdc_emit.traffic.generate.distributions import poisson_counts, zipf_shares
from ticdc_emit.traffic.generate.tables import Name, Refusals, SourceTable

ModelSource = str | os.PathLike[str] | Mapping[str, Any]
"""A TOML file or its text, or a mapping such as ``{"load": {"transaction_size": 3}}``."""


def _number(default: float | None, low: float, high: float) -> Any:
    return field(default=default, metadata={"low": low, "high": high})


@dataclass(frozen=True)
class Children:
    """How many rows a row of the table ``of`` has: ``parameter`` is that of the ``distribution``. ``together``: whether
    they change in its transactions.
    """

    of: str
    distribution: str
    parameter: Any
    together: bool = False

    def counts(self, parents: int, total: int) -> list[int]:
        """Return how many each of so many parents has: quantiles of the distribution. ``total``: of all, for zipf."""
        if self.distribution == "zipf":
            return zipf_shares(total, parents, self.parameter)
        if self.distribution == "poisson":
            return poisson_counts(self.parameter, parents)
        low, high = self.parameter
        return [low + (2 * number + 1) * (high - low + 1) // (2 * parents) for number in range(parents)]


@dataclass(frozen=True)
class TableOptions:
    """``updates``: of a row, on average, spread over rows with the Zipf exponent ``skew``. ``deletes``: the share of
    rows that are deleted in the end. ``weight``: the share of the changes, among those of the other tables.
    ``together``: the tables of children that change in the same transactions.
    """

    updates: float = _number(3.0, 0, 1000)
    deletes: float = _number(0.5, 0, 1)
    skew: float = _number(1.0, 0, 5)
    weight: float | None = _number(None, 0.001, 1_000_000)
    children: Children | None = field(default=None, metadata={})
    together: tuple[str, ...] = field(default=(), metadata={})


@dataclass(frozen=True)
class Load:
    """``transaction_size``: changes with one commit_ts, on average. ``ddl_rate``: schema changes per second of commit
    time.
    """

    transaction_size: float = _number(1.0, 1, 1_000_000)
    ddl_rate: float = _number(0.0, 0, 1_000_000)


@dataclass(frozen=True)
class Trouble:
    """Shares: of messages that come again, of changes that later ones of other tables overtake, of transactions that
    have the commit_ts of another one, of updates that change a key or swap it with that of another row, of updates in
    statements of several rows, of deletes by REPLACE, of schema changes that truncate a table or drop and create it,
    and of rows at the ends of their types.
    """

    redelivery: float = _number(0.0, 0, 1)
    lag: float = _number(0.0, 0, 1)
    shared_commits: float = _number(0.0, 0, 1)
    key_updates: float = _number(0.0, 0, 1)
    swaps: float = _number(0.0, 0, 0.5)
    multi_row: float = _number(0.0, 0, 1)
    replaces: float = _number(0.0, 0, 1)
    truncates: float = _number(0.0, 0, 0.5)
    drops: float = _number(0.0, 0, 0.5)
    extremes: float = _number(0.0, 0, 0.1)


NO_TROUBLE = Trouble()


@dataclass(frozen=True)
class Model:
    """``tables``: options by a table's name, under ``*`` those of all that have no own ones. ``columns``: options by
    the name of a column, or nested.
    """

    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    load: Load = Load()
    trouble: Trouble = NO_TROUBLE

    def of_tables(self, tables: Sequence[SourceTable], refusals: Refusals) -> dict[Name, TableOptions]:
        """Return the options of each table; names of none, or of several, are among the ``refusals``."""
        known = {table.info.full_name: table.name for table in tables}
        merged = {table.name: dict(self.tables.get("*", {})) for table in tables}
        for name, options in self.tables.items():
            with refusals.collected():
                if name != "*":
                    merged[known[full_name(name, known, "table")]] |= options
        checked = {table: TableOptions(**options) for table, options in merged.items()}
        for table, each in checked.items():
            with refusals.collected():
                if each.children is not None:
                    own = replace(each.children, of=full_name(each.children.of, known, "table"))
                    checked[table] = replace(each, children=own)
        for table, each in checked.items():
            for name in each.together:
                with refusals.collected():
                    other = known[full_name(name, known, "table")]
                    children = checked[other].children
                    if children is None or children.of != ".".join(table):
                        raise ConfigError(
                            f"{'.'.join(table)} and {name} cannot change together: they are not parent and children",
                            remedy=f'Give {name} children = {{of = "{table[1]}", ...}} in [tables]',
                            option="together",
                        )
                    checked[other] = replace(checked[other], children=replace(children, together=True))
        return checked


def full_name(name: str, known: Mapping[str, object], kind: str) -> str:
    """Return the full name, among ``known``, of a table or column of the model, whose first parts may be left out."""
    fits = [name] if name in known else [each for each in known if each.endswith(f".{name}")]
    if len(fits) != 1:
        message = f"{len(fits)} {kind}s have the name {name!r}" if fits else f"there is no {kind} {name!r}"
        whole = "schema.table.column" if kind == "column" else "schema.table"
        hint = f"Write one of {', '.join(fits)}" if fits else f"{did_you_mean(name, known)}Write {whole}"
        raise ConfigError(message, remedy=hint, option="model")
    return fits[0]


_SECTIONS = tuple(each.name for each in fields(Model))
Section = TypeVar("Section", TableOptions, Load, Trouble)


def read_model(source: ModelSource | None) -> Model:
    """Return the model. Raises :class:`~ticdc_emit.errors.ConfigError` if it is not a model."""
    document = document_of(source)
    for name, section in document.items():
        if name not in _SECTIONS:
            raise _refusal(f"{name!r} is not a section", name, _SECTIONS)
        _require_mapping(section, f"[{name}]")
    tables = {}
    for name, options in document.get("tables", {}).items():
        place = f"[tables] {name}"
        _require_mapping(options, place)
        children = options.get("children")
        own: dict[str, Any] = (
            {} if children is None else {"children": _children(children, options, f"{place} children")}
        )
        if "together" in options:
            own["together"] = names(options["together"], f"{place} together")
        _section(TableOptions, {key: value for key, value in options.items() if key not in own}, place)
        tables[name] = {**options, **own}
    load, trouble = (_section(kind, document.get(name, {}), f"[{name}]") for kind, name in _NUMBERS)
    return Model(tables, document.get("columns", {}), load, trouble)


_REALISTIC = {"redelivery": 0.001, "lag": 0.01, "shared_commits": 0.18}
"""About what users of eight writers measured (docs/traffic.md)."""

_NUMBERS: tuple[tuple[Any, str], ...] = ((Load, "load"), (Trouble, "trouble"))


def _section(kind: type[Section], given: Mapping[str, Any], place: str) -> Section:
    known = {each.name: each.metadata for each in fields(kind)}
    for name, value in given.items():
        if name not in known:
            raise _refusal(f"{place} {name}: is not an option", name, known)
        _require_number(value, known[name]["low"], known[name]["high"], f"{place} {name}", name)
    return kind(**given)


def is_number(value: Any, kind: Any = int | float) -> bool:
    """Return whether a value of the user is a finite number."""
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)


def _require_number(value: Any, low: float, high: float, place: str, option: str, kind: Any = int | float) -> None:
    if not is_number(value, kind) or not low <= value <= high:
        what = "number" if kind == int | float else "whole number"
        remedy = f"Give a {what} from {low:,} to {high:,}"
        raise ConfigError(f"{place} is out of its range: {shown(value)}", remedy=remedy, option=option)


_OF_CHILDREN = {"fixed": "count", "uniform": "range", "poisson": "mean", "zipf": "exponent"}
_MOST_CHILDREN = 1000


def _children(given: Any, table: Mapping[str, Any], place: str) -> Children:
    _require_mapping(given, place)
    distribution = given.get("distribution", "uniform" if "range" in given else "fixed")
    if distribution not in _OF_CHILDREN:
        raise _refusal(f"{place} distribution: {shown(distribution)} is not known", distribution, _OF_CHILDREN)
    name = _OF_CHILDREN[distribution]
    if unknown := given.keys() - {"of", "distribution", name}:
        raise _refusal(f"{place} {min(unknown)}: is not an option", min(unknown), ["of", "distribution", name])
    if not isinstance(given.get("of"), str) or name not in given:
        raise ConfigError(f"{place} needs of and {name}", remedy="Name the parents' table", option="model")
    if unfit := {"deletes", *(("weight",) if distribution != "zipf" else ())} & table.keys():
        message = f"{place} cannot be combined with {min(unfit)}: rows come and go with their parents"
        raise ConfigError(message, remedy="Give it to the parents' table", option="model")
    value = given[name]
    if distribution == "uniform":
        if not isinstance(value, Sequence) or len(value) != 2 or sorted(value) != list(value):
            raise ConfigError(f"{place} range: {shown(value)} is not a pair", remedy="Write [least, most]", option=name)
        value = tuple(value)
    elif distribution == "fixed":
        value = value, value
    for each in value if isinstance(value, tuple) else (value,):
        kind = int if distribution in ("uniform", "fixed") else int | float
        _require_number(each, 0, 5 if distribution == "zipf" else _MOST_CHILDREN, f"{place} {name}", name, kind)
    return Children(given["of"], distribution, value)


def _require_mapping(value: object, place: str) -> None:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place} is not a table: {shown(value)}", remedy="Write options and values", option="model")


def _refusal(message: str, name: object, known: Any) -> ConfigError:
    return ConfigError(message, remedy=f"{did_you_mean(str(name), known)}There are {', '.join(known)}", option="model")


def document_of(source: ModelSource | None) -> Mapping[str, Any]:
    """Return the sections of a model, with the options that "realistic" trouble stands for. Raises
    :class:`~ticdc_emit.errors.ConfigError` if it is not TOML.
    """
    document = source or {} if source is None or isinstance(source, Mapping) else _parsed(source)
    return {**document, "trouble": _REALISTIC} if document.get("trouble") == "realistic" else document


def _parsed(source: str | os.PathLike[str]) -> Mapping[str, Any]:
    is_text = isinstance(source, str) and "=" in source
    try:
        return tomllib.loads(str(source) if is_text else Path(source).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        message, remedy = f"cannot read the model: {fault}", "Give a TOML file in UTF-8, or TOML itself"
    except (ValueError, RecursionError) as fault:
        message, remedy = f"the model is not TOML: {fault}", f"Its sections are {', '.join(_SECTIONS)}"
    raise ConfigError(message, remedy=remedy, option="model", path=None if is_text else str(source))
