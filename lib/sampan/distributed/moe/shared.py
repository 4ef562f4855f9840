"""Rows that all processes of a group have: each takes a part, and the parts become whole again."""

from __future__ import annotations

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ..differentiable import recorded
from ..group import Group
from ..wire import all_gather


@recorded(lambda g, group: _whole(g, group))
def _part(x, group):
    return x.chunk(group.nranks)[group.rank].clone()


@recorded(lambda g, group: _part(g, group))
def _whole(x, group):
    rows = x.new_empty((group.nranks, *x.shape))
    all_gather(list(rows), x, group)
    return rows.flatten(0, 1)


def rows_of_this(x: Tensor, group: Group) -> Tensor:
    """This process's part of the rows of x, which is the same in all. The derivative joins the parts."""
    if x.shape[0] % group.nranks:
        raise InvalidArgument(
            f"MoELayer: expected rows that {group.nranks} processes of mp_group can divide, got {x.shape[0]}"
        )
    part: Tensor = _part(x, group)
    return part


def rows_of_all(x: Tensor, group: Group) -> Tensor:
    """The parts of all processes, which are the same in all afterwards. The derivative is this one's part."""
    whole: Tensor = _whole(x, group)
    return whole
