"""Hypothesis profiles, one of which the environment variable ``HYPOTHESIS_PROFILE`` chooses.

``fixed`` (the default) gives the same examples everywhere, of the costly tests a twenty-fourth of what they have;
``nightly`` is the same with all of them; ``explore`` looks for new ones. None has time limits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

_QUICK = "fixed"
_SHARE = 24
_Case = TypeVar("_Case")
_HEALTHY = [HealthCheck.too_slow, HealthCheck.data_too_large]


def _chosen() -> str:
    return os.environ.get("HYPOTHESIS_PROFILE", _QUICK)


def load_profile() -> None:
    """Register the profiles and load the chosen one. Raises hypothesis's ``InvalidArgument`` for one that is none."""
    same = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": _HEALTHY}
    for name in (_QUICK, "nightly"):
        settings.register_profile(name, **same)
    settings.register_profile("explore", deadline=None, suppress_health_check=_HEALTHY)
    settings.load_profile(_chosen())


def examples(nightly: int, share: int = _SHARE) -> int:
    """Return ``max_examples`` for a costly test that has ``nightly`` of them: one in ``share`` otherwise."""
    return nightly // share if _chosen() == _QUICK else nightly


def sample(cases: Sequence[_Case], share: int) -> Sequence[_Case]:
    """Return one in ``share`` of a long list of cases; with the profile ``nightly``, all of them."""
    return cases[::share] if _chosen() == _QUICK else cases
