"""The values of one column in, its options in a model out. No letter or digit of a text leaves, and nothing that fewer
than ``SMALLEST_GROUP`` rows have: a range goes from the 20th value to the 20th from the end, in round numbers.

Distributions are fitted by their moments, Zipf's by the mean logarithm of the ranks, and chosen by the
Kolmogorov-Smirnov distance.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql import types

SMALLEST_GROUP = 20
_MOST_LABELS = 1_000
_MOST_RANKS = 1_000_000
_POINTS = 2_000  # at which a distribution is compared, and texts that a pattern is made of
_DATE = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_FAKER = re.compile(
    r"(?:^|_)(?:(?P<email>e?mail(?:_address)?)|(?P<company>(?:company|supplier|employer)(?:_name)?)"
    r"|(?P<first_name>(?:first|given)_?name)|(?P<last_name>(?:last|family)_?name|surname)"
    r"|(?P<name>(?:full|customer|contact|person|owner)_?name|(?<!_)name)|(?P<user_name>(?:user|login)_?name)"
    r"|(?P<city>(?:city|town)(?:_name)?)|(?P<country>country(?:_name)?)|(?P<postcode>(?:zip|post(?:al)?)_?(?:code)?)"
    r"|(?P<street_address>(?:street|address)(?:_?(?:address|line|1))*)|(?P<phone_number>(?:tele|mobile_?)?phone|mobile))$"
)
"""Kinds of Faker by the ends of the names of columns."""

Floats = npt.NDArray[np.float64]
Options = dict[str, Any]


def numbers_of(column: Column, values: pa.ChunkedArray) -> Floats | None:
    """Return the values without NULLs, those of times in seconds since 1970; ``None`` for a type without a range."""
    if column.type not in types.NUMBER_TYPES | types.CALENDAR_TYPES:
        return None
    try:
        values = values.drop_null()
        if column.type in types.CALENDAR_TYPES:
            values = values.filter(pc.match_substring_regex(values.cast(pa.string()), _DATE))
            return np.asarray(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy() / 1e6)
        values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException:
        remedy = "Give the schema of the source"
        raise ConfigError("values are of another type", remedy=remedy, option="schema", column=column.name) from None


def options_of(column: Column, values: pa.ChunkedArray, *, keep: bool, is_key: bool) -> Options:
    """Return the options of a column. ``keep``: its values may leave as labels. ``is_key``: it is unique alone."""
    nulls, present = values.null_count, len(values) - values.null_count
    options: Options = {}
    if column.nullable and not is_key and len(values):
        share = nulls / len(values)
        options["nulls"] = round(share, 4) if min(nulls, present) >= SMALLEST_GROUP else float(round(share))
    if present < 2 * SMALLEST_GROUP:
        return options
    is_text = column.type in types.STRING_TYPES and not column.is_binary
    if keep or column.type in types.LABEL_TYPES:
        return options | _labels(column, values)
    if is_text:
        return options | _of_texts(column, values.drop_null().cast(pa.string()), is_key)
    numbers = None if is_key else numbers_of(column, values)
    if numbers is not None and column.type in types.INTEGER_TYPES and {*np.unique(numbers[:99]), 0, 1} == {0, 1}:
        return options | _labels(column, values)
    return options if numbers is None else options | _of_numbers(column, np.sort(numbers))


def _labels(column: Column, values: pa.ChunkedArray) -> Options:
    """Return labels that enough rows have, with weights. The other labels of an ENUM share the rest of the rows."""
    values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    texts = values.drop_null().cast(pa.string())
    counts = {each["values"]: each["counts"] for each in pc.value_counts(texts).to_pylist()}
    large = {label: count for label, count in counts.items() if count >= SMALLEST_GROUP}
    rest = sum(counts.values()) - sum(large.values())
    small = [each for each in column.elems if each not in large and column.type is types.MySQLType.ENUM]
    weights = {**large, **dict.fromkeys(small, rest / len(small) if small and rest >= SMALLEST_GROUP else 0)}
    labels = sorted(weights, key=lambda label: -weights[label])[:_MOST_LABELS]
    total = sum(weights[label] for label in labels)
    return {"labels": labels, "weights": [_short(weights[label] / total) for label in labels]} if total else {}


# -- numbers and times -------------------------------------------------------------------------------------------------


def _of_numbers(column: Column, numbers: Floats) -> Options:
    least, most = low, high = float(numbers[SMALLEST_GROUP - 1]), float(numbers[-SMALLEST_GROUP])
    is_time, is_whole = column.type in types.CALENDAR_TYPES, column.type in types.WHOLE_TYPES
    if low < high:
        steps = [10.0 ** (math.floor(math.log10(min(high - low, abs(each) or high - low))) - 2) for each in (low, high)]
        steps = [max(step, 1.0) if is_time or is_whole else step for step in steps]
        least, most = math.ceil(low / steps[0]) * steps[0], math.floor(high / steps[1]) * steps[1]
    if is_time:
        moments = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=each) for each in (least, most)]
        has_time = column.type in types.MOMENT_TYPES
        return {"range": [(each if has_time else each.date()).isoformat() for each in moments]}
    shown = [int(each) if is_whole else round(each, 9) for each in (least, most)]
    return {"range": shown, **(_fit(numbers, low, high, is_whole) if low < high else {})}


def _fit(numbers: Floats, low: float, high: float, is_whole: bool) -> Options:
    """Return the distribution of sorted numbers with its parameters; nothing for uniform ones."""
    points = np.unique(numbers[np.linspace(0, len(numbers) - 1, _POINTS).astype(np.int64)])
    below = np.searchsorted(numbers, points, side="right") / len(numbers)
    unit, mean, deviation = float(is_whole), float(numbers.mean()), float(numbers.std())
    middles = points + unit / 2
    shares: dict[str, tuple[Floats, dict[str, float]]] = {}  # the simplest ones first
    shares["uniform"] = np.clip((middles - low + unit / 2) / (high - low + unit), 0, 1), {}
    if numbers[0] >= 0:
        shares["exponential"] = 1 - np.exp(-middles / mean), {"mean": mean}
    shares["normal"] = _normal((middles - mean) / deviation), {"mean": mean, "deviation": deviation}
    if numbers[0] > 0:
        center, sigma = float(np.log(numbers).mean()), float(np.log(numbers).std())
        shares["lognormal"] = _normal((np.log(middles) - center) / sigma), {"median": math.exp(center), "sigma": sigma}
    count = int(high - low) + 1
    if is_whole and count <= _MOST_RANKS:
        ranks, logs = np.clip(numbers - low, 0, count - 1), np.log1p(np.arange(count))
        exponent = _solved(lambda each: float(_zipf(count, each) @ logs), float(np.log1p(ranks).mean()))
        places = np.clip(points - low, 0, count - 1).astype(np.int64)
        shares["zipf"] = np.cumsum(_zipf(count, exponent))[places], {"exponent": exponent}
    name = _nearest({name: float(np.abs(share - below).max()) for name, (share, _) in shares.items()})
    parameters = {key: _short(value) for key, value in shares[name][1].items()}
    return {"distribution": name, **parameters} if parameters else {}


def _nearest(distances: dict[str, float]) -> str:
    """Return the first name whose distance is about the smallest."""
    return next(name for name, each in distances.items() if each <= 1.2 * min(distances.values()) + 0.003)


def _zipf(count: int, exponent: float) -> Floats:
    weights = np.arange(1, count + 1) ** -exponent
    return np.asarray(weights / weights.sum())


def _solved(falling: Callable[[float], float], wanted: float) -> float:
    """Return the exponent from 0 to 5 for which a falling function has a value."""
    low, high = 0.0, 5.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > wanted else (low, middle)
    return low


def _normal(x: Floats) -> Floats:
    return np.array([0.5 + math.erf(each / math.sqrt(2)) / 2 for each in x])


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def distance(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Return the Kolmogorov-Smirnov distance of two arrays of numbers."""
    points = np.concatenate([first, second])
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def children_of(counts: npt.NDArray[np.int64]) -> Options:
    """Return the distribution of how many children a parent has, of at least ``SMALLEST_GROUP`` parents."""
    counts, draw, total = np.sort(counts)[::-1], np.random.default_rng(0), int(counts.sum())
    low, high, mean = int(counts[-SMALLEST_GROUP]), int(counts[SMALLEST_GROUP - 1]), _short(float(counts.mean()))
    if low >= high:
        return {"distribution": "fixed", "count": high}
    logs = np.log1p(np.arange(len(counts)))

    def zipf(exponent: float) -> npt.NDArray[np.int64]:
        return np.sort(draw.poisson(total * _zipf(len(counts), exponent)))[::-1]

    exponent = _short(
        _solved(lambda each: float((drawn := zipf(each)) @ logs / drawn.sum()), float(counts @ logs / total))
    )
    drawn: dict[str, tuple[npt.NDArray[np.int64], Options]] = {
        "uniform": (draw.integers(low, high + 1, len(counts)), {"range": [low, high]}),
        "poisson": (draw.poisson(mean, len(counts)), {"mean": mean}),
        "zipf": (zipf(exponent), {"exponent": exponent}),
    }
    name = _nearest({name: distance(counts, each) for name, (each, _) in drawn.items()})
    return {"distribution": name, **drawn[name][1]}


# -- text --------------------------------------------------------------------------------------------------------------


def _of_texts(column: Column, texts: pa.ChunkedArray, is_key: bool) -> Options:
    """Return a kind of Faker by the column's name, or what most texts of the median length have at each place."""
    kind = _FAKER.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower())
    if kind is not None and not is_key:
        return {"faker": kind.lastgroup}
    shapes = texts.take(pa.array(np.linspace(0, len(texts) - 1, min(len(texts), 10 * _POINTS)).astype(np.int64)))
    for found, sign in ((r"[\\#?^]", "_"), (r"\p{Lu}", "^"), (r"\p{L}", "?"), (r"\p{N}", "#"), (r"[^ -~]", "_")):
        shapes = pc.replace_substring_regex(shapes, found, sign)
    lengths = pc.utf8_length(shapes).to_numpy()
    some = shapes.filter(pa.array(lengths == np.quantile(lengths, 0.5, method="lower"))).to_pylist()[:_POINTS]
    pattern = "".join(Counter(signs).most_common(1)[0][0] for signs in zip(*some, strict=True))
    if pc.mean(pc.match_substring(shapes, "@")).as_py() > 0.5:
        pattern = "????####@example.org"
    has_group = len(some) >= SMALLEST_GROUP and re.search(r"[#?^]", pattern)
    return {"pattern": pattern} if has_group and not 0 <= column.flen < len(pattern) else {}
