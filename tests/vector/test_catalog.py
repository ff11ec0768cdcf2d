"""The catalog reproduces what TiDB made of every DDL of every vector file: action, table_info, pre_table_info."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.table_infos import table_info_from_dict, table_info_to_dict
from vector_files import load_vector, vector_names

from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.store import AssignedIds

TSO_KEYS = ("version", "update_ts")


def ids_of(event: dict[str, Any]) -> AssignedIds | None:
    info = event["table_info"]
    if info is None:
        return None
    return AssignedIds(
        table_id=info["table_id"],
        column_ids={column["name"]: column["id"] for column in info["columns"] or ()},
        version=info["version"],
        update_ts=info["update_ts"],
    )


def as_dict(info: TableInfo | None) -> dict[str, Any] | None:
    return None if info is None else table_info_to_dict(info)


def without_tsos(data: dict[str, Any] | None) -> dict[str, Any] | None:
    return data and {key: value for key, value in data.items() if key not in TSO_KEYS}


@pytest.mark.parametrize("name", vector_names())
def test_every_ddl_gives_the_recorded_table_info(name: str) -> None:
    case = load_vector(name)
    catalog = Catalog(time_zone=case["timezone"])
    for event in case["events"]:
        if event["kind"] == "bootstrap":
            assert as_dict(catalog.table(event["schema"], event["table"])) == event["table_info"]
        if event["kind"] != "ddl":
            continue
        (made,) = catalog.apply(event["query"], schema="test", commit_ts=event["commit_ts"], ids=ids_of(event))
        assert (made.action, made.action_code) == (event["action"], event["action_code"])
        assert (made.schema, made.table, made.query) == (event["schema"], event["table"], event["query"])
        assert as_dict(made.table_info) == event["table_info"], event["query"]
        assert as_dict(made.pre_table_info) == event["pre_table_info"], event["query"]
        assert made.commit_ts == event["commit_ts"]


@pytest.mark.parametrize("name", vector_names())
def test_ids_assigned_without_help_are_tidbs_own(name: str) -> None:
    case = load_vector(name)
    catalog = Catalog(time_zone=case["timezone"])
    for event in case["events"]:
        if event["kind"] == "ddl":
            (made,) = catalog.apply(event["query"], schema="test", commit_ts=event["commit_ts"])
            assert without_tsos(as_dict(made.table_info)) == without_tsos(event["table_info"]), event["query"]


@pytest.mark.parametrize("name", vector_names())
def test_every_table_info_survives_the_dict_form(name: str) -> None:
    for event in load_vector(name)["events"]:
        for key in ("table_info", "pre_table_info"):
            if event.get(key):
                assert table_info_to_dict(table_info_from_dict(event[key])) == event[key]


def test_there_are_vectors() -> None:
    events = [event for name in vector_names() for event in load_vector(name)["events"] if event["kind"] == "ddl"]
    assert len(events) >= 237
