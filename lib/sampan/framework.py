"""Limits of dtypes, printing, tensors from other libraries' arrays, and parameters outside a layer."""

from math import e, inf, nan, pi
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .dtype import as_dtype, name_of
from .engine import printing
from .engine.spelling import spell
from .engine.tensor import Tensor, to_tensor
from .nn.functional import adaptive_avg_pool1d, conv1d, conv2d, conv3d, group_norm, layer_norm
from .nn.layer import Layer
from .random import seed

# fmt: off
__all__ = [
    "adaptive_avg_pool1d", "as_tensor", "asarray", "conv1d", "conv2d", "conv3d", "create_parameter", "e",
    "finfo", "from_dlpack", "from_numpy", "group_norm", "iinfo", "inf", "layer_norm", "manual_seed", "nan",
    "newaxis", "pi", "set_printoptions", "to_dlpack",
]
# fmt: on

# --- numbers and printing ---

newaxis = None
manual_seed = seed


class Limits(SimpleNamespace):
    """What `finfo` and `iinfo` answer: torch's facts of these names, printed as Paddle prints them."""

    def __init__(self, info: Any, names: str) -> None:
        super().__init__(**{name: getattr(info, name) for name in names.split()})

    def __repr__(self) -> str:
        facts = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in vars(self).items())
        return f"paddle.{'finfo' if hasattr(self, 'eps') else 'iinfo'}({', '.join(facts)})"


def finfo(dtype):
    """Limits of a floating or complex dtype: min, max, eps, tiny, resolution, bits. Raises ValueError for
    others."""
    kind = as_dtype(dtype)
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(f"finfo: expected a floating or complex dtype, got {name_of(kind)}")
    return Limits(torch.finfo(kind), "min max eps resolution smallest_normal tiny bits dtype")


def iinfo(dtype):
    """Limits of an integer dtype: min, max, bits. Raises ValueError for others."""
    kind = as_dtype(dtype)
    if kind.is_floating_point or kind.is_complex or kind is torch.bool:
        raise ValueError(f"iinfo: expected an integer dtype, got {name_of(kind)}")
    return Limits(torch.iinfo(kind), "min max bits dtype")


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """How tensors are printed: digits, from how many values on they are shortened, to how many at each edge;
    whether as 1.5e+00; characters a line. None leaves a setting as it is."""
    given = dict(
        precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode
    )
    for name, value in given.items():
        if value is not None and not isinstance(value, type(printing.options[name])):
            raise TypeError(f"set_printoptions: {name} cannot be {value!r}")
    printing.options.update({name: value for name, value in given.items() if value is not None})


# --- tensors from elsewhere ---


def as_tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """torch's spelling of `to_tensor`."""
    made = to_tensor(data, dtype, device, not requires_grad)
    return made.pin_memory() if pin_memory else made


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False) -> Tensor:
    """NumPy's spelling of `to_tensor`; it always copies."""
    return to_tensor(obj, dtype, device, not requires_grad)


def from_numpy(ndarray) -> Tensor:
    """A tensor of an array's values. Raises TypeError for anything else."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: expected a NumPy array, got {type(ndarray).__name__}")
    return to_tensor(ndarray)


def from_dlpack(dlpack, *, device=None, copy=None) -> Tensor:
    """A tensor over the memory of any array that speaks DLPack (or of its capsule)."""
    if not hasattr(dlpack, "__dlpack__") and type(dlpack).__name__ != "PyCapsule":
        kind = type(dlpack).__name__
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, or a capsule, got {kind}")
    made = Tensor(torch.from_dlpack(dlpack)).to(device)
    return made.clone() if copy else made


def to_dlpack(x):
    """A DLPack capsule over this tensor's memory."""
    if not isinstance(x, Tensor):
        raise TypeError(f"to_dlpack: expected a Tensor, got {type(x).__name__}")
    return torch.to_dlpack(x.data)


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A Parameter outside a layer: bias zeros, weights XavierUniform unless given."""
    made: Any = Layer().create_parameter(list(shape), attr, dtype, is_bias, default_initializer)
    if name is not None:
        made.name = name
    return made


spell(globals(), __name__)
