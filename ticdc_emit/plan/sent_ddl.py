"""Which DDL events of a statement go out, and with which text. Events of the catalog in, events for the encoder out."""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.filtering.replication import Replication
from ticdc_emit.filtering.verdicts import Verdict
from ticdc_emit.schema.ddl_texts import DdlTexts
from ticdc_emit.schema.events import DdlEvent

__all__ = ["SentDdl"]


class SentDdl:
    """The rules of one changefeed."""

    def __init__(self, config: ChangefeedConfig) -> None:
        built, filtered = config.profile.ddl.built_texts, config.profile.filtering.ignored_text
        self._bdr_role = config.bdr_role
        self._texts = DdlTexts(built, filtered, restored=config.ddl_text == "restored")

    def judged(
        self, replication: Replication, events: Iterable[DdlEvent], commit_ts: int, bdr_role: str | None = None
    ) -> tuple[Verdict, ...]:
        """Return what becomes of each event; filters see the text that TiCDC's see.

        ``bdr_role``: the cluster's when the statement ran, by default the configuration's.
        """
        role = self._bdr_role if bdr_role is None else bdr_role
        return tuple(replication.judge([self._texts.seen(event) for event in events], commit_ts, role))

    def sent(self, verdicts: Iterable[Verdict]) -> list[DdlEvent]:
        """Return the events that go out, with the text on the wire.

        Raises :class:`~ticdc_emit.errors.DdlError` where TiCDC's changefeed stops at the text.
        """
        going_out = []
        for verdict in verdicts:
            if verdict.result != "discarded":
                self._texts.check(verdict.event)
            if verdict.is_sent:
                going_out.append(self._texts.sent(verdict.event))
        return going_out
