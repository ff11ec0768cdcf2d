"""The package as a whole: what importing it loads, what survives pickling, what the version says."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import ticdc_emit
from ticdc_emit import errors
from ticdc_emit.encoder import Encoder

HEAVY = "pyspark confluent_kafka typer rich pandas fsspec"
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.TicdcEmitError)]


IMPORTED = {
    "import ticdc_emit.encoder, ticdc_emit.delivery.memory": HEAVY,
    "from ticdc_emit import Encoder": "ssl ticdc_emit.delivery.kafka ticdc_emit.registry.http ticdc_emit.pipeline.run",
    "from ticdc_emit import KafkaSink, MemoryRegistry, backfilled, generate_arrow, read_ddl, read_source, "
    "snapshot_diff, snapshot_inserts, table_of, versions_of": "pyspark confluent_kafka",
    "import ticdc_emit.config": "pyspark confluent_kafka typer rich pyarrow",
    "from ticdc_emit.schema.catalog import catalog_from_sql; "
    "catalog_from_sql('create table a.t (id int primary key, b int default 3)')": "pyarrow",
    "import ticdc_emit.observe.reports, ticdc_emit.pipeline.run": "rich prometheus_client pyspark",
    "import ticdc_emit.cli.app": "pyspark confluent_kafka pandas ticdc_emit.spark ticdc_emit.traffic",
}
"""What must not be loaded by an import."""


@pytest.mark.system
@pytest.mark.parametrize(("statement", "others"), IMPORTED.items())
def test_importing_loads_nothing_that_is_not_needed(statement: str, others: str) -> None:
    code = f"import sys; {statement}; print([name for name in {others.split()!r} if name in sys.modules])"
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


def test_a_missing_package_is_installed_from_an_index_or_from_a_checkout() -> None:
    error = errors.MissingDependencyError("Kafka sinks need confluent-kafka", extra="kafka")
    assert str(error).endswith("Run: pip install 'ticdc-emit[kafka]' (in a checkout: pip install '.[kafka]')")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_every_extra_that_an_error_or_a_page_names_exists() -> None:
    root = Path(__file__).parents[2]
    named = set()
    for file in [*root.glob("ticdc_emit/**/*.py"), *root.glob("docs/*.md"), root / "README.md"]:
        text = file.read_text(encoding="utf-8")
        lists = re.findall(r"\bextra=\"([\w-]+)\"|pip install -?q? ?['\"](?:ticdc-emit|\.)\[([\w,-]+)\]", text)
        named |= {extra for pair in lists for extra in "".join(pair).split(",")}
    assert {"all", "avro", "java", "kafka", "state"} <= named
    extras = (root / "pyproject.toml").read_text(encoding="utf-8").partition("[project.optional-dependencies]")[2]
    assert named <= set(re.findall(r"^([\w-]+) = \[", extras.partition("\n[")[0], re.MULTILINE))


def test_a_plan_pickles_and_encodes_the_same() -> None:
    encoder = Encoder("memory://x?protocol=canal-json", "create table test.t (id int primary key, v varchar(5))")
    rows = [{"op": "c", "commit_ts": 1 << 40, "after": {"id": 1, "v": "a"}}]
    before = encoder.encode(rows)
    encoder.plan = pickle.loads(pickle.dumps(encoder.plan))
    assert encoder.encode(rows).equals(before)


def test_the_version_is_the_distribution_s() -> None:
    assert ticdc_emit.__version__ == version("ticdc-emit")


RUNS_CODE = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "yaml", "jsonpickle"}
RUNS_CODE |= {"read_pickle", "allow_pickle", "CloudPickleSerializer", "CPickleSerializer", "PickleSerializer"}


def test_no_module_reads_a_format_that_runs_code() -> None:
    """What is staged, shuffled or kept as state may have been written by others: it is Arrow or JSON."""
    found = []
    for path in sorted(Path(ticdc_emit.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            match node:
                case ast.Import(names=aliases):
                    names = [alias.name for alias in aliases]
                case ast.ImportFrom(module=module, names=aliases):
                    names = [module or "", *(alias.name for alias in aliases)]
                case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=args):
                    names = [str(arg.value) for arg in args if isinstance(arg, ast.Constant)]
                case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                    names = [name]
            found += [f"{path}: {name}" for name in names if set(name.split(".")) & RUNS_CODE]
    assert found == []
