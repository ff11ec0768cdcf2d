"""``ticdc-emit check``: whether a consumer in any language survives TiCDC, and why not.

The consumer is a child process that answers examples (``--command``), or a program that reads a broker (``--kafka`` and
``--tables-command``). Each behaviour is a line of the result when it is known; the first failure is shown at once.
Without a consumer, examples are printed or saved as JSON, and one scenario is shown, sent, or written as files.
"""

from __future__ import annotations

import importlib
import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console, say, step
from ticdc_emit.cli.report_page import write_checked
from ticdc_emit.cli.schema_files import sample_or_file
from ticdc_emit.config import ChangefeedConfig, load_changefeed, mask_text, mask_uri
from ticdc_emit.config.document import read_document
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError, HistoryError
from ticdc_emit.hints import counted
from ticdc_emit.storage.folder import Folder
from ticdc_emit.testing.java import user_cache
from ticdc_emit.traffic.scenarios.files import FileScenario, file_scenario, file_scenarios
from ticdc_emit.traffic.scenarios.library import scenario, scenario_for, scenarios
from ticdc_emit.traffic.scenarios.model import AnyKind, AnyScenario, FileScenarioKind, Scenario, kind_named

if TYPE_CHECKING:
    from ticdc_emit.check.examples import Example
    from ticdc_emit.check.run import Ask, Failure, Outcome, Run
    from ticdc_emit.cli.app import Check

_OF_A_RUN = {"only", "seed", "seconds", "junit", "report", "as_json"}
_STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim"}


def run(options: Check) -> int:
    """Do what the options ask for: list, one scenario, examples as files, or a verdict."""
    has_consumer = options.command is not None or options.kafka is not None
    if options.list_all or not (has_consumer or options.only or options.save):
        return _list(as_json=options.as_json)
    if not has_consumer and options.save is None and (options.send is not None or not options.as_json):
        return _one_scenario(options)
    from ticdc_emit.check.behaviours import chosen

    configuration = importlib.import_module("hypothesis.configuration")
    configuration.set_hypothesis_home_dir(user_cache() / "hypothesis")  # else it makes a folder where the command runs
    setting, behaviours = _setting(options), chosen(tuple(options.only))
    if not has_consumer or options.save is not None:
        applicable = (each for each in behaviours if each.why_not(setting) is None)
        examples = (example for each in applicable for example in each.examples(setting, options.examples))
        return _save(options.save, examples, options)
    with ExitStack() as stack:
        run = _run(setting, _consumer(options, stack), options)
        verdict = run.all(behaviours, options.examples, options.seconds)
    write_checked(options.report, verdict)
    if options.junit is not None:
        options.junit.write_text(verdict.to_junit(), encoding="utf-8")
    if options.as_json:
        print_json(verdict.to_dict())
    else:
        result_console().print(Text(verdict.summary, "bold green" if verdict else "bold red"))
    return 0 if verdict else 1


def _scenarios() -> tuple[AnyKind, ...]:
    return *scenarios(), *file_scenarios()


def _list(*, as_json: bool) -> int:
    from ticdc_emit.check.behaviours import BEHAVIOURS

    about = {kind.name: kind for kind in _scenarios()}
    listed = [(each.name, each.group, each.what) for each in BEHAVIOURS]
    listed += [(kind.name, "files", kind.incident) for kind in file_scenarios()]
    if as_json:
        attributes = ("protocols", "incident", "breaks", "outcome")
        more = {name: {each: getattr(kind, each) for each in attributes} for name, kind in about.items()}
        print_json([{"name": name, "group": group, "what": what, **more.get(name, {})} for name, group, what in listed])
        return 0
    console, last = result_console(), ""
    for name, group, what in listed:
        if group != last:
            console.print(Text(group, "bold underline"))
        console.print(Text.assemble((f"  {name}", "bold"), f": {what}"))
        if name in about:
            console.print(Text(f"      Breaks consumers that assume {about[name].breaks}", "dim"))
        last = group
    return 0


def _setting(options: Check) -> Any:
    from ticdc_emit.check.examples import Setting, feed_of_examples

    document = None if options.config is None else read_document(options.config).to_dict()
    feed = feed_of_examples(options.protocol, sink_uri=options.sink_uri, changefeed=document, release=options.release)
    schema = None if options.schema is None else sample_or_file(options.schema, options.schema_dialect)
    return Setting(feed, schema, options.time_zone, options.seed)


def _save(folder: Path | None, examples: Iterator[Example], options: Check) -> int:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, example in enumerate(examples, 1):  # noqa: B007 - used after the loop
        line = example.to_json(canonical=options.canonical)
        if folder is None:
            print(line)
        else:
            (folder / f"{example.behaviour}-{example.number}.json").write_text(line + "\n", encoding="utf-8")
    say(f"{counted(count, 'example')} in {folder or 'all'}")
    return 0


def _consumer(options: Check, stack: ExitStack) -> Ask:
    from ticdc_emit.check.consumers import ConsumerOfKafka, ConsumerProcess

    timeout, canonical = options.answer_timeout, options.canonical
    if options.kafka is None:
        return stack.enter_context(closing(ConsumerProcess(options.command or "", timeout, canonical=canonical)))
    if options.tables_command is None:
        raise ConfigError(
            "--kafka needs the program that prints the consumer's tables",
            remedy="Give --tables-command",
            option="tables-command",
        )
    bootstrap = options.kafka
    if bootstrap == "embedded":
        from ticdc_emit.testing import EmbeddedKafka

        bootstrap = stack.enter_context(EmbeddedKafka(port=0)).bootstrap
    return ConsumerOfKafka(bootstrap, options.tables_command, timeout, canonical=canonical)


def _run(setting: Any, ask: Ask, options: Check) -> Run:
    from ticdc_emit.check.run import Run

    console = result_console()

    def say_first(failed: Failure) -> None:
        say(f"{failed.example.label} fails: {failed.wrong()[0]}\n  looking for the cause")

    def say_outcome(outcome: Outcome) -> None:
        if options.as_json:
            return
        told = outcome.why or counted(outcome.examples, "example")
        name = outcome.behaviour.name
        console.print(Text.assemble((f"{outcome.state:14}", _STYLES[outcome.state]), f" {name:24} {told}"))
        if outcome.failure is not None:
            for line in outcome.failure.lines():
                console.print(Text(f"    {line}"))
            for line in outcome.failure.history().splitlines():
                console.print(Text(f"      {line}", "dim"))
            console.print(Text(f"    again: {_again(options, name)}"))

    return Run(setting, ask, options.canonical, options.shrink, say_first, say_outcome)


def _again(options: Check, behaviour: str) -> str:
    words = ["ticdc-emit", "check", "--seed", f"{options.seed}", "--only", behaviour]
    for each in fields(options):
        value = getattr(options, each.name)
        if each.name not in _OF_A_RUN and value != each.default:
            words += [f"--{each.name.replace('_', '-')}", *([] if value is True else [mask_text(f"{value}")])]
    return shlex.join(words)


# -- one scenario -----------------------------------------------------------------------------------------------------


def _one_scenario(options: Check) -> int:
    if len(options.only) != 1:
        raise ConfigError(
            "no consumer is given, and not one scenario to show or to send",
            remedy="Give --command or --kafka, or --only with one of " + ", ".join(kind.name for kind in _scenarios()),
            option="only",
        )
    kind = kind_named(options.only[0], _scenarios())
    if options.stage is not None and not isinstance(kind, FileScenarioKind):
        raise ConfigError(f"the scenario {kind.name} has no stages", remedy="Leave --stage out", option="stage")
    config = None if options.send is None else _config(options.send, kind, options)
    seed, protocol, release = options.seed, options.protocol, options.release
    story: Scenario | FileScenario
    sent: dict[str, Any] = {}
    if isinstance(kind, FileScenarioKind):
        protocol = protocol if config is None else config.codec.protocol.value
        story = file_scenario(kind.name, protocol=protocol, release=release, seed=seed)
        folder = None if config is None else StorageSink.of(config).folder()
        _show_files(story, folder, options.stage, quiet=options.as_json)
    elif config is None:
        story = scenario(kind.name, protocol=protocol, release=release, seed=seed)
        tail = Tail(story.config, schemas=story.schemas)
        for line in (line for message in story.messages for line in tail.lines(message)):
            result_console().print(Text(str(line)))
    else:
        story = scenario_for(config, kind.name, seed=seed)
        doing = f"sending {counted(len(story.messages), 'message')} to {mask_uri(config.sink_uri.raw.reveal())}"
        with step(doing, quiet=options.as_json):
            sent = {"partitions": story.partitions, "delivered": story.send(sink_for(config)).to_dict()}
        for topic, count in () if options.as_json else story.partitions.items():
            told = f"sent to {counted(count, 'partition')} of {topic}: verify with partition-num={count}"
            result_console().print(Text(told))
    if options.as_json:
        print_json({"scenario": story.name, "protocol": story.protocol, "release": story.config.release.name, **sent})
    else:
        _show(story)
    return 0


def _config(sink_uri: str, kind: AnyKind, options: Check) -> ChangefeedConfig:
    document = None if options.protocol is None else protocol_document(options.protocol)
    config = load_changefeed(sink_uri, document, release=options.release, schema_registry=options.schema_registry)
    is_files = isinstance(kind, FileScenarioKind)
    if config.sink_uri.stored is not is_files:
        raise ConfigError(
            f"the scenario {kind.name} consists of {'files' if is_files else 'messages'}, and "
            f"{config.sink_uri.scheme}:// is {'for messages' if is_files else 'a storage sink'}",
            remedy=f"Use {'file://, s3://, gcs:// or azblob://' if is_files else 'kafka:// or jsonl://'}",
            option="send",
        )
    return config


def _show_files(story: FileScenario, folder: Folder | None, number: int | None, *, quiet: bool) -> None:
    count = len(story.stages)
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"there is no stage {number}", remedy=f"Give 1 to {count}", option="stage")
    chosen = range(count) if number is None else range(number - 1, number)
    if folder is not None and chosen[0] == 0 and next(iter(folder.files("")), None) is not None:
        raise ConfigError("the folder has files", remedy="Give an empty one", option="send")
    console, tail = result_console(), Tail(story.config)
    console.quiet = quiet
    for at, reading in enumerate(story.readings()):
        lines, stage = [line for message in reading for line in tail.lines(message)], story.stages[at]
        if at not in chosen:
            continue
        if folder is not None:
            stage.write(folder)
        done = "written" if folder is not None else counted(len(stage.writes), "write")
        console.print(Text(f"stage {at + 1} of {count}: {done}", "bold"))
        for write in stage.writes:
            console.print(Text(f"  {write.path}  {counted(len(write.content or b''), 'byte')}"))
        for line in ("  a reader then has:", *(f"    {line}" for line in lines)) if folder is None else ():
            console.print(Text(line))


def _show(story: AnyScenario) -> None:
    console = result_console()
    with suppress(HistoryError):  # some have no SQL
        script = story.history.to_sql()
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
