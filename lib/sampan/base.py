"""What dynamic-graph programs reach for in Paddle's inner modules `base` (once `fluid`), `base.core`,
`base.framework` and `base.dygraph`: this module is all of them. Any other name says that it belongs to static graphs
or to C++."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from . import device
from . import framework as _framework
from .dtype import NAMES, Place, as_device, as_dtype
from .framework import disable_static, enable_static, in_dynamic_mode
from .static import NoStaticGraph
from .tensor import Tensor, to_tensor

__path__: list[str] = []  # so that `import` looks for the modules inside, which are this one
core = dygraph = framework = sys.modules[__name__]
for _name in ("core", "dygraph", "framework"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]

_OLD_NAMES = {"float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64"}
VarDesc = SimpleNamespace(
    VarType=SimpleNamespace(**{_OLD_NAMES.get(n, n.upper()): d for n, d in NAMES.items()})
)
eager = SimpleNamespace(Tensor=Tensor)
enabled = in_dygraph_mode = in_dynamic_or_pir_mode = in_dynamic_mode
enable_dygraph, disable_dygraph = disable_static, enable_static
convert_np_dtype_to_dtype_ = as_dtype
get_cuda_device_count = device.device_count


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Dynamic mode inside, on `place` where one is given."""
    before = in_dynamic_mode()
    disable_static(place)
    try:
        yield
    finally:
        _framework.set_mode(before)


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None
) -> Tensor:
    """`to_tensor` as it was called."""
    return to_tensor(value, dtype)


def in_pir_mode() -> bool:
    """Never: that is a form of static graphs."""
    return False


def _current_expected_place() -> Place:
    return Place(as_device(None))


def __getattr__(name: str) -> Any:
    for room in (device, sys.modules[__package__]):
        if not name.startswith("__") and hasattr(room, name):
            return getattr(room, name)
    raise NoStaticGraph(
        f"base.{name}: Sampan has neither static graphs nor a C++ core; its buffers are torch tensors"
    )
