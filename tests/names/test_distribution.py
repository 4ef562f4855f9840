"""Distributions: samples against SciPy's cdf, gradients through samples, numbers against torch and SciPy.

What each formula gives is compared with PaddlePaddle in tests/parity/cases/distribution.py.
"""

import math

import numpy as np
import pytest
import scipy.stats as stats
import torch

import sampan as paddle
from sampan import distribution as D

N = 4000


def t(values, **facts):
    return paddle.to_tensor(values, dtype="float64", **facts)


# name: the distribution, SciPy's own
CONTINUOUS = {
    "normal": (lambda: D.Normal(t(0.5), t(2.0)), stats.norm(0.5, 2)),
    "uniform": (lambda: D.Uniform(t(-1.0), t(2.0)), stats.uniform(-1, 3)),
    "lognormal": (lambda: D.LogNormal(t(0.2), t(0.5)), stats.lognorm(0.5, scale=math.exp(0.2))),
    "laplace": (lambda: D.Laplace(t(0.5), t(2.0)), stats.laplace(0.5, 2)),
    "cauchy": (lambda: D.Cauchy(t(0.5), t(2.0)), stats.cauchy(0.5, 2)),
    "gumbel": (lambda: D.Gumbel(t(0.5), t(2.0)), stats.gumbel_r(0.5, 2)),
    "student": (lambda: D.StudentT(t(3.0), t(0.5), t(2.0)), stats.t(3, 0.5, 2)),
    "exponential": (lambda: D.Exponential(t(2.0)), stats.expon(scale=0.5)),
    "gamma": (lambda: D.Gamma(t(1.5), t(2.0)), stats.gamma(1.5, scale=0.5)),
    "chi2": (lambda: D.Chi2(t(3.0)), stats.chi2(3)),
    "beta": (lambda: D.Beta(t(2.0), t(3.0)), stats.beta(2, 3)),
}
DISCRETE = {
    "bernoulli": (lambda: D.Bernoulli(t(0.3)), stats.bernoulli(0.3)),
    "binomial": (lambda: D.Binomial(5, t(0.3)), stats.binom(5, 0.3)),
    "geometric": (lambda: D.Geometric(t(0.3)), stats.geom(0.3, loc=-1)),
    "poisson": (lambda: D.Poisson(t(2.5)), stats.poisson(2.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_families_against_scipy(name):
    make, oracle = CONTINUOUS[name]
    paddle.seed(7)
    ours = make()
    drawn = ours.sample([N])
    assert drawn.shape == [N] and drawn.dtype == torch.float64 and drawn.stop_gradient
    assert stats.kstest(drawn.numpy(), oracle.cdf).pvalue > 1e-3
    x = np.array(oracle.ppf([0.1, 0.4, 0.9]))
    np.testing.assert_allclose(ours.log_prob(t(x)).numpy(), oracle.logpdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.prob(t(x)).numpy(), oracle.pdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.entropy().item(), oracle.entropy(), rtol=1e-6)
    if name != "cauchy":
        np.testing.assert_allclose([ours.mean.item(), ours.variance.item()], oracle.stats("mv"), rtol=1e-10)
        np.testing.assert_allclose(ours.stddev.item(), oracle.std(), rtol=1e-10)
    if hasattr(ours, "cdf"):
        np.testing.assert_allclose(ours.cdf(t(x)).numpy(), [0.1, 0.4, 0.9], rtol=1e-9)
    if hasattr(ours, "icdf"):
        np.testing.assert_allclose(ours.icdf(t([0.1, 0.4, 0.9])).numpy(), x, rtol=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_families_against_scipy(name):
    make, oracle = DISCRETE[name]
    paddle.seed(7)
    ours = make()
    counts = np.bincount(ours.sample([N]).numpy().astype(int), minlength=4)[:4]
    k = np.arange(4.0)[: 2 if name == "bernoulli" else 4]
    np.testing.assert_allclose(counts[: len(k)] / N, oracle.pmf(k), atol=0.03)
    np.testing.assert_allclose(ours.log_prob(t(k)).numpy(), oracle.logpmf(k), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.entropy().item(), oracle.entropy(), rtol=1e-6)
    np.testing.assert_allclose([ours.mean.item(), ours.variance.item()], oracle.stats("mv"), rtol=1e-10)


def test_impossible_counts_have_no_chance():
    np.testing.assert_array_equal(D.Binomial(3, t(0.5)).log_prob(t([4.0])).numpy(), [-np.inf])
    np.testing.assert_array_equal(D.Poisson(t(0.0)).log_prob(t([0.0, 1.0])).numpy(), [0, -np.inf])
    assert D.Poisson(t(0.0)).entropy().item() == 0
    known = D.Poisson(t(2.0)).entropy().item()
    np.testing.assert_allclose(D.Poisson(t([2.0, np.nan])).entropy().numpy(), [known, np.nan])


REPARAMETERISED = {
    "normal": (D.Normal, torch.distributions.Normal, (0.3, 0.7)),
    "laplace": (D.Laplace, torch.distributions.Laplace, (0.3, 0.7)),
    "gamma": (D.Gamma, torch.distributions.Gamma, (1.3, 0.7)),
    "beta": (D.Beta, torch.distributions.Beta, (1.3, 0.7)),
    "exponential": (D.Exponential, torch.distributions.Exponential, (1.3,)),
    "student": (D.StudentT, torch.distributions.StudentT, (5.0, 0.3, 0.7)),
    "lognormal": (D.LogNormal, torch.distributions.LogNormal, (0.3, 0.3)),
}


@pytest.mark.parametrize("name", REPARAMETERISED)
def test_gradients_through_samples_are_those_of_the_mean(name):
    """d E[x] / d parameter, estimated by 4000 samples, against the derivative of the mean's formula."""
    ours, theirs, values = REPARAMETERISED[name]
    paddle.seed(3)
    parameters = [t(v, stop_gradient=False) for v in values]
    ours(*parameters).rsample([N]).mean().backward()
    leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    exact = torch.autograd.grad(theirs(*leaves).mean, leaves, allow_unused=True)
    for p, g in zip(parameters, exact, strict=True):
        assert abs(p.grad.item() - (0.0 if g is None else g.item())) < 0.08


def test_dirichlet_samples_and_their_gradient():
    paddle.seed(1)
    a = t([0.5, 1.5, 2.0], stop_gradient=False)
    d = D.Dirichlet(a)
    x = d.rsample([N])
    assert x.shape == [N, 3]
    np.testing.assert_allclose(x.sum(-1).numpy(), 1)
    np.testing.assert_allclose(x.detach().mean(0).numpy(), d.mean.numpy(), atol=0.02)
    np.testing.assert_allclose(x.detach().var(0).numpy(), d.variance.numpy(), atol=0.01)
    (x.mean(0) * t([1.0, 2.0, 4.0])).sum().backward()
    leaf = torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64, requires_grad=True)
    (leaf / leaf.sum() * torch.tensor([1.0, 2.0, 4.0])).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), leaf.grad.numpy(), atol=0.05)


def test_continuous_bernoulli_samples():
    paddle.seed(1)
    d = D.ContinuousBernoulli(t([0.2, 0.5, 0.9]))
    x = d.sample([N])
    np.testing.assert_allclose(x.mean(0).numpy(), d.mean.numpy(), atol=0.02)
    np.testing.assert_allclose(x.var(0).numpy(), d.variance.numpy(), atol=0.01)
    oracle = torch.distributions.ContinuousBernoulli(torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64))
    np.testing.assert_allclose(d.cdf(x).numpy(), oracle.cdf(x.data).numpy(), rtol=1e-6)
    np.testing.assert_allclose(d.entropy().numpy(), oracle.entropy().numpy(), rtol=1e-6, atol=1e-9)


def test_categorical_and_multinomial_samples():
    paddle.seed(1)
    p = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
    drawn = D.Categorical(paddle.to_tensor(np.log(p))).sample([N])
    assert drawn.shape == [N, 2] and drawn.dtype == torch.int64
    for i in range(2):
        np.testing.assert_allclose(np.bincount(drawn.numpy()[:, i]) / N, p[i], atol=0.03)
    d = D.Multinomial(6, paddle.to_tensor(p))
    counts = d.sample([N])
    assert counts.shape == [N, 2, 3]
    np.testing.assert_array_equal(counts.sum(-1).numpy(), 6)
    np.testing.assert_allclose(counts.mean(0).numpy(), 6 * p, atol=0.1)
    oracle = [stats.multinomial(6, row) for row in p]
    np.testing.assert_allclose(d.entropy().numpy(), [o.entropy() for o in oracle], rtol=1e-6)
    np.testing.assert_allclose(
        d.log_prob(t([1, 2, 3])).numpy(), [o.logpmf([1, 2, 3]) for o in oracle], rtol=1e-6
    )
    assert D.Multinomial(2, t([0.0, 1.0])).log_prob(t([0.0, 2.0])).item() == 0


def test_multivariate_normal_samples():
    paddle.seed(1)
    c = np.array([[2.0, 0.6], [0.6, 1.0]])
    for d in (
        D.MultivariateNormal(t([1.0, -1]), t(c)),
        D.MultivariateNormal(t([1.0, -1]), precision_matrix=t(np.linalg.inv(c))),
    ):
        x = d.sample([N]).numpy()
        np.testing.assert_allclose(np.cov(x.T), c, atol=0.15)
        np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.1)
        np.testing.assert_allclose(
            d.entropy().item(), stats.multivariate_normal([1, -1], c).entropy(), rtol=1e-9
        )


@pytest.mark.parametrize("method", ["onion", "cvine"])
def test_correlations_have_the_right_spread(method):
    """Under LKJ(c) of size n each correlation is 2 Beta(a, a) - 1 with a = c - 1 + n / 2 (Lewandowski et al.)."""
    paddle.seed(2)
    d = D.LKJCholesky(3, t([1.0, 4.0]), method)
    low = d.sample([8000])
    assert low.shape == [8000, 2, 3, 3]
    correlation = (low @ low.mT).numpy()
    np.testing.assert_allclose(np.diagonal(correlation, axis1=-2, axis2=-1), 1, rtol=1e-6)
    for i, c in enumerate((1.0, 4.0)):
        a = c - 1 + 1.5
        for row, column in ((1, 0), (2, 0), (2, 1)):
            marginal = stats.beta(a, a, loc=-1, scale=2)
            assert stats.kstest(correlation[:, i, row, column], marginal.cdf).pvalue > 1e-4
    oracle = torch.distributions.LKJCholesky(3, torch.tensor([1.0, 4.0], dtype=torch.float64))
    np.testing.assert_allclose(d.log_prob(low[0]).numpy(), oracle.log_prob(low[0].data).numpy(), rtol=1e-8)


def test_a_complex_normal():
    paddle.seed(1)
    d = D.Normal(1 + 2j, 3.0)
    x = d.sample([N]).numpy()
    assert x.dtype == np.complex64
    np.testing.assert_allclose(x.mean(), 1 + 2j, atol=0.2)
    np.testing.assert_allclose(
        np.abs(x - x.mean()).std() ** 2 + np.abs(x - x.mean()).mean() ** 2, 9, rtol=0.1
    )
    expected = math.exp(-2 / 9) / (math.pi * 9)
    np.testing.assert_allclose(d.prob(paddle.to_tensor([2 + 3j])).numpy(), [expected], rtol=1e-5)
    np.testing.assert_allclose(d.entropy().item(), 1 + math.log(math.pi * 9), rtol=1e-6)
    assert d.kl_divergence(D.Normal(1 + 2j, 3.0)).item() == pytest.approx(0, abs=1e-6)
    with pytest.raises(ValueError, match="expected two real or two complex"):
        d.kl_divergence(D.Normal(0.0, 1.0))


def test_divergences_without_a_counterpart_in_paddle():
    inside, outside = D.Uniform(0.0, 1.0), D.Uniform(-1.0, 2.0)
    assert D.kl_divergence(inside, outside).item() == pytest.approx(math.log(3))
    assert D.kl_divergence(outside, inside).item() == math.inf
    with pytest.raises(NotImplementedError, match="none for Uniform and Normal"):
        D.kl_divergence(inside, D.Normal(0.0, 1.0))


def test_a_seed_of_its_own_and_the_common_seed():
    d = D.Normal([0.0, 1.0], [1.0, 2.0])
    assert d.sample([3], seed=5).tolist() == d.sample([3], seed=5).tolist()
    paddle.seed(4)
    first = d.sample([3])
    paddle.seed(4)
    assert first.tolist() == d.sample([3]).tolist() and first.shape == [3, 2]


def test_relaxed_bernoulli():
    paddle.seed(1)
    p = t([0.2, 0.8], stop_gradient=False)
    relaxed = paddle.nn.functional.sigmoid(D.Bernoulli(p).rsample([N], 0.05))
    np.testing.assert_allclose(relaxed.detach().mean(0).numpy(), [0.2, 0.8], atol=0.03)
    relaxed.mean().backward()
    assert (p.grad.numpy() > 0).all()


def test_bad_input():
    with pytest.raises(ValueError, match="loc, scale: expected only Tensors or only numbers"):
        D.Normal(t(0.0), 1.0)
    with pytest.raises(TypeError, match="loc: expected Number, Tensor, got list"):
        D.Laplace([0.0], 1.0)
    with pytest.raises(ValueError, match="Cauchy has no mean"):
        D.Cauchy(0.0, 1.0).mean  # noqa: B018
    with pytest.raises(TypeError, match="shape: expected a sequence"):
        D.Normal(0.0, 1.0).sample(3)
    with pytest.raises(ValueError, match="df: expected positive"):
        D.Chi2([-1.0])
    with pytest.raises(ValueError, match="df: expected values of 0 or more"):
        D.StudentT(-1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="exactly one of covariance_matrix"):
        D.MultivariateNormal(t([0.0]))
    with pytest.raises(ValueError, match="total_count: expected an int of at least 1"):
        D.Multinomial(0, t([1.0]))
    with pytest.raises(ValueError, match="dim: expected at least 2"):
        D.LKJCholesky(1)
    with pytest.raises(ValueError, match="reinterpreted_batch_rank: 2 of batch_shape"):
        D.Independent(D.Normal([0.0], [1.0]), 2)
    with pytest.raises(NotImplementedError, match="Poisson has no rsample"):
        D.Poisson(1.0).rsample()
    with pytest.raises(TypeError, match="x: expected a Tensor, got float"):
        D.ExpTransform().forward(1.0)
    with pytest.raises(ValueError, match="x: expected at least 1 axes"):
        D.StickBreakingTransform().forward(t(1.0))
    with pytest.raises(NotImplementedError, match="AbsTransform is not injective"):
        D.AbsTransform().forward_log_det_jacobian(t([1.0]))
    with pytest.raises(TypeError, match="transforms: expected a sequence of Transforms"):
        D.ChainTransform([1])


def test_transforms_by_calling_them():
    d = D.ExpTransform()(D.Normal(t([0.0]), t([1.0])))
    assert isinstance(d, D.TransformedDistribution)
    np.testing.assert_allclose(d.log_prob(t([2.0])).numpy(), stats.lognorm(1).logpdf([2.0]))
    chain = D.ExpTransform()(D.AffineTransform(t(1.0), t(2.0)))
    assert isinstance(chain, D.ChainTransform)
    assert D.ExpTransform()(t([0.0])).tolist() == [1.0]
    loc = t([0.3], stop_gradient=False)
    D.TransformedDistribution(D.Normal(loc, t([1.0])), [D.ExpTransform()]).rsample([2]).sum().backward()
    assert loc.grad is not None


def test_constraints_and_the_divergence_of_constants():
    from sampan.distribution import constraint

    assert constraint.positive(paddle.to_tensor([1.0, -1.0])).tolist() == [True, False]
    assert constraint.Range(0, 1).check(paddle.to_tensor([0.5, 2.0])).tolist() == [True, False]
    assert constraint.real(paddle.to_tensor([1.0, float("nan")])).tolist() == [True, False]
    assert constraint.simplex(paddle.to_tensor([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]])).tolist() == [
        True,
        False,
        False,
    ]
    with pytest.raises(NotImplementedError, match="Constraint"):
        constraint.Constraint()(1)
    beta = paddle.distribution.Beta
    assert beta(1.0, 2.0).kl_divergence(beta(2.0, 1.0)).stop_gradient
    wanted = paddle.to_tensor(1.0, stop_gradient=False)
    assert not beta(wanted, 2.0).kl_divergence(beta(2.0, 1.0)).stop_gradient


def test_shapes_that_a_transform_keeps() -> None:
    """PaddlePaddle's transforms without a shape of their own give back the sequence that they were given."""
    for name in ("SoftmaxTransform", "ExpTransform", "SigmoidTransform", "TanhTransform"):
        transform = getattr(D, name)()
        for shape in ((3,), [2, 3], (0, 3)):
            assert transform.forward_shape(shape) == shape and transform.inverse_shape(shape) == shape
    for wrong in ((), [], "", 3, None):
        with pytest.raises((TypeError, ValueError)):
            D.SoftmaxTransform().forward_shape(wrong)
    assert D.StickBreakingTransform().forward_shape([2, 3]) == (2, 4)


DOUBLES = paddle.to_tensor([0.2, 0.5], dtype="float64")


@pytest.mark.parametrize(
    "made",
    [
        lambda: D.Normal(0.1, 1.2), lambda: D.LogNormal(0.1, 1.2), lambda: D.Uniform(0.1, 2.2),
        lambda: D.Cauchy(0.1, 1.2), lambda: D.Bernoulli(0.3), lambda: D.StudentT(3.0, 0.1, 1.2),
    ],
)  # fmt: skip
def test_a_value_of_another_dtype_is_warned_of(made) -> None:
    with pytest.warns(
        UserWarning, match="value: is converted from float64 to float32, the dtype of the param"
    ):
        got = made().log_prob(DOUBLES).dtype
    assert got == (
        paddle.float64 if isinstance(made(), D.LogNormal) else paddle.float32
    )  # as in PaddlePaddle


@pytest.mark.parametrize(
    "made",
    [lambda: D.Gamma(1.5, 2.0), lambda: D.Chi2(3.0), lambda: D.Beta(1.5, 2.0), lambda: D.Exponential(1.5)],
)
def test_a_value_of_another_dtype_is_kept(made) -> None:
    assert made().log_prob(DOUBLES).dtype == made().prob(DOUBLES).dtype == paddle.float64


def test_whole_numbers_as_parameters_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="probs: numbers of int64 become float32"):
        assert D.Bernoulli([0, 1]).probs.dtype == paddle.float32
