"""Paddle's small names: number formats, places, flags, constructors by dtype, modes, and what else has no
other room."""

import contextlib
from collections.abc import Callable, Iterator
from math import e, inf, nan, pi
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .creation import empty
from .dtype import Place, as_dtype, name_of, set_device
from .engine import printing
from .engine.tensor import Tensor, to_tensor
from .nn.functional import adaptive_avg_pool1d, conv1d, conv2d, conv3d, group_norm, layer_norm
from .nn.layer import Layer
from .random import get_rng_state as _rng_state
from .random import seed
from .random import set_rng_state as _set_rng_state

# fmt: off
__all__ = [
    "CUDAPinnedPlace", "DataParallel", "Generator", "LazyGuard", "adaptive_avg_pool1d", "as_tensor",
    "asarray", "batch", "check_shape", "conv1d", "conv2d", "conv3d", "create_parameter", "disable_compat",
    "disable_signal_handler", "disable_static", "e", "enable_compat", "enable_static", "finfo", "from_dlpack",
    "from_numpy", "get_cuda_rng_state", "get_flags", "group_norm", "iinfo", "in_dynamic_mode", "inf",
    "layer_norm", "manual_seed", "nan", "newaxis", "pi", "set_cuda_rng_state", "set_flags",
    "set_printoptions", "to_dlpack",
]
# fmt: on

# --- numbers and printing ---

newaxis = None


class Limits(SimpleNamespace):
    """What `finfo` and `iinfo` answer: torch's facts of these names, printed as Paddle prints them."""

    def __init__(self, info: Any, names: str) -> None:
        super().__init__(**{name: getattr(info, name) for name in names.split()})

    def __repr__(self) -> str:
        facts = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in vars(self).items())
        return f"paddle.{'finfo' if hasattr(self, 'eps') else 'iinfo'}({', '.join(facts)})"


def finfo(dtype):
    """Limits of a floating or complex dtype: min, max, eps, tiny, resolution, bits. Raises ValueError for
    others."""
    kind = as_dtype(dtype)
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(f"finfo: expected a floating or complex dtype, got {name_of(kind)}")
    return Limits(torch.finfo(kind), "min max eps resolution smallest_normal tiny bits dtype")


def iinfo(dtype):
    """Limits of an integer dtype: min, max, bits. Raises ValueError for others."""
    kind = as_dtype(dtype)
    if kind.is_floating_point or kind.is_complex or kind is torch.bool:
        raise ValueError(f"iinfo: expected an integer dtype, got {name_of(kind)}")
    return Limits(torch.iinfo(kind), "min max bits dtype")


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """How tensors are printed: digits, from how many values on they are shortened, to how many at each edge;
    whether as 1.5e+00; characters a line. None leaves a setting as it is."""
    given = dict(
        precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode
    )
    for name, value in given.items():
        if value is not None and not isinstance(value, type(printing.options[name])):
            raise TypeError(f"set_printoptions: {name} cannot be {value!r}")
    printing.options.update({name: value for name, value in given.items() if value is not None})


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


def set_flags(flags):
    """Keep values for names that begin with FLAGS_. They change nothing here: torch has settings of its
    own."""
    if not isinstance(flags, dict):
        raise TypeError(f"set_flags: expected a dict, got {type(flags).__name__}")
    unknown = [name for name in flags if not str(name).startswith("FLAGS_")]
    if unknown:
        raise ValueError(f"set_flags: expected names that begin with FLAGS_, got {unknown}")
    _flags.update(flags)


def get_flags(flags):
    """The values of flags, by name. Raises ValueError for one that has none."""
    if not isinstance(flags, (str, list, tuple)):
        raise TypeError(f"get_flags: expected a name or a list of names, got {type(flags).__name__}")
    names = [flags] if isinstance(flags, str) else list(flags)
    if unknown := [name for name in names if name not in _flags]:
        raise ValueError(f"get_flags: no flag has the name {', '.join(map(repr, unknown))}")
    return {name: _flags[name] for name in names}


def in_dynamic_mode():
    """Whether operators run at once. False only after `enable_static`, for programs that ask before they
    choose."""
    return _modes["dynamic"]


def enable_static():
    """Remember that a program wants static graphs. There are none: whatever needs one (`static.Program`, ...)
    raises NotImplementedError when it is used, and dynamic parts of the same program run."""
    _modes["dynamic"] = False


def disable_static(place=None):
    """Go on in dynamic mode, on `place` where one is given."""
    _modes["dynamic"] = True
    if place is not None:
        set_device(place)


def set_mode(dynamic: bool) -> None:
    _modes["dynamic"] = dynamic


def disable_signal_handler():
    """Nothing to do: no signal handler is installed."""


def enable_compat(*, scope=None, blocked_modules=None, backend="torch", silent=False):
    """Refused: torch is what Sampan's buffers are made of, so `import torch` has to give torch."""
    raise NotImplementedError("enable_compat: `import torch` gives torch here, and Sampan is built on it")


def disable_compat():
    """Nothing to do: `import torch` gives torch."""


def LazyGuard():
    """Paddle's context for layers whose parameters are made later. Here they are made at once."""
    return contextlib.nullcontext()


# --- generators ---

manual_seed = seed


def Generator(device=None):
    """A generator of random numbers with a state of its own."""
    return torch.Generator("cpu" if device is None else device)


def get_cuda_rng_state():
    """The states of the GPUs' generators; an empty list without a GPU."""
    return _rng_state()[1:]


def set_cuda_rng_state(state_list):
    """Continue from states that `get_cuda_rng_state` returned. Raises ValueError for another number of
    them."""
    if len(state_list) != torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ValueError(f"set_cuda_rng_state: expected {count} states, got {len(state_list)}")
    _set_rng_state([*_rng_state()[:1], *state_list])


# --- tensors from elsewhere ---


def CUDAPinnedPlace():
    """Memory of the host that a GPU reads directly. Raises RuntimeError without a GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("CUDAPinnedPlace: there is no GPU to pin memory for")
    return Place("cpu")


def as_tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """torch's spelling of `to_tensor`."""
    made = to_tensor(data, dtype, device, not requires_grad)
    return made.pin_memory() if pin_memory else made


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """NumPy's spelling of `to_tensor`; it always copies."""
    return to_tensor(obj, dtype, device, not requires_grad)


def from_numpy(ndarray):
    """A tensor of an array's values. Raises TypeError for anything else."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: expected a NumPy array, got {type(ndarray).__name__}")
    return to_tensor(ndarray)


def from_dlpack(dlpack, *, device=None, copy=None):
    """A tensor over the memory of any array that speaks DLPack (or of its capsule)."""
    if not hasattr(dlpack, "__dlpack__") and type(dlpack).__name__ != "PyCapsule":
        kind = type(dlpack).__name__
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, or a capsule, got {kind}")
    made = Tensor(torch.from_dlpack(dlpack)).to(device)
    return made.clone() if copy else made


def to_dlpack(x):
    """A DLPack capsule over this tensor's memory."""
    if not isinstance(x, Tensor):
        raise TypeError(f"to_dlpack: expected a Tensor, got {type(x).__name__}")
    return torch.to_dlpack(x.data)


def check_shape(
    shape,
    op_name,
    expected_shape_type=(list, tuple),
    expected_element_type=(int,),
    expected_tensor_dtype=("int32", "int64"),
):
    """Nothing to do: shapes are checked where they are used."""


def _constructor(name: str, kind: torch.dtype) -> Callable[..., Tensor]:
    def make(*args, **kwargs):
        device = kwargs.get("device")
        if len(args) == 1 and not isinstance(args[0], int):
            if isinstance(args[0], float):
                raise ValueError(f"{name}: expected lengths, a sequence, array or Tensor, got {args[0]!r}")
            return to_tensor(args[0], kind, device)
        return empty(list(args) or [0], kind).to(device)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A {name_of(kind)} tensor: `{name}(2, 3)` of a shape, `{name}(values)` of values."
    return make


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


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A Parameter outside a layer: bias zeros, weights XavierUniform unless told."""
    made: Any = Layer().create_parameter(list(shape), attr, dtype, is_bias, default_initializer)
    if name is not None:
        made.name = name
    return made


def batch(reader, batch_size, drop_last=False):
    """A reader (a function that returns an iterator) of lists of `batch_size` entries of another reader."""
    if batch_size <= 0:
        raise ValueError(f"batch: expected a batch_size above 0, got {batch_size}")

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


class DataParallel(Layer):
    """A layer as one of several processes would train it; with one process it only passes through."""

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: int = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Any = None,
    ) -> None:
        super().__init__()
        self._layers = layers
        for name in ("state_dict", "set_state_dict", "set_dict", "load_dict"):
            object.__setattr__(self, name, getattr(layers, name))

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        return self._layers(*inputs, **settings)

    def no_sync(self) -> Any:
        """Steps whose gradients are not exchanged: with one process, none are."""
        return contextlib.nullcontext()

    def scale_loss(self, loss: Tensor) -> Tensor:
        return loss

    def apply_collective_grads(self) -> None:
        """Nothing to exchange."""
