"""The course's drivers where they judge more than values: a race tells the fast from the slow."""

import numpy as np
import torch

import sampan  # noqa: F401  the slots are below it
from sampan import learn
from sampan.learn import drivers
from studio.lessons.drivers import _triple_loop


def test_a_race_against_the_triple_loop():
    x = np.random.default_rng(1).normal(size=(160, 160)).astype(np.float32)

    @learn.exercise("ops.linalg.mm")
    def mm(input, mat2):
        return torch.mm(input, mat2), None

    fast = drivers.run("ops.linalg.mm", "raced", ([x, x], 5))

    @learn.exercise("ops.linalg.mm")
    def slow(input, mat2):
        out = np.empty((160, 160), np.float32)
        for _ in range(2):
            _triple_loop(input.numpy(), mat2.numpy(), out)
        return torch.from_numpy(out), None

    try:
        twice = drivers.run("ops.linalg.mm", "raced", ([x, x], 5))
    finally:
        learn.reference("ops.linalg.mm")
    assert np.allclose(fast["value"], x.astype(np.float64) @ x, atol=1e-3)
    assert fast["ratio"] > 2 > 0.9 > twice["ratio"] > 0.2
