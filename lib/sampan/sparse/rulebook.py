"""Which entries of a sparse input a sparse convolution multiplies for which entries of its output: the rulebook."""

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..kernels import cpu_sparse_conv as loops
from .pattern import Coo

Ints = tuple[int, ...]


class Book:
    """For each offset of a kernel the pairs (entry of the input, entry of the output) that it joins.

    near: [offsets, outputs], the input's entry or -1. Within an offset no entry occurs twice, on either side.
    """

    def __init__(self, near: np.ndarray, inputs: Coo, outputs: Coo) -> None:
        self.near, self.inputs, self.outputs = near, inputs, outputs

    @cached_property
    def pairs(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        found = []
        for row in self.near:
            out = np.flatnonzero(row >= 0)
            found.append((torch.from_numpy(row[out].astype(np.int64)), torch.from_numpy(out)))
        return found

    @cached_property
    def turned(self) -> "Book":
        """The same pairs from the output to the input: of the gradient, and of the inverse convolution."""
        near = np.full((self.near.shape[0], self.inputs.nnz), -1, np.int32)
        for k, row in enumerate(self.near):
            out = np.flatnonzero(row >= 0)
            near[k, row[out]] = out
        back = Book(near, self.outputs, self.inputs)
        back.__dict__["turned"] = self
        return back


def _offsets(kernel: Ints, dilation: Ints) -> np.ndarray:
    steps = itertools.product(*(range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True)))
    return np.array(list(steps), np.int64)


def _grid(sizes: Sequence[int]) -> np.ndarray:
    return np.array(sizes, np.int64)


def _places(pattern: Coo) -> np.ndarray:
    """[4, entries]: batch and three axes; two-dimensional patterns get a first axis of length 1."""
    places = pattern.indices.numpy().astype(np.int64, copy=False)
    return places if places.shape[0] == 4 else np.insert(places, 1, 0, axis=0)


def _from_numbers(numbers: np.ndarray, inputs: Coo, sizes: Ints) -> Coo:
    shape = (inputs.shape[0], *sizes)
    places = np.stack(np.unravel_index(numbers, shape)) if numbers.size else np.empty((4, 0), np.int64)
    if len(inputs.shape) == 3:
        places, shape = np.delete(places, 1, axis=0), (shape[0], *shape[2:])
    return Coo(torch.from_numpy(places).to(inputs.kind), shape, True)


def _distinct(numbers: np.ndarray, cells: int) -> np.ndarray:
    if cells <= loops.LARGEST_GRID:
        seen = np.zeros(cells, bool)
        seen[numbers] = True
        return np.flatnonzero(seen)
    return np.unique(numbers)


def book(
    inputs: Coo, kernel: Ints, stride: Ints, pads: Sequence[tuple[int, int]], dilation: Ints, kind: str
) -> Book:
    """The rulebook over three axes, kept with the pattern: another layer with the same numbers finds it there.

    kind: "submanifold" (outputs are the inputs; Graham, Engelcke and van der Maaten 2018), "strided" (whatever the
    kernel reaches), "transposed" (whatever an input reaches).
    """
    known: dict[Any, Book] = inputs.__dict__.setdefault("books", {})
    numbers = (kernel, stride, tuple(pads), dilation, kind)
    if numbers not in known:
        known[numbers] = _built(inputs, kernel, stride, pads, dilation, kind)
    return known[numbers]


def _built(inputs: Coo, kernel: Ints, stride: Ints, pads: Any, dilation: Ints, kind: str) -> Book:
    places = _places(inputs)
    before = tuple(inputs.shape[1:]) if len(inputs.shape) == 4 else (1, *inputs.shape[1:])
    batch, offsets, pad = inputs.shape[0], _offsets(kernel, dilation), _grid([p[0] for p in pads])
    if kind == "submanifold":
        outputs, centre = inputs, _grid([(k // 2) * d for k, d in zip(kernel, dilation, strict=True)])
        found = loops.table(inputs.flat.numpy(), batch * math.prod(before))
        return Book(
            loops.neighbours(places, _grid(before), offsets, _grid((1, 1, 1)), centre, found), inputs, outputs
        )
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if kind == "transposed":
        sizes = tuple(
            (n - 1) * s - sum(p) + m for n, s, p, m in zip(before, stride, pads, spans, strict=True)
        )
    else:
        sizes = tuple(
            (n + sum(p) - m) // s + 1 for n, s, p, m in zip(before, stride, pads, spans, strict=True)
        )
    if min(sizes) < 1:
        raise ValueError(
            f"the kernel {kernel} with dilation {dilation} does not fit into {before} with padding {list(pads)}"
        )
    many = np.empty(places.shape[1] * offsets.shape[0], np.int64)
    find = loops.spread if kind == "transposed" else loops.reached
    count = find(places, _grid(sizes), offsets, _grid(stride), pad, many)
    outputs = _from_numbers(_distinct(many[:count], batch * math.prod(sizes)), inputs, sizes)
    if kind == "transposed":  # seen from the outputs it is the strided one
        found = loops.table(outputs.flat.numpy(), batch * math.prod(sizes))
        near = loops.neighbours(places, _grid(sizes), offsets, _grid(stride), pad, found)
        return Book(near, outputs, inputs).turned
    found = loops.table(inputs.flat.numpy(), batch * math.prod(before))
    near = loops.neighbours(_places(outputs), _grid(before), offsets, _grid(stride), pad, found)
    return Book(near, inputs, outputs)
