"""Activations, and the softmax family."""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, Tensor
from ..generated import define
from .elementwise import Buffer, aten, sigmoid, tanh
from .joining import concat, equal_views
from .shape import _free, scalar

softmax_backward = torch._softmax_backward_data
log_softmax_backward = torch._log_softmax_backward_data
# torch's fused backwards
elu_backward = aten.elu_backward.default._op
gelu_backward = aten.gelu_backward.default._op
glu_backward = aten.glu_backward.default._op
hardsigmoid_backward = aten.hardsigmoid_backward.default._op
hardtanh_backward = aten.hardtanh_backward.default._op
leaky_relu_backward = aten.leaky_relu_backward.default._op
silu_backward = aten.silu_backward.default._op
threshold_backward = aten.threshold_backward.default._op
prelu_backward = aten._prelu_kernel_backward.default._op
tnf = torch.nn.functional


def _relu_by_x(g: Any, out: Any) -> Any:
    return threshold_backward(g, out, 0) if g.__class__ is Buffer else g * (out > 0)


@operator(_relu_by_x, method="", inplace="direct")
def relu(x, name=None):
    """max(x, 0); its derivative at 0 is taken as 0."""
    return torch.relu(x)


def activation(
    name: str,
    settings: str,
    doc: str,
    value: Callable[..., Any],
    slope: Callable[..., Any],
    vendor: Any = None,
    of_complex: Any = None,
    complex_slope: Any = None,
    **facts: Any,
) -> Callable[..., Tensor]:
    """Declare an activation.

    settings: its parameters after x, as in a signature. value(x, *settings): its value, torch's function.
    slope(g, x, *settings): the gradient g taken back, by methods that buffers and Tensors share.
    vendor(g, x, *settings): torch's fused form of that for buffers, unless the plain form is as good.
    of_complex, complex_slope: the value and the gradient for complex buffers, unless `value` takes them and
    the gradient is the conjugate of `slope` of the conjugate. facts: as of `operator`.
    """
    names = [part.split("=")[0].strip() for part in settings.split(",") if part]
    given, inner = ", ".join(["x", *names]), ", ".join(["g", "x", *names])
    signature = ", ".join(["x", *([settings] if settings else []), "name=None"])
    # torch's forward functions take NumPy's numbers and 0-d tensors, those for gradients only Python's
    # numbers
    plain = "".join(f"    if type({n}) not in NUMBERS: {n} = number_of({n})\n" for n in names)
    conjugate = f"slope_of(g.conj(), {given}).conj()"
    if complex_slope:
        conjugate = f"complex_slope({inner}) if g.__class__ is Buffer else {conjugate}"
    source = f"def {name}({signature}):\n{plain}"
    source += f"    if x.is_complex():\n        return of_complex({given})\n" if of_complex else ""
    source += f"    return value_of({given})\n"
    source += f"def {name}_by_x({inner}):\n{plain}    if g.is_complex():\n        return {conjugate}\n"
    source += f"    return vendor_of({inner}) if g.__class__ is Buffer else slope_of({inner})\n"

    namespace: dict[str, Any] = {
        "value_of": value,
        "slope_of": slope,
        "vendor_of": vendor or slope,
        "of_complex": of_complex,
        "complex_slope": complex_slope,
        "Buffer": Buffer,
        "NUMBERS": (float, int),
        "number_of": scalar,
    }
    define(source, f"activation {name}", namespace)
    body = namespace[name]
    body.__doc__, body.__module__ = f"{doc}\n\nElementwise, any shape.", __name__
    return operator(namespace[f"{name}_by_x"], **facts)(body)


_SIXTH = (0.1666667, 0.5)  # what torch has a kernel for


def _selu(x: Any, scale: float, alpha: float) -> Any:
    if scale <= 1 or alpha < 0:
        raise InvalidArgument(f"selu: expected scale above 1 and alpha of 0 or more, got {scale} and {alpha}")
    return aten.elu(x, alpha, scale, 1.0)


def _hardsigmoid(x: Any, slope: float, offset: float) -> Any:
    return tnf.hardsigmoid(x) if (slope, offset) == _SIXTH else (x * slope).add_(offset).clamp_(0.0, 1.0)


def _hardsigmoid_back(g: Any, x: Any, slope: float, offset: float) -> Any:
    if (slope, offset) == _SIXTH:
        return hardsigmoid_backward(g, x)
    return _within(g * slope, x * slope + offset, 0.0, 1.0)


def _outside(g: Any, x: Any, threshold: float) -> Any:
    return g * (x.abs() > threshold)


def _within(g: Any, x: Any, low: float, high: float) -> Any:
    return g * (x > low) * (x < high)


def _mish_slope(g: Any, x: Any) -> Any:
    t = x.exp().log1p().tanh()
    return g * (t + x * (1 - t * t) * x.sigmoid())


def _of_middle(x: Any, high: Any, middle: Any) -> Any:
    """`high` where the real part of x is 3 or more, `middle` down to -3, 0 below."""
    return torch.where(x.real >= 3, high, torch.where(x.real >= -3, middle, 0))


def _softsign_slope(g: Any, x: Any) -> Any:
    """Of complex numbers, where softsign has no complex derivative: the gradient by the real and imaginary
    part."""
    size = x.abs()
    return g / (1 + size) - x * (x.conj() * g).real / (size + (size == 0)) / (1 + size) ** 2


def _silu_slope(g: Any, x: Any) -> Any:
    s = x.sigmoid()
    return g * s * (1 + x * (1 - s))


celu = activation(
    "celu",
    "alpha=1.0",
    "max(0, x) + min(0, alpha (e^(x / alpha) - 1)) (Barron, 2017).",
    lambda x, alpha: aten.elu(x, alpha, 1.0, 1.0 / alpha),
    lambda g, x, alpha: g * (x > 0) + g * (x <= 0) * (x.clip(max=0.0) / alpha).exp(),
    lambda g, x, alpha: elu_backward(g, alpha, 1.0, 1.0 / alpha, False, x),
)
elu = activation(
    "elu",
    "alpha=1.0",
    "x where positive, alpha (e^x - 1) elsewhere (Clevert et al., 2016).",
    aten.elu,
    lambda g, x, alpha: g * (x > 0) + g * (x <= 0) * alpha * x.clip(max=0.0).exp(),
    lambda g, x, alpha: elu_backward(g, alpha, 1.0, 1.0, False, x),
    inplace="rewrite",
)
hardshrink = activation(
    "hardshrink",
    "threshold=0.5",
    "x where |x| > threshold, 0 elsewhere.",
    tnf.hardshrink,
    _outside,
    aten.hardshrink_backward.default._op,
)
hardsigmoid = activation(
    "hardsigmoid",
    "slope=0.1666667, offset=0.5",
    "slope x + offset, held between 0 and 1.",
    _hardsigmoid,
    lambda g, x, slope, offset: _within(g * slope, x * slope + offset, 0.0, 1.0),
    _hardsigmoid_back,
)
hardswish = activation(
    "hardswish",
    "",
    "x relu6(x + 3) / 6 (Howard et al., 2019).",
    tnf.hardswish,
    lambda g, x: g * (x >= 3) + _within(g, x, -3.0, 3.0) * (x / 3 + 0.5),
    aten.hardswish_backward.default._op,
    lambda x: _of_middle(x, x, x * (x + 3) / 6),
    lambda g, x: _of_middle(x, g, g * (x / 3 + 0.5).conj()),
)
hardtanh = activation(
    "hardtanh",
    "min=-1.0, max=1.0",
    "x held between min and max.",
    tnf.hardtanh,
    _within,
    hardtanh_backward,
    inplace="rewrite",
)
leaky_relu = activation(
    "leaky_relu",
    "negative_slope=0.01",
    "x where positive, negative_slope x elsewhere.",
    tnf.leaky_relu,
    lambda g, x, slope: g * (x > 0) + g * (x <= 0) * slope,
    lambda g, x, slope: leaky_relu_backward(g, x, slope, False),
    inplace="rewrite",
)
log_sigmoid = activation(
    "log_sigmoid",
    "",
    "-log(1 + e^-x).",
    tnf.logsigmoid,
    lambda g, x: g * (-x).sigmoid(),
    of_complex=lambda x: torch.where(x.real < 0, x, 0) - (torch.where(x.real < 0, x, -x).exp() + 1).log(),
)
mish = activation(
    "mish", "", "x tanh(softplus(x)) (Misra, 2019).", tnf.mish, _mish_slope, aten.mish_backward.default._op
)
relu6 = activation(
    "relu6",
    "",
    "x held between 0 and 6.",
    tnf.relu6,
    lambda g, x: _within(g, x, 0.0, 6.0),
    lambda g, x: hardtanh_backward(g, x, 0.0, 6.0),
)
selu = activation(
    "selu",
    "scale=1.0507009873554805, alpha=1.6732632423543772",
    "scale times elu(x, alpha), which keeps mean 0 and variance 1 (Klambauer et al., 2017).",
    _selu,
    lambda g, x, scale, alpha: g * scale * (x > 0) + g * (x <= 0) * (scale * alpha) * x.clip(max=0.0).exp(),
    lambda g, x, scale, alpha: elu_backward(g, alpha, scale, 1.0, False, x),
)
silu = activation(
    "silu",
    "",
    "x sigmoid(x) (Elfwing et al., 2018).",
    tnf.silu,
    _silu_slope,
    silu_backward,
    inplace="rewrite",
)
softplus = activation(
    "softplus",
    "beta=1, threshold=20",
    "log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold.",
    tnf.softplus,
    lambda g, x, beta, threshold: (
        g * ((x * beta > threshold) + (x * beta <= threshold) * (x * beta).sigmoid())
    ),
    aten.softplus_backward.default._op,
    lambda x, beta, threshold: torch.where(
        (x * beta).real > threshold, x, ((x * beta).exp() + 1).log() / beta
    ),
    lambda g, x, beta, threshold: (
        g * torch.where((x * beta).real > threshold, 1, (x * beta).sigmoid().conj())
    ),
    amp="float32",
)
softshrink = activation(
    "softshrink",
    "threshold=0.5",
    "x nearer to 0 by threshold, 0 where |x| is below it.",
    tnf.softshrink,
    _outside,
    aten.softshrink_backward.default._op,
)
softsign = activation(
    "softsign",
    "",
    "x / (1 + |x|).",
    tnf.softsign,
    lambda g, x: g / (1 + x.abs()) ** 2.0,
    complex_slope=_softsign_slope,
)
swish = activation(
    "swish",
    "",
    "x sigmoid(x) (Ramachandran et al., 2017): silu's other name.",
    tnf.silu,
    _silu_slope,
    silu_backward,
)
tanhshrink = activation(
    "tanhshrink", "", "x - tanh(x).", tnf.tanhshrink, lambda g, x: g * x.tanh() ** 2.0, amp="float32"
)
thresholded_relu = activation(
    "thresholded_relu",
    "threshold=1.0, value=0.0",
    "x where it is above the threshold, value elsewhere.",
    tnf.threshold,
    lambda g, x, threshold, value: g * (x > threshold),
    lambda g, x, threshold, value: threshold_backward(g, x, threshold),
    inplace="rewrite",
)


def _gelu_by_x(g: Any, x: Any, saved: str) -> Any:
    if g.__class__ is Buffer:
        return gelu_backward(g, x, approximate=saved)
    if saved == "none":
        density = (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
        return g * (((x * math.sqrt(0.5)).erf() + 1) * 0.5 + x * density)
    c = math.sqrt(2 / math.pi)
    t = (c * (x + 0.044715 * x * x * x)).tanh()
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))


@operator(_gelu_by_x)
def gelu(x, approximate=False, name=None):
    """x Φ(x), with Φ the normal distribution function, or with approximate (True or "tanh") its tanh form
    (Hendrycks and Gimpel, 2016)."""
    kind = approximate if isinstance(approximate, str) else "tanh" if approximate else "none"
    return torch.nn.functional.gelu(x, approximate=kind), kind


def _axis(x: Any, axis: int) -> int:
    """`axis` counted from the front; a number counts as a vector of one entry."""
    return _free(x, axis, x.ndim == 0)


def _softmax_by_x(g: Any, out: Any, axis: int, saved: torch.dtype) -> Any:
    if g.__class__ is Buffer:
        return softmax_backward(g, out, axis, out.dtype).to(saved)
    return (out * (g - (g * out).sum(axis=axis, keepdim=True))).to(saved)


@operator(_softmax_by_x, inplace="rewrite", out=True, amp="float32")
def softmax(x, axis=-1, dtype=None, name=None):
    """exp(x) / sum(exp(x)) along `axis`, shifted by the maximum so that it cannot overflow.

    >>> paddle.nn.functional.softmax(paddle.to_tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    return torch.softmax(x, _axis(x, axis), dtype=None if dtype is None else as_dtype(dtype)), x.dtype


def _log_softmax_by_x(g: Any, out: Any, axis: int, saved: torch.dtype) -> Any:
    if g.__class__ is Buffer:
        return log_softmax_backward(g, out, axis, out.dtype).to(saved)
    return (g - out.exp() * g.sum(axis=axis, keepdim=True)).to(saved)


@operator(_log_softmax_by_x, amp="float32")
def log_softmax(x, axis=-1, dtype=None, name=None):
    """x - log(sum(exp(x))) along `axis`."""
    return torch.log_softmax(x, _axis(x, axis), dtype=None if dtype is None else as_dtype(dtype)), x.dtype


def _parametric_relu_back(g: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    if g.__class__ is Buffer:
        return prelu_backward(g, x, weight)
    return g * (x > 0) + g * (x <= 0) * weight, g * x * (x <= 0)


@operator(joint=_parametric_relu_back, broadcasts=True)
def parametric_relu(x, weight):
    """x where positive, weight x elsewhere; the weight broadcasts (He et al., 2015)."""
    return torch._prelu_kernel(x, weight)


def _glu_by_x(g: Any, x: Any, axis: int) -> Any:
    if g.__class__ is Buffer:
        return glu_backward(g, x, axis)
    a, b = equal_views(x, 2, axis)
    s = b.sigmoid()
    return concat([g * s, g * a * s * (1 - s)], axis)


@operator(_glu_by_x)
def glu(x, axis=-1, name=None):
    """a sigmoid(b) for the halves a and b of x along `axis` (Dauphin et al., 2017)."""
    return tnf.glu(x, _axis(x, axis))


@composite()
def swiglu(x, y=None, name=None) -> Tensor:
    """silu(x) y; with y None, of the halves of x along its last axis (Shazeer, 2020)."""
    a, b = equal_views(x, 2, -1) if y is None else (x, y)
    return silu(a) * b


@composite()
def maxout(x, groups, axis=1, name=None) -> Tensor:
    """The largest of each `groups` neighbours along `axis` (Goodfellow et al., 2013)."""
    at = _axis(x, axis)
    if groups < 1 or x.shape[at] % groups:
        raise InvalidArgument(f"maxout: groups {groups} does not divide axis {axis} of {list(x.shape)}")
    return x.reshape([*x.shape[:at], x.shape[at] // groups, groups, *x.shape[at + 1 :]]).max(at + 1)


__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "maxout",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "swish",
    "tanh",
    "tanhshrink",
    "thresholded_relu",
]
