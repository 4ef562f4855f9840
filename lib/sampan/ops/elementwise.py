"""Elementwise operators, each declared by its formula and its derivative in one line.

In a formula x and y are the inputs, `out` is the value, g the gradient that arrives. The same line makes the
eager operator (calls become methods, so that it runs on buffers and on Tensors) and, where a derivative is
plain arithmetic of several steps, the fused loop of `kernels.fused` for large arrays, in one pass.
Complex values need no second line: the gradient g of a holomorphic f is g conj(f'(x)) = conj(conj(g) f'(x)).
"""

import ast
import cmath
import math
import operator as operators
from collections.abc import Callable
from typing import Any

import torch

from .. import kernels
from ..dtype import default_dtype
from ..engine.operator import as_method, composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..generated import define

# fmt: off
__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "clip",
    "copysign", "cos", "cosh", "deg2rad", "divide", "exp", "expm1", "floor", "floor_divide", "fmax", "fmin",
    "frac", "frexp", "heaviside", "hypot", "increment", "ldexp", "lerp", "log", "log1p", "log2", "log10",
    "logaddexp", "maximum", "minimum", "multiply", "nan_to_num", "neg", "positive", "pow", "rad2deg",
    "reciprocal", "remainder", "round", "rsqrt", "scale", "sigmoid", "sign", "sin", "sinh", "sqrt", "square",
    "stanh", "subtract", "tan", "tanh", "trunc",
]
# fmt: on

FLAT = "g.new_zeros(g.shape)"  # the derivative of a function that is constant between its steps
aten = torch.ops.aten
Buffer = torch.Tensor


class _Methods(ast.NodeTransformer):
    """`cos(x)` becomes `x.cos()`, the spelling that buffers and Tensors share."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name):
            return node
        return ast.Call(ast.Attribute(node.args[0], node.func.id, ast.Load()), node.args[1:], node.keywords)


def _as_methods(formula: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_Methods().visit(ast.parse(formula, mode="eval"))))


def elementwise(
    name: str,
    value: Callable[..., Any],
    *derivatives: str,
    doc: str,
    vendor: Callable[..., Any] | None = None,
    setting: str = "",
    **facts: Any,
) -> Callable[..., Tensor]:
    """Declare an elementwise operator.

    value: the function that computes it on buffers (torch's). derivatives: one formula for each input.
    vendor: torch's fused backward, called as vendor(g, out) or vendor(g, x) by what the formula reads.
    setting: a keyword of Paddle's as in a signature, `alpha=1`. facts: as of `operator`.
    """
    inputs = ["x", "y"][: len(derivatives)]
    namespace: dict[str, Any] = {"torch": torch, "value": value, "vendor": vendor, "Buffer": Buffer}
    given, keyword = ", ".join(inputs), f", *, {setting}" if setting else ""
    doc = f"{doc}\n\n    Elementwise, any shape. Derivative: {'; '.join(derivatives)}."
    shown = f"torch.{name}" if getattr(torch, name, None) is value else "value"
    source = f'def {name}({given}, name=None{keyword}):\n    """{doc}\n    """\n    return {shown}({given})\n'
    for which, formula in zip(inputs, derivatives, strict=True):
        plain, reads = _as_methods(formula), kernels.names_in(formula)
        kept = [n for n in reads if n != "g"]
        source += f"def {name}_by_{which}({', '.join(['g', *kept])}):\n"
        if vendor is not None:
            source += (
                f"    if g.__class__ is Buffer and not g.is_complex():\n        return vendor(g, {kept[0]})\n"
            )
        elif kernels.worth_fusing(formula):
            namespace[f"loop_{which}"] = kernels.fused(formula)
            long = f"g.__class__ is Buffer and g.numel() > {kernels.FUSED_FROM}"
            source += f"    if {long}:\n        return loop_{which}({', '.join(reads)})\n"
        source += f"    return {plain}\n"
    define(source, f"elementwise {name}", namespace)
    body = namespace[name]
    body.__module__ = __name__
    by_inputs = [namespace[f"{name}_by_{which}"] for which in inputs]
    return operator(
        *by_inputs,
        method="",
        broadcasts=len(inputs) == 2,
        holomorphic=True,
        **facts,
    )(body)


def _rounded(x: Any, y: Any, rounding_mode: Any) -> Any:
    """x / y, rounded down ("floor") or towards zero ("trunc")."""
    if rounding_mode not in ("floor", "trunc"):
        raise InvalidArgument(
            f"divide: rounding_mode: expected None, 'floor' or 'trunc', got {rounding_mode!r}"
        )
    return divide_rounded(x, y, rounding_mode)


def _subtract(x: Any, y: Any) -> Any:
    """x - y; torch refuses bools, Python and Paddle take them for 0 and 1."""
    try:
        return x - y
    except RuntimeError:
        kind = torch.result_type(x, y)
        return (x * 1 - y * 1).to(torch.int64 if kind is torch.bool else kind)


def _integral(x: Any) -> bool:
    return not (x.is_floating_point() or x.is_complex())


def _of_floats(function: Callable[..., Any], kind: torch.dtype = torch.float32) -> Callable[..., Any]:
    """A function of two arrays that turns integers into floats first."""

    def value(x: Any, y: Any) -> Any:
        if x.is_complex() or y.is_complex():
            raise InvalidType("expected real numbers, got complex ones")
        x = x if x.is_floating_point() else x.to(kind)
        return function(x, y if y.is_floating_point() else y.to(kind))

    return value


def _copysign(x: Any, y: Any) -> Any:
    out = torch.copysign(x, y)
    return out if x.is_floating_point() else out.to(x.dtype)


def _heaviside(x: Any, y: Any) -> Any:
    """y where x is 0, else 1 above and 0 below; 0 for NaN, as Paddle has it."""
    return torch.where(x == 0, y, ((x > 0) * 1).to(y.dtype)).to(torch.promote_types(x.dtype, y.dtype))


def _frac(x: Any) -> Any:
    """x without its whole part: 0 for integers, which torch leaves out."""
    if x.dtype is torch.bool:
        raise InvalidType("a bool has no fraction")
    return x.frac() if x.is_floating_point() else torch.zeros_like(x)


# --- two inputs ---------------------------------------------------------------------------------------------
add = elementwise(
    "add",
    operators.add,
    "g",
    "g",
    setting="alpha=1",
    otherwise=lambda x, y, alpha: add(x, y * alpha),
    doc="x + alpha y. torch.add promotes the dtypes; `engine.backward.fit` casts the gradients back.",
    inplace="direct",
    out=True,
)
subtract = elementwise(
    "subtract",
    _subtract,
    "g",
    "-g",
    setting="alpha=1",
    otherwise=lambda x, y, alpha: subtract(x, y * alpha),
    doc="x - alpha y.",
    aliases="sub",
    inplace="direct",
    out=True,
)
multiply = elementwise(
    "multiply",
    operators.mul,
    "g * y",
    "g * x",
    product=True,
    doc="x y.",
    aliases="mul",
    inplace="direct",
    out=True,
)
divide = elementwise(
    "divide",
    operators.truediv,
    "g / y",
    "-g * x / (y * y)",
    setting="rounding_mode=None",
    otherwise=_rounded,
    doc="x / y; integers divide to floats. rounding_mode: 'floor', 'trunc' or None.",
    aliases="div true_divide",
    inplace="direct",
    out=True,
)
maximum = elementwise(
    "maximum",
    torch.maximum,
    "g * ((x > y) + (x == y) * 0.5)",
    "g * ((x < y) + (x == y) * 0.5)",
    doc="The larger of x and y; NaN wins. At a tie each gets half of the gradient.",
    out=True,
)
minimum = elementwise(
    "minimum",
    torch.minimum,
    "g * ((x < y) + (x == y) * 0.5)",
    "g * ((x > y) + (x == y) * 0.5)",
    doc="The smaller of x and y; NaN wins. At a tie each gets half of the gradient.",
    out=True,
)
fmax = elementwise(
    "fmax",
    torch.fmax,
    "g * ((x >= y) | (y != y))",
    "g * ((x < y) | (x != x) & (y == y))",
    doc="The larger of x and y; a number wins over NaN. At a tie x gets the gradient.",
)
fmin = elementwise(
    "fmin",
    torch.fmin,
    "g * ((x <= y) | (y != y))",
    "g * ((x > y) | (x != x) & (y == y))",
    doc="The smaller of x and y; a number wins over NaN. At a tie x gets the gradient.",
)
atan2 = elementwise(
    "atan2",
    _of_floats(torch.atan2, torch.float64),
    "g * y / (x * x + y * y)",
    "-g * x / (x * x + y * y)",
    doc="The angle of the point (y, x), in radians.",
)
hypot = elementwise(
    "hypot", _of_floats(torch.hypot), "g * x / out", "g * y / out", doc="sqrt(x^2 + y^2).", inplace="rewrite"
)
logaddexp = elementwise(
    "logaddexp",
    _of_floats(torch.logaddexp),
    "g * exp(x - out)",
    "g * exp(y - out)",
    doc="log(e^x + e^y), without overflow.",
)
copysign = elementwise(
    "copysign",
    _copysign,
    "g * sign(x) * sign(out)",
    FLAT,
    doc="x with the sign of y, a tensor or a number.",
    inplace="rewrite",
)
heaviside = elementwise(
    "heaviside", _heaviside, FLAT, "g * (x == 0)", doc="0 where x < 0, y where x = 0, 1 where x > 0."
)
# --- one input ----------------------------------------------------------------------------------------------
neg = elementwise("neg", torch.neg, "-g", doc="-x.", aliases="negative", inplace="direct")
abs = elementwise(
    "abs", torch.abs, "g * sgn(x)", doc="|x|; its derivative at 0 is taken as 0.", inplace="retype", out=True
)
exp = elementwise("exp", torch.exp, "g * out", doc="e^x.", inplace="direct", out=True, amp="float32")
expm1 = elementwise(
    "expm1",
    torch.expm1,
    "g * (out + 1)",
    doc="e^x - 1, exact near 0.",
    inplace="direct",
    out=True,
    amp="float32",
)
log = elementwise(
    "log", torch.log, "g / x", doc="Natural logarithm.", inplace="direct", out=True, amp="float32"
)
log2 = elementwise(
    "log2",
    torch.log2,
    "g / (x * 0.6931471805599453)",
    doc="Logarithm to base 2.",
    inplace="direct",
    out=True,
    amp="float32",
)
log10 = elementwise(
    "log10",
    torch.log10,
    "g / (x * 2.302585092994046)",
    doc="Logarithm to base 10.",
    inplace="direct",
    out=True,
    amp="float32",
)
log1p = elementwise(
    "log1p", torch.log1p, "g / (1 + x)", doc="log(1 + x), exact near 0.", inplace="direct", out=True
)
sqrt = elementwise("sqrt", torch.sqrt, "g / (2 * out)", doc="Square root.", inplace="direct", out=True)
rsqrt = elementwise(
    "rsqrt",
    torch.rsqrt,
    "-0.5 * g * out * out * out",
    doc="1 / sqrt(x).",
    inplace="direct",
    out=True,
    amp="float32",
)
square = elementwise("square", torch.square, "2 * g * x", doc="x^2.", inplace="direct", amp="float32")
reciprocal = elementwise(
    "reciprocal", torch.reciprocal, "-g * out * out", doc="1 / x.", inplace="direct", amp="float32"
)
sin = elementwise("sin", torch.sin, "g * cos(x)", doc="Sine of radians.", inplace="direct", out=True)
cos = elementwise("cos", torch.cos, "-g * sin(x)", doc="Cosine of radians.", inplace="direct", out=True)
tan = elementwise(
    "tan", torch.tan, "g * (1 + out * out)", doc="Tangent of radians.", inplace="direct", amp="float32"
)
asin = elementwise(
    "asin", torch.asin, "g / sqrt(1 - x * x)", doc="Arc sine, in radians.", inplace="direct", amp="float32"
)
acos = elementwise(
    "acos",
    torch.acos,
    "-g / sqrt(1 - x * x)",
    doc="Arc cosine, in radians.",
    inplace="direct",
    out=True,
    amp="float32",
)
atan = elementwise("atan", torch.atan, "g / (1 + x * x)", doc="Arc tangent, in radians.", inplace="direct")
sinh = elementwise(
    "sinh", torch.sinh, "g * cosh(x)", doc="Hyperbolic sine.", inplace="direct", out=True, amp="float32"
)
cosh = elementwise(
    "cosh", torch.cosh, "g * sinh(x)", doc="Hyperbolic cosine.", inplace="direct", out=True, amp="float32"
)
tanh = elementwise(
    "tanh",
    torch.tanh,
    "g * (1 - out * out)",
    vendor=aten.tanh_backward.default._op,
    doc="Hyperbolic tangent.",
    inplace="direct",
    out=True,
)
asinh = elementwise(
    "asinh", torch.asinh, "g / sqrt(x * x + 1)", doc="Inverse hyperbolic sine.", inplace="direct"
)
acosh = elementwise(
    "acosh",
    torch.acosh,
    "g / (sqrt(x - 1) * sqrt(x + 1))",
    doc="Inverse hyperbolic cosine.",
    inplace="direct",
    out=True,
)
atanh = elementwise(
    "atanh",
    torch.atanh,
    "g / (1 - x * x)",
    doc="Inverse hyperbolic tangent.",
    inplace="direct",
    out=True,
    amp="float32",
)
sigmoid = elementwise(
    "sigmoid",
    torch.sigmoid,
    "g * out * (1 - out)",
    vendor=aten.sigmoid_backward.default._op,
    doc="1 / (1 + e^-x).",
    inplace="direct",
    out=True,
)
deg2rad = elementwise(
    "deg2rad", lambda x: x * 0.017453292519943295, "g * 0.017453292519943295", doc="Degrees in radians."
)
rad2deg = elementwise(
    "rad2deg", lambda x: x * 57.29577951308232, "g * 57.29577951308232", doc="Radians in degrees."
)
floor = elementwise(
    "floor", torch.floor, FLAT, doc="The largest integer not above x.", inplace="direct", out=True
)
ceil = elementwise(
    "ceil", torch.ceil, FLAT, doc="The smallest integer not below x.", inplace="direct", out=True
)
trunc = elementwise("trunc", torch.trunc, FLAT, doc="x without its fraction.", inplace="direct")
frac = elementwise("frac", _frac, "g", doc="The fraction of x, with its sign.", inplace="rewrite", out=True)
sign = elementwise("sign", torch.sgn, FLAT, doc="-1, 0 or 1; z / |z| of complex numbers.", out=True)


def _flat(g: Any) -> Any:
    """The derivative of a function that is constant between its steps."""
    return g.new_zeros(g.shape)


@operator(_flat, _flat, broadcasts=True)
def divide_rounded(x, y, mode):
    """x / y, rounded down ("floor") or towards zero ("trunc")."""
    return torch.div(x, y, rounding_mode=mode)


@operator(_flat, method="", inplace="rewrite", out=True)
def round(x, decimals=0, name=None):
    """The nearest number with so many decimals (negative: tens, hundreds); halves go to the even one."""
    if decimals and x.is_floating_point():
        return torch.round(x, decimals=int(decimals))
    # integers stay, whatever the decimals, as Paddle has it
    return torch.view_as_complex(torch.view_as_real(x).round()) if x.is_complex() else x.round()


def _log(x: Any) -> Any:
    """log(x), and 0 where x is 0."""
    if isinstance(x, (int, float, complex)):
        return cmath.log(x) if isinstance(x, complex) else math.log(x or 1)
    return (x + (x == 0)).log()


@operator(
    lambda g, x, y: g * y * x ** (y - 1.0 * (y != 0)),
    lambda g, x, out: g * out * _log(x),
    method="",
    broadcasts=True,
    holomorphic=True,
    inplace="rewrite",
    out=True,
    amp="float32",
)
def pow(x, y, name=None):
    """x to the power y, elementwise with broadcasting; either may be a number.

    The exponent of a constant factor (y = 0) and the base 0 get the gradient 0, never 0 times infinity.
    """
    return x**y


@operator(
    lambda g: g,
    lambda g, x, y: -g * (x / y).floor(),
    method="",
    broadcasts=True,
    aliases="mod floor_mod",
    inplace="rewrite",
    out=True,
)
def remainder(x, y, name=None):
    """The remainder of x / y, with the sign of y."""
    return x % y


@operator(method="", inplace="rewrite", out=True)
def floor_divide(x, y, name=None):
    """x / y rounded down."""
    return x // y


@operator(
    lambda g, weight: g * (1 - weight),
    lambda g, weight: g * weight,
    lambda g, x, y: g * (y - x),
    method="",
    broadcasts=True,
    inplace="rewrite",
)
def lerp(x, y, weight, name=None):
    """x + weight (y - x): from x at weight 0 to y at weight 1. weight: a number or a tensor."""
    return torch.lerp(x, y, weight)


@operator(lambda g, x: g * x.isfinite(), method="", inplace="rewrite")
def nan_to_num(x, nan=0.0, posinf=None, neginf=None, name=None):
    """x with NaN and the infinities replaced; unless given, by 0 and the largest and smallest finite
    numbers."""
    return torch.nan_to_num(x, nan, posinf, neginf)


@operator(
    lambda g, x, out: g * (x == out),
    lambda g: None,
    lambda g: None,
    method="",
    aliases="clamp",
    inplace="rewrite",
    out=True,
)
def clip(x, min=None, max=None, name=None):
    """x held between min and max: numbers, tensors with one entry, or None for no bound.

    Raises ValueError when max is below min. Integers between fractional bounds become floats.
    """
    low, high = (v.item() if isinstance(v, Buffer) else v for v in (min, max))
    if low is not None and high is not None and high < low:
        raise RuntimeError(f"max must not be below min, got min={low} and max={high}")
    return x.clamp(low, high) if low is not None or high is not None else x.clone()


# --- written with the operators above -----------------------------------------------------------------------


@composite(method="", inplace="rewrite")
def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None) -> Tensor:
    """scale x + bias, or scale (x + bias) unless bias_after_scale, in x's dtype; then the activation named
    `act`."""
    if _integral(x) and not isinstance(scale, Tensor):
        scale, bias = int(scale), int(bias)
    if bias and not bias_after_scale:
        value = (x + bias) * scale
    else:
        value = x * scale + bias if bias else x * scale
    value = value.astype(x.dtype)
    return value if act is None else getattr(value, act)()


@composite(method="")
def stanh(x, scale_a=0.67, scale_b=1.7159, name=None) -> Tensor:
    """scale_b tanh(scale_a x)."""
    return (x * scale_a).tanh() * scale_b


@composite(method="", inplace="retype")
def ldexp(x, y, name=None) -> Tensor:
    """x 2^y, in float64 if one of the two is, else in the default dtype."""
    for value, called in ((x, "x"), (y, "y")):
        if isinstance(value, (int, float)):
            raise InvalidType(f"ldexp: {called} must be a tensor, got {value!r}")
    kind = torch.float64 if torch.float64 in (x.dtype, y.dtype) else default_dtype()
    x, y = x.astype(kind), y.astype(kind)
    return x * 2.0**y


@operator(lambda g, saved: g[0] * 2.0**-saved, method="", returns=tuple[Tensor, Tensor])
def frexp(x, name=None):
    """Mantissa and exponent, both in x's dtype: x = mantissa 2^exponent with 0.5 <= |mantissa| < 1."""
    mantissa, exponent = torch.frexp(x)
    return (mantissa, exponent.to(x.dtype)), exponent


@operator(joint=lambda g, needed: (g,) * len(needed))
def summed(*tensors):
    """The sum of tensors of one shape."""
    total = tensors[0] + tensors[1] if len(tensors) > 1 else tensors[0].clone()
    for tensor in tensors[2:]:
        total += tensor
    return total


def add_n(inputs, name=None) -> Tensor:
    """The sum of a list of tensors of one shape; of one tensor, a copy. Shapes [] and [1] together make
    [1]."""
    tensors = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    shapes = {tuple(t.shape) for t in tensors}
    if shapes == {(), (1,)}:
        tensors = [t.reshape([1]) for t in tensors]
    elif len(shapes) != 1:
        raise InvalidArgument(f"add_n: expected tensors of one shape, got {[list(t.shape) for t in tensors]}")
    return summed(*tensors)


def increment(x, value=1.0, name=None) -> Tensor:
    """x + value in x's own memory, for a tensor with one entry."""
    if x.size != 1:
        raise InvalidArgument(f"increment: expected a tensor with one entry, got shape {[*x.shape]}")
    step = value if x.data.is_floating_point() else int(value)
    if x.node is None:  # a constant more, which changes no gradient: as in Paddle a leaf takes it too
        x.data.add_(step)
        x._mark_written()
        return x
    return x._write(x._before().add(step))


def positive(x, name=None) -> Tensor:
    """x itself. Raises TypeError for bools."""
    if x.dtype == torch.bool:
        raise InvalidType("positive: a bool has no sign")
    return x


for _function in (add_n, increment):
    as_method(_function)
