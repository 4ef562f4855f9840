"""Gradient clipping: given to an optimizer as `grad_clip`."""

from typing import Any

import torch

from ..engine.tensor import InvalidArgument

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]


def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """x, scaled down to the norm max_norm where its own is larger. ValueError for a max_norm that is not
    positive."""
    return x * (_positive(max_norm) / (x * x).sum().sqrt()).clip(max=1.0)


class ClipGrad:
    """Takes the gradients of the parameters that are to be clipped and returns the clipped ones, as new
    buffers. An optimizer sets `parameters`, whose gradients they are, before each call."""

    keeps_zero = True  # a gradient of 0 stays 0

    def clip(self, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        raise NotImplementedError("ClipGrad.clip: write it in the subclass")

    def __call__(self, params_grads: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Paddle's form: pairs of parameter and gradient ; those without a gradient are left out."""
        from ..engine.tensor import Tensor

        pairs = [(p, g, getattr(p, "need_clip", True)) for p, g in params_grads if g is not None]
        clipped = iter(self.clip([g.data for _, g, chosen in pairs if chosen]))
        return [(p, Tensor(next(clipped)) if chosen else g) for p, g, chosen in pairs]


ClipGradBase = ClipGrad


class ClipGradByValue(ClipGrad):
    """Every value into min..max; min is -max unless given."""

    def __init__(self, max: float, min: float | None = None) -> None:
        if min is None and max < 0:
            raise InvalidArgument(f"max: expected a positive number where min is not given, got {max}")
        self.max = float(max)
        self.min = -self.max if min is None else float(min)
        if self.min > self.max:
            raise InvalidArgument(f"min: expected at most max ({max}), got {min}")
        self.keeps_zero = self.min <= 0 <= self.max

    def clip(self, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        return [g.clamp(self.min, self.max) for g in gradients]

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"


def _positive(clip_norm: float) -> float:
    if not clip_norm > 0:
        raise InvalidArgument(f"clip_norm: expected a positive number, got {clip_norm}")
    return float(clip_norm)


class ClipGradByNorm(ClipGrad):
    """Each gradient is scaled down to the norm `clip_norm` where its own is larger."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def clip(self, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        norms = torch._foreach_norm(gradients)
        return [g * (self.clip_norm / n).clamp(max=1.0) for g, n in zip(gradients, norms, strict=True)]


class ClipGradByGlobalNorm(ClipGrad):
    """All gradients are scaled by one factor, so that the norm of all together is at most `clip_norm`.

    Pascanu et al. 2013, algorithm 1. The norm is summed in float32 at least.
    """

    def __init__(
        self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False
    ) -> None:
        self.clip_norm = _positive(clip_norm)
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def clip(self, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        if not gradients:
            return gradients
        wide = [g if g.dtype is torch.float64 else g.float() for g in gradients]
        norm = torch.stack([n.double() for n in torch._foreach_norm(wide)]).norm()
        if self.auto_skip_clip and norm <= self.clip_norm:
            return gradients
        factor = self.clip_norm / norm.clamp(min=self.clip_norm)
        return [g * factor.to(g.dtype) for g in gradients]
