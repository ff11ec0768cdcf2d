"""The result of a conformance run, for people and for programs.

Out: :class:`Report`; :meth:`Report.summary` is the machine-readable form that ``ticdc-emit conformance --json`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["LeftOut", "Mismatch", "Report", "Tally"]


@dataclass
class Tally:
    """How many of ``total`` checks matched."""

    matched: int = 0
    total: int = 0

    def count(self, *, matched: bool) -> None:
        self.matched += matched
        self.total += 1

    def as_dict(self) -> dict[str, int]:
        return {"matched": self.matched, "total": self.total}


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
    recorded sequences; ``texts`` the DDL texts of every profile.
    """

    files: int = 0
    variants: dict[tuple[str, str], Tally] = field(default_factory=dict)
    catalog: Tally = field(default_factory=Tally)
    registrations: Tally = field(default_factory=Tally)
    routes: Tally = field(default_factory=Tally)
    verdicts: Tally = field(default_factory=Tally)
    texts: Tally = field(default_factory=Tally)
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
            protocols[protocol] = total.as_dict() | {"variants": {name: t.as_dict() for name, t in variants.items()}}
        return {
            "ok": self.ok,
            "files": self.files,
            **self.total.as_dict(),
            "catalog": self.catalog.as_dict(),
            "registrations": self.registrations.as_dict(),
            "routes": self.routes.as_dict(),
            "verdicts": self.verdicts.as_dict(),
            "texts": self.texts.as_dict(),
            "protocols": protocols,
            "left_out": [
                {"what": what, "variants": left.variants, "events": left.events} for what, left in self.left_out.items()
            ],
            "mismatches": [
                {
                    "case": each.case,
                    "variant": each.variant,
                    "protocol": each.protocol,
                    "event": each.event,
                    "what": each.what,
                    "detail": each.detail,
                }
                for each in self.mismatches
            ],
        }
