"""The bodies of the control API's requests and answers, as OpenAPI describes them.

In: JSON of a request, whose unknown fields and other types are refused. Out: what ``control_api.py`` answers. A call
that sends messages answers the emulator's :class:`~ticdc_emit.emulator.emulator.Sent`; the classes here are what only
HTTP knows. ``docs/control-openapi.json`` is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ticdc_emit.emulator.emulator import Offset, Sent, Tso

MOST_LAST = 10_000
"""Messages of each topic-partition that one request may ask for."""


class _Request(BaseModel):
    model_config: ClassVar[ConfigDict] = {"extra": "forbid", "strict": True}


class Script(_Request):
    """A change script, and the database of tables that it names without one."""

    sql: str = Field(description="DDL, INSERT, REPLACE, UPDATE, DELETE, BEGIN, COMMIT; statements end with ;")
    database: str | None = None


class Ddl(_Request):
    """One DDL statement, and the database of tables that it names without one."""

    query: str
    database: str | None = None


class ScenarioRequest(_Request):
    """The seed of a scenario, and the topic of its messages, by default a new one."""

    seed: int = 0
    topic: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,249}$")


class TrafficRequest(_Request):
    """Rows a second; by default as before."""

    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class RateRequest(_Request):
    """Rows a second."""

    rate: float = Field(gt=0, allow_inf_nan=False)


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


class PartitionEnd(BaseModel):
    topic: str
    partition: int
    end_offset: Offset


class Offsets(BaseModel):
    partitions: list[PartitionEnd]


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
