"""Data types and places: Paddle's, over those of the torch buffers, and the conversions between the
spellings.

A Tensor's dtype is a DataType; the dtype of a buffer, `x.data.dtype`, is torch's. The body of an operator may
see either. So every function of the library takes both, they are compared by `==`, and what is given to torch
goes through `as_dtype`.

Dtype promotion of an operator with inputs of several dtypes is torch's (`torch.result_type`): its body gets
them as they are. `engine.backward.fit` casts each gradient back. Paddle's exceptions stand where they apply:
`_subtract`, `_of_floats`, `_heaviside` and `_copysign` in ops/elementwise.py, `matmul` in ops/linalg.py,
writes in place in ops/inplace.py, a half beside a complex number in `_widened` of engine/apply.py.
"""

import builtins
import math
import re
from typing import Any, ClassVar

import numpy as np
import torch

from .engine.errors import InvalidArgument, InvalidType

# fmt: off
__all__ = [
    "CPUPlace", "CUDAPlace", "Size", "bfloat16", "bool", "cdouble", "cfloat", "complex64", "complex128",
    "double", "dtype", "float", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "float64",
    "get_default_dtype", "get_device", "half", "int", "int8", "int16", "int32", "int64",
    "is_compiled_with_cuda", "long", "set_default_dtype", "set_device", "short", "uint8", "uint16", "uint32",
    "uint64",
]
# fmt: on


class DataType:
    """The dtype of a Tensor: `paddle.float32` and the others, one object each.

    name, value: in Paddle's enumeration, "FLOAT32" and 10. torch: the dtype of the buffers, which is equal to
    this one.
    """

    __slots__ = ("_hash", "name", "torch", "value")
    __members__: ClassVar[dict[str, "DataType"]] = {}
    _hash: builtins.int
    name: str
    value: builtins.int
    torch: torch.dtype

    def __new__(cls, value: object) -> "DataType":
        """The dtype with a number of the enumeration."""
        if isinstance(value, DataType):
            return value
        if not isinstance(value, builtins.int):
            raise TypeError(f"dtype: expected the number of a dtype, got {value!r}")
        found = {kind.value: kind for kind in cls.__members__.values()}.get(value)
        if found is None:
            raise ValueError(f"dtype: no dtype has the number {value}")
        return found

    is_complex = property(lambda self: self.torch.is_complex)
    is_floating_point = property(lambda self: self.torch.is_floating_point)
    is_signed = property(lambda self: self.torch.is_signed)
    itemsize = property(lambda self: self.torch.itemsize)

    def __str__(self) -> str:
        return f"paddle.{self.name.lower()}"

    def __repr__(self) -> str:
        return f"<DataType.{self.name}: {self.value}>"

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        return self.torch is other if other.__class__ is torch.dtype else NotImplemented

    def __hash__(self) -> builtins.int:
        return self._hash

    def __int__(self) -> builtins.int:
        return self.value

    __index__ = __int__

    def __reduce__(self) -> str:
        return self.name.lower()  # its name in this module: a copy is the same object


def _made(kind: torch.dtype, value: builtins.int = 0) -> DataType:
    """The DataType of a torch dtype."""
    made = DTYPES[kind] = object.__new__(DataType)
    made.name, made.value = name_of(kind).upper(), value
    made.torch, made._hash = kind, hash(kind)
    if value:
        DataType.__members__[made.name] = made
        setattr(DataType, made.name, made)
    return made


def name_of(value: DataType | torch.dtype) -> str:
    """`float32`, of a Tensor's dtype or a buffer's."""
    return str(value).rpartition(".")[2]


DTYPES: dict[torch.dtype, DataType] = {}  # of every dtype that a buffer can have
uint8 = _made(torch.uint8, 2)
uint16 = _made(torch.uint16, 4)
uint32 = _made(torch.uint32, 6)
uint64 = _made(torch.uint64, 8)
int8 = _made(torch.int8, 3)
int16 = _made(torch.int16, 5)
int32 = _made(torch.int32, 7)
int64 = _made(torch.int64, 9)
float8_e4m3fn = _made(torch.float8_e4m3fn, 17)
float8_e5m2 = _made(torch.float8_e5m2, 18)
float16 = _made(torch.float16, 15)
bfloat16 = _made(torch.bfloat16, 16)
float32 = _made(torch.float32, 10)
float64 = _made(torch.float64, 11)
complex64 = _made(torch.complex64, 12)
complex128 = _made(torch.complex128, 13)
bool = _made(torch.bool, 1)
dtype = DataType

NAMES: dict[str, torch.dtype] = {name_of(kind): kind for kind in DTYPES}
_ALIASES = {
    "float": torch.float64,
    "double": torch.float64,
    "half": torch.float16,
    "int": torch.int64,
    "long": torch.int64,
    "complex": torch.complex128,
}
_PYTHON = {
    builtins.float: torch.float64,
    builtins.int: torch.int64,
    builtins.bool: torch.bool,
    builtins.complex: torch.complex128,
}
half, float, double, cfloat, cdouble = float16, float32, float64, complex64, complex128
short, int, long = int16, int32, int64
for _kind in vars(torch).values():
    if isinstance(_kind, torch.dtype) and _kind not in DTYPES:
        _made(_kind)  # Paddle has none of these; its number 0 is that of an undefined dtype
_default = torch.float32


def as_dtype(value: object) -> torch.dtype:
    """The torch dtype behind `value`: a dtype, its name, a NumPy dtype or a Python type.

    Raises TypeError for anything else, and names it.
    """
    if isinstance(value, torch.dtype):
        return value
    if isinstance(value, DataType):
        return value.torch
    if isinstance(value, str):
        name = value.removeprefix("paddle.").removeprefix("sampan.").removeprefix("torch.")
        found = NAMES.get(name) or _ALIASES.get(name)
        if found is not None:
            return found
    elif isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    elif value is not None:
        try:
            return NAMES[np.dtype(value).name]  # type: ignore[call-overload]  # refused below if it fails
        except (TypeError, KeyError):
            pass
    raise InvalidType(f"dtype: expected one of {', '.join(NAMES)}, got {value!r}")


def get_default_dtype() -> str:
    """The name of the floating dtype of tensors made from Python floats."""
    return name_of(_default)


def set_default_dtype(d: object) -> None:
    """Set the floating dtype of tensors made from Python floats (float16, bfloat16, float32, float64)."""
    global _default
    chosen = as_dtype(d)
    if not chosen.is_floating_point:
        raise TypeError(f"set_default_dtype: expected a floating dtype, got {name_of(chosen)}")
    _default = chosen


def default_dtype() -> torch.dtype:
    """The default floating dtype as a torch dtype."""
    return _default


class Size(list[builtins.int]):
    """A shape: a list of ints that equals a tuple of the same ints too."""

    __slots__ = ()
    __hash__ = None

    def numel(self) -> builtins.int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"paddle.Size({list(self)})"

    def __add__(self, other: object) -> "Size":  # type: ignore[override]  # Paddle: Size + list is a Size
        return Size([*self, *other])  # type: ignore[misc]  # a list or tuple

    def __radd__(self, other: object) -> "Size":
        return Size([*other, *self])  # type: ignore[misc]  # a list or tuple

    def __eq__(self, other: object) -> builtins.bool:
        return list.__eq__(self, list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other


class Place:
    """Where a buffer lives: `CPUPlace()` or `CUDAPlace(0)`."""

    __slots__ = ("device",)

    def __init__(self, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)

    def is_cpu_place(self) -> builtins.bool:
        return self.device.type == "cpu"

    def is_gpu_place(self) -> builtins.bool:
        return self.device.type == "cuda"

    def is_other_place(self) -> builtins.bool:
        """Never: there are CPUs and GPUs."""
        return False

    is_cuda_pinned_place = is_custom_place = is_other_place
    is_ipu_place = is_xpu_place = is_xpu_pinned_place = is_other_place

    def gpu_device_id(self) -> builtins.int:
        return self.device.index or 0

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Place) and self.device == other.device

    def __hash__(self) -> builtins.int:
        return hash(self.device)

    def __repr__(self) -> str:
        return "Place(cpu)" if self.is_cpu_place() else f"Place(gpu:{self.gpu_device_id()})"


class CPUPlace(Place):
    """The CPU as a place."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("cpu")


class CUDAPlace(Place):
    """The GPU with number `index` as a place."""

    __slots__ = ()

    def __init__(self, index: builtins.int = 0) -> None:
        super().__init__(f"cuda:{index}")


_device = torch.device("cpu")


def as_device(place: object) -> torch.device:
    """The torch device behind a place, a device name (`cpu`, `gpu`, `gpu:1`, `cuda:1`) or None (the current
    one).

    Raises ValueError when the name is unknown or the device is not there.
    """
    if place is None:
        return _device
    if isinstance(place, Place):
        device = place.device
    elif isinstance(place, torch.device):
        device = place
    elif isinstance(place, str) and re.fullmatch(r"(cpu|(gpu|cuda)(:\d+)?)", place):
        device = torch.device(place.replace("gpu", "cuda"))
    else:
        raise InvalidArgument(f"place: expected 'cpu', 'gpu', 'gpu:N' or a Place, got {place!r}")
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        if (device.index or 0) >= torch.cuda.device_count():
            raise InvalidArgument(f"place: {place!r}, but {torch.cuda.device_count()} GPUs are visible")
    return device


def set_device(device: str | builtins.int | Place) -> Place:
    """Make `cpu` or `gpu:N` the place of new tensors. Raises ValueError when there is no such device."""
    global _device
    _device = as_device(device)
    return CPUPlace() if _device.type == "cpu" else CUDAPlace(_device.index or 0)


def get_device(input: Any = None) -> str | builtins.int:
    """`cpu` or `gpu:N`; of a tensor, the number of its GPU, or -1."""
    if input is not None:
        return input.data.get_device()
    return "cpu" if _device.type == "cpu" else f"gpu:{_device.index or 0}"


def is_compiled_with_cuda() -> builtins.bool:
    """Whether the torch underneath carries CUDA."""
    return torch.backends.cuda.is_built()
