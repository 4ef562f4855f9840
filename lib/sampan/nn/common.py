"""Padding, resizing and rearranging, distances, look-up of rows and bilinear maps as layers."""

from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from . import functional as F
from .function_layer import REQUIRED, FunctionLayer
from .layer import Layer, alias
from .linear import WithBias

# fmt: off
__all__ = [
    "Bilinear", "ChannelShuffle", "CircularPad1D", "CircularPad1d", "CircularPad2D", "CircularPad2d",
    "CircularPad3D", "CircularPad3d", "ConstantPad1D", "ConstantPad1d", "ConstantPad2D", "ConstantPad2d",
    "ConstantPad3D", "ConstantPad3d", "CosineSimilarity", "Embedding", "Fold", "Pad1D", "Pad2D", "Pad3D",
    "PairwiseDistance", "PixelShuffle", "PixelUnshuffle", "ReflectionPad1D", "ReflectionPad1d",
    "ReflectionPad2D", "ReflectionPad2d", "ReflectionPad3D", "ReflectionPad3d", "ReplicationPad1D",
    "ReplicationPad1d", "ReplicationPad2D", "ReplicationPad2d", "ReplicationPad3D", "ReplicationPad3d",
    "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2D", "UpsamplingBilinear2d", "UpsamplingNearest2D",
    "UpsamplingNearest2d", "ZeroPad1D", "ZeroPad1d", "ZeroPad2D", "ZeroPad2d", "ZeroPad3D", "ZeroPad3d",
]
# fmt: on


_PAD = "padding mode value data_format name"
_EVEN = "padding data_format name"
_SIZE, _SIZED = "size scale_factor data_format name", "scale_factor? size? data_format name?"
_WINDOW = "kernel_sizes dilations paddings strides name"
_WINDOWS = "kernel_size:kernel_sizes dilation:dilations padding:paddings stride:strides name?"


class Pad1D(
    FunctionLayer, of=F.pad, takes=_PAD, shows=f"{_PAD}?", private="mode data_format name", data_format="NCL"
):
    """Sequences grown at their ends by padding [left, right], or one number for both."""

    _n_dim = property(lambda self: len(self.data_format) - 2)

    def _check(self) -> None:
        if isinstance(size := vars(self)["padding"], int):
            vars(self)["padding"] = [size] * 2 * (len(self.data_format) - 2)

    def forward(self, x: Any) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value, self.data_format)


class Pad2D(Pad1D, takes=_PAD, data_format="NCHW"):
    """Images grown by padding [left, right, top, bottom], or one number for all."""


class Pad3D(Pad1D, takes=_PAD, data_format="NCDHW"):
    """Volumes grown by padding [left, right, top, bottom, front, back], or one number for all."""


class ConstantPad1D(Pad1D, takes="padding value data_format name", value=REQUIRED):
    """Padding with a value."""


class ConstantPad2D(Pad2D, takes="padding value data_format name", value=REQUIRED):
    """Padding with a value."""


class ConstantPad3D(Pad3D, takes="padding value data_format name", value=REQUIRED):
    """Padding with a value."""


class ZeroPad1D(Pad1D, takes=_EVEN):
    """Padding with zeros."""


class ZeroPad2D(Pad2D, takes=_EVEN):
    """Padding with zeros."""


class ZeroPad3D(Pad3D, takes=_EVEN):
    """Padding with zeros."""


class ReflectionPad1D(Pad1D, takes=_EVEN, mode="reflect"):
    """Padding by the mirror image, without the edge itself."""


class ReflectionPad2D(Pad2D, takes=_EVEN, mode="reflect"):
    """Padding by the mirror image, without the edge itself."""


class ReflectionPad3D(Pad3D, takes=_EVEN, mode="reflect"):
    """Padding by the mirror image, without the edge itself."""


class ReplicationPad1D(Pad1D, takes=_EVEN, mode="replicate"):
    """Padding by repeating the edge."""


class ReplicationPad2D(Pad2D, takes=_EVEN, mode="replicate"):
    """Padding by repeating the edge."""


class ReplicationPad3D(Pad3D, takes=_EVEN, mode="replicate"):
    """Padding by repeating the edge."""


class CircularPad1D(Pad1D, takes=_EVEN, mode="circular"):
    """Padding by what lies at the other end."""


class CircularPad2D(Pad2D, takes=_EVEN, mode="circular"):
    """Padding by what lies at the other end."""


class CircularPad3D(Pad3D, takes=_EVEN, mode="circular"):
    """Padding by what lies at the other end."""


class Upsample(
    FunctionLayer,
    of=F.interpolate,
    takes="size scale_factor mode align_corners align_mode data_format recompute_scale_factor name",
    shows="scale_factor? size? mode align_corners align_mode data_format name?",
):
    """x in another size: see nn.functional.interpolate."""


class UpsamplingNearest2D(FunctionLayer, of=F.interpolate, takes=_SIZE, shows=_SIZED, data_format="NCHW"):
    """Images in another size, each new pixel the nearest old one."""


class UpsamplingBilinear2D(
    FunctionLayer,
    of=F.interpolate,
    takes=_SIZE,
    shows=_SIZED,
    data_format="NCHW",
    mode="bilinear",
    align_corners=True,
):
    """Images in another size, each new pixel mixed of four old ones; the corners stay."""


class _Rearranged(FunctionLayer, private="*"):
    """What moves channels by its first setting, a whole number, in images of a data_format."""

    def _check(self) -> None:
        count, name = self._values(self)[0], next(iter(self._settings.parameters))
        if not isinstance(count, int):
            raise InvalidType(f"{name}: expected a whole number, got {count!r}")
        if count < 1 or self.data_format not in ("NCHW", "NHWC"):
            raise InvalidArgument(
                f"{name}, data_format: expected 1 or more, NCHW or NHWC, got {count}, {self.data_format!r}"
            )


class PixelShuffle(_Rearranged, of=F.pixel_shuffle, shows="upscale_factor data_format? name?"):
    """[n, c r^2, h, w] to [n, c, h r, w r] (Shi et al., 2016)."""


class PixelUnshuffle(_Rearranged, of=F.pixel_unshuffle, shows="downscale_factor data_format? name?"):
    """[n, c, h r, w r] to [n, c r^2, h, w]."""


class ChannelShuffle(_Rearranged, of=F.channel_shuffle, shows="groups data_format? name?"):
    """The channels of groups dealt out in turn (Zhang et al., 2018)."""


class Unfold(FunctionLayer, of=F.unfold, takes=_WINDOW, shows=_WINDOWS):
    """The windows of an image as columns."""


class Fold(FunctionLayer, of=F.fold, takes=f"output_sizes {_WINDOW}", shows=_WINDOWS):
    """An image of columns, added up where they overlap."""


class Unflatten(Layer):
    """The axis `axis` cut into several of the lengths `shape`; one may be -1."""

    _shows = "axis shape name?"

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, x: Any) -> Tensor:
        return x.unflatten(self.axis, self.shape)


class CosineSimilarity(FunctionLayer, of=F.cosine_similarity, inputs=2, private="axis eps"):
    """x1 . x2 / max(|x1| |x2|, eps) along an axis."""


class PairwiseDistance(FunctionLayer, of=F.pairwise_distance, inputs=2, shows="p epsilon? keepdim? name?"):
    """The length of x - y + epsilon along the last axis, in the p-norm."""


class Bilinear(WithBias):
    """x1^T W_k x2 + b_k for each k: [n, in1_features] and [n, in2_features] to [n, out_features]."""

    _in1_features, _in2_features = alias("in1_features"), alias("in2_features")
    _out_features, _name = alias("out_features"), alias("name")
    _shows = "in1_features in2_features out_features dtype:_dtype_name name?"

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features, self.name = out_features, name
        shapes = [out_features, in1_features, in2_features], [1, out_features]
        self._create(*shapes, weight_attr, bias_attr)

    def forward(self, x1: Any, x2: Any) -> Tensor:
        return F.bilinear(x1, x2, self.weight, self.bias)


class Embedding(Layer):
    """The rows of a table [num_embeddings, embedding_dim] selected by ids of any shape.

    padding_idx: this row is zeros and stays so. max_norm: longer rows are shortened to it when they are
    looked up.
    _weight: the table to begin with; _freeze: it gets no gradient. Its gradient is a RowSparse, by which
    optimizers step the rows that were read alone; an explicit sparse=False makes it dense.

    >>> table = paddle.nn.Embedding(10, 4)
    >>> table(paddle.to_tensor([[1, 3, 3]])).shape
    paddle.Size([1, 3, 4])
    """

    weight: Any
    padding_idx: int | None = None
    _padding_idx, _scale_grad_by_freq, _name = (
        alias("padding_idx"),
        alias("scale_grad_by_freq"),
        alias("name"),
    )
    _shows = "padding_idx? sparse:_sparse scale_grad_by_freq name?"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        scale_grad_by_freq: bool = False,
        sparse: bool = F.common.AUTOMATIC,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        for key, value in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            if value <= 0:
                raise InvalidArgument(f"{key}: expected 1 or more, got {value}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise InvalidArgument(f"padding_idx: expected less than {num_embeddings}, got {padding_idx}")
        shape = [num_embeddings, embedding_dim]
        self.padding_idx, self._sparse, self.name = padding_idx, sparse, name
        self.scale_grad_by_freq = scale_grad_by_freq
        self._size, self._num_embeddings, self._embedding_dim = shape, num_embeddings, embedding_dim
        self._max_norm, self._norm_type, self._weight_attr = max_norm, norm_type, weight_attr
        if _weight is not None and _weight.shape != shape:
            raise InvalidArgument(f"_weight: expected shape {shape}, got {list(_weight.shape)}")
        self.weight = self.create_parameter(shape, weight_attr) if _weight is None else _weight
        if _weight is not None or weight_attr is None:
            self.weight.stop_gradient = _freeze
        if padding_idx is not None:
            self.weight.data[padding_idx] = 0.0

    def forward(self, x: Any) -> Tensor:
        settings = (self._max_norm, self._norm_type, self._chosen, self.scale_grad_by_freq)
        return F.embedding(x, self.weight, self.padding_idx, *settings)

    @property
    def _sparse(self) -> bool:
        return bool(self._chosen)  # AUTOMATIC is Paddle's False

    @_sparse.setter
    def _sparse(self, value: bool) -> None:
        self._chosen = value

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, {super().extra_repr()}"


CircularPad1d, CircularPad2d, CircularPad3d = CircularPad1D, CircularPad2D, CircularPad3D
ConstantPad1d, ConstantPad2d, ConstantPad3d = ConstantPad1D, ConstantPad2D, ConstantPad3D
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = ReflectionPad1D, ReflectionPad2D, ReflectionPad3D
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = ReplicationPad1D, ReplicationPad2D, ReplicationPad3D
UpsamplingBilinear2d, UpsamplingNearest2d = UpsamplingBilinear2D, UpsamplingNearest2D
ZeroPad1d, ZeroPad2d, ZeroPad3d = ZeroPad1D, ZeroPad2D, ZeroPad3D
