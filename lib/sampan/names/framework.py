"""Flags, modes, independent generators and constructors by dtype."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..creation import empty
from ..dtype import Place, name_of, set_device
from ..engine.errors import InvalidArgument, InvalidType, with_name
from ..engine.tensor import Tensor, to_tensor
from ..optimizer.optimizer import Optimizer
from ..random import get_rng_state as _rng_state
from ..random import set_rng_state as _set_rng_state

# fmt: off
__all__ = [
    "CUDAPinnedPlace", "Generator", "LazyGuard", "batch", "check_shape", "disable_compat",
    "disable_signal_handler", "disable_static", "enable_compat", "enable_static", "get_cuda_rng_state",
    "get_flags", "in_dynamic_mode", "set_cuda_rng_state", "set_flags",
]
# fmt: on

# --- flags and modes ---

_flags: dict[str, Any] = {
    "FLAGS_check_nan_inf": False,
    "FLAGS_check_nan_inf_level": 0,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_embedding_deterministic": 0,
    "FLAGS_enable_pir_api": False,
    "FLAGS_prim_all": False,
    "FLAGS_set_to_1d": False,
    "FLAGS_use_stride_kernel": True,
}
_modes = {"dynamic": True}
_CHECK = "FLAGS_check_nan_inf"  # Paddle's spelling, which may be a variable of the environment too
_flags[_CHECK] = os.environ.get(_CHECK, "") in ("1", "True", "true")


def set_flags(flags):
    """Store values for names that begin with FLAGS_. They have no effect, torch has other settings; but
    FLAGS_check_nan_inf lets DataParallel look for gradients that are not finite."""
    if not isinstance(flags, dict):
        raise InvalidType(f"set_flags: expected a dict, got {type(flags).__name__}")
    unknown = [name for name in flags if not str(name).startswith("FLAGS_")]
    if unknown:
        raise InvalidArgument(f"set_flags: expected names that begin with FLAGS_, got {unknown}")
    _flags.update(flags)


def get_flags(flags):
    """The values of flags, by name. Raises ValueError for one that has none."""
    if not isinstance(flags, (str, list, tuple)):
        raise InvalidType(f"get_flags: expected a name or a list of names, got {type(flags).__name__}")
    names = [flags] if isinstance(flags, str) else list(flags)
    if unknown := [name for name in names if name not in _flags]:
        raise InvalidArgument(f"get_flags: no flag has the name {', '.join(map(repr, unknown))}")
    return {name: _flags[name] for name in names}


def in_dynamic_mode():
    """Whether operators run at once. False only after `enable_static`, for programs that
    check the mode."""
    return _modes["dynamic"]


def enable_static():
    """Static mode: what is called on variables is added to `static.default_main_program()`."""
    from .static_graph import building, running  # which dynamic programs need not load

    _modes["dynamic"] = False
    Optimizer.static = running.minimize
    building.start_building()


def disable_static(place=None):
    """Return to dynamic mode, on `place` if given."""
    if not _modes["dynamic"]:
        from .static_graph import building  # loaded by enable_static

        building.stop_building()
    _modes["dynamic"], Optimizer.static = True, None
    if place is not None:
        set_device(place)


def set_mode(dynamic: bool) -> None:
    """Dynamic mode, or static mode."""
    (disable_static if dynamic else enable_static)()


def disable_signal_handler():
    """Does nothing: no signal handler is installed."""


def enable_compat(*, scope=None, blocked_modules=None, backend="torch", silent=False):
    """NotImplementedError: Sampan's buffers are torch tensors, so `import torch` must return torch."""
    raise NotImplementedError("enable_compat: `import torch` gives torch here, and Sampan is built on it")


def disable_compat():
    """Does nothing: `import torch` returns torch."""


def LazyGuard():
    """Paddle's context for lazily created parameters. Here they are created at once."""
    return contextlib.nullcontext()


# --- generators ---


def Generator(device=None):
    """A generator of random numbers with its own state."""
    return torch.Generator("cpu" if device is None else device)


def get_cuda_rng_state():
    """The states of the GPUs' generators; an empty list without a GPU."""
    return _rng_state()[1:]


def set_cuda_rng_state(state_list):
    """Continue from states that `get_cuda_rng_state` returned. Raises ValueError for another number of
    them."""
    if len(state_list) != torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise InvalidArgument(f"set_cuda_rng_state: expected {count} states, got {len(state_list)}")
    _set_rng_state([*_rng_state()[:1], *state_list])


# --- tensors ---


def CUDAPinnedPlace():
    """Pinned host memory. RuntimeError without a GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("CUDAPinnedPlace: there is no GPU to pin memory for")
    return Place("cpu")


def check_shape(
    shape,
    op_name,
    expected_shape_type=(list, tuple),
    expected_element_type=(int,),
    expected_tensor_dtype=("int32", "int64"),
):
    """Does nothing: operators check shapes."""


def _constructor(name: str, kind: torch.dtype) -> Callable[..., Tensor]:
    def make(*args, **kwargs):
        device = kwargs.get("device")
        if len(args) == 1 and not isinstance(args[0], int):
            if isinstance(args[0], float):
                raise InvalidArgument(
                    f"{name}: expected lengths, a sequence, array or Tensor, got {args[0]!r}"
                )
            return to_tensor(args[0], kind, device)
        return empty(list(args) or [0], kind).to(device)

    make.__doc__ = f"A {name_of(kind)} tensor: `{name}(2, 3)` of a shape, `{name}(values)` of values."
    return with_name(name, make)


# fmt: off
_KINDS = {
    "BFloat16": torch.bfloat16, "Bool": torch.bool, "Byte": torch.uint8, "Char": torch.int8,
    "Double": torch.float64, "Float": torch.float32, "Half": torch.float16, "Int": torch.int32,
    "Long": torch.int64, "Short": torch.int16,
}
# fmt: on
CONSTRUCTORS = {f"{name}Tensor": _constructor(f"{name}Tensor", kind) for name, kind in _KINDS.items()}
globals().update(CONSTRUCTORS)
__all__ += sorted(CONSTRUCTORS)

# --- training helpers ---


def batch(reader, batch_size, drop_last=False):
    """A reader (a function that returns an iterator) of lists of `batch_size` entries of another reader."""
    if batch_size <= 0:
        raise InvalidArgument(f"batch: expected a batch_size above 0, got {batch_size}")

    def batches() -> Iterator[list[Any]]:
        filled: list[Any] = []
        for entry in reader():
            filled.append(entry)
            if len(filled) == batch_size:
                yield filled
                filled = []
        if filled and not drop_last:
            yield filled

    return batches
