"""Layers of sparse convolution and pooling, channels last."""

import math
from typing import Any

from ... import nn as dense
from ...engine.tensor import InvalidArgument, Tensor
from ...nn.functional.convolution import ints
from ...nn.initializer import Normal
from ..convolution import with_channels
from ..tensor import SparseTensor
from . import functional as F

__all__ = [
    "AvgPool2D",
    "AvgPool3D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "GlobalAvgPool",
    "InverseConv2D",
    "InverseConv3D",
    "Linear",
    "MaxPool2D",
    "MaxPool3D",
    "SubmConv2D",
    "SubmConv3D",
]


class _Convolution(dense.Layer):
    """weight [kernel ..., in / groups, out], which starts Normal(0, sqrt(2 / (in kernel))); bias [out], which
    starts at 0.

    key: a name under which InverseConv2D and InverseConv3D find this convolution's rulebook.
    """

    _axes = 3
    _function = ""  # its function in nn.functional, looked up when it is called

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise InvalidArgument(f"padding_mode: expected 'zeros', got {padding_mode!r}")
        if weight_attr is False:
            raise InvalidArgument("weight_attr: a convolution needs its weight, got False")
        if data_format not in (None, "NDHWC" if self._axes == 3 else "NHWC"):
            raise ValueError(
                f"data_format: expected channels last over {self._axes} axes, got {data_format!r}"
            )
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise InvalidArgument(
                f"groups: expected a divisor of {in_channels} and {out_channels} channels, got {groups}"
            )
        self.in_channels, self.out_channels, self.groups, self.key = in_channels, out_channels, groups, key
        self.kernel_size = ints(kernel_size, self._axes, "kernel_size")
        self.stride, self.dilation = (
            ints(stride, self._axes, "stride"),
            ints(dilation, self._axes, "dilation"),
        )
        self.padding = padding
        self.data_format = data_format or ("NDHWC" if self._axes == 3 else "NHWC")
        start = Normal(0.0, math.sqrt(2.0 / (in_channels * math.prod(self.kernel_size))))
        shape = [*self.kernel_size, in_channels // groups, out_channels]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=start)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: SparseTensor) -> SparseTensor:
        run: Any = getattr(F, self._function)
        return run(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            self.data_format,
            key=self.key,
        )

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={list(self.kernel_size)}"
        ones = [1] * self._axes
        for name, value, default in (
            ("stride", list(self.stride), ones),
            ("padding", self.padding, 0),
            ("dilation", list(self.dilation), ones),
            ("groups", self.groups, 1),
        ):
            text += "" if value == default else f", {name}={value}"
        return f"{text}, data_format={self.data_format}"


class Conv3D(_Convolution):
    """Convolution of [batch, D, H, W, in]; see functional.conv3d."""

    _function = "conv3d"


class Conv2D(_Convolution):
    """Convolution of [batch, H, W, in]; see functional.conv2d."""

    _axes, _function = 2, "conv2d"


class Conv3DTranspose(_Convolution):
    """Transposed convolution of [batch, D, H, W, in]; see functional.conv3d_transpose."""

    _function = "conv3d_transpose"


class Conv2DTranspose(_Convolution):
    """Transposed convolution of [batch, H, W, in]; see functional.conv2d_transpose."""

    _axes, _function = 2, "conv2d_transpose"


class SubmConv3D(_Convolution):
    """Submanifold convolution of [batch, D, H, W, in]: entries stay where they are; see
    functional.subm_conv3d.

    backend: Paddle's choice of a kernel; there is one here.
    """

    _function = "subm_conv3d"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        key: str | None = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        backend: str | None = None,
    ) -> None:
        if backend not in (None, "igemm"):
            raise InvalidArgument(f"backend: expected None or 'igemm', got {backend!r}")
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
            key,
        )


class SubmConv2D(SubmConv3D):
    """Submanifold convolution of [batch, H, W, in]; see SubmConv3D."""

    _axes, _function = 2, "subm_conv2d"


class InverseConv3D(_Convolution):
    """Back to the entries that the convolution named `key` started from; see functional.inverse_conv3d."""

    _function = "inverse_conv3d"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        key: str,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, weight_attr=weight_attr, bias_attr=bias_attr, key=key
        )

    def forward(self, x: SparseTensor) -> SparseTensor:
        run: Any = getattr(F, self._function)
        return run(x, self.weight, self.key, self.bias)


class InverseConv2D(InverseConv3D):
    """As InverseConv3D over two axes."""

    _axes, _function = 2, "inverse_conv2d"


class _Pool(dense.Layer):
    _function = ""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.return_mask = return_mask  # kept, and not looked at: a sparse pool has no mask, in Paddle either
        self.kernel_size, self.stride, self.padding, self.ceil_mode = kernel_size, stride, padding, ceil_mode
        self.data_format = data_format or ("NDHWC" if self._function.endswith("3d") else "NHWC")

    def forward(self, x: SparseTensor) -> SparseTensor:
        run: Any = getattr(F, self._function)
        return run(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool3D(_Pool):
    """The largest entry of each window; see functional.max_pool3d."""

    _function = "max_pool3d"


class MaxPool2D(_Pool):
    """The largest entry of each window; see functional.max_pool2d."""

    _function = "max_pool2d"


class AvgPool3D(_Pool):
    """The mean of the entries of each window; see functional.avg_pool3d."""

    _function = "avg_pool3d"


class AvgPool2D(_Pool):
    """The mean of the entries of each window; see functional.avg_pool2d."""

    _function = "avg_pool2d"


class GlobalAvgPool(dense.Layer):
    """The mean of each sample's entries, dense: [batch, channels]; see functional.global_avg_pool."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: SparseTensor) -> Tensor:
        return F.global_avg_pool(x)


class Linear(dense.Linear):
    """x weight + bias over the channels of each entry: x [..., in] with the channels as its dense axis."""

    def forward(self, x: SparseTensor) -> SparseTensor:
        x = with_channels(x)
        return x.like(super().forward(x.entries))
