"""Distributions on the real line and on intervals."""

import math
from numbers import Number
from typing import Any

import numpy as np
import torch

from ...creation import full_like
from ...dtype import DTYPES
from ...engine.backward import no_grad
from ...engine.tensor import InvalidArgument, Tensor
from ...ops import expand, stack, where
from .distribution import ExponentialFamily, Family, Numbers, fact, formula, missing, register_kl, sampler
from .transform import ExpTransform, TransformedDistribution

__all__ = [
    "Beta",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Gumbel",
    "Laplace",
    "LogNormal",
    "Normal",
    "StudentT",
    "Uniform",
]


class _Seeded(Family):
    """A family whose `sample` takes a seed, and that keeps the dtype of NumPy doubles and Tensors."""

    _keeps_float64, _expands = True, False
    _other_value = "warned"

    def sample(self, shape=[], seed=0):
        with no_grad():
            return self.rsample(shape, seed)


class Normal(_Seeded, parameters="loc scale name"):
    """exp(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi)).

    With a complex loc the circular complex normal, exp(-|x - loc|^2 / scale^2) / (pi scale^2). The factor
    `_k` in the formulas is 1 for it and 1/2 for the real one.
    """

    _k = property(lambda self: 1.0 if self._kind.is_complex else 0.5)
    _width = property(lambda self: self.scale.real() if self.scale.dtype.is_complex else self.scale)
    mean, variance = fact(lambda loc: loc), fact(lambda _width: _width.square())
    entropy = formula(
        lambda _width, _k, batch_shape: expand(
            _k * (1 + math.log(math.pi / _k)) + 2 * _k * _width.log(), batch_shape
        )
    )
    log_prob = formula(
        lambda value, loc, _width, _k: (
            -_k * ((value - loc).abs() / _width).square()
            - 2 * _k * _width.log()
            - _k * math.log(math.pi / _k)
        )
    )
    rsample = sampler(lambda loc, _width, normal: loc + _width * normal())

    def _dtype_of(self, values: Any) -> torch.dtype:
        return torch.complex64 if any(np.iscomplexobj(v) for v in values) else super()._dtype_of(values)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    if p._kind.is_complex != q._kind.is_complex:
        raise InvalidArgument(
            "kl_divergence: expected two real or two complex normal distributions, got one of each"
        )
    ratio = p._width / q._width
    return p._k * (ratio.square() + ((p.loc - q.loc).abs() / q._width).square() - 1 - 2 * ratio.log())


class LogNormal(TransformedDistribution):
    """The distribution of e^x for a normal x."""

    def __init__(self, loc, scale):
        base = Normal(loc, scale)
        super().__init__(base, [ExpTransform()])
        self.loc, self.scale = base.loc, base.scale

    mean = fact(lambda loc, scale: (loc + scale.square() / 2).exp())
    variance = fact(lambda loc, scale: scale.square().expm1() * (2 * loc + scale.square()).exp())
    entropy = formula(lambda loc, _base: _base.entropy() + loc)


register_kl(LogNormal, LogNormal)(lambda p, q: _normal(p._base, q._base))


class Uniform(_Seeded, parameters="low high name"):
    """1 / (high - low) between low and high."""

    mean = fact(lambda low, high: (low + high) / 2)
    variance, entropy = (
        fact(lambda low, high: (high - low).square() / 12),
        formula(lambda low, high: (high - low).log()),
    )
    prob = formula(
        lambda value, low, high: ((low < value) & (value < high)).astype(value.dtype) / (high - low)
    )
    log_prob = formula(lambda value, prob, low, high: prob(value).detach().sign().log() - (high - low).log())
    cdf = formula(lambda value, low, high: ((value - low) / (high - low)).clip(0, 1))
    rsample = sampler(lambda low, high, uniform: low + (high - low) * uniform())


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    ratio = (q.high - q.low) / (p.high - p.low)
    return where((q.low <= p.low) & (p.high <= q.high), ratio, ratio * math.inf).log()


class Laplace(Numbers, parameters="loc scale"):
    """exp(-|x - loc| / scale) / (2 scale)."""

    mean, variance = fact(lambda loc: loc), fact(lambda scale: 2 * scale.square())
    entropy = formula(lambda scale: 1 + (2 * scale).log())
    log_prob = formula(lambda value, loc, scale: -(2 * scale).log() - (value - loc).abs() / scale)
    cdf = formula(
        lambda value, loc, scale: 0.5 - 0.5 * (value - loc).sign() * (-(value - loc).abs() / scale).expm1()
    )
    icdf = formula(
        lambda value, loc, scale: loc - scale * (value - 0.5).sign() * (-2 * (value - 0.5).abs()).log1p()
    )
    rsample = sampler(lambda loc, scale, exponential: loc + scale * (exponential() - exponential()))


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    apart = (p.loc - q.loc).abs()
    return (p.scale * (-apart / p.scale).exp() + apart) / q.scale + (q.scale / p.scale).log() - 1


class Cauchy(Numbers, parameters="loc scale name"):
    """1 / (pi scale (1 + ((x - loc) / scale)^2)): mean and variance do not exist."""

    _other_value = "warned"

    dtype = property(lambda self: DTYPES[self._kind])
    mean = variance = stddev = property(missing("mean, no variance and no stddev", ValueError))
    entropy = formula(lambda scale: (4 * math.pi * scale).log())
    log_prob = formula(
        lambda value, loc, scale: -((value - loc) / scale).square().log1p() - (math.pi * scale).log()
    )
    cdf = formula(lambda value, loc, scale: ((value - loc) / scale).atan() / math.pi + 0.5)
    rsample = sampler(lambda loc, scale, cauchy: loc + scale * cauchy())


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


class Gumbel(Numbers, parameters="loc scale"):
    """Extreme value distribution with cdf exp(-exp(-(x - loc) / scale))."""

    mean, variance = (
        fact(lambda loc, scale: loc + scale * np.euler_gamma),
        fact(lambda scale: scale**2 * math.pi**2 / 6),
    )
    entropy = formula(lambda scale: scale.log() + (1 + np.euler_gamma))
    log_prob = formula(
        lambda value, loc, scale: (loc - value) / scale - ((loc - value) / scale).exp() - scale.log()
    )
    cdf = formula(lambda value, loc, scale: (-((loc - value) / scale).exp()).exp())
    rsample = sampler(lambda loc, scale, exponential: loc - scale * exponential().log())


class StudentT(Family, parameters="df loc scale name"):
    """loc + scale z / sqrt(c / df), z standard normal, c chi-squared with df degrees of freedom (Student,
    1908)."""

    _mixed = True
    _other_value = "warned"
    mean = fact(lambda df, loc: where(df > 1, loc, full_like(loc, math.nan)))
    _wide = fact(lambda df: where(df > 1, full_like(df, math.inf), full_like(df, math.nan)))
    variance = fact(lambda df, scale, _wide: where(df > 2, scale**2 * df / (df - 2), _wide))
    # log B(df / 2, 1 / 2) + log(scale sqrt(df)): the density's constant
    _constant = fact(
        lambda df, scale: (
            (df / 2).lgamma() + math.lgamma(0.5) - ((df + 1) / 2).lgamma() + (scale * df.sqrt()).log()
        )
    )
    entropy = formula(
        lambda df, _constant: (df + 1) / 2 * (((df + 1) / 2).digamma() - (df / 2).digamma()) + _constant
    )
    log_prob = formula(
        lambda value, df, loc, scale, _constant: (
            -(df + 1) / 2 * (((value - loc) / scale).square() / df).log1p() - _constant
        )
    )

    def rsample(self, shape=[]):
        chi2 = Gamma(self.df / 2, full_like(self.df, 0.5)).rsample(shape)
        return Normal(self.loc, self.scale * (self.df / chi2).sqrt()).rsample()

    def _settle(self, event_axes: int = 0, **given: Any) -> None:
        super()._settle(event_axes, **given)
        for label in ("df", "scale"):
            if not bool((getattr(self, label) >= 0).all()):
                raise InvalidArgument(f"{label}: expected values of 0 or more, got {getattr(self, label)}")


class Exponential(ExponentialFamily, parameters="rate"):
    """rate exp(-rate x) for x > 0."""

    mean, variance = fact(lambda rate: 1 / rate), fact(lambda rate: 1 / rate.square())
    entropy = formula(lambda rate: 1 - rate.log())
    log_prob = formula(lambda value, rate: rate.log() - rate * value)
    cdf = formula(lambda value, rate: -(-rate * value).expm1())
    icdf = formula(lambda value, rate: -(-value).log1p() / rate)
    rsample = sampler(lambda rate, exponential: exponential() / rate)
    _natural_parameters, _log_normalizer = fact(lambda rate: (-rate,)), staticmethod(lambda x: -(-x).log())


class Gamma(ExponentialFamily, parameters="concentration rate"):
    """rate^concentration x^(concentration - 1) exp(-rate x) / Gamma(concentration) for x > 0."""

    mean = fact(lambda concentration, rate: concentration / rate)
    variance = fact(lambda concentration, rate: concentration / rate.square())
    entropy = formula(
        lambda concentration, rate: (
            concentration
            - rate.log()
            + concentration.lgamma()
            + (1 - concentration) * concentration.digamma()
        )
    )
    log_prob = formula(
        lambda value, concentration, rate: (
            concentration * rate.log()
            + (concentration - 1) * value.log()
            - rate * value
            - concentration.lgamma()
        )
    )
    _natural_parameters = fact(lambda concentration, rate: (concentration, -rate))
    _log_normalizer = staticmethod(lambda x, y: x.lgamma() - x * (-y).log())

    def rsample(self, shape=[]):
        """The gradient for the concentration is that of the inverse cdf (Figurnov et al., 2018)."""
        whole = self.concentration.data.expand(self._extend_shape(shape))
        drawn = torch._standard_gamma(whole)
        step = (self.concentration - self.concentration.detach()) * Tensor(
            torch._standard_gamma_grad(whole, drawn)
        )
        return (Tensor(drawn) + step) / self.rate


class Chi2(Gamma):
    """The sum of df squared standard normals."""

    def __init__(self, df):
        self._settle(df=df)
        if not bool((self.df > 0).all()):
            raise InvalidArgument(f"df: expected positive values, got {self.df}")
        self._settle(concentration=self.df / 2, rate=full_like(self.df, 0.5))


class Dirichlet(ExponentialFamily, parameters="concentration", event_axes=1):
    """prod x_i^(concentration_i - 1), normalised: probabilities x [..., n] that sum to 1."""

    _accepts = (Tensor,)
    _total = fact(lambda concentration: concentration.sum(-1, keepdim=True))
    _log_beta = fact(
        lambda concentration, _total: concentration.lgamma().sum(-1) - _total.lgamma().squeeze(-1)
    )
    mean = fact(lambda concentration, _total: concentration / _total)
    variance = fact(lambda mean, _total: mean * (1 - mean) / (_total + 1))
    entropy = formula(
        lambda concentration, _log_beta, _total: (
            _log_beta - ((concentration - 1) * (concentration.digamma() - _total.digamma())).sum(-1)
        )
    )
    log_prob = formula(
        lambda value, concentration, _log_beta: ((concentration - 1) * value.log()).sum(-1) - _log_beta
    )
    _natural_parameters = fact(lambda concentration: (concentration,))
    _log_normalizer = staticmethod(lambda x: x.lgamma().sum(-1) - x.sum(-1).lgamma())

    def rsample(self, shape=[]):
        whole = self.concentration.data.expand(self._extend_shape(shape))
        drawn = torch._sample_dirichlet(whole)
        slope = torch._dirichlet_grad(drawn, whole, whole.sum(-1, True).expand(whole.shape))
        step = (self.concentration - self.concentration.detach()) * Tensor(slope)
        return Tensor(drawn) + step - Tensor(drawn) * step.sum(-1, keepdim=True)

    def _settle(self, event_axes: int = 0, **given: Any) -> None:
        super()._settle(event_axes, **given)
        if self.concentration.ndim < 1 or self.concentration.size == 0:
            raise InvalidArgument(
                f"concentration: expected an axis and entries, got shape {[*self.concentration.shape]}"
            )


class Beta(Numbers, ExponentialFamily, parameters="alpha beta"):
    """x^(alpha - 1) (1 - x)^(beta - 1), normalised, for 0 < x < 1: a Dirichlet distribution of two."""

    _pair = fact(lambda alpha, beta: Dirichlet(stack([alpha, beta], -1)))
    mean, entropy = fact(lambda alpha, beta: alpha / (alpha + beta)), formula(lambda _pair: _pair.entropy())
    variance = fact(lambda alpha, beta: alpha * beta / ((alpha + beta).square() * (alpha + beta + 1)))
    log_prob = formula(lambda value, _pair: _pair.log_prob(stack([value, 1 - value], -1)))
    _natural_parameters = fact(lambda alpha, beta: (alpha, beta))
    _log_normalizer = staticmethod(lambda x, y: x.lgamma() + y.lgamma() - (x + y).lgamma())

    def rsample(self, shape=[]):
        return self._pair.rsample(shape)[..., 0]


class ContinuousBernoulli(Family):
    """probs^x (1 - probs)^(1 - x), normalised, for 0 <= x <= 1 (Loaiza-Ganem and Cunningham, 2019).

    Between `lims` the exact formulas divide 0 by 0: a Taylor series about 1/2 is used there.
    """

    _accepts = (list, Tensor)
    dtype = property(lambda self: DTYPES[self._kind])

    def __init__(self, probs, lims=(0.499, 0.501)):
        self._settle(probs=[probs] if isinstance(probs, Number) else probs)
        self.probs, self.lims = inner(self.probs), lims

    _far = fact(lambda probs, lims: (probs <= lims[0]) | (probs > lims[1]))
    _p = fact(lambda probs, lims, _far: where(_far, probs, full_like(probs, lims[0])))
    _off, _logit = fact(lambda probs: probs - 0.5), fact(lambda _p: ((2 * _p - 1) / (1 - _p)).log1p())
    mean = fact(
        lambda _far, _p, _logit, _off: where(
            _far, _p / (2 * _p - 1) - 1 / _logit, 0.5 + (1 / 3 + 16 / 45 * _off**2) * _off
        )
    )
    variance = fact(
        lambda _far, _p, _logit, _off: where(
            _far,
            1 / _logit**2 - _p * (1 - _p) / (1 - 2 * _p) ** 2,
            1 / 12 - (1 / 15 - 128 / 945 * _off**2) * _off**2,
        )
    )
    _log_constant = fact(
        lambda _far, _p, _logit, _off: where(
            _far, (_logit / (2 * _p - 1)).log(), math.log(2) + (4 / 3 + 104 / 45 * _off**2) * _off**2
        )
    )
    log_prob = formula(lambda value, probs, _log_constant: _log_constant - binary(value, probs))
    entropy = formula(lambda mean, probs, _log_constant: binary(mean, probs) - _log_constant)
    cdf = formula(
        lambda value, _far, _p: where(
            _far, (_p**value * (1 - _p) ** (1 - value) + _p - 1) / (2 * _p - 1), value
        ).clip(0, 1)
    )
    icdf = formula(
        lambda value, _far, _p, _logit: where(
            _far, ((value * (2 * _p - 1) - _p).log1p() - (-_p).log1p()) / _logit, value
        )
    )
    rsample = sampler(lambda icdf, uniform: icdf(uniform()))


def inner(probs: Any) -> Any:
    """Probabilities moved off 0 and 1 by the dtype's epsilon, so that their logarithms are finite."""
    eps = torch.finfo(probs.data.dtype).eps
    return probs.clip(eps, 1 - eps)


def binary(value: Any, probs: Any) -> Any:
    """Cross-entropy, in nats, of a success that has the probability `value`."""
    return -value * probs.log() - (1 - value) * (-probs).log1p()


def one_shape(p: Any, q: Any) -> None:
    if p.batch_shape != q.batch_shape or p.event_shape != q.event_shape:
        raise InvalidArgument(
            f"kl_divergence: expected one shape, got {p.batch_shape} and {q.batch_shape} of events "
            f"{p.event_shape} and {q.event_shape}"
        )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    one_shape(p, q)
    return binary(p.mean, q.probs) - q._log_constant - p.entropy()
