"""Devices, memory and streams of GPUs. `paddle.device.cuda` is this module too.

Functions that need a GPU raise ValueError without one.
"""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..dtype import as_device, set_device
from ..dtype import get_device as get_device
from ..dtype import is_compiled_with_cuda as is_compiled_with_cuda
from ..engine.tensor import InvalidArgument
from ..random import get_rng_state as _rng_states
from ..random import seed as start
from ..random import set_rng_state as _set_rng_states
from .framework import CONSTRUCTORS

globals().update(CONSTRUCTORS)
__path__: list[str] = []  # makes this module a package, so that `import` finds the modules inside
cuda = sys.modules[f"{__name__}.cuda"] = sys.modules[__name__]
device_count, is_available = torch.cuda.device_count, torch.cuda.is_available
empty_cache = torch.cuda.empty_cache


def manual_seed(seed):
    """Seed every generator; unlike `sampan.seed` it returns None."""
    start(seed)


manual_seed_all = manual_seed
get_default_device = get_device


def set_default_device(device):
    """`set_device`, but it returns None."""
    set_device(device)


def is_bf16_supported(including_emulation=True):
    """Whether the GPU computes in bfloat16."""
    return is_available() and torch.cuda.is_bf16_supported(including_emulation)


def is_compiled_with_distribute():
    """Whether torch.distributed is available."""
    return torch.distributed.is_available()


def is_compiled_with_rocm():
    """Whether the installed torch is built with ROCm."""
    return torch.version.hip is not None


def is_compiled_with_custom_device(device_type):
    """False: only CPUs and GPUs are supported."""
    return False


def is_compiled_with_xpu():
    """False: only CPUs and GPUs are supported, and static graphs are not compiled."""
    return False


def get_all_custom_device_type():
    """None: only CPUs and GPUs are supported."""
    return []


is_compiled_with_cinn = is_compiled_with_ipu = is_compiled_with_xpu
get_available_custom_device = get_all_custom_device_type


def get_all_device_type():
    """Kinds of devices that can be selected by name."""
    return ["cpu", "gpu"] if is_available() else ["cpu"]


def get_available_device():
    """Names of the available devices."""
    return ["cpu", *(f"gpu:{i}" for i in range(device_count()))]


def get_cudnn_version():
    """cuDNN's version as an int, None without it."""
    return torch.backends.cudnn.version() if is_available() else None


# --- GPUs, by torch's functions ---


def _gpu(device: Any, what: str) -> int:
    if not is_available():
        raise InvalidArgument(f"device.{what}: expected a GPU, found none")
    if device is None:
        return torch.cuda.current_device()
    return device if isinstance(device, int) else as_device(device).index or 0


def _of_gpu(name: str) -> Callable[..., Any]:
    def call(device=None):
        return getattr(torch.cuda, name)(_gpu(device, name))

    call.__doc__ = f"torch.cuda's `{name}` of a GPU, the current one when None. ValueError without one."
    return call


current_stream, synchronize = _of_gpu("current_stream"), _of_gpu("synchronize")
get_device_capability, get_device_name = _of_gpu("get_device_capability"), _of_gpu("get_device_name")
get_device_properties = _of_gpu("get_device_properties")
max_memory_allocated, max_memory_reserved = _of_gpu("max_memory_allocated"), _of_gpu("max_memory_reserved")
memory_allocated, memory_reserved = _of_gpu("memory_allocated"), _of_gpu("memory_reserved")
reset_peak_memory_stats = _of_gpu("reset_peak_memory_stats")
reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def ipc_collect():
    """Release memory that other processes no longer use."""
    _gpu(None, "ipc_collect")
    torch.cuda.ipc_collect()


def is_current_stream_capturing():
    """Whether a CUDA graph is being recorded."""
    return is_available() and torch.cuda.is_current_stream_capturing()


def Stream(device=None, priority=2, stream_base=None):
    """A CUDA stream. priority: 1 high, 2 normal."""
    return stream_base or torch.cuda.Stream(_gpu(device, "Stream"), priority=priority - 2)


def Event(enable_timing=False, blocking=False, interprocess=False):
    """A CUDA event in a stream, for synchronization and timing."""
    _gpu(None, "Event")
    return torch.cuda.Event(enable_timing, blocking, interprocess)


def get_stream_from_external(data_ptr, device=None):
    """A stream that another library created, by its address."""
    return torch.cuda.ExternalStream(data_ptr, _gpu(device, "get_stream_from_external"))


def set_stream(stream):
    """Make a stream the current one; returns the previous one."""
    before = torch.cuda.current_stream(_gpu(None, "set_stream"))
    torch.cuda.set_stream(stream)
    return before


def stream_guard(stream=None):
    """`with stream_guard(stream):` runs the body on the stream; None changes nothing."""
    return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


StreamContext = stream_guard

# --- the current device, and states of generators ---


class device:
    """Context manager: new tensors are created on `device`, a name, a Place or the number of a GPU."""

    def __init__(self, device: Any = None) -> None:
        number = isinstance(device, int)
        self._wanted = None if number and device < 0 else f"gpu:{device}" if number else device

    def __enter__(self) -> None:
        self._before = get_device()
        if self._wanted is not None:
            set_device(self._wanted)

    def __exit__(self, *error: Any) -> None:
        set_device(self._before)


_guard = device


def device_guard(device):
    """`with device_guard("cpu"):` creates new tensors there."""
    return _guard(device)


def _position(device: Any) -> int:
    """Index of a device's state in the list of states."""
    chosen = as_device(device)
    return 0 if chosen.type == "cpu" else 1 + (chosen.index or 0)


def get_rng_state(device=None):
    """The state of one device's generator."""
    return _rng_states()[_position(device)]


def set_rng_state(new_state, device=None):
    """Continue from a state that `get_rng_state` returned."""
    states = _rng_states()
    states[_position(device)] = new_state
    _set_rng_states(states)
