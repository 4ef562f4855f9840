"""Tests mirror the library: `lib/sampan/a/b.py` has `tests/a/test_b.py`.

A file of `ops/` may have its samples instead (`tests/ops/samples/`), which the table test draws, and the networks of
`vision/models/` have one table. `engine` is a place in the library alone: what is in it may be tested under its old path.
"""

import ast
from pathlib import Path

from tools.size import LIBRARY

TESTS = Path(__file__).parent
WITHOUT = 71  # files of the library that have no test of their name; the number may only fall


def mirrors(path: Path) -> list[Path]:
    """Where the tests of a file of the library may be."""
    parts = path.relative_to(LIBRARY).parent.parts
    folder = TESTS.joinpath(*(part for part in parts if part != "engine"))
    name = path.stem if path.stem != "__init__" else path.parent.name
    shared = {("ops",): f"samples/{name}.py", ("vision", "models"): "test_models.py"}
    return [folder / f"test_{name}.py", folder / shared.get(parts, f"test_{name}.py")]


def defines(path: Path) -> bool:
    """Whether a file has functions or classes of its own; others only name what is elsewhere."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) for node in ast.parse(path.read_text()).body)


def test_files_of_the_library_have_tests_of_their_name() -> None:
    files = [path for path in LIBRARY.rglob("*.py") if defines(path)]
    assert len(files) > 200
    without = [path for path in files if not any(found.exists() for found in mirrors(path))]
    assert len(without) <= WITHOUT, "\n".join(sorted(str(path.relative_to(LIBRARY)) for path in without))
