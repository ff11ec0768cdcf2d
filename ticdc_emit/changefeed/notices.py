"""What a changefeed warns of, each once: tables that it leaves out, and commit_ts that do not look like TSOs."""

from __future__ import annotations

from ticdc_emit.changes.commits import warn_unlikely
from ticdc_emit.plan.keyless import warn_keyless
from ticdc_emit.plan.tables import Plan

__all__ = ["Notices"]


class Notices:
    """The warnings of one changefeed. It knows which of them were given."""

    def __init__(self) -> None:
        self._keyless: set[tuple[str, str]] = set()
        self._early = False

    def keyless(self, plan: Plan) -> None:
        """Warn of tables that are not replicated, once of each."""
        new = [key for key in plan.keyless if key not in self._keyless]
        if new:
            self._keyless.update(new)
            warn_keyless(new)

    def early(self, commit_ts: int) -> None:
        """Warn of a commit_ts that looks like seconds, ms or us since 1970, once."""
        self._early = self._early or warn_unlikely(commit_ts)
