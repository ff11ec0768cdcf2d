"""The figure of docs/profile.md: made-up original data, and what ``generate`` makes of its profile, column by column.

``python docs/site/profile_figure.py`` writes ``docs/assets/profile.svg``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit import generate_arrow
from ticdc_emit.profile import compare, profile_of

COUNT, BINS, WIDTH, HEIGHT = 50_000, 26, 208, 110
SCHEMA = """create table shop.orders (id bigint primary key, seconds int not null, total decimal(10, 2) not null,
  placed date not null, status varchar(10) not null, remark varchar(200) not null, version int);"""
PANELS = {
    "seconds": "number: seconds",
    "total": "money: total",
    "placed": "date: placed",
    "status": "labels: status",
    "remark": "text: length of remark",
}
STYLE = """
    text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px; fill: #1c2733; }
    .small { font-size: 12px; fill: #4a5a6a; }
    .given { fill: #b9c6d3; }
    .made { fill: none; stroke: #2458b8; stroke-width: 2; }
    .axis { stroke: #9fb2c4; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e8eef4; }
      .small { fill: #b2c0cd; }
      .given { fill: #4a5a6a; }
      .made { stroke: #8db4ff; }
      .axis { stroke: #56687a; }
    }"""


def original() -> pa.Table:
    """Return rows none of whose columns is quite one of the generator's distributions."""
    draw = np.random.default_rng(4)
    is_slow = draw.random(COUNT) < 0.15
    lengths = 6 + draw.gamma(4, 9, COUNT).astype(int)
    days = 19_000 + (365 * draw.random(COUNT) ** 0.8).astype(np.int32)
    return pa.table(
        {
            "id": np.arange(COUNT),
            "seconds": np.where(is_slow, draw.normal(380, 60, COUNT), draw.normal(240, 40, COUNT)).clip(1).astype(int),
            "total": np.floor(draw.lognormal(3.6, 0.7, COUNT)) + 0.99,
            "placed": pa.array(days.astype(np.int32)).cast(pa.date32()),
            "status": draw.choice(["paid", "sent", "new", "returned", "lost"], COUNT, p=[0.5, 0.27, 0.14, 0.07, 0.02]),
            "remark": ["x" * (each - 6) + f"{n:06}" for n, each in enumerate(lengths.tolist())],
            "version": draw.integers(1, 1000, COUNT),
        }
    )


def generated(given: pa.Table) -> pa.Table:
    """Return the rows of inserts that are generated like the given ones."""
    model = profile_of({"shop.orders": given}, schema=SCHEMA)
    model["tables"]["shop.orders"] |= {"updates": 0, "deletes": 0}
    changes = generate_arrow(SCHEMA, rows=COUNT, seed=4, model=model).changes["shop.orders"]
    return pa.Table.from_struct_array(pa.Table.from_batches(list(changes))["after"].combine_chunks())


def counts(name: str, first: Any, second: Any) -> list[np.ndarray]:
    """Return the shares of both in the same bins; labels by how frequent they are."""
    if name == "status":
        return [np.sort(np.unique(each, return_counts=True)[1])[::-1] / COUNT for each in (first, second)]
    high = np.quantile(first, 0.995)
    edges = np.linspace(first.min(), high, BINS + 1)
    return [np.histogram(each, edges)[0] / COUNT for each in (first, second)]


def numbers(table: pa.Table, name: str) -> Any:
    if name == "status":
        return np.array(table[name].to_pylist())
    values = table[name].cast(pa.int32()) if name == "placed" else table[name]
    return pc.utf8_length(values).to_numpy() if name == "remark" else values.cast(pa.float64()).to_numpy()


def panel(at: tuple[int, int], title: str, shares: list[np.ndarray], apart: str) -> list[str]:
    x, y = at
    step, top = WIDTH / len(shares[0]), max(each.max() for each in shares)
    bars = [
        f'<rect class="given" x="{x + n * step + step * 0.06:.1f}" y="{y + HEIGHT * (1 - each / top):.1f}" '
        f'width="{step * 0.88:.1f}" height="{HEIGHT * each / top:.1f}"/>'
        for n, each in enumerate(shares[0])
    ]
    heights = [y + HEIGHT * (1 - each / top) for each in shares[1]]
    corners = [f"{x + (n + side) * step:.1f},{each:.1f}" for n, each in enumerate(heights) for side in (0, 1)]
    return [
        *bars,
        f'<polyline class="made" points="{" ".join(corners)}"/>',
        f'<path class="axis" d="M{x} {y + HEIGHT}h{WIDTH}"/>',
        f'<text x="{x}" y="{y - 10}">{title}</text>',
        f'<text class="small" x="{x}" y="{y + HEIGHT + 18}">{apart}</text>',
    ]


def figure() -> str:
    given = original()
    made = generated(given)
    found = {each["column"]: each for each in compare({"shop.orders": given}, {"shop.orders": made}, schema=SCHEMA)}
    parts = []
    for number, (name, title) in enumerate(PANELS.items()):
        at = 16 + number % 3 * (WIDTH + 28), 34 + number // 3 * (HEIGHT + 66)
        shares = counts(name, numbers(given, name), numbers(made, name))
        parts += panel(at, title, shares, f"distance {found[name]['distance']:.3f} ({found[name]['by']})")
    x, y = 16 + 2 * (WIDTH + 28), 34 + HEIGHT + 66
    parts += [
        f'<rect class="given" x="{x}" y="{y + 20}" width="28" height="14"/>',
        f'<text x="{x + 38}" y="{y + 32}">original</text>',
        f'<path class="made" d="M{x} {y + 57}h28"/><text x="{x + 38}" y="{y + 62}">generated from its profile</text>',
    ]
    body = "\n  ".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 712 346" role="img"
  aria-labelledby="title description">
  <title id="title">Original and generated columns</title>
  <desc id="description">Histograms of a number, an amount of money, a date, labels and lengths of texts: the original's
  as bars, those generated from its profile as lines close to them.</desc>
  <style>{STYLE}
  </style>
  {body}
</svg>
"""


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("assets/profile.svg").write_text(figure(), encoding="utf-8")
