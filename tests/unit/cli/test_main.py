"""The entry point: help is quick, errors are one line, exit codes say what happened."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from child import Cli
from documented import ROOT

from ticdc_emit import __version__
from ticdc_emit.testing import EmbeddedRegistry

COMMANDS = ["demo", "emit", "generate", "profile", "sql", "schema", "replay", "serve", "check", "tail", "verify"]


def test_help_names_every_command(cli: Cli) -> None:
    shown = cli("--help").out
    assert "--install-completion" in shown
    listed = re.findall(r"^│ (\w+) {2,}", shown, re.MULTILINE)
    assert listed == COMMANDS


@pytest.mark.system
@pytest.mark.parametrize("command", ["tail", "verify"])
def test_commands_that_read_load_no_encoder(command: str, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom ticdc_emit.cli.main import main\ntry:\n    main()\nexcept SystemExit:\n"
        "    print([name for name in sys.modules if '.pipeline.' in name])"
    )
    arguments = [sys.executable, "-c", program, command, str(tmp_path), "--protocol", "canal-json"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "no file of a topic partition" in done.stderr
    assert done.stdout.strip() == "['ticdc_emit.pipeline.options']"


def test_an_error_is_one_line_with_its_remedy(cli: Cli) -> None:
    shown = cli("demo", "--protocol", "craft", code=2)
    assert shown.out == ""
    assert shown.err == (
        "ticdc-emit: error: the protocol craft is not written by this version [option='protocol']. "
        "Use one of: canal-json, simple, simple-json, simple-avro, debezium, debezium-avro, avro, open-protocol\n"
    )


def test_errors_hide_secrets(tmp_path: Path, cli: Cli) -> None:
    schema = tmp_path / "t.sql"
    schema.write_text("create table t (id int primary key)", encoding="utf-8")
    uri = "kafka://someone:hunter1@127.0.0.1:1/t?protocol=canal-json&max-message-bytes=x&sasl-password=hunter2"
    shown = cli("emit", "--schema", str(schema), "--input", "x.csv", "--sink-uri", uri, code=2)
    assert "ErrMySQLInvalidConfig" in shown.err
    assert "hunter" not in shown.err + shown.out
    assert "Traceback" not in shown.err


def test_debezium_in_avro_is_shown_and_verified(tmp_path: Path, cli: Cli) -> None:
    with EmbeddedRegistry() as registry:
        uri = f"jsonl://{tmp_path}?protocol=debezium-avro&enable-tidb-extension=true&schema-registry={registry.url}"
        assert "set release=next" in cli("check", "--only", "redelivery", "--send", uri, code=2).err
        place = ["--sink-uri", uri, "--release", "next"]
        sent = ("check", "--only", "redelivery", "--send", uri, "--release", "next")
        assert cli(*sent, "--json").json["release"] == "next"
        assert " insert shop.orders id=" in cli("tail", *place, "--op", "insert").out
        assert "no problems found" in cli("verify", *place).out


@pytest.mark.parametrize("protocol", ["simple", "simple-json", "simple-avro"])
@pytest.mark.parametrize("command", ["tail", "verify"])
def test_topics_of_simple_have_one_name_everywhere(command: str, protocol: str, tmp_path: Path, cli: Cli) -> None:
    uri = f"jsonl://{tmp_path}"
    cli("check", "--only", "redelivery", "--protocol", protocol, "--send", uri)
    assert "unreadable" not in cli(command, str(tmp_path), "--protocol", protocol).out


def test_the_version(cli: Cli) -> None:
    assert cli("--version").out == f"ticdc-emit {__version__}\n"


def test_a_warning_is_one_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    from ticdc_emit.cli import main
    from ticdc_emit.config import ConfigWarning

    with main._warnings_as_lines():
        warnings.simplefilter("always")
        for text in ("unknown option a", "unknown option a", "unknown option b"):
            warnings.warn(text, ConfigWarning, stacklevel=1)
        logging.getLogger("ticdc_emit.delivery").warning("no certificate of %s is checked", "b")
        logging.getLogger("ticdc_emit.delivery").info("sent")
    assert capsys.readouterr().err == (
        "ticdc-emit: warning: unknown option a\n"
        "ticdc-emit: warning: unknown option b\n"
        "ticdc-emit: warning: no certificate of b is checked\n"
    )


TYPO = "[[sink.dispatchers]]\nmatcher = ['*.*']\npartition = 'index_value'\n"


def strict_commands(folder: Path) -> dict[str, list[str]]:
    """Return arguments with which each command warns of an option; those before it must do nothing."""
    place = ["--sink-uri", f"jsonl://{folder}/out?protocol=canal-json&max-mesage-bytes=1"]
    for name, text in (("t.sql", "create table test.t (id int primary key)"), ("t.json", '{"id": 1}\n'), ("c", TYPO)):
        (folder / name).write_text(text, encoding="utf-8")
    schema, config = ["--schema", str(folder / "t.sql")], ["--config", str(folder / "c")]
    return {
        "demo": ["--rows", "5", *place],
        "emit": [*schema, "--input", str(folder / "t.json"), *place, *config],
        "generate": [*schema, "--rows", "5", *place, *config],
        "replay": [*schema, "--table", f"test.t={folder / 't.json'}", *place, *config],
        "serve": ["--protocol", "open-protocol", "--enable-tidb-extension"],
        "check": ["--only", "redelivery", "--send", place[1]],
        "tail": [*place, *config],
        "verify": [*place, *config],
    }


@pytest.mark.parametrize("command", ["demo", "emit", "generate", "replay", "serve", "check", "tail", "verify"])
def test_with_strict_a_warning_is_an_error_before_anything_is_sent(command: str, tmp_path: Path, cli: Cli) -> None:
    shown = cli(command, *strict_commands(tmp_path)[command], "--strict", code=2)
    assert shown.err.startswith("ticdc-emit: error: ")
    assert shown.err.endswith(" (a warning without --strict)\n")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert not (tmp_path / "out").exists()


def test_without_strict_every_warning_has_the_name_of_the_program(tmp_path: Path, cli: Cli) -> None:
    warned = [
        line
        for line in cli("generate", *strict_commands(tmp_path)["generate"]).err.splitlines()
        if not line.startswith("generating ")
    ]
    assert [line.partition(": warning: ")[0] for line in warned] == ["ticdc-emit"] * 2
    assert "Did you mean index-value?" in warned[1]
    cli("generate", "--schema", "bank", "--rows", "5", "--sink-uri", "memory://m?protocol=simple")


def test_strict_covers_tables_without_a_key(tmp_path: Path, cli: Cli) -> None:
    schema, rows = tmp_path / "t.sql", tmp_path / "t.json"
    schema.write_text("create table test.t (id int primary key); create table test.u (id int)", encoding="utf-8")
    rows.write_text('{"id": 1}\n', encoding="utf-8")
    arguments = ["emit", "--schema", str(schema), "--table", "test.t", "--input", str(rows)]
    arguments += ["--sink-uri", f"jsonl://{tmp_path}/out?protocol=simple"]
    assert "Tables without a primary key" in cli(*arguments, "--strict", code=2).err
    assert not (tmp_path / "out").exists()
    cli(*arguments)


PANELS = {
    "emit": ["Source", "Changefeed", "Spark", "Output"],
    "generate": ["Traffic", "Time", "Changefeed", "Spark", "Output"],
    "replay": ["Source", "Time", "Changefeed", "Spark", "Output"],
}
_SECRET = "hunter2"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It speaks plainly, has options in groups, no type for flags, and variables without their values."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("TICDC_EMIT_SINK_URI", "TICDC_EMIT_SCHEMA_REGISTRY"):
        monkeypatch.setenv(name, f"http://u:{_SECRET}@127.0.0.1:1/t")
    shown = cli(*command.split(), "--help").out
    said = " ".join(shown.split())
    assert f"ticdc-emit {command}".strip() in said
    assert not [each for each in (" Of ", " is no ", "behind", "Say ", "bool", _SECRET) if each in said]
    has_variables = command in ("emit", "replay", "tail", "verify")
    assert ("TICDC_EMIT_SINK_URI" in said) == ("TICDC_EMIT_SCHEMA_REGISTRY" in said) == has_variables
    if command in PANELS:
        assert re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE) == PANELS[command]
        *_, output = shown.split("╭─ Output ─")
        names = re.findall(r"--[a-z]+", output.partition("╰")[0])
        assert names == [*["--report"][command == "emit" :], "--json", "--strict", "--lenient", "--help"]


def completed(words: str) -> list[str]:
    """Return what bash is offered for the last of the words."""
    given = words.split(" ")
    environment = {"_TICDC_EMIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(given) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "from ticdc_emit.cli.main import main; main()"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("ticdc-emit check --only un", ["unsigned-extremes"]),
        ("ticdc-emit demo --protocol deb", ["debezium", "debezium-avro"]),
        ("ticdc-emit tail --protocol simple-", ["simple-json", "simple-avro"]),
        ("ticdc-emit emit --release next-26", [f"next-26.3.{patch}" for patch in range(1, 5)]),
        ("ticdc-emit replay --mode d", ["diff"]),
        ("ticdc-emit serve --broker ", ["embedded", "kafka"]),
        ("ticdc-emit tail --op u", ["update", "unreadable"]),
        ("ticdc-emit generate --schema sh", ["shop"]),
        ("ticdc-emit serve --schema examples/cookbook.", ["examples/cookbook.sql"]),
        ("ticdc-emit serve --schema exam", ["examples/"]),
    ],
)
def test_values_are_completed(words: str, values: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert completed(words) == values


def test_what_configuration_holds_does_not_act_on_the_terminal(tmp_path: Path, cli: Cli) -> None:
    schema, config = tmp_path / "t.sql", tmp_path / "c.toml"
    schema.write_text("create table test.t (id int primary key)", encoding="utf-8")
    topic = r'topic = "\u001b]0;x\u0007\nticdc-emit: all sent"'
    lines = [r'"\u001b[2J\nticdc-emit: key\u2028" = 1', "[sink]", f'dispatchers = [{{matcher = ["*.*"], {topic}}}]']
    config.write_text("\n".join(lines), encoding="utf-8")
    uri = "kafka://127.0.0.1:1/t?protocol=canal-json"
    (tmp_path / "rows.csv").write_text("id\n1\n", encoding="utf-8")
    rows = "--input", str(tmp_path / "rows.csv")
    arguments = "--schema", str(schema), *rows, "--sink-uri", uri, "--config", str(config)
    assert cli("emit", *arguments, code=2).err.strip().isprintable()
    warning, error, rest = cli("emit", *arguments, "--lenient", code=2).err.split("\n")[:3]
    assert all(line.isprintable() for line in (warning, error, rest))
    assert r"\u001b[2J\nticdc-emit: key\u2028" in warning
    assert error.endswith(r"invalid topic expression: \u001b]0;x\u0007")
    assert rest.startswith("  ticdc-emit: all sent")
