"""The public names: what the packages export, what importing them loads, and one name where several are taken."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from documented import PAGES, blocks_of
from hypothesis import find, settings
from hypothesis import strategies as st
from public_api import FILE, MODULES, lines

import ticdc_emit
from ticdc_emit import Message, load_changefeed, to_messages
from ticdc_emit.consume.tail import Tail
from ticdc_emit.encoder import Encoder
from ticdc_emit.strategies import changefeeds, changes, ddl, histories, tables
from ticdc_emit.strategies.columns import TableOptions
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.generate.settings import TrafficOptions

ROOT = Path(__file__).parents[2]
COMMIT_TS = 450_000_000_262_144_000


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
    assert all(getattr(ticdc_emit, name).__module__.startswith("ticdc_emit.") for name in public)
    with pytest.raises(AttributeError, match="has no attribute 'Encodr'"):
        _ = ticdc_emit.Encodr


def test_names_and_signatures_are_those_of_the_file() -> None:
    now, before = [*lines()], FILE.read_text(encoding="utf-8").splitlines()
    difference = [each for each in ndiff(before, now) if each[0] in "+-"]
    assert not difference, "if this is meant, run python -m tests.public_api, and tell users in CHANGELOG.md"


def test_what_is_taught_is_imported_from_one_public_place() -> None:
    codes = {block.place: block.code for page in PAGES for block in blocks_of(page) if block.language == "python"}
    codes |= {str(path): path.read_text(encoding="utf-8") for path in ROOT.glob("examples/**/*.py")}
    cells = json.loads((ROOT / "examples/consumer.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    codes["notebook"] = code.replace("%", "0 #")
    taught = {(place, *pair) for place, code in codes.items() for pair in _imported(code)}
    for path in ROOT.glob("docs/api/*.md"):
        names = re.findall(r"^::: (ticdc_emit.*)\.(\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        taught |= {(path.name, *pair) for pair in names if ".".join(pair) not in MODULES}
    for place, module, name in taught:
        assert module in MODULES, f"{place}: {module} is internal"
        assert name in importlib.import_module(module).__all__, f"{place}: {module} does not export {name}"
        assert module == "ticdc_emit" or name not in ticdc_emit.__all__, f"{place}: {name} is taught in two places"
    rooms = {each.name for each in pkgutil.iter_modules(ticdc_emit.__path__)}
    assert rooms & {*ticdc_emit.__all__} == set(), "importing the module would replace the name"


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


# -- one name wherever several are taken -----------------------------------------------------------------------------

_SEVERAL = re.compile(
    r"\b(?:Collection|Iterable|Sequence|Set|list|tuple|set|frozenset)\[str(?: \| Path)?(?:, \.\.\.)?\]"
)
_TABLE = "create table shop.t (id int primary key)"
_TABLES = f"{_TABLE}; create table shop.u (id int primary key)"
_CONFIG = load_changefeed("memory://any/?protocol=canal-json")
_NOT_BY_USERS = {
    "Sink.message_limit": "encoders ask a sink",
    "FileSink.message_limit": "as above",
    "KafkaSink.message_limit": "as above",
    "MemorySink.message_limit": "as above",
    "SourceTable.of": "assumptions are sentences",
}
"""What takes several texts and is not called with names by users, each with the reason."""
_NOT_MADE_BY_USERS = {
    "SinkUri": "its parse makes it",
    "SourceTable": "its of makes it, table_of and schema_sql",
    "SourceSchema": "source_schema makes it",
    "TableInfo": "a catalog makes it",
    "FileScenario": "a kind of scenarios makes it",
    "Scenario": "as above",
}
"""Records with several texts in a field that users read and do not make, each with the reason."""


def _exports() -> Iterator[tuple[str, Any]]:
    """Yield name and value of all that is public."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            yield name, getattr(module, name)


def _public() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield module, name and function of all that is public; of records, whose fields are below, only methods."""
    seen = set()
    for name, value in _exports():
        functions = {name: value} if inspect.isfunction(value) else {}
        if inspect.isclass(value):
            names_of = [each for each in vars(value) if each == "__init__" or not each.startswith("_")]
            is_record = hasattr(value, "__dataclass_fields__")
            found = {f"{name}.{each}": getattr(value, each) for each in names_of if each != "__init__" or not is_record}
            functions = {path: each for path, each in found.items() if callable(each)}
        for path, function in functions.items():
            if (key := getattr(function, "__func__", function)) not in seen:
                seen.add(key)
                yield function.__module__, path, function


def test_who_takes_several_names_takes_one() -> None:
    several, lists = set(), []
    for home, path, function in _public():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        for each in parameters:
            if _SEVERAL.search(str(each.annotation)):
                several.add(path)
                if not re.search(r"\bstr \|", str(each.annotation).replace("str | Path]", "")):
                    lists.append((home, path, each.name))
    wrong = [each for each in lists if each[1] not in _NOT_BY_USERS]
    assert wrong == [], "take `str | Collection[str]`, and read it with hints.names"
    assert {path for _, path, _ in lists} >= _NOT_BY_USERS.keys()
    assert {"changefeeds", "Tail.__init__"} <= several
    assert "str | Collection[str]" in str(TableOptions.__annotations__["types"])  # of histories and its kin
    assert "str | Iterable[str]" in str(TrafficOptions.__annotations__["tables"])  # of generate and its kin


def _records_with_names() -> dict[type, list[str]]:
    """Return the exported records, each with its fields that hold several texts."""
    found = {}
    for _, value in _exports():
        if inspect.isclass(value) and is_dataclass(value):
            several = [each.name for each in fields(value) if each.init and _SEVERAL.search(str(each.type))]
            if several:
                found[value] = several
    return found


def test_a_record_that_users_make_takes_one_name() -> None:
    records = _records_with_names()
    assert {record.__name__ for record in records} >= _NOT_MADE_BY_USERS.keys() | {"KafkaSink", "ColumnSelector"}
    for record, several in records.items():
        if record.__name__ in _NOT_MADE_BY_USERS:
            continue
        needed = {
            each.name: "any" for each in fields(record) if each.default is MISSING and each.default_factory is MISSING
        }
        for name in several:
            for value in ("id", ["id"], ("id",)):
                made = record(**{**needed, name: value})
                assert getattr(made, name) == ("id",), f"{record.__name__}.{name}: hold it by hints.hold_names"


def _first(strategy: st.SearchStrategy[Any]) -> Any:
    return find(strategy, lambda drawn: True, settings=settings(derandomize=True, database=None))


def _arrow(**options: Any) -> Iterator[Any]:
    traffic = generate_arrow(_TABLES, rows=3, **options)
    for name, batches in traffic.changes.items():
        yield name, [batch.to_pylist() for batch in batches]


@pytest.mark.parametrize(
    "made",
    [
        lambda take: repr(histories(types=take("int"), ddl_kinds=take("add column"))),
        lambda take: repr(changefeeds(protocols=take("simple"), partitions=take("table"))),
        lambda take: repr(changes(_TABLE, ops=take("insert"))),
        lambda take: _first(tables(types=take("int"))),
        lambda take: _first(ddl(ticdc_emit.catalog_from_sql(_TABLES), kinds=take("drop table"), types=take("int"))),
        lambda take: vars(Tail(_CONFIG, tables=take("shop.t"), ops=take("insert")))["_tables"],
        lambda take: list(_arrow(tables=take("shop.t"))),
    ],
)
def test_one_name_is_a_list_of_one(made: Callable[[Callable[[str], Any]], Any]) -> None:
    assert made(lambda name: name) == made(lambda name: [name])
