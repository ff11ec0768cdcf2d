"""What builds the image and runs it: Docker, or Buildah in a chroot where no Docker daemon runs.

In: the repository. Out: an :class:`Engine` with the image, and containers that know each other by name. Buildah takes a
base that debootstrap makes, because no registry of images need be reachable; its containers share the network of this
machine, so each name is loopback and ports must be free.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

ROOT = Path(__file__).parents[2]
_SUITE = "bookworm"
_PACKAGES = "ca-certificates,python3,python3-venv"
_MIRROR = "http://deb.debian.org/debian"


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)[:300]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return str(done.stdout)


class Running:
    """A container that runs. ``process``: of this machine, with its stdout."""

    def __init__(self, command: Sequence[str], inside: Sequence[str], end: Callable[[int], object]) -> None:
        """``inside``: what runs a command in the container; ``end``: sends SIGTERM to its first process."""
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._inside, self._end = inside, end

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container."""
        return subprocess.run([*self._inside, *command], capture_output=True, text=True, check=False, timeout=120)

    def terminate(self) -> int:
        """Send SIGTERM to the container's first process; return its exit code."""
        if self.process.poll() is None:
            self._end(self.process.pid)
        return self.process.wait(60)


def _options(env: Mapping[str, str], files: Mapping[str, Path]) -> list[str]:
    volumes = [f"--volume={source}:{place}:ro" for place, source in files.items()]
    return [*(f"--env={key}={value}" for key, value in env.items()), *volumes]


def _secrets(folder: Path) -> list[str]:
    """Return the build's secrets: pip's own configuration on this machine, and the authorities that it trusts."""
    authorities = os.environ.get("PIP_CERT") or "/etc/ssl/certs/ca-certificates.crt"
    lines = ["[global]", "cert = /run/secrets/ca.pem", "timeout = 180"]
    for variable, option in (("PIP_INDEX_URL", "index-url"), ("PIP_EXTRA_INDEX_URL", "extra-index-url")):
        if variable in os.environ:
            lines.append(f"{option} = {os.environ[variable]}")
    own = folder / "pip.conf"
    own.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["--secret", f"id=pip.conf,src={own}", "--secret", f"id=ca.pem,src={authorities}"]


class Docker:
    """The image by Docker, on the base that the Dockerfile names."""

    shares_network = False

    def __init__(self, folder: Path) -> None:
        self.image = f"ticdc-emit-test-{uuid4().hex[:8]}"
        self._network = self.image
        (line,) = (line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("ARG BASE="))
        self.base = line.removeprefix("ARG BASE=")
        _run("docker", "pull", "--quiet", self.base)
        _run("docker", "build", "--quiet", *_secrets(folder), "-t", self.image, str(ROOT))
        _run("docker", "network", "create", self._network)

    def start(self, name: str, command: Sequence[str], *, env: Mapping[str, str], files: Mapping[str, Path]) -> Running:
        """Start a container. ``command``: with the entry point. ``files``: by their place in the container."""
        own, (entry, *arguments) = f"{self.image}-{name}", command
        network = ["--network", self.image, "--network-alias", name]
        run = [
            "docker",
            "run",
            "--rm",
            "--name",
            own,
            *network,
            *_options(env, files),
            "--entrypoint",
            entry,
            self.image,
        ]
        end = ["docker", "kill", "--signal", "TERM", own]
        inside = ["docker", "exec", own]
        return Running([*run, *arguments], inside, lambda _: subprocess.run(end, capture_output=True, check=False))

    def configuration(self) -> dict[str, object]:
        """Return the image's configuration, as Docker names its members."""
        (found,) = json.loads(_run("docker", "image", "inspect", self.image))
        return found["Config"]

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the image and of its base, uncompressed."""
        image, base = (
            int(_run("docker", "image", "inspect", "-f", "{{.Size}}", each)) for each in (self.image, self.base)
        )
        return image, base

    def save(self, path: Path) -> None:
        _run("docker", "save", "-o", str(path), self.image)

    def close(self) -> None:
        subprocess.run(["docker", "network", "rm", self._network], capture_output=True, check=False)
        subprocess.run(["docker", "image", "rm", self.image], capture_output=True, check=False)


class Buildah:
    """The image by Buildah with its own storage, on a base that debootstrap makes; containers are chroots."""

    shares_network = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        places = ["--root", f"{folder}/store", "--runroot", f"{folder}/run"]
        self._buildah = ["buildah", *places, "--storage-driver", "vfs"]
        self.image, self.base = "localhost/ticdc-emit", "localhost/base"
        root = folder / "base"
        _run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(root), _MIRROR)
        for cache in ("var/cache/apt", "var/lib/apt/lists"):
            shutil.rmtree(root / cache)
        empty = self.buildah("from", "scratch").strip()
        self.buildah("add", "--quiet", empty, str(root), "/")
        self.buildah("commit", "--quiet", "--rm", empty, self.base)
        self._base_bytes = _bytes_below(root)
        shutil.rmtree(root)
        self.buildah(
            "build", "--isolation=chroot", "--format=docker", *_secrets(folder), f"--build-arg=BASE={self.base}", "-t",
            self.image, str(ROOT),
        )  # fmt: skip
        # one for all: Buildah runs several commands in a container, and copies the image for each container
        self.container = self.buildah("from", "--add-host=kafka:127.0.0.1", self.image).strip()

    def buildah(self, *arguments: str) -> str:
        """Run Buildah and return what it prints."""
        return _run(*self._buildah, *arguments)

    def start(self, name: str, command: Sequence[str], *, env: Mapping[str, str], files: Mapping[str, Path]) -> Running:
        """Start a container. The last of the processes that ``buildah run`` has started is the container's."""
        run = [*self._buildah, "run", "--isolation=chroot"]
        own = [*run, *_options(env, files), self.container, "--", *command]
        return Running(own, [*run, self.container, "--"], lambda pid: os.kill(_last_child(pid), signal.SIGTERM))

    def configuration(self) -> dict[str, object]:
        return json.loads(self.buildah("inspect", "--type=image", self.image))["Docker"]["config"]

    def sizes(self) -> tuple[int, int]:
        return _bytes_below(Path(self.buildah("mount", self.container).strip())), self._base_bytes

    def save(self, path: Path) -> None:
        self.buildah("push", self.image, f"docker-archive:{path}:ticdc-emit")

    def close(self) -> None:
        subprocess.run([*self._buildah, "rm", "--all"], capture_output=True, check=False)
        subprocess.run([*self._buildah, "rmi", "--all", "--force"], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)


def _bytes_below(folder: Path) -> int:
    return int(_run("du", "--summarize", "--bytes", "--one-file-system", str(folder)).split()[0])


def _last_child(process: int) -> int:
    for _ in range(50):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        threads = Path(f"/proc/{process}/task").iterdir()
        children = children or [each for own in threads for each in (own / "children").read_text().split()]
        if not children:
            return process
        process = int(children[-1])
    return process


Engine: TypeAlias = Docker | Buildah


def find_engine(folder: Path) -> Engine | str:
    """Return the image as the first engine that works here has built it, or the reason why none does."""
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0:
        return Docker(folder)
    if os.geteuid() == 0 and shutil.which("buildah") and shutil.which("debootstrap"):
        return Buildah(folder)
    return "the image needs a Docker daemon, or root with buildah and debootstrap (apt install buildah debootstrap)"
