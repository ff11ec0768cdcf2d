"""How much code one insert and one update cross on their way through ``Changefeed.run``, in memory and without Spark.

    python tests/scale/walk.py [--protocol canal-json ...] [--show]

Counts the functions of ``ticdc_emit`` that run, the modules that they are in, and the steps from one module or package
into another. The plan is made before, by a batch with the same table. Comprehensions, lambdas, what dataclasses
generate and what runs while a module is imported are not counted. The counts are the same in every run. ``--show``
lists the functions by module.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pyarrow as pa

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.testing import EmbeddedRegistry

_PACKAGE = "ticdc_emit"
_SCHEMA = "create table test.orders (id bigint primary key, amount decimal(12,2), note varchar(40))"
_TS = 450_000_000_262_144_000
_PROTOCOLS = {"canal-json": "canal-json&enable-tidb-extension=true", "avro": "avro", "debezium": "debezium"}


class Walk(NamedTuple):
    """``functions``: how often each ran, by module and name; ``steps``: how often one module called another."""

    functions: Counter[tuple[str, str]]
    steps: Counter[tuple[str, str]]

    @property
    def modules(self) -> set[str]:
        return {module for module, _ in self.functions}

    @property
    def packages(self) -> set[str]:
        return set(map(_room, self.modules))

    def hops(self, *, between_packages: bool) -> int:
        """Return how often a function called one of another module, or of another package."""
        pairs = self.steps.items()
        return sum(count for (one, two), count in pairs if not between_packages or _room(one) != _room(two))


def walk(protocol: str) -> Walk:
    """Run two batches of one insert and one update, and count what the second crosses."""
    with EmbeddedRegistry() as registry:
        config = load_changefeed(f"memory://walk/orders?protocol={protocol}", schema_registry=registry.url)
        feed = Changefeed(config, MemorySink("walk"), _SCHEMA)
        feed.run(_batch(_TS), 0, final=False)
        found, batch = Walk(Counter(), Counter()), _batch(_TS + 10)
        before, importing = sys.getprofile(), 0

        def seen(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal importing
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                importing += (event == "call") - (event == "return")
            if event == "call" and not importing and (code := _of_ours(frame)) is not None:
                module = frame.f_globals["__name__"]
                found.functions[module, f"{getattr(code, 'co_qualname', code.co_name)}:{code.co_firstlineno}"] += 1
                caller = frame.f_back
                while caller is not None and _of_ours(caller) is None:
                    caller = caller.f_back
                if caller is not None and caller.f_globals["__name__"] != module:
                    found.steps[caller.f_globals["__name__"], module] += 1

        sys.setprofile(seen)
        try:
            feed.run(batch, 1, final=False)
        finally:
            sys.setprofile(before)
    return found


def _batch(commit_ts: int) -> ArrowBatch:
    first, second = ({"id": 1, "amount": amount, "note": "new"} for amount in ("9.50", "9.75"))
    rows = [
        {"op": "c", "commit_ts": commit_ts, "before": None, "after": first},
        {"op": "u", "commit_ts": commit_ts + 1, "before": first, "after": second},
    ]
    return ArrowBatch(pa.Table.from_pylist(rows))


def _of_ours(frame: FrameType) -> CodeType | None:
    """Return the code of a named function that stands in this library."""
    code = frame.f_code
    is_ours = str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE
    return code if is_ours and not code.co_name.startswith("<") and not code.co_filename.startswith("<") else None


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--protocol", nargs="+", default=["canal-json"], choices=list(_PROTOCOLS))
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    for protocol in asked.protocol:
        found = walk(_PROTOCOLS[protocol])
        hops, climbs = (found.hops(between_packages=between) for between in (False, True))
        sizes = f"{len(found.functions)} functions, {len(found.modules)} modules, {len(found.packages)} packages"
        print(f"{protocol}: {sizes}, {hops} steps between modules, {climbs} between packages")
        for (module, name), count in sorted(found.functions.items()) if asked.show else ():
            print(f"  {module.removeprefix(_PACKAGE + '.'):40} {name:40} {count}")


if __name__ == "__main__":
    main()
