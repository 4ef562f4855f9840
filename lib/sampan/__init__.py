"""Sampan (舢板): a deep-learning framework small enough to read whole, with PaddlePaddle's API.

`import sampan as paddle` runs Paddle's dynamic-graph programs.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from . import autograd as autograd
from . import callbacks as callbacks
from . import hapi as hapi
from . import io as io
from . import kernels as kernels
from . import metric as metric
from . import nn as nn
from . import ops as ops
from . import optimizer as optimizer
from . import regularizer as regularizer
from .autograd import enable_grad as enable_grad
from .autograd import grad as grad
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .creation import arange as arange
from .creation import empty as empty
from .creation import empty_like as empty_like
from .creation import eye as eye
from .creation import full as full
from .creation import full_like as full_like
from .creation import linspace as linspace
from .creation import meshgrid as meshgrid
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .dtype import CPUPlace as CPUPlace
from .dtype import CUDAPlace as CUDAPlace
from .dtype import bfloat16 as bfloat16
from .dtype import bool as bool
from .dtype import complex64 as complex64
from .dtype import complex128 as complex128
from .dtype import dtype as dtype
from .dtype import float16 as float16
from .dtype import float32 as float32
from .dtype import float64 as float64
from .dtype import get_default_dtype as get_default_dtype
from .dtype import get_device as get_device
from .dtype import int8 as int8
from .dtype import int16 as int16
from .dtype import int32 as int32
from .dtype import int64 as int64
from .dtype import is_compiled_with_cuda as is_compiled_with_cuda
from .dtype import set_default_dtype as set_default_dtype
from .dtype import set_device as set_device
from .dtype import uint8 as uint8
from .hapi import Model as Model
from .hapi import summary as summary
from .nn import ParamAttr as ParamAttr
from .ops import *  # noqa: F403
from .random import bernoulli as bernoulli
from .random import get_rng_state as get_rng_state
from .random import multinomial as multinomial
from .random import normal as normal
from .random import rand as rand
from .random import randint as randint
from .random import randn as randn
from .random import randperm as randperm
from .random import seed as seed
from .random import set_rng_state as set_rng_state
from .random import standard_normal as standard_normal
from .random import uniform as uniform
from .serialization import load as load
from .serialization import save as save
from .tensor import Tensor as Tensor
from .tensor import is_tensor as is_tensor
from .tensor import to_tensor as to_tensor
from .trace import trace as trace

__version__ = "0.1.0"

# Rooms that a program may not need are imported when they are first named.
_LATER = ("datasets", "interop", "learn", "models", "visual")


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _import_module(f".{name}", __name__)
    raise AttributeError(f"module 'sampan' has no attribute {name!r}")
