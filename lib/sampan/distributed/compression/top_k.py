"""Deep gradient compression: the largest entries of the gradient are sent, the rest waits (Lin et al.,
2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as c10d

from ...engine.errors import InvalidArgument
from .. import traffic
from ..reducer import Bucket
from ..row_exchange import started_sum
from .half_precision import Then

SAMPLED = 100  # one of so many entries is looked at to estimate the threshold
WARM_UP = (0.75, 0.9375, 0.984, 0.996, 0.999)


class TopK:
    """In each process u = momentum u + g, v = v + u. The entries of v with the largest values are sent, and
    set to zero in u and v (momentum correction and factor masking, sections 3.1 and 3.2). The momentum is
    here, so the optimizer is SGD without one.

    sparsity: parts of the entries that are not sent, one after the other in equal shares of the first
    `rampup_step` steps after `rampup_begin_step`; the last one stays. Until rampup_begin_step everything is
    sent. clip_norm: the norm of a bucket's gradient in each of n processes is limited to clip_norm / sqrt(n)
    (section 3.3).
    """

    def __init__(
        self,
        momentum: float = 0.9,
        sparsity: Sequence[float] = WARM_UP,
        rampup_begin_step: int = 0,
        rampup_step: int = 1,
        clip_norm: float | None = None,
    ) -> None:
        if not sparsity or not all(0 <= part < 1 for part in sparsity):
            raise InvalidArgument(f"TopK: sparsity: expected parts from 0 to below 1, got {[*sparsity]}")
        self.momentum, self.sparsity, self.clip_norm = momentum, list(sparsity), clip_norm
        self.begin, self.rampup = rampup_begin_step, max(1, rampup_step)

    def part(self, step: int) -> float:
        """The part of the entries that is not sent in a step, which counts from 0."""
        if step < self.begin:
            return 0.0
        place = (step - self.begin) * len(self.sparsity) // self.rampup
        return self.sparsity[min(place, len(self.sparsity) - 1)]

    def __call__(self, bucket: Bucket, group: Any) -> Any:
        """Start the exchange of a bucket."""
        gradient, kept = bucket.gradients, bucket.kept
        step = kept["step"] = kept.get("step", -1) + 1
        part = self.part(step)
        world = c10d.get_world_size(group)
        if "u" not in kept:
            kept["u"], kept["v"] = torch.zeros_like(gradient), torch.zeros_like(gradient)
        u, v = kept["u"], kept["v"]
        if step < self.begin or not part:
            work = started_sum(bucket.buffer, group)
            return Then(work, lambda: gradient.copy_(u.mul_(self.momentum).add_(gradient)))
        if self.clip_norm is not None:  # a bucket holds its gradient / n
            norm = float(torch.linalg.vector_norm(gradient)) * world
            gradient.mul_(min(1.0, self.clip_norm / math.sqrt(world) / max(norm, 1e-12)))
        v.add_(u.mul_(self.momentum).add_(gradient))
        count = max(1, math.ceil(v.numel() * (1 - part)))
        chosen = largest(v, count)
        message = torch.empty(8 * count + 4 * len(bucket.flags), dtype=torch.uint8, device=v.device)
        message[: 4 * count].view(torch.int32).copy_(chosen)
        message[4 * count : 8 * count].view(torch.float32).copy_(v[chosen])
        message[8 * count :].view(torch.float32).copy_(bucket.flags)
        u[chosen] = 0
        v[chosen] = 0
        heard = [torch.empty_like(message) for _ in range(world)]
        traffic.count("all_gather", message.nbytes, message.nbytes * (world - 1))
        work = c10d.all_gather(heard, message, group=group, async_op=True)

        def put() -> None:
            bucket.buffer.zero_()
            for one in heard:
                values = one[4 * count : 8 * count].view(torch.float32).to(gradient.dtype)
                gradient.index_add_(0, one[: 4 * count].view(torch.int32), values)
                bucket.flags.add_(one[8 * count :].view(torch.float32))

        return Then(work, put)


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """The indices of `count` entries of a vector with large absolute values, in ascending order.

    The threshold is estimated from a sample (section 3.1 of the paper); among the entries above it the
    largest are chosen exactly. Where the sample misleads, all entries are compared.
    """
    sizes = values.abs()
    if len(sizes) > 50 * SAMPLED:
        sample = sizes[torch.randint(SAMPLED, ()).item() :: SAMPLED]
        rank = max(1, len(sample) - 1 - math.ceil(1.3 * count / SAMPLED) - 3)
        above = (sizes >= sample.kthvalue(rank).values).nonzero().flatten()
        if count <= len(above) < len(sizes) // 2:
            return above[sizes[above].topk(count, sorted=False).indices].sort().values
    return sizes.topk(count, sorted=False).indices.sort().values
