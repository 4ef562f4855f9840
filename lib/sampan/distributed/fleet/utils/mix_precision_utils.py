"""Paddle's module `fleet.utils.mix_precision_utils`: gradients of parameters in float16 or bfloat16 that add
up in float32.

After each backward the gradient of a parameter is added to its `main_grad`, float32 of the parameter's shape,
and `grad` is None. The optimizer and the GradScaler are wrapped, so that they read `main_grad`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ....engine.errors import InvalidArgument
from ....engine.tensor import Tensor
from ....nn.layer import Layer
from ....row_sparse import rows_of
from .hybrid_parallel_util import obtain_optimizer_parameters_list

__all__ = ["MixPrecisionLayer", "MixPrecisionOptimizer", "MixPrecisionScaler"]


def _add(parameter: Any) -> None:
    """Move what a backward gave to `main_grad`."""
    gradient: Any = parameter._grad
    if gradient is None:
        return
    rows = None if type(gradient) is Tensor else rows_of(gradient)
    values = gradient.data if rows is None else rows.dense()
    if parameter.main_grad is None:
        parameter.main_grad = Tensor(values.to(torch.float32, copy=True))
    else:
        parameter.main_grad.data.add_(values)
    parameter.clear_gradient(set_to_zero=False)


@contextmanager
def _as_gradients(parameters: Sequence[Any]) -> Iterator[None]:
    """Let `grad` be `main_grad` where there is one."""
    chosen = [p for p in parameters if getattr(p, "main_grad", None) is not None and not p.stop_gradient]
    for parameter in chosen:
        parameter._grad = parameter.main_grad
    try:
        yield
    finally:
        for parameter in chosen:
            parameter._grad = None


class MixPrecisionLayer(Layer):
    """A layer whose parameters get a `main_grad`; its results are those of `layers`.

    layers: in float16 or bfloat16 already, such as by `paddle.amp.decorate(level="O2")`. dtype: theirs, by
    name. InvalidArgument for another.
    """

    def __init__(self, layers: Layer, dtype: str = "float16") -> None:
        super().__init__(layers.full_name() + "_mix_precision")
        if dtype not in ("float16", "bfloat16"):
            raise InvalidArgument(
                f"MixPrecisionLayer: dtype: expected 'float16' or 'bfloat16', got {dtype!r}"
            )
        self._layers, self._dtype = layers, dtype
        parameters: Sequence[Any] = layers.parameters()
        for parameter in parameters:
            if not hasattr(parameter, "main_grad"):
                parameter.main_grad = None
                if not parameter.stop_gradient:
                    parameter.register_post_accumulate_grad_hook(_add)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The layer's result."""
        return self._layers(*inputs, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """That of the layer, with its names."""
        return self._layers.state_dict(*args, **kwargs)

    def set_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        """Take over a state of `state_dict`."""
        return self._layers.set_state_dict(state_dict, *args, **kwargs)


class MixPrecisionOptimizer:
    """An optimizer that steps with `main_grad` of the parameters of a MixPrecisionLayer. Everything else is
    the optimizer's own, `_inner_opt`."""

    def __init__(self, optimizer: Any) -> None:
        self._inner_opt = optimizer
        self._parameter_list = obtain_optimizer_parameters_list(optimizer)

    def step(self) -> None:
        """Change every parameter that has a gradient."""
        with _as_gradients(self._parameter_list):
            self._inner_opt.step()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero `main_grad`, or forget it (set_to_zero=False)."""
        for parameter in self._parameter_list:
            kept = getattr(parameter, "main_grad", None)
            if kept is None or not set_to_zero:
                if hasattr(parameter, "main_grad"):
                    parameter.main_grad = None
                else:
                    parameter.clear_gradient(set_to_zero)
            else:
                kept.zero_()

    clear_gradients = clear_grad

    def __getattr__(self, name: str) -> Any:
        """The optimizer's own attributes and methods."""
        if name.startswith("__") or name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)


class MixPrecisionScaler:
    """A GradScaler that divides `main_grad` by the scale. Everything else is the scaler's own,
    `_inner_scaler`."""

    def __init__(self, scaler: Any) -> None:
        self._inner_scaler = scaler

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, once between two updates."""
        with _as_gradients(obtain_optimizer_parameters_list(optimizer)):
            self._inner_scaler.unscale_(optimizer)

    def step(self, optimizer: Any) -> None:
        """A step of the optimizer, unless a gradient is not finite."""
        with _as_gradients(obtain_optimizer_parameters_list(optimizer)):
            self._inner_scaler.step(optimizer)

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        """`step` and `update` in one call, after the scaled loss's backward."""
        self.step(optimizer)
        self._inner_scaler.update()

    def __getattr__(self, name: str) -> Any:
        """The scaler's own attributes and methods."""
        if name.startswith("__") or name == "_inner_scaler":
            raise AttributeError(name)
        return getattr(self._inner_scaler, name)
