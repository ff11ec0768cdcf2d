"""A profile gives the parameters of data back, shows no text of it, and says how far two sources are apart."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from child import Cli

from ticdc_emit import table_sql
from ticdc_emit.errors import ConfigError
from ticdc_emit.profile import below, compare, model_text, profile_of
from ticdc_emit.traffic.generate import generate_arrow
from ticdc_emit.traffic.history import History

COUNT, PARENTS = 50_000, 2_000
SCHEMA = """
create table t.parents (id bigint primary key, email varchar(60) not null unique);
create table t.orders (id bigint primary key, parent bigint not null, net double, weight double, wait double, even int,
  often int, flag bool not null, late int not null, state enum('new', 'paid', 'lost') not null, code varchar(9),
  kind varchar(9) not null, note text not null, city varchar(40) not null, day date, maybe int,
  foreign key (parent) references t.parents (id));
"""


def _ranked(draw: np.random.Generator, ranks: int, exponent: float) -> Any:
    weights = np.arange(1, ranks + 1) ** -exponent
    return draw.choice(ranks, COUNT, p=weights / weights.sum())


@pytest.fixture(scope="module")
def data() -> dict[str, pa.Table]:
    draw = np.random.default_rng(1)
    orders = {
        "id": np.arange(COUNT),
        "parent": draw.permutation(PARENTS)[_ranked(draw, PARENTS, 1.1)],
        "net": draw.lognormal(np.log(50), 1, COUNT),
        "weight": draw.normal(300, 40, COUNT),
        "wait": draw.exponential(12, COUNT),
        "even": draw.integers(1, 7, COUNT),
        "often": 100 + _ranked(draw, 500, 1.3),
        "flag": draw.random(COUNT) < 0.3,
        "late": np.where(np.arange(COUNT) < 100, np.arange(COUNT) % 2, np.arange(COUNT) % 9),
        "state": draw.choice(["new", "paid"], COUNT, p=[0.75, 0.25]),
        "code": [f"AB-{each:03}" for each in draw.integers(0, 999, COUNT)],
        "kind": draw.choice(["gold", "silver"], COUNT, p=[0.2, 0.8]),
        "note": [f"{'n' * (each // 500)}{each}" for each in draw.permutation(COUNT)],
        "city": [f"City {each}" for each in draw.permutation(COUNT)],
        "day": pa.array(draw.integers(19_000, 19_100, COUNT).astype(np.int32)).cast(pa.date32()),
        "maybe": pa.array(draw.integers(0, 100, COUNT), mask=draw.random(COUNT) < 0.25),
    }
    parents = {"id": np.arange(PARENTS), "email": [f"someone{each}@mail.test" for each in range(PARENTS)]}
    return {"t.parents": pa.table(parents), "t.orders": pa.table(orders)}


def test_parameters_come_back(data: dict[str, pa.Table]) -> None:
    model = profile_of(data, schema=SCHEMA)
    assert tomllib.loads(model_text(model)) == model
    generate_arrow(SCHEMA, rows=1, model=model_text(model))
    found = {path.rpartition(".")[2]: each for path, each in model["columns"].items() if path.startswith("t.orders.")}
    asked = {
        "net": {"distribution": "lognormal", "median": 50, "sigma": 1},
        "weight": {"distribution": "normal", "mean": 300, "deviation": 40},
        "wait": {"distribution": "exponential", "mean": 12},
        "often": {"distribution": "zipf", "exponent": 1.3},
    }
    for column, options in asked.items():
        shown = {name: value for name, value in found[column].items() if name not in ("range", "nulls")}
        assert shown == {name: value if name == "distribution" else pytest.approx(value, rel=0.05)
                         for name, value in options.items()}  # fmt: skip
    assert found["even"] == {"nulls": 0.0, "range": [1, 6]}
    assert found["maybe"] == {"nulls": pytest.approx(0.25, rel=0.05), "range": [0, 99]}
    assert found["day"]["range"] == ["2022-01-08", "2022-04-17"]
    assert found["flag"] == {"labels": ["0", "1"], "weights": pytest.approx([0.7, 0.3], rel=0.05)}
    assert found["state"] == {"labels": ["new", "paid", "lost"], "weights": pytest.approx([0.75, 0.25, 0], rel=0.05)}
    assert found["code"]["pattern"] == "^^-###"
    assert found["late"] == {"range": [0, 8]}
    assert found["kind"] == {"labels": ["xxxxx0", "xxx1"], "weights": pytest.approx([0.8, 0.2], rel=0.05)}
    assert len(found["note"]["labels"]) == 100
    assert "city" not in found
    assert len(found) == len(model["columns"])  # a key has no options
    children = {"of": "t.parents", "distribution": "zipf", "exponent": pytest.approx(1.1, rel=0.05)}
    assert model["tables"] == {"t.parents": {"weight": 1.0}, "t.orders": {"weight": 25.0, "children": children}}


def test_generated_data_gives_its_model_back() -> None:
    children = {
        "fixed": {"distribution": "fixed", "count": 2},
        "few": {"distribution": "uniform", "range": [0, 5]},
        "random": {"distribution": "poisson", "mean": 3.5},
        "skewed": {"distribution": "zipf", "exponent": 1.2},
    }
    schema = "create table t.p (id bigint primary key, v int not null, size int not null, net decimal(9, 2) not null);"
    for name in children:
        schema += f"create table t.{name} (id bigint primary key, p bigint, foreign key (p) references t.p (id));"
    columns = {
        "size": {"range": [-20, 60], "distribution": "normal", "mean": 10, "deviation": 8},
        "net": {"range": [0.5, 999], "distribution": "lognormal", "median": 20, "sigma": 0.7},
    }
    tables = {name: {"children": {"of": "p", **each}} for name, each in children.items()} | {"p": {"weight": 1}}
    tables["skewed"]["weight"] = 4
    model = {"columns": {"p": columns}, "tables": tables}
    changes = generate_arrow(schema, rows=50_000, model=model).changes
    frames = {name: pa.Table.from_batches(batches) for name, batches in changes.items()}
    images = {name: each["after"].filter(pc.equal(each["op"], "c")) for name, each in frames.items()}
    source = {name: pa.Table.from_struct_array(each.combine_chunks()) for name, each in images.items()}
    found = profile_of(source, schema=schema)

    def near(options: dict[str, Any]) -> dict[str, Any]:
        return {name: value if isinstance(value, str | list) else pytest.approx(value, rel=0.05)
                for name, value in options.items()}  # fmt: skip

    for name, each in children.items():
        assert found["tables"][f"t.{name}"]["children"] == {"of": "t.p", **near(each)}
    for name, each in columns.items():
        shown = {key: value for key, value in found["columns"][f"t.p.{name}"].items() if key != "range"}
        assert shown == near({key: value for key, value in each.items() if key != "range"})


def test_rates_come_back_from_changes() -> None:
    traffic = generate_arrow("bank", rows=20_000, tables=["bank.accounts", "bank.customers"])
    rows = [{"schema": "bank", "table": name[5:], **row}
            for name, batches in traffic.changes.items() for batch in batches for row in batch.to_pylist()]  # fmt: skip
    model = profile_of(History(traffic.schema, rows + rows[:500]))
    customers, accounts = model["tables"].values()
    assert (customers["updates"], customers["deletes"]) == (pytest.approx(3, rel=0.05), pytest.approx(0.5, rel=0.05))
    assert "deletes" not in accounts
    assert "children" in accounts
    generate_arrow("bank", rows=1, tables=["bank.accounts", "bank.customers"], model=model)
    assert model["load"]["transaction_size"] == pytest.approx(1, rel=0.05)


def test_no_text_and_no_small_group_leaves() -> None:
    count = 100_000
    words = [hashlib.sha256(str(each).encode()).hexdigest() for each in range(count)]
    letters = [word.translate(str.maketrans("0123456789", "ghijklmnop")) for word in words]
    columns = {
        "who": [f"{each[:6].title()} {each[6:14].title()}" for each in letters],
        "place": [
            f"{each[:9].title()} {int(word[:2], 16)}, {word[:5]}" for each, word in zip(letters, words, strict=True)
        ],
        "kind": ["common"] * (count - 19) + ["secret"] * 19,
        "salary": [*range(1000, 1000 + count - 1), 987_654_321],
    }
    text = model_text(profile_of({"t.people": pa.table(columns)}, keep_values="kind"))
    assert "common" in text
    assert not any(each in text for each in [*columns["who"], *columns["place"], "secret", "987654321", "1000,"])
    text = model_text(profile_of({"t.people": pa.table(columns)}))
    assert "common" not in text
    with pytest.raises(ConfigError, match="no table of the source has 'kin'"):
        profile_of({"t.people": pa.table(columns)}, keep_values="kin")


def test_files_are_read_and_compared(data: dict[str, pa.Table], tmp_path: Path) -> None:
    pq.write_table(data["t.parents"], tmp_path / "t.parents.parquet")
    pa_csv.write_csv(data["t.orders"], tmp_path / "t.orders.csv")
    assert profile_of(tmp_path, schema=SCHEMA) == profile_of(data, schema=SCHEMA)
    half = {"t.orders": data["t.orders"].slice(0, COUNT // 2)}
    found = {each["column"]: each for each in compare({"t.orders": tmp_path / "t.orders.csv"}, half, schema=SCHEMA)}
    assert all(each["distance"] < 0.02 for name, each in found.items() if name != "id")
    assert (found["id"]["distance"], found["state"]["by"]) == (pytest.approx(0.5, abs=0.01), "labels")
    with pytest.raises(ConfigError, match="only Parquet and CSV"):
        profile_of({"t.orders": tmp_path / "t.orders.orc"})


def test_like_generates_what_was_profiled(
    tmp_path: Path, data: dict[str, pa.Table], capsys: pytest.CaptureFixture[str]
) -> None:
    cli, place, uri = Cli(capsys), f"t.orders={tmp_path}/orders.parquet", f"jsonl://{tmp_path}/out?protocol=canal-json"
    pq.write_table(data["t.orders"], tmp_path / "orders.parquet")
    (tmp_path / "t.sql").write_text(table_sql(data["t.orders"], "t.orders", "id"))
    above = "columns.orders.wait.range = [7, 8]\ntables.'t.orders'.updates = 0"
    assert cli("generate", "--like", place, "--model", above, "--rows", 3000, "--sink-uri", uri, "--json").json["rows"]
    found = cli("profile", uri, "--schema", tmp_path / "t.sql", "--compare", place, "--json").json
    apart = {each["column"]: each for each in found}
    assert max(apart[each]["distance"] for each in ("net", "weight", "often", "kind", "note", "maybe")) < 0.1
    assert apart["wait"]["distance"] > 0.3
    assert (apart["kind"]["by"], apart["state"]["by"]) == ("frequencies", "frequencies")
    assert "tables" in tomllib.loads(cli("profile", uri, "--schema", tmp_path / "t.sql").out)
    assert "Give --schema, or data with --like" in cli("generate", code=2).err


def test_a_model_above_may_name_its_trouble() -> None:
    merged = below({"tables": {}, "trouble": {"key_updates": 0.1}}, {"trouble": "realistic"})
    assert merged["trouble"] == {"key_updates": 0.1, "redelivery": 0.001, "lag": 0.01, "shared_commits": 0.18}
