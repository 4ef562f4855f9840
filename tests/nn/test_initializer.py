"""Initializers: the moments and limits of their formulas, and Paddle's defaults."""

import math

import numpy as np
import pytest
from scipy import stats

import sampan as paddle
from sampan import nn
from sampan.nn import initializer as init

SHAPE = [300, 200]


@pytest.fixture(autouse=True)
def same_chance():
    paddle.seed(11)


def drawn(initializer, shape=SHAPE):
    return initializer.make(shape, "float64").numpy().ravel()


@pytest.mark.parametrize(
    ("initializer", "distribution"),
    [
        (init.Normal(1.0, 3.0), stats.norm(1.0, 3.0)),
        (init.TruncatedNormal(1.0, 3.0), stats.truncnorm(-2, 2, 1.0, 3.0)),
        (init.TruncatedNormal(0.0, 1.0, -1.0, 0.5), stats.truncnorm(-1, 0.5)),
        (init.Uniform(-2.0, 5.0), stats.uniform(-2, 7)),
        (init.XavierNormal(), stats.norm(0, math.sqrt(2 / 500))),
        (init.XavierUniform(), stats.uniform(-math.sqrt(6 / 500), 2 * math.sqrt(6 / 500))),
        (init.XavierUniform(fan_in=10, fan_out=14), stats.uniform(-0.5, 1.0)),
        (init.KaimingNormal(), stats.norm(0, math.sqrt(2 / 300))),
        (init.KaimingUniform(), stats.uniform(-math.sqrt(6 / 300), 2 * math.sqrt(6 / 300))),
        (init.KaimingUniform(fan_in=24), stats.uniform(-0.5, 1.0)),
        (
            init.KaimingNormal(negative_slope=1.0, nonlinearity="leaky_relu"),
            stats.norm(0, math.sqrt(1 / 300)),
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, init.Initializer) else "",
)
def test_distribution(initializer, distribution):
    # 60,000 draws from a fixed seed; Kolmogorov and Smirnov's distance has 1.63 / sqrt(n) as its 1 % point.
    assert stats.kstest(drawn(initializer), distribution.cdf).statistic < 1.63 / math.sqrt(60_000)


def test_fans_of_a_convolution():
    limit = math.sqrt(6 / (3 * 25 + 8 * 25))
    values = drawn(init.XavierUniform(), [8, 3, 5, 5])
    assert 0.95 * limit < np.abs(values).max() <= limit


def test_constant_and_assign():
    assert set(drawn(init.Constant(3.0))) == {3.0}
    value = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(init.Assign(value).make([2, 3], "float32").numpy(), value)
    assert list(init.Assign(value).make([3, 2]).shape) == [2, 3]


def test_defaults_are_paddles():
    linear = nn.Linear(300, 200)
    limit = math.sqrt(6 / 500)
    assert stats.kstest(linear.weight.numpy().ravel(), stats.uniform(-limit, 2 * limit).cdf).statistic < 0.007
    assert not linear.bias.numpy().any()
    conv = nn.Conv2D(32, 64, 5)
    deviation = math.sqrt(2 / (32 * 25))
    assert stats.kstest(conv.weight.numpy().ravel(), stats.norm(0, deviation).cdf).statistic < 0.0073
    assert not conv.bias.numpy().any()


def test_seed_decides_and_a_parameter_can_be_filled_again():
    paddle.seed(3)
    one = nn.Linear(4, 4).weight
    paddle.seed(3)
    two = nn.Linear(4, 4).weight
    np.testing.assert_array_equal(one.numpy(), two.numpy())
    init.Constant(1.0)(one)
    assert one.numpy().sum() == 16


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: init.Uniform(2, 1), "low, high"),
        (lambda: init.TruncatedNormal(a=1, b=-1), "a, b"),
        (lambda: init.KaimingNormal(mode="fan"), "mode"),
        (lambda: init.calculate_gain("swish"), "nonlinearity"),
    ],
)
def test_bad_settings(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def made(initializer, *shape):
    return initializer.make(shape, "float64").numpy()


def test_dirac_hands_its_input_on():
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(1, 4, 5, 5)))
    weight = paddle.to_tensor(made(nn.initializer.Dirac(2), 4, 2, 3, 3))
    np.testing.assert_array_equal(nn.functional.conv2d(x, weight, padding=1, groups=2).numpy(), x.numpy())
    with pytest.raises(ValueError, match="Dirac"):
        made(nn.initializer.Dirac(2), 3, 2, 3)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    matrix = made(nn.initializer.Orthogonal(2.0), *shape).reshape(shape[0], -1)
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_bilinear_is_paddles():
    """Recorded from PaddlePaddle 3.3.1."""
    expected = [[0.0625, 0.3125, 0.4375], [0.1875, 0.6875, 0.6875], [0.1875, 0.4375, 0.3125]]
    np.testing.assert_allclose(made(nn.initializer.Bilinear(), 1, 1, 3, 3)[0, 0], expected, atol=1e-12)


def test_global_initializers_come_before_a_layers_own_and_after_an_attr():
    constant = nn.initializer.Constant
    nn.initializer.set_global_initializer(constant(3.0), constant(4.0))
    try:
        layer = nn.LSTMCell(1, 1)
        assert (layer.weight_ih.numpy() == 3).all() and (layer.bias_hh.numpy() == 4).all()
        assert (nn.Linear(2, 2, constant(1.0)).weight.numpy() == 1).all()
    finally:
        nn.initializer.set_global_initializer(None)
    assert (nn.Linear(2, 2).bias.numpy() == 0).all()
    with pytest.raises(TypeError, match="weight_init"):
        nn.initializer.set_global_initializer(3.0)
    assert nn.initializer.calculate_gain("conv_transpose3d") == 1


def test_an_initializer_called_on_a_parameter_fills_it_and_gives_nothing_back():
    weight = nn.Linear(2, 2).weight
    assert init.Constant(3.0)(weight) is None
    np.testing.assert_array_equal(weight.numpy(), np.full([2, 2], 3.0, "float32"))
