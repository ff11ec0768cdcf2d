"""Files of a sink, read on as they grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.delivery.files import FileReader, FileSink, read_files
from ticdc_emit.errors import DeliveryError


def test_what_is_added_is_read_once_and_only_whole_lines(tmp_path: Path) -> None:
    FileSink(str(tmp_path)).prepare({"orders": 3})
    reader = FileReader(tmp_path)
    assert reader.partitions() == {"orders": 3}
    file = tmp_path / "orders" / "00001.jsonl"
    file.write_bytes(b'{"key":null,"value":"a"}\n{"key":null,"val')
    assert [(each.partition, each.offset, each.value) for each in reader.read()] == [(1, 0, b"a")]
    assert list(reader.read()) == []
    with file.open("ab") as lines:
        lines.write(b'ue":"b"}\n')
    assert [(each.offset, each.value) for each in reader.read()] == [(1, b"b")]
    assert [each.value for each in read_files(tmp_path)] == [b"a", b"b"]


@pytest.mark.parametrize("line", [b"no json\n", b"[]\n", b'{"key":null}\n', b'{"key":null,"value":{"base":"x"}}\n'])
def test_a_line_of_something_else_is_refused(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "00000.jsonl"
    file.write_bytes(line)
    with pytest.raises(DeliveryError, match="line 1 is not a message"):
        list(read_files(file))
