"""Elementwise calls that run as one generated loop where that is faster, else one after the other."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import torch

from ...kernels.arena import lent
from ...kernels.fused import PARALLEL_FROM, loop_of
from ...kernels.loops import Loop
from . import elementary, rows

FUSED_FROM = 1 << 12  # elements of a result: below it the calls take less time than choosing does
PLANS = 64  # layouts of inputs that a Chain keeps in mind
_DTYPES = {"f": torch.float32, "b": torch.bool}


@dataclass(frozen=True)
class Step:
    """A value of a chain: its name, and the text of its formula, which names inputs x0, ... and other steps.

    row: "moments" or "exponentials" where the text needs them of the row of `of`, the name of a value.
    """

    name: str
    text: str
    reads: tuple[str, ...]
    row: str = ""
    of: str = ""
    epsilon: float = 0.0


@dataclass(frozen=True)
class Layout:
    """How a loop passes over its inputs and its result, which is rows of columns.

    kinds: of each input "e", every element; "r", a row [columns] for all rows; "c", one value for each row;
    "s", one value. rows: 0 for a loop that is not nested. axis: of the shape, the first one of the columns.
    """

    kinds: str
    shape: torch.Size
    rows: int
    columns: int
    axis: int


class Chain:
    """A function of buffers.

    inputs: "f" (float32) or "b" (bool) for each; gives: the same of the value, which is the last of `steps`.
    by_torch: the same function by the calls themselves. It runs for small results, for inputs that are not
    contiguous, and where a measurement at the first call with a size finds that it is faster.
    """

    def __init__(
        self, inputs: str, gives: str, steps: Sequence[Step], by_torch: Callable[..., torch.Tensor]
    ) -> None:
        self.inputs, self.gives, self.steps, self.by_torch = inputs, gives, list(steps), by_torch
        self._dtypes = [_DTYPES[kind] for kind in inputs]
        self._row = next((step for step in steps if step.row), None)
        self._plans: dict[Any, tuple[Layout, Loop] | None] = {}
        self._faster: dict[tuple[str, int], bool] = {}

    def __repr__(self) -> str:
        return f"<Chain of {len(self.steps)} calls>"

    def __call__(self, *buffers: torch.Tensor) -> torch.Tensor:
        key = tuple([(b.shape, b.dtype, b.is_contiguous(), b.is_cpu) for b in buffers])
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._planned(key, buffers)
        return self.by_torch(*buffers) if plan is None else self.by_loop(*plan, buffers)

    def by_loop(self, layout: Layout, loop: Loop, buffers: Sequence[torch.Tensor]) -> torch.Tensor:
        """The value, by a loop for this layout."""
        result = lent(layout.shape, _DTYPES[self.gives])
        arrays = [_laid_out(b, kind, layout) for b, kind in zip(buffers, layout.kinds, strict=True)]
        loop(*arrays, _laid_out(result, "e", layout), size=result.numel())
        return result

    def _planned(self, key: Any, buffers: Sequence[torch.Tensor]) -> tuple[Layout, Loop] | None:
        """What runs for inputs like these: found once, where the sizes are new by a measurement."""
        layout = self.layout(buffers)
        plan = None
        if layout is not None and layout.shape.numel() >= FUSED_FROM:
            plan = layout, loop_for(self.source(layout), " ".join(step.name for step in self.steps))
            size = layout.kinds, layout.shape.numel().bit_length()
            if size not in self._faster:
                self._faster[size] = self._measured(*plan, buffers)
            plan = plan if self._faster[size] else None
        while len(self._plans) >= PLANS:
            self._plans.pop(next(iter(self._plans)), None)
        self._plans[key] = plan
        return plan

    def _measured(self, layout: Layout, loop: Loop, buffers: Sequence[torch.Tensor], rounds: int = 5) -> bool:
        """Whether the loop is faster here than the calls: the best times of a few rounds."""
        best = [float("inf"), float("inf")]
        self.by_loop(layout, loop, buffers)  # compiles
        for _ in range(rounds):
            started = time.perf_counter()
            self.by_torch(*buffers)
            between = time.perf_counter()
            self.by_loop(layout, loop, buffers)
            best[0] = min(best[0], between - started)
            best[1] = min(best[1], time.perf_counter() - between)
        return best[1] < best[0]

    def layout(self, buffers: Sequence[torch.Tensor]) -> Layout | None:
        """How a loop would pass over these; None where it cannot."""
        if any(b.dtype is not kind for b, kind in zip(buffers, self._dtypes, strict=True)):
            return None
        if not all(b.is_cpu and b.is_contiguous() for b in buffers):
            return None
        try:
            shape = torch.broadcast_shapes(*(b.shape for b in buffers))
        except RuntimeError:
            return None
        if not shape.numel() or (self._row is not None and not self._whole_rows(buffers, shape)):
            return None
        rank = len(shape)
        padded = [(1,) * (rank - b.ndim) + tuple(b.shape) for b in buffers]
        for axis in (rank - 1,) if self._row is not None else range(rank):
            kinds = [_kind(each, tuple(shape), axis) for each in padded]
            if all(kinds):
                found = "".join(kinds)
                flat = self._row is None and set(found) <= {"e", "s"}
                outer = 0 if flat else prod(shape[:axis])
                return Layout(found, shape, outer, prod(shape[axis:]), axis)
        return None

    def _whole_rows(self, buffers: Sequence[torch.Tensor], shape: torch.Size) -> bool:
        """Whether the value whose rows are reduced has the shape of the result."""
        assert self._row is not None
        shapes = [buffers[int(name[1:])].shape for name in self._leaves(self._row.of)]
        return bool(shape) and torch.broadcast_shapes(*shapes) == shape

    def _leaves(self, name: str) -> set[str]:
        """The inputs that a value depends on."""
        if name[0] == "x":
            return {name}
        step = next(step for step in self.steps if step.name == name)
        return set().union(*map(self._leaves, step.reads))

    def source(self, layout: Layout) -> str:
        """The text of the module that holds the loop."""
        names = [f"a{i}" for i in range(len(layout.kinds))]
        flat = layout.rows == 0
        lines = [f"def loop({', '.join([*names, 'result'])}):"]
        lines += [f"    x{i} = a{i}[0]" for i, kind in enumerate(layout.kinds) if kind == "s"]
        if flat:
            lines += ["    for i in prange(result.size):", "        wide_vectors()"]
            return _HEAD + "\n".join([*lines, *self._loop_body(layout, self.steps[-1].name, "result")]) + "\n"
        lines += [
            "    for r in prange(result.shape[0]):",
            "        wide_vectors()",
            "        out = result[r]",
        ]
        for i, kind in enumerate(layout.kinds):
            lines += {"e": [f"        row{i} = a{i}[r]"], "c": [f"        x{i} = a{i}[r]"]}.get(kind, [])
        if self._row is not None:
            lines += self._row_lines(layout, self._row)
        lines.append("        for i in range(out.size):")
        body = self._loop_body(layout, self.steps[-1].name, "out")
        return _HEAD + "\n".join([*lines, *(f"    {line}" for line in body)]) + "\n"

    def _row_lines(self, layout: Layout, step: Step) -> list[str]:
        """The lines before the last pass over a row: they compute the row's statistics, and first the value
        that these are of, unless it is an input."""
        lines, row = [], "out"
        if step.of[0] == "x" and layout.kinds[int(step.of[1:])] == "e":
            row = f"row{step.of[1:]}"
        else:
            lines.append("        for i in range(out.size):")
            lines += [f"    {line}" for line in self._loop_body(layout, step.of, "out", before=True)]
        if step.row == "moments":
            return [*lines, f"        mean, scale = moments({row}, T({step.epsilon!r}))"]
        return [*lines, f"        scale = exponentials({row}, out)"]

    def _loop_body(self, layout: Layout, name: str, out: str, before: bool = False) -> list[str]:
        """The lines that compute a value at i and write it to `out`."""
        lines: list[str] = []
        known = {f"x{i}" for i, kind in enumerate(layout.kinds) if kind in "sc"}
        row = None if before else self._row

        def emit(wanted: str) -> None:
            if wanted in known:
                return
            known.add(wanted)
            if wanted[0] == "x":
                index = int(wanted[1:])
                array = {"e": f"row{index}" if layout.rows else f"a{index}", "r": f"a{index}"}
                lines.append(f"        {wanted} = {array[layout.kinds[index]]}[i]")
                return
            if row is not None and wanted == row.of and layout.rows and row.row == "moments":
                lines.append(f"        {wanted} = out[i]")
                return
            step = next(step for step in self.steps if step.name == wanted)
            for read in step.reads if step is not row or row.row == "moments" else step.reads[1:]:
                emit(read)
            lines.append(f"        {wanted} = {step.text}")

        emit(name)
        return [*lines, f"        {out}[i] = {name}"]


def _kind(shape: tuple[int, ...], whole: tuple[int, ...], axis: int) -> str:
    """The letter of an input in a Layout; "" where it has none."""
    if shape == whole:
        return "e"
    if prod(shape) == 1:
        return "s"
    if prod(shape[:axis]) == 1 and shape[axis:] == whole[axis:]:
        return "r"
    return "c" if prod(shape[axis:]) == 1 else ""


def _laid_out(buffer: torch.Tensor, kind: str, layout: Layout) -> Any:
    """The array of a buffer as the loop reads it."""
    if kind == "e" and layout.rows:
        return buffer.view(layout.rows, layout.columns).numpy()
    if kind == "c":
        rank = len(layout.shape)
        padded = buffer.view((1,) * (rank - buffer.ndim) + tuple(buffer.shape))
        wide = (*layout.shape[: layout.axis], *(1 for _ in range(rank - layout.axis)))
        return padded.expand(wide).reshape(-1).numpy()
    return buffer.view(-1).numpy()


@cache
def loop_for(source: str, shown: str) -> Loop:
    """The loop of a text."""
    return loop_of(source, "chain", PARALLEL_FROM, f"chain {shown}")


# Machine code is kept by the text that it is from, which the functions that are compiled into it belong to.
_FUNCTIONS = b"".join(Path(str(module.__file__)).read_bytes() for module in (elementary, rows))
_HEAD = f"""# generated, with functions {hashlib.sha256(_FUNCTIONS).hexdigest()[:16]}
from numba import prange
from numpy import float32 as T, inf, nan, sqrt

from sampan.jit.loops.elementary import erf, exp, sigmoid, tanh, wide_vectors
from sampan.jit.loops.rows import exponentials, moments


"""
