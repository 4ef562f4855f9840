"""Linear layers and convolutions on int8, with the sums in int32.

Each operator has two bodies with the same result: oneDNN's through torch (`onednn.qlinear_pointwise`,
`onednn.qconv_pointwise`: not public, so each has a test here), and public functions of torch, which compute
the integer sums in float64. The second runs where the first is missing or the buffers are not on the CPU.

Numbers x become round(x / scale * 127), halves to even, limited to -128..127. A scale is the magnitude that
127 stands for. oneDNN is given them + 128 as unsigned numbers: its kernels for signed ones are thousands of
times slower.

A pass of jit (`fuse_int8`) joins what follows: an activation, and the rounding for the next operator, so that
values stay in 8 bits between layers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ..engine.errors import InvalidArgument
from ..engine.operator import operator
from ..kernels.cpu_quantization import ZERO, to_unsigned

__all__ = ["int8_conv2d", "int8_linear", "onednn"]

LEVELS = 127
SMALL = 1e-30  # in place of a scale of 0: all numbers become 0
# oneDNN's arguments for an activation: its name, its scalars, its algorithm.
_ACTIVATIONS: dict[str, tuple[Any, ...]] = {
    "": ("none", [], ""),
    "relu": ("relu", [], ""),
    "relu6": ("hardtanh", [0.0, 6.0], ""),
}


def onednn(buffer: torch.Tensor) -> bool:
    """Whether oneDNN's body runs for a buffer."""
    return buffer.is_cpu and torch.backends.mkldnn.is_available() and hasattr(torch.ops, "onednn")


class _Packed(NamedTuple):
    """A weight in oneDNN's own order, and what each call gives beside it."""

    weight: torch.Tensor
    step: float  # of the input's integers
    steps: torch.Tensor  # of each channel's integers
    zeros: torch.Tensor


class _Packer:
    """Packed weights, kept as long as the weight and until it or a scale changes."""

    def __init__(self) -> None:
        self.known = WeakTensorKeyDictionary()

    def get(self, weight: Any, scale: Any, weight_scale: Any, settings: Any, x: Any, pack: Any) -> _Packed:
        """What is kept, or a new one. pack: (step, steps) -> the packed weight."""
        step = None if scale is not None else _step(x, None)
        key = _state(weight), _state(scale), _state(weight_scale), settings, step
        found = self.known.get(weight)
        if found is None or found[0] != key:
            channels = weight.shape[1] if settings is None else weight.shape[0]
            step = _step(x, scale) if step is None else step
            steps, zeros = _steps(weight_scale, channels), torch.zeros(channels, dtype=torch.int32)
            found = self.known[weight] = (key, _Packed(pack(step, steps), step, steps, zeros))
        kept: _Packed = found[1]
        return kept


def _state(buffer: torch.Tensor | None) -> Any:
    """Another value after each write of torch."""
    return None if buffer is None else (buffer._version, buffer.data_ptr())


_packer = _Packer()


def _step(x: torch.Tensor, scale: torch.Tensor | None) -> float:
    """What 1 of the integers stands for: of a scale, or of the largest magnitude of x."""
    if scale is None:
        most = float(x.abs().amax()) if x.numel() else 0.0
    else:
        most = float(scale)
    return max(most, SMALL) / LEVELS


def _steps(weight_scale: torch.Tensor, channels: int) -> torch.Tensor:
    return (weight_scale.float().flatten() / LEVELS).expand(channels).contiguous()


def _unsigned(x: torch.Tensor, step: float) -> torch.Tensor:
    """The integers + 128, in the memory order of x."""
    if not x.is_cpu:
        return ((x / step).round().clamp(-128, 127) + ZERO).to(torch.uint8)
    last = x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last)
    plain = x.detach().permute(0, 2, 3, 1) if last else x.detach()
    q = torch.from_numpy(to_unsigned(plain.contiguous().numpy(), step))
    return q.permute(0, 3, 1, 2) if last else q


def _checked(x: torch.Tensor, weight: torch.Tensor, axis: int, channels: int, scale: Any) -> None:
    kinds = (torch.float32,) if scale is None else (torch.float32, torch.uint8)
    if x.dtype not in kinds or weight.dtype is not torch.int8:
        raise InvalidArgument(f"x, weight: expected float32 and int8, got {x.dtype} and {weight.dtype}")
    if x.ndim <= axis % max(x.ndim, 1) or x.shape[axis] != channels:
        raise InvalidArgument(f"x: expected {channels} channels on axis {axis}, got shape {[*x.shape]}")


def _after(made: torch.Tensor, activation: str, out_scale: torch.Tensor | None) -> torch.Tensor:
    """The end of the public bodies: the activation, and the integers for the next operator."""
    made = made.clamp(0.0, 6.0) if activation == "relu6" else made.relu() if activation else made
    return made if out_scale is None else _unsigned(made, _step(made, out_scale))


def _wanted(activation: str, out_scale: torch.Tensor | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """For oneDNN: scale, zero point and dtype of the result; the activation with its numbers."""
    if activation not in _ACTIVATIONS:
        raise InvalidArgument(f"activation: expected one of {list(_ACTIVATIONS)}, got {activation!r}")
    if out_scale is None:
        return (1.0, 0, torch.float32), _ACTIVATIONS[activation]
    return (_step(out_scale, out_scale), ZERO, torch.uint8), _ACTIVATIONS[activation]


@operator()
def int8_linear(x, weight, bias, scale, weight_scale, activation="", out_scale=None):
    """x W + b in int8: float32 [..., in] to [..., out].

    weight: int8 [in, out]. bias: [out] or None. scale: of x, [] or [1]; None: its largest magnitude.
    weight_scale: [out] or [1]. A NaN in x becomes some number. activation: "", "relu" or "relu6".
    out_scale: the result is uint8, its integers of this scale + 128; x may be such a result, of `scale`.
    """
    _checked(x, weight, -1, weight.shape[0], scale)
    result, then = _wanted(activation, out_scale)
    rows, floats = x.reshape(-1, x.shape[-1]), x.dtype is not torch.uint8
    if not onednn(x) or not rows.shape[0]:
        step, steps = _step(x, scale), _steps(weight_scale, weight.shape[1])
        q = _unsigned(rows, step) if floats else rows
        sums = (q.double() - ZERO) @ weight.double()
        made = (sums * (steps.double() * step)).float()
        made = (made if bias is None else made + bias).reshape(*x.shape[:-1], weight.shape[1])
        return _after(made, activation, out_scale)
    ops = torch.ops.onednn
    packed, step, steps, zeros = _packer.get(
        weight, scale, weight_scale, None, x, lambda *_: ops.qlinear_prepack(weight.t().contiguous(), None)
    )
    q = _unsigned(rows, step) if floats else rows
    made = ops.qlinear_pointwise(q, step, ZERO, packed, steps, zeros, bias, *result, *then)
    return made.reshape(*x.shape[:-1], weight.shape[1])


@operator()
def int8_conv2d(
    x, weight, bias, scale, weight_scale, stride, padding, dilation, groups, activation="", out_scale=None
):
    """A 2-D convolution in int8: float32 [batch, in, H, W] to [batch, out, H', W'].

    weight: int8 [out, in / groups, kh, kw]. stride, dilation: two ints; padding: four, before
    and after H, then W.
    bias, scale, weight_scale, activation, out_scale: as for `int8_linear`.
    """
    _checked(x, weight, 1, weight.shape[1] * groups, scale)
    result, then = _wanted(activation, out_scale)
    floats, (top, bottom, left, right) = x.dtype is not torch.uint8, padding
    even = top == bottom and left == right
    settings = list(stride), [top, left] if even else [0, 0], list(dilation), groups

    def grown(q: torch.Tensor) -> torch.Tensor:
        return q if even else torch.nn.functional.pad(q, (left, right, top, bottom), value=ZERO)

    if not onednn(x) or not x.shape[0]:
        step, steps = _step(x, scale), _steps(weight_scale, weight.shape[0])
        q = grown(_unsigned(x, step) if floats else x)
        sums = torch.conv2d(q.double() - ZERO, weight.double(), None, *settings)
        made = (sums * (steps.double() * step).view(-1, 1, 1)).float()
        return _after(made if bias is None else made + bias.view(-1, 1, 1), activation, out_scale)
    ops = torch.ops.onednn
    packed, step, steps, zeros = _packer.get(
        weight, scale, weight_scale, settings, x,
        lambda step, steps: ops.qconv_prepack(weight, steps, step, ZERO, *settings, None),
    )  # fmt: skip  # one line for what is kept, one for how it is made
    q = grown(_unsigned(x, step) if floats else x)
    return ops.qconv_pointwise(q, step, ZERO, packed, steps, zeros, bias, *settings, *result, *then)
