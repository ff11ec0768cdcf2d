"""Lets the scripts of this folder import ``benchmarks`` and the package from the checkout, in Spark's workers too.

Python puts only a script's own folder on the path.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_FOLDERS = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

sys.path[:0] = _FOLDERS[:1]
os.environ["PYTHONPATH"] = os.pathsep.join([*_FOLDERS, *filter(None, [os.environ.get("PYTHONPATH")])])
