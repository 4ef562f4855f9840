"""How a kernel picks its device: NumPy arrays go to the CPU's loops, torch buffers to the GPU's kernels.

`array` gives a buffer in the form that the kernels of its device take, and `buffer` takes it back; neither
copies.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import torch

from .arena import LENT_FROM, lent

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
GPUS = ("cuda",)  # kinds of device whose buffers go to the GPU's kernels as they are
LOOP_DTYPES = (torch.float32, torch.float64, torch.int64, torch.complex128)  # of these there are loops


def array(buffer: torch.Tensor) -> Any:
    """NumPy's view of a buffer on the CPU, the buffer itself on a GPU."""
    return buffer if buffer.device.type in GPUS else buffer.numpy()


def arrays(*buffers: torch.Tensor) -> Sequence[Any]:
    """`array` of several buffers, which lie where the first one does."""
    return buffers if buffers[0].device.type in GPUS else [*map(torch.Tensor.numpy, buffers)]


def buffer(array: Any) -> torch.Tensor:
    return array if isinstance(array, torch.Tensor) else torch.from_numpy(array)


def wide_array(values: torch.Tensor) -> Any:
    """`array` of a buffer, contiguous and of the next wider dtype that has loops."""
    if values.dtype not in LOOP_DTYPES:
        wider = torch.float32 if values.is_floating_point() else torch.int64
        values = values.to(torch.complex128 if values.is_complex() else wider)
    return array(values.resolve_conj().contiguous())


def buffer_like(values: Any, like: torch.Tensor) -> torch.Tensor:
    """`buffer` of an array, of the dtype of `like`."""
    made = buffer(values)
    return made if made.dtype is like.dtype else made.to(like.dtype)


def empty(shape: Any, like: Any, kind: str = "") -> Any:
    """An array where `like` is, of its dtype or of the one named `kind`; a large one is lent."""
    if isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, kind) if kind else like.dtype, device=like.device)
    dtype = np.dtype(kind or like.dtype)
    if np.prod(shape) * dtype.itemsize < LENT_FROM:
        return np.empty(shape, dtype)
    return lent(np.atleast_1d(shape).tolist(), getattr(torch, dtype.name)).numpy()


def dispatch(loop: Kernel, gpu: str) -> Kernel:
    """The choice between CPU and CUDA: a kernel that runs `loop` when its first array is NumPy's, and the one
    named `gpu` when it is a buffer. The caller made it so by `array`, which asks for the device.

    The first array is the first argument, or the first item of the tuple that it is; the others are where it
    is.
    gpu: "cuda_sparse.softmax", for example. Its module is imported at the first call with a buffer.
    """

    @wraps(loop, updated=())
    def kernel(*args: Any) -> Any:
        first = args[0]
        if type(first) is tuple:
            first = first[0]
        return (loop if type(first) is not torch.Tensor else gpu_kernel(gpu))(*args)

    chosen: Any = kernel
    return chosen


@cache
def gpu_kernel(name: str) -> Callable[..., Any]:
    """The function "module.name" of this package."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return found
