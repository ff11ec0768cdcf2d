"""The commands for whoever writes a consumer: what breaks it (scenario, fuzz), and what is on topics (tail, verify).

They are commands of the program (``cli.app``) like its others, and import their work when they run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticdc_emit.cli.option_sets import topic_source, with_options
from ticdc_emit.cli.options import (
    PROTOCOL_HELP,
    RELEASE_HELP,
    AsJson,
    ChangefeedFile,
    Command,
    Registry,
    ReleaseName,
    SchemaDialect,
    Strict,
    complete_protocol,
    complete_release,
    complete_schema,
    examples,
    grouped,
    one_of,
    uri_option,
)

if TYPE_CHECKING:
    from ticdc_emit.cli.topics import SourceOptions

commands = typer.Typer()


def _complete_scenario(incomplete: str) -> list[str]:
    from ticdc_emit.traffic.scenarios import file_scenarios, scenarios

    return one_of(*(kind.name for kind in (*scenarios(), *file_scenarios())))(incomplete)


@commands.command(
    cls=Command,
    epilog=examples(
        "ticdc-emit scenario --list",
        "ticdc-emit scenario b-a-b --protocol debezium",
        "ticdc-emit scenario redelivery --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        "ticdc-emit scenario redelivery --check tables.json",
        "ticdc-emit scenario date-rollover --sink-uri 'file:///tmp/lake?protocol=csv' --stage 1",
    ),
)
def scenario(
    name: Annotated[
        str | None,
        typer.Argument(help="The scenario. Without: list all.", metavar="NAME", autocompletion=_complete_scenario),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List all scenarios.")] = False,
    protocol: Annotated[
        str | None,
        typer.Option(
            help=f"{PROTOCOL_HELP} A protocol in the sink URI wins. Default: the scenario's first.",
            autocompletion=complete_protocol,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same messages, or files.")] = 0,
    sink_uri: Annotated[
        str | None, uri_option("--sink-uri", "URI", "TiCDC's sink URI: where to send. Default: show the messages.")
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            help=f"{RELEASE_HELP} Default: the first that has the protocol.",
            autocompletion=complete_release,
        ),
    ] = None,
    schema_registry: Registry = None,
    stage: Annotated[
        int | None,
        typer.Option(metavar="N", help="Write or show only this stage of a scenario of files. Default: all stages."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Compare a consumer's tables; exit 1 if they differ.", dir_okay=False),
    ] = None,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Send messages or write files that break naive consumers, and show the tables a correct consumer ends up with."""
    from ticdc_emit.cli.scenario import list_scenarios, require_name, run

    if list_all or (name is None and sink_uri is None and check is None):
        raise typer.Exit(list_scenarios(as_json=as_json))
    name = require_name(name)
    code = run(
        name,
        protocol=protocol,
        seed=seed,
        sink_uri=sink_uri,
        release=release,
        schema_registry=schema_registry,
        stage=stage,
        check=check,
        as_json=as_json,
    )
    raise typer.Exit(code)


@commands.command(
    cls=grouped(
        {
            "Examples": "seed examples_ schema schema_dialect no_ddl restarts",
            "Changefeed": "protocol sink_uri config time_zone release",
            "Consumer": "canonical check check_command shrink answer_timeout",
        }
    ),
    epilog=examples(
        "ticdc-emit fuzz --seed 7 --examples 100 --json",
        "ticdc-emit fuzz --protocol simple --schema tables.sql --json",
        "ticdc-emit fuzz --check-command 'java -jar consumer.jar'",
        "ticdc-emit fuzz --seed 7 --json | my-consumer | ticdc-emit fuzz --seed 7 --check -",
    ),
)
def fuzz(
    seed: Annotated[int, typer.Option(help="The same seed makes the same examples.", min=0)] = 0,
    examples_: Annotated[int, typer.Option("--examples", help="How many histories to draw.", min=1)] = 100,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.sql",
            help="DDL of the tables, or a sample: bank, shop … Default: random tables.",
            autocompletion=complete_schema,
        ),
    ] = None,
    schema_dialect: SchemaDialect = None,
    no_ddl: Annotated[bool, typer.Option("--no-ddl", help="Draw no schema changes between the rows.")] = False,
    restarts: Annotated[
        int, typer.Option(help="How often TiCDC restarts at most and sends messages again.", min=0)
    ] = 3,
    protocol: Annotated[
        str | None,
        typer.Option(
            help=PROTOCOL_HELP + " Default: the changefeed file's, else canal-json.", autocompletion=complete_protocol
        ),
    ] = None,
    sink_uri: Annotated[
        str | None,
        uri_option("--sink-uri", "URI", "The changefeed's sink URI, for its options; nothing is sent.", sends=False),
    ] = None,
    config: ChangefeedFile = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    release: ReleaseName = None,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Expect ENUM, SET and binary values as canonical text, not as in messages."),
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help='Compare a consumer\'s tables, a line {"example": 1, "tables": …} for each; exit 1 if they differ.',
        ),
    ] = None,
    check_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Start a consumer that answers each example, a line on stdin, with a line on stdout. "
            "If one differs, print the smallest history that does; exit 1.",
        ),
    ] = None,
    answer_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long --check-command may take for an answer.", min=0.001)
    ] = 60.0,
    shrink: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long --check-command looks for smaller histories.", min=0)
    ] = 60.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per example, each on one line.")
    ] = False,
    strict: Strict = None,
) -> None:
    """Draw random histories for a consumer in any language: messages as they arrive, and the expected tables.

    With --check or --check-command, say for which examples a consumer's tables differ.
    """
    given = {name: value for name, value in locals().items() if name != "strict"}
    from ticdc_emit.cli.fuzz import run

    if check is not None and check_command is not None:
        raise typer.BadParameter("a consumer answers in one way: leave --check out", param_hint="--check-command")
    if sink_uri is not None and protocol is not None:
        raise typer.BadParameter("the sink URI names the protocol", param_hint="--protocol")
    raise typer.Exit(run(**given))


@commands.command(
    cls=Command,
    epilog=examples(
        "ticdc-emit tail --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json' --follow",
        "ticdc-emit tail --brokers 127.0.0.1:9092 --topic t --protocol canal-json --table 'shop.*' --op update",
    ),
)
@with_options(topic_source)
def tail(
    source: SourceOptions,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue with new messages as they arrive.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="beginning, or newest:N messages of each partition. Default: newest:10; "
            "with --table or --op, but not --follow: beginning.",
            autocompletion=one_of("beginning", "newest:"),
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", help="The last N messages of each partition: --from newest:N.", min=0)
    ] = None,
    table: Annotated[list[str] | None, typer.Option(help="Pattern of schema.table. Repeat it for more.")] = None,
    op: Annotated[
        list[str] | None,
        typer.Option(
            help="insert, update, delete, ddl, watermark, bootstrap or unreadable. Repeat it for more.",
            autocompletion=one_of("insert", "update", "delete", "ddl", "watermark", "bootstrap", "unreadable"),
        ),
    ] = None,
    claims: Annotated[bool, typer.Option("--claims", help="Read large messages from the claim-check storage.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, for programs.")] = False,
    strict: Strict = None,
) -> int:
    """Show the messages of topics, decoded, one line per message."""
    from ticdc_emit.cli import topics

    if last is not None and start is not None:
        raise typer.BadParameter("give either --last or --from", param_hint="--last")
    start = start if last is None else f"newest:{last}"
    return topics.tail(source, follow, start, table or (), op or (), claims=claims, as_json=as_json)


@commands.command(
    cls=Command,
    epilog=examples(
        "ticdc-emit verify /tmp/out --protocol debezium",
        "ticdc-emit verify --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    ),
)
@with_options(topic_source)
def verify(
    source: SourceOptions,
    claims: Annotated[
        bool, typer.Option("--claims", help="Also check that the claim-check storage has its objects.")
    ] = False,
    show: Annotated[int, typer.Option(help="How many findings of each invariant to print.", min=1)] = 20,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Exit 0 even if there are no messages.")] = False,
    as_json: AsJson = False,
    strict: Strict = None,
) -> int:
    """Check the messages of topics against every invariant. Exit 1 if a check fails or there are no messages."""
    from ticdc_emit.cli import topics

    return topics.verify(source, claims=claims, show=show, allow_empty=allow_empty, as_json=as_json)
