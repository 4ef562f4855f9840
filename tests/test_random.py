"""Random tensors: their moments, their generator's states, gradients through them and into filled memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import sampan as paddle

N = 20_000


def agrees(tensor, distribution) -> None:
    """Kolmogorov and Smirnov find no difference from the distribution."""
    assert scipy.stats.kstest(tensor.numpy().ravel(), distribution.cdf).pvalue > 1e-3


@pytest.fixture(autouse=True)
def seeded() -> None:
    paddle.seed(7)


def test_continuous_distributions() -> None:
    st, x = scipy.stats, lambda: paddle.empty([N], "float64")
    agrees(paddle.rand([N]), st.uniform())
    agrees(paddle.uniform([N], min=2, max=5), st.uniform(2, 3))
    agrees(paddle.randn([N]), st.norm())
    agrees(paddle.normal(1.0, 2.0, [N]), st.norm(1, 2))
    agrees(paddle.log_normal(0.5, 0.3, [N]), st.lognorm(0.3, scale=np.exp(0.5)))
    agrees(paddle.standard_gamma(paddle.full([N], 2.5, "float64")), st.gamma(2.5))
    agrees(x().normal_(1.0, 2.0), st.norm(1, 2))
    agrees(x().uniform_(2, 5), st.uniform(2, 3))
    agrees(x().exponential_(4.0), st.expon(scale=0.25))
    agrees(x().cauchy_(1.0, 2.0), st.cauchy(1, 2))
    agrees(x().log_normal_(0.5, 0.3), st.lognorm(0.3, scale=np.exp(0.5)))
    agrees(x().geometric_(0.3), st.expon(scale=-1 / np.log(0.7)))


def frequencies(tensor, count: int) -> np.ndarray:
    return np.bincount(tensor.numpy().astype(int), minlength=count) / tensor.size


def test_discrete_distributions() -> None:
    st = scipy.stats
    close = {"atol": 5 * 0.5 / np.sqrt(N)}
    np.testing.assert_allclose(frequencies(paddle.bernoulli(paddle.full([N], 0.3)), 2), [0.7, 0.3], **close)
    np.testing.assert_allclose(frequencies(paddle.empty([N]).bernoulli_(0.3), 2), [0.7, 0.3], **close)
    np.testing.assert_allclose(frequencies(paddle.randint(0, 4, [N]), 4), [0.25] * 4, **close)
    np.testing.assert_allclose(frequencies(paddle.empty([N]).random_(4), 4), [0.25] * 4, **close)
    counts = paddle.binomial(paddle.full([N], 5), paddle.to_tensor(0.3))
    assert counts.dtype == paddle.int64
    np.testing.assert_allclose(frequencies(counts, 6), st.binom(5, 0.3).pmf(range(6)), **close)
    events = paddle.poisson(paddle.full([N], 1.5))
    np.testing.assert_allclose(frequencies(events, 9)[:9], st.poisson(1.5).pmf(range(9)), **close)
    drawn = paddle.multinomial(paddle.to_tensor([1.0, 0.0, 3.0]), N, replacement=True)
    np.testing.assert_allclose(frequencies(drawn, 3), [0.25, 0, 0.75], **close)
    assert sorted(paddle.multinomial(paddle.ones([2, 5]), 5).tolist()[1]) == [0, 1, 2, 3, 4]
    assert sorted(paddle.randperm(6, "int32").tolist()) == list(range(6))


def test_like() -> None:
    x = paddle.ones([2, 3], "float64")
    assert paddle.rand_like(x).dtype == paddle.randn_like(x).dtype == paddle.float64
    assert (
        paddle.randint_like(x, 5).shape == [2, 3]
        and paddle.randint_like(x, 0, 5, "int32").dtype == paddle.int32
    )
    assert paddle.randn([2], "complex64").is_complex() and paddle.normal(1j, 1.0, [2]).is_complex()
    assert not paddle.rand_like(x, requires_grad=True).stop_gradient


def test_states() -> None:
    states = paddle.get_rng_state()
    first = paddle.rand([3]).tolist()
    paddle.set_rng_state(states)
    assert paddle.rand([3]).tolist() == first
    generator = paddle.seed(3)
    assert generator.initial_seed() == 3
    again = [paddle.randn([2]).tolist() for _ in range(2) if paddle.seed(3)]
    assert again[0] == again[1]
    one, two = (paddle.uniform([3], seed=5).tolist() for _ in range(2))
    assert one == two and paddle.uniform([3]).tolist() != one
    with pytest.raises(ValueError, match="empty"):
        paddle.set_rng_state([])
    with pytest.raises(ValueError, match="invalid literal"):
        paddle.seed("a")


def test_gradients() -> None:
    mean, std = (paddle.to_tensor([v, v], stop_gradient=False) for v in (1.0, 2.0))
    drawn = paddle.normal(mean, std)
    drawn.sum().backward()
    assert mean.grad.tolist() == [1, 1]
    np.testing.assert_allclose(std.grad.numpy(), (drawn.numpy() - 1) / 2, rtol=1e-5)
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x * 2.0
    y.normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]
    with pytest.raises(ValueError, match="leaf"):
        x.uniform_()
    with paddle.no_grad():
        assert x.uniform_(3, 4) is x and float(x.min()) >= 3


def test_random_ranges() -> None:
    assert paddle.empty([99]).random_().max() < 2**24
    drawn = paddle.empty([99], "int64").random_(2, 5)
    assert set(drawn.tolist()) == {2, 3, 4}
    with pytest.raises(ValueError, match="from_ < to"):
        paddle.ones([2]).random_(9, 3)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: paddle.randint(0), ValueError, "low < high"),
        (lambda: paddle.randint_like(paddle.ones([2]), 5, 3), ValueError, "low < high"),
        (lambda: paddle.rand([2], "int32"), TypeError, "floating"),
        (lambda: paddle.ones([2], "int64").normal_(), TypeError, "floating"),
        (lambda: paddle.bernoulli(paddle.to_tensor([1.5])), ValueError, "from 0 to 1"),
        (lambda: paddle.ones([2]).bernoulli_(-1.0), ValueError, "from 0 to 1"),
        (lambda: paddle.multinomial(paddle.to_tensor([0.2, 0.8]), 3), ValueError, "not exceed"),
        (lambda: paddle.multinomial(paddle.to_tensor([-0.2, 0.8])), ValueError, "multinomial"),
        (lambda: paddle.multinomial(paddle.ones([2, 2, 2])), ValueError, "dim"),
    ],
)
def test_refusals(call, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
