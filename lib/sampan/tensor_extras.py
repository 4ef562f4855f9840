"""Tensor's small methods: conversions by name, properties of Paddle's older API, tensors like this one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .creation import empty
from .engine.operator import as_method
from .engine.spelling import spelled
from .engine.tensor import InvalidType, Tensor, is_tensor, to_tensor
from .framework import create_parameter
from .ops.activation import softmax as normalized
from .ops.joining import split_view
from .ops.shape import tile

__all__ = ["numel", "rank", "shape", "softmax", "tolist"]

_CASTS = {
    "bfloat16": "bfloat16",
    "bool": "bool",
    "byte": "uint8",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "char": "int8",
    "complex128": "complex128",
    "complex64": "complex64",
    "double": "float64",
    "float": "float32",
    "float16": "float16",
    "float32": "float32",
    "float64": "float64",
    "half": "float16",
    "int": "int32",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "int8": "int8",
    "long": "int64",
    "short": "int16",
    "uint8": "uint8",
}
# Properties of every dense tensor.
_FACTS: dict[str, Callable[[Tensor], Any]] = {
    "device": lambda x: str(x.place).removeprefix("Place(").rstrip(")"),
    "is_cuda": lambda x: x.data.is_cuda,
    "itemsize": lambda x: x.data.element_size(),
    "layout": lambda x: "NCHW",
    "offset": lambda x: x.data.storage_offset() * x.data.element_size(),
    "type": lambda x: "DENSE_TENSOR",
    # `block`: programs pass a parameter's block of the static graph on to an initializer, which takes None.
    **dict.fromkeys(("block", "num_shard", "placements", "process_mesh"), lambda x: None),
}
# Methods without arguments: docstring, function.
_ANSWERS: dict[str, tuple[str, Callable[[Tensor], Any]]] = {
    "_grad_ivar": ("`grad`.", lambda self: self.grad),
    "_inplace_version": ("`inplace_version`.", lambda self: self.inplace_version),
    "_numel": ("The number of elements, as an int.", lambda self: self.data.numel()),
    "_zero_grads": ("`clear_gradient`.", lambda self: self.clear_gradient()),
    "get_device": ("The number of the tensor's GPU, -1 on the CPU.", lambda self: self.data.get_device()),
    "sparse_dim": ("0: a dense tensor has no sparse axes.", lambda self: 0),
    "value": ("Returns self.", lambda self: self),
    **dict.fromkeys(("dense_dim", "ndimension"), ("The number of axes, as an int.", lambda self: self.ndim)),
    **dict.fromkeys(("_is_initialized", "is_dense"), ("True for a dense tensor.", lambda self: True)),
    **dict.fromkeys(
        ("is_dist", "is_selected_rows", "is_sparse", "is_sparse_coo", "is_sparse_csr"),
        ("False for a dense tensor in one process.", lambda self: False),
    ),
}


def _cast_to(dtype: str) -> Callable[[Tensor], Tensor]:
    def convert(self) -> Tensor:
        return self.astype(dtype)

    convert.__doc__ = f"A copy as {dtype}, or the tensor itself where it has that dtype."
    return convert


@spelled(out=True)
def softmax(x, axis=None, dtype=None, name=None) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`: without one along the second of 2, 4 or more axes and the first of
    fewer or 3.

    As in Paddle 3.3, where this function follows torch. `nn.functional.softmax` takes the last axis.
    """
    return normalized(x, axis if axis is not None else int(x.ndim not in (0, 1, 3)), dtype)


as_method(softmax)
for _name, _dtype in _CASTS.items():
    as_method(_cast_to(_dtype), _name)
for _name, (_doc, _answer) in _ANSWERS.items():
    _answer.__doc__ = _doc
    as_method(_answer, _name)
for _name, _fact in _FACTS.items():
    setattr(Tensor, _name, property(_fact))
as_method(is_tensor)
as_method(create_parameter)


def _apply(self: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """`func(x)`, for a tensor that requires no gradient."""
    if not self.stop_gradient:
        raise RuntimeError("apply: the tensor wants a gradient, and `func` is not recorded on the tape")
    return func(self)


def _apply_(self: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Overwrite the values by `func(x)`."""
    return self._write(_apply(self, func))


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps in elements along each axis, or along one."""
    if dim is None:
        return self.strides
    return self.data.stride(dim)


def _pin_memory(self: Tensor, blocking: bool = True) -> Tensor:
    """A copy that a GPU reads directly. Raises RuntimeError without a GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("pin_memory: there is no GPU to pin memory for")
    return Tensor(self.data.cpu().pin_memory(), self.stop_gradient)


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """A copy in the dtype of `other`."""
    return self.astype(other.dtype)


def _repeat(input: Tensor, repeats: Any, *more: int) -> Tensor:
    """torch's spelling of `tile`: how often along each axis, as numbers or one list."""
    return tile(input, [repeats, *more] if isinstance(repeats, int) else repeats)


def _copy_(self: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Take the values of another tensor, and its shape where that differs."""
    if other.data.shape != self.data.shape:
        self.data = torch.empty_like(other.data, dtype=self.data.dtype, device=self.data.device)
    self.set_value(other)
    return self


def _split_with_sizes(self: Tensor, split_sizes: list[int], dim: int = 0) -> list[Tensor]:
    """Parts of these lengths along an axis."""
    return list(split_view(self, split_sizes, dim))


def _is_same_shape(self: Tensor, y: Tensor) -> bool:
    """Whether `y`, dense or sparse, has the shape of this tensor."""
    return bool(self.shape == y.shape)


def _create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Tensor:
    """An empty tensor."""
    return empty([0], dtype)


def __copy_to(self, place, blocking=True) -> Tensor:
    """A copy at a place."""
    return self.clone().to(place)


def __share_buffer_to(self, other) -> None:
    """Let another tensor share this one's memory."""
    other.data = self.data


def __is_shared_buffer_with(self, other) -> bool:
    """Whether both share one buffer."""
    return self.data.untyped_storage().data_ptr() == other.data.untyped_storage().data_ptr()


def __register_backward_hook(self, hook) -> None:
    """Call `hook()` after a backward has added to this leaf's `grad`."""
    self.register_post_accumulate_grad_hook(lambda tensor: hook())


def __clear_gradient(self, set_to_zero=True) -> None:
    """`clear_gradient` inside Paddle."""
    self.clear_gradient(set_to_zero)


def __set_grad_ivar(self, gradient) -> None:
    """Assign `grad`, as Paddle's own Python code does."""
    self.grad = gradient


for _method in (
    __set_grad_ivar,
    _apply,
    _apply_,
    _stride,
    _pin_memory,
    _type_as,
    _repeat,
    _copy_,
    _split_with_sizes,
    _is_same_shape,
    _create_tensor,
    __copy_to,
    __share_buffer_to,
    __is_shared_buffer_with,
    __register_backward_hook,
    __clear_gradient,
):
    _method.__name__ = _method.__name__.removeprefix("_")
    as_method(_method, _method.__name__)


# --- the same facts as functions ---


def tolist(x) -> Any:
    """The values as nested lists."""
    return x.tolist()


def numel(x, name=None) -> Tensor:
    """How many values it has, as an int64 tensor."""
    if not isinstance(x, Tensor):
        raise InvalidType(f"numel: expected a Tensor as x, got {type(x).__name__}")
    return x.numel()


def rank(input) -> Tensor:
    """How many axes it has, as an int32 tensor."""
    axes = input.ndim if isinstance(input, Tensor) else np.ndim(input)
    return Tensor(torch.tensor(axes, dtype=torch.int32))


def shape(input) -> Tensor:
    """Its lengths, as an int64 tensor."""
    return to_tensor(np.array(input.shape, np.int64))
