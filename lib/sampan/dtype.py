"""Data types and places: Paddle's names over torch's objects, and the conversions between the spellings."""

import builtins
import math
import re

import numpy as np
import torch

# fmt: off
__all__ = [
    "CPUPlace", "CUDAPlace", "Size", "bfloat16", "bool", "cdouble", "cfloat", "complex64", "complex128", "double", "dtype",
    "float", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "float64", "get_default_dtype", "get_device", "half",
    "int8", "int16", "int32", "int64", "is_compiled_with_cuda", "set_default_dtype", "set_device", "uint8", "uint16",
    "uint32", "uint64",
]
# fmt: on

uint8 = torch.uint8
uint16 = torch.uint16
uint32 = torch.uint32
uint64 = torch.uint64
int8 = torch.int8
int16 = torch.int16
int32 = torch.int32
int64 = torch.int64
float8_e4m3fn = torch.float8_e4m3fn
float8_e5m2 = torch.float8_e5m2
float16 = torch.float16
bfloat16 = torch.bfloat16
float32 = torch.float32
float64 = torch.float64
complex64 = torch.complex64
complex128 = torch.complex128
bool = torch.bool
dtype = torch.dtype

NAMES: dict[str, torch.dtype] = {
    name: value for name, value in list(globals().items()) if isinstance(value, torch.dtype)
}
_ALIASES = {
    "float": float64, "double": float64, "half": float16, "int": int64, "long": int64, "complex": complex128
}  # fmt: skip
_PYTHON = {builtins.float: float64, builtins.int: int64, builtins.bool: bool, builtins.complex: complex128}
half, float, double, cfloat, cdouble = float16, float32, float64, complex64, complex128
_default = float32


def as_dtype(value: object) -> torch.dtype:
    """The torch dtype behind `value`: a dtype, its name, a NumPy dtype or a Python type.

    Raises TypeError for anything else, and names it.
    """
    if isinstance(value, torch.dtype):
        return value
    if isinstance(value, str):
        name = value.removeprefix("paddle.").removeprefix("sampan.").removeprefix("torch.")
        found = NAMES.get(name) or _ALIASES.get(name)
        if found is not None:
            return found
    elif isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    elif value is not None:
        try:
            return NAMES[np.dtype(value).name]  # type: ignore[call-overload]
        except (TypeError, KeyError):
            pass
    raise TypeError(f"dtype: expected one of {', '.join(NAMES)}, got {value!r}")


def name_of(value: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(value).removeprefix("torch.")


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


class Size(list[int]):
    """A shape: a list of ints that equals a tuple of the same ints too."""

    __slots__ = ()
    __hash__ = None

    def numel(self) -> builtins.int:
        return math.prod(self)

    def __add__(self, other: object) -> "Size":  # type: ignore[override]
        return Size([*self, *other])  # type: ignore[misc]

    def __radd__(self, other: object) -> "Size":
        return Size([*other, *self])  # type: ignore[misc]

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

    def gpu_device_id(self) -> int:
        return self.device.index or 0

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Place) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return "Place(cpu)" if self.is_cpu_place() else f"Place(gpu:{self.gpu_device_id()})"


class CPUPlace(Place):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("cpu")


class CUDAPlace(Place):
    __slots__ = ()

    def __init__(self, index: int = 0) -> None:
        super().__init__(f"cuda:{index}")


_device = torch.device("cpu")


def as_device(place: object) -> torch.device:
    """The torch device behind a place, a device name (`cpu`, `gpu`, `gpu:1`, `cuda:1`) or None (the current one).

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
        raise ValueError(f"place: expected 'cpu', 'gpu', 'gpu:N' or a Place, got {place!r}")
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"place: {place!r}, but {torch.cuda.device_count()} GPUs are visible")
    return device


def set_device(device: str | int | Place) -> Place:
    """Make `cpu` or `gpu:N` the place of new tensors. Raises ValueError when there is no such device."""
    global _device
    _device = as_device(device)
    return CPUPlace() if _device.type == "cpu" else CUDAPlace(_device.index or 0)


def get_device(input: object = None) -> str | builtins.int:
    """`cpu` or `gpu:N`; of a tensor, the number of its GPU, or -1."""
    if input is not None:
        return input.data.get_device()  # type: ignore[attr-defined]
    return "cpu" if _device.type == "cpu" else f"gpu:{_device.index or 0}"


def is_compiled_with_cuda() -> builtins.bool:
    """Whether the torch underneath carries CUDA."""
    return torch.backends.cuda.is_built()
