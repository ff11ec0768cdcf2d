"""The published ``schemas/simple_message.avsc`` has what the encoder takes for granted."""

from __future__ import annotations

from simple_messages import MESSAGE_SCHEMA

from ticdc_emit.protocols.simple.encoder import DDL_TYPES, DML_TYPES, Branch, Kind
from ticdc_emit.sql.actions import ACTIONS


def test_the_constants_are_places_in_the_schema() -> None:
    records = {each["name"].rpartition(".")[2]: each for each in MESSAGE_SCHEMA}
    fields = {name: {field["name"]: field["type"] for field in record["fields"]} for name, record in records.items()}
    assert [kind.name for kind in Kind] == fields["Message"]["type"]["symbols"]
    assert [name.rpartition(".")[2].upper() for name in fields["Message"]["payload"]] == [kind.name for kind in Kind]
    assert list(DDL_TYPES) == fields["DDL"]["type"]["symbols"]
    assert list(DML_TYPES) == fields["DML"]["type"]["symbols"]
    branches = [name.rpartition(".")[2] for name in fields["DML"]["data"][1]["values"]]
    assert [name.lower() for name in branches] == [branch.name.lower().replace("_", "") for branch in Branch]
    assert {facts.kind for facts in ACTIONS.values()} <= set(DDL_TYPES)
