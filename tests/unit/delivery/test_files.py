"""The file sink: its bytes, and what a crash or another process leaves behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from message_rows import message_batch, send

from ticdc_emit.delivery import files
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.files import FileReader, FileSink, read_files
from ticdc_emit.errors import ConfigError, DeliveryError


@pytest.fixture
def sink(tmp_path: Path) -> FileSink:
    sink = FileSink(str(tmp_path / "out"))
    sink.prepare({"t": 1})
    return sink


def write(sink: FileSink, *pairs: tuple[bytes | None, bytes | None]) -> None:
    send(sink, *(("t", 0, key, value) for key, value in pairs))


def test_the_bytes_of_a_file(sink: FileSink) -> None:
    write(sink, (None, b'{"a":"\xc3\xa9\n"}'), (b"", b"\xff\x00"), (b"k", None))
    assert sink.path("t", 0).read_bytes() == (
        b'{"key":null,"value":"{\\"a\\":\\"\xc3\xa9\\n\\"}"}\n'
        b'{"key":"","value":{"base64":"/wA="}}\n'
        b'{"key":"k","value":null}\n'
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.binary(), st.none() | st.binary()), max_size=20))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bytes | None, bytes | None]]
) -> None:
    sink = FileSink(str(tmp_path_factory.mktemp("round")))
    sink.prepare({"t": 1})
    write(sink, *pairs)
    found = list(read_files(sink.directory))
    assert found == [Message("t", 0, offset, key, value) for offset, (key, value) in enumerate(pairs)]


def test_every_level_of_the_folder_can_be_read(tmp_path: Path) -> None:
    sink = FileSink(str(tmp_path))
    sink.prepare({"b": 2, "a": None})
    assert sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.glob("*/*")) == [
        *("a/00000.jsonl", "a/00001.jsonl", "a/00002.jsonl"),
        *("b/00000.jsonl", "b/00001.jsonl"),
    ]
    send(sink, ("b", 1, None, b"1"), ("a", 2, None, b"2"), ("b", 0, None, b"3"))
    assert [message.value for message in read_files(tmp_path)] == [b"2", b"3", b"1"]
    assert [message.value for message in read_files(tmp_path / "b")] == [b"3", b"1"]
    assert [message.partition for message in read_files(tmp_path / "b" / "00001.jsonl")] == [1]


@pytest.mark.parametrize("name", ["foo.jsonl", "7.jsonl", "-0001.jsonl", "00001 (copy).jsonl"])
@pytest.mark.parametrize("read", ["partitions", "read"])
def test_files_that_no_sink_has_named(sink: FileSink, name: str, read: str) -> None:
    write(sink, (None, b"1"))
    folder = sink.path("t", 0).parent
    (folder / name).write_text("{}\n", encoding="utf-8")
    for path in (Path(sink.directory), folder, folder / name):
        with pytest.raises(DeliveryError, match="not named like a partition") as refused:
            list(getattr(files.FileReader(path), read)())
        assert refused.value.file == str(folder / name)


def test_nothing_is_visible_before_flush(sink: FileSink) -> None:
    writer = sink.open()
    writer.write(message_batch(("t", 0, b"k", b"v" * 100)))
    assert sink.path("t", 0).read_bytes() == b""
    writer.close()
    assert sink.path("t", 0).read_bytes() == b""


@pytest.mark.parametrize("torn", [b'{"key":"k","val', b'{"key":null,"value":"' + b"x" * 200_000])
@pytest.mark.parametrize("whole", [0, 3])
def test_a_torn_last_line_is_not_read_and_not_built_upon(sink: FileSink, torn: bytes, whole: int) -> None:
    write(sink, *[(None, b"%d" % number) for number in range(whole)])
    with sink.path("t", 0).open("ab") as file:
        file.write(torn)
    assert len(list(read_files(sink.directory))) == whole
    write(sink, (None, b"next"))
    assert [message.value for message in read_files(sink.directory)] == [*(b"%d" % n for n in range(whole)), b"next"]


def test_a_failed_append_leaves_nothing_and_is_an_error(sink: FileSink, monkeypatch: pytest.MonkeyPatch) -> None:
    write(sink, (None, b"before"))
    before = sink.path("t", 0).read_bytes()

    def disk_full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    writer = sink.open()
    writer.write(message_batch(("t", 0, None, b"lost")))
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", disk_full)
        with pytest.raises(DeliveryError, match="No space left") as refused:
            writer.flush()
    writer.close()
    assert (refused.value.topic, refused.value.partition) == ("t", 0)
    assert sink.path("t", 0).read_bytes() == before


def test_a_task_larger_than_its_memory(sink: FileSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SPOOL_BYTES", 1_000)
    values = [b"%d" % number * 100 for number in range(200)]
    write(sink, *[(None, value) for value in values])
    assert [message.value for message in read_files(sink.directory)] == values


def test_an_append_waits_for_the_one_before_it(sink: FileSink) -> None:
    fcntl = pytest.importorskip("fcntl")
    with sink.path("t", 0).open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        appending = threading.Thread(target=write, args=(sink, (None, b"mine")))
        appending.start()
        other.write(b'{"key":null,"va')
        other.flush()
        appending.join(0.5)
        assert appending.is_alive()
        other.write(b'lue":"theirs"}\n')
    appending.join(30)
    assert [message.value for message in read_files(sink.directory)] == [b"theirs", b"mine"]


@pytest.mark.parametrize("topic", ["..", ".", "a/b", "", "x" * 250, "a b", "../up"])
def test_a_topic_that_kafka_would_not_take(sink: FileSink, topic: str) -> None:
    with pytest.raises(ConfigError, match="legal name"):
        sink.prepare({topic: 1})


@pytest.mark.skipif(os.name == "nt", reason="paths of another kind")
def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeliveryError, match="cannot make the topic t"):
        FileSink(str(tmp_path / "file" / "out")).prepare({"t": 1})


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
