"""A fixed hypothesis profile: the same examples on every machine, no time limits that a busy one would miss."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "columnar",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
settings.load_profile("columnar")
