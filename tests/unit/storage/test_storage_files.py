"""What a storage sink refuses; its files are recorded (tests/vector/test_storage_vectors.py)."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.storage import FileRules, MemoryFolder, StorageFiles


def test_a_ddl_without_columns() -> None:
    event = DdlEvent("drop table x", "drop table", "shop", "x", commit_ts=450000000262144000)
    folder, now = MemoryFolder(), datetime(2024, 5, 6, 23, 30, tzinfo=timezone.utc)
    for release in ("next", "classic"):
        rules = FileRules.of(load_changefeed("s3://b?protocol=csv", release=release))
        if release == "next":
            StorageFiles(rules, folder, now=now).ddl(event)
        else:
            with pytest.raises(SchemaError, match="a DDL of a table without columns"):
                StorageFiles(rules, folder, now=now).ddl(event)
    ((_, content),) = folder.writes
    assert json.loads(content)["TableColumns"] is None
