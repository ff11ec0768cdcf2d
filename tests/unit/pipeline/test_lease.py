"""One writer per state store: the second is told who the first one is; a dead one is followed at once."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from ticdc_emit.errors import StateError
from ticdc_emit.pipeline import lease
from ticdc_emit.pipeline.lease import LEASE_SECONDS, Lease, Process
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.pipeline.state_store import FsspecStateStore

ELSEWHERE = Process("db-7", "another machine", 4711, "99")


@pytest.fixture(params=["file", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder where leases are taken under a lock, and one where they are not."""
    if request.param == "file":
        yield str(tmp_path)
        return
    yield f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").store.clear()


def lease_at(root: str) -> Lease:
    return Lease(*fsspec.core.url_to_fs(root))


def content(root: str) -> dict[str, Any]:
    fs, path = fsspec.core.url_to_fs(root)
    found: dict[str, Any] = json.loads(fs.cat_file(f"{path}/writer.json"))
    return found


def write(root: str, process: Process, *, renewed: float, since: float = 300) -> None:
    """Leave the lease of a process that began and was last renewed so many seconds ago."""
    now = time.time_ns() // 1_000_000
    times = {"since_ms": now - int(since * 1000), "renewed_ms": now - int(renewed * 1000)}
    fs, path = fsspec.core.url_to_fs(root)
    fs.makedirs(path, exist_ok=True)
    fs.pipe_file(f"{path}/writer.json", json.dumps({"token": "other", **process._asdict(), **times}).encode())


@pytest.fixture
def other_process() -> Iterator[Process]:
    """A process of this machine that lives; its identity, and its end by a line on stdin."""
    code = "from ticdc_emit.pipeline.lease import Process; print(*Process.this(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    host, machine, pid, started = child.stdout.readline().split()
    yield Process(host, machine, int(pid), started)
    child.communicate("\n")


def test_a_second_machine_is_told_host_process_and_age(root: str) -> None:
    write(root, ELSEWHERE, renewed=5)
    with pytest.raises(StateError, match="another writer uses this state_uri") as refused:
        lease_at(root).hold()
    error = refused.value
    assert (error.host, error.pid) == ("db-7", 4711)
    assert 300 <= error.held_seconds < 400
    assert 5 <= error.renewed_seconds_ago < 60
    assert "another state_uri" in error.remedy
    assert content(root)["token"] == "other"


def test_a_lease_that_was_not_renewed_is_over(root: str) -> None:
    write(root, ELSEWHERE, renewed=LEASE_SECONDS + 1)
    held = lease_at(root)
    held.hold()
    assert content(root)["pid"] == os.getpid()


def test_a_living_process_of_this_machine_keeps_its_lease(root: str, other_process: Process) -> None:
    write(root, other_process, renewed=1)
    with pytest.raises(StateError, match="another writer uses") as refused:
        lease_at(root).hold()
    assert refused.value.pid == other_process.pid


def test_a_dead_process_of_this_machine_is_followed_at_once(root: str) -> None:
    code = "from ticdc_emit.pipeline.lease import Process; print(*Process.this())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    host, machine, pid, started = child.stdout.split()
    write(root, Process(host, machine, int(pid), started), renewed=1)
    held = lease_at(root)
    held.hold()
    assert content(root)["pid"] == os.getpid()


def test_a_pid_that_was_given_anew_is_another_process(root: str, other_process: Process) -> None:
    if not other_process.started:
        pytest.skip("this system does not show when a process began")
    write(root, other_process._replace(started="1"), renewed=1)
    lease_at(root).hold()


def test_a_process_that_was_killed_is_followed_at_once(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from ticdc_emit.pipeline.state import BatchState\n"
        "from ticdc_emit.pipeline.state_store import FsspecStateStore\n"
        "store = FsspecStateStore(sys.argv[1])\n"
        "store.save(BatchState(0))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert content(str(tmp_path))["pid"] != os.getpid()
    store = FsspecStateStore(str(tmp_path))
    store.save(BatchState(1))
    assert content(str(tmp_path))["pid"] == os.getpid()


def test_a_new_writer_of_the_same_process_takes_over_and_the_old_one_is_refused(root: str) -> None:
    first, second = FsspecStateStore(root), FsspecStateStore(root)
    first.save(BatchState(0))
    second.save(BatchState(1))
    with pytest.raises(StateError, match="has taken over") as refused:
        first.save(BatchState(2))
    assert refused.value.pid == os.getpid()
    assert refused.value.remedy
    second.save(BatchState(2))
    assert second.load(2) == BatchState(2)


def test_whoever_lost_a_lease_that_was_given_back_since_is_refused(root: str) -> None:
    first, second = FsspecStateStore(root), FsspecStateStore(root)
    first.save(BatchState(0))
    second.save(BatchState(1))
    second.release()
    with pytest.raises(StateError, match="lease of this state_uri is gone"):
        first.save(BatchState(2))


def test_a_lease_is_given_back_by_release_and_by_being_forgotten(root: str) -> None:
    fs, path = fsspec.core.url_to_fs(root)
    held = lease_at(root)
    held.hold()
    held.release()
    assert not fs.exists(f"{path}/writer.json")
    held.hold()
    assert content(root)["pid"] == os.getpid()
    del held
    gc.collect()
    assert not fs.exists(f"{path}/writer.json")


def test_a_lease_is_renewed_in_the_background(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.01)
    held = lease_at(root)
    held.hold()
    first = content(root)["renewed_ms"]
    while content(root)["renewed_ms"] == first:  # ends by the test's time limit if it never is
        time.sleep(0.01)
    held.hold()
    held.release()


def test_renewing_never_takes_a_lease_back(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = lease_at(root)
    held.hold()
    write(root, ELSEWHERE, renewed=0)
    assert held._held is not None
    held._held._renew()
    held.release()
    assert content(root)["token"] == "other"


def test_a_pickled_lease_is_not_held(root: str) -> None:
    held = lease_at(root)
    held.hold()
    copy = pickle.loads(pickle.dumps(held))
    assert not copy.is_held
    del copy
    gc.collect()
    held.hold()
    held.release()


def test_a_forked_child_does_not_have_the_lease_and_does_not_remove_it(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    code = (
        "import os, sys\n"
        "import fsspec\n"
        "from ticdc_emit.pipeline.lease import Lease\n"
        "from ticdc_emit.errors import StateError\n"
        "lease = Lease(*fsspec.core.url_to_fs(sys.argv[1]))\n"
        "lease.hold()\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        lease.hold()\n"
        "    except StateError as error:\n"
        "        assert error.pid == os.getppid()\n"
        "        sys.exit(0)\n"
        "    sys.exit(1)\n"
        "_, status = os.wait()\n"
        "assert status == 0\n"
        "lease.hold()\n"
        "lease.release()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", [b"", b"{}", b"[" * 9_999, b'{"token": 5}', b"\xff"])
def test_a_damaged_lease_is_a_state_error(root: str, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_ATTEMPT_SECONDS", 0)
    fs, path = fsspec.core.url_to_fs(root)
    fs.makedirs(path, exist_ok=True)
    fs.pipe_file(f"{path}/writer.json", text)
    with pytest.raises(StateError, match="cannot be read") as refused:
        lease_at(root).hold()
    assert refused.value.file == "writer.json"
    assert "remove the file" in refused.value.remedy
