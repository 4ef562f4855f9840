"""Paddle's module `distributed.utils.moe_utils`: rows that travel to experts on other processes, and back
(He et al. 2021, FastMoE, arXiv 2103.13262).

Counts are by process and expert: entry p * n + e is for expert e of process p, with n experts on each
process. Rows at the sender lie in that order; at the receiver by expert and then by process, so that the rows
of one expert lie together.
"""

from __future__ import annotations

from typing import Any

import torch

from ...engine.error_translation import describe
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ..collective import check_tensors, ready
from ..differentiable import alltoall
from ..group import Group

__all__ = ["global_gather", "global_scatter"]


def _counts(what: str, group: Group, **given: Any) -> list[torch.Tensor]:
    """The numbers of rows, int64 [processes, experts of one]."""
    check_tensors(what, **given)
    found = []
    for name, value in given.items():
        counts = value.data.flatten()
        if counts.dtype is not torch.int64 or not len(counts) or len(counts) % group.nranks:
            raise InvalidArgument(
                f"{what}: {name}: expected int64 counts, as many for each of {group.nranks} processes, got "
                f"{describe(value)}"
            )
        if int(counts.min()) < 0:
            raise InvalidArgument(f"{what}: {name}: expected no negative counts, got {counts.tolist()}")
        found.append(counts.view(group.nranks, -1))
    if found[0].shape != found[1].shape:
        raise InvalidArgument(
            f"{what}: global_count: expected as many counts as local_count, {found[0].numel()}, got "
            f"{found[1].numel()}"
        )
    return found


def _by_expert(counts: torch.Tensor) -> torch.Tensor:
    """For rows by expert and process, where each lies among those by process and expert [rows]."""
    ends = counts.flatten().cumsum(0).view_as(counts)
    each = [
        torch.arange(int(ends[p, e] - counts[p, e]), int(ends[p, e]))
        for e in range(counts.shape[1])
        for p in range(counts.shape[0])
    ]
    return torch.cat(each)


def _check_rows(what: str, x: Tensor, name: str, counts: torch.Tensor) -> None:
    check_tensors(what, x=x)
    if x.ndim < 1 or x.shape[0] != int(counts.sum()):
        raise InvalidArgument(
            f"{what}: x: expected the {int(counts.sum())} rows that {name} adds up to, got {describe(x)}"
        )


def global_scatter(
    x: Tensor,
    local_count: Tensor,
    global_count: Tensor,
    group: Group | None = None,
    use_calc_stream: bool = True,
) -> Tensor | None:
    """Send rows to the experts of all processes, and receive those for this process's experts.

    x [rows, ...]: the rows by process and expert. local_count int64 [processes * experts]: how many go to
    each. global_count, of the same shape: how many come from each process for each expert here. Returns the
    received rows by expert and process; the derivative is `global_gather`. None for a process that is not in
    the group. use_calc_stream: is not used.
    """
    members = ready("global_scatter", group)
    if members is None:
        return None
    sent, received = _counts("global_scatter", members, local_count=local_count, global_count=global_count)
    _check_rows("global_scatter", x, "local_count", sent)
    rows = alltoall(x, sent.sum(1).tolist(), received.sum(1).tolist(), members)
    return rows[Tensor(_by_expert(received))]


def global_gather(
    x: Tensor,
    local_count: Tensor,
    global_count: Tensor,
    group: Group | None = None,
    use_calc_stream: bool = True,
) -> Tensor | None:
    """Send the rows of this process's experts back, and receive this process's own: the inverse of
    `global_scatter`, with the same counts.

    x [rows, ...]: the rows by expert and process, as many as global_count says. Returns the rows by process
    and expert, as many as local_count says; the derivative is `global_scatter`. None for a process that is
    not in the group. use_calc_stream: is not used.
    """
    members = ready("global_gather", group)
    if members is None:
        return None
    own, there = _counts("global_gather", members, local_count=local_count, global_count=global_count)
    _check_rows("global_gather", x, "global_count", there)
    back = x[Tensor(_by_expert(there).argsort())]
    return alltoall(back, there.sum(1).tolist(), own.sum(1).tolist(), members)
