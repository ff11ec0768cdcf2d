"""The figures of docs/performance.md, drawn from ``benchmarks/figures.json``, which has what the commands of the page
printed.

``python docs/site/performance_figures.py`` writes ``docs/assets/performance-*.svg``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import log10
from pathlib import Path
from typing import Any

from profile_figure import STYLE

ROOT = Path(__file__).parents[2]
LEFT, BAR, STEP, WIDTH = 156, 460, 26, 712
OURS = """
    .ours { fill: #2458b8; }
    @media (prefers-color-scheme: dark) { .ours { fill: #8db4ff; } }"""


def svg(title: str, description: str, parts: list[str], height: int) -> str:
    body = "\n  ".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"
  aria-labelledby="title description">
  <title id="title">{title}</title>
  <desc id="description">{description}</desc>
  <style>{STYLE}{OURS}
  </style>
  {body}
</svg>
"""


def bars(title: str, values: Mapping[str, float], form: str, ours: set[str], mark: float | None = None) -> str:
    """Return horizontal bars with their values; ``mark``: a value that has a line through all."""
    most, height = max(values.values()), 40 + STEP * len(values)
    parts = [f'<text x="16" y="22">{title}</text>']
    for n, (name, value) in enumerate(values.items()):
        y, style = 36 + STEP * n, "ours" if name in ours else "given"
        parts += [
            f'<text class="small" x="16" y="{y + 14}">{name}</text>',
            f'<rect class="{style}" x="{LEFT}" y="{y}" width="{BAR * value / most:.1f}" height="18"/>',
            f'<text class="small" x="{LEFT + 6 + BAR * value / most:.1f}" y="{y + 14}">{form.format(value)}</text>',
        ]
    if mark is not None:
        parts.append(f'<path class="axis" d="M{LEFT + BAR * mark / most:.1f} 32v{STEP * len(values)}"/>')
    shown = "; ".join(f"{name}: {form.format(value)}" for name, value in values.items())
    return svg(title, shown, parts, height)


def growth(title: str, points: list[dict[str, float]], lines: Mapping[str, str]) -> str:
    """Return lines over the number of tables, both axes logarithmic: a decade has the same length everywhere."""
    low, high, decade, bottom = -3, 4, 31, 256
    parts = [f'<text x="16" y="22">{title}</text>', f'<path class="axis" fill="none" d="M90 40V{bottom}H580"/>']
    for power in range(low, high + 1):
        text = f"{10.0**power:,g} MiB"
        parts.append(f'<text class="small" x="16" y="{bottom - (power - low) * decade + 4}">{text}</text>')
    for each in points:
        x = 90 + 80 * log10(each["tables"])
        place = f'class="small" text-anchor="middle" x="{x:.0f}" y="{bottom + 18}"'
        parts.append(f"<text {place}>{each['tables']:,}</text>")
    for key, name in lines.items():
        at = [(90 + 80 * log10(p["tables"]), bottom - (log10(p[key]) - low) * decade) for p in points if p[key] > 0]
        parts += [
            f'<polyline class="made" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>',
            f'<text class="small" x="{at[-1][0] + 8:.0f}" y="{at[-1][1] + 4:.0f}">{name}</text>',
        ]
    shown = "; ".join(f"{p['tables']:,} tables: " + ", ".join(f"{lines[k]} {p[k]} MiB" for k in lines) for p in points)
    return svg(title, shown, parts, bottom + 30)


def figures(measured: dict[str, Any]) -> dict[str, str]:
    rates = measured["peers"]["rows_per_cpu_s"]
    thousands = {name: rate / 1000 for name, rate in sorted(rates.items(), key=lambda each: -each[1])}
    ours = {name for name in rates if ":" not in name}
    run = measured["end_to_end"]
    lower = min(run["spark_ordered_rows_per_s"], run["raw_produce_rows_per_s"])
    bounds = {
        "changefeed": run["rows_per_s"],
        "Spark, in order": run["spark_ordered_rows_per_s"],
        "Spark, any order": run["spark_identity_rows_per_s"],
        "producer alone": run["raw_produce_rows_per_s"],
    }
    return {
        "go": bars("TiCDC's Go encoder = 1, median of four lines", measured["go"], "{:.1f}", {*measured["go"]}, 1),
        "peers": bars("Thousands of rows per CPU-second", thousands, "{:,.0f}", ours),
        "cost": bars("CPU-seconds for a million messages, by stage", measured["cost"], "{:.1f}", {"encode"}),
        "bounds": bars(
            "Rows per second end to end, in one run; the bound = 1",
            {name: rate / lower for name, rate in bounds.items()},
            "{:.2f}",
            {"changefeed"},
            1,
        ),
        "growth": growth(
            "Memory by number of tables", measured["growth"], {"mib": "catalog and plan", "plan_mib": "plan, pickled"}
        ),
    }


if __name__ == "__main__":
    for name, figure in figures(json.loads((ROOT / "benchmarks/figures.json").read_text(encoding="utf-8"))).items():
        (ROOT / f"docs/assets/performance-{name}.svg").write_text(figure, encoding="utf-8")
