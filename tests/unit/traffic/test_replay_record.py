"""The record of a replay beside those of its batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.config import Secret
from ticdc_emit.errors import StateError
from ticdc_emit.traffic.replay.record import ReplayRecord


def test_a_replay_knows_its_own_record(tmp_path: Path) -> None:
    state = Secret(str(tmp_path / "state"))
    cut = {"slice_ms": 1000, "first_ts": 5, "last_ts": 9, "rows": 3}
    assert ReplayRecord.find(None, cut, 4).first_batch == 4
    began = ReplayRecord.find(state, cut, 4)
    assert began.first_batch == 4
    assert not (tmp_path / "state").exists(), "before the first message"
    began.begin()
    again = ReplayRecord.find(state, cut, 9)
    assert again.first_batch == 4, "where the first slice was"
    again.undo()
    assert ReplayRecord.find(state, cut, 9).first_batch == 4, "an earlier run has sent something"
    with pytest.raises(StateError, match="another slice"):
        ReplayRecord.find(state, {**cut, "slice_ms": 2000}, 4)
    with pytest.raises(StateError, match="another history"):
        ReplayRecord.find(state, {**cut, "rows": 4}, 4)
    (tmp_path / "state" / "replay.json").write_text('{"first_batch": -1}')
    with pytest.raises(StateError, match="cannot be used") as refused:
        ReplayRecord.find(state, cut, 4)
    assert refused.value.file == "replay.json"
    began.undo()
    assert ReplayRecord.find(state, cut, 9).first_batch == 9
