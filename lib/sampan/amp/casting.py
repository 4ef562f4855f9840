"""Which operator computes in which precision.

`auto_cast` hangs off `apply`: while it is on, an operator's floating inputs are cast before it runs, on the
tape, so that gradients come back in the precision of what was cast. Unlike Paddle's it works on the CPU too.
"""

from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ..dtype import as_device, as_dtype, name_of
from ..engine.apply import observed_by, observer_of
from ..engine.operator import Operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..nn import Layer
from ..nn import norm as norms

__all__ = [
    "amp_guard",
    "auto_cast",
    "autocast",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
]

# Which operator computes in which precision is the fact `amp` of its declaration.
PADDLE = {  # Paddle's names for custom lists
    "matmul": ("mm", "batched_matmul"),
    "matmul_v2": ("mm", "batched_matmul"),
    "mul": ("mm",),
    "linear_v2": ("mm", "affine"),
    "linear": ("mm", "affine"),
    "conv2d": ("convolve",),
    "conv1d": ("convolve",),
    "conv3d": ("convolve",),
    "flash_attn": ("fused_attention",),
    "elementwise_add": ("add",),
    "elementwise_sub": ("subtract",),
    "elementwise_mul": ("multiply",),
    "elementwise_div": ("divide",),
    "elementwise_pow": ("pow",),
    "reduce_sum": ("sum",),
    "reduce_mean": ("mean",),
    "reduce_prod": ("prod_along",),
    "reduce_max": ("max",),
    "reduce_min": ("min",),
    "layer_norm": ("normalize_layer",),
    "group_norm": ("normalize_groups",),
    "batch_norm": ("normalize_batch",),
    "cross_entropy": ("mean_cross_entropy",),
    "softmax_with_cross_entropy": ("mean_cross_entropy",),
    "pnorm": ("p_norm",),
    "lookup_table_v2": ("rows_at",),
    "sparse_conv3d": ("sparse_conv",),
    "concat": ("concat_tensors",),
    "stack": ("stack_tensors",),
}
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_WIDE = {"O1": ("float32", "float32_always"), "O2": ("float32_always",), "OD": ()}  # what of `amp`, by level
last_dtype = "float32"  # of the last auto_cast that was entered: what a GradScaler goes by


class Casting:
    """Casts an operator's inputs, by its `amp` and the level: O1 all but what needs float32 where nothing
    asks for float32, O2 all but what must stay in float32; OD only what gains by half precision.

    white, black: names of operators that are cast to half precision, or to float32, all the same.
    """

    def __init__(
        self, level: str, dtype: torch.dtype, white: set[str], black: set[str], promote: bool
    ) -> None:
        self.level, self.dtype, self.white, self.black, self.promote = level, dtype, white, black, promote
        self.wide = _WIDE[level]

    def __call__(self, operator: Operator, args: tuple[Any, ...]) -> tuple[Any, ...]:
        found = {a.data.dtype for a in args if isinstance(a, Tensor) and a.data.dtype in _FLOATS}
        if not found or operator.amp == "as_is":
            return args
        asks = "half" if operator.name in self.white else operator.amp
        rises = asks != "half" and self.promote and (self.level == "OD" or torch.float32 in found)
        wide = rises or asks in self.wide or operator.name in self.black
        kind = torch.float32 if wide else self.dtype
        if found == {kind}:
            return args
        return tuple(a.astype(kind) if isinstance(a, Tensor) and a.data.dtype in _FLOATS else a for a in args)


class AutoCast(NamedTuple):
    """An observer with what casts arguments; None within an `auto_cast` that is off."""

    cast: Casting | None


def _names(custom: Iterable[str] | None) -> set[str]:
    return {own for name in custom or () for own in PADDLE.get(name, (name,))}


@contextmanager
def auto_cast(
    enable=True, custom_white_list=None, custom_black_list=None, level="O1", dtype="float16", use_promote=True
):
    """Run operators in half precision where that pays. dtype: "float16" or "bfloat16".

    level "O1": the white list (products, convolutions, attention) is cast, the black list (exp, log, sums,
    softmax, losses, norms) stays in float32, others go by their inputs; "O2": all but a few, float32 only
    where an input is (not even there with use_promote=False), for networks from `decorate`; "OD": the white
    list alone; "O0": nothing.
    custom_white_list, custom_black_list: names of operators, Paddle's or this library's, added to the lists.
    """
    global last_dtype
    level, name = level.upper(), dtype.lower() if isinstance(dtype, str) else name_of(as_dtype(dtype))
    if level not in ("O0", "OD", "O1", "O2"):
        raise InvalidArgument(f"level: expected 'O0', 'OD', 'O1' or 'O2', got {level!r}")
    if enable and name not in ("float16", "bfloat16"):
        raise InvalidArgument(f"dtype: expected 'float16' or 'bfloat16', got {dtype!r}")
    white, black = _names(custom_white_list), _names(custom_black_list)
    if white & black:
        raise InvalidArgument(f"custom_white_list, custom_black_list: {sorted(white & black)} in both")
    last_dtype = name
    cast = None  # what is off inside what is on is off
    if enable and level != "O0":
        cast = Casting(level, as_dtype(name), white, black, use_promote or level != "O2")
    with observed_by(AutoCast(cast)):
        yield


amp_guard = auto_cast  # its older name


def autocast(device_type=None, dtype="float16", enabled=True, cache_enabled=True):
    """torch's spelling of `auto_cast`."""
    return auto_cast(enabled, dtype=dtype)


def is_autocast_enabled(device_type: Any = None) -> bool:
    """Whether the current thread runs inside an enabled `auto_cast`."""
    return observer_of("cast") is not None


def get_autocast_dtype(device_type: Any = None) -> str:
    """The dtype of the present `auto_cast`, float16 outside."""
    cast = observer_of("cast")
    return "float16" if cast is None else name_of(cast.dtype)


get_autocast_cpu_dtype = get_autocast_gpu_dtype = get_autocast_dtype


def is_float16_supported(device: Any = None) -> bool:
    """Whether mixed precision pays in it: on a GPU. A CPU computes in it too, but slowly."""
    return as_device(device).type != "cpu"


def is_bfloat16_supported(device: Any = None) -> bool:
    """True: on every device."""
    return True


def _many(value: Any, kind: Any, name: str) -> list[Any]:
    listed = list(value) if isinstance(value, list | tuple) else [value]
    for item in listed:
        if not isinstance(item, kind):
            raise InvalidType(f"{name}: expected a {kind.__name__} or several, got {type(item).__name__}")
    return listed


def decorate(
    models,
    optimizers=None,
    level="O1",
    dtype="float16",
    master_weight=None,
    save_dtype=None,
    master_grad=False,
    excluded_layers=None,
):
    """Networks and optimizers for mixed precision. At level "O2" parameters become `dtype`, but for those of
    batch norm (float16: of layer and instance norm too) and of excluded_layers (layers or their classes), and
    optimizers step in float32 copies unless master_weight is False. A layer with `_amp_decorate(dtype)`
    converts its own. save_dtype: what `state_dict` gives. "O1" changes nothing.
    """
    if level not in ("O1", "O2"):
        raise InvalidArgument(f"level: expected 'O1' or 'O2', got {level!r}")
    if dtype not in ("float16", "bfloat16"):
        raise InvalidArgument(f"dtype: expected 'float16' or 'bfloat16', got {dtype!r}")
    if save_dtype not in (None, "float16", "bfloat16", "float32", "float64"):
        raise InvalidArgument(f"save_dtype: expected a floating dtype's name, got {save_dtype!r}")
    if level == "O2":
        from ..optimizer import Optimizer

        listed = excluded_layers or []
        listed = listed if isinstance(listed, list | tuple) else [listed]
        spared = {s for e in listed if isinstance(e, Layer) for s in e.sublayers(include_self=True)}
        spared_too = (norms.LayerNorm, norms._InstanceNorm) if dtype == "float16" else ()
        listed_kinds = (e for e in listed if isinstance(e, type))
        kinds = (*listed_kinds, norms._BatchNorm, *spared_too)  # sparse batch norms too
        for layer in (s for m in _many(models, Layer, "models") for s in m.sublayers(include_self=True)):
            if layer not in spared and not isinstance(layer, kinds):
                getattr(layer, "_amp_decorate", layer._convert)(as_dtype(dtype))
        for model in _many(models, Layer, "models") if save_dtype else ():
            model.register_state_dict_hook(lambda state: _saved(state, as_dtype(save_dtype)))
        for optimizer in _many(optimizers, Optimizer, "optimizers") if optimizers is not None else ():
            optimizer._multi_precision = master_weight is not False
    return models if optimizers is None else (models, optimizers)


def _saved(state: dict[str, Any], dtype: torch.dtype) -> None:
    for key, tensor in state.items():
        if tensor.data.is_floating_point():
            state[key] = Tensor(tensor.data.to(dtype))
            state[key].name = tensor.name
