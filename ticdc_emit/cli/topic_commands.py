"""The commands that work with topics, and their options: ``scenario``, ``tail``, ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import (
    PROTOCOL_HELP,
    AsJson,
    Command,
    Html,
    Lineage,
    Registry,
    RegistryOrVariable,
    Strict,
    complete_profile,
    complete_protocol,
    examples,
    from_variable,
    one_of,
    uri_option,
)

__all__ = ["add_topic_commands"]


def _complete_scenario(incomplete: str) -> list[str]:
    from ticdc_emit.traffic.scenarios import scenarios

    return one_of(*(kind.name for kind in scenarios()))(incomplete)


Source = Annotated[
    Path | None,
    typer.Argument(help="Files of a file:// sink: its folder, a topic's folder, or one file.", metavar="PATH"),
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Topic; repeat it for more. Default: the changefeed's topics.")
]
Brokers = Annotated[str | None, typer.Option(metavar="HOST:PORT,…", help="Kafka brokers, instead of --sink-uri.")]
FeedUri = Annotated[
    str | None,
    uri_option("--sink-uri", "URI", "The changefeed's sink URI with all its options.", envvar="TICDC_EMIT_SINK_URI"),
]
FeedConfig = Annotated[
    Path | None, typer.Option("--config", metavar="FILE.toml", help="The changefeed file.", exists=True, dir_okay=False)
]
FeedProtocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help=f"{PROTOCOL_HELP} Not with --sink-uri, which names it.",
        autocompletion=complete_protocol,
    ),
]
FeedZone = Annotated[str, typer.Option("--time-zone", help="The changefeed's time zone, for TIMESTAMP values.")]


def tail(
    context: typer.Context,
    path: Source = None,
    topic: Topics = None,
    protocol: FeedProtocol = None,
    brokers: Brokers = None,
    sink_uri: FeedUri = None,
    config: FeedConfig = None,
    schema_registry: RegistryOrVariable = None,
    time_zone: FeedZone = "UTC",
    profile: Lineage = None,
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
    strict: Strict = False,
) -> None:
    """Show the messages of topics, decoded, one line per message."""
    from ticdc_emit.cli.tail import run
    from ticdc_emit.cli.topic_source import SourceOptions

    sink_uri = _unless_elsewhere(context, sink_uri, path, brokers)
    options = SourceOptions(path, sink_uri, brokers, topic or [], protocol, schema_registry, config, time_zone, profile)
    if last is not None and start is not None:
        raise typer.BadParameter("give either --last or --from", param_hint="--last")
    start = start if last is None else f"newest:{last}"
    code = run(options, follow=follow, start=start, tables=table or [], ops=op or [], claims=claims, as_json=as_json)
    raise typer.Exit(code)


def verify(
    context: typer.Context,
    path: Source = None,
    topic: Topics = None,
    protocol: FeedProtocol = None,
    brokers: Brokers = None,
    sink_uri: FeedUri = None,
    config: FeedConfig = None,
    schema_registry: RegistryOrVariable = None,
    time_zone: FeedZone = "UTC",
    profile: Lineage = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Also check that the claim-check storage has its objects.")
    ] = False,
    show: Annotated[int, typer.Option(help="How many findings of each invariant to print.", min=1)] = 20,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Exit 0 even if there are no messages.")] = False,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Check the messages of topics against every invariant. Exit 1 if a check fails or there are no messages."""
    from ticdc_emit.cli.topic_source import SourceOptions
    from ticdc_emit.cli.verify import run

    sink_uri = _unless_elsewhere(context, sink_uri, path, brokers)
    options = SourceOptions(path, sink_uri, brokers, topic or [], protocol, schema_registry, config, time_zone, profile)
    raise typer.Exit(run(options, claims=claims, show=show, allow_empty=allow_empty, html=html, as_json=as_json))


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
    seed: Annotated[int, typer.Option(help="The same seed makes the same messages.")] = 0,
    sink_uri: Annotated[
        str | None, uri_option("--sink-uri", "URI", "TiCDC's sink URI: where to send. Default: show the messages.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Profile of TiCDC: classic or next. Default: the first that has the protocol.",
            autocompletion=complete_profile,
        ),
    ] = None,
    schema_registry: Registry = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Compare a consumer's tables; exit 1 if they differ.", dir_okay=False),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Send a message sequence that breaks naive consumers, and show the tables a correct consumer ends up with."""
    from ticdc_emit.cli.scenario import list_scenarios, require_name, run

    if list_all or (name is None and sink_uri is None and check is None and html is None):
        raise typer.Exit(list_scenarios(as_json=as_json))
    name = require_name(name)
    code = run(
        name,
        protocol=protocol,
        seed=seed,
        sink_uri=sink_uri,
        profile=profile,
        schema_registry=schema_registry,
        check=check,
        html=html,
        as_json=as_json,
    )
    raise typer.Exit(code)


def _unless_elsewhere(
    context: typer.Context, sink_uri: str | None, path: Path | None, brokers: str | None
) -> str | None:
    """Return the sink URI; that of the environment only if the command line gives no other source."""
    elsewhere = path is not None or brokers is not None
    return None if elsewhere and from_variable(context, "sink_uri") else sink_uri


def add_topic_commands(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "ticdc-emit scenario --list",
            "ticdc-emit scenario b-a-b --protocol debezium",
            "ticdc-emit scenario redelivery --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
            "ticdc-emit scenario redelivery --check tables.json",
        ),
    )(scenario)
    app.command(
        cls=Command,
        epilog=examples(
            "ticdc-emit tail --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json' --follow",
            "ticdc-emit tail --brokers 127.0.0.1:9092 --topic t --protocol canal-json --table 'shop.*' --op update",
        ),
    )(tail)
    app.command(
        cls=Command,
        epilog=examples(
            "ticdc-emit verify /tmp/out --protocol debezium",
            "ticdc-emit verify --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        ),
    )(verify)
