"""One run of all vectors per protocol, for every test that asks what comes out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest
from conformance import Report, run_conformance
from vector_files import VECTORS


class FullRun(NamedTuple):
    """The report, and the lines of the dump: those of variants, and those of routes."""

    report: Report
    lines: list[dict[str, Any]]
    routes: list[dict[str, Any]]


@pytest.fixture(scope="session")
def full_run() -> Callable[[str], FullRun]:
    """Return ``full_run(protocol)``."""

    @cache
    def run(protocol: str) -> FullRun:
        stream = io.StringIO()
        report = run_conformance([VECTORS], protocol=protocol, dump=stream)
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        return FullRun(
            report,
            [line for line in lines if "variant" in line],
            [line for line in lines if "variant" not in line],
        )

    return run
