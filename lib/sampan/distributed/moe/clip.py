"""Clipping of a network with experts on several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...nn.clip import ClipGradByGlobalNorm
from .. import wire
from ..group import Group
from ..wire import ReduceOp
from .routing import group_size


class ClipGradForMOEByGlobalNorm(ClipGradByGlobalNorm):
    """`ClipGradByGlobalNorm` where each process has other experts: their squares are added up over the group.

    is_expert_param_func: whether a parameter is an expert's; AssertionError where there are several processes
    and no such function. moe_group: the processes that have experts. All of them clip in every step.
    """

    def __init__(
        self,
        clip_norm: float,
        is_expert_param_func: Callable[[Any], bool] | None = None,
        moe_group: Group | None = None,
        group_name: str = "default_moe_group",
    ) -> None:
        super().__init__(clip_norm, group_name)
        if group_size(moe_group) > 1 and is_expert_param_func is None:
            raise AssertionError(
                "When moe group size > 1, a function for selecting expert params must be specified."
            )
        self.moe_group, self.is_expert_param_func = moe_group, is_expert_param_func
        self.parameters: list[Any] = []  # whose gradients are clipped; the optimizer sets it

    def clip(self, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        squares = torch.zeros(2, dtype=torch.float64)  # of the experts, of the others
        chosen = self.is_expert_param_func
        for gradient, parameter in zip(gradients, self.parameters, strict=True):
            wide = gradient if gradient.dtype is torch.float64 else gradient.float()
            own = chosen is not None and chosen(parameter)
            squares[0 if own else 1] += wide.norm().double().square().cpu()
        if self.moe_group is not None and self.moe_group.nranks > 1:
            wire.all_reduce(squares[:1], ReduceOp.SUM, self.moe_group)
        norm = float(squares.sum().sqrt())
        return [gradient * (self.clip_norm / max(norm, self.clip_norm)) for gradient in gradients]

    def __call__(self, params_grads: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        self.parameters = [p for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        return super().__call__(params_grads)
