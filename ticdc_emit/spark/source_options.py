"""The options of ``format("ticdc")``: :class:`~ticdc_emit.spark.TicdcSink`'s arguments as Spark's text options.

In: names in any case and text values, as Spark passes them. Out: a changefeed, made on the driver, or a
:class:`~ticdc_emit.errors.ConfigError` with the documented name of the option, but no value that may be secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ticdc_emit.config import ChangefeedConfig, Secret, load_changefeed
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed

__all__ = ["SourceOptions"]

_LIBRDKAFKA = "librdkafka."
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


def _clock(text: str) -> str | int:
    return text if text in ("commit", "wall") else int(text)


def _ddl(text: str) -> list[tuple[Any, ...]]:
    return [tuple(entry) for entry in json.loads(text)]


_TEXT: tuple[Callable[[str], Any], str] = (str, "text")
_SECONDS: tuple[Callable[[str], Any], str] = (float, "a number of seconds")
_FLAG: tuple[Callable[[str], Any], str] = (_flag, "true or false")
_KNOWN: dict[str, tuple[Callable[[str], Any], str]] = {
    "sinkUri": _TEXT,
    "schema": _TEXT,
    "schemaPath": _TEXT,
    "changefeed": _TEXT,
    "table": _TEXT,
    "ddl": (_ddl, "a JSON list of [commit_ts, statement] or [commit_ts, statement, schema]"),
    "clock": (_clock, "commit, wall or ms"),
    "watermarkInterval": _SECONDS,
    "allowedLateness": _SECONDS,
    "late": _TEXT,
    "validate": _TEXT,
    "badRows": _TEXT,
    "badRowsPath": (Secret, "text"),
    "stateUri": (Secret, "text"),
    "stagingUri": _TEXT,
    "verbatimJson": _FLAG,
    "timeZone": _TEXT,
    "profile": _TEXT,
    "clusterId": _TEXT,
    "schemaRegistry": _TEXT,
    "integrity": _FLAG,
    "forceReplicate": _FLAG,
}
_BY_LOWER = {name.lower(): name for name in _KNOWN}
_LOADING = {
    "timeZone": "time_zone",
    "profile": "profile",
    "clusterId": "cluster_id",
    "schemaRegistry": "schema_registry",
    "integrity": "integrity",
    "forceReplicate": "force_replicate",
}
_RUNNING = {
    "clock": "clock",
    "watermarkInterval": "watermark_interval",
    "allowedLateness": "allowed_lateness",
    "late": "late",
    "validate": "validate",
    "badRows": "bad_rows",
    "badRowsPath": "bad_rows_path",
    "stateUri": "state_uri",
    "verbatimJson": "verbatim_json",
}


@dataclass(frozen=True, repr=False)
class SourceOptions:
    """Checked options; ``values`` by their documented names."""

    values: Mapping[str, Any]
    librdkafka: Mapping[str, str]
    config: ChangefeedConfig
    running: RunOptions

    @classmethod
    def read(cls, options: Mapping[str, str]) -> SourceOptions:
        """Check names and values, and load the changefeed's configuration."""
        values: dict[str, Any] = {}
        librdkafka: dict[str, str] = {}
        for given, text in options.items():
            lowered = given.lower()
            if lowered.startswith(_LIBRDKAFKA):
                librdkafka[lowered[len(_LIBRDKAFKA) :]] = text
            elif lowered not in _OF_SPARK:
                name = _documented(given)
                values[name] = _parsed(name, text)
        if "sinkUri" not in values:
            raise ConfigError("the sink has no sinkUri", remedy="Give option('sinkUri', ...)", option="sinkUri")
        if ("schema" in values) == ("schemaPath" in values):
            raise ConfigError(
                "give the tables by schema or by schemaPath, not by both or neither",
                remedy="Give option('schema', 'create table ...') or option('schemaPath', a file with that)",
                option="schema",
            )
        loading = {argument: values[name] for name, argument in _LOADING.items() if name in values}
        config = load_changefeed(values["sinkUri"], values.get("changefeed"), **loading)
        if config.sink_uri.scheme == "memory":
            raise ConfigError(
                "memory:// would keep the messages in a process that ends with the write",
                remedy="Use kafka:// or file://",
                option="sinkUri",
            )
        return cls(values, librdkafka, config, _running(values))

    @property
    def table(self) -> str | None:
        """``schema.name`` of rows in the typed form."""
        table: str | None = self.values.get("table")
        return table

    def changefeed(self) -> Changefeed:
        """Make the changefeed: read the schema, and get the topics from the sink."""
        return Changefeed(
            self.config,
            sink_for(self.config, self.librdkafka or None),
            self._schema(),
            table=self.table,
            ddl=self.values.get("ddl", ()),
            options=self.running,
        )

    def _schema(self) -> str:
        if "schema" in self.values:
            return str(self.values["schema"])
        import fsspec

        try:
            with fsspec.open(self.values["schemaPath"], "rt", encoding="utf-8") as file:
                return str(file.read())
        except (OSError, ValueError) as fault:
            raise ConfigError(
                f"the schema cannot be read: {type(fault).__name__}",
                remedy="Name a file with CREATE TABLE statements that the driver can read",
                option="schemaPath",
            ) from None


def _documented(given: str) -> str:
    try:
        return _BY_LOWER[given.lower()]
    except KeyError:
        raise ConfigError(
            f"the option {given!r} is unknown",
            remedy=f"{did_you_mean(given, _KNOWN)}Known are {', '.join(_KNOWN)} and {_LIBRDKAFKA}*",
            option=given,
        ) from None


def _running(values: Mapping[str, Any]) -> RunOptions:
    """Make the options of a run; their errors have the option's documented name."""
    try:
        return RunOptions(**{argument: values[name] for name, argument in _RUNNING.items() if name in values})
    except ConfigError as error:
        argument = error.context["option"]
        name = next(name for name, known in _RUNNING.items() if known == argument)
        raise ConfigError(
            error.message.replace(argument, name), remedy=error.remedy.replace(argument, name), option=name
        ) from None


def _parsed(name: str, text: str) -> Any:
    parse, form = _KNOWN[name]
    try:
        return parse(text)
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"the option {name} is not {form}", remedy=f"Give {form}", option=name) from None
