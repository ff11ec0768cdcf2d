"""The control API: what tests in any language ask of an :class:`~ticdc_emit.emulator.emulator.Emulator`, over HTTP.

``docs/control.md`` and ``/openapi.json`` describe it. The status of an error says whose it is: 4xx the request's, 502
the sink's; with 503, another call runs for long. What only looks does not wait for it. No answer shows a traceback, and
nothing of a request names a file.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

import ticdc_emit
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.delivery.base import Message
from ticdc_emit.emulator import emulator as emulating
from ticdc_emit.emulator import ticdc_api
from ticdc_emit.emulator.call_lock import INTERRUPTED
from ticdc_emit.emulator.emulator import DEFAULT, Emulator, Offset, Sent, Tso
from ticdc_emit.emulator.guard import refusal_body
from ticdc_emit.emulator.ticdc_api import TICDC_PATH, TicdcRefusal, TicdcService, ticdc_error
from ticdc_emit.errors import (
    ChangefeedStateError,
    ConfigError,
    DeliveryError,
    RegistryError,
    ServerBusyError,
    TicdcEmitError,
    UnknownChangefeedError,
    UnknownTopicError,
    shortened,
)
from ticdc_emit.observe.reports import ChangefeedMetrics
from ticdc_emit.traffic.json_objects import encoded
from ticdc_emit.traffic.scenarios.library import scenarios

logger = logging.getLogger(__name__)

MOST_LAST = 10_000
"""Messages of each topic-partition that one request may ask for."""

# -- requests, whose unknown fields and other types are refused, and answers -------------------------------------------


class _Request(BaseModel):
    model_config: ClassVar[ConfigDict] = {"extra": "forbid", "strict": True}


class Script(_Request):
    """A change script, and the database of tables that it names without one."""

    sql: str = Field(description="DDL, INSERT, REPLACE, UPDATE, DELETE, BEGIN, COMMIT; statements end with ;")
    database: str | None = None


class ScenarioRequest(_Request):
    """The seed of a scenario, and the topic of its messages, by default a new one."""

    seed: int = 0
    topic: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,249}$")


class TrafficRequest(_Request):
    """Rows a second; by default as before."""

    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Chosen(_Request):
    """Topic-partitions: those with this topic and this number, by default any."""

    topic: str | None = None
    partition: int | None = Field(default=None, ge=0)


class RedeliverRequest(Chosen):
    """How many of the last messages of each topic-partition come again; ``rows_only``: of those with rows."""

    last: int = Field(default=1, ge=1, le=MOST_LAST)
    rows_only: bool = False


class HoldRequest(_Request):
    """A topic-partition."""

    topic: str
    partition: int = Field(ge=0)


class RestartRequest(_Request):
    """The checkpoint: a TSO, or the one before the last so many transactions; by default the changefeed's own."""

    checkpoint_ts: Tso | None = Field(default=None, ge=1)
    transactions: int | None = Field(default=None, ge=1)


class StatementResult(BaseModel):
    """What one statement did; ``commit_ts``: of what became committed by it."""

    kind: str
    affected_rows: int
    last_insert_id: int | None
    commit_ts: Tso | None


@dataclass(frozen=True, kw_only=True)
class SqlSent(Sent):
    """What a change script has sent, and what each statement did."""

    statements: tuple[StatementResult, ...]


Rows = list[dict[str, str | None]]


class Tables(BaseModel):
    """The expected tables, with the columns of their handle keys, by ``schema.table``."""

    commit_ts: Tso
    tables: dict[str, Rows]
    keys: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class ScenarioSent(Sent):
    """``refusal``: the error that a correct consumer raises; ``producer_refused``: that of the producer."""

    scenario: str
    protocol: str
    seed: int
    outcome: str
    schema_sql: str
    topics: dict[str, int]
    expected: dict[str, Rows]
    keys: dict[str, list[str]]
    refusal: str | None
    producer_refused: str | None


class ScenarioKind(BaseModel):
    name: str
    incident: str
    breaks: str
    outcome: str
    protocols: list[str]


class TrafficState(BaseModel):
    """``rows``: changes that were generated since the start or the last reset."""

    running: bool
    rate: float
    rows: int
    error: dict[str, Any] | None


class SentMessage(BaseModel):
    """``key``, ``value``: base64, or text if it was asked for and the bytes are UTF-8; null is Kafka's null."""

    topic: str
    partition: int
    offset: Offset
    key: str | None
    value: str | None
    is_text: bool


class PartitionState(BaseModel):
    """``sent``: messages since the start or the last reset; ``held``: those that wait."""

    topic: str
    partition: int
    sent: int
    held: int
    end_offset: Offset


class Messages(BaseModel):
    messages: list[SentMessage]
    partitions: list[PartitionState]


class Held(BaseModel):
    topic: str
    partition: int
    messages: int


class HeldPartitions(BaseModel):
    held: list[Held]


class Health(BaseModel):
    """``retained_bytes``: of commits and sent messages that are kept, at most ``retain_bytes``."""

    status: Literal["ok"] = "ok"
    retained_bytes: int
    retain_bytes: int


class Ready(BaseModel):
    """``error``: of the changefeed that has failed; only with a token, where one is needed."""

    status: Literal["ready", "starting", "failed"]
    error: dict[str, Any] | None = None


class ErrorBody(BaseModel):
    """``code``: MySQL's number or TiCDC's code, if there is one. ``context``: the place."""

    type: str
    message: str
    remedy: str
    code: int | str | None = None
    context: dict[str, Any] = Field(default_factory=dict)


class Error(BaseModel):
    error: ErrorBody


# -- errors ------------------------------------------------------------------------------------------------------------


_STATUSES: tuple[tuple[type[TicdcEmitError], int], ...] = (
    (UnknownChangefeedError, 404),
    (UnknownTopicError, 404),
    (ChangefeedStateError, 409),
    (ServerBusyError, 503),
    (DeliveryError, 502),
    (RegistryError, 502),
)


def error_status(error: TicdcEmitError) -> int:
    """Return the HTTP status of an error: 400 where the request or its content is wrong."""
    if isinstance(error, ConfigError) and error.context.get("option") == "scenario":
        return 404
    if error.context.get("number") == INTERRUPTED:
        return 503
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def error_body(error: TicdcEmitError) -> dict[str, Any]:
    """Return an error as JSON has it; long values of its context are shortened."""
    context = {name: _plain(value) for name, value in error.context.items()}
    code = context.pop("number", None) or context.pop("code", None)
    return {
        "type": type(error).__name__,
        "message": foreign_text(error.message),
        "remedy": error.remedy,
        **({} if code is None else {"code": code}),
        "context": context,
    }


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return foreign_text(shortened(str(value)))


def _emulator(request: Request) -> Emulator:
    emulator: Emulator = request.app.state.emulator
    return emulator


Running = Annotated[Emulator, Depends(_emulator)]
ChangefeedId = Annotated[str, Query(description="The id of the changefeed.", max_length=128)]
_ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Error, "description": "The request, its content, or the state is wrong."},
    "5XX": {"model": Error, "description": "The sink failed (502), another call runs (503), or the server failed."},
}


router = APIRouter()


def control_api(emulator: Emulator, *, served: frozenset[str] = frozenset(), any_sink: bool = False) -> FastAPI:
    """Return the API, to be put behind a guard, with the arguments of the control server."""
    application = bare_application()
    application.state.emulator = emulator
    application.state.settings = {}
    application.state.metrics = CollectorRegistry()
    shown = ChangefeedMetrics(DEFAULT, registry=application.state.metrics)
    emulator.on_report = lambda name, report: shown.labelled(name)(report)
    application.state.ticdc = TicdcService(emulator, served=served, any_sink=any_sink)
    application.add_exception_handler(TicdcRefusal, ticdc_api.refuse)
    application.add_exception_handler(TicdcEmitError, _refuse_error)
    application.add_exception_handler(RequestValidationError, _refuse_content)
    application.add_exception_handler(HTTPException, _refuse_path)
    application.add_exception_handler(Exception, _fail)
    return application


# -- server ------------------------------------------------------------------------------------------------------------


@router.get("/health", tags=["server"])
def health(running: Running) -> Health:
    """Answer as soon as the server runs. Needs no token."""
    return Health(retained_bytes=running.retained_bytes, retain_bytes=running.retain_bytes)


@router.get("/ready", tags=["server"], response_model=Ready, responses={503: {"model": Ready}})
def ready(request: Request, running: Running) -> JSONResponse:
    """Answer with 503 until Kafka, registry and changefeeds are there, and while one has failed. Needs no token."""
    failed = next((feed for feed in list(running.changefeeds.values()) if feed.state == "failed"), None)
    if failed is None or failed.error is None or not running.is_ready:
        return JSONResponse({"status": "ready"}) if running.is_ready else JSONResponse({"status": "starting"}, 503)
    error = {**error_body(failed.error), "changefeed": failed.name}
    return JSONResponse({"status": "failed"} | ({"error": error} if request.scope["is_trusted"] else {}), 503)


@router.get("/metrics", tags=["server"], response_class=PlainTextResponse)
def metrics(request: Request) -> PlainTextResponse:
    """Return what was sent, as Prometheus reads it: TiCDC's metrics."""
    return PlainTextResponse(generate_latest(request.app.state.metrics), media_type=CONTENT_TYPE_LATEST)


@router.get("/settings", tags=["server"])
def settings(request: Request) -> dict[str, Any]:
    """Return addresses, options and tables, as ``serve --json`` prints them."""
    return dict(request.app.state.settings)


@router.post("/reset", tags=["server"])
def reset(running: Running) -> Sent:
    """Make everything as at the start, for the next test, which reads each topic-partition from its ``end_offset``."""
    return running.reset()


# -- changes -----------------------------------------------------------------------------------------------------------


@router.post("/sql", tags=["changes"])
def sql(running: Running, script: Script) -> SqlSent:
    """Execute a change script and send what it commits.

    At a statement that fails, the script ends; what was committed before stays, and is sent.
    """
    sent, results = running.run_sql(script.sql, script.database)
    statements = [
        StatementResult(
            kind=result.kind,
            affected_rows=result.affected_rows,
            last_insert_id=result.last_insert_id,
            commit_ts=max((each.commit_ts for each in result.committed), default=None),
        )
        for result in results
    ]
    return SqlSent(**vars(sent), statements=tuple(statements))


@router.get("/tables", tags=["changes"])
def tables(
    running: Running,
    form: Annotated[
        Literal["canonical", "messages"],
        Query(alias="as", description="Values in canonical text, or as the changefeed's messages show them."),
    ] = "canonical",
) -> Tables:
    """Return the tables that a consumer must have once it has read everything."""
    with running.locked("the expected tables"):
        found, keys, commit_ts = running.tables(form), running.keys(), running.source.end
    return Tables(
        commit_ts=commit_ts,
        tables={".".join(name): list(own.values()) for name, own in sorted(found.items())},
        keys={".".join(name): list(own) for name, own in sorted(keys.items())},
    )


# -- scenarios and traffic ---------------------------------------------------------------------------------------------


@router.get("/scenarios", tags=["scenarios"])
def list_scenarios() -> list[ScenarioKind]:
    """Return the scenarios that break consumers."""
    return [ScenarioKind.model_validate(kind, from_attributes=True) for kind in scenarios()]


@router.post("/scenarios/{name}", tags=["scenarios"])
def run_scenario(
    running: Running, name: Annotated[str, Path(max_length=100)], wanted: ScenarioRequest | None = None
) -> ScenarioSent:
    """Send a scenario's messages to topics of their own, and return the tables that a correct consumer has then."""
    asked = wanted or ScenarioRequest()
    sent, made = running.run_scenario(name, seed=asked.seed, topic=asked.topic)
    return ScenarioSent(
        **vars(sent),
        scenario=made.name,
        protocol=made.protocol,
        seed=made.seed,
        outcome=made.kind.outcome,
        schema_sql=made.schema,
        topics=dict(made.partitions),
        expected={".".join(table): list(own.values()) for table, own in made.expected.items()},
        keys={".".join(table): list(own) for table, own in made.keys.items()},
        refusal=None if made.refusal is None else made.refusal.__name__,
        producer_refused=None if made.refused is None else made.refused.message,
    )


@router.get("/traffic", tags=["traffic"])
def traffic(running: Running) -> TrafficState:
    """Return whether traffic is generated, and how much was."""
    return _traffic(running.traffic)


@router.post("/traffic/start", tags=["traffic"])
def start_traffic(running: Running, wanted: TrafficRequest | None = None) -> TrafficState:
    """Generate changes of the tables from now on."""
    return _traffic(running.start_traffic(None if wanted is None else wanted.rate))


@router.post("/traffic/stop", tags=["traffic"])
def stop_traffic(running: Running) -> TrafficState:
    """Generate nothing more. What was generated is sent when this answers."""
    return _traffic(running.stop_traffic())


def _traffic(state: emulating.TrafficState) -> TrafficState:
    error = None if state.error is None else error_body(state.error)
    return TrafficState(running=state.running, rate=state.rate, rows=state.rows, error=error)


# -- delivery ----------------------------------------------------------------------------------------------------------


@router.get("/messages", tags=["delivery"])
def messages(
    running: Running,
    topic: str | None = None,
    partition: Annotated[int | None, Query(ge=0)] = None,
    last: Annotated[int, Query(ge=1, le=MOST_LAST)] = MOST_LAST,
    text: Annotated[bool, Query(description="Keys and values as text where they are UTF-8.")] = False,
    changefeed: ChangefeedId = DEFAULT,
) -> Messages:
    """Return the newest messages that were sent, and how many, by topic-partition."""
    sink = running.sink(changefeed)
    with sink.still():
        found = sink.messages(topic, partition, last)
        sent, held = sink.sent(), sink.held
        states = [
            PartitionState(
                topic=target[0],
                partition=target[1],
                sent=sent.get(target, 0),
                held=held.get(target, 0),
                end_offset=sink.end(target),
            )
            for target in sink.chosen(topic, partition)
        ]
    return Messages(messages=[_message(each, as_text=text) for each in found], partitions=states)


def _message(message: Message, *, as_text: bool) -> SentMessage:
    key, value = encoded(message.key), encoded(message.value)
    if as_text:
        try:
            key, value = (None if data is None else data.decode() for data in (message.key, message.value))
        except UnicodeDecodeError:
            as_text = False
    return SentMessage(
        topic=message.topic, partition=message.partition, offset=message.offset, key=key, value=value, is_text=as_text
    )


@router.post("/redeliver", tags=["delivery"])
def redeliver(running: Running, wanted: RedeliverRequest | None = None, changefeed: ChangefeedId = DEFAULT) -> Sent:
    """Send the last messages of each topic-partition again, the same bytes in the same order."""
    asked = wanted or RedeliverRequest()
    return running.redeliver(asked.last, asked.topic, asked.partition, rows_only=asked.rows_only, changefeed=changefeed)


@router.post("/hold", tags=["delivery"])
def hold(running: Running, wanted: HoldRequest, changefeed: ChangefeedId = DEFAULT) -> HeldPartitions:
    """Keep the messages of a topic-partition back from now on."""
    held = running.hold(wanted.topic, wanted.partition, changefeed=changefeed)
    return HeldPartitions(
        held=[Held(topic=topic, partition=number, messages=count) for (topic, number), count in held.items()]
    )


@router.post("/release", tags=["delivery"])
def release(running: Running, wanted: Chosen | None = None, changefeed: ChangefeedId = DEFAULT) -> Sent:
    """Send what was held back, in order."""
    asked = wanted or Chosen()
    return running.release(asked.topic, asked.partition, changefeed=changefeed)


@router.post("/restart", tags=["delivery"])
def restart(running: Running, wanted: RestartRequest | None = None, changefeed: ChangefeedId = DEFAULT) -> Sent:
    """Stop the changefeed as a crash does and start it at a checkpoint: everything after it is sent again."""
    asked = wanted or RestartRequest()
    if asked.checkpoint_ts is not None and asked.transactions is not None:
        raise ConfigError(
            "checkpoint_ts and transactions are both given", remedy="Leave one out", option="transactions"
        )
    return running.restart(asked.checkpoint_ts, transactions=asked.transactions, changefeed=changefeed)


# -- errors ------------------------------------------------------------------------------------------------------------


def _answer(request: Request, status: int, body: dict[str, Any]) -> JSONResponse:
    if request.url.path.startswith(TICDC_PATH):
        if status < 500:
            message = f"invalid api parameter: {body['message']}"
            return ticdc_error("CDC:ErrAPIInvalidParam", message, 404 if status == 404 else None)
        code = "CDC:ErrServerIsNotReady" if status == 503 else "CDC:ErrInternalServerError"
        return ticdc_error(code, body["message"], status)
    return JSONResponse({"error": body}, status)


async def _refuse_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TicdcEmitError)
    if isinstance(error, ServerBusyError):
        answer = _answer(request, 503, error_body(error))
        answer.headers["Retry-After"] = "1"
        return answer
    if request.url.path.startswith(TICDC_PATH):
        return await ticdc_api.refuse(request, error)
    sent = {} if error.sent is None else asdict(error.sent)
    return JSONResponse({"error": error_body(error), **sent}, error_status(error))


async def _refuse_content(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = f"{place or 'the body'}: {first['msg']}"
    remedy = "Give the fields that docs/control.md and /openapi.json list"
    return _answer(request, 422, refusal_body(message, remedy, member=place))


async def _refuse_path(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    message = {404: "there is nothing at this path", 405: "this path has other methods"}.get(
        error.status_code, str(error.detail)
    )
    response = _answer(request, error.status_code, refusal_body(message, "See /openapi.json for the paths"))
    response.headers.update(error.headers or {})
    return response


async def _fail(request: Request, error: Exception) -> JSONResponse:
    logger.error("the control API failed at %s %s", request.method, request.url.path, exc_info=error)
    remedy = "Read its traceback on the server's stderr, and report it"
    return _answer(request, 500, refusal_body("the server failed", remedy, "InternalError"))


def bare_application() -> FastAPI:
    application = FastAPI(
        title="ticdc-emit control API",
        version=ticdc_emit.__version__,
        docs_url=None,  # its page loads scripts of another host
        redoc_url=None,
        redirect_slashes=False,
        responses=_ERRORS,
    )
    application.include_router(router)
    application.include_router(ticdc_api.router)
    return application
