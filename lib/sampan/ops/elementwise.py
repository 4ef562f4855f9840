"""Elementwise operators, each declared by its formula and its derivative in one line.

In a formula x and y are the inputs, `out` is the value, g the gradient that arrives. The same line makes the
eager operator (calls become methods, so that it runs on buffers and on Tensors) and, where a derivative is plain
arithmetic of several steps, the fused loop of `kernels.fused` that does it in one pass over large arrays.
"""

from __future__ import annotations

import ast
import math
import operator as operators
from collections.abc import Callable
from typing import Any

import torch

from .. import kernels
from ..operator import operator
from .samples import Array

_SHAPES = [(3, 4), (2, 1, 3), (), (0, 2)]
_PAIRS = [((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((0, 2), (1, 2))]
aten = torch.ops.aten
Buffer = torch.Tensor


class _Methods(ast.NodeTransformer):
    """`cos(x)` becomes `x.cos()`: the spelling that buffers and Tensors share."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        return ast.Call(ast.Attribute(node.args[0], node.func.id, ast.Load()), node.args[1:], node.keywords)


def _as_methods(formula: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_Methods().visit(ast.parse(formula, mode="eval"))))


def elementwise(
    name: str,
    value: Callable[..., Any],
    *derivatives: str,
    doc: str,
    vendor: Callable[..., Any] | None = None,
    low: float = -2.0,
    high: float = 2.0,
    reference: Callable[..., Any] | None = None,
    method: tuple[str, ...] = ("",),
) -> Any:
    """Declare an elementwise operator.

    value: the function that computes it on buffers (torch's). derivatives: one formula for each input.
    vendor: torch's fused backward, called as vendor(g, out) or vendor(g, x) by what the formula reads.
    low, high: where samples are drawn, inside the domain and away from kinks.
    """
    inputs = ["x", "y"][: len(derivatives)]
    namespace: dict[str, Any] = {"value": value, "vendor": vendor, "Buffer": Buffer}
    pullbacks = []
    for index, formula in enumerate(derivatives):
        expression = _as_methods(formula)
        if vendor is not None:
            reads = "out" if "out" in formula else "x"
            expression = f"vendor(g, {reads}) if g.__class__ is Buffer else {expression}"
        elif kernels.worth_fusing(formula):
            arguments = [n for n in ("g", "x", "y", "out") if n in kernels.names_in(formula)]
            namespace[f"loop{index}"] = kernels.fused(formula)
            loop = f"loop{index}({', '.join(arguments)})"
            expression = (
                f"{loop} if g.__class__ is Buffer and g.numel() > {kernels.FUSED_FROM} else {expression}"
            )
        pullbacks.append(f"lambda g: {expression}")
    source = (
        f"def {name}({', '.join(inputs)}, name=None):\n"
        f"    out = value({', '.join(inputs)})\n"
        f"    return out, ({', '.join(pullbacks)},)\n"
    )
    exec(compile(source, f"<elementwise {name}>", "exec"), namespace)
    body = namespace[name]
    body.__doc__ = f"{doc}\n\nElementwise, any shape. Derivative: {'; '.join(derivatives)}."
    body.__module__ = __name__
    if len(inputs) == 1:
        samples: list[Any] = [(Array(shape, low, high),) for shape in _SHAPES]
    else:
        samples = [(Array(a, low, high), Array(b, low, high)) for a, b in _PAIRS]
    return operator(
        body,
        method=method,
        broadcasts=len(inputs) == 2,
        reference=reference or _torch_twin(name, value),
        samples=samples,
        value=value,
    )


def _torch_twin(name: str, value: Callable[..., Any]) -> Callable[..., Any]:
    return getattr(torch, name, value)


# fmt: off
# --- two inputs ----------------------------------------------------------------------------------------------
add = elementwise("add", operators.add, "g", "g", doc="x + y.")
subtract = elementwise("subtract", operators.sub, "g", "-g", doc="x - y.")
multiply = elementwise("multiply", operators.mul, "g * y", "g * x", doc="x y.")
divide = elementwise("divide", operators.truediv, "g / y", "-g * x / (y * y)", low=0.5, doc="x / y; integers divide to floats.")
maximum = elementwise("maximum", torch.maximum, "g * ((x > y) + (x == y) * 0.5)", "g * ((x < y) + (x == y) * 0.5)", doc="The larger of x and y; NaN wins. At a tie each gets half of the gradient.")
minimum = elementwise("minimum", torch.minimum, "g * ((x < y) + (x == y) * 0.5)", "g * ((x > y) + (x == y) * 0.5)", doc="The smaller of x and y; NaN wins. At a tie each gets half of the gradient.")
fmax = elementwise("fmax", torch.fmax, "g * (x >= y)", "g * (y > x)", doc="The larger of x and y; a number wins over NaN.")
fmin = elementwise("fmin", torch.fmin, "g * (x <= y)", "g * (y < x)", doc="The smaller of x and y; a number wins over NaN.")
atan2 = elementwise("atan2", torch.atan2, "g * y / (x * x + y * y)", "-g * x / (x * x + y * y)", low=0.5, doc="The angle of the point (y, x), in radians.")
hypot = elementwise("hypot", torch.hypot, "g * x / out", "g * y / out", low=0.5, doc="sqrt(x^2 + y^2).")
# --- one input -----------------------------------------------------------------------------------------------
neg = elementwise("neg", torch.neg, "-g", doc="-x.")
abs = elementwise("abs", torch.abs, "g * sign(x)", low=0.3, doc="|x|; its derivative at 0 is taken as 0.")
exp = elementwise("exp", torch.exp, "g * out", doc="e^x.")
expm1 = elementwise("expm1", torch.expm1, "g * (out + 1)", doc="e^x - 1, exact near 0.")
log = elementwise("log", torch.log, "g / x", low=0.2, doc="Natural logarithm.")
log2 = elementwise("log2", torch.log2, "g / (x * 0.6931471805599453)", low=0.2, doc="Logarithm to base 2.")
log10 = elementwise("log10", torch.log10, "g / (x * 2.302585092994046)", low=0.2, doc="Logarithm to base 10.")
log1p = elementwise("log1p", torch.log1p, "g / (1 + x)", low=-0.8, doc="log(1 + x), exact near 0.")
sqrt = elementwise("sqrt", torch.sqrt, "g / (2 * out)", low=0.2, doc="Square root.")
rsqrt = elementwise("rsqrt", torch.rsqrt, "-0.5 * g * out * out * out", low=0.2, doc="1 / sqrt(x).")
square = elementwise("square", torch.square, "2 * g * x", doc="x^2.")
reciprocal = elementwise("reciprocal", torch.reciprocal, "-g * out * out", low=0.3, doc="1 / x.")
sin = elementwise("sin", torch.sin, "g * cos(x)", doc="Sine of radians.")
cos = elementwise("cos", torch.cos, "-g * sin(x)", doc="Cosine of radians.")
tan = elementwise("tan", torch.tan, "g * (1 + out * out)", low=-1.2, high=1.2, doc="Tangent of radians.")
asin = elementwise("asin", torch.asin, "g / sqrt(1 - x * x)", low=-0.8, high=0.8, doc="Arc sine, in radians.")
acos = elementwise("acos", torch.acos, "-g / sqrt(1 - x * x)", low=-0.8, high=0.8, doc="Arc cosine, in radians.")
atan = elementwise("atan", torch.atan, "g / (1 + x * x)", doc="Arc tangent, in radians.")
sinh = elementwise("sinh", torch.sinh, "g * cosh(x)", doc="Hyperbolic sine.")
cosh = elementwise("cosh", torch.cosh, "g * sinh(x)", doc="Hyperbolic cosine.")
tanh = elementwise("tanh", torch.tanh, "g * (1 - out * out)", vendor=aten.tanh_backward.default._op, doc="Hyperbolic tangent.")
asinh = elementwise("asinh", torch.asinh, "g / sqrt(x * x + 1)", doc="Inverse hyperbolic sine.")
acosh = elementwise("acosh", torch.acosh, "g / sqrt(x * x - 1)", low=1.3, high=3, doc="Inverse hyperbolic cosine.")
atanh = elementwise("atanh", torch.atanh, "g / (1 - x * x)", low=-0.8, high=0.8, doc="Inverse hyperbolic tangent.")
sigmoid = elementwise("sigmoid", torch.sigmoid, "g * out * (1 - out)", vendor=aten.sigmoid_backward.default._op, doc="1 / (1 + e^-x).")
erf = elementwise("erf", torch.erf, "g * exp(-x * x) * 1.1283791670955126", doc="The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.")
floor = elementwise("floor", torch.floor, "g * 0", low=0.1, high=0.9, doc="The largest integer not above x.")
ceil = elementwise("ceil", torch.ceil, "g * 0", low=0.1, high=0.9, doc="The smallest integer not below x.")
round = elementwise("round", torch.round, "g * 0", low=0.1, high=0.4, doc="The nearest integer; halves go to the even one.")
trunc = elementwise("trunc", torch.trunc, "g * 0", low=0.1, high=0.9, doc="x without its fraction.")
sign = elementwise("sign", torch.sign, "g * 0", low=0.1, doc="-1, 0 or 1.")
# fmt: on


@operator(method="", broadcasts=True, reference=torch.pow, samples=[(Array((3, 4), 0.3, 2), 3.0), (Array((3, 4), 0.3, 2), Array((4,), 0.3, 2)), (2.0, Array((3, 2))), (Array((2, 0)), 2)])  # fmt: skip
def pow(x, y, name=None):  # type: ignore[no-untyped-def]
    """x to the power y, elementwise with broadcasting; either may be a number.

    The exponent of a constant factor (y = 0) and the base 0 get the gradient 0, never 0 times infinity.
    """
    out = x**y
    return out, (lambda g: g * y * x ** (y - 1.0 * (y != 0)), lambda g: g * out * _log(x))


def _log(x: Any) -> Any:
    """log(x), and 0 where x is 0."""
    return math.log(x or 1) if isinstance(x, (int, float)) else (x + (x == 0)).log()


@operator(method=("", "mod", "floor_mod"), broadcasts=True, reference=torch.remainder, samples=[(Array((3, 4), 0.1, 0.9), Array((4,), 1.1, 2)), (Array((3,), 0.1, 0.9), 2.0)])  # fmt: skip
def remainder(x, y, name=None):  # type: ignore[no-untyped-def]
    """The remainder of x / y, with the sign of y."""
    return x % y, (lambda g: g, lambda g: -g * (x / y).floor())


@operator(
    method="",
    differentiable=False,
    reference=torch.floor_divide,
    samples=[(Array((3, 4)), Array((4,), 0.5, 2))],
)
def floor_divide(x, y, name=None):  # type: ignore[no-untyped-def]
    """x / y rounded down."""
    return x // y
