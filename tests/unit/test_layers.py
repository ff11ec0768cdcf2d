"""No import runs back up: a room of the house imports only those above it in ARCHITECTURE.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ticdc_emit.config import Protocol

ROOT = Path(__file__).parents[2] / "ticdc_emit"
FLOORS = (
    ("errors", "exports"),
    ("hints",),
    ("tso",),
    ("sql",),
    ("schema",),
    ("config",),
    ("columnar",),
    ("storage",),
    ("delivery",),
    ("changes",),
    ("database",),
    ("registry",),
    ("protocols",),
    ("routing",),
    ("pipeline",),
    ("encoder",),
    ("observe",),
    ("consume",),
    ("testing",),
    ("spark",),
    ("traffic",),
    ("strategies",),
    ("emulator",),
    ("cli",),
    ("__init__", "__main__"),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FORBIDDEN = {"consume": {"columnar", "pipeline", "changes"}, "delivery": {"protocols"}}


PIPELINE = ("plan", "arrange", "encode", "deliver")  # the rooms inside it; what stands above them imports all


def _room(module: str) -> str:
    _, _, inside = module.partition(".")
    return inside.partition(".")[0] or "__init__"


def _imports(path: Path) -> set[str]:
    """The rooms that a file imports, inside functions too."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "ticdc_emit":
            names = {alias.name for alias in node.names} - {"__version__"}
            rooms |= {name if name in FLOOR else "__init__" for name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticdc_emit."):
            rooms.add(_room(node.module or ""))
        elif isinstance(node, ast.Import):
            rooms |= {_room(alias.name) for alias in node.names if alias.name.startswith("ticdc_emit.")}
    return rooms


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_import_runs_back_up(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    used = _imports(path) - {own}
    if own != "__init__":  # its lazy names are of every floor
        assert {room for room in used if FLOOR[room] >= FLOOR[own]} == set()
    assert used & FORBIDDEN.get(own, set()) == set()


def test_no_package_of_a_protocol_imports_another() -> None:
    packages = {str(protocol.spec.package) for protocol in Protocol if protocol.spec.package is not None}
    found = set()
    for own in packages:
        for path in (ROOT / "protocols" / own).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                name = node.module if isinstance(node, ast.ImportFrom) else None
                other = (name or "").removeprefix("ticdc_emit.protocols.").partition(".")[0]
                if (name or "").startswith("ticdc_emit.protocols.") and other in packages - {own}:
                    found.add((own, other))
    assert found == set()


def _pipeline_imports() -> dict[str, set[str]]:
    """The modules of the pipeline that each of them imports, for types and inside functions too."""
    root = ROOT / "pipeline"
    paths = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.rglob("*.py")}
    found = {}
    for own, path in paths.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticdc_emit.pipeline"):
                module = (node.module or "").removeprefix("ticdc_emit.pipeline").lstrip(".")
                names |= {module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)}
        found[own] = names & paths.keys() - {own}
    return {own: names for own, names in found.items() if not own.endswith("__init__")}


def test_the_rooms_of_the_pipeline_import_one_way_and_in_no_circle() -> None:
    imports = _pipeline_imports()
    floor = {room: number for number, room in enumerate(PIPELINE)}
    for own, names in imports.items():
        height = floor.get(own.partition(".")[0], len(PIPELINE))
        assert all(floor.get(name.partition(".")[0], len(PIPELINE)) <= height for name in names), own
    while lowest := [own for own, names in imports.items() if not names & imports.keys()]:
        for own in lowest:
            del imports[own]
    assert imports == {}
