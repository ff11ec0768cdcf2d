"""No import runs back up: a room of the house imports only those above it in ARCHITECTURE.md."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from ticdc_emit.config import Protocol

ROOT = Path(__file__).parents[2] / "ticdc_emit"
FLOORS = """errors,exports hints tso sql schema config columnar storage delivery changes database registry protocols
    routing pipeline encoder observe consume testing spark traffic profile strategies check emulator cli
    __init__,__main__"""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS.split()) for room in rooms.split(",")}
PUBLIC = (ROOT / "__init__.py", ROOT / "testing/__init__.py")  # their lazy names are of every floor
FORBIDDEN = {"consume": {"columnar", "pipeline", "changes"}, "delivery": {"protocols"}}
PIPELINE = ("plan", "arrange", "encode", "deliver")  # the rooms inside it; what stands above them imports all


def _room(module: str) -> str:
    _, _, inside = module.partition(".")
    return inside.partition(".")[0] or "__init__"


@cache
def _nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Import | ast.ImportFrom)]


def _imports(path: Path) -> set[str]:
    """The rooms that a file imports, inside functions too."""
    rooms = set()
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module == "ticdc_emit":
            names = {alias.name for alias in node.names} - {"__version__"}
            rooms |= {name if name in FLOOR else "__init__" for name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticdc_emit."):
            rooms.add(_room(node.module or ""))
        else:
            rooms |= {_room(alias.name) for alias in node.names if alias.name.startswith("ticdc_emit.")}
    return rooms


def test_no_import_runs_back_up() -> None:
    wrong = set()
    for path in ROOT.rglob("*.py"):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        used = _imports(path) - {own}
        if path not in PUBLIC:
            wrong |= {(path, room) for room in used if FLOOR[room] >= FLOOR[own]}
        wrong |= {(path, room) for room in used & FORBIDDEN.get(own, set())}
    assert wrong == set()


def test_no_package_of_a_protocol_imports_another() -> None:
    packages = {str(protocol.spec.package) for protocol in Protocol if protocol.spec.package is not None}
    found = set()
    for own in packages:
        for path in (ROOT / "protocols" / own).glob("*.py"):
            for node in _nodes(path):
                name = node.module if isinstance(node, ast.ImportFrom) else None
                other = (name or "").removeprefix("ticdc_emit.protocols.").partition(".")[0]
                if (name or "").startswith("ticdc_emit.protocols.") and other in packages - {own}:
                    found.add((own, other))
    assert found == set()


@cache
def _module_imports() -> dict[str, set[str]]:
    """The modules of the package that each of them imports, for types and inside functions too."""
    names = {path: ".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for path, name in names.items() if path not in PUBLIC}
    found: dict[str, set[str]] = {}
    for own, path in modules.items():
        used = set()
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom):
                each = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= {name if name in modules else str(node.module) for name in each}
            else:
                used |= {alias.name for alias in node.names}
        found[own] = used & modules.keys() - {own}
    return found


def test_the_rooms_of_the_pipeline_import_one_way() -> None:
    floor = {room: number for number, room in enumerate(PIPELINE)}

    def height(module: str) -> int:
        return floor.get(module.split(".")[2], len(PIPELINE))

    for own, names in _module_imports().items():
        if own.startswith("ticdc_emit.pipeline."):
            assert all(height(name) <= height(own) for name in names if name.startswith("ticdc_emit.pipeline.")), own


def test_no_module_imports_itself_in_a_circle() -> None:
    imports = dict(_module_imports())
    while ends := [
        own
        for own, names in imports.items()
        if not names & imports.keys() or all(own not in others for others in imports.values())
    ]:
        for own in ends:
            del imports[own]
    assert imports == {}
