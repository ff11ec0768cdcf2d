"""What ``cdc cli changefeed`` asks of TiCDC's OpenAPI v2 (docs.pingcap.com), over an emulator.

Errors have status 400 if TiCDC counts them as the request's (:data:`_BAD_REQUEST`), else 500. ``replica_config`` is the
changefeed file with ``_`` for ``-``, so the loader of the file checks it. A request decides where this server connects
to, so a changefeed may name only the served Kafka and registry, those on loopback, and ``blackhole://``
(:func:`refuse_outside`). Source: ``cdc/api/v2`` and ``cdc/api/util.go`` of pingcap/tiflow.
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
from ticdc_emit.emulator.guard import is_loopback, name_of
from ticdc_emit.errors import ConfigError, DeliveryError, TicdcEmitError, TicdcEmitWarning
from ticdc_emit.pipeline.report import shown_watermark
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import logical, physical_ms

TICDC_PATH = "/api/v2"
router = APIRouter(prefix=TICDC_PATH, tags=["TiCDC OpenAPI v2"])

MOST_CHANGEFEEDS = 64
"""Each may hold 128 MiB of messages."""

_BLACKHOLE = "blackhole://"
_ID = re.compile(r"[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*")
_LONGEST_ID = 128
_CODE = re.compile(r"\[(CDC:\w+)\]")
_BAD_REQUEST = frozenset(
    {
        "CDC:ErrAPIInvalidParam",
        "CDC:ErrSinkURIInvalid",
        "CDC:ErrStartTsBeforeGC",
        "CDC:ErrChangeFeedNotExists",
        "CDC:ErrTargetTsBeforeStartTs",
        "CDC:ErrTableIneligible",
        "CDC:ErrFilterRuleInvalid",
    }
)
"""Codes of errors that TiCDC answers with 400."""


class TicdcRefusal(Exception):  # noqa: N818 - an answer
    """``code``: TiCDC's, with ``CDC:``; ``text``: what follows it in ``error_msg``."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"[{code}]{text}")
        self.code = code


def ticdc_error(code: str, message: str, status: int | None = None) -> JSONResponse:
    """Return an error as TiCDC answers it; ``message`` may begin with its code. ``status``: by default the code's."""
    text = message if message.startswith("[CDC:") else f"[{code}]{message}"
    return JSONResponse({"error_msg": text, "error_code": code}, status or (400 if code in _BAD_REQUEST else 500))


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer an error of this API, or one of the library that a call of it has met."""
    if isinstance(error, TicdcRefusal):
        return ticdc_error(error.code, str(error))
    assert isinstance(error, TicdcEmitError)
    code, text = code_of(error), foreign_text(error.message)
    if not text.startswith(f"[{code}]") and "code" not in error.context:
        text = f"{_WORDS.get(code, 'internal server error')}: {text}"
    return ticdc_error(code, text)


_WORDS = {"CDC:ErrKafkaNewProducer": "new kafka producer", "CDC:ErrAPIInvalidParam": "invalid api parameter"}


def code_of(error: TicdcEmitError) -> str:
    if code := error.context.get("code"):
        return str(code)
    if named := _CODE.match(error.message):
        return named[1]
    if isinstance(error, ConfigError):
        return "CDC:ErrAPIInvalidParam"
    return "CDC:ErrKafkaNewProducer" if isinstance(error, DeliveryError) else "CDC:ErrInternalServerError"


class _Body(BaseModel):
    model_config = ConfigDict(strict=True)  # as Go, it ignores fields that it does not know


Uint64 = Annotated[int, Field(ge=0, lt=1 << 64, json_schema_extra={"format": "uint64"})]


class VerifyTableConfig(_Body):
    """What ``cdc cli changefeed create`` asks before it creates a changefeed."""

    sink_uri: str = ""
    start_ts: Uint64 = 0
    replica_config: dict[str, Any] | None = None


class ChangefeedRequest(VerifyTableConfig):
    """A changefeed. ``replica_config``: the options of the changefeed file, with ``_`` for ``-``."""

    changefeed_id: str = ""
    target_ts: Uint64 = 0


class ResumeChangefeedConfig(_Body):
    """``overwrite_checkpoint_ts``: 0 for the changefeed's own checkpoint."""

    overwrite_checkpoint_ts: Uint64 = 0


@dataclass
class TicdcService:
    """TiCDC's API. ``served``: ``host:port`` that changefeeds may use beside loopback's; ``any_sink``: or any other."""

    emulator: Emulator
    served: frozenset[str] = frozenset()
    any_sink: bool = False
    capture_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def version(self) -> str:
        """The release that is emulated, as TiCDC names it; of a lineage, its newest."""
        name = self.emulator.config.release.name
        if "-" not in name:
            name = [each for each in RELEASES if each.startswith("next-") == (name != "classic")][-1]
        return "v" + name.partition("-")[2]

    def load(self, wanted: VerifyTableConfig) -> ChangefeedConfig | None:
        """Return the configuration of a request, ``None`` for ``blackhole://``; what it may not name is refused."""
        if wanted.sink_uri.partition("?")[0].rstrip("/") == _BLACKHOLE.rstrip("/"):
            return None
        own = self.emulator.config
        registry = None if own.codec.schema_registry is None else own.codec.schema_registry.reveal()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TicdcEmitWarning)  # TiCDC accepts what it warns of
            config = load_changefeed(
                wanted.sink_uri,
                _as_file(wanted.replica_config or {}),
                release=own.release,
                time_zone=own.time_zone,
                cluster_id=own.cluster_id,
                strict=False,
                schema_registry=registry,
            )
        if not self.any_sink:
            refuse_outside(config, self.served | {*own.sink_uri.hosts, *([_host_of(registry)] if registry else ())})
        return config

    def changefeed(self, name: str) -> EmulatedChangefeed:
        """Return a changefeed; raises TiCDC's errors for an id that is not one, and for one that does not exist."""
        check_id(name)
        found = self.emulator.changefeeds.get(name)
        if found is None:
            raise TicdcRefusal("CDC:ErrChangeFeedNotExists", f"changefeed not exists, default/{name}")
        return found

    def info(self, feed: EmulatedChangefeed) -> dict[str, Any]:
        """Return a changefeed in detail, without the options that it was created with."""
        return {
            "upstream_id": 1,
            "namespace": "default",
            "id": feed.name,
            "sink_uri": _BLACKHOLE if feed.config is None else mask_uri(str(feed.config.sink_uri)),
            "create_time": dt.datetime.fromtimestamp(feed.created, dt.timezone.utc).isoformat().replace("+00:00", "Z"),
            "start_ts": feed.start_ts,
            "state": feed.state,
            "creator_version": self.version,
            "resolved_ts": max(feed.position, feed.checkpoint),
            "checkpoint_ts": feed.checkpoint,
            "checkpoint_time": shown_watermark(feed.checkpoint)[:-1],
            **({"target_ts": feed.target_ts} if feed.target_ts else {}),
            **({} if (error := _running_error(feed)) is None else {"error": error}),
        }


def _service(request: Request) -> TicdcService:
    service: TicdcService = request.app.state.ticdc
    return service


Service = Annotated[TicdcService, Depends(_service)]


def _as_file(value: Any) -> Any:
    """Return a ``replica_config`` as the changefeed file has it; null is an option that is not given."""
    if isinstance(value, dict):
        return {name.replace("_", "-"): _as_file(each) for name, each in value.items() if each is not None}
    return [_as_file(each) for each in value] if isinstance(value, list) else value


def _running_error(feed: EmulatedChangefeed) -> dict[str, Any] | None:
    error = feed.error  # another thread may restart the changefeed meanwhile
    if error is None or feed.state != "failed":
        return None
    return {"code": code_of(error), "message": foreign_text(str(error))}


def _host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


def check_id(name: str) -> None:
    """Raise TiCDC's error for an id that is not one."""
    if not _ID.fullmatch(name) or len(name) > _LONGEST_ID:
        raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid changefeed_id: {name[:_LONGEST_ID]}")


def refuse_outside(config: ChangefeedConfig, served: frozenset[str] | set[str]) -> None:
    """Raise :class:`TicdcRefusal` for a configuration that names a storage, a file, or a server elsewhere. ``served``:
    ``host:port`` that may be named beside loopback's.
    """
    kafka, codec = config.kafka, config.codec
    options = {
        "ca": kafka.tls.ca,
        "cert": kafka.tls.cert,
        "key": kafka.tls.key,
        "sasl-gssapi-keytab-path": kafka.sasl.gssapi.keytab_path,
        "sasl-gssapi-kerberos-config-path": kafka.sasl.gssapi.kerberos_config_path,
        f"{config.sink_uri.scheme}://": None if config.sink_uri.hosts else "no host",
        "sasl-oauth-token-url": kafka.sasl.oauth,
        "glue-schema-registry-config": codec.glue_schema_registry,
        "claim-check-storage-uri": codec.large_message_handle.claim_check_storage_uri,
    }
    named = [option for option, value in options.items() if value is not None]
    hosts = list(config.sink_uri.hosts)
    if codec.schema_registry is not None:
        hosts.append(_host_of(codec.schema_registry.reveal()))
    named += [host for host in hosts if host not in served and not is_loopback(name_of(host))]
    if named:
        raise TicdcRefusal(
            "CDC:ErrSinkURIInvalid",
            f"sink uri invalid '{mask_uri(config.sink_uri.raw.reveal())}': a changefeed that is created over HTTP may "
            f"not use {', '.join(named)}. Use the served Kafka and schema registry, or start the server with "
            "--control-any-sink",
        )


@router.get("/status")
def status(service: Service) -> dict[str, Any]:
    """Return the status of this TiCDC."""
    return {
        "version": service.version,
        "git_hash": "",
        "id": service.capture_id,
        "cluster_id": service.emulator.config.cluster_id,
        "pid": os.getpid(),
        "is_owner": True,
        "liveness": 0,
    }


@router.post("/tso")
def query_tso(service: Service) -> dict[str, Any]:
    """Return a TSO of the source's clock."""
    tso = service.emulator.source.clock()
    return {"timestamp": physical_ms(tso), "logic_time": logical(tso)}


@router.post("/verify_table")
def verify_table(service: Service, wanted: VerifyTableConfig) -> dict[str, Any]:
    """Return which tables a changefeed would replicate, and which it cannot."""
    with service.emulator.locked("the check of tables"):
        config = service.load(wanted)
        catalog = service.emulator.source.catalog
        every = [info for info in catalog.tables() if not info.is_view]
        eligible, ineligible = (every, list[TableInfo]()) if config is None else tables_of(config, catalog)
    answer = {"ineligible_tables": ineligible, "eligible_tables": eligible}
    return {
        name: [
            {
                "database_name": info.schema,
                "table_name": info.name,
                "table_id": info.id,
                "is_partition": bool(info.partitions),
            }
            for info in tables
        ]
        for name, tables in answer.items()
        if tables
    }


@router.post("/changefeeds")
def create_changefeed(service: Service, wanted: ChangefeedRequest) -> dict[str, Any]:
    """Create a changefeed over the emulator's tables; it sends what is committed after ``start_ts``."""
    if not wanted.sink_uri:
        raise TicdcRefusal(
            "CDC:ErrSinkURIInvalid", "sink uri invalid 'sink_uri is empty, cannot create a changefeed without sink_uri'"
        )
    name = wanted.changefeed_id or str(uuid.uuid4())
    check_id(name)
    emulator = service.emulator
    with emulator.exclusive("a new changefeed"):
        if name in emulator.changefeeds:
            raise TicdcRefusal("CDC:ErrChangeFeedAlreadyExists", f"changefeed already exists, {name}")
        if len(emulator.changefeeds) >= MOST_CHANGEFEEDS:
            raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"this server runs at most {MOST_CHANGEFEEDS} changefeeds")
        now = emulator.source.clock()
        start = wanted.start_ts or now
        if start > now:
            raise TicdcRefusal("CDC:ErrAPIInvalidParam", f"invalid start-ts {start}, larger than current tso {now}")
        if 0 < wanted.target_ts <= start:
            raise TicdcRefusal(
                "CDC:ErrTargetTsBeforeStartTs",
                f"fail to create changefeed because target-ts {wanted.target_ts} is earlier than start-ts {start}",
            )
        config = service.load(wanted)
        _refuse_ineligible(emulator, config, wanted.replica_config or {})
        feed = emulator.add(name, config, start_ts=start, target_ts=wanted.target_ts or None)
        try:
            feed.send_new(emulator.source.clock())
        except TicdcEmitError:
            del emulator.changefeeds[name]
            raise
        info = service.info(feed)
    return {**info, "checkpoint_ts": start, "resolved_ts": start, "checkpoint_time": shown_watermark(start)[:-1]}


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


@router.get("/changefeeds")
def list_changefeeds(service: Service, state: str = "") -> dict[str, Any]:
    """Return the changefeeds; ``state``: one of TiCDC's, ``all``, or those that are not finished."""
    items = [
        {
            "upstream_id": 1,
            "namespace": "default",
            "id": name,
            "state": feed.state,
            "checkpoint_tso": feed.checkpoint,
            "checkpoint_time": shown_watermark(feed.checkpoint)[:-1],
            "error": None if (error := _running_error(feed)) is None else {"time": None, **error},
        }
        for name, feed in sorted(service.emulator.changefeeds.items())
        if state == "all" or (feed.state != "finished" if not state else feed.state == state)
    ]
    return {"total": len(items), "items": items}


@router.get("/changefeeds/{changefeed_id}")
def get_changefeed(service: Service, changefeed_id: str) -> dict[str, Any]:
    """Return a changefeed in detail."""
    return service.info(service.changefeed(changefeed_id))


@router.delete("/changefeeds/{changefeed_id}")
def delete_changefeed(service: Service, changefeed_id: str) -> dict[str, Any]:
    """Remove a changefeed; one that does not exist is no error. The server's own one stays."""
    check_id(changefeed_id)
    if changefeed_id == DEFAULT:
        raise TicdcRefusal(
            "CDC:ErrAPIInvalidParam", f"the changefeed {DEFAULT} is the server's own and cannot be removed; pause it"
        )
    with service.emulator.locked("the removal of a changefeed"):
        service.emulator.changefeeds.pop(changefeed_id, None)
    return {}


@router.post("/changefeeds/{changefeed_id}/pause")
def pause_changefeed(service: Service, changefeed_id: str) -> dict[str, Any]:
    """Stop a changefeed. What is committed meanwhile is sent when it is resumed."""
    with service.emulator.locked("a pause"):
        service.changefeed(changefeed_id).pause()
    return {}


@router.post("/changefeeds/{changefeed_id}/resume")
def resume_changefeed(service: Service, changefeed_id: str, wanted: ResumeChangefeedConfig) -> dict[str, Any]:
    """Start a changefeed again at its checkpoint, or at another one; what comes after it is sent, also again."""
    emulator = service.emulator
    with emulator.exclusive("a resume"):
        feed = service.changefeed(changefeed_id)
        if feed.state != "normal":
            feed.restart(wanted.overwrite_checkpoint_ts or None, skips=True)
            feed.send_new(emulator.source.clock())
    return {}
