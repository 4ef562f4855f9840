"""Of Paddle's static graphs only the description of an input, and what changes nothing where there are none.

Every other name is a stand-in: a program can import it, and hears that there are no static graphs when it uses it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .dtype import DTYPES, CPUPlace, as_dtype
from .tensor import Tensor


class NoStaticGraph(NotImplementedError, AttributeError):
    """Asked for a part of static graphs. An AttributeError as well, so that `hasattr` says no."""


@dataclass(unsafe_hash=True, repr=False)
class InputSpec:
    """Shape (None or -1 for any length), dtype and name of an input."""

    shape: Sequence[int | None]
    dtype: Any = "float32"
    name: str | None = None
    stop_gradient: bool = False

    def __post_init__(self) -> None:
        self.shape = tuple(-1 if n is None else int(n) for n in self.shape)
        self.dtype = DTYPES[as_dtype(self.dtype)]

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec:
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray, name: str | None = None) -> InputSpec:
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: int) -> InputSpec:
        """With an axis of this length in front."""
        self.shape = (int(batch_size), *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Without the first axis."""
        self.shape = self.shape[1:]
        return self

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )


class _Absent(type):
    """The class of stand-ins: calling one, or asking it for anything, raises NoStaticGraph."""

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        raise NoStaticGraph(cls.__doc__)

    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NoStaticGraph(cls.__doc__)


def absent(name: str) -> Any:
    """A stand-in for something of static graphs or of Paddle's C++ core."""
    text = f"{name}: Sampan runs operators at once on torch's buffers, without static graphs or a C++ core"
    return _Absent(name.rpartition(".")[2], (), {"__doc__": text})


# --- guards: what they change in a static graph, there is none of in a dynamic program ---


def _no_guard(*args: Any, **settings: Any) -> contextlib.AbstractContextManager[None]:
    """Nothing changes inside."""
    return contextlib.nullcontext()


name_scope = device_guard = ipu_shard_guard = _no_guard


def _module(name: str, **values: Any) -> ModuleType:
    """A module of static graphs: these values, and stand-ins for any other name."""
    made: Any = ModuleType(f"{__name__}.{name}")
    sys.modules[made.__name__] = made
    vars(made).update(values, __getattr__=lambda other: _stand_in(f"{name}.{other}"))
    return made


def _stand_in(name: str) -> Any:
    if name.rpartition(".")[2].startswith("__"):
        raise AttributeError(name)
    return absent(f"static.{name}")


__path__: list[str] = []  # so that `import` looks for the modules inside
bf16 = _module("amp.bf16", bf16_guard=_no_guard)
amp = _module("amp", fp16_guard=_no_guard, bf16=bf16, __path__=[])
del bf16  # `static.bf16` is no name of Paddle's


def default_main_program() -> SimpleNamespace:
    """What takes a `random_seed`, and nothing else."""
    return SimpleNamespace(random_seed=0)


default_startup_program = default_main_program


def to_static(function=None, **settings):  # type: ignore[no-untyped-def]
    """The function or layer as it is: it runs at once, as Paddle's does after `enable_to_static(False)`."""
    return (lambda given: given) if function is None else function


def not_to_static(func=None):  # type: ignore[no-untyped-def]
    """The function as it is."""
    return to_static(func)


def enable_to_static(enable_to_static_bool):  # type: ignore[no-untyped-def]
    """Nothing to do: functions run at once, either way."""


test_with_pir_api = test_with_dygraph_pir = test_with_old_ir_only = not_to_static


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """As many of them as were asked for."""
    return [CPUPlace() for _ in range(device_count or 1)]


def __getattr__(name: str) -> Any:
    return _stand_in(name)
