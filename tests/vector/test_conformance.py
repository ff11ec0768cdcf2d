"""Every Canal-JSON golden vector matches through the public path, and what does not match is found and told."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.cli.main import main
from ticdc_emit.conformance import Report, run_conformance
from ticdc_emit.conformance.vectors import VectorError
from ticdc_emit.errors import ConfigError

VECTORS = Path(__file__).parent.parent / "vectors" / "classic"
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def full_run() -> tuple[Report, list[dict[str, Any]]]:
    stream = io.StringIO()
    report = run_conformance([VECTORS], protocol="canal-json", dump=stream)
    return report, [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_canal_json_vector_matches(full_run: tuple[Report, list[dict[str, Any]]]) -> None:
    report, _ = full_run
    assert [mismatch.title for mismatch in report.mismatches] == []
    assert report.total.matched == report.total.total >= 3_400
    assert set(report.protocols()) == {"canal-json"}


def test_every_avro_vector_matches_and_every_registration() -> None:
    stream = io.StringIO()
    report = run_conformance([VECTORS], protocol="avro", dump=stream)
    assert [mismatch.title for mismatch in report.mismatches] == []
    assert report.total.matched == report.total.total >= 3_100
    assert report.registrations.matched == report.registrations.total >= 1_200
    named = {what.split(" (")[0]: left for what, left in report.left_out.items()}
    assert set(named) == {
        "column selectors", "transactions", "routes", "rows that TiCDC writes with another table's schema"
    }  # fmt: skip
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    for path in VECTORS.glob("*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        if any(event["kind"] == "txn" for event in case["events"] or []):
            continue
        for variant in case["variants"] or []:
            if "protocol=avro" not in variant["sink_uri"] or "column-selectors" in (variant.get("changefeed") or ""):
                continue
            recorded = [
                (post["subject"], post["schema"], post.get("id")) for post in variant.get("registrations") or []
            ]
            assert _dumped_registrations(lines, case["name"], variant["id"]) == recorded


def test_every_simple_vector_matches_bootstraps_included() -> None:
    report = run_conformance([VECTORS], protocol="simple")
    assert [mismatch.title for mismatch in report.mismatches] == []
    assert report.total.matched == report.total.total >= 2_300
    named = {what.split(" (")[0] for what in report.left_out}
    assert named == {"large messages", "column selectors", "transactions", "routes"}


def test_every_debezium_vector_matches() -> None:
    report = run_conformance([VECTORS], protocol="debezium")
    assert [mismatch.title for mismatch in report.mismatches] == []
    assert report.total.matched == report.total.total >= 2_800
    named = {what.split(" (")[0] for what in report.left_out}
    assert named == {"large messages", "column selectors", "transactions", "routes"}


def _dumped_registrations(lines: list[dict[str, Any]], case: str, variant: str) -> list[tuple[str, str, int | None]]:
    found = (line.get("registration") for line in lines if (line["case"], line["variant"]) == (case, variant))
    return [(post["subject"], post["schema"], post["id"]) for post in found if post]


def test_a_changed_registration_is_reported(tmp_path: Path) -> None:
    def edit(case: dict[str, Any]) -> None:
        for variant in case["variants"]:
            for post in variant.get("registrations") or []:
                post["schema"] = post["schema"].replace('"long"', '"int"')

    report = run_conformance([changed_copy(tmp_path, "bench_orders", edit)], protocol="avro")
    assert report.registrations.matched < report.registrations.total
    assert any("registration" in mismatch.what for mismatch in report.mismatches)


def test_the_catalog_reproduces_every_table_info(full_run: tuple[Report, list[dict[str, Any]]]) -> None:
    report, _ = full_run
    events = sum(
        event["kind"] == "ddl"
        for path in VECTORS.glob("*.json")
        for event in json.loads(path.read_text(encoding="utf-8"))["events"] or []
    )
    assert report.catalog.matched == report.catalog.total == events


def test_what_is_left_out_is_named_with_counts(full_run: tuple[Report, list[dict[str, Any]]]) -> None:
    report, _ = full_run
    named = {what.split(" (")[0]: left for what, left in report.left_out.items()}
    assert set(named) == {"large messages", "column selectors", "transactions", "routes"}
    assert all(left.variants or left.events for left in named.values())


def test_dump_holds_the_recorded_messages(full_run: tuple[Report, list[dict[str, Any]]]) -> None:
    """Compared without the library's own reader or comparison: the dump against the files."""
    _, lines = full_run
    assert all(list(line) == ["case", "variant", "event", "key", "value", "error"] for line in lines)
    cases = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in VECTORS.glob("*.json")}
    dumped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        dumped.setdefault((line["case"], line["variant"]), []).append(line)
    messages = 0
    for (name, variant_id), found in dumped.items():
        case = cases[name]
        variant = next(v for v in case["variants"] if v["id"] == variant_id)
        if variant.get("config_error"):
            (line,) = found
            assert (line["event"], line["key"], line["value"]) == (None, None, None)
            assert line["error"] == variant["config_error"]
            continue
        recorded = [
            message
            for message in variant["messages"]
            if not message.get("none") and case["events"][message["event"]]["kind"] != "txn"
        ]
        assert [line["event"] for line in found] == [message["event"] for message in recorded]
        for line, message in zip(found, recorded, strict=True):
            if "error" in message:
                assert line["error"]
                assert line["key"] is line["value"] is None
            else:
                assert (line["key"], line["value"]) == (encoded(message["key"]), encoded(message["value"]))
                assert line["error"] is None
                messages += 1
    assert messages > 3_000


def encoded(given: dict[str, str] | None) -> str | None:
    if given is None:
        return None
    return given["base64"] if "base64" in given else base64.b64encode(given["text"].encode()).decode()


def changed_copy(tmp_path: Path, name: str, edit: Edit) -> Path:
    case = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    edit(case)
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(case), encoding="utf-8")
    return path


def canal_message(case: dict[str, Any], event: int) -> dict[str, Any]:
    variant = next(v for v in case["variants"] if v["id"] == "canal-json-ext")
    return next(m for m in variant["messages"] if m["event"] == event)


def flip_one_byte(case: dict[str, Any]) -> None:
    value = canal_message(case, 1)["value"]
    assert value["text"][200] != "#"
    value["text"] = value["text"][:200] + "#" + value["text"][201:]


def test_one_flipped_byte_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed_copy(tmp_path, "bench_orders", flip_one_byte)
    with pytest.raises(SystemExit) as end:
        main(["conformance", str(path), "--protocol", "canal-json"])
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


def break_table_info(case: dict[str, Any]) -> None:
    case["events"][0]["table_info"]["columns"][1]["flen"] += 1


def test_a_wrong_table_info_is_reported(tmp_path: Path) -> None:
    report = run_conformance([changed_copy(tmp_path, "bench_orders", break_table_info)], protocol="canal-json")
    (mismatch,) = report.mismatches
    assert (mismatch.protocol, mismatch.event) == ("catalog", 0)
    assert mismatch.detail == "table_info.columns[1].flen: got 20, expected 21"
    assert (report.catalog.matched, report.catalog.total) == (0, 1)


def drop_message(case: dict[str, Any]) -> None:
    variant = next(v for v in case["variants"] if v["id"] == "canal-json-ext")
    variant["messages"].remove(canal_message(case, 2))


def expect_refusal(case: dict[str, Any]) -> None:
    message = canal_message(case, 2)
    message.clear()
    message.update(event=2, error="refused")


def expect_key(case: dict[str, Any]) -> None:
    canal_message(case, 2)["key"] = {"text": "k"}


def expect_null_ddl_value(case: dict[str, Any]) -> None:
    canal_message(case, 0)["value"] = None


def break_value(case: dict[str, Any]) -> None:
    case["events"][1]["after"]["status"] = "no such label"


def break_event(case: dict[str, Any]) -> None:
    del case["events"][1]["op"]


def refuse_config(case: dict[str, Any]) -> None:
    variant = next(v for v in case["variants"] if v["id"] == "canal-json-ext")
    variant.update(config_error="refused", messages=None)


@pytest.mark.parametrize(
    ("edit", "event", "detail"),
    [
        (drop_message, 2, "TiCDC gives no message, the library 1 message"),
        (expect_refusal, 2, "TiCDC refuses this (refused), the library gave 1 message"),
        (expect_key, 2, "key differs at byte 0 (expected 1 bytes, got 0)"),
        (expect_null_ddl_value, 0, "value differs: one side is null"),
        (break_value, 1, "the library refuses this:"),
        (break_event, 1, "the library crashed: KeyError: 'op'"),
        (refuse_config, None, "TiCDC refuses this configuration (refused), the library accepts it"),
    ],
)
def test_each_kind_of_difference_is_told(tmp_path: Path, edit: Edit, event: int | None, detail: str) -> None:
    report = run_conformance([changed_copy(tmp_path, "bench_orders", edit)], protocol="canal-json")
    found = [mismatch for mismatch in report.mismatches if mismatch.variant == "canal-json-ext"]
    assert [mismatch.event for mismatch in found] == [event]
    assert found[0].detail.startswith(detail)


def break_ddl(case: dict[str, Any]) -> None:
    case["events"][0]["query"] = "create table test.orders (id no_such_type)"


def test_a_ddl_that_is_not_understood_fails_its_table_only(tmp_path: Path) -> None:
    broken = changed_copy(tmp_path, "bench_orders", break_ddl)
    report = run_conformance([broken, VECTORS / "bench_sbtest.json"], protocol="canal-json")
    assert {mismatch.case for mismatch in report.mismatches} == {"bench_orders"}
    assert (report.catalog.matched, report.catalog.total) == (1, 2)


def test_a_file_that_is_no_vector_is_a_mismatch(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"events": 7}', encoding="utf-8")
    (tmp_path / "garbage.json").write_text("{", encoding="utf-8")
    report = run_conformance([tmp_path, VECTORS / "bench_sbtest.json"], protocol="canal-json")
    assert [mismatch.case for mismatch in report.mismatches] == ["broken", "garbage"]
    assert report.total.matched > 0


def test_paths_without_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VectorError, match="no such file"):
        run_conformance([tmp_path / "nowhere"])
    with pytest.raises(VectorError, match=r"holds no \.json file"):
        run_conformance([tmp_path])
    with pytest.raises(ConfigError, match="not written by this version"):
        run_conformance([VECTORS], protocol="open-protocol")


def forget_messages(case: dict[str, Any]) -> None:
    for variant in case["variants"]:
        del variant["messages"]


def test_vectors_without_messages_are_dumped_but_not_counted(tmp_path: Path) -> None:
    with_messages, without = io.StringIO(), io.StringIO()
    run_conformance([VECTORS / "bench_orders.json"], protocol="canal-json", dump=with_messages)
    bare = changed_copy(tmp_path, "bench_orders", forget_messages)
    report = run_conformance([bare], protocol="canal-json", dump=without)
    assert report.total.total == 0
    assert report.left_out["variants without recorded messages"].events > 0
    assert without.getvalue() == with_messages.getvalue()


def test_other_protocols_are_counted_as_not_written(tmp_path: Path) -> None:
    def edit(case: dict[str, Any]) -> None:
        for variant in case["variants"]:
            variant["sink_uri"] = variant["sink_uri"].replace("protocol=debezium", "protocol=open-protocol")

    report = run_conformance([changed_copy(tmp_path, "bench_orders", edit)])
    assert report.left_out["open-protocol: not written by this version"].variants > 0
    assert set(report.protocols()) == {"canal-json", "avro", "simple"}


def test_json_summary(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["conformance", str(VECTORS / "bench_orders.json"), "--json"])
    assert end.value.code == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["ok"] is True
    totals = [protocol["total"] for protocol in summary["protocols"].values()]
    assert summary["matched"] == summary["total"] == sum(totals)
    assert min(totals) > 0
    assert summary["catalog"] == {"matched": 1, "total": 1}
    assert summary["registrations"]["matched"] == summary["registrations"]["total"] > 0
    assert summary["mismatches"] == []


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_files_named_otherwise_run_alike(tmp_path: Path, zone: str) -> None:
    """Nothing depends on the name of a file, or on the time zone where no value does."""

    def rezone(case: dict[str, Any]) -> None:
        case["timezone"] = zone
        case["name"] = "held_back"

    path = changed_copy(tmp_path, "bench_sbtest", rezone).rename(tmp_path / "x.json")
    report = run_conformance([path], protocol="canal-json")
    assert report.ok
    assert report.total.total > 0
