"""The package as a whole: what importing it loads, what survives pickling, what the version says."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from importlib.metadata import version

import pytest

import ticdc_emit
from ticdc_emit import errors
from ticdc_emit.encode.encoder import Encoder

HEAVY = ("pyspark", "confluent_kafka", "typer", "rich", "pandas", "fsspec")
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.TicdcEmitError)]


def test_importing_loads_no_optional_package() -> None:
    modules = "ticdc_emit, ticdc_emit.delivery, ticdc_emit.encode.encoder, ticdc_emit.delivery.factory"
    code = f"import sys, {modules}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_pickles_with_its_place(kind: type[errors.TicdcEmitError]) -> None:
    error = kind("the cause", remedy="Do this", table="test.t", row={"id": 1}, option=None)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error) == "the cause [table='test.t', row={'id': 1}]. Do this"
    assert copy.table == "test.t"
    with pytest.raises(AttributeError):
        _ = copy.option


def test_a_plan_pickles_and_encodes_the_same() -> None:
    encoder = Encoder("memory://x?protocol=canal-json", "create table test.t (id int primary key, v varchar(5))")
    rows = [{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]
    before = encoder.encode(rows)
    encoder.plan = pickle.loads(pickle.dumps(encoder.plan))
    assert encoder.encode(rows).equals(before)


def test_the_version_is_the_distribution_s() -> None:
    assert ticdc_emit.__version__ == version("ticdc-emit")
