"""Messages on standard output: each framing loses nothing, and only messages are there."""

from __future__ import annotations

import base64
import json
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from child import exit_code
from hypothesis import given, settings
from message_rows import send

from ticdc_emit import History, load_changefeed
from ticdc_emit.delivery import stdout
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.stdout import StdoutSink
from ticdc_emit.errors import ConfigError, DeliveryError, MessageTooLargeError, UnknownTopicError
from ticdc_emit.strategies import histories, names

COMMAND = (sys.executable, "-m", "ticdc_emit", "demo", "--sink-uri", "stdout://?protocol=canal-json")
ALL = (None, b"", b"k", b"\xff\x00", "é\n\U0001f600".encode())


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdout, "_partitions", {})
    monkeypatch.setattr(stdout, "_offsets", type(stdout._offsets)())


def write(sink: StdoutSink, *messages: Message) -> None:
    send(sink, *((each.topic, each.partition, each.key, each.value) for each in messages))


def original(data: object) -> bytes | None:
    if isinstance(data, dict):
        return base64.b64decode(data["base64"])
    return None if data is None else str(data).encode()


def decoded(framing: str, data: bytes) -> list[Message]:
    if framing == "binary":
        return list(_binary(BytesIO(data)))
    lines = [json.loads(line) for line in data.decode("ascii" if framing == "base64" else "utf-8").split("\n")[:-1]]
    read = original if framing == "json" else lambda text: None if text is None else base64.b64decode(text)
    return [
        Message(each["topic"], each["partition"], each["offset"], read(each["key"]), read(each["value"]))
        for each in lines
    ]


def _binary(data: BytesIO) -> Iterator[Message]:
    def sized() -> bytes | None:
        (length,) = struct.unpack(">i", data.read(4))
        return None if length < 0 else data.read(length)

    while data.tell() < len(data.getvalue()):
        topic = sized() or b""
        partition, offset = struct.unpack(">iq", data.read(12))
        yield Message(topic.decode(), partition, offset, sized(), sized())


@pytest.mark.parametrize("framing", ["json", "base64", "binary"])
def test_every_framing_returns_every_byte(framing: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    sent = [
        Message(topic, partition, offset, key, value)
        for topic, partition in (("a", 0), ("a", 2), ("b", 1))
        for offset, (key, value) in enumerate((key, value) for key in ALL for value in ALL)
    ]
    sink = pickle.loads(pickle.dumps(StdoutSink(framing)))
    assert sink.prepare({"a": None, "b": 2}) == {"a": 3, "b": 2}
    for start in (0, 40):  # offsets go on in the next task
        write(sink, *sent[start : start + 40])
    assert decoded(framing, capsysbinary.readouterr().out) == sent


def test_the_lines_of_messages(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = StdoutSink()
    sink.prepare({"t": 1})
    send(sink, ("t", 0, b"", b'{"a":"\xc3\xa9"}'), ("t", 0, b"\xff", None))
    assert capsysbinary.readouterr().out.decode() == (
        '{"topic":"t","partition":0,"offset":0,"key":"","value":"{\\"a\\":\\"é\\"}"}\n'
        '{"topic":"t","partition":0,"offset":1,"key":{"base64":"/w=="},"value":null}\n'
    )


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    sink = StdoutSink(max_message_bytes=3)
    sink.prepare({"t": 1})
    with pytest.raises(MessageTooLargeError):
        send(sink, ("t", 0, b"", b"1"), ("t", 0, b"", b"1234"))
    for topic, partition in (("x", 0), ("t", 1)):
        with pytest.raises(UnknownTopicError):
            send(sink, (topic, partition, b"", b"1"))
    assert capsys.readouterr().out == ""


def test_a_closed_standard_output_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = StdoutSink()
    sink.prepare({"t": 1})
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(DeliveryError, match="cannot be written to: it is closed"):
        send(sink, ("t", 0, b"", b"1"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "--rows", "300"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "standard output cannot be written to: [Errno 28] No space left on device" in done.stderr


@pytest.mark.parametrize(
    "uri", ["stdout://?protocol=simple", "-?protocol=simple", "STDOUT://?protocol=simple&framing=json"]
)
def test_the_sink_of_a_uri(uri: str) -> None:
    config = load_changefeed(uri)
    assert sink_for(config) == StdoutSink("json")
    assert config.kafka.topic == "ticdc"


def test_a_wrong_framing_and_a_path_are_refused() -> None:
    assert load_changefeed("-", {"sink": {"protocol": "simple"}}).sink_uri.scheme == "stdout"
    with pytest.raises(ConfigError, match="unknown framing 'lines'"):
        load_changefeed("stdout://?protocol=simple&framing=lines")
    with pytest.raises(ConfigError, match="no host and no path"):
        load_changefeed("stdout://out?protocol=simple")


@settings(max_examples=10, deadline=None)
@given(histories(names=names(allow_odd=False), allow_virtual=False, max_commits=4))
def test_the_messages_of_a_changefeed_are_those_of_any_sink(history: History) -> None:
    config = load_changefeed("stdout://?protocol=simple&encoding-format=avro", time_zone=history.time_zone)
    assert {each[:2] for each in history.messages(config)} <= {("ticdc", number) for number in range(3)}


COMMANDS = (
    ("demo", "--rows", "3"),
    ("demo", "--rows", "3", "--json"),
    ("generate", "--schema", "bank", "--rows", "9"),
    ("generate", "--schema", "bank", "--rows", "9", "--json"),
    ("check", "--only", "redelivery"),
    ("check", "--only", "redelivery", "--json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_only_messages_are_on_stdout(
    command: tuple[str, ...], protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = "--send" if command[0] == "check" else "--sink-uri"
    assert exit_code(*command, option, f"stdout://?protocol={protocol}&framing=base64&topic=t") == 0
    shown = capsys.readouterr()
    messages = decoded("base64", shown.out.encode())
    assert shown.err
    assert exit_code(*command, option, f"jsonl://{tmp_path}?protocol={protocol}&topic=t") == 0
    lines = {path: path.read_text().splitlines() for path in tmp_path.rglob("*.jsonl")}
    assert sum(map(len, lines.values())) == len(messages) > 0
    for path, own in lines.items():
        values = [original(json.loads(line)["value"]) for line in own]
        assert values == [each.value for each in messages if each.partition == int(path.stem)]


def test_results_return_to_stdout_in_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("check", "--only", "b-a-b", "--send", "-?protocol=canal-json") == 0
    capsys.readouterr()
    assert exit_code("check", "--only", "b-a-b") == 0
    assert "b-a-b as canal-json" in capsys.readouterr().out


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    command = subprocess.Popen([*COMMAND, "--rows", "5000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout
    assert command.stderr
    assert command.stdout.readline()
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait() == 1


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_standard_output_cannot_be_read_again(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(command, "--sink-uri", "stdout://?protocol=canal-json") == 2
    assert "end with the process that writes them" in capsys.readouterr().err
