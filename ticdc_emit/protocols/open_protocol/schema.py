"""Open Protocol's frame (a key is the version, then a frame for each row; a value only these), kinds and flags."""

from __future__ import annotations

from enum import IntEnum, IntFlag

LENGTH_BYTES = 8
VERSION = (1).to_bytes(LENGTH_BYTES, "big")


class Kind(IntEnum):
    """What a message is: the member ``t`` of its key."""

    ROW = 1
    DDL = 2
    WATERMARK = 3


class Flag(IntFlag):
    NONE = 0
    BINARY = 1
    HANDLE_KEY = 2
    GENERATED = 4
    PRIMARY_KEY = 8
    UNIQUE_KEY = 16
    MULTIPLE_KEY = 32
    NULLABLE = 64
    UNSIGNED = 128
    ZEROFILL = 256


def frame(content: bytes) -> bytes:
    """Return a key or a value after its length."""
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


def key_frame(key: bytes) -> bytes:
    """Return the only key of a record in its frame, after the version."""
    return VERSION + frame(key)
