"""Python's operators on Tensors: `x + y` calls `add`, `x[i]` calls `getitem`. NumPy arrays are taken for
Tensors here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..engine.errors import with_name
from ..engine.operator import entrance
from ..engine.tensor import Tensor, to_tensor
from . import elementwise, indexing, linalg, logic

_SIGNS: dict[str, Callable[..., Any]] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "div": elementwise.divide,  # Python 2's name, which Paddle keeps
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder,
    "pow": elementwise.pow,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.bitwise_left_shift,
    "rshift": logic.bitwise_right_shift,
    "neg": elementwise.neg,
    "abs": elementwise.abs,
    "invert": logic.bitwise_not,
    "lt": logic.less_than,
    "le": logic.less_equal,
    "gt": logic.greater_than,
    "ge": logic.greater_equal,
    "getitem": indexing.getitem,
}
# A text is compared too, and refused: it is a mistake. Anything else, such as a list, is not equal, as in
# Paddle.
_COMPARABLE = (Tensor, int, float, complex, str, np.ndarray, np.generic, torch.Tensor)


def _of_arrays(function: Any) -> Callable[..., Any]:
    return with_name(function.operator.name, entrance(function.operator, arrays=True))


def _reflected(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other, *rest: call(other, self, *rest)


def _compared(call: Callable[..., Any], otherwise: bool) -> Callable[..., Any]:
    return lambda self, other: call(self, other) if isinstance(other, _COMPARABLE) else otherwise


def matmul(self: Any, other: Any) -> Any:
    if type(self) is type(other) is Tensor and self.data.ndim == other.data.ndim == 2:
        return linalg.mm(self, other)
    x, y = (to_tensor(side) if isinstance(side, np.ndarray) else side for side in (self, other))
    plain = isinstance(x, Tensor) and isinstance(y, Tensor) and x.data.ndim == 2 == y.data.ndim
    return linalg.mm(x, y) if plain else linalg.matmul(x, y)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        value = to_tensor(np.asarray(value), place=self.place)
    if isinstance(value, Tensor) and value.data.dtype is not self.data.dtype:
        value = value.cast(self.data.dtype)
    recorded = torch.is_grad_enabled() and not (self.stop_gradient and getattr(value, "stop_gradient", True))
    if recorded:
        self._check_writable(False)
        self._write(_set(self._before(), value, index))
    else:
        _put(self, value, index)
        self._mark_written()


_set, _put = _of_arrays(indexing.setitem), _of_arrays(indexing.put)
for _sign, _function in _SIGNS.items():
    _call = _of_arrays(_function)
    setattr(Tensor, f"__{_sign}__", _call)
    if hasattr(int, f"__r{_sign}__") or _sign == "div":
        setattr(Tensor, f"__r{_sign}__", _reflected(_call))
_others = {
    "__eq__": _compared(_of_arrays(logic.equal), False),
    "__ne__": _compared(_of_arrays(logic.not_equal), True),
    "__matmul__": matmul,
    "__rmatmul__": _reflected(matmul),
    "__setitem__": setitem,
}
for _name, _method in _others.items():
    setattr(Tensor, _name, _method)
