"""Parameter utilities against torch's."""

import math

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.nn import utils


def pair(seed=0):
    torch.manual_seed(seed)
    other = torch.nn.Linear(3, 2).double()
    mine = nn.Linear(3, 2).to(dtype="float64")
    mine.weight.set_value(other.weight.detach().t().numpy().copy())
    mine.bias.set_value(other.bias.detach().numpy())
    return mine, other


@pytest.mark.parametrize("kind", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_clipping_by_norm(kind, limit):
    mine, other = pair()
    mine(paddle.ones([4, 3], "float64")).sum().backward()
    other(torch.ones(4, 3).double()).sum().backward()
    norm = utils.clip_grad_norm_(mine.parameters(), limit, kind)
    expected = torch.nn.utils.clip_grad_norm_(other.parameters(), limit, kind)
    assert norm.item() == pytest.approx(expected.item())
    np.testing.assert_allclose(mine.weight.grad.numpy().T, other.weight.grad.numpy(), rtol=1e-6)
    utils.clip_grad_value_(mine.weight, 0.05)
    assert abs(mine.weight.grad.numpy()).max() <= 0.05
    mine.bias.grad = paddle.to_tensor([math.inf, 1.0], dtype="float64")
    with pytest.raises(RuntimeError, match="inf"):
        utils.clip_grad_norm_(mine.bias, 1.0, error_if_nonfinite=True)


def test_parameters_as_a_vector():
    mine, _ = pair()
    vector = utils.parameters_to_vector(mine.parameters())
    assert vector.shape == [8] and not vector.stop_gradient
    utils.vector_to_parameters(vector * 2, mine.parameters())
    np.testing.assert_allclose(utils.parameters_to_vector(mine.parameters()).numpy(), 2 * vector.numpy())
    with pytest.raises(ValueError, match="8 entries"):
        utils.vector_to_parameters(vector[:5], mine.parameters())


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_equals_torch(dim):
    mine, other = pair()
    utils.weight_norm(mine, dim=dim)
    # torch's weight is the other way round
    torch.nn.utils.parametrizations.weight_norm(other, dim=None if dim is None else 1 - dim)
    x = np.random.default_rng(0).normal(size=(4, 3))
    out, expected = mine(paddle.to_tensor(x)), other(torch.tensor(x))
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-12)
    (out**2).sum().backward()
    (expected**2).sum().backward()
    g, v = (p.grad.numpy() for p in other.parametrizations.weight.parameters())
    np.testing.assert_allclose(mine.weight_g.grad.numpy().ravel(), g.ravel(), rtol=1e-9)
    np.testing.assert_allclose(mine.weight_v.grad.numpy(), v.T, rtol=1e-9, atol=1e-12)
    assert sorted(n for n, _ in mine.named_parameters()) == ["bias", "weight_g", "weight_v"]
    with pytest.raises(ValueError, match="name"):
        utils.weight_norm(mine)
    before = mine(paddle.to_tensor(x)).numpy()
    utils.remove_weight_norm(mine)
    np.testing.assert_allclose(mine(paddle.to_tensor(x)).numpy(), before, rtol=1e-12)
    assert sorted(mine.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="no weight norm"):
        utils.remove_weight_norm(mine)


def test_spectral_norm_finds_the_largest_singular_value():
    mine, _ = pair()
    weight = mine.weight.numpy().copy()
    utils.spectral_norm(mine, n_power_iterations=60)
    mine(paddle.ones([1, 3], "float64")).sum().backward()
    np.testing.assert_allclose(mine.weight.numpy(), weight / np.linalg.svd(weight)[1][0], rtol=1e-9)
    assert abs(mine.weight_orig.grad.numpy()).max() > 0 and "weight_u" in mine.state_dict()
    mine.eval()
    kept = mine.weight_u.numpy().copy()
    mine(paddle.ones([1, 3], "float64"))
    assert (mine.weight_u.numpy() == kept).all()
    with pytest.raises(ValueError, match="n_power_iterations"):
        utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
