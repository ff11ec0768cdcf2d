"""The conformance vectors and their runner as one file, apart from the wheel.

In: ``tests/vectors`` and ``tests/conformance``. Out: ``ticdc-emit-vectors-VERSION.tar.gz``, with the same bytes each
time. To use it
where the package is installed from a wheel:

    python -m tests.vector_archive dist
    tar -xf dist/ticdc-emit-vectors-VERSION.tar.gz
    cd ticdc-emit-vectors-VERSION && python -m conformance .
"""

from __future__ import annotations

import argparse
import gzip
import tarfile
from pathlib import Path

from ticdc_emit import __version__

_ROOT = Path(__file__).parents[1]
_VECTORS = _ROOT / "tests" / "vectors"
_RUNNER = _ROOT / "tests" / "conformance"


def write_archive(folder: Path) -> Path:
    """Write the archive into ``folder``, which is created if it is missing, and return its path."""
    name = f"ticdc-emit-vectors-{__version__}"
    files = sorted(path for path in _VECTORS.rglob("*") if path.is_file())
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name}.tar.gz"
    # The time and the name in gzip's header would differ from run to run.
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        _add(tar, _ROOT / "LICENSE", f"{name}/LICENSE")
        for path in sorted(_RUNNER.iterdir()):
            if path.suffix in (".py", ".md", ".toml") and not path.name.startswith("test_"):
                _add(tar, path, f"{name}/conformance/{path.name}")
        for path in files:
            _add(tar, path, f"{name}/{path.relative_to(_VECTORS).as_posix()}")
    return archive


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = path.stat().st_size
    with path.open("rb") as content:
        tar.addfile(member, content)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the archive of the conformance vectors.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("dist"), help="where to (default: dist)")
    archive = write_archive(parser.parse_args().folder)
    print(f"{archive} ({archive.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
