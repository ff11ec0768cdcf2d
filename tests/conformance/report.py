"""The result of a conformance run: a :class:`Report` of counts, and a :class:`Dump` of what the library produced.

:meth:`Report.summary` is what ``--json`` prints. ``README.md`` describes the lines of a dump.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from ticdc_emit.registry.base import SchemaPost

from .vectors import DML_KINDS, Outcome, Record, Target

COUNTED = ("catalog", "registrations", "routes", "verdicts", "texts", "statements")
"""What a report counts beside the events of variants."""


@dataclass
class Tally:
    """How many of ``total`` checks matched."""

    matched: int = 0
    total: int = 0

    def count(self, *, matched: bool) -> None:
        self.matched += matched
        self.total += 1

    def add(self, other: Tally) -> None:
        self.matched += other.matched
        self.total += other.total


@dataclass
class LeftOut:
    """The number of checks that were not run for one reason."""

    variants: int = 0
    events: int = 0

    def add(self, variants: int, events: int) -> None:
        self.variants += variants
        self.events += events


@dataclass(frozen=True)
class Mismatch:
    """One difference. ``event`` is the index into the case's events; ``None`` for the whole variant or case.

    ``variant``: of a dispatcher configuration its id; ``protocol`` is ``routes`` there, ``catalog`` of a table
    schema, ``texts`` of a DDL text.
    ``what`` names the event for people, ``detail`` is text of one or more lines that names the place.
    """

    case: str
    variant: str
    protocol: str
    event: int | None
    what: str
    detail: str

    @property
    def title(self) -> str:
        place = [self.case, self.variant, "" if self.event is None else f"event {self.event}"]
        named = " / ".join(part for part in place if part)
        return f"{named} ({self.what})" if self.what else named


@dataclass
class Report:
    """Counts by (protocol, variant). A check is one event of one variant, or one refused configuration.

    ``catalog`` counts the schemas that DDL gave, ``registrations`` the requests to the schema registry, ``routes`` the
    events of every dispatcher configuration, and those refused; ``verdicts`` what becomes of the jobs and rows of
    recorded sequences; ``texts`` the DDL texts of every release; ``statements`` the cases of SQL statements that ran.
    """

    files: int = 0
    variants: dict[tuple[str, str], Tally] = field(default_factory=dict)
    catalog: Tally = field(default_factory=Tally)
    registrations: Tally = field(default_factory=Tally)
    routes: Tally = field(default_factory=Tally)
    verdicts: Tally = field(default_factory=Tally)
    texts: Tally = field(default_factory=Tally)
    statements: Tally = field(default_factory=Tally)
    mismatches: list[Mismatch] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.mismatches

    @property
    def total(self) -> Tally:
        """The sum over all variants, without catalog, registrations, routes and texts."""
        tallies = self.variants.values()
        return Tally(sum(tally.matched for tally in tallies), sum(tally.total for tally in tallies))

    def protocols(self) -> dict[str, dict[str, Tally]]:
        """Return the tallies as protocol -> variant -> tally, both in order of name."""
        grouped: dict[str, dict[str, Tally]] = {}
        for (protocol, variant), tally in sorted(self.variants.items()):
            grouped.setdefault(protocol, {})[variant] = tally
        return grouped

    def add(self, other: Report) -> None:
        """Count what another report counts, too."""
        self.files += other.files
        for name in COUNTED:
            getattr(self, name).add(getattr(other, name))
        for place, tally in other.variants.items():
            self.variants.setdefault(place, Tally()).add(tally)
        for what, left in other.left_out.items():
            self.leave_out(what, variants=left.variants, events=left.events)
        self.mismatches += other.mismatches

    def check(self, protocol: str, variant: str, mismatch: Mismatch | None) -> None:
        """Count one check."""
        self.variants.setdefault((protocol, variant), Tally()).count(matched=mismatch is None)
        if mismatch is not None:
            self.mismatches.append(mismatch)

    def leave_out(self, what: str, *, variants: int = 0, events: int = 0) -> None:
        """Count what is not run."""
        self.left_out.setdefault(what, LeftOut()).add(variants, events)

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-serialisable data."""
        protocols = {}
        for protocol, variants in self.protocols().items():
            total = Tally(sum(t.matched for t in variants.values()), sum(t.total for t in variants.values()))
            protocols[protocol] = asdict(total) | {"variants": {name: asdict(t) for name, t in variants.items()}}
        return {
            "ok": self.ok,
            "files": self.files,
            **asdict(self.total),
            **{name: asdict(getattr(self, name)) for name in COUNTED},
            "protocols": protocols,
            "left_out": [{"what": what, **asdict(left)} for what, left in self.left_out.items()],
            "mismatches": list(map(asdict, self.mismatches)),
        }


class Dump:
    """Writes lines to a text stream that the caller opens and closes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def refused(self, case: str, variant: str, error: str) -> None:
        """Write the line of a configuration that was refused."""
        self._message(case, variant, None, Record(None, None, error=error))

    def registration(self, case: str, variant: str, post: SchemaPost) -> None:
        """Write the line of a schema that was registered, or refused."""
        shown = {"subject": post.subject, "schema": post.schema, "id": post.id}
        self._write({"case": case, "variant": variant, "registration": shown})

    def event(self, case: str, variant: str, index: int, kind: str, outcome: Outcome) -> None:
        """Write the lines of one event."""
        if outcome.error is not None:
            self._message(case, variant, index, Record(None, None, error=outcome.error))
        for record in outcome.records:
            no_key = kind in DML_KINDS and record.key == b""
            self._message(case, variant, index, record._replace(key=None) if no_key else record)

    def text(self, case: str, release: str, index: int, text: str | None, error: str | None) -> None:
        """Write the line of one DDL text."""
        self._write({"case": case, "release": release, "event": index, "restored": text, "error": error})

    def targets(self, case: str, route: str, index: int | None, targets: Iterable[Target]) -> None:
        """Write the lines of one event under one dispatcher configuration; ``index`` None: that was refused."""
        for topic, partition, error, _ in targets:
            place = {"case": case, "route": route, "event": index}
            self._write({**place, "topic": topic, "partition": partition, "error": error})

    def _message(self, case: str, variant: str, event: int | None, record: Record) -> None:
        line = {"case": case, "variant": variant, "event": event}
        line |= {"key": _base64(record.key), "value": _base64(record.value), "error": record.error}
        self._write(line if record.claim is None else line | {"claim": _base64(record.claim)})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")
