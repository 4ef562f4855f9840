"""Parameters that optimizers step over, and what they become."""

import numpy as np
import torch

import sampan as paddle
from sampan import nn

STEPS = 50


SHAPES = [(4, 3), (3,), ()]


def values(seed=0):
    generator = np.random.default_rng(seed)
    start = [generator.normal(size=s) for s in SHAPES]
    gradients = [[generator.normal(size=s) for s in SHAPES] for _ in range(STEPS)]
    return start, gradients


def ours(make, steps=STEPS):
    start, gradients = values()
    parameters = [nn.Parameter(torch.tensor(s)) for s in start]
    optim = make(parameters)
    history = []
    for row in gradients[:steps]:
        for p, g in zip(parameters, row, strict=True):
            p.grad = paddle.to_tensor(np.array(g))
        optim.step()
        optim.clear_grad()
        history.append([p.numpy().copy() for p in parameters])
    return history


def same(one, two):
    for step, (a, b) in enumerate(zip(one, two, strict=True)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14, err_msg=f"step {step + 1}")
