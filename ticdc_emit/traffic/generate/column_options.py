"""The user's options for columns, checked: ranges in a column's units, labels, patterns, the share of NULLs."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, cast

import pyarrow as pa

from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import ConfigError, DdlError, importing, shown
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.defaults import stored_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.nodes.base import Node, every_node, with_children
from ticdc_emit.sql.nodes.expressions import ColumnName
from ticdc_emit.sql.script import parse_expression
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    INTEGERS_AND_YEAR,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    WHOLE_TYPES,
    MySQLType,
    integer_range,
)
from ticdc_emit.traffic.generate.distributions import PARAMETERS, quantiles
from ticdc_emit.traffic.generate.model import full_name, is_number
from ticdc_emit.traffic.generate.states import States
from ticdc_emit.traffic.generate.tables import Name, Refusals, SourceTable

PARENT = "parent"
"""What columns of a parent begin with, in expressions: ``parent.customers.rate``."""

SHARES = 10_000
"""Steps of a share of rows."""

_FRACTION_DIGITS = 6  # of a DECIMAL, that vary


@dataclass(frozen=True)
class ColumnOptions:
    """The checked options of one column. ``first`` and ``count``: a range in units of the column (:func:`unit_of`).
    ``labels``: canonical texts, ``weights`` one for each. ``nulls``: the share of NULLs, ``None`` for the usual one.
    ``parameters``: of the distribution, in points (:func:`quantiles`). ``expression``: SQL that computes the value.
    ``identifier``: one of :data:`IDENTIFIERS`. ``states``: that rows pass, ``entered``: the state whose time it has.
    ``function``: makes the value of other columns.
    """

    first: int = 0
    count: int = 0
    labels: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    pattern: str = ""
    distribution: str = "uniform"
    nulls: float | None = None
    parameters: tuple[float, ...] = ()
    expression: str = ""
    identifier: str = ""
    states: States | None = None
    entered: str = ""
    function: Callable[[dict[str, pa.Array]], Any] | None = None

    @property
    def is_computed(self) -> bool:
        """Whether the values are those of a life, or follow from other columns."""
        return bool(self.expression or self.states or self.entered or self.function)

    @property
    def is_unique(self) -> bool:
        """Whether it gives each row of a key another text or number."""
        return bool(self.pattern or self.identifier or self.labels)

    @property
    def points(self) -> int:
        """How many values a distribution or weights choose from."""
        return self.count or len(self.labels)

    @property
    def has_values(self) -> bool:
        """Whether it defines values, not only the share of NULLs."""
        return bool(self.points or self.pattern)

    @property
    def varies(self) -> bool:
        """Whether there are at least two values besides NULL."""
        if self.pattern:
            return any(is_placeholder for is_placeholder, _ in pattern_parts(self.pattern))
        return self.points > 1


OptionsByColumn = Mapping[tuple[Name, str], ColumnOptions]
"""By table and column."""


def pattern_parts(pattern: str) -> Iterator[tuple[bool, str]]:
    """Yield (whether it is placeholders, text); consecutive placeholders of one kind are one part."""
    parts: list[tuple[bool, str]] = []
    escaped = False
    for sign in pattern:
        is_placeholder = sign in "#?^" and not escaped
        if sign == "\\" and not escaped:
            escaped = True
            continue
        escaped = False
        if parts and parts[-1][0] == is_placeholder and (not is_placeholder or parts[-1][1][0] == sign):
            parts[-1] = is_placeholder, parts[-1][1] + sign
        else:
            parts.append((is_placeholder, sign))
    yield from parts


def unit_of(column: Column) -> int:
    """Return how many points of a range make 1 (DECIMAL, FLOAT, DOUBLE), or how many microseconds make a point."""
    if column.type in MOMENT_TYPES:
        return int(10 ** (6 - column.fraction_digits))
    if column.type is MySQLType.NEWDECIMAL:
        return int(10 ** min(column.fraction_digits, _FRACTION_DIGITS))
    if column.type in FLOAT_TYPES:
        return int(10 ** (min(column.decimal, 2) if column.decimal >= 0 else 2))
    return 1


_NUMBERS = tuple(dict.fromkeys(name for names in PARAMETERS.values() for name in names))
_KINDS = ("range", "labels", "pattern", "faker", "identifier", "states", "entered", "expression", "values")
_OPTIONS = (*_KINDS, "distribution", *_NUMBERS, "weights", "locale", "after", "nulls")
_BESIDE = {"range": {"distribution", *_NUMBERS}, "labels": {"distribution", "exponent", "mean", "deviation", "weights"}}
_BESIDE |= {"faker": {"locale"}, "states": {"after"}}

IDENTIFIERS = {"uuid4": 36, "uuid7": 36, "ulid": 26, "snowflake": 0}
"""What a key may be, and how many characters that has."""

_MOST_LABELS, _MOST_OF_FILE = 1000, 100_000
_MOST_POINTS = 1 << 62
_MOST_NUMBER = 1e15
_MOST_FLOAT = 1 << 53  # integers that a DOUBLE holds exactly
_EPOCH = dt.datetime(1970, 1, 1)
_LABELLED = INTEGERS_AND_YEAR | FLOAT_TYPES | STRING_TYPES | LABEL_TYPES | {MySQLType.NEWDECIMAL}
_LABELLED |= {MySQLType.DATE, MySQLType.DATETIME, MySQLType.DURATION, MySQLType.JSON}
_RANGED_TYPES = WHOLE_TYPES | FLOAT_TYPES | MOMENT_TYPES | {MySQLType.NEWDECIMAL, MySQLType.DATE}
_RANGED = "integers, DECIMAL, FLOAT, DOUBLE, YEAR, BIT, DATE, DATETIME and TIMESTAMP"


def options_by_column(
    columns: Mapping[str, Any], tables: Sequence[SourceTable], refusals: Refusals
) -> dict[tuple[Name, str], ColumnOptions]:
    """Return the options of the tables' columns; a column of LIST partitions has their values as labels. ``columns``:
    of the model, by name or nested. Wrong options are among the ``refusals``.
    """
    known = {
        f"{table.info.full_name}.{each.name}": (table, each) for table in tables for each in table.info.row_columns
    }
    checked: dict[tuple[Name, str], ColumnOptions] = {}
    by_name = {table.name: table for table in tables}
    for table in tables:
        with refusals.collected():
            if table.listed is not None:
                name, labels = table.listed
                values = {"labels": labels[:_MOST_LABELS]}
                checked[table.name, name] = _Reader(table, table.column(name), values, by_name).read()
    for path, options in _flat(columns, (), known):
        with refusals.collected():
            table, column = known[full_name(path, known, "column")]
            checked[table.name, column.name] = _Reader(table, column, options, by_name).read()
    for (of, named), own in checked.items():
        with refusals.collected():
            states = [each.states.names for (owner, _), each in checked.items() if owner == of and each.states]
            if len(states) > 1 or (own.entered and own.entered not in (states[0] if states else ())):
                why = (
                    "the table has two columns with states"
                    if len(states) > 1
                    else f"{own.entered!r} is not a state of the table"
                )
                raise ConfigError(
                    why, remedy="Give one column states", table=".".join(of), column=named, option="model"
                )
    return checked


def _flat(
    options: Mapping[str, Any], path: tuple[str, ...], known: Collection[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, each in options.items():
        if callable(each) and not (path and name == "values"):
            message = f"{name}: a function is an option of a column, with the name values"
            raise ConfigError(message, remedy='Write {"values": function}', option="model")
    inner = {name: each for name, each in options.items() if isinstance(each, Mapping)}
    is_column = "states" in options and any(f".{each}".endswith(f".{'.'.join(path)}") for each in known)
    if path and (len(inner) < len(options) or not options or is_column):
        yield ".".join(path), options
        return
    for name, each in options.items():
        if not isinstance(each, Mapping):
            raise ConfigError(
                f"{name!r} is not in the table of a column",
                remedy="Write it under [columns.schema.table.column]",
                option="model",
            )
        yield from _flat(each, (*path, str(name)), known)


def _is_of_parent(column: ColumnName) -> bool:
    return len(column.parts) > 1 and column.parts[0].lower() == PARENT


def _renamed(node: object) -> object:
    """Return an expression in which a column of a parent has one name: `parent.customers.rate`."""
    if isinstance(node, ColumnName) and _is_of_parent(node):
        return ColumnName((".".join(node.parts).lower(),))
    return with_children(node, _renamed)


class _Reader:
    """Reads the options of one column; each method reads one, or raises what :func:`options_by_column` does."""

    def __init__(
        self, table: SourceTable, column: Column, options: Mapping[str, Any], tables: Mapping[Name, SourceTable]
    ) -> None:
        self._table, self._column, self._options, self._tables = table, column, options, tables

    def read(self) -> ColumnOptions:
        column, options = self._column, self._options
        for name in options:
            if name not in _OPTIONS:
                self._refuse(name, "is not an option", f"{did_you_mean(name, _OPTIONS)}Options: {', '.join(_OPTIONS)}")
        if column.generated is not None:
            self._refuse("columns", "a generated column has computed values", "Remove its options")
        kinds = [name for name in _KINDS if name in options]
        alone = next((kind for kind in ("states", "entered", "expression", "values") if kind in options), None)
        if alone is not None and (beside := options.keys() - {alone, *_BESIDE.get(alone, ())}):
            kinds = [alone, min(beside)]
        if len(kinds) > 1:
            self._refuse(kinds[1], f"cannot be combined with {kinds[0]}", "Keep one of them")
        distribution = self._distribution()
        labels = self._labels(options["labels"]) if "labels" in options else self._names() if "faker" in options else ()
        first, count, parameters = self._drawn(distribution, len(labels))
        if len(labels) < 1 and not count and "distribution" in options:
            self._refuse("distribution", "needs a range or labels", "Add one of them")
        weights = self._weights(len(labels)) if "weights" in options else ()
        drawn = [number for number, weight in enumerate(weights) if weight] or range(len(labels))
        return ColumnOptions(
            first,
            count,
            tuple(labels[number] for number in drawn),
            tuple(weight for weight in weights if weight),
            self._pattern() if "pattern" in options else "",
            distribution,
            self._nulls() if "nulls" in options else None,
            parameters,
            self._expression() if "expression" in options else "",
            self._identifier() if "identifier" in options else "",
            self._states() if "states" in options else None,
            self._entered() if "entered" in options else "",
            self._function() if "values" in options else None,
        )

    def _range(self) -> tuple[int, int]:
        given = self._options["range"]
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
            self._refuse("range", f"{given!r} is not a pair", "Write [lowest, highest]")
        first, last = (self._steps(each) for each in given)
        if first > last:
            self._refuse("range", f"{given[0]} is above {given[1]}", "Put the lower bound first")
        least, most = self._limits()
        if first < least or last > most:
            self._refuse("range", f"{list(given)} is outside the column's type", "Use values that the column can hold")
        count = (last - first) // (unit_of(self._column) if self._column.type in MOMENT_TYPES else 1) + 1
        if count >= _MOST_POINTS:
            self._refuse("range", "has 2^62 values or more", "Use a smaller range")
        return first, count

    def _drawn(self, distribution: str, labels: int) -> tuple[int, int, tuple[float, ...]]:
        """Return the range, and what :func:`quantiles` takes: in points from its first one on."""
        column, given, known = self._column, self._options, PARAMETERS[distribution]
        for name in given.keys() & _NUMBERS:
            if name not in known or (labels and name != "exponent"):
                self._refuse(name, f"is not of the distribution {distribution} here", "Leave it out")
            is_place = name == "mean" and distribution == "normal"
            if not is_place and not (is_number(given[name]) and 0 < given[name] <= _MOST_NUMBER):
                self._refuse(name, f"{given[name]!r} is not a number above 0", "Write a number")
        first, count = self._range() if "range" in given else (0, 0)
        if distribution in ("uniform", "zipf"):
            return first, count, (float(given.get("exponent", 1)),) if distribution == "zipf" else ()
        is_moment, is_date = column.type in MOMENT_TYPES, column.type is MySQLType.DATE
        may_lack = bool(count or labels) if distribution == "normal" else False
        if missing := [name for name in known if name not in given and not may_lack]:
            self._refuse(missing[0], "is missing", f"The distribution {distribution} needs {' and '.join(known)}")
        if not labels and not count and column.type not in _RANGED_TYPES:
            self._refuse("distribution", "is not possible for this type", f"It is for labels, and for {_RANGED}")
        step = unit_of(column) if is_moment else 1
        scale = 1e6 / step if is_moment else 1 / 86_400 if is_date else unit_of(column)
        if distribution == "normal":
            begin, spread = self._steps(given["mean"]) if "mean" in given else None, given.get("deviation", 0) * scale
        else:
            begin, spread = first if is_moment or is_date else 0, given[known[0]] * scale
        sigma = given.get("sigma", 0)
        if not count and not labels:
            if distribution != "normal" and (is_moment or is_date):
                self._refuse(
                    "range", "is missing", "Write the time that the distribution begins with, and the last one"
                )
            reach, (least, most) = spread * (40 if not sigma else math.exp(min(8 * sigma, 40))), self._limits()
            if is_moment or is_date:
                least, most = max(least, self._steps(dt.date.min)), min(most, self._steps(dt.date.max))
            low = max(least, (begin or 0) - (reach * step if distribution == "normal" else 0))
            first = int(low) // step * step
            count = int(min(most, (begin or 0) + reach * step) - first) // step + 1
        middle = ((labels or count) - 1) / 2 if begin is None else (begin - first) / step
        numbers = (middle, spread or (labels or count) / 7, *([float(sigma)] if sigma else []))
        try:
            quantiles(distribution, numbers, labels or count)
        except ValueError:
            self._refuse("distribution", "has nearly nothing in the range", "Use parameters that fit the column")
        return first, count, numbers

    def _expression(self) -> str:
        given, known = self._options["expression"], [column.name.lower() for column in self._table.info.columns]
        try:
            node = parse_expression(given) if isinstance(given, str) else ()
        except DdlError as fault:
            remedy = "Write SQL over columns of the row and of its parent, not of a parent's parent: net * 0.19"
            self._refuse("expression", fault.message, remedy)
        named = [each for each in every_node(node) if isinstance(each, ColumnName)]
        for each in named:
            if _is_of_parent(each):
                self._require_parent(each.parts)
            elif each.name.lower() not in known:
                self._refuse(
                    "expression", f"there is no column {each.name!r}", f"{did_you_mean(each.name, known)}Name another"
                )
        if not named:
            self._refuse("expression", f"{given!r} names no column", "Write SQL over columns of the row: net * 0.19")
        return stored_text(cast("Node", _renamed(node))) if any(map(_is_of_parent, named)) else str(given)

    def _function(self) -> Callable[[dict[str, pa.Array]], Any]:
        given = self._options["values"]
        if not callable(given):
            self._refuse("values", f"{shown(given)} is not a function", "Give one in Python; in TOML write labels")
        return cast("Callable[[dict[str, pa.Array]], Any]", given)

    def _require_parent(self, parts: Sequence[str]) -> None:
        _, name, *column = parts
        links = [each for each in self._table.references if each.parent[1].lower() == name.lower()]
        if len(links) != 1 or not column:
            reason = f"{len(links)} foreign keys of the table refer to a table {name!r}"
            reason = reason if column else f"{'.'.join(parts)} names no column"
            self._refuse("expression", reason, "Write parent, its table and a column: parent.customers.rate")
        if links[0].closes_loop or links[0].parent == self._table.name:
            self._refuse("expression", f"rows of {name!r} can be parents of each other", "Name another table")
        known = [each.name.lower() for each in self._tables[links[0].parent].info.row_columns]
        if column[0].lower() not in known:
            hint = did_you_mean(column[0], known)
            self._refuse("expression", f"there is no column {column[0]!r} in {name!r}", f"{hint}Name another")

    def _limits(self) -> tuple[float, float]:
        column = self._column
        if column.type in INTEGER_TYPES:
            least, most = integer_range(column.type, unsigned=column.unsigned)
            return max(least, 1 - (1 << 63)), min(most, (1 << 63) - 1)  # of what Spark writes as a long
        if column.type is MySQLType.NEWDECIMAL:
            most = min(10 ** (column.flen - column.fraction_digits) * unit_of(column) - 1, (1 << 62) - 1)
            return (0 if column.unsigned else -most), most
        if column.type is MySQLType.YEAR:
            return 1901, 2155
        if column.type is MySQLType.BIT:
            return 0, (1 << min(max(column.flen, 1), 62)) - 1
        if column.type is MySQLType.TIMESTAMP:
            return 1_000_000, ((1 << 31) - 1) * 1_000_000
        if column.type in FLOAT_TYPES:
            return (0 if column.unsigned else -_MOST_FLOAT), _MOST_FLOAT
        return -math.inf, math.inf  # datetime's own, years 1 to 9999

    def _steps(self, value: Any) -> int:
        column = self._column
        if column.type in WHOLE_TYPES:
            if is_number(value, int):
                return int(value)
            self._refuse("range", f"{value!r} is not an integer", "Write integers")
        if column.type is MySQLType.NEWDECIMAL or column.type in FLOAT_TYPES:
            if not is_number(value, int | float | Decimal):
                self._refuse("range", f"{value!r} is not a number", "Write numbers")
            return int((Decimal(str(value)) * unit_of(column)).to_integral_value())
        if column.type is MySQLType.DATE:
            return (self._moment(value) - _EPOCH).days
        if column.type not in MOMENT_TYPES:
            self._refuse("range", "is not possible for this type", f"It is for {_RANGED}")
        return (self._moment(value) - _EPOCH) // dt.timedelta(microseconds=1) // unit_of(column) * unit_of(column)

    def _moment(self, value: Any) -> dt.datetime:
        try:
            moment = value if isinstance(value, dt.date) else dt.datetime.fromisoformat(value)
        except (TypeError, ValueError):
            self._refuse("range", f"{value!r} is not a date or time", "Write it in ISO form: 2026-01-31T12:00:00")
        if not isinstance(moment, dt.datetime):
            return dt.datetime(moment.year, moment.month, moment.day)
        return moment if moment.tzinfo is None else moment.astimezone(dt.timezone.utc).replace(tzinfo=None)

    def _states(self) -> States:
        try:
            states = States.read(self._options["states"], self._options.get("after", {}))
        except ValueError as fault:
            self._refuse("states", str(fault), "Write states = {new = {paid = 1}} and after = {new = '2h'}")
        self._labels(states.names)
        return states

    def _entered(self) -> str:
        if self._column.type not in MOMENT_TYPES or not self._column.nullable:
            self._refuse(
                "entered", "is not possible for this column", "It is for DATETIME and TIMESTAMP that can be NULL"
            )
        return str(self._options["entered"])

    def _labels(self, given: Any) -> tuple[str, ...]:
        column, most = self._column, _MOST_LABELS
        if isinstance(given, str):
            given, most = self._of_file(given), _MOST_OF_FILE
        if not isinstance(given, Sequence) or not 0 < len(given) <= most:
            self._refuse("labels", f"{given!r} is not a list", f"Write a list of 1 to {most:,} values")
        if column.type not in _LABELLED or column.is_binary:
            self._refuse("labels", "is not possible for this type", "Use range, or leave the column out")
        labels = [_text(each) for each in given]
        if len(set(labels)) < len(labels):
            self._refuse("labels", "has a value twice", "Write each value once, and give it a weight")
        try:
            accept(column, pa.array(labels, pa.string()), Rendering("UTC"))
        except ValueRefused as fault:
            self._refuse("labels", f"{given[fault.index]!r}: {fault.reason}", "Use values that the column can hold")
        return tuple(labels)

    def _of_file(self, path: str) -> list[Any]:
        """Return the different values of a file, in their order."""
        try:
            if path.endswith(".parquet"):
                import pyarrow.parquet as pq

                return list(dict.fromkeys(pq.read_table(path).column(0).drop_null().to_pylist()))
            return list(dict.fromkeys(filter(None, Path(path).read_text(encoding="utf-8").splitlines())))
        except (OSError, ValueError) as fault:
            self._refuse("labels", f"cannot read {path}: {fault}", "Give a text file in UTF-8, or one of Parquet")

    def _names(self) -> tuple[str, ...]:
        column, kind, locale = self._column, self._options["faker"], self._options.get("locale", "en_US")
        if column.type not in STRING_TYPES or column.is_binary:
            self._refuse("faker", "is not possible for this type", "It is for CHAR, VARCHAR and TEXT")
        with importing("the option faker needs the package faker", extra="faker"):
            pool = _pool(str(kind), str(locale))
        fitting = tuple(text for text in pool if column.flen < 0 or len(text) <= column.flen)
        if not fitting:
            reason = "has no text that the column can hold" if pool else f"{kind!r} in {locale!r} is not known"
            self._refuse("faker", reason, "Name a provider of Faker, such as company, and a locale, such as de_DE")
        return fitting

    def _identifier(self) -> str:
        column, given = self._column, self._options["identifier"]
        if given not in IDENTIFIERS:
            self._refuse("identifier", f"{given!r} is not known", f"Use one of {', '.join(IDENTIFIERS)}")
        width = 16 if column.is_binary and given != "ulid" else IDENTIFIERS[given]
        is_text = column.type in STRING_TYPES and (column.flen < 0 or column.flen >= width)
        fits = column.type is MySQLType.LONGLONG if given == "snowflake" else is_text
        if not fits or (column.is_binary and column.type is MySQLType.STRING and column.flen != width):
            needed = f"CHAR({width}), or for a UUID BINARY(16)" if width else "BIGINT"
            self._refuse("identifier", f"{given} does not fit the column", f"Use {needed}")
        return str(given)

    def _weights(self, labels: int) -> tuple[float, ...]:
        given = self._options["weights"]
        if not labels:
            self._refuse("weights", "needs labels", "Add labels, one for each weight")
        if "distribution" in self._options:
            self._refuse("weights", "cannot be combined with distribution", "Keep one of them")
        is_list = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == labels
        if not is_list or not all(is_number(each) and each >= 0 for each in given) or not sum(given) > 0:
            self._refuse(
                "weights", f"{given!r} does not fit {labels} labels", "Write a number from 0 on for each label"
            )
        return tuple(float(each) for each in given)

    def _pattern(self) -> str:
        column, given = self._column, self._options["pattern"]
        if column.type not in STRING_TYPES or column.is_binary:
            self._refuse("pattern", "is not possible for this type", "It is for CHAR, VARCHAR and TEXT")
        if not isinstance(given, str) or not given:
            self._refuse(
                "pattern", f"{given!r} is not a text", "Write # for a digit, ? for a letter, ^ for an upper one"
            )
        shown = "".join(text for _, text in pattern_parts(given))
        if 0 <= column.flen < len(shown):
            self._refuse(
                "pattern", f"makes {len(shown)} characters, the column has {column.flen}", "Shorten the pattern"
            )
        return given

    def _distribution(self) -> str:
        given = self._options.get("distribution", "uniform")
        if given not in PARAMETERS:
            self._refuse("distribution", f"{given!r} is not known", f"Use one of {', '.join(PARAMETERS)}")
        return str(given)

    def _nulls(self) -> float:
        given = self._options["nulls"]
        if not is_number(given) or not 0 <= given <= 1:
            self._refuse("nulls", f"{given!r} is not a share", "Write a number from 0 to 1")
        if given and not self._column.nullable:
            self._refuse("nulls", "the column is NOT NULL", "Remove it, or make the column nullable")
        return float(given)

    def _refuse(self, option: str, message: str, remedy: str) -> NoReturn:
        raise ConfigError(
            message if option == "columns" else f"{option}: {message}",
            remedy=remedy,
            table=self._table.info.full_name,
            column=self._column.name,
            option=option,
        )


_DRAWN = 10_000


@lru_cache(maxsize=64)
def _pool(kind: str, locale: str) -> tuple[str, ...]:
    """Return different texts that Faker makes, always the same; none for a provider or locale that it does not know."""
    from faker import Faker

    try:
        drawn = Faker(locale)
        drawn.seed_instance(0)
        return tuple(dict.fromkeys(str(getattr(drawn, kind)()) for _ in range(_DRAWN)))
    except (AttributeError, TypeError):
        return ()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
