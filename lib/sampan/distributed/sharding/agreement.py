"""Loss scaling over several processes."""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch

from .. import wire
from ..collective import _get_default_group
from ..group import Group
from ..wire import ReduceOp


def agreeing(scaler: Any, group: Group | None) -> Any:
    """The scaler itself, which decides as one in all processes of a group (all unless given) whether a
    gradient is not finite."""
    members = group or _get_default_group()

    def unscale_(self: Any, optimizer: Any) -> None:
        type(self).unscale_(self, optimizer)
        if self._enable and members.nranks > 1:
            found = torch.tensor([int(self._found_inf)])
            wire.all_reduce(found, ReduceOp.MAX, members)
            self._found_inf = bool(found)

    scaler.unscale_ = MethodType(unscale_, scaler)
    return scaler
