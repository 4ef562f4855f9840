"""Names that dynamic-graph programs import from Paddle's inner modules `base` (formerly `fluid`),
`base.core`, `base.framework` and `base.dygraph`. This module stands for all four. Any other name is a
stand-in, which raises an error about static graphs or C++ when it is used."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ..dtype import DTYPES, DataType, Place, as_dtype, get_device, name_of, set_device
from ..engine.backward import is_grad_enabled
from ..engine.tensor import Tensor, to_tensor
from ..nn.parameter import Parameter
from . import device, static
from . import framework as _framework
from .framework import disable_static, enable_static, in_dynamic_mode
from .utils import unique_name as unique_name

__path__: list[str] = []  # makes this module a package, so that `import` finds the modules inside
core = dygraph = framework = sys.modules[__name__]
for _name in ("core", "dygraph", "framework"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
sys.modules[f"{__name__}.unique_name"] = unique_name

_OLD_NAMES = {"float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64"}
_KINDS = {kind: kind for kind in ("DENSE_TENSOR", "DENSE_TENSOR_ARRAY", "SELECTED_ROWS", "STRINGS", "RAW")}
VarDesc = SimpleNamespace(
    VarType=SimpleNamespace(
        **{_OLD_NAMES.get(n.lower(), n): d for n, d in DataType.__members__.items()}, **_KINDS
    )
)
eager = SimpleNamespace(Tensor=Tensor)
EnforceNotMet = RuntimeError
EagerParamBase = Parameter
Variable = Tensor
enabled = in_dygraph_mode = in_dynamic_or_pir_mode = in_dynamic_mode
enable_dygraph, disable_dygraph = disable_static, enable_static
get_cuda_device_count = device.device_count
is_compiled_with_dist = device.is_compiled_with_distribute


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Context manager: dynamic mode, on `place` if given."""
    before = in_dynamic_mode()
    disable_static(place)
    try:
        yield
    finally:
        _framework.set_mode(before)


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None
) -> Tensor:
    """The former name of `to_tensor`."""
    return to_tensor(value, dtype)


def in_pir_mode(*args: Any) -> bool:
    """False: a form of static graphs, or hardware or a library that is not used here."""
    return False


# fmt: off
use_pir_api = is_compiled_with_onednn = is_compiled_with_mkldnn = is_compiled_with_brpc = in_pir_mode
supports_bfloat16 = is_float16_supported = is_bfloat16_supported = _is_fwd_prim_enabled = in_pir_mode
_is_bwd_prim_enabled = _is_all_prim_enabled = _is_eager_prim_enabled = in_pir_mode
# fmt: on


def check_type(
    input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = ""
) -> None:
    """Does nothing: an operator checks its arguments when it runs."""


check_variable_and_dtype = check_dtype = check_type


def convert_np_dtype_to_dtype_(np_dtype: Any) -> DataType:
    """The dtype of a Tensor named by a string, a NumPy dtype or another dtype."""
    return DTYPES[as_dtype(np_dtype)]


def convert_dtype(dtype: Any) -> str:
    """The name of a dtype."""
    return name_of(as_dtype(dtype))


def _current_expected_place() -> Place:
    return set_device(get_device())


def _dygraph_tracer() -> SimpleNamespace:
    return SimpleNamespace(_has_grad=is_grad_enabled())


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("data_feeder", "executor", "layer_helper", "layers", "param_attr"):
        return importlib.import_module(f"sampan.base.{name}")
    if name == "ReduceOp":
        return importlib.import_module("sampan.distributed").ReduceOp
    if name in static.OF_GRAPHS:
        return getattr(static, name)
    for module in (static, device, sys.modules["sampan"]):
        if name in vars(module) or (module.__name__ == "sampan" and hasattr(module, name)):
            return getattr(module, name)
    if "set_prim" in name:
        return lambda enabled: None  # there are no primitives to switch
    return static.absent(f"base.{name}")
