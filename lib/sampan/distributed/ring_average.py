"""Gradients of workers in a ring become their mean, whole or compressed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from . import feedback, ring
from .ring import Links

__all__ = ["RingAverage"]


class RingAverage:
    """Called after backward: the gradients of `parameters` become their mean over all workers of a ring.

    parameters: in the same order at every worker. wire: dtype in which values travel, "float16" or
    "bfloat16"; sums are computed in float32, or float64 where a parameter has it. share: the part of the
    values that is sent, those with the largest magnitudes, as pairs (place, value); None for all.
    with_feedback: whether what is rounded off or not sent here is added to the next gradient; partial sums
    that a worker passes on are rounded without it.

    Every worker gets the same bits, so equal models stay equal.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        links: Links,
        wire: str | None = None,
        share: float | None = None,
        with_feedback: bool = False,
    ) -> None:
        self.parameters, self.links = list(parameters), links
        if wire not in (None, "float16", "bfloat16"):
            raise InvalidArgument(f"wire: expected None, 'float16' or 'bfloat16', got {wire!r}")
        if share is not None and not 0 < share <= 1:
            raise InvalidArgument(f"share: expected a number above 0 and at most 1, got {share}")
        self.wire = None if wire is None else getattr(torch, wire)
        size = sum(parameter.data.numel() for parameter in self.parameters)
        self.count = None if share is None else max(1, round(share * size))
        wide = any(parameter.data.dtype == torch.float64 for parameter in self.parameters)
        self.dtype = torch.float64 if wide else torch.float32
        self.residual = torch.zeros(size, dtype=self.dtype) if with_feedback else None

    def __call__(self) -> None:
        """Average once.

        Raises InvalidArgument where a parameter has no gradient, InvalidType for gradients of rows.
        """
        gradients = [self._gradient(place) for place in range(len(self.parameters))]
        mean = torch.cat([gradient.reshape(-1).to(self.dtype) for gradient in gradients]) / self.links.world
        if self.residual is not None:
            mean = feedback.with_feedback(mean, self.residual, self._compressed).to(self.dtype)
        if self.count is None:
            ring.all_reduce(mean, self.links, self.wire)
        else:
            mean = self._sum_of_largest(mean, self.count)
        parts = mean.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view(gradient.shape))

    def _gradient(self, place: int) -> torch.Tensor:
        gradient = self.parameters[place].grad
        if gradient is None:
            name = self.parameters[place].name
            raise InvalidArgument(
                f"parameters: number {place}, {name!r}, has no gradient; call backward first"
            )
        if type(gradient) is not Tensor:
            raise InvalidType(
                f"parameters: expected dense gradients, got {type(gradient).__name__} for {place}"
            )
        return gradient.data

    def _compressed(self, values: torch.Tensor) -> torch.Tensor:
        """The values as the next worker receives them."""
        if self.count is not None:
            values = feedback.only_largest(values, self.count)
        return values if self.wire is None else values.to(self.wire)

    def _sum_of_largest(self, values: torch.Tensor, count: int) -> torch.Tensor:
        """The sum over all workers of their `count` largest values, [n]."""
        places = feedback.largest(values, count).to(torch.int32)
        found = values[places.long()].to(self.wire or values.dtype)
        total = torch.zeros_like(values)
        everywhere = ring.all_gather(places, self.links)
        for where, what in zip(everywhere, ring.all_gather(found, self.links), strict=True):
            total.index_add_(0, where.long(), what.to(total.dtype))
        return total
