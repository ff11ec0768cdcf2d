"""Options that come together, declared once for the commands that have them: where topics are read, what is generated.

In: a command line. Out: one object, the first argument of a command (:func:`with_options`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ticdc_emit.cli.options import (
    PROTOCOL_HELP,
    ChangefeedFile,
    RegistryOrVariable,
    ReleaseName,
    SchemaDialect,
    complete_protocol,
    from_variable,
    uri_option,
)

if TYPE_CHECKING:
    from ticdc_emit.cli.topics import SourceOptions
    from ticdc_emit.traffic.generate.settings import Settings


def with_options(
    options: Callable[..., Any], after: str | None = None, *, deferred: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that gives a command the options of a function, whose result is its first argument.

    The command returns its exit code. ``after``: the command's own option that these follow in ``--help``; ``None``:
    they are the first. ``deferred``: the command gets a function without arguments that makes the result, because that
    imports much.
    """
    later = {"SourceOptions": Any, "TrafficOptions": Any}  # imported when a command runs
    shared = inspect.signature(options, locals=later, eval_str=True).parameters

    def decorate(command: Callable[..., int]) -> Callable[..., None]:
        _, *own = inspect.signature(command, locals=later, eval_str=True).parameters.values()
        place = 0 if after is None else [each.name for each in own].index(after) + 1

        @functools.wraps(command)
        def run(**given: Any) -> None:
            make = functools.partial(options, **{name: given.pop(name) for name in shared})
            raise typer.Exit(command(make if deferred else make(), **given))

        signature = inspect.Signature(
            [
                each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for each in (*own[:place], *shared.values(), *own[place:])
            ]
        )
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
        return run

    return decorate


def topic_source(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(
            help="Files of a jsonl:// sink: its folder, a topic's folder, or one file; or a storage sink's folder.",
            metavar="PATH",
        ),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="Topic; repeat it for more. Default: the changefeed's topics.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help=f"{PROTOCOL_HELP} Not with --sink-uri, which names it.",
            autocompletion=complete_protocol,
        ),
    ] = None,
    brokers: Annotated[
        str | None, typer.Option(metavar="HOST:PORT,…", help="Kafka brokers, instead of --sink-uri.")
    ] = None,
    sink_uri: Annotated[
        str | None,
        uri_option(
            "--sink-uri", "URI", "The changefeed's sink URI with all its options.", envvar="TICDC_EMIT_SINK_URI"
        ),
    ] = None,
    config: ChangefeedFile = None,
    schema_registry: RegistryOrVariable = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    release: ReleaseName = None,
) -> SourceOptions:
    """Return where to read. The environment's sink URI counts only if the command line gives no other source."""
    from ticdc_emit.cli.topics import SourceOptions

    if (path is not None or brokers is not None) and from_variable(context, "sink_uri"):
        sink_uri = None
    return SourceOptions(path, sink_uri, brokers, topic or [], protocol, schema_registry, config, time_zone, release)


TRAFFIC = "schema_dialect table seed columns updates deletes skew transaction_size shared_commits ddl_rate"
"""The options of :func:`traffic` about rows, for a panel of ``--help``; those about time and delivery have others."""


@dataclass(frozen=True)
class TrafficOptions:
    """What ``generate`` and ``serve`` have in common.

    ``settings``: without a number of rows and a start; its rate is ``None`` if none was given. ``dialect``: of the
    schema; ``config``: the changefeed file.
    """

    settings: Settings
    dialect: str | None
    config: Path | None
    release: str | None


def traffic(
    schema_dialect: SchemaDialect = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Changes per second of commit time. Default: 1,000, of serve 100.", min=0.001),
    ] = None,
    ddl_rate: Annotated[float, typer.Option(help="Schema changes per second of commit time.", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed makes the same traffic.")] = 0,
    table: Annotated[
        list[str] | None, typer.Option(help="schema.name; generate only this table. Repeat it for more.")
    ] = None,
    transaction_size: Annotated[float, typer.Option(help="Average number of changes per transaction.", min=1)] = 1.0,
    shared_commits: Annotated[
        float, typer.Option(help="Share of transactions that have the commit_ts of another one.", min=0, max=1)
    ] = 0.0,
    updates: Annotated[float, typer.Option(help="Average number of updates of a row.", min=0)] = 3.0,
    deletes: Annotated[float, typer.Option(help="Share of rows that are deleted in the end.", min=0, max=1)] = 0.5,
    skew: Annotated[float, typer.Option(help="Zipf exponent of updates over rows; 0: all rows alike.", min=0)] = 1.0,
    columns: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Ranges, labels and weights of columns.", exists=True, dir_okay=False),
    ] = None,
    redelivery: Annotated[float, typer.Option(help="Share of messages that come again.", min=0, max=1)] = 0.0,
    lag: Annotated[
        float, typer.Option(help="Share of changes that later ones of other tables overtake.", min=0, max=1)
    ] = 0.0,
    config: ChangefeedFile = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone.")] = "UTC",
    release: ReleaseName = None,
) -> TrafficOptions:
    """Return what to generate. Raises :class:`~ticdc_emit.errors.SchemaError` for a number out of its range."""
    from ticdc_emit.traffic.generate.settings import Settings

    settings = Settings(
        None,
        seed=seed,
        tables=tuple(table or ()),
        rate=rate,
        transaction_size=transaction_size,
        shared_commits=shared_commits,
        updates=updates,
        deletes=deletes,
        skew=skew,
        ddl_rate=ddl_rate,
        time_zone=time_zone,
        columns=columns,
        redelivery=redelivery,
        lag=lag,
    )
    return TrafficOptions(settings, schema_dialect, config, release)
