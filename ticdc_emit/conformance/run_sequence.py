"""Run a recorded sequence through a changefeed, and compare first the verdicts, then the messages byte for byte.

In: a :class:`~ticdc_emit.conformance.sequences.Sequence`. Out: checks in the report: one for each job and each row
(``pipeline``), one for each sent event and each protocol. Events are counted when they are sent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from ticdc_emit.config import ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.conformance.compare import compare_outcomes
from ticdc_emit.conformance.dump import Dump
from ticdc_emit.conformance.feed import Feed, Sent
from ticdc_emit.conformance.protocols import is_written, sink_protocol
from ticdc_emit.conformance.report import Mismatch, Report
from ticdc_emit.conformance.scope import KEPT_FLAGS, differ_in_flags
from ticdc_emit.conformance.sequences import Sequence
from ticdc_emit.conformance.vectors import Outcome, SinkConfig, Variant
from ticdc_emit.errors import ConfigError

__all__ = ["run_sequence"]

_SINK = "memory://wire/?protocol=canal-json&enable-tidb-extension=true"
_VERDICTS = "changefeed"


def run_sequence(sequence: Sequence, report: Report, dump: Dump | None, asked: Callable[[SinkConfig], bool]) -> None:
    """Run every variant that ``asked`` accepts. A sequence without variants is run only for its verdicts."""
    run = _Run(sequence, report, dump)
    variants = [variant for variant in sequence.variants if asked(variant)]
    written = [variant for variant in variants if is_written(variant)]
    for variant in variants:
        if variant not in written:
            protocol, _ = sink_protocol(variant)
            expected = len(variant.expected or ())
            report.leave_out(f"{protocol}: not written by this version", variants=1, events=expected)
    if written:
        run.verdicts(written[0])
        for variant in written:
            run.messages(variant)
    elif not sequence.variants:
        run.verdicts(None)


class _Run:
    def __init__(self, sequence: Sequence, report: Report, dump: Dump | None) -> None:
        self._sequence = sequence
        self._report = report
        self._dump = dump

    def _feed(self, variant: Variant | None) -> Feed:
        return Feed(_config(self._sequence, variant), self._sequence.before, self._sequence.now_ms)

    def verdicts(self, variant: Variant | None) -> None:
        """Compare the verdicts on each job and each row, up to the one at which the changefeed fails."""
        expected = self._sequence.config_error
        try:
            feed = self._feed(variant)
        except ConfigError as fault:
            detail = None if expected is not None else f"the library refuses this configuration: {fault.message}"
            self._check(detail, "configuration")
            return
        if expected is not None:
            self._check(f"TiCDC refuses this configuration ({expected}), the library accepts it", "configuration")
            return
        for place, given in enumerate(self._sequence.inputs):
            if given["kind"] == "session":
                continue
            wanted = [each["result"] for each in given.get("jobs" if given["kind"] == "ddl" else "rows") or ()]
            got, _ = _run_input(feed, given)
            for number, (left, right) in enumerate(zip_longest(wanted, got, fillvalue="nothing")):
                same = left == right or (left in ("error", "panic") and right.startswith("error"))
                detail = None if same else f"{_shown(given, number)}: TiCDC: {left}, the library: {right}"
                self._check(detail, f"input {place}")
            if any(each.startswith("error") for each in got):
                return

    def _check(self, detail: str | None, what: str) -> None:
        mismatch = None
        if detail is not None:
            mismatch = Mismatch(self._sequence.name, self._sequence.profile.name, _VERDICTS, None, what, detail)
        self._report.verdicts.count(matched=mismatch is None)
        if mismatch is not None:
            self._report.mismatches.append(mismatch)

    def messages(self, variant: Variant) -> None:
        """Compare the output of one variant, event by event."""
        protocol, _ = sink_protocol(variant)
        try:
            feed = self._feed(variant)
        except ConfigError as fault:
            if self._dump is not None:
                self._dump.refused(self._sequence.name, variant.id, fault.message)
            return  # reported with the verdicts
        index, ignored = 0, False
        for given in self._sequence.inputs:
            results, sent = ([], []) if given["kind"] == "session" else _run_input(feed, given)
            ignored = ignored or "ignored" in results
            for each in sent:
                self._message(variant, str(protocol), index, each, behind_ignored=ignored)
                index += 1
            if any(result.startswith("error") for result in results):
                break
        for missing in range(index, max(variant.expected or (), default=-1) + 1):
            detail = "TiCDC sends this event, the library has none left"
            mismatch = Mismatch(self._sequence.name, variant.id, str(protocol), missing, "", detail)
            self._report.check(str(protocol), variant.id, mismatch)

    def _message(self, variant: Variant, protocol: str, index: int, sent: Sent, *, behind_ignored: bool) -> None:
        if self._dump is not None:
            self._dump.event(self._sequence.name, variant.id, index, "ddl" if sent.is_ddl else "txn", sent.outcome)
        if variant.expected is None:
            self._report.leave_out("variants without recorded messages", events=1)
            return
        expected = variant.expected.get(index, Outcome())
        detail = compare_outcomes(expected, sent.outcome, dml=not sent.is_ddl)
        mismatch = None
        if detail is not None and behind_ignored and differ_in_flags(expected, sent.outcome):
            self._report.leave_out(KEPT_FLAGS, events=1)
            return
        if detail is not None:
            mismatch = Mismatch(self._sequence.name, variant.id, protocol, index, sent.what, detail)
        self._report.check(protocol, variant.id, mismatch)


def _run_input(feed: Feed, given: Mapping[str, Any]) -> tuple[list[str], list[Sent]]:
    try:
        return feed.ddl(given) if given["kind"] == "ddl" else feed.transaction(given)
    except Exception as fault:  # one input must not hide the others
        return [f"refused: {type(fault).__name__}: {fault}"], []


def _shown(given: Mapping[str, Any], number: int) -> str:
    sql = given["sql"] if isinstance(given["sql"], str) else "; ".join(given["sql"])
    return f"{sql[:100]} ({'job' if given['kind'] == 'ddl' else 'row'} {number})"


def _config(sequence: Sequence, variant: Variant | None) -> ChangefeedConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            _SINK if variant is None else variant.sink_uri,
            sequence.changefeed or None,
            profile=sequence.profile,
            time_zone=sequence.time_zone,
            force_replicate=sequence.force_replicate or None,
        )
