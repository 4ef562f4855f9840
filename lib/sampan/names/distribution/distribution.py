"""The interface of distributions, and how a family declares its formulas.

A family is a class with one line for each formula. The parameters of a formula name what it reads: `value` is
the argument of the method; `normal`, `uniform`, `exponential` and `cauchy` draw noise; any other name is an
attribute::

    class Laplace(Numbers, parameters="loc scale"):
        entropy = formula(lambda scale: 1 + (2 * scale).log())
        log_prob = formula(lambda value, loc, scale: -(2 * scale).log() - (value - loc).abs() / scale)
        rsample = sampler(lambda loc, scale, exponential: loc + scale * (exponential() - exponential()))

Shapes: a sample has shape [*shape, *batch_shape, *event_shape]; log_prob and entropy have one number
for each event.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...dtype import as_device, default_dtype, name_of
from ...engine.backward import enable_grad, grad, no_grad
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn.function_layer import init_of
from ...ops.shape import _ints, expand

__all__ = ["Distribution", "ExponentialFamily", "kl_divergence", "register_kl"]


def missing(what: str, error: type[Exception] = NotImplementedError) -> Any:
    """A method that raises an error, for a quantity that the distribution does not have."""

    def method(self: Any, *args: Any, **settings: Any) -> Any:
        raise error(f"{type(self).__name__} has no {what}")

    return method


class Distribution:
    """A probability distribution over events of shape `event_shape`, in an array of them of shape
    `batch_shape`.

    A subclass defines some of mean, variance, entropy(), log_prob(value), and of sample(shape), or of
    rsample(shape), which is a function of the parameters and noise, so that gradients reach the parameters
    (reparameterization).
    """

    mean, variance = property(missing("mean")), property(missing("variance"))
    stddev = property(lambda self: self.variance.sqrt())
    entropy, log_prob = missing("entropy"), missing("log_prob")
    rsample = missing("rsample; use sample, which has no gradient")
    batch_shape = property(lambda self: self._batch_shape)
    event_shape = property(lambda self: self._event_shape)

    def __init__(self, batch_shape: Any = (), event_shape: Sequence[int] = ()) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)

    def sample(self, shape=[]):
        """Draw [*shape, *batch_shape, *event_shape] values, without gradient."""
        with no_grad():
            return self.rsample(shape)

    def prob(self, value: Any) -> Any:
        """The density at `value`, or the probability of a discrete value."""
        return self.log_prob(value).exp()

    def probs(self, value: Any) -> Any:
        """The older name of `prob`."""
        return self.prob(value)

    def kl_divergence(self, other: Distribution) -> Any:
        """E over this distribution of log(this / other), in nats."""
        return kl_divergence(self, other)

    def _extend_shape(self, sample_shape: Any) -> tuple[int, ...]:
        if isinstance(sample_shape, (Number, str)):
            raise InvalidType(f"shape: expected a sequence of ints, got {sample_shape!r}")
        return (*_ints(sample_shape, "shape"), *self._batch_shape, *self._event_shape)


def _names(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def formula(function: Callable[..., Any]) -> Any:
    """A method from a formula of attributes, and of `value` (or `k`) where that is its first argument."""
    first, *rest = names = _names(function)
    if first not in ("value", "k"):
        return functools.wraps(function)(lambda self: function(*(getattr(self, name) for name in names)))

    def method(self: Family, value: Any) -> Any:
        return function(self._like_parameters(value, first), *(getattr(self, name) for name in rest))

    # Inspect reads it.
    method.__signature__ = inspect.signature(lambda self, value: ...)  # type: ignore[attr-defined]
    return method


def fact(function: Callable[..., Any]) -> Any:
    """A property from a formula."""
    return property(formula(function))


def sampler(function: Callable[..., Any]) -> Any:
    """rsample(shape) from a formula of attributes and of noise."""

    def rsample(self, shape=[], seed=0):
        def noise(kind: str) -> Tensor:
            buffer = torch.empty(self._extend_shape(shape), dtype=self._kind, device=as_device(None))
            own = torch.Generator(buffer.device).manual_seed(seed) if seed else None
            return Tensor(getattr(buffer, f"{kind}_")(generator=own))

        kinds = {n: functools.partial(noise, n) for n in ("normal", "uniform", "exponential", "cauchy")}
        return function(*(kinds.get(n) or getattr(self, n) for n in _names(function)))

    return rsample


def drawer(draw: Callable[..., Any], *parameters: str) -> Any:
    """sample(shape) by torch's function `draw`, without gradient."""

    def sample(self, shape=[]):
        whole = self._extend_shape(shape)
        return Tensor(draw(*(getattr(self, name).data.expand(whole) for name in parameters)))

    return sample


class Family(Distribution):
    """A distribution with named parameters, which broadcast; their last `event_axes` axes belong to the
    event."""

    _accepts: tuple[type, ...] = (Number, list, tuple, np.ndarray, Tensor)
    _mixed = False  # whether numbers and Tensors may be mixed
    _keeps_float64 = False  # whether NumPy's doubles keep their dtype
    _other_value = (
        ""  # what becomes of a floating value of another dtype: it is converted, "warned" of, or "promoted"
    )
    _expands = True  # whether Tensor parameters are expanded to one shape
    _kind: torch.dtype  # of the parameters' buffers

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The parameters."""

    def __init_subclass__(cls, parameters: str = "", event_axes: int = 0) -> None:
        """Give the class an __init__ that takes these parameters (and a name, which is not used)."""
        if parameters:
            names = parameters.replace("name", "name=None").replace(" ", ", ")
            keep = lambda self, name=None, **given: self._settle(event_axes, **given)
            cls.__init__ = init_of(names, keep)  # type: ignore[method-assign]  # defined from the parameters

    def _settle(self, event_axes: int = 0, **given: Any) -> None:
        """Store the parameters as Tensors of one shape, in a floating dtype."""
        for name, value in given.items():
            if not isinstance(value, self._accepts):
                kinds = ", ".join(kind.__name__ for kind in self._accepts)
                raise InvalidType(f"{name}: expected {kinds}, got {type(value).__name__}")
        tensors = [v for v in given.values() if isinstance(v, Tensor)]
        if tensors and len(tensors) < len(given) and not self._mixed:
            raise InvalidArgument(f"{', '.join(given)}: expected only Tensors or only numbers, got both")
        dtypes = [t.data.dtype for t in tensors]
        floating = [kind for kind in dtypes if kind.is_floating_point or kind.is_complex]
        common = functools.reduce(torch.promote_types, floating) if floating else None
        self._kind = common or self._dtype_of(given.values())
        for name, value in given.items():
            if not isinstance(value, Tensor):
                kind = np.asarray(value).dtype
                if self._other_value and not (self._mixed or isinstance(value, Number) or kind.kind == "f"):
                    warnings.warn(f"{name}: numbers of {kind} become {name_of(self._kind)}", stacklevel=4)
                given[name] = Tensor(torch.as_tensor(np.array(value), device=as_device(None)).to(self._kind))
            elif value.dtype != self._kind:
                given[name] = value.astype(self._kind)
        shape = np.broadcast_shapes(*(tuple(v.shape) for v in given.values()))
        for name, value in given.items():
            kept = tuple(value.shape) == shape or (len(tensors) == len(given) and not self._expands)
            setattr(self, name, value if kept else expand(value, shape))
        Distribution.__init__(self, shape[: len(shape) - event_axes], shape[len(shape) - event_axes :])

    @property
    def dtype(self) -> Any:
        """The name of the parameters' dtype; in some families of Paddle, the dtype."""
        return name_of(self._kind)

    def _dtype_of(self, values: Any) -> torch.dtype:
        kinds = [v.dtype for v in values if isinstance(v, np.ndarray) and v.dtype in (np.float32, np.float64)]
        return torch.float64 if self._keeps_float64 and kinds and kinds[0] == np.float64 else default_dtype()

    def _like_parameters(self, value: Any, name: str = "value") -> Any:
        """`value` as a Tensor of the parameters' dtype."""
        if not isinstance(value, (Number, list, tuple, np.ndarray, Tensor)):
            raise InvalidType(f"{name}: expected a Tensor, got {type(value).__name__}")
        value = value if isinstance(value, Tensor) else Tensor(torch.as_tensor(np.asarray(value)))
        other = value.data.dtype
        if other == self._kind or (other is torch.float64 and self._other_value == "promoted"):
            return value
        if self._other_value == "warned" and other in (torch.float32, torch.float64):
            kinds = f"{name_of(other)} to {name_of(self._kind)}, the dtype of the parameters"
            warnings.warn(f"{name}: is converted from {kinds}", stacklevel=3)
        return value.astype(self._kind)


class Numbers(Family):
    """A family whose parameters are numbers or Tensors, or one of each."""

    _accepts = (Number, Tensor)
    _mixed = True


class ExponentialFamily(Family):
    """A family of densities h(x) exp(<natural parameters, t(x)> - log_normalizer(natural parameters)).

    A subclass defines `_natural_parameters`, `_log_normalizer` and `_mean_carrier_measure` = E[log h(x)];
    entropy and divergence follow from the normalizer's derivatives, taken by the tape (Nielsen and Nock,
    2010).
    """

    _other_value = "promoted"

    _natural_parameters = property(missing("_natural_parameters"))
    _mean_carrier_measure = property(missing("_mean_carrier_measure"))
    _log_normalizer = missing("_log_normalizer")

    def _normalized(self) -> tuple[Any, Any, Any]:
        """The natural parameters, the log normalizer, and its derivatives: the means of t(x)."""
        with enable_grad():
            parameters = [p.detach() if p.stop_gradient else p for p in self._natural_parameters]
            for parameter in parameters:
                parameter.stop_gradient = False
            value = self._log_normalizer(*parameters)
            means = grad(value.sum(), parameters, create_graph=True)
        if all(p.stop_gradient for p in self._natural_parameters):
            return (
                [p.detach() for p in parameters],
                value.detach(),
                [m.detach() for m in means if m is not None],
            )
        return parameters, value, means

    def entropy(self) -> Any:
        parameters, value, means = self._normalized()
        return value - self._mean_carrier_measure - sum(p * m for p, m in zip(parameters, means, strict=True))


_divergences: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(cls_p: type, cls_q: type) -> Callable[[Any], Any]:
    """Make the decorated function(p, q) the divergence of these two classes and of classes derived from
    them."""
    if not (issubclass(cls_p, Distribution) and issubclass(cls_q, Distribution)):
        raise InvalidType(f"cls_p, cls_q: expected subclasses of Distribution, got {cls_p} and {cls_q}")

    def declare(function: Any) -> Any:
        _divergences[cls_p, cls_q] = function
        return function

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p || q) = E over p of log p - log q, by the formula registered for the nearest classes."""
    p_steps, q_steps = type(p).__mro__.index, type(q).__mro__.index
    found = [(a, b) for a, b in _divergences if isinstance(p, a) and isinstance(q, b)]
    if not found:
        raise NotImplementedError(f"kl_divergence: none for {type(p).__name__} and {type(q).__name__}")
    left = min(found, key=lambda pair: (p_steps(pair[0]), q_steps(pair[1])))
    right = min(found, key=lambda pair: (q_steps(pair[1]), p_steps(pair[0])))
    if _divergences[left] is not _divergences[right]:
        message = f"kl_divergence: ambiguous; register_kl({type(p).__name__}, {type(q).__name__})"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return _divergences[left](p, q)


def sum_rightmost(value: Any, n: int) -> Any:
    """The sum over the last n axes."""
    return value.sum(list(range(-n, 0))) if n > 0 else value


@register_kl(ExponentialFamily, ExponentialFamily)
def _bregman(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(f"kl_divergence: none for {type(p).__name__} and {type(q).__name__}")
    natural, value, means = p._normalized()
    moves = zip(natural, q._natural_parameters, means, strict=True)
    gap = sum(sum_rightmost((b - a) * m, len(q.event_shape)) for a, b, m in moves)
    return q._log_normalizer(*q._natural_parameters) - value - gap
