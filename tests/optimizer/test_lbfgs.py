"""L-BFGS beside torch's, step by step."""

import numpy as np
import pytest
import torch

from sampan import nn, optimizer


def valley(x):
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() * 10 + ((1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("history", [3, 100])
def test_lbfgs_equals_torch_step_by_step(search, history):
    start = np.random.default_rng(0).normal(size=6) * 2
    rate = 1.0 if search else 0.5
    mine, other = nn.Parameter(start.copy()), torch.nn.Parameter(torch.tensor(start))
    first = optimizer.LBFGS(rate, 8, history_size=history, line_search_fn=search, parameters=[mine])
    second = torch.optim.LBFGS([other], rate, 8, history_size=history, line_search_fn=search)

    def closure(parameter, optim):
        optim.zero_grad()
        loss = valley(parameter)
        loss.backward()
        return loss.detach()

    for _ in range(6):
        a = float(first.step(lambda: closure(mine, first)))
        b = float(second.step(lambda: closure(other, second)))
        assert a == pytest.approx(b, rel=1e-7)
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-7)
    assert first.state["func_evals"] == second.state[other]["func_evals"]
    again = optimizer.LBFGS(rate, 8, history_size=history, line_search_fn=search, parameters=[mine])
    again.set_state_dict(first.state_dict())
    assert again.state["func_evals"] == first.state["func_evals"]
    with pytest.raises(NotImplementedError, match="closure"):
        first.minimize(valley(mine))
