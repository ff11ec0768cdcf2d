"""State, claim check and the storage sink on S3, and AWS Glue's schema registry: against a server that speaks AWS's
protocols.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
import s3fs
from child import exit_code
from moto.server import DomainDispatcherApplication, ThreadedMotoServer, create_backend_app
from werkzeug.serving import make_server

from ticdc_emit import ReferenceConsumer, TicdcSink
from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import DeliveryError, RegistryError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.protocols.decoder import read_claim
from ticdc_emit.protocols.events import RowEvent
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.registry.base import registry_for
from ticdc_emit.testing import MemoryTopics

TABLE = "create table shop.notes (id int primary key, note text)"
TSO = 450_000_000_262_144_000


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The server's URL, with an empty bucket ``bucket``; AWS's own variables lead all clients of this process there."""
    variables = {
        "AWS_ENDPOINT_URL": _server,
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    s3 = boto3.resource("s3").Bucket("bucket")
    s3.create(CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    yield _server
    s3.objects.all().delete()
    s3.delete()


def _rows(*ids: int, note: str = "short") -> pa.Table:
    return pa.table(
        {
            "op": ["c"] * len(ids),
            "commit_ts": [TSO + number for number in ids],
            "after": [{"id": number, "note": note} for number in ids],
        }
    )


def _objects() -> list[str]:
    return sorted(each.key for each in boto3.resource("s3").Bucket("bucket").objects.all())


@pytest.mark.usefixtures("aws")
def test_a_changefeed_goes_on_from_its_state_on_s3() -> None:
    def sink(topics: MemoryTopics) -> TicdcSink:
        uri = topics.sink_uri(protocol="simple")
        return TicdcSink(uri, TABLE, sink=topics.sink(), state_uri="s3://bucket/state", clock="wall")

    first, again = MemoryTopics(), MemoryTopics()
    with sink(first) as emitter:
        assert emitter.write(_rows(1, 2)).batch_id == 0
    with sink(again) as emitter:
        assert emitter.write(_rows(1, 2), batch_id=0).rows == 2
    assert again.messages() == first.messages(), "wall clock and all: the state has them"
    with sink(again) as emitter:
        assert emitter.write(_rows(3)).batch_id == 1
    assert [name for name in _objects() if name.startswith("state/batch-")]


def test_large_messages_are_objects_on_s3(aws: str) -> None:
    parameters = f"endpoint={aws}&region=eu-west-1&access-key=AKIA&secret-access-key=secret&force-path-style=true"
    storage = f"s3://bucket/claims?{parameters}"
    handle = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": storage}
    topics = MemoryTopics()
    emitter = TicdcSink(
        f"{topics.sink_uri(protocol='simple')}&max-message-bytes=2000",
        TABLE,
        changefeed={"sink": {"kafka-config": {"large-message-handle": handle}}},
        sink=topics.sink(),
    )
    note = "".join(chr(33 + place * place % 94) for place in range(5_000))
    report = emitter.write(_rows(1, note=note))
    assert report.claims == 1
    assert [name.rpartition("/")[0] for name in _objects()] == ["claims"]
    reader, store = SimpleReader(), ClaimStore(Secret(storage))
    read = [reader.read(message.key, message.value) for message in topics.messages()]
    (pointer,) = (each for each in read if isinstance(each, RowEvent))
    assert pointer.claim_check is not None
    assert "secret" not in pointer.claim_check
    row = reader.read(*read_claim(pointer.claim_check, store.get))
    assert row.after == {"id": "1", "note": note}


@pytest.mark.usefixtures("aws")
def test_avro_with_glues_registry() -> None:
    glue = boto3.client("glue")
    config = load_changefeed(
        "memory://notes/?protocol=avro",
        {"sink": {"kafka-config": {"glue-schema-registry-config": {"registry-name": "feed", "region": "eu-west-1"}}}},
    )
    with pytest.raises(RegistryError):
        registry_for(config).register("notes-value", '{"type":"record","name":"t","fields":[]}')
    glue.create_registry(RegistryName="feed")
    topics = MemoryTopics()
    TicdcSink(config, TABLE, sink=topics.sink()).write(_rows(1, 2))
    latest = {"LatestVersion": True}
    schema = glue.get_schema_version(
        SchemaId={"RegistryName": "feed", "SchemaName": "ticdc-value"}, SchemaVersionNumber=latest
    )
    headers = {message.value[:18] for message in topics.messages() if message.value}
    assert headers == {b"\x03\x00" + bytes.fromhex(schema["SchemaVersionId"].replace("-", ""))}


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_emit_reads_a_bucket(tmp_path: Path, scheme: str) -> None:
    bucket = boto3.resource("s3").Bucket("bucket")
    bucket.put_object(Key="rows/day=1/a.csv", Body=b"id,note\n1,one\n")
    bucket.put_object(Key="rows/day=2/b.csv", Body=b"id,note\n2,two\n")
    bucket.put_object(Key="rows/_SUCCESS", Body=b"")
    (tmp_path / "t.sql").write_text(TABLE)
    arguments = [
        "emit",
        "--schema",
        str(tmp_path / "t.sql"),
        "--sink-uri",
        "memory://bucket?topic=t&protocol=canal-json",
    ]
    for path, count in ((f"{scheme}://bucket/rows/day=1/a.csv", 1), (f"{scheme}://bucket/rows/*/*.csv", 2)):
        MemoryTopics("bucket").clear()
        assert exit_code(*arguments, "--input", path) == 0
        values = [message.value or b"" for message in MemoryTopics("bucket").messages("t")]
        assert sum(b'"type":"INSERT"' in value for value in values) == count
    assert exit_code(*arguments, "--input", f"{scheme}://bucket/none.csv") == 2


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_files_of_the_storage_sink(aws: str, protocol: str) -> None:
    uri = f"s3://bucket/lake?protocol={protocol}&endpoint={aws}&access-key=AKIA&secret-access-key=hush&region=eu-west-1"
    config = load_changefeed(uri, {"sink": {"csv": {"include-commit-ts": True}}} if protocol == "csv" else None)
    for number in range(2):  # the second one goes on where the first one ended
        feed = Changefeed(config, sink_for(config), TABLE)
        feed.run(ArrowBatch(_rows(2 * number, 2 * number + 1), "shop.notes"), number, final=True)
    keys = {each.key.removeprefix("lake/") for each in boto3.resource("s3").Bucket("bucket").objects.all()}
    assert "metadata" in keys
    data = sorted(key for key in keys if "/CDC0" in key)
    assert [key.rpartition("/")[2][3:23] for key in data] == ["0" * 19 + "1", "0" * 19 + "2"]
    assert f"{data[0].rpartition('/')[0]}/meta/CDC.index" in keys
    assert len([key for key in keys if "/meta/schema_" in key]) == 1
    consumer = ReferenceConsumer(config, TABLE)
    consumer.take_all(FolderReader(config).read())
    assert sorted(consumer.tables["shop", "notes"]) == [("0",), ("1",), ("2",), ("3",)]


def test_a_bucket_that_does_not_exist_is_refused_without_secrets(aws: str) -> None:
    uri = f"s3://elsewhere/lake?protocol=csv&endpoint={aws}&access-key=AKIA&secret-access-key=hush&region=eu-west-1"
    config = load_changefeed(uri)
    with pytest.raises(DeliveryError) as error:
        Changefeed(config, sink_for(config), TABLE).run(ArrowBatch(_rows(1), "shop.notes"), 0, final=True)
    assert "hush" not in str(error.value)


@contextmanager
def _refusing(status: str, refused: Callable[[str, str], bool]) -> Iterator[str]:
    """A server with the same buckets, which answers requests of some methods and paths with ``status``; its URL."""
    moto = DomainDispatcherApplication(create_backend_app)

    def application(request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if refused(request["REQUEST_METHOD"], request["PATH_INFO"]):
            start(status, [("Content-Length", "0")])
            return []
        return moto(request, start)

    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("status", ["403 Forbidden", "503 Slow Down"])
def test_a_refused_look_overwrites_no_file(
    aws: str, monkeypatch: pytest.MonkeyPatch, status: str, release: str
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)

    def run(endpoint: str, number: int) -> None:
        uri = f"s3://bucket/lake?protocol=csv&endpoint={endpoint}&access-key=AKIA&secret-access-key=hush"
        config = load_changefeed(f"{uri}&region=eu-west-1", release=release)
        Changefeed(config, sink_for(config), TABLE).run(ArrowBatch(_rows(number), "shop.notes"), number, final=True)

    def contents() -> dict[str, bytes]:
        return {each.key: each.get()["Body"].read() for each in boto3.resource("s3").Bucket("bucket").objects.all()}

    run(aws, 0)
    before = contents()
    with _refusing(status, lambda method, path: method == "HEAD" and path.endswith(".index")) as server:
        with pytest.raises(DeliveryError, match="cannot look for a file") as error:
            run(server, 1)
        assert "hush" not in str(error.value)
    assert contents() == before


def test_a_refused_listing_is_not_an_empty_folder(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    with _refusing("503 Slow Down", lambda method, path: method == "GET") as server:
        uri = f"s3://bucket/lake?protocol=csv&endpoint={server}&access-key=AKIA&secret-access-key=hush&region=eu-west-1"
        folder = StorageSink.of(load_changefeed(uri)).folder()
        with pytest.raises(DeliveryError, match="cannot list files"):
            folder.files("")
