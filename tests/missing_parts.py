"""A real part that is not on this machine: the test is skipped, and fails where ``CI=true``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from ticdc_emit.errors import JarsMissingError, MissingDependencyError
from ticdc_emit.testing.java import find_java
from ticdc_emit.testing.kraft import locked_jars


def missing(reason: str) -> NoReturn:
    """End the test that needs a part: ``reason`` says which, and how to install it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def java_and_jars(folder: Path) -> tuple[Path, Path]:
    """Return Java, and the folder with the jars that ``{folder}/{name}.lock.toml`` lists."""
    try:
        return find_java(), locked_jars(folder)
    except (MissingDependencyError, JarsMissingError) as error:
        missing(str(error))
