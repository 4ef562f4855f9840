"""Discrete distributions."""

import math
from numbers import Integral, Number
from typing import Any

import numpy as np
import torch

from ...creation import arange
from ...dtype import DTYPES
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn.functional import log_softmax, softmax
from ...ops import take_along_axis, where
from ...random import multinomial
from .continuous import binary, inner, one_shape
from .distribution import ExponentialFamily, Family, Numbers, drawer, fact, formula, register_kl, sampler

__all__ = ["Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "Poisson"]


def _times_log(value: Any, x: Any) -> Any:
    """value log x, and 0 where both are 0."""
    return value * where((value == 0) & (x == 0), x + 1, x).log()


def _log_choose(n: Any, k: Any) -> Any:
    """log of n over k."""
    return (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()


def _surprise(log_probs: Any) -> Any:
    """Entropy: -sum of p log p along the first axis, with 0 log 0 = 0."""
    p = log_probs.exp()
    return -where(p > 0, p * log_probs, p * 0).sum(0)


class Bernoulli(ExponentialFamily, parameters="probs name"):
    """1 with probability `probs`, else 0."""

    _other_value = "warned"

    def _settle(self, event_axes: int = 0, **given: Any) -> None:
        super()._settle(event_axes, **given)
        probs = inner(vars(self)["probs"])
        vars(self).update(probs=probs, logits=probs.log() - (-probs).log1p())

    mean, variance = fact(lambda probs: probs), fact(lambda probs: probs * (1 - probs))
    entropy, log_prob = (
        formula(lambda probs: binary(probs, probs)),
        formula(lambda value, probs: -binary(value, probs)),
    )
    cdf = formula(lambda value, probs: (value >= 1) * probs + (value >= 0) * (1 - probs))
    sample = drawer(torch.bernoulli, "probs")

    def rsample(self, shape=[], temperature=1.0):
        """The logit of a relaxed sample: its sigmoid comes near 0 or 1 as the temperature falls (Maddison,
        2017)."""
        noise = Tensor(torch.rand(self._extend_shape(shape), dtype=self._kind, device=self.probs.data.device))
        return (noise.log() - (-noise).log1p() + self.logits) / temperature


class Geometric(Numbers, parameters="probs"):
    """The number k of failures before the first success: (1 - probs)^k probs."""

    def _like_parameters(self, value: Any, name: str = "k") -> Any:
        if not isinstance(value, (Integral, Tensor)):
            raise InvalidType(f"{name}: expected an int or a Tensor, got {type(value).__name__}")
        return super()._like_parameters(value, name)

    mean, variance = fact(lambda probs: 1 / probs - 1), fact(lambda probs: (1 / probs - 1) / probs)
    entropy = formula(lambda probs: binary(probs, probs) / probs)
    pmf, log_pmf = (
        formula(lambda k, probs: (1 - probs) ** k * probs),
        formula(lambda k, log_prob: log_prob(k)),
    )
    log_prob = formula(lambda value, probs: value * (-probs).log1p() + probs.log())
    cdf = formula(lambda k, probs: 1 - (1 - probs) ** (k + 1))
    rsample = sampler(lambda probs, exponential: (-exponential() / (-probs).log1p()).floor())


class Binomial(Numbers, parameters="total_count probs"):
    """The number of successes in `total_count` trials with probability `probs`."""

    dtype = property(lambda self: DTYPES[self._kind])
    mean = fact(lambda total_count, probs: total_count * probs)
    variance = fact(lambda total_count, probs: total_count * probs * (1 - probs))
    log_prob = formula(
        lambda value, total_count, probs: (
            _log_choose(total_count, value)
            + value * inner(probs).log()
            + (total_count - value) * (-inner(probs)).log1p()
        )
    )
    # As in Paddle, NaN counts are not sampled; torch would not terminate.
    sample = drawer(lambda n, p: torch.binomial(n.nan_to_num(0, 0), p), "total_count", "probs")

    def entropy(self) -> Any:
        counts = arange(float(self.total_count.max()) + 1, dtype=self._kind)
        return _surprise(self.log_prob(counts.reshape([-1] + [1] * len(self.batch_shape))))


class Poisson(Family):
    """rate^k exp(-rate) / k!"""

    def __init__(self, rate):
        self._settle(rate=[rate] if isinstance(rate, Number) else rate)

    mean = variance = fact(lambda rate: rate)
    log_prob = formula(lambda value, rate: _times_log(value, rate) - rate - (value + 1).lgamma())
    sample = drawer(torch.poisson, "rate")

    def entropy(self) -> Any:
        """The sum over counts up to 30 standard deviations above the largest rate."""
        largest = float(self.rate.nan_to_num(0.0, 0.0).max())
        counts = arange(int(largest + 30 * max(largest, 1) ** 0.5), dtype=self._kind)
        return _surprise(self.log_prob(counts.reshape([-1] + [1] * len(self.batch_shape))))


class Categorical(Family, parameters="logits name", event_axes=1):
    """A class from 0 to n - 1, for logits [..., n].

    As in Paddle, sampling, entropy and divergence use `logits` as log probabilities (softmax), while `probs`
    and `log_prob` use them as weights, divided by their sum.
    """

    _keeps_float64 = True
    event_shape = property(lambda self: ())
    _weights = fact(lambda logits: logits / logits.sum(-1, keepdim=True))
    _logs = fact(lambda logits: log_softmax(logits))
    entropy = formula(lambda _logs: -(_logs.exp() * _logs).sum(-1))

    def sample(self, shape=[]):
        *whole, count = self._extend_shape(shape)
        rows = softmax(self.logits.detach()).reshape([-1, count])
        drawn = multinomial(rows, int(np.prod(whole)) // rows.shape[0], True)  # [batch, draws]
        return drawn.T.reshape(whole)

    def probs(self, value):
        weights = self._weights
        if weights.ndim == 1:
            return weights[value.reshape([-1])].reshape(value.shape)
        if value.ndim == 1:
            value = value.reshape([1] * (weights.ndim - 1) + [-1])
        return take_along_axis(weights, value, -1)

    prob = probs

    def log_prob(self, value):
        return self.probs(value).log()


class Multinomial(Family):
    """The counts of n classes with probabilities `probs` [..., n] in `total_count` draws."""

    _accepts = (Tensor,)

    def __init__(self, total_count, probs):
        if not isinstance(total_count, int) or total_count < 1:
            raise InvalidArgument(f"total_count: expected an int of at least 1, got {total_count!r}")
        if isinstance(probs, Tensor) and probs.ndim < 1:
            raise InvalidArgument("probs: expected at least one axis, got a scalar")
        self._settle(1, probs=probs)
        self.total_count, self.probs = total_count, self.probs / self.probs.sum(-1, keepdim=True)

    mean = fact(lambda total_count, probs: total_count * probs)
    variance = fact(lambda total_count, probs: total_count * probs * (1 - probs))
    log_prob = formula(
        lambda value, probs: (
            (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + _times_log(value, probs).sum(-1)
        )
    )

    def sample(self, shape=[]):
        whole = self._extend_shape(shape)
        rows = self.probs.data.expand(whole).reshape(-1, whole[-1])
        drawn = torch.multinomial(rows, self.total_count, True)
        counts = torch.zeros_like(rows).scatter_add_(1, drawn, torch.ones_like(drawn, dtype=rows.dtype))
        return Tensor(counts.view(whole))

    def entropy(self) -> Any:
        """n H(probs) - log n! + the sum over choices i of E[log k_i!], where k_i is binomial."""
        n, p = self.total_count, inner(self.probs)
        k = arange(1, n + 1, dtype=self._kind).reshape([-1] + [1] * p.ndim)
        chance = (_log_choose(k * 0 + n, k) + k * p.log() + (n - k) * (-p).log1p()).exp()
        return (
            (chance * (k + 1).lgamma()).sum([0, -1]) - n * (self.probs * p.log()).sum(-1) - math.lgamma(n + 1)
        )


def _trial(p: Any, q: Any) -> Any:
    return binary(p.probs, q.probs) - binary(p.probs, p.probs)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    one_shape(p, q)
    return p.rate * (p.rate / q.rate).log() - p.rate + q.rate


register_kl(Bernoulli, Bernoulli)(_trial)
register_kl(Binomial, Binomial)(lambda p, q: p.total_count * _trial(p, q))
# As in Paddle, the divergence of one trial; that of the distribution is 1 / p.probs times as large.
register_kl(Geometric, Geometric)(_trial)
# [..., 1], as in Paddle
register_kl(Categorical, Categorical)(
    lambda p, q: (p._logs.exp() * (p._logs - q._logs)).sum(-1, keepdim=True)
)
