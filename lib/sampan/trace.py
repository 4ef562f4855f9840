"""Watching what runs: which operator, on what shapes, how many bytes and flops, by which kernel, how long, called where."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from . import kernels
from .operator import Operator, observers
from .tape import Node

_HERE = str(Path(__file__).parent)


@dataclass(frozen=True)
class Record:
    """One call of an operator, or of its pullback (`backward`).

    bytes: of memory read and written once each; 0 for views. flops: additions and multiplications; 0 where entries
    are only moved. kernel: "torch", or the name of Sampan's own loop. line: "file.py:12" outside the library.
    """

    operator: str
    backward: bool
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    dtype: str
    bytes: int
    flops: int
    kernel: str
    seconds: float
    line: str
    sequence: int


class trace:
    """Context manager that records every operator that runs inside, in this thread and out of it.

    >>> with sampan.trace() as seen:
    ...     loss = model(x).sum()
    >>> print(seen.table())
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._kernel = "torch"

    def __enter__(self) -> trace:
        observers.append(self)
        kernels.listeners.append(self._chosen)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, where: TracebackType | None) -> None:
        observers.remove(self)
        kernels.listeners.remove(self._chosen)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def _chosen(self, kernel: str) -> None:
        self._kernel = kernel

    def forward(self, operator: Operator, buffers: list[Any], settings: dict[str, Any]) -> Any:
        """Run an operator's body and note it. Called by `apply`."""
        result, seconds = self._timed(lambda: operator.body(*buffers, **settings))
        value = result[0] if operator.differentiable else result
        self._note(operator, False, buffers, value, seconds, 0)
        return result

    def backward(self, node: Node, gradient: Any, run: Callable[[], Any]) -> Any:
        """Run a pullback and note it. Called by the walk backwards."""
        result, seconds = self._timed(run)
        given = list(gradient) if isinstance(gradient, tuple) else [gradient]
        self._note(
            node.operator,
            True,
            [_buffer(g) for g in given],
            [_buffer(r) for r in result],
            seconds,
            node.sequence,
        )
        return result

    def _timed(self, run: Callable[[], Any]) -> tuple[Any, float]:
        self._kernel = "torch"
        started = time.perf_counter()
        result = run()
        return result, time.perf_counter() - started

    def _note(
        self, operator: Operator, backward: bool, inputs: Any, value: Any, seconds: float, at: int
    ) -> None:
        given = [
            t
            for b in inputs
            for t in (b if isinstance(b, (list, tuple)) else [b])
            if isinstance(t, torch.Tensor)
        ]
        made = [
            t for t in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(t, torch.Tensor)
        ]
        shared = bool(given) and all(_same_memory(m, given) for m in made)
        moved = 0 if shared else sum(t.numel() * t.element_size() for t in (*given, *made))
        first = made[0] if made else (given[0] if given else torch.empty(0))
        self.records.append(
            Record(
                operator.name, backward, tuple(tuple(t.shape) for t in given), tuple(first.shape),
                str(first.dtype).removeprefix("torch."), moved, 0 if shared else _flops(operator, backward, given, made),
                self._kernel, seconds, _line(), at,
            )
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        return sum(r.bytes for r in self.records)

    @property
    def flops(self) -> int:
        return sum(r.flops for r in self.records)

    def table(self) -> str:
        """The records as text, one line each, with a sum below."""
        head = (
            f"{'operator':<20} {'inputs':<28} {'output':<14} {'kB':>9} {'kflop':>9} {'µs':>8}  kernel, line"
        )
        lines = [head]
        for r in self.records:
            name = f"{r.operator}{' (back)' if r.backward else ''}"
            shapes = " ".join("x".join(map(str, s)) or "·" for s in r.inputs)
            size = "x".join(map(str, r.output)) or "·"
            lines.append(
                f"{name:<20} {shapes:<28} {size:<14} {r.bytes / 1e3:>9.1f} {r.flops / 1e3:>9.1f} "
                f"{r.seconds * 1e6:>8.1f}  {r.kernel}, {r.line}"
            )
        seconds = sum(r.seconds for r in self.records)
        lines.append(
            f"{len(self)} calls: {self.bytes / 1e6:.3f} MB, {self.flops / 1e6:.3f} Mflop, {seconds * 1e3:.2f} ms"
        )
        return "\n".join(lines)


def _buffer(value: Any) -> Any:
    return value if value is None or isinstance(value, torch.Tensor) else value.data


def _same_memory(made: torch.Tensor, given: list[torch.Tensor]) -> bool:
    address = made.untyped_storage().data_ptr()
    return any(address == g.untyped_storage().data_ptr() for g in given)


_MOVES = {
    "getitem",
    "concatenate",
    "pad_constant",
    "assign",
    "cast",
    "index_select",
    "take_along_axis",
    "spread",
    "flip",
}
_PRODUCTS = {"mm", "batched_matmul", "affine"}
_CONVOLUTIONS = {"convolve", "convolve_input", "convolve_weight"}


def _flops(operator: Operator, backward: bool, given: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    """Additions and multiplications. Backward counts what was made from the arriving gradient."""
    if operator.name in _MOVES or not made or not given:
        return 0
    if operator.name in _PRODUCTS and not backward:
        return 2 * made[0].numel() * given[0].shape[-1]
    if operator.name in _PRODUCTS:  # each gradient is a product with the other side: g [n, m] with [m, k]
        rows, columns = given[0].shape[-2:]
        return sum(2 * m.numel() * (columns if m.shape[-2] == rows else rows) for m in made if m.dim() > 1)
    if operator.name in _CONVOLUTIONS and len(given) > 1:
        image, weight = given[0], given[1]
        out = image if operator.name == "convolve_input" else made[0]
        if not backward and operator.name == "convolve":
            return 2 * out.numel() * prod(weight.shape[1:])
    if operator.name == "convolve":
        weights = [m for m in made if m.dim() == 4]
        return sum(2 * given[0].numel() * prod(w.shape[1:]) for w in weights[-1:]) * len(weights)
    return max(sum(m.numel() for m in made), max(g.numel() for g in given))


def _line() -> str:
    """The innermost caller outside the library, as "file.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_HERE, "<")):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
