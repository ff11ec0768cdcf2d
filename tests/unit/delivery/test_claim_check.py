"""The claim-check storage takes objects whole, again on a replay, and tells no secret when it does not."""

from __future__ import annotations

import pickle
import sys
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ticdc_emit.config import ConfigWarning, LargeMessageHandle, Secret
from ticdc_emit.config.uri import StorageUri
from ticdc_emit.delivery.claims import Claim, ClaimStore
from ticdc_emit.delivery.object_storage import protocol_and_options
from ticdc_emit.errors import ClaimCheckError, ConfigError, DeliveryError, MissingDependencyError
from ticdc_emit.protocols.decoder import read_claim
from ticdc_emit.protocols.events import DecodeError

HUSH = "hu/sh+quiet=="
S3 = f"s3://bucket/some/prefix/?access-key=AKIAKEY&secret-access-key={HUSH}"


def store_of(uri: str, **options: Any) -> ClaimStore:
    return ClaimStore(Secret(uri), backoff_s=0, **options)


@pytest.mark.parametrize("ending", ["", "/"])
def test_files_are_stored_replaced_and_read_back(tmp_path: Path, ending: str) -> None:
    uri = f"file://{tmp_path}/new/claims{ending}"
    place = StorageUri.parse(uri)
    store = pickle.loads(pickle.dumps(store_of(uri)))
    claims = [Claim(f"{place.location}/{name}.json", name.encode() * 9) for name in ("a", "b")]
    store.put(claims)
    store.put(claims[:1])
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["a.json", "b.json"]
    assert (tmp_path / "new/claims/a.json").read_bytes() == b"a" * 9
    assert [store.get(claim.location) for claim in claims] == [claim.content for claim in claims]
    store.put([Claim(claims[0].location, b"")])
    assert store.get(claims[0].location) == b""


def test_a_plain_path_is_a_file_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert StorageUri.parse("some/place/").location == f"file://{tmp_path}/some/place"
    store_of("some/place").put([Claim(f"file://{tmp_path}/some/place/x.json", b"1")])
    assert (tmp_path / "some/place/x.json").read_bytes() == b"1"


def test_memory_keeps_objects_for_this_process() -> None:
    store = store_of("memory://claims/here")
    store.put([Claim("memory://claims/here/x.json", b"content")])
    assert store.get("memory://claims/here/x.json") == b"content"


def test_a_stored_message_is_read_back(tmp_path: Path) -> None:
    store, folder = store_of(f"file://{tmp_path}"), f"file://{tmp_path}"
    contents = {"json": b'{"key":null,"value":"aGk="}', "keyed": b'{"key":"aw==","value":"aGk="}', "raw": b"hi"}
    store.put(Claim(f"{folder}/{name}.json", content) for name, content in contents.items())
    assert read_claim(f"{folder}/json.json", store.get) == (None, b"hi")
    assert read_claim(f"{folder}/keyed.json", store.get) == (b"k", b"hi")
    assert read_claim(f"{folder}/raw.json", store.get, raw_value=True) == (None, b"hi")
    with pytest.raises(DecodeError, match="not a stored message"):
        read_claim(f"{folder}/raw.json", store.get)


@pytest.mark.parametrize("location", ["file:///elsewhere/x.json", "x.json", "memory://claims/x/"])
def test_a_location_outside_the_storage_is_refused(location: str) -> None:
    store = store_of("memory://claims/x")
    for act in (lambda: store.get(location), lambda: store.put([Claim(location, b"")])):
        with pytest.raises(ClaimCheckError, match="not one of memory://claims/x") as caught:
            act()
        assert caught.value.location == location


def test_an_object_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClaimCheckError, match="FileNotFoundError") as caught:
        store_of(f"file://{tmp_path}").get(f"file://{tmp_path}/x.json")
    assert isinstance(caught.value, DeliveryError)


@pytest.mark.parametrize(
    ("uri", "root", "location"),
    [
        ("file:///claims", "/claims", "file:///claims"),
        ("file:///claims/", "/claims", "file:///claims"),
        ("file:///claims//?x=y", "/claims", "file:///claims/"),
        ("local:///a%20b+c", "/a b+c", "file:///a b+c"),
        ("file://ignored/a", "/a", "file:///a"),
        ("s3://bucket", "bucket", "s3://bucket"),
        ("s3://bucket/", "bucket", "s3://bucket"),
        (S3, "bucket/some/prefix", "s3://bucket/some/prefix"),
        ("gs://bucket//a//b//?credentials-file=f", "bucket/a//b", "gcs://bucket/a//b"),
        ("gcs://bucket/a", "bucket/a", "gcs://bucket/a"),
        ("azure://c/p/", "c/p", "azure://c/p"),
        ("azblob://c/p?account-key=k", "c/p", "azure://c/p"),
        ("s3://user:pass@bucket/p#f", "bucket/p", "s3://bucket/p"),
    ],
)
def test_what_ticdc_prints_of_a_storage(uri: str, root: str, location: str) -> None:
    place = StorageUri.parse(uri)
    assert (place.root, place.location) == (root, location)
    assert HUSH not in repr(place)


@pytest.mark.parametrize(
    ("uri", "protocol", "options"),
    [
        (
            f"{S3}&region=eu&endpoint=http://127.0.0.1:9000/&session_token=t&STORAGE-CLASS=IA&sse-kms-key-id=k",
            "s3",
            {
                "key": "AKIAKEY", "secret": HUSH, "token": "t", "endpoint_url": "http://127.0.0.1:9000",
                "client_kwargs": {"region_name": "eu"}, "config_kwargs": {"s3": {"addressing_style": "path"}},
                "s3_additional_kwargs": {"StorageClass": "IA", "SSEKMSKeyId": "k"},
            },
        ),
        (
            "s3://b/p?release=dev&force-path-style=false&use-accelerate-endpoint=true",
            "s3",
            {
                "release": "dev",
                "config_kwargs": {"s3": {"addressing_style": "virtual", "use_accelerate_endpoint": True}},
            },
        ),
        ("s3://b/p?provider=aws", "s3", {"config_kwargs": {"s3": {"addressing_style": "virtual"}}}),
        ("s3://b/p?force-path-style=x", "s3", {"config_kwargs": {"s3": {"addressing_style": "path"}}}),
        (
            "gs://b/p?endpoint=http://h&credentials-file=/f.json", "gcs",
            {"endpoint_url": "http://h", "token": "/f.json"},
        ),
        (
            "azblob://c/p?account-name=a&account-key=k&endpoint=https://a.blob.core.windows.net/", "abfs",
            {"account_name": "a", "account_key": "k", "account_host": "a.blob.core.windows.net"},
        ),
        ("azure://c/p?account-name=a&sas-token=s%3D1", "abfs", {"account_name": "a", "sas_token": "s=1"}),
        ("file:///c", "file", {}),
    ],
)  # fmt: skip
def test_parameters_become_the_options_of_the_file_system(uri: str, protocol: str, options: dict[str, Any]) -> None:
    assert protocol_and_options(StorageUri.parse(uri)) == (protocol, options)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://b/p?access-key=AKIA",
        f"s3://b/p?secret-access-key={HUSH}",
        "s3://b/p?role-arn=arn:x",
        "s3://b/p?endpoint=127.0.0.1:9000",
        "gcs://b/p?predefined-acl=private",
        f"azure://c/p?encryption-key={HUSH}",
        "azure://c/p?endpoint=http://127.0.0.1:10000/devstoreaccount1",
        *("hdfs://host/path", "s3:///no-bucket", "file:///a%zz", "http://host/x", "s3://[x/y"),
    ],
)
def test_what_is_no_storage_and_parameters_that_are_not_acted_on_are_refused(uri: str) -> None:
    with pytest.raises(ConfigError) as caught:
        store_of(uri)
    assert caught.value.option == "claim-check-storage-uri"
    assert HUSH not in str(caught.value)


def test_a_parameter_that_no_storage_has_is_ignored_with_a_warning() -> None:
    with pytest.warns(ConfigWarning, match="no parameter pretty") as warned:
        store_of(f"{S3}&region=x&pretty={quote(HUSH)}")
    assert not any(HUSH in str(warning.message) for warning in warned)


def test_the_store_of_a_changefeed() -> None:
    uri = Secret("file:///c")
    assert ClaimStore.of(LargeMessageHandle("claim-check", claim_check_storage_uri=uri)) == ClaimStore(uri)
    assert ClaimStore.of(LargeMessageHandle("handle-key-only", claim_check_storage_uri=uri)) is None


class FakeS3(MemoryFileSystem):
    protocol = "s3"
    cachable = False
    opened: list[dict[str, Any]] = []  # noqa: RUF012
    failures: list[Exception] = []  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        self.opened.append(options)
        super().__init__()

    def pipe(self, path: Any, value: Any = None, **options: Any) -> None:
        if self.failures:
            raise self.failures.pop(0)
        super().pipe(path, value, **options)


@pytest.fixture
def fake_s3(monkeypatch: pytest.MonkeyPatch) -> type[FakeS3]:
    monkeypatch.setattr(FakeS3, "opened", [])
    monkeypatch.setattr(FakeS3, "failures", [])
    monkeypatch.setattr(fsspec, "filesystem", lambda protocol, **options: {"s3": FakeS3}[protocol](**options))
    return FakeS3


CLAIM = Claim("s3://bucket/some/prefix/x.json", b"content")


def test_a_passing_failure_is_tried_again(fake_s3: type[FakeS3]) -> None:
    fake_s3.failures = [OSError("slow down"), TimeoutError()]
    store_of(S3).put([CLAIM])
    assert fake_s3.failures == []
    assert store_of(S3).get(CLAIM.location) == b"content"
    assert fake_s3.opened[0]["secret"] == HUSH


@pytest.mark.parametrize(("failure", "asked"), [(OSError(f"denied for {HUSH}"), 3), (PermissionError(f"no {HUSH}"), 1)])
def test_a_lasting_failure_names_the_place_and_no_secret(fake_s3: type[FakeS3], failure: Exception, asked: int) -> None:
    fake_s3.failures = [failure] * 3
    with pytest.raises(ClaimCheckError, match="cannot store an object") as caught:
        store_of(S3, attempts=3).put([CLAIM])
    assert len(fake_s3.failures) == 3 - asked
    assert caught.value.location == "s3://bucket/some/prefix"
    assert HUSH not in "".join(traceback.format_exception(caught.value))
    assert HUSH not in repr(store_of(S3))


def test_nothing_to_store_asks_nothing(fake_s3: type[FakeS3]) -> None:
    store_of(S3).put([])
    assert fake_s3.opened == []


def test_a_storage_without_its_package_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(protocol: str, **options: Any) -> Any:
        raise ImportError(f"Install {protocol}")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    for uri, package, extra in ((S3, "s3fs", "s3"), ("gcs://b/p", "gcsfs", "gcs"), ("azure://c/p", "adlfs", "azblob")):
        with pytest.raises(MissingDependencyError, match=rf"needs {package}.*pip install 'ticdc-emit\[{extra}\]'"):
            store_of(uri).put([Claim(f"{StorageUri.parse(uri).location}/x", b"")])
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[s3\]"):
        store_of(S3).put([CLAIM])
    with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[claim-check\]"):
        store_of("file:///c").put([Claim("file:///c/x", b"")])
