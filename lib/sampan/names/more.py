"""Functions of further modules of Paddle, a few of each."""

import copy
import functools
import logging
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

import numpy as np
import torch

from .. import nn
from ..creation import full
from ..dtype import as_dtype
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..ops.joining import stack, unstack
from ..random import normal

# --- paddle.tensor ---


def fill_constant(shape, dtype, value, force_cpu=False, out=None, place=None, name=None):
    """`full` with another order of arguments; `out`: the Tensor to write to."""
    value = value.item() if isinstance(value, Tensor) else value
    made = full([shape] if isinstance(shape, int) else shape, value, dtype).to("cpu" if force_cpu else place)
    if out is None:
        return made
    out.set_value(made)
    return out


def create_tensor(dtype, name=None, persistable=False):
    """An empty tensor."""
    return nn.Layer(dtype=as_dtype(dtype)).create_tensor(name, persistable, dtype)


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """Samples of a normal distribution."""
    drawn = normal(float(mean), float(std), shape)
    return drawn if dtype is None else drawn.astype(dtype)


def gaussian_(x, mean=0.0, std=1.0, seed=0, name=None):
    """Overwrite with samples of a normal distribution."""
    return x.normal_(mean, std)


def create_array(dtype, initialized_list=None):
    """A list of tensors."""
    made = [] if initialized_list is None else list(initialized_list)
    if not isinstance(initialized_list, list | tuple | None):
        raise InvalidType(
            f"initialized_list: expected a list or tuple, got {type(initialized_list).__name__}"
        )
    if strange := [type(t).__name__ for t in made if not isinstance(t, Tensor)]:
        raise InvalidType(f"initialized_list: expected Tensors, got {strange}")
    return made


def array_length(array):
    """The length of a list of `create_array`."""
    if not isinstance(array, list):
        raise AssertionError(f"array: expected a list, got {type(array).__name__}")
    return len(array)


def array_read(array, i):
    """The entry at index i, a Tensor with one integer."""
    array_length(array)
    return array[int(i.item())]


def array_write(x, i, array=None):
    """Write x at index i, a Tensor with one integer: replaces an entry, or appends."""
    array = create_array(x.dtype) if array is None else array
    place = int(i.item())
    if place > array_length(array):
        raise AssertionError(f"i: expected at most {len(array)}, got {place}")
    array[place : place + 1] = [x]
    return array


# --- paddle.nn ---


def split_states(states, bidirectional=False, state_components=1):
    """The states of a recurrent network, [layers * directions, batch, features], by layer and direction."""
    if state_components == 1:
        parts = unstack(states)
    elif len(states) != state_components:
        raise AssertionError(f"states: expected {state_components} components, got {len(states)}")
    else:
        parts = list(zip(*(unstack(s) for s in states), strict=True))
    return list(zip(parts[::2], parts[1::2], strict=True)) if bidirectional else parts


def concat_states(states, bidirectional=False, state_components=1):
    """The inverse of `split_states`."""
    flat = [s for pair in states for s in pair] if bidirectional else list(states)
    if state_components == 1:
        return stack(flat)
    return tuple(stack(list(part)) for part in zip(*flat, strict=True))


def rnn(
    cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False, **kwargs
):
    """Run a cell over time: (outputs, last states)."""
    return nn.RNN(cell, is_reverse, time_major)(inputs, initial_states, sequence_length, **kwargs)


def birnn(cell_fw, cell_bw, inputs, initial_states=None, sequence_length=None, time_major=False, **kwargs):
    """Run two cells over time, forward and backward: (concatenated outputs, last states of both)."""
    return nn.BiRNN(cell_fw, cell_bw, time_major)(inputs, initial_states, sequence_length, **kwargs)


class XavierInitializer(nn.initializer.XavierNormal):
    """Xavier's initializer, uniform or normal."""

    def __init__(
        self, uniform: bool = True, fan_in: Any = None, fan_out: Any = None, seed: int = 0, gain: float = 1.0
    ) -> None:
        super().__init__(fan_in, fan_out, gain)
        kind = nn.initializer.XavierUniform if uniform else nn.initializer.XavierNormal
        self.fill = kind(fan_in, fan_out, gain).fill  # type: ignore[method-assign]  # chosen by `uniform`


class MSRAInitializer(nn.initializer.KaimingNormal):
    """Kaiming's initializer, uniform or normal."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: Any = None,
        seed: int = 0,
        negative_slope: float = 0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        super().__init__(fan_in, negative_slope, nonlinearity, mode)
        kind = nn.initializer.KaimingUniform if uniform else nn.initializer.KaimingNormal
        # Chosen by `uniform`.
        self.fill = kind(fan_in, negative_slope, nonlinearity, mode).fill  # type: ignore[method-assign]


def _convert_attention_mask(attn_mask, dtype):
    """A mask as an additive bias of the scores: True or 1 becomes 0, False or 0 becomes -1e9."""
    if attn_mask is None or attn_mask.dtype == as_dtype(dtype):
        return attn_mask
    cast = attn_mask.astype(dtype)
    return cast if attn_mask.is_floating_point() else (cast - 1.0) * 1e9


def _convert_param_attr_to_list(param_attr, n):
    """A list of `n` ParamAttrs (False for no parameter): the entries of a list, or numbered copies of a named
    one."""
    many = isinstance(param_attr, list | tuple)
    if many and len(param_attr) != n:
        raise AssertionError(f"param_attr: expected {n} entries, got {len(param_attr)}")
    made = [nn.ParamAttr.of(None if a is True else a) for a in (param_attr if many else [param_attr] * n)]
    for i, attr in enumerate(made):
        if attr is not None and not many:
            made[i] = attr = copy.deepcopy(attr)
            attr.name = f"{attr.name}_{i}" if attr.name else None
    return [False if attr is None else attr for attr in made]


# --- paddle.amp ---


class OptimizerState(Enum):
    """What a GradScaler has done with an optimizer since its last update."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


# --- paddle.autograd ---


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a PyLayer's backward: its result is not differentiable."""

    @functools.wraps(backward)
    def run(*args: Any) -> Any:
        with no_grad():
            return backward(*args)

    return run


# --- paddle.vision ---


class IntermediateLayerGetter(nn.LayerDict):
    """The first layers of a network, up to the last of `return_layers`: {name: name in the result}; calling
    it gives those outputs."""

    def __init__(self, model: nn.Layer, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers) <= set(children):
            raise InvalidArgument(
                f"return_layers: expected names of {sorted(children)}, got {sorted(return_layers)}"
            )
        names = list(children)
        last = max((names.index(name) for name in return_layers), default=-1)
        super().__init__({name: children[name] for name in names[: last + 1]})
        self.return_layers = dict(return_layers)

    def forward(self, x: Any) -> dict[str, Any]:
        out = {}
        for name, layer in self.items():
            # Networks flatten the input of their linear layers in `forward`, which is not called here.
            x = layer(x.flatten(1) if isinstance(layer, nn.Linear) and x.ndim == 4 else x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


# --- paddle.utils, paddle.base, paddle.sysconfig ---


class VisibleDeprecationWarning(UserWarning):
    """A deprecation that is shown without a filter."""


def strtobool(val: str) -> bool:
    """True for y, yes, t, true, on, 1; False for n, no, f, false, off, 0. ValueError otherwise."""
    if (text := val.lower()) in ("y", "yes", "t", "true", "on", "1"):
        return True
    if text in ("n", "no", "f", "false", "off", "0"):
        return False
    raise InvalidArgument(f"strtobool: expected a word for true or false, got {val!r}")


def get_logger(name: str, level: int, fmt: str | None = None) -> logging.Logger:
    """A logger that writes to standard error."""
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(fmt))
        logger.addHandler(handler)
    return logger


def get_include() -> NoReturn:
    """NotImplementedError: there are no C++ headers."""
    raise NotImplementedError("sysconfig.get_include: Sampan has no C++ headers; its kernels are Python")


def get_lib() -> NoReturn:
    """NotImplementedError: there is no C++ library."""
    raise NotImplementedError("sysconfig.get_lib: Sampan has no C++ library; its kernels are Python")


# --- paddle.nn.functional.loss ---


def edit_distance(
    input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None
) -> tuple[Tensor, Tensor]:
    """Levenshtein distance: (the number of sequences int64 [1], the distance of input and label float32
    [n, 1]).

    input, label: int64 [n, length]; input_length, label_length: [n], the valid length of each row (default:
    all). normalized: divide by the label's length; ValueError if it is 0 (Levenshtein, 1966).
    """
    if ignored_tokens:
        raise InvalidArgument(f"ignored_tokens: expected None, got {ignored_tokens}")
    if input.ndim != 2 or label.ndim != 2 or len(input) != len(label):
        raise InvalidArgument(
            f"edit_distance: expected [n, length] twice, got {[*input.shape]} and {[*label.shape]}"
        )
    found = []
    lengths = [
        [x.shape[1]] * len(x) if n is None else n.tolist()
        for x, n in ((input, input_length), (label, label_length))
    ]
    for tokens, target, used, count in zip(input.numpy(), label.numpy(), *lengths, strict=True):
        if normalized and not count:
            raise InvalidArgument("label_length: expected 1 or more where normalized, got 0")
        row = places = np.arange(count + 1)
        # row[j]: the distance from the tokens so far to the first j target tokens
        for token in tokens[:used]:
            changed = np.minimum(row[1:] + 1, row[:-1] + (target[:count] != token))
            row = np.minimum.accumulate(np.append(row[:1] + 1, changed) - places) + places
        found.append([row[-1] / (count if normalized else 1)])
    return Tensor(torch.tensor([len(found)])), Tensor(torch.tensor(found, dtype=torch.float32).reshape(-1, 1))
