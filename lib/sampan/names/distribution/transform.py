"""Transforms with inverse and log determinant of the Jacobian, and transformed distributions."""

import enum
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...creation import arange, ones_like, zeros
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn.functional import sigmoid, softmax, softplus
from ...ops import concat, stack, unbind
from . import variable
from .distribution import Distribution, missing, sum_rightmost

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ChainTransform",
    "ExpTransform",
    "Independent",
    "IndependentTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
]


class Type(enum.Enum):
    """Whether a transform is injective, surjective or bijective."""

    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"


def _check_rank(x: Any, name: str, expected: variable.Variable) -> Any:
    if not isinstance(x, Tensor):
        raise InvalidType(f"{name}: expected a Tensor, got {type(x).__name__}")
    if x.ndim < expected.event_rank:
        raise InvalidArgument(f"{name}: expected at least {expected.event_rank} axes, got shape {[*x.shape]}")
    return x


def _sequence(value: Any, name: str, of: type = object) -> Any:
    if not isinstance(value, Sequence) or not all(isinstance(v, of) for v in value):
        raise InvalidType(f"{name}: expected a sequence of {of.__name__}s, got {value!r}")
    return value


class Transform:
    """Base class; a subclass defines `_forward`, `_inverse` and one of `_forward_log_det_jacobian`,
    `_inverse_log_det_jacobian`.

    Called on a Tensor it transforms; on a Distribution, it gives the distribution of the transformed samples;
    on another Transform, it chains the two. `_domain` and `_codomain` describe its inputs and outputs.
    """

    _type = Type.INJECTION
    _domain: Any = variable.real
    _codomain: Any = variable.real
    _forward, _inverse = missing("_forward"), missing("_inverse")
    _forward_shape = _inverse_shape = staticmethod(lambda shape: shape)

    @classmethod
    def _is_injective(cls) -> bool:
        return cls._type in (Type.BIJECTION, Type.INJECTION)

    def __call__(self, input: Any) -> Any:
        if isinstance(input, Distribution):
            return TransformedDistribution(input, [self])
        return ChainTransform([self, input]) if isinstance(input, Transform) else self.forward(input)

    def forward(self, x: Any) -> Any:
        return self._forward(_check_rank(x, "x", self._domain))

    def inverse(self, y: Any) -> Any:
        return self._inverse(_check_rank(y, "y", self._codomain))

    def forward_log_det_jacobian(self, x: Any) -> Any:
        """log |det dy/dx|, one number for each event."""
        _check_rank(x, "x", self._domain)
        if self._is_injective() and hasattr(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if self._is_injective() and hasattr(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self.forward(x))
        raise NotImplementedError(
            f"{type(self).__name__} is not injective, or has no _forward_log_det_jacobian"
        )

    def inverse_log_det_jacobian(self, y: Any) -> Any:
        """log |det dx/dy|, one number for each event."""
        _check_rank(y, "y", self._codomain)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return self._inverse_log_det_jacobian(y)
        return -self.forward_log_det_jacobian(self._inverse(y))

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape that `forward` gives for an input of this shape."""
        return self._forward_shape(_sequence(shape, "shape"))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inverse_shape(_sequence(shape, "shape"))


def rule(function: Any) -> Any:
    """A method of one argument from a formula; further arguments of the formula name attributes."""
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    return lambda self, x: function(x, *(getattr(self, name) for name in names))


class AbsTransform(Transform):
    """|x|. Its inverse gives both (-y, y)."""

    _type, _codomain = Type.SURJECTION, variable.positive
    _forward, _inverse = rule(lambda x: x.abs()), rule(lambda y: (-y, y))
    _inverse_log_det_jacobian = rule(lambda y: (zeros([], y.dtype), zeros([], y.dtype)))


class _Bijection(Transform):
    """A bijection whose parameters are Tensors that broadcast against the input."""

    _type = Type.BIJECTION
    _shapes: Any = ()

    def _keep(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, _check_rank(value, name, variable.real))
        self._shapes = [tuple(value.shape) for value in given.values()]

    _forward_shape = _inverse_shape = rule(
        lambda shape, _shapes: np.broadcast_shapes(tuple(shape), *_shapes) if _shapes else shape
    )


class AffineTransform(_Bijection):
    """loc + scale x."""

    def __init__(self, loc, scale):
        self._keep(loc=loc, scale=scale)

    _forward, _inverse = (
        rule(lambda x, loc, scale: loc + scale * x),
        rule(lambda y, loc, scale: (y - loc) / scale),
    )
    _forward_log_det_jacobian = rule(lambda x, scale: scale.abs().log())


class PowerTransform(_Bijection):
    """x^power, for positive x."""

    def __init__(self, power):
        self._keep(power=power)

    _codomain = variable.positive
    _forward, _inverse = rule(lambda x, power: x**power), rule(lambda y, power: y ** (1 / power))
    _forward_log_det_jacobian = rule(lambda x, power: (power * x ** (power - 1)).abs().log())


class ExpTransform(_Bijection):
    """e^x."""

    _codomain = variable.positive
    _forward, _inverse = rule(lambda x: x.exp()), rule(lambda y: y.log())
    _forward_log_det_jacobian = rule(lambda x: x)


class SigmoidTransform(_Bijection):
    """1 / (1 + e^-x)."""

    _codomain = variable.unit
    _forward, _inverse = rule(lambda x: sigmoid(x)), rule(lambda y: y.log() - (-y).log1p())
    _forward_log_det_jacobian = rule(lambda x: -softplus(-x) - softplus(x))


class TanhTransform(_Bijection):
    """tanh x."""

    _codomain = variable.signed_unit
    _forward, _inverse = rule(lambda x: x.tanh()), rule(lambda y: y.atanh())
    _forward_log_det_jacobian = rule(lambda x: 2 * (math.log(2) - x - softplus(-2 * x)))


def _longer(shape: Any, more: int = 0) -> Any:
    """`shape` with its last axis longer by `more`."""
    if not shape:
        raise InvalidArgument(f"shape: expected at least one axis, got {shape}")
    return (*shape[:-1], shape[-1] + more) if more else shape


class SoftmaxTransform(Transform):
    """softmax over the last axis. The inverse is the logarithm, one of many preimages."""

    _type, _domain, _codomain = Type.OTHER, variable.Independent(variable.real, 1), variable.simplex
    _forward, _inverse = rule(lambda x: softmax(x)), rule(lambda y: y.log())
    _forward_shape = _inverse_shape = rule(lambda shape: _longer(shape))


def _remaining(x: Any) -> Any:
    """n, n - 1, ... 1 for x of [..., n]."""
    return arange(x.shape[-1], 0, -1, dtype=x.dtype)


class StickBreakingTransform(Transform):
    """n numbers to n + 1 probabilities by stick breaking: each takes a fraction, a sigmoid, of the
    remainder."""

    _type, _domain, _codomain = Type.BIJECTION, variable.Independent(variable.real, 1), variable.simplex
    _forward_shape, _inverse_shape = (
        rule(lambda shape: _longer(shape, 1)),
        rule(lambda shape: _longer(shape, -1)),
    )

    def _forward(self, x: Any) -> Any:
        part = sigmoid(x - _remaining(x).log())
        one = ones_like(part[..., :1])
        return concat([part, one], -1) * concat([one, (1 - part).cumprod(-1)], -1)

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        return first.log() - (1 - first.cumsum(-1)).log() + _remaining(first).log()

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        shifted = x - _remaining(x).log()
        return (self._forward(x)[..., :-1].log() - shifted - softplus(-shifted)).sum(-1)


def _exchanged(shape: Any, old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    cut = len(shape) - len(old)
    if cut < 0 or tuple(shape[cut:]) != old:
        raise InvalidArgument(f"shape: expected one that ends with {old}, got {shape}")
    return (*shape[:cut], *new)


class ReshapeTransform(Transform):
    """Events of one shape in another."""

    _type = Type.BIJECTION

    def __init__(self, in_event_shape, out_event_shape):
        self.in_event_shape = tuple(_sequence(in_event_shape, "in_event_shape"))
        self.out_event_shape = tuple(_sequence(out_event_shape, "out_event_shape"))
        if math.prod(in_event_shape) != math.prod(out_event_shape):
            raise InvalidArgument(
                f"out_event_shape: {out_event_shape} has not as many entries as {in_event_shape}"
            )
        self._domain = variable.Independent(variable.real, len(in_event_shape))
        self._codomain = variable.Independent(variable.real, len(out_event_shape))

    _forward_shape = rule(
        lambda shape, in_event_shape, out_event_shape: _exchanged(shape, in_event_shape, out_event_shape)
    )
    _inverse_shape = rule(
        lambda shape, in_event_shape, out_event_shape: _exchanged(shape, out_event_shape, in_event_shape)
    )
    _forward = rule(lambda x, _forward_shape: x.reshape(_forward_shape(x.shape)))
    _inverse = rule(lambda y, _inverse_shape: y.reshape(_inverse_shape(y.shape)))
    _forward_log_det_jacobian = rule(
        lambda x, in_event_shape: zeros(x.shape[: x.ndim - len(in_event_shape)], x.dtype)
    )


class IndependentTransform(Transform):
    """`base` with `reinterpreted_batch_rank` further axes that belong to one event."""

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Transform):
            raise InvalidType(f"base: expected a Transform, got {type(base).__name__}")
        if reinterpreted_batch_rank <= 0:
            raise InvalidArgument(
                f"reinterpreted_batch_rank: expected at least 1, got {reinterpreted_batch_rank}"
            )
        self._base, self._rank = base, reinterpreted_batch_rank
        self._domain = variable.Independent(base._domain, self._rank)
        self._codomain = variable.Independent(base._codomain, self._rank)

    _is_injective: Any = lambda self: self._base._is_injective()
    _forward, _inverse = rule(lambda x, _base: _base.forward(x)), rule(lambda y, _base: _base.inverse(y))
    _forward_shape = rule(lambda shape, _base: _base.forward_shape(shape))
    _inverse_shape = rule(lambda shape, _base: _base.inverse_shape(shape))
    _forward_log_det_jacobian = rule(
        lambda x, _base, _rank: sum_rightmost(_base.forward_log_det_jacobian(x), _rank)
    )


class ChainTransform(Transform):
    """Applies transforms in order."""

    def __init__(self, transforms):
        self.transforms = _sequence(transforms, "transforms", Transform)

    _is_injective: Any = lambda self: all(t._is_injective() for t in self.transforms)

    def _through(self, method: str, value: Any) -> Any:
        order = self.transforms if method.startswith("forward") else reversed(self.transforms)
        return functools.reduce(lambda value, t: getattr(t, method)(value), order, value)

    _forward, _inverse = (
        rule(lambda x, _through: _through("forward", x)),
        rule(lambda y, _through: _through("inverse", y)),
    )
    _forward_shape = rule(lambda shape, _through: _through("forward_shape", shape))
    _inverse_shape = rule(lambda shape, _through: _through("inverse_shape", shape))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        total: Any = 0.0
        rank = self._domain.event_rank
        for t in self.transforms:
            total = total + sum_rightmost(t.forward_log_det_jacobian(x), rank - t._domain.event_rank)
            x = t.forward(x)
            rank += t._codomain.event_rank - t._domain.event_rank
        return total

    @property
    def _domain(self) -> Any:
        rank = self.transforms[-1]._codomain.event_rank
        for t in reversed(self.transforms):
            rank = max(rank - t._codomain.event_rank + t._domain.event_rank, t._domain.event_rank)
        first = self.transforms[0]._domain
        return variable.Independent(first, rank - first.event_rank)

    @property
    def _codomain(self) -> Any:
        rank = self.transforms[0]._domain.event_rank
        for t in self.transforms:
            rank = max(rank + t._codomain.event_rank - t._domain.event_rank, t._codomain.event_rank)
        last = self.transforms[-1]._codomain
        return variable.Independent(last, rank - last.event_rank)


class StackTransform(Transform):
    """One transform for each slice along `axis`."""

    def __init__(self, transforms, axis=0):
        if not transforms:
            raise InvalidType(f"transforms: expected a sequence of Transforms, got {transforms!r}")
        if not isinstance(axis, int):
            raise InvalidType(f"axis: expected an int, got {axis!r}")
        self.transforms, self.axis = _sequence(transforms, "transforms", Transform), axis
        self._domain = variable.Stack([t._domain for t in transforms], axis)
        self._codomain = variable.Stack([t._codomain for t in transforms], axis)

    _is_injective: Any = lambda self: all(t._is_injective() for t in self.transforms)

    def _each(self, method: str, x: Any) -> Any:
        if not -x.ndim <= self.axis < x.ndim or x.shape[self.axis] != len(self.transforms):
            raise InvalidArgument(
                f"expected {len(self.transforms)} slices along axis {self.axis}, got shape {[*x.shape]}"
            )
        parts = zip(self.transforms, unbind(x, self.axis), strict=True)
        return stack([getattr(t, method)(part) for t, part in parts], self.axis)

    _forward, _inverse = (
        rule(lambda x, _each: _each("forward", x)),
        rule(lambda y, _each: _each("inverse", y)),
    )
    _forward_log_det_jacobian = rule(lambda x, _each: _each("forward_log_det_jacobian", x))


class Independent(Distribution):
    """`base` with its last `reinterpreted_batch_rank` batch axes belonging to one event: their log_probs are
    summed."""

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Distribution):
            raise InvalidType(f"base: expected a Distribution, got {type(base).__name__}")
        cut = len(base.batch_shape) - reinterpreted_batch_rank
        if not 0 <= cut < len(base.batch_shape):
            raise InvalidArgument(
                f"reinterpreted_batch_rank: {reinterpreted_batch_rank} of batch_shape {base.batch_shape}"
            )
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        shape = base.batch_shape + base.event_shape
        super().__init__(shape[:cut], shape[cut:])
        self.sample, self.rsample = base.sample, base.rsample

    mean, variance = property(lambda self: self._base.mean), property(lambda self: self._base.variance)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self._base.log_prob(value), self._reinterpreted_batch_rank)

    def entropy(self) -> Any:
        return sum_rightmost(self._base.entropy(), self._reinterpreted_batch_rank)


class TransformedDistribution(Distribution):
    """The distribution of `transforms`, one after the other, of a sample of `base`."""

    def __init__(self, base, transforms):
        if not isinstance(base, Distribution):
            raise InvalidType(f"base: expected a Distribution, got {type(base).__name__}")
        self._base, self._transforms = base, _sequence(transforms, "transforms", Transform)
        shape, rank = base.batch_shape + base.event_shape, len(base.event_shape)
        if transforms:
            chain = ChainTransform(transforms)
            taken, given = chain._domain.event_rank, chain._codomain.event_rank
            if len(shape) < taken:
                raise InvalidArgument(f"base: expected at least {taken} axes, got shape {shape}")
            shape, rank = tuple(chain.forward_shape(shape)), given + max(rank - taken, 0)
        super().__init__(shape[: len(shape) - rank], shape[len(shape) - rank :])

    def sample(self, shape=[]):
        return functools.reduce(lambda x, t: t.forward(x), self._transforms, self._base.sample(shape))

    def rsample(self, shape=[]):
        return functools.reduce(lambda x, t: t.forward(x), self._transforms, self._base.rsample(shape))

    def log_prob(self, value: Any) -> Any:
        """Change of variables: log_prob of the base at the inverse, minus the log determinants."""
        total: Any = 0.0
        rank = len(self.event_shape)
        for t in reversed(self._transforms):
            x = t.inverse(value)
            rank += t._domain.event_rank - t._codomain.event_rank
            total = total - sum_rightmost(t.forward_log_det_jacobian(x), rank - t._domain.event_rank)
            value = x
        return total + sum_rightmost(self._base.log_prob(value), rank - len(self._base.event_shape))
