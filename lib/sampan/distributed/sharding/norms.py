"""Gradient clipping where gradients lie in parts over processes.

A norm counts each element of the whole network once: what is cut by tensor parallelism or sharding is summed
over these groups, what all processes have is not; the stages of a pipeline are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...engine.errors import InvalidType
from ...nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from ...optimizer.optimizer import _clipped
from ...row_sparse import RowGradient
from .. import wire
from ..group import Group
from ..wire import ReduceOp

Gradient = Any  # a buffer or a RowGradient


class Clipping:
    """Clips the gradients of parameters. tensor, sharding, pipe: the groups over which parameters lie, None
    where they do not."""

    def __init__(
        self, tensor: Group | None = None, sharding: Group | None = None, pipe: Group | None = None
    ) -> None:
        self.tensor, self.sharding, self.pipe = (
            group if group is not None and group.nranks > 1 else None for group in (tensor, sharding, pipe)
        )

        self.spans = any((self.tensor, self.sharding, self.pipe))  # whether there are several processes

    def __call__(
        self, clip: Any, parameters: Sequence[Any], gradients: Sequence[Gradient], cut: Sequence[bool]
    ) -> list[Gradient]:
        """The clipped gradients. cut: which of them are parts within the group of sharding.

        InvalidType for another clip than those of `nn`.
        """
        if isinstance(clip, ClipGradByValue):
            return _clipped(clip, list(gradients))
        if not isinstance(clip, ClipGradByNorm | ClipGradByGlobalNorm):
            raise InvalidType(
                "grad_clip: over several processes expected one of nn.ClipGradBy..., got "
                f"{type(clip).__name__}"
            )
        squares = self.squares(parameters, gradients, cut)
        if isinstance(clip, ClipGradByNorm):
            norms = squares.sqrt()
            factors = [*(clip.clip_norm / norms).clamp(max=1.0)]
        else:
            # Of a weight that several stages of a pipeline share, the first one's is counted.
            once = torch.tensor([bool(getattr(p, "is_firstly_shared", True)) for p in parameters])
            norm = self._total(squares[once] if len(once) else squares).sqrt()
            if clip.auto_skip_clip and norm <= clip.clip_norm:
                return list(gradients)
            factors = [clip.clip_norm / norm.clamp(min=clip.clip_norm)] * len(gradients)
        return [g * float(f) for g, f in zip(gradients, factors, strict=True)]

    def squares(
        self, parameters: Sequence[Any], gradients: Sequence[Gradient], cut: Sequence[bool]
    ) -> torch.Tensor:
        """The squared norm of each whole gradient, float64 [n]."""
        found = torch.zeros(len(gradients), dtype=torch.float64)
        for at, gradient in enumerate(gradients):
            values = gradient.sums(keep=True)[1] if isinstance(gradient, RowGradient) else gradient
            wide = values if values.dtype is torch.float64 else values.float()
            found[at] = wide.norm().double().square()
        self._sum(found, [bool(getattr(p, "is_distributed", False)) for p in parameters], self.tensor)
        self._sum(found, cut, self.sharding)
        return found

    @staticmethod
    def _sum(found: torch.Tensor, chosen: Sequence[bool], group: Group | None) -> None:
        """Sum the chosen ones over the processes of a group, which choose the same."""
        if group is not None and any(chosen):
            where = torch.tensor([*chosen])
            parts = found[where]
            wire.all_reduce(parts, ReduceOp.SUM, group)
            found[where] = parts

    def _total(self, squares: torch.Tensor) -> torch.Tensor:
        total = squares.sum()
        if self.pipe is not None:
            wire.all_reduce(total, ReduceOp.SUM, self.pipe)
        return total
