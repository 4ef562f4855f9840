"""Adam beside the published rule."""

import numpy as np

from sampan import optimizer
from tests.optimizer.steps import ours, same, values


def published_adam(start, gradients, lr, b1, b2, eps, decay=0.0):
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2, for the decay."""
    p = [s.copy() for s in start]
    m, v = [0 * s for s in start], [0 * s for s in start]
    history = []
    for t, row in enumerate(gradients, 1):
        for i, g in enumerate(row):
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g**2
            step = (m[i] / (1 - b1**t)) / (np.sqrt(v[i] / (1 - b2**t)) + eps)
            p[i] = p[i] - lr * decay * p[i] - lr * step
        history.append([x.copy() for x in p])
    return history


def test_adam_is_the_published_rule():
    start, gradients = values()
    same(
        ours(lambda p: optimizer.Adam(0.01, parameters=p)),
        published_adam(start, gradients, 0.01, 0.9, 0.999, 1e-8),
    )
    same(
        ours(lambda p: optimizer.AdamW(0.01, parameters=p, weight_decay=0.1)),
        published_adam(start, gradients, 0.01, 0.9, 0.999, 1e-8, 0.1),
    )
