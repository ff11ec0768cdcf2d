"""``ticdc-emit profile``: the model of data, or with ``--compare`` how far two sources are apart."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli.console import print_json, result_stream, write_whole
from ticdc_emit.cli.schema_files import sample_or_file
from ticdc_emit.cli.session import spark_for
from ticdc_emit.cli.topics import source_of
from ticdc_emit.profile import below, compare, model_of, model_text, profile_of
from ticdc_emit.profile.sources import READ_HERE
from ticdc_emit.profile.sources import read_source as read_rows
from ticdc_emit.traffic.generate.model import Model, read_model
from ticdc_emit.traffic.replay.sources import format_of, read_source

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Generate, Profile


def run(options: Profile) -> int:
    with ExitStack() as stack:
        given, feed = _source(options.source, options, stack)
        if options.compare is None:
            keep = options.keep_values
            model = profile_of(given, schema=options.schema, keep_values=keep, changefeed=feed)
            if options.output is not None:
                write_whole(options.output, model_text(model))
            elif options.as_json:
                print_json(model)
            else:
                print(model_text(model), end="", file=result_stream())
            return 0
        other, its_feed = _source(options.compare, options, stack)
        found = compare(given, other, schema=options.schema, changefeed=feed or its_feed)
    if options.as_json:
        print_json(found)
    for each in () if options.as_json else found:
        apart = "" if each["by"] is None else f"  {each['distance']:.4f} {each['by']}"
        print(f"{each['table']}.{each['column']:24}  nulls {each['nulls']:.4f}{apart}", file=result_stream())
    return 0


def learned(options: Generate) -> tuple[str, Model]:
    """Return the tables of ``--like`` as SQL, and its model below that of ``--model``."""
    with ExitStack() as stack:
        given, feed = _source(str(options.like), options, stack)
        text = None if options.schema is None else sample_or_file(options.schema, options.schema_dialect)
        source = read_rows(given, text, feed)
        return source.schema, read_model(below(model_of(source), options.model))


def _source(given: str, options: Profile | Generate, stack: ExitStack) -> tuple[Any, Any]:
    """Return files, frames of Spark, or the messages of a changefeed with its configuration."""
    if "protocol=" in given:
        feed = options.load(given, options.config, schema_registry=options.schema_registry)
        return source_of(feed).messages(), feed
    name, equals, path = given.rpartition("=")
    kind = options.format or format_of(path)
    if not equals or kind in READ_HERE:
        return {name: path} if equals else path, None
    spark = spark_for(stack, "profile", short=False, settings=options.spark_settings, quiet=options.as_json)
    return {name: read_source(spark, path, format=kind)}, None
