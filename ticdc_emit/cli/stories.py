"""One scenario for ``check``: shown, sent to a sink, written as files, or compared with a consumer's tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from ticdc_emit.storage.folder import Folder
from ticdc_emit.traffic.json_objects import encoded
from ticdc_emit.traffic.scenarios import FileScenario, FileScenarioKind, Scenario, file_scenario, scenario
from ticdc_emit.traffic.scenarios.library import scenario_for
from ticdc_emit.traffic.scenarios.model import AnyKind, AnyScenario

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Check


def run(kind: AnyKind, options: Check) -> int:
    """Do what the options ask for with one scenario."""
    if options.stage is not None and not isinstance(kind, FileScenarioKind):
        raise ConfigError(
            f"the scenario {kind.name} has no stages",
            remedy="Leave --stage out, or choose a scenario of files: check --list",
            option="stage",
        )
    config = None if options.send is None else _config(options.send, kind, options)
    seed, protocol, release = options.seed, options.protocol, options.release
    story: Scenario | FileScenario
    if isinstance(kind, FileScenarioKind):
        protocol = protocol if config is None else config.codec.protocol.value
        story = file_scenario(kind.name, protocol=protocol, release=release, seed=seed)
    elif config is None:
        story = scenario(kind.name, protocol=protocol, release=release, seed=seed)
    else:
        story = scenario_for(config, kind.name, seed=seed)
    if options.compare is not None:
        return _compare(story, options.compare, as_json=options.as_json)
    if isinstance(story, Scenario):
        told, show = _messages(story, config, as_json=options.as_json)
    else:
        told, show = _files(story, None if config is None else StorageSink.of(config).folder(), options.stage)
    try:
        script = story.history.to_sql()
    except HistoryError:
        script = None
    if options.as_json:
        print_json({**_facts(story), "sql": script, **told})
        return 0
    show()
    _show(story, script)
    return 0


def _config(sink_uri: str, kind: AnyKind, options: Check) -> ChangefeedConfig:
    document = None if options.protocol is None else protocol_document(options.protocol)
    config = load_changefeed(sink_uri, document, release=options.release, schema_registry=options.schema_registry)
    is_files = isinstance(kind, FileScenarioKind)
    if config.sink_uri.stored is not is_files:
        raise ConfigError(
            f"the scenario {kind.name} consists of {'files' if is_files else 'messages'}, and "
            f"{config.sink_uri.scheme}:// is {'for messages' if is_files else 'a storage sink'}",
            remedy="Use file://, s3://, gcs:// or azblob://"
            if is_files
            else "Use kafka:// or jsonl://, or a scenario of files: check --list",
            option="send",
        )
    return config


_Told = tuple[dict[str, Any], Callable[[], object]]
"""What JSON has of a scenario, and what shows the same."""


def _messages(story: Scenario, config: ChangefeedConfig | None, *, as_json: bool) -> _Told:
    report, tail = None, Tail(story.config, schemas=story.schemas)
    if config is not None:
        doing = f"sending {counted(len(story.messages), 'message')} to {mask_uri(config.sink_uri.raw.reveal())}"
        with step(doing, quiet=as_json):
            report = story.send(sink_for(config))
    lines = [] if report is not None else [(each, str(tail.line(each))) for each in story.messages]

    def show() -> None:
        for _, line in lines:
            result_console().print(Text(line))
        for topic, count in () if report is None else story.partitions.items():
            sent = f"sent to {counted(count, 'partition')} of {topic}: verify with partition-num={count}"
            result_console().print(Text(sent))

    told = {
        "partitions": story.partitions,
        "must_raise": None if story.refusal is None else story.refusal.__name__,
        "producer_refused": None if story.refused is None else str(story.refused),
        "delivered": None if report is None else report.to_dict(),
        "messages": [{**message_dict(each, lambda _: ()), "said": line} for each, line in lines] or None,
    }
    return told, show


def _files(story: FileScenario, folder: Folder | None, number: int | None) -> _Told:
    count = len(story.stages)
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"there is no stage {number}", remedy=f"Give 1 to {count}", option="stage")
    chosen = range(count) if number is None else range(number - 1, number)
    if folder is not None:
        if chosen[0] == 0 and next(iter(folder.files("")), None) is not None:
            raise ConfigError("the folder has files", remedy="Give an empty one", option="send")
        for at in chosen:
            story.stages[at].write(folder)

    def show() -> None:
        console, tail = result_console(), Tail(story.config)
        for at, reading in enumerate(story.readings()):
            lines, writes = [str(tail.line(message)) for message in reading], story.stages[at].writes
            if at not in chosen:
                continue
            done = "written" if folder is not None else counted(len(writes), "write")
            console.print(Text(f"stage {at + 1} of {count}: {done}", "bold"))
            for write in writes:
                console.print(Text(f"  {write.path}  {counted(len(write.content or b''), 'byte')}"))
            for line in ("  a reader then has:", *(f"    {line}" for line in lines)) if folder is None else ():
                console.print(Text(line))

    def told(at: int) -> list[dict[str, Any]]:
        return [{"path": path, "content": encoded(content)} for path, content in story.stages[at].writes]

    files = [{"stage": at + 1, "writes": told(at)} for at in chosen]
    return {"stages": count, "written": folder is not None, "files": files}, show


def _facts(story: AnyScenario) -> dict[str, Any]:
    return {
        "scenario": story.name,
        "protocol": story.protocol,
        "release": story.config.release.name,
        "seed": story.seed,
        "incident": story.kind.incident,
        "breaks": story.kind.breaks,
        "outcome": story.kind.outcome,
        "schema": story.schema,
        "sink_uri": story.sink_uri,
        "changefeed": story.changefeed,
        "expected": {".".join(name): list(rows.values()) for name, rows in story.expected.items()},
    }


def _show(story: AnyScenario, script: str | None) -> None:
    console = result_console()
    if script is not None:
        console.print(Text("\nas SQL:", "bold"))
        console.print(Text(f"{story.schema.strip().rstrip(';')};\n{script}"))
    release, kind = story.config.release.name, story.kind
    console.print(Text.assemble((story.name, "bold"), f" as {story.protocol} of {release}, seed {story.seed}"))
    console.print(Text(f"{kind.incident}\nBreaks consumers that assume {kind.breaks}"))
    console.print(Text.assemble(("must end with: ", "bold"), kind.outcome))
    if isinstance(story, Scenario) and story.refusal is not None:
        console.print(Text(f"the consumer must raise {story.refusal.__name__}"))
        return
    if isinstance(story, Scenario) and story.refused is not None:
        console.print(Text(f"the producer was refused: {story.refused}"))
    for name, rows in story.expected.items():
        console.print(Text(f"{'.'.join(name)}: {counted(len(rows), 'row')}", "bold"))
        for row in rows.values():
            console.print(Text("  " + json.dumps(row, ensure_ascii=False)))


def _compare(story: AnyScenario, path: Path, *, as_json: bool) -> int:
    try:
        tables = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        raise ConfigError(
            f"the file of tables cannot be read, or is not JSON: {fault}",
            remedy='Write {"schema.table": [{"column": "text", ...}, ...]}, as --json prints "expected"',
            option="compare",
        ) from None
    differences = story.check(tables)
    if as_json:
        print_json({"scenario": story.name, "differences": [vars(each) for each in differences]})
    else:
        verdict = counted(len(differences), "difference") if differences else "the tables match"
        for line in (*map(Text, map(str, differences)), Text(verdict, "bold red" if differences else "bold green")):
            result_console().print(line)
    return 1 if differences else 0
