"""Sampan (舢板): a deep-learning framework small enough to read whole, with PaddlePaddle's API.

`import sampan as paddle` runs Paddle's dynamic-graph programs.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
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
from . import tensor as tensor
from .creation import *
from .dtype import *
from .engine.backward import enable_grad as enable_grad
from .engine.backward import grad as grad
from .engine.backward import is_grad_enabled as is_grad_enabled
from .engine.backward import no_grad as no_grad
from .engine.backward import set_grad_enabled as set_grad_enabled
from .engine.operator import as_method as _as_method
from .engine.spelling import spell as _spell
from .engine.tensor import Tensor as Tensor
from .engine.tensor import is_tensor as is_tensor
from .engine.tensor import to_tensor as to_tensor
from .framework import *
from .hapi import Model as Model
from .hapi import summary as summary
from .lazy import find as _find
from .lazy import names_of as _names_of
from .names import compat as compat
from .names.inner import install as _install_inner
from .nn import ParamAttr as ParamAttr
from .ops import *
from .random import *
from .serialization import load as load
from .serialization import save as save
from .tensor_extras import *
from .trace import trace as trace

__version__ = "0.1.0"

# The files of `ops` came along with its names; `sampan.linalg` is to be Paddle's.
for _name in [n for n, v in globals().items() if str(getattr(v, "__name__", "")).startswith("sampan.ops.")]:
    del globals()[_name]

# Functions that are not operators also name the argument that does not fit.
_spell(
    globals(),
    (
        "sampan.ops",
        "sampan.random",
        "sampan.creation",
        "sampan.tensor_extras",
        "sampan.engine.backward",
    ),
)
_install_inner()

# Packages that a program may not need are imported when they are first named; others by the table below.
# fmt: off
_LATER = (
    "audio", "datasets", "distributed", "embedding", "geometric", "graph", "interop", "jit",
    "learn", "models", "session", "speech", "text", "vision", "visual",
)
# fmt: on

if _TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from .names import base as base
    from .names import device as device
    from .names import distribution as distribution
    from .names import hub as hub
    from .names import incubate as incubate
    from .names import profiler as profiler
    from .names import static as static
    from .names import utils as utils
    from .names import version as version
    from .names.framework import *


# A dense tensor becomes sparse in a room that is imported then.
@_as_method
def to_sparse_coo(self, sparse_dim) -> _Any:
    """Coordinates of what is not 0 over the first `sparse_dim` axes: see `sampan.sparse.dense_to_coo`."""
    return _import_module(".sparse", __name__).dense_to_coo(self, sparse_dim)


@_as_method
def to_sparse_csr(self) -> _Any:
    """Compressed rows of what is not 0, of a matrix or a batch of them: see `sampan.sparse.dense_to_csr`."""
    return _import_module(".sparse", __name__).dense_to_csr(self)


del to_sparse_coo, to_sparse_csr

if _TYPE_CHECKING:  # which follow no `__getattr__`
    from . import amp as amp
    from . import fft as fft
    from . import jit as jit
    from . import linalg as linalg
    from . import onnx as onnx
    from . import signal as signal
    from . import sparse as sparse

_SAME = {
    "paddle": "sampan",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}  # whose names are taken here, or another's


def __getattr__(name: str) -> _Any:
    if name in _SAME:
        return globals().get(_SAME[name], _import_module(__name__))
    if name in _LATER:
        return _import_module(f".{name}", __name__)
    return _find(__name__, name)


def __dir__() -> list[str]:
    return _names_of(__name__)
