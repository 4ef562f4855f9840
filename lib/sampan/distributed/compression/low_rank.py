"""Gradients of matrices are sent as products of two thin matrices: PowerSGD (Vogels et al., 2019)."""

from __future__ import annotations

from typing import Any

import torch

from ...engine.errors import InvalidArgument
from ..reducer import Bucket
from ..row_exchange import started_sum
from .half_precision import Then


class LowRank:
    """One step of power iteration in each exchange, M ~ P Q^T, begun with the Q of the step before. What is
    lost is added to the next gradient (algorithms 1 and 2 of the paper).

    rank: the columns of P and Q. Parameters of one axis, and those that would not become smaller, are sent
    whole. Arrays of more axes are matrices [first, the others].
    """

    def __init__(self, rank: int = 2) -> None:
        if rank < 1:
            raise InvalidArgument(f"LowRank: rank: expected 1 or more, got {rank}")
        self.rank = rank

    def __call__(self, bucket: Bucket, group: Any) -> Any:
        """Start the exchange of a bucket: P and what is sent whole; Q goes in `wait`."""
        kept = bucket.kept
        places = [at for at, p in enumerate(bucket.parameters) if self._smaller(p.data.shape)]
        matrices = [bucket.view(at).flatten(1) for at in places]
        if "q" not in kept:
            generator = torch.Generator().manual_seed(0)  # the same in all processes
            kept["q"] = [
                torch.randn(m.shape[1], self.rank, generator=generator).to(m.dtype).to(m.device)
                for m in matrices
            ]
            kept["lost"] = [torch.zeros_like(m) for m in matrices]
        for matrix, lost in zip(matrices, kept["lost"], strict=True):
            matrix.add_(lost)
        rest = [bucket.view(at) for at in range(len(bucket.places)) if at not in places] + [bucket.flags]
        ps = [matrix @ q for matrix, q in zip(matrices, kept["q"], strict=True)]
        sent = torch.cat([part.flatten() for part in (*ps, *rest)])

        def rest_of_it() -> None:
            summed = sent.split([part.numel() for part in (*ps, *rest)])
            for part, whole in zip(rest, summed[len(ps) :], strict=True):
                part.copy_(whole.view(part.shape))
            bases = [
                torch.linalg.qr(s.view(p.shape).float())[0].to(p.dtype)
                for s, p in zip(summed, ps, strict=False)
            ]
            local = [matrix.T @ basis for matrix, basis in zip(matrices, bases, strict=True)]
            if not local:
                return
            joint = torch.cat([part.flatten() for part in local])
            started_sum(joint, group).wait()
            for at, whole in enumerate(joint.split([part.numel() for part in local])):
                q = kept["q"][at] = whole.view(local[at].shape).clone()
                # Each process keeps what its own part lost.
                kept["lost"][at] = matrices[at] - bases[at] @ local[at].T
                matrices[at].copy_(bases[at] @ q.T)

        return Then(started_sum(sent, group), rest_of_it)

    def _smaller(self, shape: Any) -> bool:
        if len(shape) < 2:
            return False
        rows, columns = shape[0], shape[1:].numel()
        return bool((rows + columns) * self.rank < rows * columns)
