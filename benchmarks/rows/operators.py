"""The cost of one operator, forward and backward, at three sizes; and a chain of five."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import Row

SIZES = (8, 64, 256)
CHAIN_GOALS = {8: 0.6, 64: 0.75, 256: 1.0}


def data(size):
    """Three square matrices, the same in every framework, with products of about 1."""
    generator = np.random.default_rng(size)
    return [(generator.standard_normal((size, size)) / size**0.5).astype(np.float32) for _ in range(3)]


# Each takes the framework's module; the names are the same in all three.
OPERATORS = {
    "add": lambda fw, x, y, z: x + y,
    "mul": lambda fw, x, y, z: x * y,
    "matmul": lambda fw, x, y, z: x @ y,
}


def chain_paddle(fw, x, y, z):
    return fw.nn.functional.relu((x @ y) * z + x).sum()


def chain_torch(fw, x, y, z):
    return fw.relu((x @ y) * z + x).sum()


def forward_paddle(fw, formula, size):
    x, y, z = (fw.to_tensor(array) for array in data(size))  # data: no gradient is recorded
    return lambda: formula(fw, x, y, z)


def forward_torch(fw, formula, size):
    x, y, z = (fw.from_numpy(array) for array in data(size))
    return lambda: formula(fw, x, y, z)


def backward_paddle(fw, formula, size):
    x, y, z = (fw.to_tensor(array, stop_gradient=False) for array in data(size))
    ones = None if formula is chain_paddle else fw.ones([size, size])

    def step():
        x.clear_gradient(False)
        y.clear_gradient(False)
        z.clear_gradient(False)
        formula(fw, x, y, z).backward(ones)
        return x.grad

    return step


def backward_torch(fw, formula, size):
    x, y, z = (fw.from_numpy(array).requires_grad_() for array in data(size))
    ones = None if formula is chain_torch else fw.ones(size, size)

    def step():
        x.grad = y.grad = z.grad = None
        formula(fw, x, y, z).backward(ones)
        return x.grad

    return step


def rows():
    for size in SIZES:
        for name, formula in OPERATORS.items():
            yield from pair(name, formula, formula, size, 1.0)
        yield from pair("chain of 5", chain_paddle, chain_torch, size, CHAIN_GOALS[size])


def pair(name, in_paddle, in_torch, size, goal):
    within = 1.25 if size == SIZES[-1] else None  # for smaller ones the overhead of a call dominates
    yield Row(
        f"{name}, {size} square, forward",
        paddle=partial(forward_paddle, formula=in_paddle, size=size),
        torch=partial(forward_torch, formula=in_torch, size=size),
        within=within,
    )
    yield Row(
        f"{name}, {size} square, forward and backward",
        paddle=partial(backward_paddle, formula=in_paddle, size=size),
        torch=partial(backward_torch, formula=in_torch, size=size),
        goal=goal,
        within=within,
    )


ROWS = list(rows())
