"""Measure changefeeds of unusual size at full size; a line of JSON for each.

    python tests/scale/measure.py [--case tables|columns|large|key]

Needs a quiet machine and about 6 GiB of disk in the temporary folder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from scale_cases import CASES

from ticdc_emit.spark import local_session


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--case", choices=sorted(CASES), action="append")
    given = arguments.parse_args()
    spark = local_session("scale", spark_master="local[2]", spark_driver_memory="4g")
    spark.range(10).mapInArrow(lambda batches: batches, "id long").count()  # workers are up, whatever comes first
    for name in given.case or sorted(CASES):
        with tempfile.TemporaryDirectory(prefix="ticdc-emit-scale-") as folder:
            print(json.dumps(CASES[name](spark, Path(folder)).as_dict()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
