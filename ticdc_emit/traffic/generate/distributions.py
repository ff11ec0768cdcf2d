"""Distributions as numbers: how many children each of some parents has, and the quantiles of values.

A quantile function is a table of shares and points between which it is linear: the share that a hash draws becomes a
point from 0 on. Entries have 12 digits, on which all C libraries agree.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def zipf_shares(total: int, among: int, exponent: float) -> list[int]:
    """Return whole parts of a total, the largest first."""
    weights = [(rank + 1) ** -exponent for rank in range(among)]
    scale = total / sum(weights, 1e-300)
    shares, reached, given = [], 0.0, 0
    for weight in weights:
        reached += weight * scale
        shares.append(round(reached) - given)
        given = round(reached)
    return shares


def poisson_counts(mean: float, among: int) -> list[int]:
    """Return the quantiles of so many shares, in order."""
    counts, count, share = list[int](), 0, math.exp(-mean)
    reached = share
    for number in range(among):
        while reached < (number + 0.5) / among:
            count += 1
            share *= mean / count
            reached += share
        counts.append(count)
    return counts


PARAMETERS = {
    "uniform": (),
    "normal": ("mean", "deviation"),
    "lognormal": ("median", "sigma"),
    "exponential": ("mean",),
    "zipf": ("exponent",),
}
"""The names of the parameters of each distribution, beside a range."""

_REACH, _STEP = 8, 32  # the normal distribution as far as 8 deviations, with 32 entries in each


@lru_cache(maxsize=256)
def quantiles(distribution: str, parameters: tuple[float, ...], count: int) -> tuple[Floats, Floats]:
    """Return shares and points, whose whole part is below ``count``. ``parameters``: of zipf the exponent, else the
    point where it begins (normal: its mean), and the deviation, the mean (exponential), or the median and the deviation
    of the logarithm (lognormal). What is outside the points is cut off. ``ValueError`` if that is nearly all.
    """
    if distribution == "zipf":
        return _zipf(parameters[0], count)
    places = [number / _STEP for number in range(-_REACH * _STEP, _REACH * _STEP + 1)]
    shares = np.array([_rounded(math.erfc(-place / math.sqrt(2)) / 2) for place in places])
    begin, scale, *sigma = parameters
    if distribution == "normal":
        made = places
    elif distribution == "lognormal":
        made = [math.exp(min(sigma[0] * place, 300)) for place in places]
    else:
        made = [-math.log(math.erfc(place / math.sqrt(2)) / 2) for place in places]
    points = np.array([_rounded(begin + scale * each + 0.5) for each in made])
    low, high = np.interp([0, count], points, shares)
    if high - low < 0.001:
        raise ValueError
    return (shares - low) / (high - low), points


_EXACT = 1000  # points of their own


@lru_cache(maxsize=256)
def _zipf(exponent: float, count: int) -> tuple[Floats, Floats]:
    edges = list(range(1, min(_EXACT, count) + 1))
    while edges[-1] <= count:
        edges.append(min(count + 1, edges[-1] + 1 + edges[-1] // 100 * (edges[-1] > _EXACT)))
    masses = [0.0]
    for low, high in pairwise(edges):
        a, b = low - 0.5, high - 0.5
        of_all = math.log(b / a) if exponent == 1 else (a ** (1 - exponent) - b ** (1 - exponent)) / (exponent - 1)
        masses.append(low**-exponent if high == low + 1 else of_all)
    reached = np.cumsum([_rounded(mass) for mass in masses])
    return reached / reached[-1], np.array(edges, np.float64) - 1


def _rounded(number: float) -> float:
    return float(f"{number:.12g}")
