"""Measure changefeeds of unusual size at full size; a table of figures, or JSON.

    python tests/scale/measure.py [--case tables|columns|large|key] [--json]

Needs a quiet machine and about 6 GiB of disk in the temporary folder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scale_cases import CASES, Measured

from ticdc_emit.spark import local_session


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--case", choices=sorted(CASES), action="append")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    spark = local_session("scale", spark_master="local[2]", spark_driver_memory="4g")
    spark.range(10).mapInArrow(lambda batches: batches, "id long").count()  # workers are up, whatever comes first
    found: list[Measured] = []
    for name in given.case or sorted(CASES):
        with tempfile.TemporaryDirectory(prefix="ticdc-emit-scale-") as folder:
            found.append(CASES[name](spark, Path(folder)))
    spark.stop()
    if given.json:
        print(json.dumps([each.as_dict() for each in found], indent=2))
        return
    table = Table(title="Changefeeds of unusual size, local[2], Canal-JSON to files")
    for column in found[0].as_dict():
        table.add_column(column.replace("_", " "))
    for each in found:
        table.add_row(*(f"{value:,}" if not isinstance(value, str) else value for value in each.as_dict().values()))
    Console().print(table)


if __name__ == "__main__":
    main()
