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
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

__all__ = ["Buildah", "Docker", "Engine", "Running", "find_engine"]

ROOT = Path(__file__).parents[2]
_SUITE = "bookworm"
_PACKAGES = "ca-certificates,python3,python3-venv"
_MIRROR = "http://deb.debian.org/debian"


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)[:300]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return str(done.stdout)


class Running(ABC):
    """A container that runs. ``process``: of this machine, with its stdout."""

    process: subprocess.Popen[str]

    @abstractmethod
    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container."""

    @abstractmethod
    def terminate(self) -> int:
        """Send SIGTERM to the container's first process; return its exit code."""


class Engine(ABC):
    """Builds the image at once. ``image``: its name; ``base``: that of its base."""

    image: str
    base: str

    @abstractmethod
    def start(self, name: str, command: Sequence[str], *, env: Mapping[str, str], files: Mapping[str, Path]) -> Running:
        """Start a container. ``command``: with the entry point. ``files``: by their place in the container."""

    @abstractmethod
    def configuration(self) -> dict[str, object]:
        """Return the image's configuration, as Docker names its members."""

    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the image and of its base, uncompressed."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the image's layers to a folder or an archive."""

    @property
    @abstractmethod
    def shares_network(self) -> bool:
        """Whether containers share the network of this machine."""

    @abstractmethod
    def close(self) -> None:
        """Remove what was made."""


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


class Docker(Engine):
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
        return _InDocker(self, name, command, env, files)

    def configuration(self) -> dict[str, object]:
        (found,) = json.loads(_run("docker", "image", "inspect", self.image))
        config: dict[str, object] = found["Config"]
        return config

    def sizes(self) -> tuple[int, int]:
        image, base = (
            int(_run("docker", "image", "inspect", "-f", "{{.Size}}", each)) for each in (self.image, self.base)
        )
        return image, base

    def save(self, path: Path) -> None:
        _run("docker", "save", "-o", str(path), self.image)

    def close(self) -> None:
        subprocess.run(["docker", "network", "rm", self._network], capture_output=True, check=False)
        subprocess.run(["docker", "image", "rm", self.image], capture_output=True, check=False)


class _InDocker(Running):
    def __init__(
        self, engine: Docker, name: str, command: Sequence[str], env: Mapping[str, str], files: Mapping[str, Path]
    ) -> None:
        self._name = f"{engine.image}-{name}"
        options = [f"--env={key}={value}" for key, value in env.items()]
        options += [f"--volume={source}:{place}:ro" for place, source in files.items()]
        network = ["--network", engine.image, "--network-alias", name]
        entry, *arguments = command
        self.process = subprocess.Popen(
            ["docker", "run", "--rm", "--name", self._name, *network, *options, "--entrypoint", entry, engine.image,
             *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", "exec", self._name, *command], capture_output=True, text=True, check=False, timeout=120
        )

    def terminate(self) -> int:
        subprocess.run(["docker", "kill", "--signal", "TERM", self._name], capture_output=True, check=False)
        return self.process.wait(60)


class Buildah(Engine):
    """The image by Buildah with its own storage, on a base that debootstrap makes; containers are chroots."""

    shares_network = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._buildah = [
            "buildah",
            "--root",
            f"{folder}/store",
            "--runroot",
            f"{folder}/run",
            "--storage-driver",
            "vfs",
        ]
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
        return _InBuildah([*self._buildah, "run", "--isolation=chroot"], self.container, command, env, files)

    def configuration(self) -> dict[str, object]:
        config: dict[str, object] = json.loads(self.buildah("inspect", "--type=image", self.image))["Docker"]["config"]
        return config

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


class _InBuildah(Running):
    def __init__(
        self,
        run: Sequence[str],
        container: str,
        command: Sequence[str],
        env: Mapping[str, str],
        files: Mapping[str, Path],
    ) -> None:
        self._run, self._container = run, container
        options = [f"--env={key}={value}" for key, value in env.items()]
        options += [f"--volume={source}:{place}:ro" for place, source in files.items()]
        self.process = subprocess.Popen(
            [*self._run, *options, self._container, "--", *command], stdout=subprocess.PIPE, text=True
        )

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._run, self._container, "--", *command], capture_output=True, text=True, check=False, timeout=120
        )

    def terminate(self) -> int:
        """Send SIGTERM to the last of the processes that ``buildah run`` has started, which is the container's."""
        if self.process.poll() is None:
            os.kill(_last_child(self.process.pid), signal.SIGTERM)
        return self.process.wait(60)


def _last_child(process: int) -> int:
    for _ in range(50):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        threads = Path(f"/proc/{process}/task").iterdir()
        children = children or [each for own in threads for each in (own / "children").read_text().split()]
        if not children:
            return process
        process = int(children[-1])
    return process


def find_engine(folder: Path) -> Engine | str:
    """Return the image as the first engine that works here has built it, or the reason why none does."""
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0:
        return Docker(folder)
    if os.geteuid() == 0 and shutil.which("buildah") and shutil.which("debootstrap"):
        return Buildah(folder)
    return "the image needs a Docker daemon, or root with buildah and debootstrap (apt install buildah debootstrap)"
