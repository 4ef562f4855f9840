"""The embeddings' kernels as they are called: NumPy arrays go to the CPU's loops, torch buffers to the GPU's."""

from collections.abc import Callable
from typing import Any

from . import cpu_embedding, cuda_embedding
from .device_sparse import _on_gpu


def _by_arrays(name: str) -> Callable[..., Any]:
    def pick(*args: Any) -> Any:
        return getattr(cuda_embedding if _on_gpu(args) else cpu_embedding, name)(*args)

    return pick


distinct, sums, step = map(_by_arrays, ("distinct", "sums", "step"))
bag_sums, bag_tops, dots = map(_by_arrays, ("bag_sums", "bag_tops", "dots"))
