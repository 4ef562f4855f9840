"""Gradient descent, with and without momentum (Polyak 1964; Nesterov's form as in Sutskever et al. 2013)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from .. import kernels
from .optimizer import Optimizer


class SGD(Optimizer):
    """p <- p - lr * g."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, multi_precision, name)

    def update(
        self, parameters: Any, gradients: Any, state: Any, lr: float, steps: int, slots: Any, settings: Any
    ) -> None:
        kernels.sgd_step(parameters, gradients, lr)


class Momentum(Optimizer):
    """v <- momentum * v + g; p <- p - lr * v, or p <- p - lr * (g + momentum * v) with use_nesterov.

    rescale_grad: a factor on the gradient, before anything else.
    """

    state_names = ("velocity",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum: expected a number from 0 to below 1, got {momentum}")
        self._nesterov, self._rescale = use_nesterov, rescale_grad
        super().__init__(
            learning_rate, parameters, weight_decay, grad_clip, multi_precision, name, momentum=momentum
        )

    def update(
        self, parameters: Any, gradients: Any, state: Any, lr: float, steps: int, slots: Any, settings: Any
    ) -> None:
        momentum = settings["momentum"]
        if self._rescale != 1.0:
            gradients = torch._foreach_mul(gradients, self._rescale)
        (velocity,) = state
        torch._foreach_mul_(velocity, momentum)
        torch._foreach_add_(velocity, gradients)
        directions = torch._foreach_add(gradients, velocity, alpha=momentum) if self._nesterov else velocity
        kernels.sgd_step(parameters, directions, lr)
