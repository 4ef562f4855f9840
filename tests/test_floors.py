"""The house stands: no file of the library imports from a floor above its own."""

import ast
from pathlib import Path

import pytest

from tools.size import ENGINE, FLOOR_OF, FLOORS, LIBRARY

MODULES_APART = FLOORS[4].split()  # sparse, graph, speech, embedding never import one another


def running(path: Path) -> ast.Module:
    """The tree of a file, without what only type checkers read."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    return tree


def arrows(path: Path, library: Path = LIBRARY) -> list[tuple[str, str, int]]:
    """(room of the file, room it imports, line), for every import of the library in the file."""
    package = ("sampan", *path.relative_to(library).parent.parts)
    room = path.relative_to(library).parts[0].removesuffix(".py")
    found = []
    for node in ast.walk(running(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names] if stem == "sampan" else [stem]
        else:
            continue
        found += [(room, name.split(".")[1], node.lineno) for name in names if name.startswith("sampan.")]
    return found


def wrong(room: str, target: str) -> bool:
    if target not in FLOOR_OF:  # `from sampan import Tensor`: the façade itself, which stands on top
        return True
    apart = room != target and room in MODULES_APART and target in MODULES_APART
    return FLOOR_OF[target] > FLOOR_OF[room] or apart


def test_no_import_points_up():
    files = [path for path in LIBRARY.rglob("*.py") if path != LIBRARY / "__init__.py"]
    homeless = {path.relative_to(LIBRARY).parts[0].removesuffix(".py") for path in files} - set(FLOOR_OF)
    assert not homeless, f"no floor is named for {sorted(homeless)}: add it to FLOORS in tools/size.py"
    bad = [
        f"{path.relative_to(LIBRARY)}:{line} (floor {FLOOR_OF[room]}) imports {target}"
        for path in files
        for room, target, line in arrows(path)
        if wrong(room, target)
    ]
    assert not bad, "imports that point up, or go through the façade:\n" + "\n".join(bad)


@pytest.mark.parametrize(
    ("where", "line", "bad"),
    [
        ("ops/math.py", "from sampan.nn import Linear", True),
        ("ops/math.py", "from ..nn import Linear", True),
        ("ops/math.py", "from .. import nn", True),
        ("ops/math.py", "import sampan.models.mlp", True),
        ("kernels/cpu.py", "def f():\n    from sampan import Tensor", True),
        ("sparse/csr.py", "from ..graph import sampling", True),
        ("nn/linear.py", "from ..ops import math", False),
        ("ops/math.py", "from . import shape", False),
        ("learn/slots.py", "from .. import tensor, autograd", False),
    ],
)
def test_the_rule_itself(tmp_path, where, line, bad):
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(line)
    found = arrows(path, tmp_path)
    assert found
    assert any(wrong(room, target) for room, target, _ in found) is bad


def siblings(path: Path) -> set[str]:
    """The files beside `path` that it imports when it runs."""
    found = set()
    for node in ast.walk(running(path)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return found


def test_names_are_found_by_the_table_only():
    """What is below `names` shows its names to type checkers, and imports none of it."""
    bad = [
        f"{path.relative_to(LIBRARY)}:{line}"
        for path in LIBRARY.rglob("*.py")
        for room, target, line in arrows(path)
        if target == "names" and room not in ("__init__", "names", "distributed")
    ]
    assert not bad


def test_the_engine_s_files_import_in_one_direction():
    files = {
        path.stem: siblings(path) for path in (LIBRARY / "engine").glob("*.py") if path.stem != "__init__"
    }
    assert set(files) == set(ENGINE)
    back = {name: found - set(ENGINE[: ENGINE.index(name)]) for name, found in files.items()}
    assert not {name: found for name, found in back.items() if found}
    assert sum(map(len, files.values())) > len(ENGINE)
