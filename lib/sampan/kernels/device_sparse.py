"""The sparse module's kernels as it calls them: NumPy arrays go to the CPU's loops, torch buffers to the GPU's.

`array` gives a buffer in the form that the kernels of its device take, and `buffer` takes it back; neither copies.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import torch

LOOPS = (".cpu_sparse", ".cpu_sparse_conv")  # where the CPU's are
GPUS = ("cuda",)  # kinds of device whose buffers go to cuda_sparse as they are


def array(buffer: torch.Tensor) -> Any:
    """NumPy's view of a buffer on the CPU, the buffer itself on a GPU."""
    return buffer if buffer.device.type in GPUS else buffer.numpy()


def buffer(array: Any) -> torch.Tensor:
    return array if isinstance(array, torch.Tensor) else torch.from_numpy(array)


def empty(shape: Any, like: Any, kind: str = "") -> Any:
    """An array where `like` is, of its dtype or of the one named `kind`."""
    if isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, kind) if kind else like.dtype, device=like.device)
    return np.empty(shape, kind or like.dtype)


def _on_gpu(values: Any) -> bool:
    return any(type(v) is torch.Tensor or (type(v) is tuple and _on_gpu(v)) for v in values)


def _by_arrays(name: str, loop: Callable[..., Any], gpu: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(loop, updated=())
    def pick(*args: Any) -> Any:
        return gpu(*args) if _on_gpu(args) else loop(*args)

    return pick


def __getattr__(name: str) -> Any:
    for home in LOOPS if not name.startswith("_") else ():
        loop = getattr(import_module(home, __package__), name, None)
        if callable(loop):
            gpu = getattr(import_module(".cuda_sparse", __package__), name, None)
            found = loop if gpu is None else _by_arrays(name, loop, gpu)
            return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
