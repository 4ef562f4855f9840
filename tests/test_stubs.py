"""The list of methods that type checkers and editors read is that of the live class."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from sampan.engine.tensor import Tensor
from tools.stubs import STUB, declared_methods, declared_properties, stub

ROOT = Path(__file__).parent.parent


def test_the_stub_is_fresh() -> None:
    assert STUB.read_text() == stub(), "run `python -m tools.stubs`"


def test_it_names_every_declared_method_and_nothing_else() -> None:
    tree = ast.parse(STUB.read_text())
    (methods,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = {node.name for node in methods.body if isinstance(node, ast.FunctionDef)}
    assert named == {*declared_methods(), *declared_properties()} and len(named) > 550
    assert {"matmul", "softmax", "add_", "reshape_", "topk", "backward", "is_cuda", "itemsize"} <= named
    assert not named & {"clear_gradient", "numpy", "astype"}  # these are defined in tensor.py
    assert Tensor.__mro__ == (Tensor, object)


def test_methods_that_return_several() -> None:
    import sampan

    x = sampan.ones([4, 2])
    for result, kind in ((x.chunk(2), list), (x.split(2), list), (x.unbind(), list), (x.topk(1), tuple)):
        assert type(result) is kind and all(isinstance(r, Tensor) for r in result)
    assert isinstance(x.nonzero(), Tensor) and type(x.nonzero(as_tuple=True)) is tuple


def test_a_type_checker_understands_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sampan\n"
        "x = sampan.Tensor([1.0])\n"
        "y: sampan.Tensor = x.matmul(x).softmax(axis=-1).add_(x)\n"
        "values, places = x.topk(1)\n"
        "z: list[sampan.Tensor] = x.split(2)\n"
        "wrong: int = x.relu()\n"
        "x.no_such_method()\n"
        "x.softmax(axes=1)\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(program)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    lines = [line.split("program.py:")[1] for line in result.stdout.splitlines() if "error" in line]
    assert [line.split(":")[0] for line in lines] == ["6", "7", "8"], result.stdout + result.stderr
    assert "Incompatible types" in lines[0] and '"no_such_method"' in lines[1] and '"axes"' in lines[2]
