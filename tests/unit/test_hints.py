"""A mistyped name is answered with the known one that it is most like; one name is as good as a list of one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, settings
from hypothesis import strategies as st

import ticdc_emit
from ticdc_emit import load_changefeed
from ticdc_emit.conformance import run_conformance
from ticdc_emit.decode import Tail
from ticdc_emit.hints import closest, did_you_mean, names
from ticdc_emit.strategies import changefeeds, changes, ddl, histories, tables
from ticdc_emit.traffic.generate import generate_arrow

_DISPATCHERS = ("default", "table", "ts", "index-value", "rowid", "columns")


@pytest.mark.parametrize(
    ("name", "found"),
    [("index_value", "index-value"), ("INDEX-VALUES", "index-value"), ("tabel", "table"), ("zebra", None), ("", None)],
)
def test_the_closest_name(name: str, found: str | None) -> None:
    assert closest(name, _DISPATCHERS) == found


def test_the_question() -> None:
    assert did_you_mean("bnak", ["bank", "shop"]) == "Did you mean bank? "
    assert did_you_mean("zebra", ["bank", "shop"]) == ""
    assert did_you_mean("enable-old-value", ["output-old-value"], likeness=0.8) == ""
    assert did_you_mean("a" * 10_000_000, ["a" * 200]) == f"Did you mean {'a' * 200}? "


def test_one_name_is_not_its_letters() -> None:
    assert names("id") == ("id",)
    assert names(["id", "name"]) == names(each for each in ("id", "name")) == ("id", "name")
    assert names("") == ("",)
    assert names(()) == ()


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
    "Page.add_table": "texts of the head of a table, not names",
    "panels": "as above",
    "facts_html": "as above",
}
"""What takes several texts and is not called with names by users, each with the reason."""

_ELSEWHERE = ("ticdc_emit.traffic.replay",)


def _public() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield module, name and function of all that packages export; records, which the library makes, only methods."""
    seen = set()
    packages = [each.name for each in pkgutil.walk_packages(ticdc_emit.__path__, "ticdc_emit.") if each.ispkg]
    for package in ["ticdc_emit", *packages]:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            functions = {name: value} if inspect.isfunction(value) else {}
            if inspect.isclass(value):
                names_of = [each for each in vars(value) if each == "__init__" or not each.startswith("_")]
                is_record = hasattr(value, "__dataclass_fields__")
                found = {
                    f"{name}.{each}": getattr(value, each) for each in names_of if each != "__init__" or not is_record
                }
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
    wrong = [each for each in lists if each[1] not in _NOT_BY_USERS and not each[0].startswith(_ELSEWHERE)]
    assert wrong == [], "take `str | Collection[str]`, and read it with hints.names"
    assert {path for _, path, _ in lists} >= _NOT_BY_USERS.keys()
    assert {"histories", "changefeeds", "Tail.__init__", "generate", "run_conformance"} <= several


def _first(strategy: st.SearchStrategy[Any]) -> Any:
    return find(strategy, lambda drawn: True, settings=settings(derandomize=True, database=None))


def _arrow(**options: Any) -> Iterator[Any]:
    traffic = generate_arrow(_TABLES, rows=3, **options)
    assert traffic is not None
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


def test_one_path_is_a_list_of_one() -> None:
    path = next((Path(__file__).parents[1] / "vectors").rglob("*.json.gz"))
    assert run_conformance(str(path)).files == run_conformance(path).files == run_conformance([path]).files == 1
