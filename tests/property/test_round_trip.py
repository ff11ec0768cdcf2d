"""Round trips: a consumer of the messages ends up with the history's tables, for every protocol and its options."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from round_trip import kinds_of, main, round_trips


@pytest.mark.parametrize("kind", kinds_of("classic"))
@settings(max_examples=200)
@given(data=st.data())
def test_tables_return(kind: str, data: st.DataObject) -> None:
    trip = data.draw(round_trips(kind, max_commits=6, max_columns=5), label="trip")
    assert trip.received() == trip.expected()


@pytest.mark.parametrize("kind", kinds_of("next"))
@settings(max_examples=examples(200, share=20))
@given(data=st.data())
def test_tables_return_in_the_next_lineage(kind: str, data: st.DataObject) -> None:
    trip = data.draw(round_trips(kind, "next", max_commits=6, max_columns=5), label="trip")
    assert trip.received() == trip.expected()


def test_the_command_prints_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--examples", "3", "--protocol", "avro", "--release", "next"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["protocol"], figures["release"], figures["failures"]) == ("avro", "next", 0)
    assert figures["examples"] >= 3
