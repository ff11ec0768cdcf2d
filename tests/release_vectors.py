"""Which vectors of older releases the repository holds.

In: a folder with all of them, ``<lineage>-<tag>/<set>/<case>.json.gz``, and with the new cases of the newest releases,
``<lineage>-base``. Out: ``tests/vectors/releases`` with the cases whose bytes differ from what the newest release of
their lineage sends, a fifth of the others, and all of the newest ones:

    python tests/release_vectors.py FOLDER

A case differs if this library, as the newest release, does not match it. Of the others, a checksum of the place
chooses, so each release has another fifth.
"""

from __future__ import annotations

import argparse
import shutil
import zlib
from pathlib import Path

from conformance.run import run_conformance
from conformance.vectors import find_vectors
from vector_files import VECTORS

RELEASED = VECTORS.parent / "releases"
_FIFTH = 5
_PROTOCOLS = ("debezium", "open-protocol", "avro", "canal-json", "simple", "debezium-avro")
"""What differs most often, first."""


def is_chosen(place: str, share: int) -> bool:
    """Return whether a case is in the part of ``1 / share`` that its place chooses."""
    return zlib.crc32(place.encode()) % share == 0


def _is_kept(place: Path, file: Path) -> bool:
    lineage, _, release = place.parts[0].partition("-")
    if release == "base" or is_chosen(place.as_posix(), _FIFTH):
        return True
    return any(not run_conformance([file], protocol=each, release=lineage).ok for each in _PROTOCOLS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the vectors of older releases.")
    parser.add_argument("folder", type=Path, help="all of them")
    folder = parser.parse_args().folder
    shutil.rmtree(RELEASED, ignore_errors=True)
    for file in find_vectors([folder]):
        place = file.relative_to(folder)
        if _is_kept(place, file):
            (RELEASED / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, RELEASED / place)
            print(place, flush=True)


if __name__ == "__main__":
    main()
