"""Padding, resizing and rearranging, distances, look-up of rows and bilinear maps as layers."""

from typing import Any

from . import functional as F
from .function_layer import REQUIRED, FunctionLayer
from .layer import Layer

# fmt: off
__all__ = [
    "Bilinear", "ChannelShuffle", "CircularPad1D", "CircularPad1d", "CircularPad2D", "CircularPad2d", "CircularPad3D",
    "CircularPad3d", "ConstantPad1D", "ConstantPad1d", "ConstantPad2D", "ConstantPad2d", "ConstantPad3D",
    "ConstantPad3d", "CosineSimilarity", "Embedding", "Fold", "Pad1D", "Pad2D", "Pad3D", "PairwiseDistance",
    "PixelShuffle", "PixelUnshuffle", "ReflectionPad1D", "ReflectionPad1d", "ReflectionPad2D", "ReflectionPad2d",
    "ReflectionPad3D", "ReflectionPad3d", "ReplicationPad1D", "ReplicationPad1d", "ReplicationPad2D",
    "ReplicationPad2d", "ReplicationPad3D", "ReplicationPad3d", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2D",
    "UpsamplingBilinear2d", "UpsamplingNearest2D", "UpsamplingNearest2d", "ZeroPad1D", "ZeroPad1d", "ZeroPad2D",
    "ZeroPad2d", "ZeroPad3D", "ZeroPad3d",
]
# fmt: on


_PAD = "padding mode value data_format name"
_EVEN = "padding data_format name"


class Pad1D(FunctionLayer, of=F.pad, takes=_PAD, data_format="NCL"):
    """Sequences grown at their ends by padding [left, right], or one number for both."""

    def forward(self, x: Any) -> Any:
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


class Upsample(FunctionLayer, of=F.interpolate, takes="size scale_factor mode align_corners align_mode data_format recompute_scale_factor name"):  # fmt: skip
    """x in another size: see nn.functional.interpolate."""


class UpsamplingNearest2D(FunctionLayer, of=F.interpolate, takes="size scale_factor data_format name", data_format="NCHW"):  # fmt: skip
    """Images in another size, each new pixel the nearest old one."""


class UpsamplingBilinear2D(FunctionLayer, of=F.interpolate, takes="size scale_factor data_format name", data_format="NCHW", mode="bilinear", align_corners=True):  # fmt: skip
    """Images in another size, each new pixel mixed of four old ones; the corners stay."""


class PixelShuffle(FunctionLayer, of=F.pixel_shuffle):
    """[n, c r^2, h, w] to [n, c, h r, w r] (Shi et al., 2016)."""


class PixelUnshuffle(FunctionLayer, of=F.pixel_unshuffle):
    """[n, c, h r, w r] to [n, c r^2, h, w]."""


class ChannelShuffle(FunctionLayer, of=F.channel_shuffle):
    """The channels of groups dealt out in turn (Zhang et al., 2018)."""


class Unfold(FunctionLayer, of=F.unfold, takes="kernel_sizes dilations paddings strides name"):
    """The windows of an image as columns."""


class Fold(FunctionLayer, of=F.fold, takes="output_sizes kernel_sizes dilations paddings strides name"):
    """An image of columns, added up where they overlap."""


class Unflatten(Layer):
    """The axis `axis` cut into several of the lengths `shape`; one may be -1."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape = axis, shape

    def forward(self, x: Any) -> Any:
        return x.unflatten(self.axis, self.shape)

    def extra_repr(self) -> str:
        return f"axis={self.axis}, shape={self.shape}"


class CosineSimilarity(FunctionLayer, of=F.cosine_similarity, inputs=2):
    """x1 . x2 / max(|x1| |x2|, eps) along an axis."""


class PairwiseDistance(FunctionLayer, of=F.pairwise_distance, inputs=2):
    """The length of x - y + epsilon along the last axis, in the p-norm."""


class Bilinear(Layer):
    """x1^T W_k x2 + b_k for each k: [n, in1_features] and [n, in2_features] to [n, out_features]."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: str | None = None) -> None:  # fmt: skip
        super().__init__()
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        assert self.weight is not None
        out, a, b = self.weight.shape
        return f"in1_features={a}, in2_features={b}, out_features={out}"


class Embedding(Layer):
    """The rows of a table [num_embeddings, embedding_dim] that ids of any shape ask for.

    padding_idx: this row is zeros and stays so. max_norm: longer rows are shortened to it when they are asked for.
    _weight: the table to begin with; _freeze: it gets no gradient. Its gradient is a RowSparse, by which optimizers step the
    rows that were read alone; sparse=False, written out, asks for a dense one.
    """

    weight: Any

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, *, scale_grad_by_freq: bool = False, sparse: bool = F.common.AUTOMATIC, _weight: Any = None, _freeze: bool = False, device: Any = None, dtype: Any = None, weight_attr: Any = None, name: str | None = None) -> None:  # fmt: skip
        super().__init__(dtype=dtype)
        for key, value in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            if value <= 0:
                raise ValueError(f"{key}: expected 1 or more, got {value}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"padding_idx: expected less than {num_embeddings}, got {padding_idx}")
        shape = [num_embeddings, embedding_dim]
        self.padding_idx, self._sparse = padding_idx, sparse
        self._settings = (max_norm, norm_type, sparse, scale_grad_by_freq)
        if _weight is not None and list(_weight.shape) != shape:
            raise ValueError(f"_weight: expected shape {shape}, got {list(_weight.shape)}")
        self.weight = self.create_parameter(shape, weight_attr) if _weight is None else _weight
        if _weight is not None or weight_attr is None:
            self.weight.stop_gradient = _freeze
        if padding_idx is not None:
            self.weight.data[padding_idx] = 0.0

    def forward(self, x: Any) -> Any:
        return F.embedding(x, self.weight, self.padding_idx, *self._settings)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}{padding}, sparse={self._sparse}"


CircularPad1d, CircularPad2d, CircularPad3d = CircularPad1D, CircularPad2D, CircularPad3D
ConstantPad1d, ConstantPad2d, ConstantPad3d = ConstantPad1D, ConstantPad2D, ConstantPad3D
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = ReflectionPad1D, ReflectionPad2D, ReflectionPad3D
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = ReplicationPad1D, ReplicationPad2D, ReplicationPad3D
UpsamplingBilinear2d, UpsamplingNearest2d = UpsamplingBilinear2D, UpsamplingNearest2D
ZeroPad1d, ZeroPad2d, ZeroPad3d = ZeroPad1D, ZeroPad2D, ZeroPad3D
