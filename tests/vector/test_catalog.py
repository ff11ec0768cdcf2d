"""Ids that the catalog gives by itself are TiDB's own, for every DDL of every vector file."""

from __future__ import annotations

import pytest
from conformance.compare import first_difference
from conformance.table_infos import table_info_to_dict
from vector_files import load_vector, vector_names

from ticdc_emit.schema.catalog import Catalog

TSO_KEYS = ("version", "update_ts")


@pytest.mark.parametrize("name", vector_names())
def test_ids_assigned_without_help_are_tidbs_own(name: str) -> None:
    case = load_vector(name)
    catalog = Catalog(time_zone=case["timezone"])
    for event in (each for each in case["events"] if each["kind"] == "ddl"):
        (made,) = catalog.apply(event["query"], schema="test", commit_ts=event["commit_ts"])
        shown = {} if made.table_info is None else table_info_to_dict(made.table_info)
        recorded = event["table_info"] or {}
        for tso in TSO_KEYS:
            shown.pop(tso, None)
            recorded.pop(tso, None)
        assert first_difference(shown, recorded) is None, event["query"]
