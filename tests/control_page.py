"""What ``docs/control.md`` has of the code: the tables of endpoints, and the description.

``python -m tests.control_page`` writes them into the page, between a heading and the next one, and
``docs/control-openapi.json``; ``tests/unit/emulator/test_control_page.py`` fails if they are others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ticdc_emit.emulator.control_api import bare_application
from ticdc_emit.emulator.ticdc_api import TICDC_PATH

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "control.md"
DESCRIPTION = DOCS / "control-openapi.json"


def openapi_description() -> str:
    """Return the OpenAPI description of the control API as JSON text."""
    return json.dumps(bare_application().openapi(), indent=1, ensure_ascii=False) + "\n"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _fields(description: Any, content: Any) -> str:
    """Return the members of a request body or an answer."""
    schema = content.get("schema", {})
    options = [schema, *schema.get("anyOf", ())]
    name = next((each["$ref"].rpartition("/")[2] for each in options if "$ref" in each), "")
    if schema.get("type") == "array" and "$ref" in schema.get("items", {}):
        name = schema["items"]["$ref"].rpartition("/")[2]
    members = description["components"]["schemas"].get(name, {}).get("properties", {})
    return ", ".join(f"`{each}`" for each in members)


def endpoints(*, ticdc: bool) -> str:
    """Return the table of the control API's endpoints, or of those of TiCDC's."""
    description = json.loads(openapi_description())
    rows = []
    for method, path, operation in [
        (method.upper(), path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]:
        if path.startswith(TICDC_PATH) is not ticdc:
            continue
        body = operation.get("requestBody", {}).get("content", {})
        given = _fields(description, body.get("application/json", {})) if "application/json" in body else ""
        query = [f"`?{each['name']}`" for each in operation.get("parameters", ()) if each["in"] == "query"]
        cells = [f"`{method} {path}`", ", ".join(filter(None, [given, *query]))]
        if not ticdc:
            answer = operation["responses"]["200"]["content"]
            out = _fields(description, answer["application/json"]) if "application/json" in answer else "text"
            cells.append(out.replace("`commit_ts`, `rows`, `messages`, `partitions`, `state`", "*sent*"))
        rows.append(tuple(cells))
    return _table(("call", "in", "out")[: 2 if ticdc else 3], rows)


TABLES = {"## Endpoints": lambda: endpoints(ticdc=False), "### Calls": lambda: endpoints(ticdc=True)}


def page(text: str) -> str:
    """Return the page with its tables made anew: the first table after each heading."""
    for heading, make in TABLES.items():
        start = text.index(f"\n{heading}\n")
        begin = text.index("\n| ", start) + 1
        end = text.index("\n\n", begin) + 1
        text = text[:begin] + make() + text[end:]
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    DESCRIPTION.write_text(openapi_description(), encoding="utf-8")
