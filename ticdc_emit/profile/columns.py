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
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql import types
from ticdc_emit.traffic.generate.column_options import unit_of
from ticdc_emit.traffic.generate.distributions import quantiles, zipf_shares
from ticdc_emit.traffic.generate.model import Children
from ticdc_emit.traffic.generate.texts import meaning

SMALLEST_GROUP = 20
FEW_TEXTS = 128
"""Different texts of a column that are made-up labels in its model, and compared one by one."""
_MOST_LABELS = 1_000
_MOST_RANKS = 1_000_000
_POINTS = 2_000  # at which a distribution is compared, and texts that a pattern is made of
_DATE = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_BY_NAME = {"email", "phone", "zip", "city", "street", "company", "first", "last", "name", "country", "login", "url"}
"""Meanings of names of columns (:func:`meaning`) whose text the generator makes up."""
_LONGEST, _FILLER = 255, "lorem-ipsum-dolor-sit-amet-" * 10  # of texts of which only the lengths are known
_MOST_PARENTS = 5_000
_MOSTLY = 0.95  # of the rows, that have frequent texts

Floats = npt.NDArray[np.float64]
Options = dict[str, Any]


def numbers_of(column: Column, values: pa.ChunkedArray) -> Floats | None:
    """Return the values without NULLs, those of times in seconds since 1970; ``None`` for a type without a range."""
    if column.type not in types.NUMBER_TYPES | types.CALENDAR_TYPES:
        return None
    try:
        values = values.drop_null()
        if column.type in types.CALENDAR_TYPES:
            if not pa.types.is_temporal(values.type):
                values = values.filter(pc.match_substring_regex(values, _DATE))
            return np.asarray(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy() / 1e6)
        values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException:
        remedy = "Give the schema of the source"
        raise ConfigError("values are of another type", remedy=remedy, option="schema", column=column.name) from None


def options_of(column: Column, values: pa.ChunkedArray, *, keep: bool) -> Options:
    """Return the options of a column. ``keep``: its values may leave as labels."""
    nulls, present = values.null_count, len(values) - values.null_count
    options: Options = {}
    if column.nullable and len(values):
        share = nulls / len(values)
        options["nulls"] = round(share, 4) if min(nulls, present) >= SMALLEST_GROUP else float(round(share))
    if present < 2 * SMALLEST_GROUP:
        return options
    if keep or column.type in types.LABEL_TYPES:
        return options | _labels(column, values)
    if column.type in types.STRING_TYPES and not column.is_binary:
        return options | _of_texts(column, values.drop_null().cast(pa.string()))
    numbers = numbers_of(column, values)
    if numbers is not None and column.type in types.INTEGER_TYPES and {*np.unique(numbers)} <= {0, 1}:
        return options | _labels(column, values)
    return options if numbers is None or not len(numbers) else options | _of_numbers(column, np.sort(numbers))


def _labels(column: Column, values: pa.ChunkedArray) -> Options:
    """Return labels that enough rows have, with weights. The other labels of an ENUM share the rest of the rows."""
    values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    counts = counts_of(values.drop_null().cast(pa.string()))
    large = {label: count for label, count in counts.items() if count >= SMALLEST_GROUP}
    rest = sum(counts.values()) - sum(large.values())
    small = [each for each in column.elems if each not in large and column.type is types.MySQLType.ENUM]
    weights = {**large, **dict.fromkeys(small, rest / len(small) if small and rest >= SMALLEST_GROUP else 0)}
    return _weighted(weights)


def _weighted(weights: Mapping[str, float]) -> Options:
    labels = sorted(weights, key=lambda label: -weights[label])[:_MOST_LABELS]
    total = sum(weights[label] for label in labels)
    return {"labels": labels, "weights": [_short(weights[label] / total) for label in labels]} if total else {}


def counts_of(values: pa.ChunkedArray) -> dict[Any, int]:
    """Return how often there is each value."""
    counted = pc.value_counts(values)
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


# -- numbers and times -------------------------------------------------------------------------------------------------


def _of_numbers(column: Column, numbers: Floats) -> Options:
    """Return the range of sorted numbers, and the distribution in it."""
    least, most = ends = float(numbers[SMALLEST_GROUP - 1]), float(numbers[-SMALLEST_GROUP])
    span, is_time, is_whole = most - least, column.type in types.CALENDAR_TYPES, column.type in types.WHOLE_TYPES
    if span:
        steps = [10.0 ** (math.floor(math.log10(min(span, abs(each) or span))) - 2) for each in ends]
        if is_time:
            steps = [max(each for each in (1, 60, 3600, 86_400) if each <= max(span / 100, 1))] * 2
        steps = [max(step, 1) if is_whole else step for step in steps]
        least, most = math.ceil(least / steps[0]) * steps[0], math.floor(most / steps[1]) * steps[1]
    if is_time:
        moments = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=each) for each in (least, most)]
        has_time = column.type in types.MOMENT_TYPES
        return {"range": [(each if has_time else each.date()).isoformat() for each in moments]}
    shown = [int(each) if is_whole else round(each, 9) for each in (least, most)]
    return {"range": shown, **(_fit(column, np.clip(numbers, least, most), least, most) if least < most else {})}


def _fit(column: Column, numbers: Floats, least: float, most: float) -> Options:
    """Return the distribution that the generator makes most like sorted numbers in a range; nothing for uniform ones.
    Parameters are those of the moments, or of the quartiles.
    """
    unit, is_whole = unit_of(column), column.type in types.WHOLE_TYPES
    count = round((most - least) * unit) + 1
    some = np.unique(numbers[np.linspace(0, len(numbers) - 1, _POINTS).astype(np.int64)])
    below = np.searchsorted(numbers, some, side="right") / len(numbers)
    places = np.clip(np.floor((some - least) * unit + 1e-6), 0, count - 1)
    fits: list[tuple[float, Options]] = [(float(np.abs((places + 1) / count - below).max()), {})]  # simple ones first

    def fit(name: str, scaled: tuple[float, ...], **shown: float) -> None:
        with suppress(ValueError):  # nothing in the range
            shares, points = quantiles(name, scaled, count)
            made = np.clip(np.interp(places + 1, points, shares), 0, 1)
            options = {key: each if isinstance(each, int) else _short(each) for key, each in shown.items()}
            fits.append((float(np.abs(made - below).max()), {"distribution": name, **options}))

    begin = -least * unit
    if numbers[0] >= 0:
        mean = float(numbers.mean())
        fit("exponential", (begin, mean * unit), mean=mean)
    for center, deviation in _centers(numbers):
        mean = round(center) if is_whole else center
        fit("normal", (begin + mean * unit, deviation * unit), mean=mean, deviation=deviation)
    for center, sigma in _centers(np.log(numbers)) if numbers[0] > 0 else ():
        fit("lognormal", (begin, math.exp(center) * unit, sigma), median=math.exp(center), sigma=sigma)
    if is_whole and count <= _MOST_RANKS:
        logs = np.log1p(np.arange(count))

        def mean_log(exponent: float) -> float:
            weights = np.arange(1, count + 1) ** -exponent
            return float(weights @ logs / weights.sum())

        exponent = _solved(mean_log, float(np.log1p(numbers - least).mean()))
        fit("zipf", (exponent,), exponent=exponent)
    return _nearest(fits)


def _centers(numbers: Floats) -> list[tuple[float, float]]:
    """Return the mean and the deviation of a normal distribution by the moments, and by the quartiles."""
    first, middle, third = np.quantile(numbers, (0.25, 0.5, 0.75)).tolist()
    found = (float(numbers.mean()), float(numbers.std())), (middle, (third - first) / 1.349)
    return [each for each in found if each[1] > 0]


def _nearest(fits: list[tuple[float, Options]]) -> Options:
    """Return the first options whose distance is about the smallest."""
    return next(options for each, options in fits if each <= 1.2 * min(fits, key=itemgetter(0))[0] + 0.003)


def _solved(falling: Callable[[float], float], wanted: float) -> float:
    """Return the exponent from 0 to 5 for which a falling function has a value."""
    low, high = 0.0, 5.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > wanted else (low, middle)
    return low


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def distance(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Return the Kolmogorov-Smirnov distance of two arrays of numbers."""
    points = np.concatenate([first, second])
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def children_of(counts: npt.NDArray[np.int64]) -> Options:
    """Return the numbers of children, of at least ``SMALLEST_GROUP`` parents, that the generator makes most alike."""
    counts = np.sort(counts)[::-1]
    counts = counts[:: len(counts) // _MOST_PARENTS + 1]
    low, high = int(counts[-SMALLEST_GROUP]), int(counts[SMALLEST_GROUP - 1])
    if low >= high:
        return {"distribution": "fixed", "count": high}
    fits: list[tuple[float, Options]] = []
    for name, key, value in (("uniform", "range", (low, high)), ("poisson", "mean", _short(float(counts.mean())))):
        distance = _apart(counts, Children("", name, value).counts(len(counts), 0))
        fits.append((distance, {"distribution": name, key: [low, high] if name == "uniform" else value}))
    every = 1  # of the generator, the first parents of all cycles have the same number of children
    while len(some := counts[every // 2 :: every]) >= 2 * SMALLEST_GROUP and some.any():
        logs, total = np.log1p(np.arange(len(some))), int(some.sum())

        def mean(exponent: float, logs: Floats = logs, total: int = total) -> float:
            return float(zipf_shares(total, len(logs), exponent) @ logs / total)

        exponent = _short(_solved(mean, float(some @ logs / total)))
        distance = _apart(some, zipf_shares(total, len(some), exponent))
        fits.append((distance, {"distribution": "zipf", "exponent": exponent}))
        every = max(every + 1, every * 10 // 7)
    return _nearest(fits)


def _apart(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the greatest distance of the shares of all children that the parents with the most of them have."""
    shares = [np.cumsum(np.sort(each)[::-1]) / max(np.asarray(each).sum(), 1) for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


# -- text --------------------------------------------------------------------------------------------------------------


def _of_texts(column: Column, texts: pa.ChunkedArray) -> Options:
    """Return made-up labels for frequent texts, nothing for what the generator makes up by the column's name, else
    a pattern or made-up texts of the same lengths.
    """
    counts = counts_of(texts)
    large = sorted((each for each in counts if counts[each] >= SMALLEST_GROUP), key=lambda each: -counts[each])
    if len(large) <= FEW_TEXTS and sum(counts[each] for each in large) >= _MOSTLY * len(texts):
        names = (
            np.base_repr(number, 32).lower().rjust(min(len(text), _LONGEST), "x") for number, text in enumerate(large)
        )
        return _weighted({name: counts[text] for name, text in zip(names, large, strict=True)})
    if meaning(column) in _BY_NAME:
        return {}
    if pc.mean(pc.match_substring(texts, "@")).as_py() > 0.5:
        return {"pattern": "????####@example.org"}
    lengths = np.sort(pc.utf8_length(texts).to_numpy())
    usual = lengths[len(lengths) // 2]
    if np.mean(lengths == usual) < 0.5 and lengths[-SMALLEST_GROUP] <= _LONGEST:
        parts = np.array_split(lengths, min(100, len(lengths) // SMALLEST_GROUP))
        return _weighted(Counter(_FILLER[: part[len(part) // 2]] for part in parts))
    return _pattern(texts.filter(pc.equal(pc.utf8_length(texts), usual)))


def _pattern(texts: pa.ChunkedArray) -> Options:
    """Return what most texts of one length have at each place."""
    places = np.linspace(0, len(texts) - 1, min(len(texts), _POINTS)).astype(np.int64)
    shapes = texts.take(pa.array(places))
    for found, sign in ((r"[\\#?^]", "_"), (r"\p{Lu}", "^"), (r"\p{L}", "?"), (r"\p{N}", "#"), (r"[^ -~]", "_")):
        shapes = pc.replace_substring_regex(shapes, found, sign)
    pattern = "".join(Counter(signs).most_common(1)[0][0] for signs in zip(*shapes.to_pylist(), strict=True))
    return {"pattern": pattern} if len(texts) >= SMALLEST_GROUP and re.search(r"[#?^]", pattern) else {}
