"""TiCDC's OpenAPI v2 over an emulator, for scripts that create changefeeds: the calls of ``cdc cli`` and of the docs.

In: TiCDC's requests (docs.pingcap.com, "TiCDC OpenAPI v2"). Out: TiCDC's answers, and its errors:
``{"error_msg": "[CDC:ErrX]...", "error_code": "CDC:ErrX"}`` with status 400 for those that TiCDC counts as the
request's (:data:`_BAD_REQUEST`), else 500. A changefeed that is created sends what the emulator's tables commit.

A request decides where this server connects to, so what a changefeed may name is limited (:func:`refuse_outside`): the
served Kafka and registry, and those on loopback. ``blackhole://`` sends nothing. No option may name a file.

Source: ``cdc/api/v2`` and ``cdc/api/util.go`` of pingcap/tiflow.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from ticdc_emit.config import RELEASES, ChangefeedConfig, load_changefeed, mask_uri
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.emulator.changefeed import EmulatedChangefeed, tables_of
from ticdc_emit.emulator.emulator import DEFAULT, Emulator
from ticdc_emit.emulator.guard import TICDC_PATH, is_loopback
from ticdc_emit.emulator.replica_config import ReplicaConfigError, changefeed_document, with_defaults
from ticdc_emit.errors import ConfigError, DeliveryError, TicdcEmitError, TicdcEmitWarning
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import logical, physical_ms

router = APIRouter(prefix=TICDC_PATH, tags=["TiCDC OpenAPI v2"])

MOST_CHANGEFEEDS = 64
"""Each may hold 128 MiB of messages."""

_BLACKHOLE = "blackhole://"
_NAMESPACE = "default"
_ID = re.compile(r"[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*")
_LONGEST_ID = 128
_CODE = re.compile(r"\[(CDC:\w+)\]")
_LEVELS = ("debug", "info", "warn", "error", "dpanic", "panic", "fatal")
_BAD_REQUEST = frozenset(
    {
        "CDC:ErrAPIInvalidParam",
        "CDC:ErrSinkURIInvalid",
        "CDC:ErrStartTsBeforeGC",
        "CDC:ErrChangeFeedNotExists",
        "CDC:ErrTargetTsBeforeStartTs",
        "CDC:ErrTableIneligible",
        "CDC:ErrFilterRuleInvalid",
        "CDC:ErrChangefeedUpdateRefused",
        "CDC:ErrMySQLConnectionError",
        "CDC:ErrMySQLInvalidConfig",
        "CDC:ErrCaptureNotExist",
        "CDC:ErrSchedulerRequestFailed",
    }
)
"""Codes of errors that TiCDC answers with 400."""


class TicdcRefusal(Exception):  # noqa: N818 - an answer
    """``code``: TiCDC's, with ``CDC:``; ``text``: what follows it in ``error_msg``."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"[{code}]{text}")
        self.code = code


def ticdc_error(code: str, message: str) -> JSONResponse:
    """Return an error as TiCDC answers it; ``message`` may begin with its code."""
    text = message if message.startswith("[CDC:") else f"[{code}]{message}"
    return JSONResponse({"error_msg": text, "error_code": code}, 400 if code in _BAD_REQUEST else 500)


def ticdc_not_ready(message: str) -> JSONResponse:
    """Return what TiCDC answers, with 503, while it cannot do what is asked."""
    code = "CDC:ErrServerIsNotReady"
    return JSONResponse({"error_msg": f"[{code}]{message}", "error_code": code}, 503)


class _Body(BaseModel):
    model_config = ConfigDict(strict=True)  # as Go, it ignores fields that it does not know


Uint64 = Annotated[int, Field(ge=0, lt=1 << 64, json_schema_extra={"format": "uint64"})]


class ChangefeedRequest(_Body):
    """A changefeed. ``replica_config``: the fields that docs/control.md lists."""

    namespace: str = ""
    changefeed_id: str = ""
    start_ts: Uint64 = 0
    target_ts: Uint64 = 0
    sink_uri: str = ""
    replica_config: dict[str, Any] | None = None


class ResumeChangefeedConfig(_Body):
    """``overwrite_checkpoint_ts``: 0 for the changefeed's own checkpoint."""

    overwrite_checkpoint_ts: Uint64 = 0


class VerifyTableConfig(_Body):
    """What ``cdc cli changefeed create`` asks before it creates a changefeed."""

    sink_uri: str = ""
    start_ts: Uint64 = 0
    replica_config: dict[str, Any] | None = None


class LogLevel(_Body):
    log_level: str = "info"


class Upstream(_Body):
    """The upstream is this server's own."""


@dataclass(frozen=True)
class Requested:
    """What a changefeed was created or updated with, as it was given."""

    sink_uri: str = ""
    replica_config: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class TicdcService:
    """What TiCDC's API knows beside the emulator.

    ``served``: ``host:port`` that changefeeds may use beside loopback's. ``any_sink``: they may use any.
    ``requested``: by the changefeed's id; the server's own has nothing until it is updated.
    """

    emulator: Emulator
    served: frozenset[str] = frozenset()
    any_sink: bool = False
    capture_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    address: str = "127.0.0.1:8300"
    requested: dict[str, Requested] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The release that is emulated, as TiCDC names it; of a lineage, its newest."""
        release = self.config.release
        name = release.name.rpartition("-")[2]
        if not name[:1].isdigit():
            numbered = [each.rpartition("-")[2] for each in RELEASES if each.startswith("next-") == (name != "classic")]
            name = max((each for each in numbered if each[:1].isdigit()), key=_numbers)
        return f"v{name}"

    @property
    def config(self) -> ChangefeedConfig:
        """The configuration of the server's own changefeed."""
        config = self.emulator.changefeed().config
        assert config is not None
        return config

    def load(self, sink_uri: str, replica_config: Mapping[str, Any]) -> ChangefeedConfig | None:
        """Return the configuration of a request, ``None`` for ``blackhole://``; what it may not name is refused."""
        try:
            document = changefeed_document(replica_config)
        except ReplicaConfigError as error:
            raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid api parameter: {error}") from None
        if sink_uri.partition("?")[0].rstrip("/") == _BLACKHOLE.rstrip("/"):
            return None
        own = self.config
        registry = own.codec.schema_registry
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TicdcEmitWarning)  # TiCDC accepts what it warns of
            config = load_changefeed(
                sink_uri,
                document,
                release=own.release,
                time_zone=own.time_zone,
                cluster_id=own.cluster_id,
                strict=False,
                schema_registry=None if registry is None else registry.reveal(),
            )
        if not self.any_sink:
            served = self.served | set(own.sink_uri.hosts)
            if registry is not None:
                served |= {_host_of(registry.reveal())}
            refuse_outside(config, served)
        return config

    def changefeed(self, name: str, namespace: str) -> EmulatedChangefeed:
        """Return a changefeed; raises TiCDC's errors for an id that is not one, and for one that does not exist."""
        check_id(name)
        found = self.emulator.changefeeds.get(name) if namespace in ("", _NAMESPACE) else None
        if found is None:
            raise TicdcRefusal("CDC:ErrChangeFeedNotExists", f"changefeed not exists, {namespace or _NAMESPACE}/{name}")
        return found

    def info(self, feed: EmulatedChangefeed, *, tasks: bool = False) -> dict[str, Any]:
        """Return a changefeed in detail."""
        own = _BLACKHOLE if feed.config is None else str(feed.config.sink_uri)
        requested = self.requested.get(feed.name, Requested(own))
        config = with_defaults(requested.replica_config)
        if feed.config is not None:
            config["sink"]["protocol"] = feed.config.codec.protocol.value
        info: dict[str, Any] = {
            "upstream_id": 1,
            "namespace": _NAMESPACE,
            "id": feed.name,
            "sink_uri": mask_uri(requested.sink_uri),
            "create_time": dt.datetime.fromtimestamp(feed.created, dt.timezone.utc).isoformat().replace("+00:00", "Z"),
            "start_ts": feed.start_ts,
            "config": config,
            "state": feed.state,
            "creator_version": self.version,
            "resolved_ts": max(feed.position, feed.checkpoint),
            "checkpoint_ts": feed.checkpoint,
            "checkpoint_time": json_time(feed.checkpoint),
        }
        if feed.target_ts:
            info["target_ts"] = feed.target_ts
        if (error := self.running_error(feed)) is not None:
            info["error"] = error
        if tasks and feed.state == "normal":
            info["task_status"] = [{"capture_id": self.capture_id, "table_ids": table_ids(feed.tables)}]
        return info

    def running_error(self, feed: EmulatedChangefeed) -> dict[str, Any] | None:
        """Return the error at which a changefeed has failed."""
        error = feed.error  # another thread may restart the changefeed meanwhile
        if error is None or feed.state != "failed":
            return None
        return {"addr": self.address, "code": code_of(error), "message": foreign_text(str(error))}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _host_of(url: str) -> str:
    """Return ``host:port`` of a URL, without a login."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


def json_time(tso: int) -> str:
    """Return the time of a TSO as TiCDC's JSON has it, in UTC."""
    ms = physical_ms(tso)
    moment = dt.datetime.fromtimestamp(ms // 1000, dt.timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}"


def table_ids(tables: list[TableInfo]) -> list[int]:
    """Return the ids of tables as TiCDC's tasks have them: those of the partitions of partitioned ones."""
    return [number for info in tables for number in ([part.id for part in info.partitions] or [info.id])]


def check_id(name: str) -> None:
    """Raise TiCDC's error for an id that is not one."""
    if not _ID.fullmatch(name) or len(name) > _LONGEST_ID:
        raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid changefeed_id: {name[:_LONGEST_ID]}")


def code_of(error: TicdcEmitError) -> str:
    """Return TiCDC's code of an error."""
    if code := error.context.get("code"):
        return str(code)
    named = _CODE.match(error.message)
    if named is not None:
        return named[1]
    return "CDC:ErrKafkaNewProducer" if isinstance(error, DeliveryError) else "CDC:ErrInternalServerError"


def text_of(error: TicdcEmitError) -> str:
    """Return the text of an error of the library, with TiCDC's words before it if it has none of them."""
    own = foreign_text(error.message)
    if _CODE.match(error.message) or "code" in error.context:
        return own
    return f"new kafka producer: {own}" if isinstance(error, DeliveryError) else f"internal server error: {own}"


def refuse_outside(config: ChangefeedConfig, served: frozenset[str] | set[str]) -> None:
    """Raise :class:`TicdcRefusal` for a configuration that names a server elsewhere, a storage, or a file.

    ``served``: ``host:port`` that may be named beside loopback's.
    """
    kafka, codec = config.kafka, config.codec
    files = {
        "ca": kafka.tls.ca,
        "cert": kafka.tls.cert,
        "key": kafka.tls.key,
        "sasl-gssapi-keytab-path": kafka.sasl.gssapi.keytab_path,
        "sasl-gssapi-kerberos-config-path": kafka.sasl.gssapi.kerberos_config_path,
    }
    named = [option for option, value in files.items() if value is not None]
    if not config.sink_uri.hosts:
        named.append(f"{config.sink_uri.scheme}://")
    if kafka.sasl.oauth is not None:
        named.append("sasl-oauth-token-url")
    if codec.glue_schema_registry is not None:
        named.append("glue-schema-registry-config")
    if codec.large_message_handle.claim_check_storage_uri is not None:
        named.append("claim-check-storage-uri")
    hosts = list(config.sink_uri.hosts)
    if codec.schema_registry is not None:
        hosts.append(_host_of(codec.schema_registry.reveal()))
    named += [host for host in hosts if host not in served and not is_loopback(_without_port(host))]
    if named:
        raise TicdcRefusal(
            "CDC:ErrSinkURIInvalid",
            f"sink uri invalid '{mask_uri(config.sink_uri.raw.reveal())}': a changefeed that is created over HTTP may "
            f"not use {', '.join(named)}. Use the served Kafka and schema registry, or start the server with "
            "--control-any-sink",
        )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _service(request: Request) -> TicdcService:
    service: TicdcService = request.app.state.ticdc
    return service


Service = Annotated[TicdcService, Depends(_service)]


# -- the server --------------------------------------------------------------------------------------------------------


@router.get("/status")
def status(service: Service) -> dict[str, Any]:
    """Return the status of this TiCDC."""
    return {
        "version": service.version,
        "git_hash": "",
        "id": service.capture_id,
        "cluster_id": service.config.cluster_id,
        "pid": os.getpid(),
        "is_owner": True,
        "liveness": 0,
    }


@router.get("/health")
def health(service: Service) -> JSONResponse:
    """Answer with {} if the changefeeds can run."""
    if not service.emulator.is_ready:
        return ticdc_not_ready("cdc server is not ready")
    return JSONResponse({})


@router.get("/captures")
def list_captures(service: Service) -> dict[str, Any]:
    """Return the only capture."""
    capture = {
        "id": service.capture_id,
        "is_owner": True,
        "address": service.address,
        "cluster_id": service.config.cluster_id,
    }
    return {"total": 1, "items": [capture]}


@router.post("/captures/{capture_id}/drain")
def drain_capture(capture_id: str) -> None:
    """Refuse: there is one capture."""
    raise TicdcRefusal("CDC:ErrSchedulerRequestFailed", "scheduler request failed, only one capture alive")


@router.post("/owner/resign")
def resign_owner() -> dict[str, Any]:
    """Do nothing: the only capture is the owner again."""
    return {}


@router.post("/log")
def set_log_level(level: LogLevel) -> dict[str, Any]:
    """Accept a level of TiCDC's log, which this server does not write."""
    if level.log_level.lower() not in _LEVELS:
        raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"fail to change log level: {level.log_level[:40]}")
    return {}


@router.post("/tso")
def query_tso(service: Service, _: Upstream) -> dict[str, Any]:
    """Return a TSO of the source's clock."""
    tso = service.emulator.source.clock()
    return {"timestamp": physical_ms(tso), "logic_time": logical(tso)}


# -- changefeeds -------------------------------------------------------------------------------------------------------


@router.post("/changefeeds")
def create_changefeed(service: Service, wanted: ChangefeedRequest) -> dict[str, Any]:
    """Create a changefeed over the emulator's tables; it sends what is committed after ``start_ts``."""
    if not wanted.sink_uri:
        raise TicdcRefusal(
            "CDC:ErrSinkURIInvalid",
            "sink uri invalid 'sink_uri is empty, cannot create a changefeed without sink_uri'",
        )
    name = wanted.changefeed_id or str(uuid.uuid4())
    check_id(name)
    if wanted.namespace not in ("", _NAMESPACE):
        raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid namespace: {wanted.namespace[:_LONGEST_ID]}")
    emulator = service.emulator
    with emulator.exclusive("a new changefeed"):
        if name in emulator.changefeeds:
            raise TicdcRefusal("CDC:ErrChangeFeedAlreadyExists", f"changefeed already exists, {name}")
        if len(emulator.changefeeds) >= MOST_CHANGEFEEDS:
            raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"this server runs at most {MOST_CHANGEFEEDS} changefeeds")
        now = emulator.source.clock()
        start = _checked_start(emulator, wanted.start_ts, now)
        _check_target(wanted.target_ts, start)
        given = wanted.replica_config or {}
        config = service.load(wanted.sink_uri, given)
        _refuse_ineligible(emulator, config, given)
        feed = emulator.add(name, config, start_ts=start, target_ts=wanted.target_ts or None)
        try:
            feed.send_new(emulator.source.clock())
        except TicdcEmitError:
            del emulator.changefeeds[name]
            raise
        service.requested[name] = Requested(wanted.sink_uri, given)
        info = service.info(feed)
    return {**info, "checkpoint_ts": start, "resolved_ts": start, "checkpoint_time": json_time(start)}


def _checked_start(emulator: Emulator, start_ts: int, now: int) -> int:
    if start_ts > now:
        raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid start-ts {start_ts}, larger than current tso {now}")
    _refuse_collected(emulator, start_ts)
    return start_ts or now


def _refuse_collected(emulator: Emulator, start_ts: int) -> None:
    if start_ts and start_ts < emulator.source.begins:
        raise TicdcRefusal(
            "CDC:ErrStartTsBeforeGC",
            f"fail to create or maintain changefeed because start-ts {start_ts} is earlier than or equal to GC "
            f"safepoint at {emulator.source.begins}",
        )


def _check_target(target_ts: int, start: int) -> None:
    if 0 < target_ts <= start:
        raise TicdcRefusal(
            "CDC:ErrTargetTsBeforeStartTs",
            f"fail to create changefeed because target-ts {target_ts} is earlier than start-ts {start}",
        )


def _refuse_ineligible(emulator: Emulator, config: ChangefeedConfig | None, given: Mapping[str, Any]) -> None:
    if config is None or config.force_replicate or given.get("ignore_ineligible_table"):
        return
    _, ineligible = tables_of(config, emulator.source.catalog)
    if ineligible:
        listed = " ".join(f"{info.schema}.{info.name}" for info in ineligible)
        raise TicdcRefusal(
            "CDC:ErrTableIneligible",
            f"some tables are not eligible to replicate([{listed}]), if you want to ignore these tables, please set "
            "ignore_ineligible_table to true",
        )


@router.post("/verify_table")
def verify_table(service: Service, wanted: VerifyTableConfig) -> dict[str, Any]:
    """Return which tables a changefeed would replicate, and which it cannot."""
    with service.emulator.locked("the check of tables"):
        config = service.load(wanted.sink_uri, wanted.replica_config or {})
        catalog = service.emulator.source.catalog
        every = [info for info in catalog.tables() if not info.is_view]
        eligible, ineligible = (every, list[TableInfo]()) if config is None else tables_of(config, catalog)
    answer = {"ineligible_tables": ineligible, "eligible_tables": eligible}
    return {name: [_table(info) for info in tables] for name, tables in answer.items() if tables}


def _table(info: TableInfo) -> dict[str, Any]:
    return {
        "database_name": info.schema,
        "table_name": info.name,
        "table_id": info.id,
        "is_partition": bool(info.partitions),
    }


@router.get("/changefeeds")
def list_changefeeds(service: Service, state: str = "", namespace: str = "") -> dict[str, Any]:
    """Return the changefeeds; ``state``: one of TiCDC's, ``all``, or those that are not finished."""
    feeds = sorted(service.emulator.changefeeds.items()) if namespace in ("", _NAMESPACE) else []
    items = [
        {
            "upstream_id": 1,
            "namespace": _NAMESPACE,
            "id": name,
            "state": feed.state,
            "checkpoint_tso": feed.checkpoint,
            "checkpoint_time": json_time(feed.checkpoint),
            "error": None if (error := service.running_error(feed)) is None else {"time": None, **error},
        }
        for name, feed in feeds
        if state == "all" or (feed.state != "finished" if not state else feed.state == state)
    ]
    return {"total": len(items), "items": items}


@router.get("/changefeeds/{changefeed_id}")
def get_changefeed(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Return a changefeed in detail."""
    return service.info(service.changefeed(changefeed_id, namespace), tasks=True)


@router.get("/changefeeds/{changefeed_id}/meta_info")
def get_meta_info(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Return a changefeed in detail."""
    return get_changefeed(service, changefeed_id, namespace)


@router.get("/changefeeds/{changefeed_id}/status")
def get_changefeed_status(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Return the state of a changefeed."""
    feed = service.changefeed(changefeed_id, namespace)
    answer: dict[str, Any] = {
        "state": feed.state,
        "resolved_ts": max(feed.position, feed.checkpoint),
        "checkpoint_ts": feed.checkpoint,
    }
    if (error := service.running_error(feed)) is not None:
        answer["last_error"] = error
    return answer


@router.get("/changefeeds/{changefeed_id}/synced")
def get_synced(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Return whether everything that was committed was sent, for as long as ``synced_status`` asks."""
    emulator = service.emulator
    with emulator.locked("whether all is synced"):
        feed = service.changefeed(changefeed_id, namespace)
        now, checkpoint, last = emulator.source.clock(), feed.checkpoint, emulator.source.last_commit(feed.start_ts)
        config = with_defaults(service.requested.get(feed.name, Requested()).replica_config)["synced_status"]
    still_ms = physical_ms(now) - physical_ms(last)
    lag_ms = physical_ms(now) - physical_ms(checkpoint)
    is_synced = still_ms > config["synced_check_interval"] * 1000 and lag_ms < config["checkpoint_interval"] * 1000
    return {
        "synced": is_synced,
        "sink_checkpoint_ts": json_time(checkpoint),
        "puller_resolved_ts": json_time(now),
        "last_synced_ts": json_time(last),
        "now_ts": json_time(now),
        "info": "Data syncing is finished" if is_synced else "The data syncing is not finished, please wait",
    }


@router.put("/changefeeds/{changefeed_id}")
def update_changefeed(
    service: Service, changefeed_id: str, wanted: ChangefeedRequest, namespace: str = ""
) -> dict[str, Any]:
    """Change ``target_ts``, ``sink_uri`` or ``replica_config`` of a changefeed that is stopped or has failed."""
    emulator = service.emulator
    with emulator.locked("an update of a changefeed"):
        feed = service.changefeed(changefeed_id, namespace)
        refused = "CDC:ErrChangefeedUpdateRefused"
        if feed.state not in ("stopped", "failed"):
            raise TicdcRefusal(
                refused, "changefeed update error: can only update changefeed config when it is stopped or failed"
            )
        target = wanted.target_ts or feed.target_ts
        if wanted.target_ts and wanted.target_ts <= feed.start_ts:
            raise TicdcRefusal(
                refused, f"can not update target_ts:{wanted.target_ts} less than start_ts:{feed.start_ts}"
            )
        given = wanted.replica_config
        before = service.requested.get(feed.name, Requested())
        wished = Requested(wanted.sink_uri or before.sink_uri, before.replica_config if given is None else given)
        is_same = wished == before
        if is_same and target == feed.target_ts:
            raise TicdcRefusal(
                refused, "changefeed update error: changefeed config is the same with the old one, do nothing"
            )
        if not is_same:
            _reconfigure(service, feed, wished)
        feed.target_ts = target
        return service.info(feed)


def _reconfigure(service: TicdcService, feed: EmulatedChangefeed, wished: Requested) -> None:
    """Give a changefeed another sink URI or configuration; an error has TiCDC's code of an update."""
    uri = wished.sink_uri
    if not uri and feed.config is not None:
        uri = feed.config.sink_uri.raw.reveal()
    try:
        config = service.load(uri, wished.replica_config)
        sink = None if config is None else service.emulator.recording_sink(config)
        feed.reconfigure(config, sink)
    except (ConfigError, TicdcRefusal) as error:
        raise TicdcRefusal("CDC:ErrChangefeedUpdateRefused", f"changefeed update error: {error}") from None
    service.requested[feed.name] = Requested(uri, wished.replica_config)


@router.delete("/changefeeds/{changefeed_id}")
def delete_changefeed(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Remove a changefeed; one that does not exist is no error. The server's own one stays."""
    check_id(changefeed_id)
    if changefeed_id == DEFAULT and namespace in ("", _NAMESPACE):
        raise TicdcRefusal(
            "CDC:ErrAPIInvalidParam", f"the changefeed {DEFAULT} is the server's own and cannot be removed; pause it"
        )
    with service.emulator.locked("the removal of a changefeed"):
        if namespace in ("", _NAMESPACE):
            service.emulator.changefeeds.pop(changefeed_id, None)
            service.requested.pop(changefeed_id, None)
    return {}


@router.post("/changefeeds/{changefeed_id}/pause")
def pause_changefeed(service: Service, changefeed_id: str, namespace: str = "") -> dict[str, Any]:
    """Stop a changefeed. What is committed meanwhile is sent when it is resumed."""
    with service.emulator.locked("a pause"):
        service.changefeed(changefeed_id, namespace).pause()
    return {}


@router.post("/changefeeds/{changefeed_id}/resume")
def resume_changefeed(
    service: Service, changefeed_id: str, wanted: ResumeChangefeedConfig, namespace: str = ""
) -> dict[str, Any]:
    """Start a changefeed again at its checkpoint, or at another one; what comes after it is sent, also again."""
    emulator = service.emulator
    with emulator.exclusive("a resume"):
        feed = service.changefeed(changefeed_id, namespace)
        _refuse_collected(emulator, wanted.overwrite_checkpoint_ts)
        if feed.state != "normal":
            feed.restart(wanted.overwrite_checkpoint_ts or None, skips=True)
            feed.send_new(emulator.source.clock())
    return {}


# -- processors --------------------------------------------------------------------------------------------------------


@router.get("/processors")
def list_processors(service: Service) -> dict[str, Any]:
    """Return a processor for each changefeed that runs."""
    items = [
        {"namespace": _NAMESPACE, "changefeed_id": name, "capture_id": service.capture_id}
        for name, feed in sorted(service.emulator.changefeeds.items())
        if feed.state == "normal"
    ]
    return {"total": len(items), "items": items}


@router.get("/processors/{changefeed_id}/{capture_id}")
def get_processor(service: Service, changefeed_id: str, capture_id: str, namespace: str = "") -> dict[str, Any]:
    """Return the tables of a changefeed."""
    feed = service.changefeed(changefeed_id, namespace)
    if feed.state != "normal":
        raise TicdcRefusal(
            "CDC:ErrAPIInvalidParam",
            f"invalid api parameter: changefeed in abnormal state: {feed.state}, can'duration get processor of an "
            "abnormal changefeed",
        )
    if capture_id != service.capture_id:
        raise TicdcRefusal("CDC:ErrCaptureNotExist", f"capture not exists, {capture_id[:_LONGEST_ID]}")
    return {"table_ids": table_ids(feed.tables)}


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer an error of this API."""
    assert isinstance(error, TicdcRefusal)
    return ticdc_error(error.code, str(error))
