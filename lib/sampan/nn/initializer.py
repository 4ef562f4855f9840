"""Initial values of parameters. An initializer is called with a buffer's shape and dtype and returns the
buffer.

References: Glorot and Bengio 2010 (Xavier), He et al. 2015 (Kaiming, formulas 10 and 14).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..dtype import as_device, as_dtype, default_dtype
from ..engine.apply import describe
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..kernels import arena
from ..ops.shape import number


class Initializer:
    """Subclasses fill `buffer` in `fill`."""

    def fill(self, buffer: torch.Tensor) -> None:
        """Overwrite `buffer` with initial values. A subclass defines it."""
        raise NotImplementedError("Initializer.fill: write it in the subclass")

    def make(self, shape: Sequence[int], dtype: Any = None) -> torch.Tensor:
        """A new buffer of `shape`, on the current place."""
        buffer = arena.empty(shape, default_dtype() if dtype is None else as_dtype(dtype), as_device(None))
        self.fill(buffer)
        return buffer

    def __call__(self, param: Tensor, block: Any = None) -> None:
        """Overwrite a tensor's values, as Paddle's initializers do."""
        self.fill(param.data)
        param._mark_written()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Constant(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = number(value, "Constant: value")

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.fill_(self.value)


class Normal(Initializer):
    """Samples of a normal distribution."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean, self.std = number(mean, "Normal: mean"), number(std, "Normal: std")

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.normal_(self.mean, abs(self.std))


class TruncatedNormal(Initializer):
    """Normal, drawn again outside mean + a * std .. mean + b * std, by the inverse of the distribution
    function."""

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        given = {"mean": mean, "std": std, "a": a, "b": b}
        self.mean, self.std, self.a, self.b = (number(v, f"TruncatedNormal: {k}") for k, v in given.items())
        if not self.a < self.b:
            raise InvalidArgument(f"TruncatedNormal: a, b: expected a < b, got {self.a} and {self.b}")

    def fill(self, buffer: torch.Tensor) -> None:
        low, high = (0.5 * (1 + math.erf(limit / math.sqrt(2))) for limit in (self.a, self.b))
        uniform = torch.empty(buffer.shape, dtype=torch.float64, device=buffer.device).uniform_(low, high)
        drawn = torch.erfinv(2 * uniform - 1).mul_(math.sqrt(2)).clamp_(self.a, self.b)
        buffer.copy_(drawn.mul_(self.std).add_(self.mean))


class Uniform(Initializer):
    """Uniform samples from [low, high). ValueError unless low <= high."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self.low, self.high = number(low, "Uniform: low"), number(high, "Uniform: high")
        if not self.low <= self.high:
            raise InvalidArgument(f"Uniform: low, high: expected low <= high, got {self.low} and {self.high}")

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.uniform_(self.low, self.high)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """(fan in, fan out): for a Linear weight [in, out], for a convolution [out, in / groups, *kernel]."""
    if len(shape) < 2:
        size = shape[0] if len(shape) else 1
        return size, size
    if len(shape) == 2:
        return shape[0], shape[1]
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


class XavierNormal(Initializer):
    """Normal with variance 2 / (fan in + fan out)."""

    def __init__(
        self,
        fan_in: float | None = None,
        fan_out: float | None = None,
        gain: float = 1.0,
        name: str | None = None,
    ) -> None:
        self.fan_in, self.fan_out = fan_in, fan_out
        self.gain = abs(number(gain, f"{type(self).__name__}: gain"))

    def _total(self, buffer: torch.Tensor) -> float:
        pairs = zip((self.fan_in, self.fan_out), fans(buffer.shape), strict=True)
        total = sum(usual if own is None else own for own, usual in pairs)
        return max(total, 1)  # a layer without inputs and outputs has nothing to fill

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.normal_(0.0, self.gain * math.sqrt(2.0 / self._total(buffer)))


class XavierUniform(XavierNormal):
    """Uniform within +- sqrt(6 / (fan in + fan out)): the default of Linear."""

    def fill(self, buffer: torch.Tensor) -> None:
        limit = self.gain * math.sqrt(6.0 / self._total(buffer))
        buffer.uniform_(-limit, limit)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity. ValueError for an unknown one."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else float(param)) ** 2))
    convolutions = [f"conv{n}d{t}" for n in (1, 2, 3) for t in ("", "_transpose")]
    convolutions += [f"conv_transpose{n}d" for n in (1, 2, 3)]
    gains: dict[str, float] = dict.fromkeys(["sigmoid", "linear", *convolutions], 1.0)
    gains |= {"tanh": 5 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in gains:
        raise InvalidArgument(f"nonlinearity: expected leaky_relu, {', '.join(gains)}, got {nonlinearity!r}")
    return gains[nonlinearity]


class KaimingNormal(Initializer):
    """Normal with standard deviation gain / sqrt(fan in)."""

    def __init__(
        self,
        fan_in: float | None = None,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise InvalidArgument(f"mode: expected 'fan_in' or 'fan_out', got {mode!r}")
        self.fan_in, self.negative_slope = fan_in, negative_slope
        self.nonlinearity, self.mode = nonlinearity, mode

    def _std(self, buffer: torch.Tensor) -> float:
        fan = self.fan_in if self.fan_in is not None else fans(buffer.shape)[self.mode == "fan_out"]
        return calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(max(fan, 1))

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.normal_(0.0, self._std(buffer))


class KaimingUniform(KaimingNormal):
    """Uniform within +- gain * sqrt(3 / fan in)."""

    def fill(self, buffer: torch.Tensor) -> None:
        limit = math.sqrt(3.0) * self._std(buffer)
        buffer.uniform_(-limit, limit)


class Assign(Initializer):
    """A given value: a Tensor, an array or a (nested) list. As in Paddle the parameter takes the shape of the
    value."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        if not isinstance(value, (Tensor, np.ndarray, list, tuple)):
            raise InvalidType(f"Assign: value: expected a Tensor, an array or a list, got {describe(value)}")
        self.value = torch.as_tensor(np.asarray(value))

    def make(self, shape: Sequence[int], dtype: Any = None) -> torch.Tensor:
        return super().make(self.value.shape, dtype)

    def fill(self, buffer: torch.Tensor) -> None:
        buffer.copy_(self.value)

    def __call__(self, param: Tensor, block: Any = None) -> None:
        if param.data.shape != self.value.shape:
            param.data = torch.empty(self.value.shape, dtype=param.data.dtype, device=param.data.device)
        super().__call__(param, block)


class Dirac(Initializer):
    """1 in the middle of the kernel from input channel i to output channel i, in each of `groups`; else 0.

    A convolution with it hands its input on. For [out, in, *kernel] of 3 to 5 axes.
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if not isinstance(groups, int) or groups < 1:
            raise InvalidArgument(f"groups: expected a positive whole number, got {groups!r}")
        self.groups = groups

    def fill(self, buffer: torch.Tensor) -> None:
        if not 3 <= buffer.ndim <= 5 or buffer.shape[0] % self.groups:
            raise InvalidArgument(f"Dirac: expected [{self.groups} n, in, *kernel], got {list(buffer.shape)}")
        buffer.zero_()
        middle = tuple(n // 2 for n in buffer.shape[2:])
        rows = buffer.shape[0] // self.groups
        for group in range(self.groups):
            for i in range(min(rows, buffer.shape[1])):
                buffer[(group * rows + i, i, *middle)] = 1.0


class Orthogonal(Initializer):
    """A random matrix [shape[0], the rest] with orthonormal rows or columns, times gain (Saxe et al.
    2014)."""

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = number(gain, "Orthogonal: gain")

    def fill(self, buffer: torch.Tensor) -> None:
        if buffer.ndim < 2:
            raise InvalidArgument(f"Orthogonal: expected at least 2 axes, got {list(buffer.shape)}")
        rows, columns = buffer.shape[0], math.prod(buffer.shape[1:])
        drawn = torch.randn(max(rows, columns), min(rows, columns), dtype=torch.float64)
        q, r = torch.linalg.qr(drawn)
        q = q * r.diagonal().sign()  # so that it is uniform over all such matrices
        buffer.copy_((q if rows >= columns else q.T).reshape(buffer.shape) * self.gain)


class Bilinear(Initializer):
    """For a transposed convolution that enlarges by interpolation: [out, in, n, n]. The numbers are
    Paddle's."""

    def fill(self, buffer: torch.Tensor) -> None:
        if buffer.ndim != 4 or buffer.shape[2] != buffer.shape[3]:
            raise InvalidArgument(f"Bilinear: expected [out, in, n, n], got {list(buffer.shape)}")
        size = buffer.shape[3]
        half = math.ceil(size / 2)
        center = (2 * half - 1 - half % 2) / (2 * half)
        place = torch.arange(buffer.numel(), dtype=torch.float64)
        x, y = place % size, place / size % size
        buffer.copy_(((1 - (x / half - center).abs()) * (1 - (y / half - center).abs())).view(buffer.shape))


_global: list[Initializer | None] = [None, None]  # of weights, of biases


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """What parameters of layers that are made from here on start with, unless their attr says otherwise;
    None: the usual."""
    for name, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise InvalidType(f"{name}: expected an initializer or None, got {type(value).__name__}")
    _global[:] = [weight_init, bias_init]


def global_initializer(is_bias: bool) -> Initializer | None:
    """The initializer that `set_global_initializer` set for biases or for weights, or None."""
    return _global[is_bias]
