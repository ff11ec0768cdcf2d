"""One scenario for ``check``: shown, sent to a sink, written as files, or compared with a consumer's tables."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.messages import message_dict
from ticdc_emit.config import ChangefeedConfig, load_changefeed, mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError, HistoryError
from ticdc_emit.hints import counted
from ticdc_emit.storage.folder import Folder, Write
from ticdc_emit.traffic.scenarios import (
    FileScenario,
    FileScenarioKind,
    Scenario,
    file_scenario,
    file_scenarios,
    scenario,
)
from ticdc_emit.traffic.scenarios.library import scenario_for
from ticdc_emit.traffic.scenarios.model import AnyKind, AnyScenario

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Check


def run(kind: AnyKind, options: Check) -> int:
    """Do what the options ask for with one scenario."""
    is_files = isinstance(kind, FileScenarioKind)
    file_names = ", ".join(each.name for each in file_scenarios())
    if options.stage is not None and not is_files:
        raise ConfigError(
            f"the scenario {kind.name} has no stages",
            remedy=f"Leave --stage out, or choose one of files: {file_names}",
            option="stage",
        )
    config = None if options.send is None else _config(options.send, kind, options, file_names)
    seed, protocol, release = options.seed, options.protocol, options.release
    story: Scenario | FileScenario
    if is_files:
        protocol = protocol if config is None else config.codec.protocol.value
        story = file_scenario(kind.name, protocol=protocol, release=release, seed=seed)
    elif config is None:
        story = scenario(kind.name, protocol=protocol, release=release, seed=seed)
    else:
        story = scenario_for(config, kind.name, seed=seed)
    if options.compare is not None:
        return _compare(story, options.compare, as_json=options.as_json)
    if isinstance(story, FileScenario):
        folder = None if config is None else StorageSink.of(config).folder()
        return _files(story, folder, options.stage, as_json=options.as_json)
    return _messages(story, config, as_json=options.as_json)


def _config(sink_uri: str, kind: AnyKind, options: Check, file_names: str) -> ChangefeedConfig:
    document = None if options.protocol is None else protocol_document(options.protocol)
    config = load_changefeed(sink_uri, document, release=options.release, schema_registry=options.schema_registry)
    is_files = isinstance(kind, FileScenarioKind)
    if config.sink_uri.stored is not is_files:
        messages = f"Use kafka:// or jsonl://, or a scenario of files: {file_names}"
        raise ConfigError(
            f"the scenario {kind.name} consists of {'files' if is_files else 'messages'}, and "
            f"{config.sink_uri.scheme}:// is {'for messages' if is_files else 'a storage sink'}",
            remedy="Use file://, s3://, gcs:// or azblob://" if is_files else messages,
            option="send",
        )
    return config


def _messages(story: Scenario, config: ChangefeedConfig | None, *, as_json: bool) -> int:
    report = None
    if config is not None:
        doing = f"sending {counted(len(story.messages), 'message')} to {mask_uri(config.sink_uri.raw.reveal())}"
        with step(doing, quiet=as_json):
            report = story.send(sink_for(config))
    tail = Tail(story.config, schemas=story.schemas)
    lines = [] if report is not None else [(each, tail.line(each)) for each in story.messages]
    if as_json:
        shown = [
            {**message_dict(each, lambda _: ()), "said": None if line is None else str(line)} for each, line in lines
        ]
        print_json(
            {
                **_common(story),
                "partitions": story.partitions,
                "must_raise": None if story.refusal is None else story.refusal.__name__,
                "producer_refused": None if story.refused is None else str(story.refused),
                "delivered": None if report is None else report.to_dict(),
                "messages": shown if report is None else None,
            }
        )
        return 0
    console = result_console()
    for _, line in lines:
        console.print(Text(str(line)))
    for topic, count in () if report is None else story.partitions.items():
        console.print(Text(f"sent to {counted(count, 'partition')} of {topic}: verify with partition-num={count}"))
    if lines:
        console.print()
    _print_story(console, story)
    if story.refusal is not None:
        console.print(Text(f"the consumer must raise {story.refusal.__name__}"))
        return 0
    if story.refused is not None:
        console.print(Text(f"the producer was refused: {story.refused}"))
    _print_tables(console, story)
    return 0


def _files(story: FileScenario, folder: Folder | None, number: int | None, *, as_json: bool) -> int:
    count = len(story.stages)
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"there is no stage {number}", remedy=f"Give 1 to {count}", option="stage")
    chosen = range(count) if number is None else range(number - 1, number)
    if folder is not None:
        if chosen[0] == 0 and next(iter(folder.files("")), None) is not None:
            raise ConfigError("the folder has files", remedy="Give an empty one", option="send")
        for at in chosen:
            story.stages[at].write(folder)
    readings = list(story.readings())
    if as_json:
        shown = [{"stage": at + 1, "writes": list(map(_write, story.stages[at].writes))} for at in chosen]
        print_json({**_common(story), "stages": count, "written": folder is not None, "files": shown})
        return 0
    console, tail = result_console(), Tail(story.config)
    for at, reading in enumerate(readings):
        lines = [str(tail.line(message)) for message in reading]
        if at not in chosen:
            continue
        done = "written" if folder is not None else counted(len(story.stages[at].writes), "write")
        console.print(Text(f"stage {at + 1} of {count}: {done}", "bold"))
        for write in story.stages[at].writes:
            console.print(Text(f"  {write.path}  {counted(len(write.content or b''), 'byte')}"))
        if folder is None:
            console.print(Text("  a reader then has:"))
            for line in lines:
                console.print(Text(f"    {line}"))
    console.print()
    _print_story(console, story)
    _print_tables(console, story)
    return 0


def _write(write: Write) -> dict[str, Any]:
    content = None if write.content is None else base64.b64encode(write.content).decode()
    return {"path": write.path, "content": content}


def _common(story: AnyScenario) -> dict[str, Any]:
    return {
        "scenario": story.name,
        "protocol": story.protocol,
        "release": story.config.release.name,
        "seed": story.seed,
        "incident": story.kind.incident,
        "breaks": story.kind.breaks,
        "outcome": story.kind.outcome,
        "schema": story.schema,
        "sql": _sql(story),
        "sink_uri": story.sink_uri,
        "changefeed": story.changefeed,
        "expected": {".".join(name): list(rows.values()) for name, rows in story.expected.items()},
    }


def _sql(story: AnyScenario) -> str | None:
    try:
        return story.history.to_sql()
    except HistoryError:
        return None


def _print_story(console: Console, story: AnyScenario) -> None:
    script = _sql(story)
    if script is not None:
        console.print(Text("as SQL:", "bold"))
        console.print(Text(f"{story.schema.strip().rstrip(';')};\n{script}"))
    lineage = story.config.release.name
    console.print(Text.assemble((story.name, "bold"), f" as {story.protocol} of {lineage}, seed {story.seed}"))
    console.print(Text(story.kind.incident))
    console.print(Text(f"Breaks consumers that assume {story.kind.breaks}"))
    console.print(Text.assemble(("must end with: ", "bold"), story.kind.outcome))


def _print_tables(console: Console, story: AnyScenario) -> None:
    for (schema, table), rows in story.expected.items():
        console.print(Text(f"{schema}.{table}: {counted(len(rows), 'row')}", "bold"))
        for row in rows.values():
            console.print(Text("  " + json.dumps(row, ensure_ascii=False)))


def _compare(story: AnyScenario, path: Path, *, as_json: bool) -> int:
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise ConfigError(
            f"the tables cannot be read: {fault}", remedy="Check the path of --compare", option="compare"
        ) from None
    except ValueError as fault:
        raise ConfigError(
            f"the file of tables is not JSON: {fault}",
            remedy='Write {"schema.table": [{"column": "text", ...}, ...]}, as --json prints "expected"',
            option="compare",
        ) from None
    differences = story.check(tables)
    if as_json:
        print_json({"scenario": story.name, "differences": [vars(each) for each in differences]})
        return 1 if differences else 0
    console = result_console()
    for each in differences:
        console.print(Text(str(each)))
    verdict = counted(len(differences), "difference") if differences else "the tables match"
    console.print(Text(verdict, "bold red" if differences else "bold green"))
    return 1 if differences else 0
