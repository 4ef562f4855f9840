"""Rows that all processes of a group have: each takes a part, and the parts become whole again."""

from __future__ import annotations

from typing import Any

from ...autograd import PyLayer
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...ops.joining import concat
from ..collective import all_gather
from ..group import Group


def _whole(part: Tensor, group: Group) -> Tensor:
    parts: list[Tensor] = []
    all_gather(parts, part, group)
    return concat(parts)


def _part(whole: Tensor, group: Group) -> Tensor:
    size = whole.shape[0] // group.nranks
    return whole[group.rank * size : (group.rank + 1) * size]


class _Part(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _part(x, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _whole(gradient, ctx.group)


class _Whole(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _whole(x, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _part(gradient, ctx.group)


def rows_of_this(x: Tensor, group: Group) -> Tensor:
    """This process's part of the rows of x, which is the same in all. The derivative joins the parts."""
    if x.shape[0] % group.nranks:
        raise InvalidArgument(
            f"MoELayer: expected rows that {group.nranks} processes of mp_group can divide, got {x.shape[0]}"
        )
    return _Part.apply(x, group)


def rows_of_all(x: Tensor, group: Group) -> Tensor:
    """The parts of all processes, which are the same in all afterwards. The derivative is this one's part."""
    return _Whole.apply(x, group)
