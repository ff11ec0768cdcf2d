"""What does not match a vector is found and told: the conformance run on changed copies of cases."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conformance.__main__ import main
from conformance.run import run_conformance
from conformance.vectors import VectorError, content_of, find_vectors, vector_name
from vector_files import VECTORS, load_vector, vector_names, vector_path

from ticdc_emit.changes.model import MESSAGE_OVERHEAD
from ticdc_emit.errors import ConfigError

TEXTS = VECTORS.parent / "wire" / "ddl_restore.jsonl.gz"
Edit = Callable[[dict[str, Any]], None]


def test_every_ddl_text_matches_in_both_releases() -> None:
    stream = io.StringIO()
    report = run_conformance([TEXTS], dump=stream)
    assert [mismatch.title for mismatch in report.mismatches] == []
    assert report.texts.matched == report.texts.total >= 4_900
    assert run_conformance([TEXTS], release="next").texts.total * 2 == report.texts.total
    lines = [json.loads(line) for line in stream.getvalue().split("\n") if line]
    assert len(lines) == report.texts.total
    assert lines[0] == {
        "case": "ddl_restore",
        "release": "classic",
        "event": 0,
        "restored": "CREATE TABLE `types_0` (`id` BIGINT PRIMARY KEY,`c` BIT(1))",
        "error": None,
    }


def test_several_processes_give_the_same_report_and_dump() -> None:
    files = [vector_path(name) for name in ("rename_tables", "registry_refuses", "watermarks")]
    alone, together = io.StringIO(), io.StringIO()
    one = run_conformance(files, protocol="avro", dump=alone)
    assert run_conformance(files, protocol="avro", dump=together, jobs=2) == one
    assert together.getvalue() == alone.getvalue()
    assert one.files == 3
    assert one.left_out


def test_a_ddl_text_that_differs_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    wrong = {"query": "drop table t", "restored": "DROP TABLE t"}
    accepted = {"query": "drop table t", "error": "near t"}
    refused = {"query": "drop tabel t", "restored": "DROP TABLE `t`"}
    file.write_text("\n".join(json.dumps(entry) for entry in (wrong, accepted, refused)))
    report = run_conformance([file], release="classic")
    assert (report.texts.matched, report.texts.total) == (0, 3)
    first, second, third = report.mismatches
    assert first.title == "texts / event 0 (classic: drop table t)"
    assert first.detail == ": got 'DROP TABLE `t`', expected 'DROP TABLE t'"
    assert second.detail == "TiCDC refuses it, got: DROP TABLE `t`"
    assert "expected TABLE, VIEW, INDEX or DATABASE" in third.detail


def _as_refused(case: dict[str, Any]) -> None:
    message = next(m for m in variant_of(case, "avro-ext")["messages"] if m["event"] == 6)
    message.clear()
    message.update(event=6, error="refused")


def _as_of_its_own_schema(case: dict[str, Any]) -> None:
    message = next(m for m in variant_of(case, "avro-ext")["messages"] if m["event"] == 6)
    for part in ("key", "value"):
        raw = content_of(message[part])
        message[part] = {"base64": base64.b64encode(raw[:4] + b"\x09" + raw[5:]).decode()}


def test_a_refused_row_is_left_out_only_where_ticdc_wrote_it_with_another_schema(tmp_path: Path) -> None:
    both_refuse = run_conformance([changed_copy(tmp_path, "rename_tables", _as_refused)], protocol="avro")
    assert both_refuse.ok
    assert both_refuse.left_out == {}
    report = run_conformance([changed_copy(tmp_path, "rename_tables", _as_of_its_own_schema)], protocol="avro")
    (mismatch,) = report.mismatches
    assert mismatch.event == 6
    assert mismatch.detail.startswith("the library refuses this: TiCDC would write rows of m2 with the schema of n1")
    assert report.left_out == {}
    assert report.total.total == both_refuse.total.total == report.total.matched + 1


def test_renames_of_one_commit_ts_are_one_job(tmp_path: Path) -> None:
    """TiCDC classic has the database in lower case behind a RENAME of one table only."""

    def spell_with_capitals(case: dict[str, Any]) -> None:
        shown = json.dumps(case["events"]).replace('"d2"', '"Other-DB"').replace("`d2`", "`Other-DB`")
        case["events"] = json.loads(shown.replace("database d2", "database `Other-DB`"))
        case["routes"] = []
        for variant in case["variants"]:
            for message in variant["messages"]:
                for part in ("key", "value"):
                    if "text" in (message.get(part) or {}):
                        shown = message[part]["text"].replace("database d2", "database `d2`")
                        message[part]["text"] = re.sub(r"\bd2\b", "Other-DB", shown)

    path = changed_copy(tmp_path, "rename_tables", spell_with_capitals)
    report = run_conformance([path], protocol="canal-json")
    assert report.mismatches == []
    assert report.total.total == 14


def test_a_bootstrap_of_a_table_that_is_lost_is_refused(tmp_path: Path) -> None:
    def lose(case: dict[str, Any]) -> None:
        for event in case["events"]:
            if event["kind"] == "bootstrap":
                event["table_info"]["version"] += 1

    report = run_conformance([changed_copy(tmp_path, "adv_charsets", lose)], protocol="simple")
    details = {mismatch.detail for mismatch in report.mismatches}
    assert details == {"the library refuses this: the DDL of the case made no such version"}


def test_an_empty_list_may_be_null(tmp_path: Path) -> None:
    def empty(case: dict[str, Any]) -> None:
        place = next(place for place, event in enumerate(case["events"]) if event["kind"] == "txn")
        case["events"] = case["events"][: place + 1]
        case["events"][place] |= {"rows": None, "emitted": None}
        case["routes"] = []
        for variant in case["variants"]:
            kept = [message for message in variant["messages"] if message["event"] < place]
            variant["messages"] = [*kept, {"event": place, "none": True}]
            variant["registrations"] = None

    report = run_conformance([changed_copy(tmp_path, "txn_split_updates", empty)], protocol="canal-json")
    assert report.ok
    assert report.total.matched > 0


def test_a_changed_registration_is_reported(tmp_path: Path) -> None:
    def edit(case: dict[str, Any]) -> None:
        for variant in case["variants"]:
            for post in variant.get("registrations") or []:
                post["schema"] = post["schema"].replace('"long"', '"int"')

    report = run_conformance([changed_copy(tmp_path, "bench_orders", edit)], protocol="avro")
    assert report.registrations.matched < report.registrations.total
    assert any("registration" in mismatch.what for mismatch in report.mismatches)


def changed_copy(tmp_path: Path, name: str, edit: Edit) -> Path:
    case = load_vector(name)
    edit(case)
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(case), encoding="utf-8")
    return path


def variant_of(case: dict[str, Any], name: str) -> dict[str, Any]:
    return next(v for v in case["variants"] if v["id"] == name)


def canal_variant(case: dict[str, Any]) -> dict[str, Any]:
    return variant_of(case, "canal-json-ext")


def canal_message(case: dict[str, Any], event: int) -> dict[str, Any]:
    return next(m for m in canal_variant(case)["messages"] if m["event"] == event)


def replaced(found: dict[str, Any], **entries: Any) -> None:
    found.clear()
    found.update(entries)


def flip_one_byte(case: dict[str, Any]) -> None:
    value = canal_message(case, 1)["value"]
    assert value["text"][200] != "#"
    value["text"] = value["text"][:200] + "#" + value["text"][201:]


def test_one_flipped_byte_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed_copy(tmp_path, "bench_orders", flip_one_byte)
    with pytest.raises(SystemExit) as end:
        main([str(path), "--protocol", "canal-json"])
    assert end.value.code == 1
    shown = capsys.readouterr().out
    assert "mismatch: bench_orders / canal-json-ext / event 1 (row insert test.orders)" in shown
    assert "value differs at byte 200 (expected 1129 bytes, got 1129)" in shown
    expected, got, caret = (
        line for line in shown.splitlines() if line.startswith(("    expected", "    got", "     "))
    )
    place = caret.index("^")
    assert expected[place] == "#"
    assert got[place] != "#"
    assert expected[:place].split()[1:] == got[:place].split()[1:]
    assert "canal-json-ext 3/4" in shown


def test_a_wrong_table_info_is_reported(tmp_path: Path) -> None:
    def widen(case: dict[str, Any]) -> None:
        case["events"][0]["table_info"]["columns"][1]["flen"] += 1

    report = run_conformance([changed_copy(tmp_path, "bench_orders", widen)], protocol="canal-json")
    (mismatch,) = report.mismatches
    assert (mismatch.protocol, mismatch.event) == ("catalog", 0)
    assert mismatch.detail == "table_info.columns[1].flen: got 20, expected 21"
    assert (report.catalog.matched, report.catalog.total) == (0, 1)


@pytest.mark.parametrize(
    ("edit", "event", "detail"),
    [
        (
            lambda case: canal_variant(case)["messages"].remove(canal_message(case, 2)),
            2,
            "TiCDC gives no message, the library 1 message",
        ),
        (
            lambda case: replaced(canal_message(case, 2), event=2, error="refused"),
            2,
            "TiCDC refuses this (refused), the library gave 1 message",
        ),
        (
            lambda case: canal_message(case, 2).update(key={"text": "k"}),
            2,
            "key differs at byte 0 (expected 1 bytes, got 0)",
        ),
        (lambda case: canal_message(case, 0).update(value=None), 0, "value differs: one side is null"),
        (lambda case: case["events"][1]["after"].update(status="no such label"), 1, "the library refuses this:"),
        (lambda case: case["events"][1].pop("op"), 1, "the library crashed: KeyError: 'op'"),
        (
            lambda case: canal_variant(case).update(config_error="refused", messages=None),
            None,
            "TiCDC refuses this configuration (refused), the library accepts it",
        ),
    ],
)
def test_each_kind_of_difference_is_told(tmp_path: Path, edit: Edit, event: int | None, detail: str) -> None:
    report = run_conformance([changed_copy(tmp_path, "bench_orders", edit)], protocol="canal-json")
    found = [mismatch for mismatch in report.mismatches if mismatch.variant == "canal-json-ext"]
    assert [mismatch.event for mismatch in found] == [event]
    assert found[0].detail.startswith(detail)


def flip_a_row_of_a_transaction(case: dict[str, Any]) -> None:
    messages = canal_variant(case)["messages"]
    third = [message for message in messages if message["event"] == 2][2]
    third["value"]["text"] = third["value"]["text"].replace('"DELETE"', '"DELETED"')


def exchange_two_rows(case: dict[str, Any]) -> None:
    messages = canal_variant(case)["messages"]
    first = next(place for place, message in enumerate(messages) if message["event"] == 2)
    messages[first], messages[first + 1] = messages[first + 1], messages[first]


@pytest.mark.parametrize(
    ("edit", "detail"),
    [
        (flip_a_row_of_a_transaction, "message 2: value differs at byte"),
        (exchange_two_rows, "message 0: value differs at byte"),
        (
            lambda case: canal_variant(case).update(changefeed="[sink.kafka-config]\noutput-raw-change-event = true\n"),
            "message 0: value differs at byte",
        ),
    ],
)
def test_transactions_are_compared_row_by_row(tmp_path: Path, edit: Edit, detail: str) -> None:
    path = changed_copy(tmp_path, "txn_split_updates", edit)
    report = run_conformance([path], protocol="canal-json")
    found = next(mismatch for mismatch in report.mismatches if mismatch.event == 2)
    assert found.detail.startswith(detail)


def test_the_row_of_a_transaction_that_is_refused_is_told(tmp_path: Path) -> None:
    def refuse_the_longest(case: dict[str, Any]) -> None:
        variant = canal_variant(case)
        messages = [message for message in variant["messages"] if message["event"] == 2]
        sizes = [len(message["value"]["text"].encode()) for message in messages]
        longest = max(sizes)
        assert (sizes.count(longest), len(sizes)) == (1, 7)
        case["events"] = case["events"][:3]
        variant["sink_uri"] += f"&max-message-bytes={longest + MESSAGE_OVERHEAD - 1}"
        variant["messages"] = [message for message in variant["messages"] if message["event"] in (1, 2)]
        refused = messages[sizes.index(longest)]
        refused.clear()
        refused.update(event=2, error="[CDC:ErrMessageTooLarge]")

    stream = io.StringIO()
    path = changed_copy(tmp_path, "txn_split_updates", refuse_the_longest)
    report = run_conformance([path], protocol="canal-json", dump=stream)
    assert [mismatch.event for mismatch in report.mismatches if mismatch.variant == "canal-json-ext"] == [0]  # the DDL
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    errors = [line["error"] for line in lines if (line["variant"], line["event"]) == ("canal-json-ext", 2)]
    assert len(errors) == 7
    assert [error.split(":")[0] for error in errors if error] == ["message is too large"]


def route(case: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in case["routes"] if each["id"] == name)


def target(case: dict[str, Any], event: int) -> dict[str, Any]:
    return next(each for each in route(case, "ts-3")["targets"] if each["event"] == event)


BROKEN = "[sink]\ndispatchers = [{matcher = ['/(/'], partition = 'ts'}]\n"


@pytest.mark.parametrize(
    ("edit", "event", "detail"),
    [
        (lambda case: target(case, 1).update(partition=(target(case, 1)["partition"] + 1) % 3), 1, "partition: got "),
        (lambda case: target(case, 0).update(topic="elsewhere"), 0, "topic: got 'topic', expected 'elsewhere'"),
        (lambda case: target(case, 1).update(partition=None, error="refused"), 1, "partition: got "),
        (
            lambda case: route(case, "ts-3").update(config_error="refused", targets=None),
            None,
            "TiCDC refuses these dispatchers (refused), the library accepts them",
        ),
        (
            lambda case: route(case, "ts-3").update(changefeed=BROKEN, config_error="refused", targets=None),
            None,
            "refused otherwise: got ",
        ),
        (lambda case: route(case, "ts-3").update(changefeed=BROKEN), None, "the library refuses these dispatchers: "),
    ],
)
def test_each_kind_of_wrong_route_is_told(tmp_path: Path, edit: Edit, event: int | None, detail: str) -> None:
    report = run_conformance([changed_copy(tmp_path, "routing_rows", edit)], protocol="canal-json")
    (found,) = (mismatch for mismatch in report.mismatches if mismatch.variant == "ts-3")
    assert (found.protocol, found.event) == ("routes", event)
    assert found.detail.startswith(detail)
    assert report.routes.matched < report.routes.total


def forget_targets(case: dict[str, Any]) -> None:
    case["routes"] = [route(case, "ts-3")]
    del case["routes"][0]["targets"]


def test_routes_without_targets_are_dumped_but_not_counted(tmp_path: Path) -> None:
    stream = io.StringIO()
    path = changed_copy(tmp_path, "routing_rows", forget_targets)
    report = run_conformance([path], protocol="canal-json", dump=stream)
    assert report.routes.total == 0
    assert report.left_out["routes without recorded targets"].events == len(stream.getvalue().splitlines()) > 5


def break_ddl(case: dict[str, Any]) -> None:
    case["events"][0]["query"] = "create table test.orders (id no_such_type)"


def test_a_ddl_that_is_not_understood_fails_its_table_only(tmp_path: Path) -> None:
    broken = changed_copy(tmp_path, "bench_orders", break_ddl)
    report = run_conformance([broken, vector_path("bench_sbtest")], protocol="canal-json")
    assert {mismatch.case for mismatch in report.mismatches} == {"bench_orders"}
    assert (report.catalog.matched, report.catalog.total) == (1, 2)


def test_a_file_that_is_no_vector_is_a_mismatch(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"events": 7}', encoding="utf-8")
    (tmp_path / "garbage.json").write_text("{", encoding="utf-8")
    report = run_conformance([tmp_path, vector_path("bench_sbtest")], protocol="canal-json")
    assert [mismatch.case for mismatch in report.mismatches] == ["broken", "garbage"]
    assert report.total.matched > 0


def test_paths_without_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VectorError, match="no such file"):
        run_conformance([tmp_path / "nowhere"])
    with pytest.raises(VectorError, match=r"holds no \.json, \.json\.gz or \.json\.zst file"):
        run_conformance([tmp_path])
    with pytest.raises(ConfigError, match="not written by this version"):
        run_conformance([VECTORS], protocol="maxwell")


def test_compressed_vectors_are_the_same_vectors(tmp_path: Path) -> None:
    plain = tmp_path / "bench_sbtest.json"
    plain.write_text(json.dumps(load_vector("bench_sbtest")), encoding="utf-8")
    packed = [tmp_path / f"{plain.name}.gz", tmp_path / f"{plain.name}.zst"]
    for path in packed:
        with pa.output_stream(str(path)) as stream:
            stream.write(plain.read_bytes())
    assert find_vectors([tmp_path]) == [plain, *packed]
    assert {vector_name(path) for path in find_vectors([tmp_path])} == {"bench_sbtest"}
    reports = [run_conformance([path], protocol="canal-json") for path in (plain, *packed)]
    assert all(report.ok and report.total.matched > 0 for report in reports)
    assert [report.total for report in reports] == [reports[0].total] * 3


@pytest.mark.parametrize("ending", ["json.gz", "json.zst"])
def test_a_damaged_compressed_file_is_a_mismatch(tmp_path: Path, ending: str) -> None:
    whole = tmp_path / f"cut.{ending}"
    with pa.output_stream(str(whole)) as stream:
        stream.write(json.dumps(load_vector("bench_sbtest")).encode())
    whole.write_bytes(whole.read_bytes()[:-200])
    (tmp_path / f"garbage.{ending}").write_bytes(b"not compressed")
    report = run_conformance([tmp_path], protocol="canal-json")
    assert [mismatch.case for mismatch in report.mismatches] == ["cut", "garbage"]
    assert all("not a vector file" in mismatch.detail for mismatch in report.mismatches)


def test_the_vectors_in_the_repository_are_small_and_reproducible() -> None:
    files = sorted(VECTORS.iterdir())
    assert {path.name for path in files} == {f"{name}.json.gz" for name in vector_names()}
    assert sum(path.stat().st_size for path in files) < 30_000_000
    # gzip: no flag (so no name), time 0, the best compression
    assert {path.read_bytes()[3:9] for path in files} == {b"\0\0\0\0\0\x02"}


def forget_messages(case: dict[str, Any]) -> None:
    for variant in case["variants"]:
        del variant["messages"]


def test_vectors_without_messages_are_dumped_but_not_counted(tmp_path: Path) -> None:
    with_messages, without = io.StringIO(), io.StringIO()
    run_conformance([vector_path("bench_orders")], protocol="canal-json", dump=with_messages)
    bare = changed_copy(tmp_path, "bench_orders", forget_messages)
    report = run_conformance([bare], protocol="canal-json", dump=without)
    assert report.total.total == 0
    assert report.left_out["variants without recorded messages"].events > 0
    assert without.getvalue() == with_messages.getvalue()


def test_json_summary(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(vector_path("bench_orders")), "--json"])
    assert end.value.code == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["ok"] is True
    totals = [protocol["total"] for protocol in summary["protocols"].values()]
    assert summary["matched"] == summary["total"] == sum(totals)
    assert min(totals) > 0
    assert summary["catalog"] == {"matched": 1, "total": 1}
    assert summary["registrations"]["matched"] == summary["registrations"]["total"] > 0
    assert summary["mismatches"] == []


def test_the_program_runs_one_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {}
    for protocol in ("simple", "simple-json", "simple-avro"):
        with pytest.raises(SystemExit) as end:
            main([str(vector_path("doc_simple_user")), "--protocol", protocol, "--json"])
        assert end.value.code == 0
        told = json.loads(capsys.readouterr().out)["protocols"]["simple"]
        counts[protocol] = sum(each["total"] for each in told["variants"].values())
    assert counts["simple-json"] + counts["simple-avro"] == counts["simple"]
    assert min(counts.values()) > 0


@pytest.mark.parametrize(
    ("option", "said"), [("--protocol", "is not written"), ("--release", "unknown release 'maxwell'")]
)
def test_the_program_refuses_in_one_line(option: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(VECTORS), option, "maxwell"])
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err


SEQUENCES, STORAGE = VECTORS.parent / "wire", VECTORS.parent / "storage"


def packed_copy(tmp_path: Path, source: Path, edit: Edit) -> Path:
    """Return a changed copy of a gzip file, in a folder of its lineage."""
    document = json.loads(gzip.decompress(source.read_bytes()))
    edit(document)
    path = tmp_path / "classic" / f"{vector_name(source)}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    return path


def test_events_of_a_sequence_are_never_read(tmp_path: Path) -> None:
    def strip(document: dict[str, Any]) -> None:
        del document["events"]
        for variant in document["variants"]:
            variant["messages"] = None
        for given in document["inputs"]:
            given["events"] = None

    stream = io.StringIO()
    path = packed_copy(tmp_path, SEQUENCES / "classic" / "expr_two.json.gz", strip)
    report = run_conformance([path], protocol="canal-json", dump=stream)
    assert report.verdicts.matched == report.verdicts.total == 7
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [0, 1]


def test_a_wrong_verdict_is_told(tmp_path: Path) -> None:
    def flip(document: dict[str, Any]) -> None:
        document["inputs"][1]["rows"][1]["result"] = "filtered"

    path = packed_copy(tmp_path, SEQUENCES / "classic" / "expr_two.json.gz", flip)
    report = run_conformance([path], protocol="canal-json")
    (mismatch,) = [each for each in report.mismatches if each.protocol == "changefeed"]
    assert "TiCDC: filtered, the library: sent" in mismatch.detail


def other_byte(document: Any) -> None:
    write = document["variants"][0]["writes"][2]
    write["text"] = write["text"].replace("1", "2", 1)


def other_order(document: Any) -> None:
    writes = document["variants"][0]["writes"]
    writes[1], writes[2] = writes[2], writes[1]


@pytest.mark.parametrize(
    "edit",
    [
        other_byte,
        other_order,
        lambda document: document["variants"][0]["writes"][2].update(path="x"),
        lambda document: document["variants"][0]["writes"].pop(),
        lambda document: document["variants"][0]["files"].append("x"),
        lambda document: document["variants"][0].update(config_error="refused"),
    ],
)
def test_a_wrong_file_is_told(edit: Edit, tmp_path: Path) -> None:
    report = run_conformance([packed_copy(tmp_path, STORAGE / "classic" / "st_restart.json.gz", edit)])
    assert {mismatch.variant for mismatch in report.mismatches} == {"csv"}


def test_a_row_of_a_table_that_is_not_replicated_writes_nothing(tmp_path: Path) -> None:
    def skip(document: Any) -> None:
        document["events"].append({"kind": "skipped", "schema": "test", "table": "keyless"})

    assert run_conformance([packed_copy(tmp_path, STORAGE / "classic" / "st_restart.json.gz", skip)]).mismatches == []
