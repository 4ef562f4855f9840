"""Special functions: gamma, Bessel and error functions, with derivatives in the table's notation."""

import math
from typing import Any

import torch

from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .elementwise import Buffer, aten, elementwise

# fmt: off
__all__ = [
    "digamma", "erf", "erfinv", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "lgamma", "logit",
    "multigammaln", "polygamma", "sinc",
]
# fmt: on

erf = elementwise(
    "erf",
    torch.erf,
    "g * exp(-x * x) * 1.1283791670955126",
    doc="The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.",
    inplace="direct",
)
erfinv = elementwise(
    "erfinv",
    torch.erfinv,
    "g * exp(out * out) * 0.886226925452758",
    doc="The inverse of the error function.",
    inplace="direct",
    amp="float32",
)
lgamma = elementwise(
    "lgamma", torch.lgamma, "g * digamma(x)", doc="log |Gamma(x)|.", aliases="gammaln", inplace="direct"
)
digamma = elementwise(
    "digamma", torch.digamma, "g * polygamma(x, 1)", doc="The derivative of lgamma.", inplace="direct"
)


@operator(lambda g, x: g * i1(x), method="", holomorphic=True, inplace="direct")
def i0(x, name=None):
    """The modified Bessel function of the first kind, of order 0. Derivative: g * i1(x)."""
    return torch.i0(x)


@operator(lambda g, x, out: g * (i1e(x) - x.sign() * out), method="", holomorphic=True)
def i0e(x, name=None):
    """e^-|x| i0(x). Derivative: g * (i1e(x) - sign(x) * out)."""
    return torch.special.i0e(x)


# At 0, where out / x has the limit 0.5, the division is by 1 and gives 0.
@operator(lambda g, x, out: g * (i0(x) - out / (x + (x == 0)) - 0.5 * (x == 0)), method="", holomorphic=True)
def i1(x, name=None):
    """The modified Bessel function of the first kind, of order 1. Derivative: g * (i0(x) - out / x)."""
    return torch.special.i1(x)


@operator(
    lambda g, x, out: g * (i0e(x) - out * (x.sign() + 1 / (x + (x == 0))) - 0.5 * (x == 0)),
    method="",
    holomorphic=True,
)
def i1e(x, name=None):
    """e^-|x| i1(x). Derivative: g * (i0e(x) - out * (sign(x) + 1 / x))."""
    return torch.special.i1e(x)


sinc = elementwise(
    "sinc",
    torch.sinc,
    "g * (cos(x * 3.141592653589793) - out) / (x + (x == 0))",
    doc="sin(pi x) / (pi x), and 1 at 0.",
    inplace="rewrite",
)


def _polygammas_by_x(g: Any, n: int, x: Any) -> Any:
    return g * polygammas(n + 1, x)


@operator(lambda g: None, _polygammas_by_x)
def polygammas(n, x):
    """The n-th derivative of digamma."""
    value = torch.polygamma(n, x)
    if x.is_floating_point():  # torch's sum misses the poles by a rounding error
        value = torch.where((x <= 0) & (x == x.trunc()), math.inf if n % 2 else -math.inf, value)
    return value


@composite(method="", inplace="rewrite")
def polygamma(x, n, name=None) -> Tensor:
    """The n-th derivative of digamma, for an int n of 0 or more."""
    if not isinstance(n, int):
        raise InvalidType(f"polygamma: n must be an int, got {n!r}")
    if n < 0:
        raise InvalidArgument(f"polygamma: n must not be negative, got {n}")
    return polygammas(n, x) if n else digamma(x)


@composite(method="", inplace="rewrite")
def multigammaln(x, p, name=None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise InvalidArgument(f"multigammaln: p must be at least 1, got {p}")
    total = lgamma(x)
    for i in range(1, p):
        total = total + lgamma(x - 0.5 * i)
    return total + 0.25 * p * (p - 1) * math.log(math.pi)


@operator(
    lambda g: None,
    lambda g, x, y: -g * (-y - lgamma(x) + (x - 1) * y.log()).exp(),
    method="",
    broadcasts=True,
    inplace="rewrite",
)
def gammaincc(x, y, name=None):
    """Gamma(x, y) / Gamma(x): the regularised upper incomplete gamma function.

    Differentiable by y, where it is integrated up from; a derivative by x has no closed form. Raises
    ValueError for negative x or y.
    """
    if bool((x < 0).any()) or bool((y < 0).any()):
        raise RuntimeError("x and y must not be negative")
    return torch.special.gammaincc(x, y)


@composite(method="", inplace="rewrite")
def gammainc(x, y, name=None) -> Tensor:
    """1 - gammaincc(x, y): the regularised lower incomplete gamma function."""
    return 1 - gammaincc(x, y)


def _bound(eps: float | None) -> float | None:
    """`eps` as torch takes it: None for a bound that holds nothing."""
    return eps if eps and eps > 0 else None


def _logit_by_x(g: Any, x: Any, eps: float | None) -> Any:
    eps = _bound(eps)
    if g.__class__ is Buffer:
        return aten.logit_backward(g, x, eps)
    inside = 1.0 if eps is None else (x >= eps) * (x <= 1 - eps) * 1.0
    return g * inside / (x * (1 - x))


@operator(_logit_by_x, method="", inplace="rewrite")
def logit(x, eps=None, name=None):
    """log(x / (1 - x)), with x first held between eps and 1 - eps; NaN outside [0, 1] without eps."""
    return torch.logit(x, _bound(eps))
