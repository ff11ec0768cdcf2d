"""Run vector files through the library and count.

In: paths. Out: a :class:`Report`, and optionally a dump of every message. Each part of a file is judged by itself: what
crashes is a mismatch of the event, variant or case that it belongs to, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import IO

from ticdc_emit.config import ChangefeedConfig, Profile, Protocol
from ticdc_emit.conformance.compare import compare_outcomes, compare_registration
from ticdc_emit.conformance.dump import Dump
from ticdc_emit.conformance.history import CaseHistory
from ticdc_emit.conformance.produce import VariantEncoder, load_variant, refusal
from ticdc_emit.conformance.protocols import variant_protocol
from ticdc_emit.conformance.report import Mismatch, Report
from ticdc_emit.conformance.scope import ROUTES, event_left_out, variant_left_out
from ticdc_emit.conformance.vectors import DML_KINDS, Case, Outcome, Variant, find_vectors, read_case
from ticdc_emit.errors import ConfigError, TicdcEmitError
from ticdc_emit.protocols import SUPPORTED
from ticdc_emit.registry import SchemaPost

__all__ = ["run_conformance"]

_UNKNOWN = "(unknown protocol)"


def run_conformance(
    paths: Iterable[str | Path],
    *,
    protocol: str | None = None,
    profile: str | Profile | None = None,
    dump: IO[str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Run all vectors under ``paths``.

    ``protocol``: only variants of this one. ``profile``: the lineage of the files (see :func:`read_case`). ``dump``: a
    text stream for the messages. ``progress`` is called before each file with (done, total, name). Raises
    :class:`VectorError` for a path without vectors, :class:`ConfigError` for a protocol that is not written.
    """
    only = None if protocol is None else _supported(protocol)
    files = find_vectors(Path(path) for path in paths)
    report = Report(files=len(files))
    run = _Run(report, only, None if dump is None else Dump(dump))
    for done, file in enumerate(files):
        if progress is not None:
            progress(done, len(files), file.stem)
        try:
            case = read_case(file, profile)
            run.case(case)
        except Exception as fault:  # nothing that a file holds may end the run
            report.mismatches.append(Mismatch(file.stem, "", "", None, "", _text(fault)))
    return report


def _supported(protocol: str) -> Protocol:
    found = Protocol.parse(protocol)
    if found not in SUPPORTED:
        raise ConfigError(
            f"the protocol {found} is not written by this version",
            remedy=f"Use one of: {', '.join(str(known) for known in SUPPORTED)}",
            option="protocol",
        )
    return found


def _text(fault: Exception) -> str:
    return str(fault) if isinstance(fault, TicdcEmitError) else f"{type(fault).__name__}: {fault}"


class _Run:
    def __init__(self, report: Report, only: Protocol | None, dump: Dump | None) -> None:
        self._report = report
        self._only = only
        self._dump = dump

    def case(self, case: Case) -> None:
        history = CaseHistory(case)
        for index in history.ddl:
            difference = history.differences.get(index)
            self._report.catalog.count(matched=difference is None)
            if difference is not None:
                what = _name(case, index)
                self._report.mismatches.append(Mismatch(case.name, "", "catalog", index, what, difference))
        for variant in case.variants:
            protocol = variant_protocol(variant)
            if self._only is None or protocol is self._only:
                self._variant(case, history, variant, _UNKNOWN if protocol is None else protocol.value)
        if case.routes:
            self._report.leave_out(ROUTES, variants=case.routes)

    def _variant(self, case: Case, history: CaseHistory, variant: Variant, protocol: str) -> None:
        try:
            config = load_variant(case, variant)
        except Exception as fault:
            self._refused(case, variant, protocol, refusal(fault))
            return
        if variant.config_error is not None:
            detail = f"TiCDC refuses this configuration ({variant.config_error}), the library accepts it"
            self._check(case, variant, protocol, None, detail)
            return
        left_out = variant_left_out(config)
        if config.codec.protocol not in SUPPORTED:
            left_out = f"{protocol}: not written by this version"
        if left_out is not None:
            self._report.leave_out(left_out, variants=1, events=len(case.events))
            return
        self._events(case, history, variant, config)

    def _refused(self, case: Case, variant: Variant, protocol: str, outcome: Outcome) -> None:
        detail = None
        if outcome.crashed:
            detail = f"the library crashed: {outcome.error}"
        elif variant.config_error is None and variant.expected is not None:
            detail = f"the library refuses this configuration: {outcome.error}"
        self._check(case, variant, protocol, None, detail)
        if self._dump is not None:
            self._dump.refused(case.name, variant.id, outcome.error or "")

    def _events(self, case: Case, history: CaseHistory, variant: Variant, config: ChangefeedConfig) -> None:
        encoder = VariantEncoder(case, history, config)
        whole = True
        for index, event in enumerate(case.events):
            kind = event["kind"]
            left_out = event_left_out(kind)
            if left_out is not None:
                self._report.leave_out(left_out, events=1)
                whole = False
                continue
            known = len(encoder.registry.posts)
            got = encoder.encode(index)
            if self._dump is not None:
                for post in encoder.registry.posts[known:]:
                    self._dump.registration(case.name, variant.id, post)
                self._dump.event(case.name, variant.id, index, kind, got)
            if got.left_out is not None:
                self._report.leave_out(got.left_out, events=1)
                continue
            if variant.expected is None:
                self._report.leave_out("variants without recorded messages", events=1)
                continue
            expected = variant.expected.get(index)
            if expected is None and got == Outcome():
                continue  # an event that no encoder sees, such as a skipped row
            detail = compare_outcomes(expected or Outcome(), got, dml=kind in DML_KINDS)
            self._check(case, variant, config.codec.protocol.value, index, detail)
        if whole and (variant.expected is not None or variant.registrations is not None):
            self._registrations(case, variant, config.codec.protocol.value, encoder.registry.posts)

    def _registrations(self, case: Case, variant: Variant, protocol: str, posts: Sequence[SchemaPost]) -> None:
        for place, (expected, got) in enumerate(zip_longest(variant.registrations or (), posts)):
            detail = compare_registration(expected, got)
            self._report.registrations.count(matched=detail is None)
            if detail is not None:
                what = f"registration {place}"
                self._report.mismatches.append(Mismatch(case.name, variant.id, protocol, None, what, detail))

    def _check(self, case: Case, variant: Variant, protocol: str, event: int | None, detail: str | None) -> None:
        mismatch = None
        if detail is not None:
            what = "configuration" if event is None else _name(case, event)
            mismatch = Mismatch(case.name, variant.id, protocol, event, what, detail)
        self._report.check(protocol, variant.id, mismatch)


def _name(case: Case, index: int) -> str:
    event = case.events[index]
    table = ".".join(part for part in (event.get("schema"), event.get("table")) if part)
    return " ".join(part for part in (event["kind"], event.get("action") or event.get("op"), table) if part)
