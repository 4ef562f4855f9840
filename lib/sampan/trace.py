"""Tracing: each operator's shapes, bytes, flops, kernel, time, and the line that called it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from math import prod
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import Any

import torch

from . import kernels
from .dtype import name_of
from .engine.apply import observed_by
from .engine.operator import Operator
from .engine.tape import Node, kept_by
from .engine.tensor import Tensor
from .ops.linalg import trace as sum_of_diagonal
from .row_sparse import RowGradient

# Files of the library, of torch, of texts that it runs, and what a `with` block of either runs through.
_INSIDE = (
    f"{Path(__file__).parent}{os.sep}",
    f"{Path(torch.__file__).parent}{os.sep}",
    "<elementwise",
    contextlib.__file__,
)
Buffers = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Record:
    """One call of an operator, or of its derivatives (`backward`).

    bytes: of memory read (also saved tensors) and written, once each; 0 for views. flops: additions and
    multiplications; 0 where entries are only moved; a comparison or a function such as exp counts as one.
    kernel: "torch", or the name of Sampan's own loop. line: "file.py:12" outside the library.
    started: on the clock of time.perf_counter.
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
    started: float = 0.0


class trace:
    """Context manager that records every operator that this thread runs inside, and their derivatives.

    One record for a call of an operator and one for its derivatives; nested calls are part of
    them.

    >>> with paddle.trace() as seen:
    ...     total = (paddle.ones([2, 3]) @ paddle.ones([3, 4])).sum()
    >>> [record.operator for record in seen]
    ['mm', 'sum']
    """

    __signature__ = signature(sum_of_diagonal)

    def __new__(cls, *args: Any, **settings: Any) -> Any:
        """Called with arguments it is Paddle's function of this name: `trace(x)`, the sum of a diagonal."""
        return sum_of_diagonal(*args, **settings) if args or settings else super().__new__(cls)

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._kernel = "torch"
        self._depth = 0

    def __enter__(self) -> trace:
        self._thread, self._block = get_ident(), observed_by(self)
        self._block.__enter__()
        kernels.listeners.append(self._chosen)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._block.__exit__(kind, error, where)
        kernels.listeners.remove(self._chosen)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def _chosen(self, kernel: str) -> None:
        if get_ident() == self._thread:
            self._kernel = kernel

    def forward(self, operator: Operator, args: Any, buffers: list[Any], settings: dict[str, Any]) -> Any:
        """Run an operator's body and record it. Called by `apply`."""
        if self._depth:
            return operator.body(*buffers, **settings)
        result, seconds = self._timed(lambda: operator.body(*buffers, **settings))
        value = result[0] if operator.saves else result
        given, made = flat(buffers), flat(value)
        self._note(operator, False, given, made, _work(operator, given, made), seconds, 0)
        return result

    def backward(self, node: Node, gradient: Any, run: Callable[[], Any]) -> Any:
        """Run derivatives and record them. Called by backward."""
        kept = dict(kept_by(node))
        result, seconds = self._timed(run)
        given, made = flat(gradient), [_buffer(r) for r in result]
        work = _work_back(node.operator, given, made, kept)
        self._note(node.operator, True, given, flat(made), work, seconds, node.sequence, list(kept.values()))
        return result

    def _timed(self, run: Callable[[], Any]) -> tuple[Any, float]:
        self._kernel = "torch"
        self._depth += 1
        started = time.perf_counter()
        try:
            result = run()
        finally:
            self._depth -= 1
        return result, time.perf_counter() - started

    def _note(
        self,
        operator: Operator,
        backward: bool,
        given: Buffers,
        made: Buffers,
        flops: int,
        seconds: float,
        at: int,
        kept: Buffers = (),
    ) -> None:
        shared = bool(given) and all(_same_memory(m, given) for m in made)
        touched = {(t.data_ptr(), t.shape): t for t in (*given, *kept)}.values()
        moved = 0 if shared else sum(t.numel() * t.element_size() for t in (*touched, *made))
        first = made[0] if made else (given[0] if given else torch.empty(0))
        self.records.append(
            Record(
                operator.name,
                backward,
                tuple(tuple(t.shape) for t in given),
                tuple(first.shape),
                name_of(first.dtype),
                moved,
                0 if shared else flops,
                self._kernel,
                seconds,
                calling_line(),
                at,
                time.perf_counter() - seconds,
            )
        )

    @property
    def bytes(self) -> int:
        return sum(r.bytes for r in self.records)

    @property
    def flops(self) -> int:
        return sum(r.flops for r in self.records)

    def table(self) -> str:
        """The records as text, one line each, with a sum below."""
        head = f"{'operator':<20} {'inputs':<28} {'output':<14} {'kB':>9} {'kflop':>9} {'µs':>8}"
        lines = [f"{head}  kernel, line"]
        for r in self.records:
            name = f"{r.operator}{' (back)' if r.backward else ''}"
            shapes = " ".join("x".join(map(str, s)) or "·" for s in r.inputs)
            size = "x".join(map(str, r.output)) or "·"
            cost = f"{r.bytes / 1e3:>9.1f} {r.flops / 1e3:>9.1f} {r.seconds * 1e6:>8.1f}"
            lines.append(f"{name:<20} {shapes:<28} {size:<14} {cost}  {r.kernel}, {r.line}")
        seconds = sum(r.seconds for r in self.records)
        total = f"{self.bytes / 1e6:.3f} MB, {self.flops / 1e6:.3f} Mflop, {seconds * 1e3:.2f} ms"
        lines.append(f"{len(self)} calls: {total}")
        return "\n".join(lines)


def _buffer(value: Any) -> Any:
    if isinstance(value, RowGradient):
        return value.dense()
    return value if value is None or isinstance(value, torch.Tensor) else value.data


def _same_memory(made: torch.Tensor, given: Buffers) -> bool:
    address = made.untyped_storage().data_ptr()
    return any(address == g.untyped_storage().data_ptr() for g in given)


def flat(value: Any) -> list[torch.Tensor]:
    """The buffers in a value, a list, or a list of lists."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    value = _buffer(value) if isinstance(value, (Tensor, RowGradient)) else value
    return [value] if isinstance(value, torch.Tensor) else []


_MOVES = {
    "assign",
    "cast",
    "concat_tensors",
    "copy_to",
    "flip",
    "full_like_of",
    "getitem",
    "index_select",
    "pad_constant",
    "put",
    "roll",
    "setitem",
    "take_along_axis",
    "tril",
    "triu",
}
_PRODUCTS = {"mm", "batched_matmul", "affine"}
_CONVOLUTIONS = {"convolve", "convolve_weight"}


def _work(operator: Operator, given: Buffers, made: Buffers) -> int:
    """Additions and multiplications of a call."""
    name = operator.name
    if operator.view or name in _MOVES or not made or not given:
        return 0
    if name in _PRODUCTS:  # [n, k] by [k, m], either perhaps transposed
        rows = max(made[0].shape[-2], 1)
        return 2 * made[0].numel() * (prod(given[0].shape[-2:]) // rows)
    if name == "convolve":  # transposed: the input is the output side
        return _convolution(made[0] if made[0].shape[1] == given[1].shape[0] else given[0], given[1])
    if name == "convolve_weight":
        return _convolution(given[0], made[0])
    return max(sum(m.numel() for m in made), max(g.numel() for g in given))


def _work_back(operator: Operator, given: Buffers, made: Sequence[Any], kept: dict[str, torch.Tensor]) -> int:
    """Additions and multiplications of derivatives; made: one gradient per input, None where not
    needed."""
    name, arriving = operator.name, given[0]
    if operator.view or name in _MOVES:
        return 0
    if name in _PRODUCTS:
        sides = arriving.shape[-2:]
        pairs = zip(made, sides, strict=False)
        lengths = [prod(m.shape[-2:]) // max(n, 1) for m, n in pairs if m is not None]
        return sum(2 * arriving.numel() * k for k in lengths) + _bias(arriving, made)
    if name in _CONVOLUTIONS:
        image = arriving if name == "convolve" else made[0] if made[0] is not None else kept["g"]
        weight = arriving if name == "convolve_weight" else made[1] if made[1] is not None else kept["weight"]
        return _convolution(image, weight) * sum(m is not None for m in made[:2]) + _bias(arriving, made)
    return max(sum(m.numel() for m in made if m is not None), arriving.numel())


def _convolution(image: torch.Tensor, weight: torch.Tensor) -> int:
    """image: [n, out, h, w] on the output's side; weight: [out, c, kh, kw]."""
    return 2 * image.numel() * prod(weight.shape[1:])


def _bias(arriving: torch.Tensor, made: Sequence[Any]) -> int:
    return arriving.numel() if len(made) > 2 and made[2] is not None else 0


def calling_line() -> str:
    """The innermost caller outside the library and torch, as "file.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
