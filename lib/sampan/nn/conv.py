"""Convolutions and transposed convolutions as layers."""

import math
from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from . import functional as F
from .function_layer import with_defaults
from .functional.convolution import FORMATS, ints
from .initializer import Normal
from .layer import alias
from .linear import WithBias

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv1d",
    "Conv2D",
    "Conv2DTranspose",
    "Conv2d",
    "Conv3D",
    "Conv3DTranspose",
    "Conv3d",
]


class _Convolution(WithBias):
    """Keeps what a convolution over `_axes` axes needs; `_run` is the name of its function, looked up when it
    is called."""

    _axes = 2
    _run = ""
    output_padding: Any = 0
    _in_channels, _out_channels, _groups = alias("in_channels"), alias("out_channels"), alias("groups")
    _kernel_size, _stride, _dilation = alias("kernel_size"), alias("stride"), alias("dilation")
    _padding, _padding_mode, _data_format = alias("padding"), alias("padding_mode"), alias("data_format")
    _param_attr, _use_cudnn = alias("_weight_attr"), False

    @property
    def _op_type(self) -> str:  # groups divides out_channels
        return f"{'depthwise_' * (self._axes == 2 and self.groups == self.in_channels > 1)}conv{self._axes}d"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        transposed: bool,
        dims: int,
        stride: Any = 1,
        padding: Any = 0,
        padding_mode: str = "zeros",
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        dtype: Any = None,
    ) -> None:
        """Paddle's `_ConvNd`, which programs subclass: parameters for `dims` axes; the subclass writes
        `forward`."""
        super().__init__(dtype=dtype)
        n = self._axes = dims
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise InvalidArgument(
                f"groups: expected a divisor of {in_channels} and {out_channels} channels, got {groups}"
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise InvalidArgument(
                f"padding_mode: expected 'zeros', 'reflect', 'replicate' or 'circular', got {padding_mode!r}"
            )
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise InvalidType(f"padding: expected an int with padding_mode {padding_mode!r}, got {padding!r}")
        if data_format not in FORMATS[n]:
            raise InvalidArgument(f"data_format: expected {' or '.join(FORMATS[n])}, got {data_format!r}")
        if weight_attr is False:
            raise InvalidArgument("weight_attr: a convolution needs its weight, got False")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = list(ints(kernel_size, n, "kernel_size"))
        self.stride, self.dilation = list(ints(stride, n, "stride")), list(ints(dilation, n, "dilation"))
        if min(*self.kernel_size, *self.stride, *self.dilation) < 1:
            raise InvalidArgument(
                f"kernel_size, stride, dilation: expected 1 or more, got {kernel_size}, {stride}, {dilation}"
            )
        self.padding, self.padding_mode, self.data_format = padding, padding_mode, data_format
        self.output_padding = output_padding
        self._channel_dim = 1 if data_format.startswith("NC") else n + 1
        std = math.sqrt(2.0 / max(in_channels * math.prod(self.kernel_size), 1))
        channels = (
            (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        )
        start = None if isinstance(self, _Transposed) else Normal(0.0, std)
        self._create([*channels, *self.kernel_size], [out_channels], weight_attr, bias_attr, start)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={list(self.kernel_size)}"
        ones = [1] * self._axes
        for name, value, default in (
            ("stride", list(self.stride), ones),
            ("padding", self.padding, 0),
            ("padding_mode", self.padding_mode, "zeros"),
            ("output_padding", self.output_padding, 0),
            ("dilation", list(self.dilation), ones),
            ("groups", self.groups, 1),
        ):
            text += "" if value == default else f", {name}={value}"
        return f"{text}, data_format={self.data_format}"


class _Plain(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            False,
            self._axes,
            stride,
            padding,
            padding_mode,
            0,
            dilation,
            groups,
            weight_attr,
            bias_attr if bias else False,
            data_format,
            dtype,
        )

    def __init_subclass__(cls: Any, axes: int = 0, data_format: str = "") -> None:
        if axes:
            cls._axes = axes
            cls.__init__ = with_defaults(cls.__init__, data_format=data_format)

    def forward(self, x: Any) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = F.pad(x, padding, self.padding_mode, data_format=self.data_format), 0
        settings = (self.stride, padding, self.dilation, self.groups, self.data_format)
        return getattr(F, self._run)(x, self.weight, self.bias, *settings)


class Conv1D(_Plain, axes=1, data_format="NCL"):
    """1-D convolution: [batch, in, L] to [batch, out, L']; see Conv2D."""

    _run = "conv1d"


class _Padded(_Plain):
    """As in Paddle `_padding` is what the constructor was given, and `_updated_padding` is what forward
    uses."""

    @property
    def _padding(self) -> Any:
        return vars(self).get("_padding_given", self.padding)

    @_padding.setter
    def _padding(self, value: Any) -> None:
        vars(self)["_padding_given"] = value

    @property
    def _updated_padding(self) -> Any:
        padding = 0 if isinstance(self.padding, str) or self.padding_mode != "zeros" else self.padding
        return [padding] * self._axes if isinstance(padding, int) else list(padding)

    @_updated_padding.setter
    def _updated_padding(self, value: Any) -> None:
        vars(self).setdefault("_padding_given", self.padding)
        self.padding = value


class Conv2D(_Padded, axes=2, data_format="NCHW"):
    """2-D convolution: [batch, in, H, W] to [batch, out, H', W']; weight [out, in / groups, kh, kw], bias
    [out].

    padding: a number, two, four, "same" or "valid"; padding_mode: what is put there: "zeros", "reflect",
    "replicate" or "circular" (then padding is a number). H' = (H + 2 padding - dilation (kh - 1) - 1) /
    stride + 1. The weight starts Normal(0, sqrt(2 / (in kh kw))), the bias at 0.

    >>> paddle.nn.Conv2D(3, 16, 3, padding=1, stride=2)(paddle.ones([1, 3, 8, 8])).shape
    paddle.Size([1, 16, 4, 4])
    """

    _run = "conv2d"


class Conv3D(_Padded, axes=3, data_format="NCDHW"):
    """3-D convolution: [batch, in, D, H, W] to [batch, out, D', H', W']; see Conv2D."""

    _run = "conv3d"


class _Transposed(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            True,
            self._axes,
            stride,
            padding,
            "zeros",
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any, output_size: Any = None) -> Tensor:
        return getattr(F, self._run)(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding if output_size is None else 0,
            dilation=self.dilation,
            groups=self.groups,
            output_size=output_size,
            data_format=self.data_format,
        )


class Conv1DTranspose(_Transposed):
    """The transpose of Conv1D; see Conv2DTranspose."""

    _axes, _run = 1, "conv1d_transpose"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv2DTranspose(_Transposed):
    """The transpose of Conv2D: [batch, in, H, W] to [batch, out, H', W']; weight [in, out / groups, kh, kw].

    H' = (H - 1) stride - 2 padding + dilation (kh - 1) + 1 + output_padding, or the output_size given to
    forward.
    """

    _run = "conv2d_transpose"


class Conv3DTranspose(_Transposed):
    """The transpose of Conv3D; see Conv2DTranspose."""

    _axes, _run = 3, "conv3d_transpose"
    __init__ = with_defaults(_Transposed.__init__, data_format="NCDHW")


Conv1d, Conv2d, Conv3d = Conv1D, Conv2D, Conv3D
