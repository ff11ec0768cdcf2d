"""Round trips: a consumer of the messages ends up with the history's tables, of every protocol, option and release."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from round_trip import PROTOCOLS, kinds_of, main, round_trips

from ticdc_emit.config import RELEASES


@pytest.mark.parametrize("kind", kinds_of("classic"))
@settings(max_examples=examples(400))
@given(data=st.data())
def test_tables_return(kind: str, data: st.DataObject) -> None:
    data.draw(round_trips(kind, max_commits=6, max_columns=5), label="trip").check()


@pytest.mark.parametrize("kind", PROTOCOLS)
@settings(max_examples=examples(400, share=20))
@given(data=st.data())
def test_tables_return_in_any_release(kind: str, data: st.DataObject) -> None:
    release = data.draw(st.sampled_from([name for name in RELEASES if kind in kinds_of(name)]), label="release")
    data.draw(round_trips(kind, release, max_commits=6, max_columns=5), label="trip").check()


def test_the_command_prints_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--examples", "3", "--protocol", "avro", "--release", "next"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["protocol"], figures["release"], figures["failures"]) == ("avro", "next", 0)
    assert figures["examples"] >= 3
