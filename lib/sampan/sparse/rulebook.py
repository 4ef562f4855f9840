"""Which entries of a sparse input a sparse convolution multiplies for which entries of its output: the
rulebook."""

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..kernels import sparse as kernels
from ..kernels.device import array, buffer, empty
from .pattern import Array, Coo

Ints = tuple[int, ...]


class Book:
    """For each offset of a kernel the pairs (entry of the input, entry of the output) that it joins.

    near: [offsets, outputs], the input's entry or -1. Within an offset no entry occurs twice, on either side.
    mutual: if b is a's neighbour at offsets[k], a is b's at the opposite one, offsets[-1 - k], so that the
    same table serves both directions. backwards: the table's offsets are in reverse order.
    """

    def __init__(
        self, near: Array, inputs: Coo, outputs: Coo, mutual: bool = False, backwards: bool = False
    ) -> None:
        self.near, self.inputs, self.outputs = near, inputs, outputs
        self.mutual, self.backwards = mutual, backwards

    def ordered(self, weights: torch.Tensor) -> torch.Tensor:
        """[offsets, ...] from the kernel's order into that of `near`, and back."""
        return weights.flip(0) if self.backwards else weights

    @cached_property
    def pairs(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """(entries of the input, entries of the output) for each of the kernel's offsets."""
        found = []
        for row in self.ordered(buffer(self.near)):
            out = (row >= 0).nonzero().flatten()
            found.append((row[out].long(), out))
        return found

    @cached_property
    def turned(self) -> "Book":
        """The same pairs from the output to the input: of the gradient, and of the inverse convolution."""
        near = self.near if self.mutual else _reversed(self.near, self.inputs.nnz)
        back = Book(near, self.outputs, self.inputs, self.mutual, self.backwards != self.mutual)
        back.__dict__["turned"] = self
        return back


def _reversed(near: Array, count: int) -> Array:
    """[offsets, count]: for each input the output that it is the neighbour of, or -1."""
    if isinstance(near, np.ndarray):
        return kernels.turned(near, count)
    back = near.new_full((len(near), count + 1), -1)  # the last column takes the -1, which is no neighbour
    places = torch.arange(near.shape[1], dtype=near.dtype, device=near.device).expand_as(near)
    return back.scatter_(1, near.long() % (count + 1), places)[:, :count].contiguous()


def _offsets(kernel: Ints, dilation: Ints) -> np.ndarray:
    steps = itertools.product(*(range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True)))
    return np.array(list(steps), np.int64)


def _grid(sizes: Sequence[int]) -> np.ndarray:
    return np.array(sizes, np.int64)


def _places(pattern: Coo) -> Array:
    """[4, entries]: batch and three axes; two-dimensional patterns get a first axis of length 1. A copy,
    since it is passed to learners' functions."""
    places = pattern.indices.to(torch.int64, copy=True)
    if len(places) == 3:
        places = torch.cat([places[:1], torch.zeros_like(places[:1]), places[1:]])
    return array(places)


def _numbers(places: Array, sizes: Sequence[int]) -> Array:
    """Where places stand in the flattened grid, all samples one after the other."""
    numbers = places[0]
    for length, axis in zip(sizes, places[1:], strict=True):
        numbers = numbers * length + axis
    return numbers


def _from_numbers(numbers: Array, inputs: Coo, sizes: Ints) -> Coo:
    shape = (inputs.shape[0], *(sizes if len(inputs.shape) == 4 else sizes[1:]))
    return Coo(None, shape, True, kind=inputs.kind).at(buffer(numbers))


def book(
    inputs: Coo, kernel: Ints, stride: Ints, pads: Sequence[tuple[int, int]], dilation: Ints, kind: str
) -> Book:
    """The rulebook over three axes, kept with the pattern: another layer with the same numbers finds it
    there.

    kind: "submanifold" (outputs are the inputs; Graham, Engelcke and van der Maaten 2018), "strided"
    (whatever the kernel reaches), "transposed" (whatever an input reaches).
    """
    known: dict[Any, Book] = inputs.__dict__.setdefault("books", {})
    numbers = (kernel, stride, tuple(pads), dilation, kind)
    if numbers not in known:
        known[numbers] = _built(inputs, kernel, stride, pads, dilation, kind)
    return known[numbers]


def neighbours(places: Array, offsets: np.ndarray, shape: Ints) -> Array:
    """[offsets, entries], int32: the number of the entry at place + offset, in the same sample, or -1.

    places: [4, entries], batch and three axes, each place once, in any order. offsets: [offsets, 3]. shape:
    of the grid, batch first. Notebook 05b has it written.
    """
    batch, *sizes = shape
    for axis, length in enumerate(shape):
        low, high = buffer(places[axis]).aminmax() if places.shape[1] else (0, 0)
        if not 0 <= int(low) <= int(high) < max(length, 1):
            raise ValueError(
                f"places[{axis}]: expected 0 to {length - 1}, for shape {list(shape)}, got {int(low)} to "
                f"{int(high)}"
            )
    found = kernels.table(_numbers(places, sizes), batch * math.prod(sizes))
    if isinstance(places, np.ndarray) and len(offsets) % 2 and np.array_equal(offsets, -offsets[::-1]):
        return kernels.mutual_neighbours(places, _grid(sizes), offsets, found)
    zero, one = _grid((0, 0, 0)), _grid((1, 1, 1))
    return kernels.neighbours(places, _grid(sizes), offsets, one, zero, found)


def _checked(near: Array, offsets: int, count: int) -> Array:
    """The result of `neighbours`, in int32, checked since learners write that function too."""
    found = buffer(near)
    if tuple(found.shape) != (offsets, count):
        raise ValueError(f"neighbours: expected shape {[offsets, count]}, got {list(found.shape)}")
    if found.numel() and not -1 <= int(found.min()) <= int(found.max()) < count:
        raise ValueError(
            f"neighbours: expected -1 to {count - 1}, got {int(found.min())} to {int(found.max())}"
        )
    return array(found.to(torch.int32, copy=True).contiguous())  # a copy: the learner may change theirs


def _built(inputs: Coo, kernel: Ints, stride: Ints, pads: Any, dilation: Ints, kind: str) -> Book:
    places = _places(inputs)
    before = tuple(inputs.shape[1:]) if len(inputs.shape) == 4 else (1, *inputs.shape[1:])
    batch, offsets, pad = inputs.shape[0], _offsets(kernel, dilation), _grid([p[0] for p in pads])
    if kind == "submanifold":
        centre = _grid([(k // 2) * d for k, d in zip(kernel, dilation, strict=True)])
        near = _checked(neighbours(places, offsets - centre, (batch, *before)), offsets.shape[0], inputs.nnz)
        return Book(near, inputs, inputs, mutual=all(k % 2 for k in kernel))
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
            f"the kernel {kernel} with dilation {dilation} does not fit into {before} with padding "
            f"{list(pads)}"
        )
    many = empty(places.shape[1] * offsets.shape[0], places)
    find = kernels.spread if kind == "transposed" else kernels.reached
    count = find(places, _grid(sizes), offsets, _grid(stride), pad, many)
    outputs = _from_numbers(kernels.distinct(many[:count], batch * math.prod(sizes)), inputs, sizes)
    if kind == "transposed":  # seen from the outputs it is the strided one
        found = kernels.table(array(outputs.flat), batch * math.prod(sizes))
        near = kernels.neighbours(places, _grid(sizes), offsets, _grid(stride), pad, found)
        return Book(near, outputs, inputs).turned
    found = kernels.table(array(inputs.flat), batch * math.prod(before))
    near = kernels.neighbours(_places(outputs), _grid(before), offsets, _grid(stride), pad, found)
    return Book(near, inputs, outputs)
