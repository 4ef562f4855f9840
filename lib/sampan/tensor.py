"""`paddle.tensor`: a module of all functions, which is called as torch.tensor is.

The class Tensor is in `sampan.engine.tensor`.
"""

import sys
from types import ModuleType
from typing import Any

from .engine.tensor import Tensor as Tensor
from .engine.tensor import _from_numpy as _from_numpy  # pickles of version 0.1 name it here
from .engine.tensor import is_tensor as is_tensor
from .engine.tensor import to_tensor as to_tensor
from .framework import as_tensor


class _TensorModule(ModuleType):
    def __call__(self, data, dtype=None, device=None, requires_grad=False, pin_memory=False):
        return as_tensor(data, dtype, device, requires_grad, pin_memory)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[__package__], name)


sys.modules[__name__].__class__ = _TensorModule
