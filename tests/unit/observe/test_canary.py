"""No secret is shown, whatever works or fails: objects, errors with the locals of their frames, logs, pickles.

What Spark adds (workers, its event log, its stderr) is in ``tests/spark/test_canary_job.py``; refusals of a bad
configuration are in ``tests/unit/config/test_secrets.py`` too.
"""

from __future__ import annotations

import io
import logging
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from canary import SECRETS, changefeed, leaks, shown_error, shown_object, sink_uri

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.config.uri import StorageUri
from ticdc_emit.delivery.base import DeliveryReport
from ticdc_emit.delivery.claims import Claim, ClaimStore
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_client import ConnectionLog
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.registry.base import registry_for
from ticdc_emit.registry.http import RegistryAddress
from ticdc_emit.spark.sink import TicdcSink

SCHEMA = "create table test.t (id int primary key, v varchar(4000))"
TABLE = "test.t"
LOGIN = f"me:{SECRETS['registry-login']}"
LIBRDKAFKA = {"sasl.password": SECRETS["librdkafka"]}
SASL = "&sasl-mechanism=plain"


@pytest.fixture(autouse=True)
def _nothing_is_logged() -> Iterator[None]:
    """Every test runs with all logs at DEBUG and all warnings on, and none of them may show a secret."""
    logged, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(logged), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("canary").debug("the first line")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert "the first line" in logged.getvalue()
    assert leaks(logged.getvalue() + "\n".join(str(each.message) for each in caught)) == []


def refused(act: Callable[[], Any]) -> TicdcEmitError:
    """Return the error of ``act``, which shows no secret."""
    with pytest.raises(TicdcEmitError) as caught:
        act()
    error = caught.value
    assert leaks(shown_error(error)) == []
    assert leaks(pickle.dumps(error)) == []
    return error


def test_the_search_finds_a_secret() -> None:
    import base64

    secret = SECRETS["oauth-secret"]
    for before in ("", "a", "ab", "abc", "user:"):
        assert leaks(base64.b64encode(f"{before}{secret} and more".encode())) == ["oauth-secret"]
    assert leaks(f"at {secret}!") == ["oauth-secret"]
    assert leaks("nothing") == []
    with pytest.raises(TicdcEmitError) as caught:
        MemorySink("canary").open().check_target(secret, 0)
    assert leaks(shown_error(caught.value)) == ["oauth-secret"]  # a local of the library's frame


def test_no_object_shows_a_secret() -> None:
    config = load_changefeed(sink_uri(more=SASL), changefeed())
    avro = load_changefeed(
        sink_uri(protocol="avro", more=f"&schema-registry=http%3A%2F%2F{LOGIN}%40127.0.0.1:1"),
        changefeed(claim_check=False),
    )
    claims = ClaimStore.of(config.codec.large_message_handle)
    assert claims is not None
    sink = sink_for(config, LIBRDKAFKA)
    encoder = Encoder(config, SCHEMA)
    task = DeliverTask(encoder.plan, ControlSchedule(), sink, claims)
    feed = Changefeed(config, MemorySink("canary"), SCHEMA)
    options = RunOptions(state_uri=Secret(f"ftp://me:{SECRETS['state-login']}@host/path"))
    shown: list[object] = [config, config.sink_uri, config.kafka, config.kafka.sasl, config.codec, avro, avro.codec]
    shown += [claims, sink, encoder, encoder.plan, task, feed, feed._planner, registry_for(avro), options]
    shown += [RegistryAddress.parse(f"http://{LOGIN}@h"), StorageUri.parse(f"s3://b/p?key={SECRETS['storage-key']}")]
    shown += [
        encoder.plan.large,
        feed._planner.plan(feed._planner.of(BatchState(0))),
        TicdcSink(config, SCHEMA, sink=MemorySink("c")),
    ]
    assert [type(each).__name__ for each in shown if leaks(shown_object(each))] == []


def test_no_setting_of_a_client_shows_a_secret() -> None:
    secret = SECRETS["librdkafka"]
    for settings in (
        {"sasl.oauthbearer.config": f"principal=me secret={secret}"},
        {"sasl.oauthbearer.config": secret},
        {"ssl.ca.location": f"https://me:{secret}@host/ca"},
        {"plugin.library.paths": f"x password={secret}"},
    ):
        sink = KafkaSink(("127.0.0.1:1",), librdkafka=settings)
        assert leaks(shown_object(sink)) == []
        assert sink.connection_settings()[next(iter(settings))] == next(iter(settings.values()))


def test_a_client_that_repeats_its_settings() -> None:
    log = ConnectionLog()
    secret = SECRETS["librdkafka"]
    settings = {"sasl.password": secret, "sasl.oauthbearer.config": f"principal=me secret={SECRETS['oauth-secret']}"}
    log.hide(settings)
    for said in (secret, "".join(f"%{byte:02x}" for byte in secret.encode()), SECRETS["oauth-secret"]):
        log.log(7, "%s %s: %s", "FAIL", "client", f"[thrd]: refused {said}")
        assert "refused ****" in log.cause


def test_only_what_a_worker_connects_with_is_in_a_pickle() -> None:
    config = load_changefeed(sink_uri(more=SASL), changefeed())
    sink, claims = sink_for(config, LIBRDKAFKA), ClaimStore.of(config.codec.large_message_handle)
    plan = Encoder(config, SCHEMA).plan
    task = DeliverTask(plan, ControlSchedule(), sink, claims)
    report = RunReport(
        batch_id=1, rows=1, late_rows=0, delivery=DeliveryReport(), seconds=1.0, watermark=None, max_commit_ts=None
    )
    assert leaks(pickle.dumps(plan)) == []
    assert leaks(pickle.dumps(plan.large)) == []
    assert leaks(pickle.dumps(report)) == []
    assert leaks(pickle.dumps(replace(task, sink=None, claims=None))) == []
    # to connect, and nothing else: the URI, the registry's login and what the file says of other ways stay here
    assert leaks(pickle.dumps(sink)) == ["librdkafka"]
    assert leaks(pickle.dumps(sink_for(config))) == ["sasl-password"]
    assert leaks(pickle.dumps(claims)) == ["storage-key", "storage-token"]
    assert leaks(pickle.dumps(task)) == ["storage-key", "storage-token", "librdkafka"]


def test_a_plan_with_registered_schemas_has_no_login() -> None:
    from ticdc_emit.testing import EmbeddedRegistry

    with EmbeddedRegistry() as registry:
        url = registry.url.replace("//", f"//{LOGIN}@")
        encoder = Encoder(sink_uri(protocol="avro"), SCHEMA, schema_registry=url)
        encoder.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}])
    assert leaks(pickle.dumps(encoder.plan)) == []
    assert leaks(shown_object(encoder)) == []


@pytest.mark.parametrize(
    "more", ["&protocol=none", "&max-message-bytes=0", "&required-acks=7", SASL + "&write-timeout=x"]
)
def test_a_refused_configuration(more: str) -> None:
    protocol = "none" if "protocol" in more else "simple"
    refused(lambda: TicdcSink(sink_uri(protocol=protocol, more=more), SCHEMA, changefeed=changefeed()))
    refused(lambda: Encoder(sink_uri(protocol=protocol, more=more), SCHEMA, changefeed=changefeed()))
    refused(lambda: load_changefeed(sink_uri(protocol=protocol, more=more), changefeed()))


def test_a_refused_storage() -> None:
    for storage in ("s3://", "ftp://bucket", "s3://bucket/%zz", "azure://b?endpoint=http://x&"):
        refused(lambda storage=storage: TicdcSink(sink_uri(), SCHEMA, changefeed=changefeed(storage=storage)))  # type: ignore[misc]


def test_a_refused_client() -> None:
    for setting in ({"no.such.setting": "1"}, {"sasl.mechanisms": "PLAIN", "ssl.key.pem": SECRETS["librdkafka"]}):
        sink = KafkaSink(("127.0.0.1:1",), librdkafka={**LIBRDKAFKA, **setting, "security.protocol": "sasl_ssl"})
        refused(lambda sink=sink: sink.prepare({"t": 1}))  # type: ignore[misc]
        refused(lambda sink=sink: sink.open())  # type: ignore[misc]


def used(sink: TicdcSink) -> object:
    """Have a sink reach out, which its construction does not."""
    return sink.changefeed.run(ArrowBatch([]), 0, final=False)


def test_no_broker() -> None:
    refused(lambda: used(TicdcSink(sink_uri(more=SASL), SCHEMA, changefeed=changefeed(), librdkafka=LIBRDKAFKA)))


def test_a_broker_that_is_none_and_repeats_what_it_was_told(registry_server: Callable[..., Any]) -> None:
    with registry_server(b"HTTP/1.1 400 " + SECRETS["sasl-password"].encode() + b"\r\n\r\n") as server:
        refused(lambda: used(TicdcSink(sink_uri(server.authority, more=SASL), SCHEMA)))


def test_a_token_endpoint_that_repeats_the_client_secret(registry_server: Callable[..., Any]) -> None:
    from scripted_server import answer

    said = answer(401, '{"error": "invalid_client", "error_description": "no ' + SECRETS["oauth-secret"] + '"}')
    with registry_server(said) as server:
        file = changefeed(claim_check=False, oauth=server.authority)
        refused(lambda: used(TicdcSink(sink_uri(more="&sasl-mechanism=oauthbearer"), SCHEMA, changefeed=file)))


@pytest.mark.parametrize("status", [401, 409, 422, 302, 200])
def test_a_registry_that_refuses_and_repeats_the_login(registry_server: Callable[..., Any], status: int) -> None:
    from base64 import b64encode

    from scripted_server import PROBED, answer

    said = f'{{"error_code": 1, "message": "not {LOGIN}, {b64encode(LOGIN.encode()).decode()}"}}'
    with registry_server(PROBED, answer(status, said, "Location: /x\r\n" if status == 302 else "")) as server:
        url = server.url.replace("//", f"//{LOGIN}@")
        encoder = Encoder(sink_uri(protocol="avro"), SCHEMA, schema_registry=url)
        refused(lambda: encoder.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]))


@pytest.mark.parametrize("status", [401, 404, 302, 200])
def test_a_registry_of_schemas_that_repeats_the_login(registry_server: Callable[..., Any], status: int) -> None:
    from scripted_server import answer

    from ticdc_emit.protocols.registered_avro import RegistrySchemas

    said = f'{{"schema": ["not {LOGIN}"]}}'
    onward = f"Location: http://{LOGIN}@127.0.0.1:1/{LOGIN}\r\n" if status == 302 else ""
    with registry_server(answer(status, said, onward)) as server:
        schemas = RegistrySchemas(server.url.replace("//", f"//{LOGIN}@"))
        refused(lambda: schemas(1))
    refused(lambda: RegistrySchemas(f"http://{LOGIN}@127.0.0.1:1")(1))
    refused(lambda: RegistrySchemas(f"ftp://{LOGIN}@h"))


def test_a_registry_that_does_not_answer() -> None:
    from ticdc_emit.registry.confluent import ConfluentRegistry

    registry = ConfluentRegistry(f"http://{LOGIN}@127.0.0.1:1", attempts=2, backoff_s=0.01)
    refused(lambda: registry.register("t-value", "{}"))
    refused(lambda: ConfluentRegistry(f"ftp://{LOGIN}@h"))


def glue_config(region: str = "eu-west-1") -> dict[str, Any]:
    file = changefeed(claim_check=False)
    file["sink"]["kafka-config"]["glue-schema-registry-config"] = {
        "registry-name": "r",
        "region": region,
        "access-key": SECRETS["glue-access-key"],
        "secret-access-key": SECRETS["glue-secret-key"],
        "token": SECRETS["glue-token"],
    }
    return file


def test_glue_that_repeats_what_was_signed(
    registry_server: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    from scripted_server import answer

    said = f'{{"__type": "InvalidSignatureException", "message": "expected x-amz-security-token:{SECRETS["glue-token"]}\
 Credential={SECRETS["glue-access-key"]}/2026"}}'
    with registry_server(answer(400, said)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server.url)
        encoder = Encoder(sink_uri(protocol="avro"), SCHEMA, changefeed=glue_config())
        refused(lambda: encoder.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]))
        assert server.requests
    bad = Encoder(sink_uri(protocol="avro"), SCHEMA, changefeed=glue_config("no region!"))
    refused(lambda: bad.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]))


def test_a_claim_store_that_fails_and_repeats_its_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import fsspec

    key, token = SECRETS["storage-key"], SECRETS["storage-token"]

    class Refusing(fsspec.AbstractFileSystem):  # type: ignore[misc]
        def pipe(self, objects: Any) -> None:
            raise OSError(f"denied: {key} / {token}") from ValueError(f"signed with {key}")

        def cat_file(self, path: str) -> bytes:
            raise FileNotFoundError(f"{path}?secret={key}")

    monkeypatch.setattr(fsspec, "filesystem", lambda protocol, **options: Refusing())
    config = load_changefeed(sink_uri(), changefeed())
    store = ClaimStore.of(config.codec.large_message_handle)
    assert store is not None
    store = replace(store, attempts=2, backoff_s=0.01)
    refused(lambda: store.put([Claim("s3://bucket/claims/a.json", b"x")]))
    refused(lambda: store.get("s3://bucket/claims/a.json"))
    refused(lambda: store.get("s3://other/a.json"))
    (tmp_path / "file").touch()
    unwritable = load_changefeed(sink_uri(), changefeed(storage=f"file://{tmp_path}/file/folder"))
    broken = ClaimStore.of(unwritable.codec.large_message_handle)
    assert broken is not None
    refused(lambda: broken.put([Claim(f"file://{tmp_path}/file/folder/a.json", b"x")]))


def test_a_state_store_that_is_not_there(tmp_path: Path) -> None:
    login = f"me:{SECRETS['state-login']}"
    (tmp_path / "file").touch()
    config = load_changefeed("memory://canary?protocol=canal-json")
    for uri in (f"ftp://{login}@127.0.0.1:1/x", f"nothing://{login}@host/x", f"{tmp_path}/file/folder"):
        options = RunOptions(state_uri=Secret(uri))

        def write(uri: str = uri) -> object:
            return used(TicdcSink("memory://canary?protocol=canal-json", SCHEMA, state_uri=uri))

        def run(how: RunOptions = options) -> object:
            return Changefeed(config, MemorySink("canary"), SCHEMA, options=how).run(ArrowBatch([]), 0, final=False)

        for act in (write, run):
            refused(act)


class _RefusingStorage:
    """A file system that fails whatever it is asked, and repeats the login that it was given."""

    def __init__(self, *works: str) -> None:
        self._works = works

    def __getattr__(self, name: str) -> Any:
        def act(*args: Any, **options: Any) -> Any:
            if name in self._works:
                return []
            raise OSError(f"{name}: denied to me:{SECRETS['state-login']}")

        return act


def test_a_storage_that_repeats_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec
    import pyarrow as pa

    from ticdc_emit.spark.datasource import StagedFile, Staging

    uri = f"ftp://me:{SECRETS['state-login']}@127.0.0.1:1/x"
    rows = [pa.record_batch({"a": [1]})]
    for staging in (Staging(Secret(uri)), Staging(Secret(uri.replace("ftp", "nothing")))):
        refused(lambda staging=staging: staging.write(rows))  # type: ignore[misc]
        refused(lambda staging=staging: staging.read([StagedFile("a", "host")]))  # type: ignore[misc]
        refused(staging.remove)
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda uri: (_RefusingStorage("makedirs"), "/x"))
    refused(lambda: Staging(Secret(uri)).write(rows))
    refused(lambda: Staging(Secret(uri)).read([StagedFile("a", "host")]))
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda uri: (_RefusingStorage("exists"), "/x"))
    refused(Staging(Secret(uri)).remove)


def test_rows_that_are_refused() -> None:
    encoder = Encoder(sink_uri(more="&max-message-bytes=600" + SASL), SCHEMA, changefeed=changefeed(claim_check=False))
    refused(lambda: encoder.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a" * 3_000}}]))
    refused(lambda: encoder.encode([{"op": "c", "commit_ts": 1 << 40, "after": {"id": "x", "v": "a"}}]))
    refused(lambda: encoder.encode([{"op": "?", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]))
    refused(lambda: encoder.ddl("alter table test.none add column x int", 1 << 41))


@pytest.fixture
def registry_server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The server that says what it is told, which lives beside the registry's tests."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "registry"))
    from scripted_server import ScriptedServer

    return ScriptedServer
