"""Random expressions, where tensors are used several times and gradients share memory on the way, against torch."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan

LEAVES = 3
# Each step takes two earlier values; those that hand a gradient on as it is (add, reshape, concat) are what shares it.
STEPS = {
    "add": lambda lib, a, b: a + b,
    "subtract": lambda lib, a, b: a - b,
    "multiply": lambda lib, a, b: a * b,
    "matmul": lambda lib, a, b: a @ b,
    "reshape": lambda lib, a, b: a.reshape([9]).reshape([3, 3]) + b,
    "transpose": lambda lib, a, b: lib.transpose(a, [1, 0]) if lib is sampan else a.mT,
    "tanh": lambda lib, a, b: lib.tanh(a),
    "double": lambda lib, a, b: a + a,
    "concat": lambda lib, a, b: (lib.concat if lib is sampan else torch.cat)([a, b], 0)[1:4],
}
steps = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=8
)


def value(lib, leaves, program):
    known = list(leaves)
    for name, first, second in program:
        known.append(STEPS[name](lib, known[first % len(known)], known[second % len(known)]))
    return (known[-1] * 0.5).sum() + known[len(known) // 2].sum()


@settings(max_examples=300)
@given(program=steps, rounds=st.integers(1, 2), data_only=st.integers(0, LEAVES))
def test_random_graphs_have_torch_s_gradients(program, rounds: int, data_only: int) -> None:
    arrays = [np.random.default_rng(k).uniform(-1, 1, (3, 3)) for k in range(LEAVES)]
    ours = [sampan.to_tensor(a, stop_gradient=k == data_only) for k, a in enumerate(arrays)]
    theirs = [torch.tensor(a, requires_grad=k != data_only) for k, a in enumerate(arrays)]
    for _ in range(rounds):  # a second backward adds to what the first one left
        mine, other = value(sampan, ours, program), value(torch, theirs, program)
        if not other.requires_grad:
            return
        mine.backward()
        # Not backward(): torch 2.13 lets two leaves share one gradient, so that adding to one changes the other.
        traced = [leaf for leaf in theirs if leaf.requires_grad]
        for leaf, found in zip(traced, torch.autograd.grad(other, traced, allow_unused=True), strict=True):
            if found is not None:
                leaf.grad = found.clone() if leaf.grad is None else leaf.grad + found
    for mine, other in zip(ours, theirs, strict=True):
        if other.grad is None:
            assert mine.grad is None
        else:
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-9)
