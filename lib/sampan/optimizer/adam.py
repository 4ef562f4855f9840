"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .. import kernels
from ..tensor import Tensor
from .optimizer import Optimizer


def _number(value: Any, name: str, below: float = float("inf")) -> float:
    number = float(value) if isinstance(value, Tensor) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    if not 0 <= number < below:
        raise ValueError(f"{name}: expected a number from 0 to below {below}, got {number}")
    return float(number)


class Adam(Optimizer):
    """m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2; p <- p - lr * m' / (sqrt(v') + epsilon).

    m' = m / (1 - beta1^t), v' = v / (1 - beta2^t). weight_decay enters the gradient (L2). epsilon is added to the
    root of the corrected v', as in the paper's algorithm 1, in torch, and in what Paddle computes.
    """

    state_names = ("moment1", "moment2")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        if amsgrad:
            raise ValueError("amsgrad: only False is supported, got True")
        settings = {
            "beta1": _number(beta1, "beta1", 1),
            "beta2": _number(beta2, "beta2", 1),
            "epsilon": _number(epsilon, "epsilon"),
        }
        super().__init__(
            learning_rate, parameters, weight_decay, grad_clip, multi_precision, name, **settings
        )

    def update(
        self, parameters: Any, gradients: Any, state: Any, lr: float, steps: int, slots: Any, settings: Any
    ) -> None:
        moments, variances = state
        kernels.adam_step(
            parameters,
            gradients,
            moments,
            variances,
            lr,
            settings["beta1"],
            settings["beta2"],
            settings["epsilon"],
            steps,
        )


class AdamW(Adam):
    """Adam whose weight decay does not pass through the moments: first p <- p - lr * weight_decay * p, then Adam.

    lr_ratio: function of a parameter, a factor on its rate. apply_decay_param_fun: function of a parameter's name
    that says whether it decays; all do when it is None.
    """

    decoupled = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: float = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        _number(weight_decay, "weight_decay")
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            weight_decay,
            grad_clip,
            lazy_mode,
            multi_precision,
            amsgrad=amsgrad,
            name=name,
        )
        self._decays = apply_decay_param_fun
        if lr_ratio is not None:
            for slot in (slot for group in self._groups for slot in group.slots):
                slot.rate *= float(lr_ratio(slot.parameter))

    def update(
        self, parameters: Any, gradients: Any, state: Any, lr: float, steps: int, slots: Any, settings: Any
    ) -> None:
        chosen = self._decays
        decaying = [
            p for p, s in zip(parameters, slots, strict=True) if chosen is None or chosen(s.parameter.name)
        ]
        if decaying and settings["weight_decay"]:
            torch._foreach_mul_(decaying, 1.0 - lr * settings["weight_decay"])
        super().update(parameters, gradients, state, lr, steps, slots, settings)
