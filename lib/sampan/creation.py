"""Tensors from nothing or from plain values: filled, counted, copied."""

import builtins
import inspect
import math
from typing import Any

import numpy as np
import torch

from .dtype import as_device, as_dtype, default_dtype
from .engine.operator import as_method
from .engine.spelling import factory, give
from .engine.tensor import InvalidArgument, InvalidType, Tensor, to_tensor
from .ops.assembly import on_own_axes
from .ops.shape import _ints

# fmt: off
__all__ = [
    "arange", "assign", "bartlett_window", "blackman_window", "clone", "empty", "empty_like", "eye", "full",
    "full_like", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "meshgrid", "ones",
    "ones_like", "range", "tril_indices", "triu_indices", "zeros", "zeros_like",
]
# fmt: on


def _sizes(shape: Any) -> list[int]:
    """A shape as a list of ints. Raises ValueError for negative lengths, TypeError for anything but ints."""
    sizes = _ints(shape, "shape")
    if builtins.any(n < 0 for n in sizes):
        raise InvalidArgument(f"shape: expected lengths of 0 or more, got {sizes}")
    return sizes


def _kind(dtype: Any) -> torch.dtype:
    return default_dtype() if dtype is None else as_dtype(dtype)


def _plain(value: Any) -> Any:
    """The number that a 0-d or one-entry tensor holds; any other value as it is."""
    return value.item() if isinstance(value, (Tensor, np.generic, np.ndarray)) else value


def _fill(value: Any) -> Any:
    """A fill value: a number, a tensor with one entry, or a number written out."""
    value = _plain(value)
    if isinstance(value, str):
        value = float(value)
    if not isinstance(value, (bool, int, float, complex)):
        raise InvalidType(f"fill_value must be a number or a tensor, got {type(value).__name__}")
    return value


def _made(function: str, sizes: Any, dtype: Any = None) -> Tensor:
    """By torch's factory of this name, on the present device and in the default floating dtype, unless
    given. sizes: its arguments before these."""
    return Tensor(getattr(torch, function)(*sizes, dtype=_kind(dtype), device=as_device(None)))


def _number(value: Any, kind: torch.dtype) -> Any:
    """A fill value as `kind` has it: a fraction is cut off for integers."""
    value = _fill(value)
    if isinstance(value, float) and not (kind.is_floating_point or kind.is_complex):
        return bool(value) if kind is torch.bool else int(value)
    return value


@factory()
def zeros(shape, dtype=None, name=None) -> Tensor:
    """Zeros of a shape, in the default floating dtype unless given."""
    return _made("zeros", (_sizes(shape),), dtype)


@factory()
def ones(shape, dtype=None, name=None) -> Tensor:
    """Ones of a shape, in the default floating dtype unless given."""
    return _made("ones", (_sizes(shape),), dtype)


@factory()
def empty(shape, dtype=None, name=None) -> Tensor:
    """Memory of a shape with whatever values it happens to hold."""
    return _made("empty", (_sizes(shape),), dtype)


@factory()
def full(shape, fill_value, dtype=None, name=None) -> Tensor:
    """`fill_value` everywhere: a number, a string of one, a tensor with one entry.

    dtype: unless given the default floating dtype, for ints too; bool for bools, complex128 for complex
    numbers.
    """
    if dtype is None and isinstance(fill_value, (bool, complex)):
        dtype = "bool" if isinstance(fill_value, bool) else "complex128"
    return _made("full", (_sizes(shape), _number(fill_value, _kind(dtype))), dtype)


def _like(function: str, x: Any, dtype: Any, *fill: Any) -> Tensor:
    """By torch's factory of this name, with the shape and place of `x`; distributed as `x` is."""
    data = x.data
    kind = data.dtype if dtype is None else as_dtype(dtype)
    make = getattr(torch, function) if type(data) is torch.Tensor else getattr(data, "new_" + function)
    return Tensor(make(data.shape, *(_number(v, kind) for v in fill), dtype=kind, device=data.device))


@factory("out")
def zeros_like(x, dtype=None, name=None) -> Tensor:
    """Zeros with the shape, place and (unless given) dtype of `x`."""
    return _like("full", x, dtype, 0)


@factory("out")
def ones_like(x, dtype=None, name=None) -> Tensor:
    """Ones with the shape, place and (unless given) dtype of `x`."""
    return _like("full", x, dtype, 1)


@factory("out")
def empty_like(x, dtype=None, name=None) -> Tensor:
    """Uninitialised memory with the shape, place and (unless given) dtype of `x`."""
    return _like("empty", x, dtype)


@factory("out")
def full_like(x, fill_value, dtype=None, name=None) -> Tensor:
    """`fill_value` with the shape, place and (unless given) dtype of `x`."""
    return _like("full", x, dtype, fill_value)


def _counted(start: Any, end: Any, step: Any, dtype: Any) -> list[Any]:
    values = [_plain(v) for v in ((0, start, step) if end is None else (start, end, step))]
    if dtype is not None and not as_dtype(dtype).is_floating_point:
        values = [int(v) for v in values]
    if values[2] == 0:
        raise InvalidArgument("step must not be 0")
    return values


@factory()
def arange(start=0, end=None, step=1, dtype=None, *, name=None) -> Tensor:
    """start, start + step, ... below end; `arange(n)` counts from 0. int64 where all three are integers.

    >>> paddle.arange(2, 10, 3).tolist()
    [2, 5, 8]
    """
    values = _counted(start, end, step, dtype)
    if dtype is None:
        dtype = "int64" if builtins.all(isinstance(v, int) for v in values) else default_dtype()
    if (values[1] - values[0]) * values[2] < 0:
        values[1] = values[0]
    return _made("arange", values, dtype)


@factory("pin_memory")
def range(start=0, end=None, step=1, dtype=None, *, name=None) -> Tensor:
    """start, start + step, ... up to and including end, in the default floating dtype unless given."""
    first, last, step = _counted(start, end, step, dtype)
    steps = torch.arange(max(0, math.floor((last - first) / step) + 1), dtype=torch.float64)
    return Tensor((first + steps * step).to(as_device(None), _kind(dtype)))


def _spaced(start: Any, stop: Any, num: Any) -> torch.Tensor:
    first, last, count = (_plain(v) for v in (start, stop, num))
    if count < 0:
        raise InvalidArgument(f"num must be at least 0, got {count}")
    return torch.linspace(first, last, int(count), dtype=torch.float64, device=as_device(None))


@factory("pin_memory")
def linspace(start, stop, num, dtype=None, name=None) -> Tensor:
    """`num` values from start to stop, both included, evenly spaced."""
    kind = _kind(dtype)
    if not (kind.is_floating_point or kind.is_complex):
        start, stop = int(_plain(start)), int(_plain(stop))
    return Tensor(_spaced(start, stop, num).to(kind))


def logspace(start, stop, num, base=10.0, dtype=None, name=None) -> Tensor:
    """`num` powers of `base`, from base^start to base^stop, their exponents evenly spaced."""
    exponents = _spaced(start, stop, num)
    return Tensor((float(_plain(base)) ** exponents).to(_kind(dtype)))


def _count(value: Any, name: str) -> int:
    """A number of rows or columns. Raises TypeError for anything but an int of 0 or more."""
    value = _plain(value)
    if not isinstance(value, int) or value < 0:
        raise InvalidType(f"{name}: expected an int of 0 or more, got {value!r}")
    return value


@factory()
def eye(num_rows, num_columns=None, dtype=None, name=None) -> Tensor:
    """Ones on the diagonal of a matrix of zeros."""
    rows = _count(num_rows, "num_rows")
    columns = rows if num_columns is None else _count(num_columns, "num_columns")
    return _made("eye", (rows, columns), dtype)


def _triangle(name: str, row: Any, col: Any, offset: Any, dtype: Any) -> Tensor:
    rows, columns = _count(row, "row"), _count(row if col is None else col, "col")
    offset = _plain(offset)
    if not isinstance(offset, int):
        raise InvalidType(f"offset must be an int, got {offset!r}")
    return _made(name, (rows, columns, int(offset)), as_dtype(dtype))


def tril_indices(row, col, offset=0, dtype="int64") -> Tensor:
    """Rows and columns, [2, n], of the lower triangle of a matrix: on and below the diagonal `offset`."""
    return _triangle("tril_indices", row, col, offset, dtype)


def triu_indices(row, col=None, offset=0, dtype="int64") -> Tensor:
    """Rows and columns, [2, n], of the upper triangle of a matrix: on and above the diagonal `offset`."""
    return _triangle("triu_indices", row, col, offset, dtype)


def meshgrid(*args, **kwargs) -> list[Tensor]:
    """Coordinate arrays of a grid, one per vector given.

    indexing: "ij" for the order of matrices; "xy" exchanges the first two axes.
    """
    indexing = kwargs.get("indexing") or "ij"
    if indexing not in ("ij", "xy"):
        raise InvalidArgument(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    if indexing == "xy":
        vectors[:2] = vectors[1::-1]
    shape = [v.size for v in vectors]
    grids = [v.expand(shape) for v in on_own_axes(vectors)]
    if indexing == "ij" or len(vectors) < 2:
        return grids
    return [grids[1], grids[0], *grids[2:]]


# --- windows ---------------------------------------------------------------------------


def _window(name: str, length: int, dtype: Any, *settings: Any) -> Tensor:
    if not isinstance(length, int) or length < 0:
        raise InvalidArgument(f"window_length: expected a whole number of at least 0, got {length!r}")
    return _made(name, (length, *settings), dtype)


@factory("out")
def hann_window(window_length, periodic=True, *, dtype="float32", layout=None) -> Tensor:
    """sin(pi n / N)^2 for n = 0, 1, ...: N is the length for a periodic window, one less for a symmetric
    one."""
    return _window("hann_window", window_length, dtype, periodic)


@factory("out")
def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype="float32", layout=None
) -> Tensor:
    """alpha - beta cos(2 pi n / N)."""
    return _window("hamming_window", window_length, dtype, periodic, alpha, beta)


@factory("out")
def blackman_window(window_length, periodic=True, *, dtype="float32", layout=None) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    return _window("blackman_window", window_length, dtype, periodic)


@factory("out")
def bartlett_window(window_length, periodic=True, *, dtype="float32", layout=None) -> Tensor:
    """1 - |2 n / N - 1|."""
    return _window("bartlett_window", window_length, dtype, periodic)


@factory("out")
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype="float32", layout=None) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), of the Bessel function I0."""
    return _window("kaiser_window", window_length, dtype, periodic, beta)


# --- copies ----------------------------------------------------------------------------


def clone(x, name=None) -> Tensor:
    """A copy; gradients flow through it."""
    return x.clone()


def assign(x, output=None) -> Tensor:
    """A copy of a tensor, array, list or number, put into `output` where that is given.

    A number becomes a tensor of shape [1]; floats in lists are float64, as NumPy has them.
    """
    if not isinstance(x, Tensor):
        x = to_tensor(np.atleast_1d(np.asarray(x)))
    copied = x.clone()
    return copied if output is None else give(output, copied)


# --- like a tensor, by a method -----------------------------------------------------------------------------


def _new_of(function: Any) -> None:
    def made(self, *args, dtype=None, device=None, **settings) -> Tensor:
        return function(*args, dtype=dtype or self.dtype, device=device or self.place, **settings)

    own = inspect.signature(function).parameters.values()
    shown = [p for p in own if p.name not in ("dtype", "name", "out", "device")]
    keyword = inspect.Parameter.KEYWORD_ONLY
    keywords = [inspect.Parameter(n, keyword, default=None) for n in ("dtype", "device")]
    first = [inspect.Parameter("self", shown[0].kind), shown[0].replace(name="size")]
    method: Any = made
    method.__name__ = f"new_{function.__name__}"
    parameters = [*first, *shown[1:-2], *keywords, *shown[-2:]]
    method.__signature__ = inspect.Signature(parameters)
    method.__doc__ = f"`{function.__name__}` in this tensor's dtype and place, unless given."
    as_method(method)


for _function in (empty, full, ones, zeros):
    _new_of(_function)
