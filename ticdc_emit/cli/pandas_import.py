"""Keeps a command from importing pandas, which it does not use.

Arrow looks for pandas when it makes its first array of Python values, and importing it takes as long as all of Arrow
and numpy. No command gives Arrow an object of pandas. Spark is another matter: it may need pandas in this process.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_PACKAGE = "pandas"


class _LeftOut:
    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:
        if name == _PACKAGE:
            raise ModuleNotFoundError(f"No module named {name!r} (left out by ticdc-emit)", name=name)


_finder: Any = _LeftOut()


def leave_out() -> None:
    """Let imports of pandas fail from now on, as if it were not installed; one that was imported stays."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def allow() -> None:
    """Let pandas be imported from now on."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
