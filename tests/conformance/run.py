"""Run vector files through the library and count.

In: paths. Out: a :class:`Report`, and optionally a dump of every message. Each part of a file is judged by itself: what
crashes is a mismatch of the event, variant or case that it belongs to, and the run continues.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from io import StringIO
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any

from ticdc_emit.config import CLASSIC, NEXT, Protocol, Release
from ticdc_emit.config.protocols import parse_protocol_name
from ticdc_emit.errors import TicdcEmitError, TicdcEmitWarning
from ticdc_emit.pipeline.plan.ddl import restore_ddl
from ticdc_emit.registry.base import SchemaPost

from .compare import (
    are_borrowing,
    compare_outcomes,
    compare_registration,
    compare_targets,
    first_difference,
    free_runs,
    plain_outcome,
)
from .history import CaseHistory
from .produce import CaseChanges, RouteDispatcher, VariantEncoder, load_variant, refusal
from .report import Dump, Mismatch, Report
from .sequences import is_sequence, read_sequence, run_sequence
from .statements import are_statements, run_statements
from .storage import as_recorded, is_storage, read_storage_variants, run_storage
from .vectors import (
    DML_KINDS,
    Case,
    Outcome,
    Route,
    SinkConfig,
    Target,
    Variant,
    find_vectors,
    holds_texts,
    read_case,
    read_document,
    read_lines,
    sink_protocol,
    vector_name,
)

_UNKNOWN = "(unknown protocol)"


def run_conformance(
    paths: str | Path | Iterable[str | Path],
    *,
    protocol: str | None = None,
    release: str | Release | None = None,
    dump: IO[str] | None = None,
    jobs: int = 1,
) -> Report:
    """Run all vectors under ``paths``.

    ``protocol``: only variants of this one. ``release``: the lineage of the files (see :func:`read_case`). ``dump``: a
    text stream for the messages. ``jobs``: the number of processes. Raises :class:`VectorError` for a path without
    vectors, :class:`ConfigError` for a protocol that is not written and for a release that is none.
    """
    lineage = None if release is None else Release.parse(release)
    only = None if protocol is None else parse_protocol_name(protocol)
    files = find_vectors(Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths))
    check = partial(_checked, only, lineage, dump is not None)
    report = Report()
    with ExitStack() as stack:
        results: Iterable[tuple[Report, str]] = map(check, files)
        if jobs > 1:
            pool = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn")))
            results = pool.map(check, files)
        for part, lines in results:
            report.add(part)
            if dump is not None:
                dump.write(lines)
    return report


def _checked(
    only: tuple[Protocol, str | None] | None, release: Release | None, dumps: bool, file: Path
) -> tuple[Report, str]:
    """Run one file; return its report and the lines of its dump."""
    report, stream = Report(files=1), StringIO()
    run = _Run(report, only, Dump(stream) if dumps else None)
    with _only_errors("ticdc_emit"):
        try:
            run.file(file, release)
        except Exception as fault:  # nothing that a file holds may end the run
            report.mismatches.append(Mismatch(vector_name(file), "", "", None, "", _text(fault)))
    return report, stream.getvalue()


@contextmanager
def _only_errors(name: str) -> Iterator[None]:
    """Silence warnings: vectors contain configurations that the library warns about."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TicdcEmitWarning)
            yield
    finally:
        logger.setLevel(before)


def _text(fault: Exception) -> str:
    return str(fault) if isinstance(fault, TicdcEmitError) else f"{type(fault).__name__}: {fault}"


class _Run:
    def __init__(self, report: Report, only: tuple[Protocol, str | None] | None, dump: Dump | None) -> None:
        self._report = report
        self._only = only
        self._dump = dump

    def file(self, file: Path, release: Release | None) -> None:
        """Run a file of DDL texts or statements, which have no protocol, a sequence, a case of codecs or of files."""
        if holds_texts(file):
            if self._only is None:
                check_texts(file, release, self._report, self._dump)
        elif is_sequence(document := read_document(file)):
            run_sequence(read_sequence(file, release), self._report, self._dump, self._asked)
        elif is_storage(document):
            case = as_recorded(read_case(file, release))
            self._case(case)  # its schemas
            run_storage(case, read_storage_variants(file), self._report, self._asked)
        elif are_statements(document):
            if self._only is None:
                run_statements(file, self._report)
        else:
            self._case(read_case(file, release))

    def _case(self, case: Case) -> None:
        history = CaseHistory(case)
        for index in history.ddl:
            difference = history.differences.get(index)
            if difference is not None and self._is_left_out(case, "catalog", index):
                continue
            self._report.catalog.count(matched=difference is None)
            if difference is not None:
                what = _name(case, index)
                self._report.mismatches.append(Mismatch(case.name, "", "catalog", index, what, difference))
        changes = CaseChanges(case, history)
        for variant in filter(self._asked, case.variants):
            protocol, _ = sink_protocol(variant)
            self._variant(changes, variant, _UNKNOWN if protocol is None else protocol.value)
        for route in filter(self._asked, case.routes):
            self._route(changes, route)

    def _asked(self, sink: SinkConfig) -> bool:
        if self._only is None:
            return True
        protocol, encoding = sink_protocol(sink)
        wanted, wanted_encoding = self._only
        return protocol is wanted and wanted_encoding in (None, encoding)

    def _variant(self, changes: CaseChanges, variant: Variant, protocol: str) -> None:
        case = changes.case
        try:
            config = load_variant(case, variant)
            encoder = VariantEncoder(changes, config) if config.codec.protocol.spec.is_written else None
        except Exception as fault:
            outcome = refusal(fault)
            detail = _refused(variant, variant.expected is not None, outcome, "this configuration")
            self._check(case, variant, protocol, None, detail)
            if self._dump is not None:
                self._dump.refused(case.name, variant.id, outcome.error or "")
            return
        if variant.config_error is not None:
            detail = f"TiCDC refuses this configuration ({variant.config_error}), the library accepts it"
            self._check(case, variant, protocol, None, detail)
        elif encoder is None:
            self._report.leave_out(f"{protocol}: not written by this version", variants=1, events=len(case.events))
        else:
            self._events(case, variant, encoder, protocol)

    def _events(self, case: Case, variant: Variant, encoder: VariantEncoder, protocol: str) -> None:
        outcomes = encoder.outcomes()
        for index, event in enumerate(case.events):
            kind = event["kind"]
            known = len(encoder.registry.posts)
            got = next(outcomes)
            if self._dump is not None:
                for post in encoder.registry.posts[known:]:
                    self._dump.registration(case.name, variant.id, post)
                self._dump.event(case.name, variant.id, index, kind, got)
            if variant.expected is None:
                self._report.leave_out("variants without recorded messages", events=1)
                continue
            expected = variant.expected.get(index)
            if got.left_out is not None and expected is not None and are_borrowing(expected, got.borrowed):
                self._report.leave_out(got.left_out, events=1)
                continue
            if expected is None and got == Outcome():
                continue  # an event that no encoder sees, such as a skipped row
            left, right = (plain_outcome(each, encoder.large) for each in (expected or Outcome(), got))
            detail = compare_outcomes(left, right, dml=kind in DML_KINDS, runs=free_runs(event, case.release))
            self._check(case, variant, protocol, index, detail)
        if variant.expected is not None or variant.registrations is not None:
            self._registrations(case, variant, protocol, encoder.registry.posts)

    def _registrations(self, case: Case, variant: Variant, protocol: str, posts: Many[SchemaPost]) -> None:
        for place, (expected, got) in enumerate(zip_longest(variant.registrations or (), posts)):
            detail = compare_registration(expected, got)
            self._report.registrations.count(matched=detail is None)
            if detail is not None:
                what = f"registration {place}"
                self._report.mismatches.append(Mismatch(case.name, variant.id, protocol, None, what, detail))

    def _route(self, changes: CaseChanges, route: Route) -> None:
        case = changes.case
        try:
            dispatcher = RouteDispatcher(changes, route)
        except Exception as fault:
            outcome = refusal(fault)
            self._check_route(
                case, route, None, _refused(route, route.expected is not None, outcome, "these dispatchers")
            )
            if self._dump is not None:
                self._dump.targets(case.name, route.id, None, [Target(None, error=outcome.error or "")])
            return
        if route.config_error is not None:
            detail = f"TiCDC refuses these dispatchers ({route.config_error}), the library accepts them"
            self._check_route(case, route, None, detail)
            return
        for index in range(len(case.events)):
            crash = None
            try:
                got = dispatcher.targets(index)
            except Exception as fault:
                outcome = refusal(fault)
                got = (Target(None, error=outcome.error),)
                crash = f"the library crashed: {outcome.error}" if outcome.crashed else None
            if self._dump is not None:
                self._dump.targets(case.name, route.id, index, got)
            expected = None if route.expected is None else route.expected.get(index, ())
            if expected is None:
                self._report.leave_out("routes without recorded targets", events=1)
            elif expected or got:
                self._check_route(case, route, index, crash or compare_targets(expected, got))

    def _check_route(self, case: Case, route: Route, event: int | None, detail: str | None) -> None:
        if detail is not None and self._is_left_out(case, route.id, event):
            return
        self._report.routes.count(matched=detail is None)
        if detail is not None:
            self._report.mismatches.append(_mismatch(case, route, "routes", event, detail))

    def _check(self, case: Case, variant: Variant, protocol: str, event: int | None, detail: str | None) -> None:
        if detail is not None and self._is_left_out(case, variant.id, event):
            return
        mismatch = None if detail is None else _mismatch(case, variant, protocol, event, detail)
        self._report.check(protocol, variant.id, mismatch)

    def _is_left_out(self, case: Case, variant: str, event: int | None) -> bool:
        """Return whether a mismatch of this slot does not count, and count it as left out then."""
        reason = case.reason_to_leave_out(variant, event)
        if reason is not None:
            self._report.leave_out(reason, events=1)
        return reason is not None


def _refused(sink: SinkConfig, is_recorded: bool, outcome: Outcome, what: str) -> str | None:
    """Return what is wrong with a refusal of the library; ``is_recorded``: TiCDC has an output."""
    if outcome.crashed:
        return f"the library crashed: {outcome.error}"
    if sink.config_error is None:
        return f"the library refuses {what}: {outcome.error}" if is_recorded else None
    if sink.config_error != outcome.error:
        return f"refused otherwise: got {outcome.error!r}, expected {sink.config_error!r}"
    return None


def _mismatch(case: Case, sink: SinkConfig, protocol: str, event: int | None, detail: str) -> Mismatch:
    what = "configuration" if event is None else _name(case, event)
    return Mismatch(case.name, sink.id, protocol, event, what, detail)


def _name(case: Case, index: int) -> str:
    event = case.events[index]
    table = ".".join(part for part in (event.get("schema"), event.get("table")) if part)
    return " ".join(part for part in (event["kind"], event.get("action") or event.get("op"), table) if part)


_MAX_SHOWN = 60


def check_texts(file: Path, release: str | Release | None, report: Report, dump: Dump | None) -> None:
    """Restore every text of ``file``; ``release`` None: in the newest of both lineages."""
    releases = [CLASSIC, NEXT] if release is None else [Release.parse(release)]
    name = vector_name(file)
    for index, entry in enumerate(read_lines(file)):
        for each in releases:
            got, error = _restored(entry, each)
            if dump is not None:
                dump.text(name, each.name, index, got, error)
            detail = _difference(_expected(entry, each), got, error)
            report.texts.count(matched=detail is None)
            if detail is not None:
                what = f"{each.name}: {entry['query'][:_MAX_SHOWN]}"
                report.mismatches.append(Mismatch(name, "", "texts", index, what, detail))


def _expected(entry: Mapping[str, Any], release: Release) -> str | None:
    outcome = entry.get("next", entry) if release.ddl.several_statements else entry
    return outcome.get("restored")


def _restored(entry: Mapping[str, Any], release: Release) -> tuple[str | None, str | None]:
    session = {"sql_mode": entry.get("sql_mode", ""), "charset": entry.get("charset", "utf8mb4")}
    try:
        return restore_ddl(entry["query"], release=release, **session), None
    except TicdcEmitError as error:
        return None, str(error)


def _difference(expected: str | None, got: str | None, error: str | None) -> str | None:
    if got is None:
        return None if expected is None else f"refused: {error}\nexpected: {expected}"
    return f"TiCDC refuses it, got: {got}" if expected is None else first_difference(got, expected)
