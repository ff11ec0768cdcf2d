"""Every recorded route: the topic of each DDL, topic and partition of each row, and what TiCDC refuses."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from conformance.history import CaseHistory
from conformance.vectors import Case, read_case
from vector_files import load_vector, vector_names, vector_path

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.errors import ConfigError, DispatcherError
from ticdc_emit.routing.partitions import partitions_of, table_hash
from ticdc_emit.routing.selectors import ColumnSelectors
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo


class Target(NamedTuple):
    """Where one event went; ``refused`` where TiCDC printed an error or crashed instead."""

    event: int
    topic: str
    partition: int | None = None
    refused: str | None = None


def _files_with_routes() -> list[str]:
    return [name for name in vector_names() if load_vector(name).get("routes")]


class _Routing:
    """One dispatcher configuration at work on the events of a case."""

    def __init__(self, case: Case, history: CaseHistory, config: ChangefeedConfig, partitions: int) -> None:
        self._case, self._history, self._config, self._count = case, history, config, partitions
        self._router = Router.of(config, {})
        self._selectors = ColumnSelectors.of(config)

    def targets(self) -> Iterator[Target]:
        for index, event in enumerate(self._case.events):
            if event["kind"] == "ddl":
                made = self._history.ddl[index]
                assert isinstance(made, DdlEvent)
                yield Target(index, self._router.ddl_topic(made))
            elif event["kind"] in ("row", "txn"):
                table = self._table(event)
                for row in event.get("emitted", [event]):
                    yield self._row(index, table, event["commit_ts"], row)

    def _table(self, event: Mapping[str, Any]) -> TableInfo:
        versions = self._history.table(event["schema"], event["table"])
        return next(info for since, info in reversed(list(versions)) if info is not None and since < event["commit_ts"])

    def _row(self, index: int, table: TableInfo, commit_ts: int, row: Mapping[str, Any]) -> Target:
        topic = self._router.topic(table.schema, table.name)
        rule, switches = self._router.rule(table.schema, table.name), self._config.release.routing
        left = self._selectors.select(table)
        try:
            hashed = rule.hashed(left, switches)
        except DispatcherError as fault:
            return Target(index, topic, refused=fault.message)
        values = {name: _array(value) for name, value in (row["after"] or row["before"]).items()}
        image = Image(left, values, Rendering(self._case.time_zone))
        numbers = pa.array([commit_ts], pa.uint64())
        seed = table_hash(left.schema, left.name)
        found = partitions_of(rule, hashed, seed, image, numbers, self._count, switches)
        return Target(index, topic, found if isinstance(found, int) else found[0].as_py())


def _array(value: Any) -> pa.Array:
    """One value as an array of one row."""
    unsigned = isinstance(value, int) and value >= 1 << 63
    plain = base64.b64decode(value["base64"]) if isinstance(value, Mapping) else value
    return pa.array([plain], pa.uint64() if unsigned else None)


def _recorded(target: Mapping[str, Any]) -> Target:
    return Target(target["event"], target["topic"], target.get("partition"), target.get("error"))


@pytest.mark.parametrize("name", _files_with_routes())
def test_every_recorded_route(name: str) -> None:
    case = read_case(vector_path(name))
    history = CaseHistory(case)
    assert history.differences == {}
    for route in load_vector(name)["routes"]:
        if route.get("config_error"):
            with pytest.raises(ConfigError) as refused:
                Router.of(_load(case, route), {})
            assert refused.value.message == route["config_error"]
            continue
        found = list(_Routing(case, history, _load(case, route), route["partitions"]).targets())
        expected = [_recorded(target) for target in route["targets"]]
        crashed = {place for place, target in enumerate(route["targets"]) if "panic" in target}
        assert all(found[place].refused for place in crashed), route["id"]
        found = [target._replace(refused=None) if place in crashed else target for place, target in enumerate(found)]
        assert found == expected, route["id"]


def _load(case: Case, route: Mapping[str, Any]) -> ChangefeedConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        registry = "http://127.0.0.1:8081" if "protocol=avro" in route["sink_uri"] else None
        return load_changefeed(
            route["sink_uri"],
            route["changefeed"],
            time_zone=case.time_zone,
            force_replicate=case.force_replicate,
            schema_registry=registry,
        )


def test_the_vectors_hold_every_kind_of_rule() -> None:
    routes = [route for name in vector_names() for route in load_vector(name).get("routes") or ()]
    assert len(routes) >= 114
    assert sum(len(route.get("targets") or ()) for route in routes) >= 1_900
    for kind in ("table", "ts", "index-value", "columns", "rowid"):
        assert any(f'partition = "{kind}"' in route["changefeed"] for route in routes), kind
