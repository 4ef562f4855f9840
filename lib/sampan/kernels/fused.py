"""Fused elementwise loops, generated from a formula.

`g * (1 + out * out)` costs torch three passes over memory; generated as one Numba loop it costs one. Worth it
only for plain arithmetic (transcendental functions run faster in torch's vector library) and for arrays that
do not fit the cache; everything else is evaluated by torch, step by step, from the same formula.
"""

import ast
import atexit
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .loops import Loop

FUSED_FROM = 1 << 15  # elements; below it torch's passes run inside the cache
PARALLEL_FROM = 1 << 17  # elements; below it starting threads costs more than it saves
_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.Compare)
_TYPES = {torch.float32: "float32", torch.float64: "float64"}


def names_in(formula: str) -> list[str]:
    """The array names that a formula reads."""
    tree = ast.parse(formula, mode="eval")
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}
    return sorted(found, key=["g", "x", "y", "out"].index)


def worth_fusing(formula: str) -> bool:
    """Whether a formula is plain arithmetic (square roots too) of three steps or more."""
    nodes = list(ast.walk(ast.parse(formula, mode="eval")))
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    steps = sum(isinstance(n, _ARITHMETIC) for n in nodes) + len(calls)
    return steps >= 3 and all(isinstance(c.func, ast.Name) and c.func.id == "sqrt" for c in calls)


class _Typed(ast.NodeTransformer):
    """Numbers of the array's own type, so that a float32 loop does not compute in float64."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        number = float(node.value)  # type: ignore[arg-type]  # formulas hold only numbers
        return ast.Call(ast.Name("T", ast.Load()), [ast.Constant(number)], [])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node if node.id == "sqrt" else ast.parse(f"{node.id}[i]", mode="eval").body


def _source(formula: str, dtype: str) -> str:
    names = names_in(formula)
    expression = ast.unparse(ast.fix_missing_locations(_Typed().visit(ast.parse(formula, mode="eval"))))
    arguments = ", ".join([*names, "result"])
    head = (
        f"# generated from the formula: {formula}\nfrom numba import prange\nfrom numpy import {dtype} as T\n"
    )
    loop = f"def loop({arguments}):\n    for i in prange(result.size):\n        result[i] = {expression}\n"
    return f"{head}from numpy import sqrt\n\n\n{loop}"


def cache_folder() -> Path:
    """Where generated loops and their machine code are kept: SAMPAN_CACHE, or the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("SAMPAN_CACHE") or os.path.join(base, "sampan")) / "kernels"


@cache
def _own_folder() -> Path:
    """A folder of this process, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="sampan-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _written(folder: Path, name: str, text: str) -> Path:
    """The source file of a loop, written whole or not at all: other processes may be making the same one."""
    path = folder / f"{name}.py"
    if path.exists() and path.read_text() == text:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    return path


@cache
def _loop(formula: str, dtype: str) -> Loop:
    """The loop of a formula."""
    return loop_of(_source(formula, dtype), "fused", PARALLEL_FROM, f"fused {formula}")


def loop_of(text: str, kind: str, parallel_from: int, shown: str) -> Loop:
    """The loop whose generated source is `text`. It becomes a file, because Numba can only keep machine code
    beside one."""
    name = f"{kind}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    try:
        path = _written(cache_folder(), name, text)
    except OSError:  # read-only or full: compile for this process alone
        path = _written(_own_folder(), name, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba finds kept machine code again by the name of its module
    spec.loader.exec_module(module)
    return Loop(module.loop, parallel_from, shown)


def fused(formula: str) -> Callable[..., torch.Tensor]:
    """A function of the buffers that `formula` names (in the order g, x, y, out), computed in one pass.

    It takes buffers of one shape and dtype, float32 or float64, on the CPU; anything else is evaluated by
    torch from the same formula.
    """
    names = names_in(formula)
    by_torch = eval(f"lambda {', '.join(names)}: {formula}", {"sqrt": torch.sqrt})

    def run(*buffers: torch.Tensor) -> torch.Tensor:
        first = buffers[0]
        dtype = _TYPES.get(first.dtype)
        if dtype is None or not all(
            isinstance(b, torch.Tensor)
            and b.dtype is first.dtype
            and b.shape == first.shape
            and b.device.type == "cpu"
            for b in buffers
        ):
            return by_torch(*buffers)
        result = torch.empty(first.shape, dtype=first.dtype)
        flat = [b.contiguous().view(-1).numpy() for b in (*buffers, result)]
        _loop(formula, dtype)(*flat, size=result.numel())
        return result

    made: Any = run
    made.formula = formula
    FORMULAS.append(formula)
    return made


FORMULAS: list[str] = []  # every formula with a loop: what the warm-up compiles


def warm_up() -> None:
    """Compile every generated loop for float32."""
    for formula in FORMULAS:
        arrays = [np.full(4, 0.5, np.float32) for _ in range(len(names_in(formula)) + 1)]
        loop = _loop(formula, "float32")
        loop.serial(*arrays)
        loop.parallel(*arrays)
