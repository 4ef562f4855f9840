"""Random tensors. All draw from one generator per device, which `seed` sets."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .creation import _kind, _made, _sizes
from .dtype import as_device, as_dtype, name_of
from .engine.operator import as_method, operator
from .engine.spelling import factory, spelled
from .engine.tensor import InvalidArgument, InvalidType, Tensor

# fmt: off
__all__ = [
    "bernoulli", "bernoulli_", "binomial", "cauchy_", "exponential_", "geometric_", "get_rng_state",
    "log_normal", "log_normal_", "multinomial", "normal", "normal_", "poisson", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "random_", "randperm", "seed", "set_rng_state",
    "standard_gamma", "standard_normal", "uniform", "uniform_",
]
# fmt: on


# --- generators ---------------------------------------------------------------------------------------------


def seed(seed) -> torch.Generator:
    """Start every generator (Sampan's, and NumPy's that samplers use) from `seed`; returns the CPU
    generator."""
    seed = int(seed)
    np.random.seed(seed % (1 << 32))
    return torch.manual_seed(seed)


def get_rng_state(device: Any = None) -> list[torch.Tensor]:
    """The state of the CPU generator and of each GPU's, for `set_rng_state`."""
    states = [torch.get_rng_state()]
    return states + (torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])


def set_rng_state(state_list: list[torch.Tensor], device: Any = None) -> None:
    """Continue from states that `get_rng_state` returned. Raises ValueError for an empty list."""
    if not state_list:
        raise InvalidArgument(
            "set_rng_state: expected the list that get_rng_state returned, got an empty one"
        )
    torch.set_rng_state(state_list[0])
    if len(state_list) > 1:
        torch.cuda.set_rng_state_all(state_list[1:])


def _floating(dtype: Any) -> torch.dtype:
    """The dtype of what is drawn from an interval or a bell curve. Raises TypeError for integers."""
    kind = _kind(dtype)
    if not (kind.is_floating_point or kind.is_complex):
        raise InvalidType(
            f"dtype: expected a floating or complex one for random numbers, got {name_of(kind)}"
        )
    return kind


# --- of a shape ---------------------------------------------------------------------------------------------


@factory()
def rand(shape, dtype=None, name=None) -> Tensor:
    """Uniform in [0, 1)."""
    return _made("rand", (_sizes(shape),), _floating(dtype))


@factory("pin_memory")
def uniform(shape, dtype=None, min=0, max=1.0, seed=0, name=None) -> Tensor:
    """Uniform in [min, max). seed: draw from a generator of its own that starts there, unless it is 0."""
    own = torch.Generator(as_device(None)).manual_seed(seed) if seed else None
    drawn = torch.rand(_sizes(shape), dtype=_floating(dtype), device=as_device(None), generator=own)
    return Tensor(drawn.mul_(float(max) - float(min)).add_(float(min)))


@factory()
def randn(shape, dtype=None, name=None) -> Tensor:
    """Standard normal; of complex numbers each part has the variance 1/2."""
    return _made("randn", (_sizes(shape),), _floating(dtype))


@factory("pin_memory")
def standard_normal(shape, dtype=None, name=None) -> Tensor:
    """`randn` under its other name."""
    return randn(shape, dtype)


@spelled(out=True)
def normal(mean=0.0, std=1.0, shape=None, name=None) -> Tensor:
    """Normal with the given mean and standard deviation: numbers with a shape, or tensors.

    Gradients flow to a mean and a standard deviation that are tensors. A complex mean makes complex64.
    """
    given = mean if isinstance(mean, Tensor) else std if isinstance(std, Tensor) else None
    dtype: Any = None if given is None else given.dtype
    if isinstance(mean, complex):
        dtype = "complex64"
    sizes = shape if given is None else given.shape
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        sizes = list(np.broadcast_shapes(mean.shape, std.shape))
    return randn([1] if sizes is None else sizes, dtype) * std + mean


@spelled()
def log_normal(mean=1.0, std=2.0, shape=None, name=None) -> Tensor:
    """e to the power of `normal(mean, std, shape)`."""
    return normal(mean, std, shape).exp()


def _bounds(low: Any, high: Any) -> tuple[int, int]:
    """`f(n)` counts from 0. Raises ValueError for an empty range."""
    low, high = (0, low) if high is None else (low, high)
    if isinstance(low, float) or isinstance(high, float):
        raise InvalidType(f"expected ints, got low={low}, high={high}")
    if high <= low:
        raise InvalidArgument(f"expected low < high, got low={low}, high={high}")
    return int(low), int(high)


def randint(low=0, high=None, shape=[1], dtype=None, name=None) -> Tensor:
    """Integers from low up to, not including, high; `randint(n)` from 0."""
    kind = torch.int64 if dtype is None else as_dtype(dtype)
    low, high = _bounds(low, high)
    return _made("randint", (low, high, _sizes(shape)), kind)


@factory()
def randperm(n, dtype="int64", name=None) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return _made("randperm", (n,), "int64").astype(dtype)


# --- of another tensor's shape ------------------------------------------------------------------------------


@spelled()
def rand_like(input, name=None, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Uniform in [0, 1), with the shape and (unless given) dtype and place of `input`."""
    return rand(input.shape, dtype or input.dtype, device=device or input.place, requires_grad=requires_grad)


@spelled()
def randn_like(x, dtype=None, name=None, *, device=None, requires_grad=False) -> Tensor:
    """Standard normal, with the shape and (unless given) dtype and place of `x`."""
    return randn(x.shape, dtype or x.dtype, device=device or x.place, requires_grad=requires_grad)


@spelled()
def randint_like(x, low=0, high=None, dtype=None, name=None) -> Tensor:
    """Integers from low up to, not including, high, with the shape and (unless given) dtype of `x`."""
    low, high = _bounds(low, high)
    drawn = torch.randint(low, high, x.data.shape, device=x.data.device)
    return Tensor(drawn.to(x.data.dtype if dtype is None else as_dtype(dtype)))


# --- by a tensor of parameters ------------------------------------------------------------------------------


def _chances(p: Any) -> None:
    if bool(((p < 0) | (p > 1)).any()):
        raise InvalidArgument(f"probabilities must be from 0 to 1, got {p.min()} to {p.max()}")


@operator()
def bernoulli(x, p=None, name=None):
    """1 with the probability that `x` gives at each place (or `p` everywhere), else 0."""
    chance = x if p is None else torch.full_like(x, p)
    _chances(chance)
    return torch.bernoulli(chance)


@operator(lambda g: g.new_zeros(g.shape))
def poisson(x, name=None):
    """Counts of events, in x's dtype, with the expected number that `x` gives; 0 for a negative one."""
    return torch.poisson(x.clamp(min=0))


@operator()
def binomial(count, prob, name=None):
    """The number of successes, int64, in `count` trials that each succeed with `prob`; the two broadcast."""
    trials, chance = torch.broadcast_tensors(count.double(), prob.double())
    return torch.binomial(trials, chance.clamp(0, 1)).long()


@operator()
def standard_gamma(x, name=None):
    """Gamma-distributed with the shape parameter that `x` gives at each place, and scale 1."""
    return torch._standard_gamma(x)


@operator(method="", out=True)
def multinomial(x, num_samples=1, replacement=False, name=None):
    """Indices, [..., num_samples], drawn in proportion to the weights along the last axis of `x`: [n] or
    [rows, n].

    Without replacement an index is drawn once at most; ValueError where fewer weights than samples are not 0.
    """
    if not replacement and num_samples > int((x != 0).sum(-1).min()):
        raise RuntimeError("num_samples must not exceed the weights that are not 0 without replacement")
    return torch.multinomial(x, num_samples, replacement)


# --- into a tensor's memory ---------------------------------------------------------------------------------


def _fill(x: Tensor, draw: Callable[[torch.Tensor], Any], discrete: bool = False) -> Tensor:
    """Draw into x's own memory. What was on the tape stays there, with a zero gradient."""
    if not discrete:
        _floating(x.dtype)
    if x.stop_gradient or not torch.is_grad_enabled():
        draw(x.data)
        x._mark_written()
        return x
    value = x._before()._full_like(0)
    draw(value.data)
    return x._write(value)


def _plain(value: Any) -> Any:
    return value.data if isinstance(value, Tensor) else value


def normal_(x, mean=0.0, std=1.0, name=None) -> Tensor:
    """Fill x with normal numbers; of a complex x each part has half of the variance."""
    return _fill(x, lambda data: data.normal_().mul_(std).add_(mean))


def log_normal_(x, mean=1.0, std=2.0, name=None) -> Tensor:
    """Fill x with e to the power of normal numbers of that mean and standard deviation."""
    return _fill(x, lambda data: data.normal_(mean, std).exp_())


def uniform_(x, min=0, max=1.0, seed=0, name=None) -> Tensor:
    """Fill x uniformly from [min, max). seed: draw from a generator of its own, unless it is 0."""
    own = torch.Generator(x.data.device).manual_seed(seed) if seed else None
    return _fill(x, lambda data: data.uniform_(float(min), float(max), generator=own))


def exponential_(x, lam=1.0, name=None) -> Tensor:
    """Fill x with waiting times between events that come `lam` times in a unit of time."""
    return _fill(x, lambda data: data.exponential_().div_(lam))


def cauchy_(x, loc=0, scale=1, name=None) -> Tensor:
    """Fill x from the Cauchy distribution with median `loc` and half-width `scale`."""
    return _fill(x, lambda data: data.cauchy_().mul_(_plain(scale)).add_(_plain(loc)))


def geometric_(x, probs, name=None) -> Tensor:
    """Fill x with log(u) / log(1 - probs), u uniform: the real number that, rounded up, counts trials to a
    success."""
    rate = -torch.log1p(-probs.data) if isinstance(probs, Tensor) else -math.log1p(-probs)
    return _fill(x, lambda data: data.exponential_().div_(rate))


def bernoulli_(x, p=0.5, name=None) -> Tensor:
    """Fill x with 1 with probability `p` (a number, or a tensor that broadcasts), else 0."""
    chance = torch.as_tensor(_plain(p), device=x.data.device)
    _chances(chance)
    return _fill(x, lambda data: data.copy_(torch.rand(data.shape, device=data.device) < chance), True)


def random_(x, from_=0, to=None, *, generator=None) -> Tensor:
    """Fill x with integers from `from_` up to, not including, `to`.

    One bound alone is the upper one; with none they range over what x's dtype holds exactly.
    """
    if to is None:
        kind = x.data.dtype
        most = int(2 / torch.finfo(kind).eps) if kind.is_floating_point else torch.iinfo(kind).max
        from_, to = 0, from_ or most
    if from_ >= to:
        raise InvalidArgument(f"random_: expected from_ < to, got {from_} and {to}")
    return _fill(x, lambda data: data.random_(from_, to, generator=generator), True)


for _filler in (normal_, log_normal_, uniform_, exponential_, cauchy_, geometric_, bernoulli_, random_):
    as_method(_filler, _filler.__name__)
