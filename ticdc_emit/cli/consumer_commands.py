"""The commands for whoever writes a consumer: what breaks it (scenario, fuzz), and what is on topics (tail, verify).

They are commands of the program (``cli.app``) like its others, and import their work when they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from ticdc_emit.cli.options import (
    CHANGEFEED,
    OUTPUT,
    FeedOptions,
    OutputOptions,
    TopicOptions,
    argument,
    command,
    complete_schema,
    dialect_option,
    one_of,
    option,
    protocol_option,
    registry_option,
    release_option,
    sink_uri_option,
    uri_option,
)

commands = typer.Typer()
_EXAMPLES, _CONSUMER, _SCENARIO, _MESSAGES = "Examples", "Consumer", "Scenario", "Messages"


def _complete_scenario(incomplete: str) -> list[str]:
    from ticdc_emit.traffic.scenarios import file_scenarios, scenarios

    return one_of(*(kind.name for kind in (*scenarios(), *file_scenarios())))(incomplete)


@command(
    commands,
    "ticdc-emit scenario --list",
    "ticdc-emit scenario b-a-b --protocol debezium",
    "ticdc-emit scenario redelivery --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    "ticdc-emit scenario redelivery --check tables.json",
    "ticdc-emit scenario date-rollover --sink-uri 'file:///tmp/lake?protocol=csv' --stage 1",
)
@dataclass(frozen=True, kw_only=True)
class Scenario(OutputOptions):
    """Send messages or write files that break naive consumers, and show the tables a correct consumer ends up with."""

    name: str | None = argument(
        "The scenario. Without: list all.", None, metavar="NAME", autocompletion=_complete_scenario
    )
    list_all: bool = option("List all scenarios.", False, "--list", panel=_SCENARIO)
    seed: int = option("The same seed makes the same messages, or files.", 0, panel=_SCENARIO)
    stage: int | None = option(
        "Write or show only this stage of a scenario of files. Default: all stages.",
        None,
        panel=_SCENARIO,
        metavar="N",
    )
    check: Path | None = option(
        "Compare a consumer's tables; exit 1 if they differ.",
        None,
        panel=_SCENARIO,
        metavar="FILE.json",
        dir_okay=False,
    )
    protocol: str | None = protocol_option("A protocol in the sink URI wins. Default: the scenario's first.")
    sink_uri: str | None = sink_uri_option("TiCDC's sink URI: where to send. Default: show the messages.")
    release: str | None = release_option("the first that has the protocol")
    schema_registry: str | None = registry_option()

    def run(self) -> int:
        from ticdc_emit.cli.scenario import list_scenarios, run

        if self.list_all or (self.name is None and self.sink_uri is None and self.check is None):
            return list_scenarios(as_json=self.as_json)
        return run(self)


@command(
    commands,
    "ticdc-emit fuzz --seed 7 --examples 100 --json",
    "ticdc-emit fuzz --protocol simple --schema tables.sql --json",
    "ticdc-emit fuzz --check-command 'java -jar consumer.jar'",
    "ticdc-emit fuzz --seed 7 --json | my-consumer | ticdc-emit fuzz --seed 7 --check -",
)
@dataclass(frozen=True, kw_only=True)
class Fuzz(FeedOptions, OutputOptions):
    """Draw random histories for a consumer in any language: messages as they arrive, and the expected tables.

    With --check or --check-command, say for which examples a consumer's tables differ.
    """

    seed: int = option("The same seed makes the same examples.", 0, panel=_EXAMPLES, min=0)
    examples: int = option("How many histories to draw.", 100, panel=_EXAMPLES, min=1)
    schema: str | None = option(
        "DDL of the tables, or a sample: bank, shop … Default: random tables.",
        None,
        panel=_EXAMPLES,
        metavar="FILE.sql",
        autocompletion=complete_schema,
    )
    schema_dialect: str | None = dialect_option(_EXAMPLES)
    no_ddl: bool = option("Draw no schema changes between the rows.", False, panel=_EXAMPLES)
    restarts: int = option("How often TiCDC restarts at most and sends messages again.", 3, panel=_EXAMPLES, min=0)
    protocol: str | None = protocol_option("Default: the changefeed file's, else canal-json.")
    sink_uri: str | None = uri_option(
        "The changefeed's sink URI, for its options; nothing is sent.",
        None,
        "--sink-uri",
        panel=CHANGEFEED,
        sends=False,
    )
    canonical: bool = option(
        "Expect ENUM, SET and binary values as canonical text, not as in messages.", False, panel=_CONSUMER
    )
    check: str | None = option(
        'Compare a consumer\'s tables, a line {"example": 1, "tables": …} for each; exit 1 if they differ.',
        None,
        panel=_CONSUMER,
        metavar="FILE|-",
    )
    check_command: str | None = option(
        "Start a consumer that answers each example, a line on stdin, with a line on stdout. "
        "If one differs, print the smallest history that does; exit 1.",
        None,
        panel=_CONSUMER,
        metavar="COMMAND",
    )
    answer_timeout: float = option(
        "How long --check-command may take for an answer.", 60.0, panel=_CONSUMER, metavar="SECONDS", min=0.001
    )
    shrink: float = option(
        "How long --check-command looks for smaller histories.", 60.0, panel=_CONSUMER, metavar="SECONDS", min=0
    )
    as_json: bool = option("Print one JSON object per example, each on one line.", False, "--json", panel=OUTPUT)

    def run(self) -> int:
        from ticdc_emit.cli.fuzz import run

        if self.check is not None and self.check_command is not None:
            raise typer.BadParameter("a consumer answers in one way: leave --check out", param_hint="--check-command")
        if self.sink_uri is not None and self.protocol is not None:
            raise typer.BadParameter("the sink URI names the protocol", param_hint="--protocol")
        return run(self)


@command(
    commands,
    "ticdc-emit tail --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json' --follow",
    "ticdc-emit tail --brokers 127.0.0.1:9092 --topic t --protocol canal-json --table 'shop.*' --op update",
)
@dataclass(frozen=True, kw_only=True)
class Tail(TopicOptions, OutputOptions):
    """Show the messages of topics, decoded, one line per message."""

    follow: bool = option("Continue with new messages as they arrive.", False, "--follow", "-f", panel=_MESSAGES)
    start: str | None = option(
        "beginning, or newest:N messages of each partition. Default: newest:10; with --table or --op, but not "
        "--follow: beginning.",
        None,
        "--from",
        panel=_MESSAGES,
        metavar="WHERE",
        autocompletion=one_of("beginning", "newest:"),
    )
    last: int | None = option(
        "The last N messages of each partition: --from newest:N.", None, panel=_MESSAGES, metavar="N", min=0
    )
    tables: Sequence[str] = option("Pattern of schema.table. Repeat it for more.", (), "--table", panel=_MESSAGES)
    ops: Sequence[str] = option(
        "insert, update, delete, ddl, watermark, bootstrap or unreadable. Repeat it for more.",
        (),
        "--op",
        panel=_MESSAGES,
        autocompletion=one_of("insert", "update", "delete", "ddl", "watermark", "bootstrap", "unreadable"),
    )
    claims: bool = option("Read large messages from the claim-check storage.", False, panel=_MESSAGES)
    as_json: bool = option("One JSON object per line, for programs.", False, "--json", panel=OUTPUT)

    def run(self) -> int:
        from ticdc_emit.cli.topics import tail

        if self.last is not None and self.start is not None:
            raise typer.BadParameter("give either --last or --from", param_hint="--last")
        return tail(self)


@command(
    commands,
    "ticdc-emit verify /tmp/out --protocol debezium",
    "ticdc-emit verify --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
)
@dataclass(frozen=True, kw_only=True)
class Verify(TopicOptions, OutputOptions):
    """Check the messages of topics against every invariant. Exit 1 if a check fails or there are no messages."""

    claims: bool = option("Also check that the claim-check storage has its objects.", False, panel=_MESSAGES)
    show: int = option("How many findings of each invariant to print.", 20, panel=_MESSAGES, min=1)
    allow_empty: bool = option("Exit 0 even if there are no messages.", False, panel=_MESSAGES)

    def run(self) -> int:
        from ticdc_emit.cli.topics import verify

        return verify(self)
