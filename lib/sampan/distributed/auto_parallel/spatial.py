"""Convolutions of images whose width is cut over processes.

Each process gets the columns beside its part from its neighbours (Dryden et al. 2019, arXiv 1903.06681).
"""

from __future__ import annotations

from typing import Any

import torch

from ...engine.apply import apply
from ..differentiable import recorded
from .counted import all_gather
from .dispatch import Call, Plan
from .transfer import REPLICATE


def _neighbours(to_previous: Any, to_next: Any, group: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What the process before gives to its next, and what the process after gives to its previous; zeros at
    the ends. All have the same shape."""
    each = all_gather(torch.stack([to_previous, to_next]), group)
    rank, none = group.rank(), torch.zeros_like(to_previous)
    return (
        each[rank - 1][1] if rank else none,
        each[rank + 1][0] if rank + 1 < group.size() else none,
    )


@recorded(lambda g, halo, group: _narrowed(g, halo, group))
def _widened(x, halo, group):
    left, right = _neighbours(x[..., :halo], x[..., -halo:], group)
    return torch.cat([left, x, right], -1)


@recorded(lambda g, halo, group: _widened(g, halo, group))
def _narrowed(x, halo, group):
    own = x[..., halo:-halo].clone()
    left, right = _neighbours(x[..., :halo], x[..., -halo:], group)
    own[..., :halo] += left
    own[..., -halo:] += right
    return own


def fits(width: int, parts: int, kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Whether a convolution can run on `parts` parts of the width.

    Without padding the stride must be the width of the kernel, and divide each part. With padding the stride
    must be 1 and the kernel such that the width stays; no part is narrower than the padding.
    """
    if dilation != 1 or width % parts:
        return False
    part = width // parts
    if padding == 0:
        return stride == kernel and part % kernel == 0
    return stride == 1 and kernel == 2 * padding + 1 and padding <= part


def by_width(call: Call) -> Plan | None:
    """The plan of a convolution of images [n, c, h, w] cut along w; None where they must be whole."""
    stride, padding, dilation, transposed, _, _ = call.given("settings")
    lies = call.args[0].data.placements
    cut = [axis for axis, lie in enumerate(lies) if lie.is_shard(3)]
    if transposed or len(cut) != 1:
        return None
    width, kernel = call.shapes[0][3], call.shapes[1][3]
    if not fits(width, call.mesh.shape[cut[0]], kernel, stride[1], padding[1], dilation[1]):
        return None
    return Plan({0: lies[cut[0]], **{place: REPLICATE for place in call.tensors if place}}, lies[cut[0]])


def convolved(call: Call, parts: list[Any]) -> Any:
    """Run a convolution on local parts: with columns of the neighbours where the width is cut."""
    cut = [axis for axis, plan in enumerate(call.plans) if plan.inputs[0].is_shard(3)]
    stride, padding, *rest = call.given("settings")
    if not cut or not padding[1]:
        return apply(call.operator, tuple(parts), call.settings)
    wide = _widened(parts[0], padding[1], call.mesh.get_group(cut[0]))
    call.replace("settings", (stride, (padding[0], 0), *rest))
    return apply(call.operator, (wide, *call.args[1:]), call.settings)
