"""These tests have an environment of their own (``tox -e cloud``): elsewhere there is nothing to collect."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("moto") else ["test_cloud.py", "test_storage_chaos.py"]
