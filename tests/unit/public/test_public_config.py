"""Files and URIs of changefeeds as people publish them: TiCDC's command refuses a file with an option that it does not
know, and a URI whose version of Kafka it cannot read.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit import Encoder, History
from ticdc_emit.cli.main import main
from ticdc_emit.config import ConfigWarning, load_changefeed
from ticdc_emit.errors import ConfigError

INPUTS = Path(__file__).parent / "inputs"
KAFKA = "kafka://127.0.0.1:9092/boats?protocol=canal-json"
UNKNOWN = "the changefeed file contained unknown configuration options: "
SCHEMA = "create table test.boats (id int primary key, name varchar(20))"


def _refused(uri: str, changefeed: Any = None, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        load_changefeed(uri, changefeed, **options)
    return refused.value


def _warned(uri: str, changefeed: Any = None, **options: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConfigWarning)
        load_changefeed(uri, changefeed, **options)
    return "\n".join(str(each.message) for each in caught)


def test_the_published_file_is_refused() -> None:
    path = INPUTS / "16-typo.toml"
    error = _refused(KAFKA, path)
    assert error.message == f"{UNKNOWN}sink.dispatcher (did you mean dispatchers?)"
    assert "strict=False" in error.remedy
    assert "sink.dispatcher (did you mean dispatchers?)" in _warned(KAFKA, path, strict=False)
    for make in (
        lambda: Encoder(KAFKA, SCHEMA, changefeed=path),
        lambda: History(SCHEMA).messages(KAFKA, changefeed=path),
    ):
        with pytest.raises(ConfigError, match=r"sink\.dispatcher \(did you mean"):
            make()
    with pytest.warns(ConfigWarning, match=r"sink\.dispatcher"):
        Encoder(KAFKA, SCHEMA, changefeed=path, strict=False)


KNOWN = """
memory-quota = 1
sync-point-interval = "10m"
[mounter]
worker-num = 16
[Consistent]
Level = "none"
[consistent.memory-usage]
memory-quota-percentage = 50
[scheduler]
region-threshold = 1
[synced-status]
checkpoint-interval = 15
[integrity]
integrity-check-level = "none"
[sink]
safe-mode = true
[sink.csv]
delimiter = ","
[sink.mysql-config]
worker-count = 1
[sink.pulsar-config.oauth2]
oauth2-scope = "x"
[sink.cloud-storage-config]
file-size = 67108864
[sink.kafka-config]
kafka-version = "2.4.0"
[sink.kafka-config.large-message-handle]
large-message-handle-option = "none"
[sink.open]
output-old-value = true
"""


@pytest.mark.parametrize("uri", [KAFKA, "memory://x?protocol=simple", "file:///tmp/x?protocol=csv"])
def test_options_that_this_sink_does_not_use_are_warned_of(uri: str) -> None:
    warned = _warned(uri, KNOWN)
    assert "memory-quota" in warned
    assert "did you mean" not in warned


def _lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0), capsys.readouterr().err


def test_the_command_is_strict_and_can_be_lenient(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "boats.sql").write_text(SCHEMA.replace("test.", ""))
    out = f"jsonl://{tmp_path}/out"
    command = ["generate", "--schema", str(tmp_path / "boats.sql"), "--rows", "3"]
    feed = [*command, "--config", str(INPUTS / "16-typo.toml"), "--sink-uri", f"{out}?protocol=canal-json"]
    code, errors = _lines(capsys, *feed)
    assert (code, "sink.dispatcher (did you mean dispatchers?)" in errors) == (2, True)
    code, errors = _lines(capsys, *feed, "--lenient")
    assert (code, "warning: Ignored options" in errors) == (0, True)
    assert _lines(capsys, *feed)[0] == 2  # what one command allows ends with it
    code, errors = _lines(capsys, *command, "--sink-uri", out)
    assert (code, errors.count("so canal-json is used")) == (0, 1)
    assert "canal-json is used" not in _lines(capsys, *command, "--sink-uri", out, "--protocol", "canal-json")[1]
    assert "canal-json is used" not in _lines(capsys, *command, "--sink-uri", f"{out}?protocol=simple")[1]


@pytest.mark.parametrize("version", ["kafka_2.12", "2.4", "v2.4.0", "2.4.0.0", "0.10.2", "2.4.x", "00.1.2"])
@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("classic", "[CDC:ErrKafkaInvalidVersion]invalid kafka version: invalid version `{}`"),
        ("next-8.5.7", "[CDC:ErrKafkaInvalidVersion]invalid kafka version: invalid version `{}`"),
        ("next", "[CDC:ErrKafkaInvalidConfig]kafka config invalid: invalid version `{}`"),
    ],
)
def test_a_version_of_kafka_is_parsed(version: str, release: str, text: str) -> None:
    assert _refused(f"{KAFKA}&kafka-version={version}", release=release).message == text.format(version)
    in_file = {"sink": {"kafka-config": {"kafka-version": version}}}
    assert _refused(KAFKA, in_file, release=release).message == text.format(version)


@pytest.mark.parametrize("version", ["2.4.0", "0.10.2.0", "3.9.1", "10.0.0"])
def test_versions_of_kafka(version: str) -> None:
    assert load_changefeed(f"{KAFKA}&kafka-version={version}").kafka.kafka_version == version


def test_the_published_uris() -> None:
    bad_version, unknown = (INPUTS / "17-uris.txt").read_text().split()
    assert _refused(bad_version).code == "CDC:ErrKafkaInvalidVersion"
    assert _warned(unknown, release="next").endswith("sink URI: dispatchers")


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ("kafka-client-id=a&zebra=1", "zebra"),
        ("enable-tls=true&ca=a&cert=b&key=c&zebra=1", "a parameter after a secret"),
        ("sasl-gssapi-keytab-path=a&zebra=1", "zebra"),
        ("sasl-password=a&zebra=1", "a parameter after a secret"),
        ("sasl-password=a&zebra=1&kafka-client-id=b&horse=1", "horse"),
        ("token=a&zebra=1", "a parameter after a secret"),
    ],
)
def test_only_a_secret_hides_the_name_of_what_follows(parameters: str, named: str) -> None:
    assert named in _warned(f"{KAFKA}&{parameters}")
