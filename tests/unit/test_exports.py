"""The public names: what the packages export, what importing them loads, and old paths, which warn."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from documented import PAGES, blocks_of

import ticdc_emit
from ticdc_emit import Message, to_messages
from ticdc_emit.encoder import Encoder

ROOT = Path(__file__).parents[2]
COMMIT_TS = 450_000_000_262_144_000
MOVED = {
    "changefeed.run": ("ticdc_emit.changefeed", ["RunOptions"]),
    "delivery.claim_check": ("ticdc_emit.delivery", ["ClaimStore"]),
    "delivery.contract": ("ticdc_emit", ["Message"]),
    "delivery.factory": ("ticdc_emit.delivery", ["sink_for"]),
    "delivery.memory": ("ticdc_emit.delivery", ["MemorySink", "messages"]),
    "spark.datasource": ("ticdc_emit.spark", ["register"]),
    "spark.progress": ("ticdc_emit.spark", ["BatchProgress", "ProgressListener", "log_progress"]),
    "traffic.samples": ("ticdc_emit.traffic", ["sample_names", "sample_schema", "schema_text"]),
}


def _imported(code: str) -> set[tuple[str, str]]:
    """(module, name) of every ``from ticdc_emit… import``."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ticdc_emit":
            found |= {(node.module or "", alias.name) for alias in node.names}
    return found


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import ticdc_emit; dir(ticdc_emit)\n"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('ticdc_emit')), "
        "{'numpy', 'pyarrow', 'orjson'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ticdc_emit', 'ticdc_emit.exports'] set()"


def test_dir_lists_the_public_names() -> None:
    public = [name for name in dir(ticdc_emit) if not name.startswith("__")]
    assert public == sorted(ticdc_emit.__all__)
    for name in public:
        home = importlib.import_module(f"ticdc_emit.{ticdc_emit._HOMES[name]}")
        assert getattr(ticdc_emit, name) is getattr(home, name)
    with pytest.raises(AttributeError, match="has no attribute 'Encodr'"):
        _ = ticdc_emit.Encodr


def test_readme_imports_from_the_package_and_the_pages_what_packages_export() -> None:
    taught = {page: {pair for block in blocks_of(page) if block.language == "python" for pair in _imported(block.code)}
              for page in PAGES}  # fmt: skip
    assert {module for module, _ in taught["README.md"]} == {"ticdc_emit"}
    for module, name in set().union(*taught.values()):
        assert name in importlib.import_module(module).__all__, f"{module} does not export {name}"
        assert module == "ticdc_emit" or name not in ticdc_emit.__all__, f"{name} is taught in two places"


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_works_and_names_the_new_one(old: str) -> None:
    public, names = MOVED[old]
    module = importlib.import_module(f"ticdc_emit.{old}")
    for name in names:
        with pytest.warns(DeprecationWarning, match=f"{old}.{name} is deprecated.* import {name} from {public}$"):
            found = getattr(module, name)
        assert found is getattr(importlib.import_module(public), name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_an_old_path_of_a_name_that_is_not_public_names_its_new_module() -> None:
    from ticdc_emit.delivery import memory

    with pytest.warns(DeprecationWarning, match="import clear from ticdc_emit.delivery.memory_sink$"):
        _ = memory.clear


def test_nothing_of_ours_uses_an_old_path() -> None:
    old = {(f"ticdc_emit.{module}", name) for module, (_, names) in MOVED.items() for name in names}
    for module in MOVED:
        package, _, leaf = module.rpartition(".")
        if (ROOT / "ticdc_emit" / package / f"{leaf}.py").read_text().startswith('"""An old path'):
            old.add((f"ticdc_emit.{package}", leaf))
    files = [path for folder in ("ticdc_emit", "tests", "examples") for path in (ROOT / folder).rglob("*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files if path != Path(__file__)}
    likely = {name: text for name, text in texts.items() if any(f"{module} import" in text for module, _ in old)}
    assert {name: found for name, text in likely.items() if (found := _imported(text) & old)} == {}


def test_batches_of_an_encoder_are_messages_too() -> None:
    encoder = Encoder("memory://t?protocol=canal-json&enable-tidb-extension=true&partition-num=2",
                      "create table a.t (id int primary key)")  # fmt: skip
    batch = encoder.encode([{"op": "c", "commit_ts": COMMIT_TS, "after": {"id": 1}}])
    (row,) = batch.to_pylist()
    place = row["partition"]
    found = to_messages(batch, encoder.watermark(COMMIT_TS), batch)
    assert found[0] == Message("ticdc", place, 0, row["key"], row["value"])
    assert sorted(each[1:3] for each in found) == sorted([(place, 0), (place, 1), (place, 2), (1 - place, 0)])
    assert to_messages() == []
