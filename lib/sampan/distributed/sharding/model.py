"""Networks whose gradients, or parameters too, are cut over processes (Paddle's GroupShardedStage2 and 3)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...engine import tape
from ...engine.operator import operator
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ..data_parallel import DataParallel, mapped
from ..group import Group
from .parts import Cut, ShardedOptimizer, gather
from .scatter import ScatterReducer

__all__ = ["GroupShardedStage2", "GroupShardedStage3"]


class GroupShardedStage2(DataParallel):
    """A DataParallel after whose backward a parameter's gradient is this process's part of the mean alone:
    its rows, or its elements as a vector where the first axis is short."""

    @staticmethod
    def _reducer_of() -> Any:
        return ScatterReducer

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """As in DataParallel. RuntimeError where gradients are parts already: add up before the first
        exchange."""
        reducer = self._reducer
        if isinstance(reducer, ScatterReducer) and reducer.holds_parts():
            raise RuntimeError("no_sync: gradients are parts already; call step() and clear_grad() first")
        with super().no_sync():
            yield


class _Unit:
    """The parameters of one layer, which are whole while it computes, and parts otherwise.

    What the tape keeps for backward refers to the memory of the whole parameters, which is freed and taken
    again: so it holds no values until backward comes to the layer (Zhao et al. 2023, section 4.1).
    """

    def __init__(self, parameters: Sequence[Tensor], group: Group) -> None:
        self.parameters, self.group = parameters, group
        self.cuts = [Cut(parameter.data.shape, group.nranks) for parameter in parameters]
        self.wholes = [parameter.data.contiguous().clone() for parameter in parameters]
        cut = zip(self.cuts, self.wholes, strict=True)
        self.parts = [cut.of(whole, group.rank).clone() for cut, whole in cut]
        self.sizes = [whole.untyped_storage().nbytes() for whole in self.wholes]
        self.gathered = True
        self.release()

    def gather(self) -> None:
        """Let the parameters be whole. All processes must call it."""
        if self.gathered:
            return
        for whole, part, cut, size in zip(self.wholes, self.parts, self.cuts, self.sizes, strict=True):
            whole.untyped_storage().resize_(size)
            cut.of(whole, self.group.rank).copy_(part)
        gather(list(zip(self.wholes, self.cuts, strict=True)), self.group)
        for parameter, whole in zip(self.parameters, self.wholes, strict=True):
            parameter.data = whole
        self.gathered = True

    def release(self) -> None:
        """Keep the parts alone."""
        if self.gathered:
            for parameter, part, whole in zip(self.parameters, self.parts, self.wholes, strict=True):
                parameter.data = part
                whole.untyped_storage().resize_(0)
            self.gathered = False

    def keep(self) -> None:
        """Take over the whole parameters, which were changed."""
        for parameter, part, whole, cut in zip(
            self.parameters, self.parts, self.wholes, self.cuts, strict=True
        ):
            if parameter.data is not whole:
                whole.copy_(parameter.data)
                parameter.data = whole
            part.copy_(cut.of(whole, self.group.rank))
            tape.written(part)


def _whole_again(g: Any, unit: _Unit) -> Any:
    unit.gather()
    return g


@operator(_whole_again, view=True)
def _computed(x, unit):
    """x, the result of a unit's layer, whose parameters its backward needs."""
    return x.view_as(x)


class GroupShardedStage3(GroupShardedStage2):
    """A GroupShardedStage2 whose large parameters are parts, too, except while their layer computes.

    A parameter may be used by its own layer alone. optimizer: the one that steps the parts.
    segment_size: parameters with at most so many elements stay whole. exclude_layer: class names, or ids, of
    layers whose parameters stay whole.
    """

    def __init__(
        self,
        layer: Layer,
        optimizer: ShardedOptimizer,
        group: Group | None = None,
        segment_size: int = 2**20,
        exclude_layer: Sequence[str | int] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(layer, group=group, **settings)
        self._units: list[_Unit] = []
        steps = optimizer._steps
        if steps.group is None:
            return
        left_out, seen = set(exclude_layer or ()), set[int]()
        for one in [layer, *layer.sublayers()]:
            own = [p for p in one.parameters(include_sublayers=False) if p.data.numel() > segment_size]
            own = [p for p in own if id(p) not in seen]
            seen.update(map(id, own))
            if own and type(one).__name__ not in left_out and id(one) not in left_out:
                self._add(one, _Unit(own, steps.group), steps)
        for name in ("state_dict", "set_state_dict", "set_dict", "load_dict"):
            object.__setattr__(self, name, self._with_all(getattr(layer, name), name != "state_dict"))

    def _add(self, layer: Layer, unit: _Unit, steps: Any) -> None:
        self._units.append(unit)
        steps.parts.update((id(p), part) for p, part in zip(unit.parameters, unit.parts, strict=True))

        def before(_: Layer, inputs: Any) -> None:
            unit.gather()

        def after(_: Layer, inputs: Any, outputs: Any) -> Any:
            kept = mapped(lambda t: t if t.stop_gradient else _computed(t, unit), outputs)
            unit.release()
            return kept

        layer.register_forward_pre_hook(before)
        layer.register_forward_post_hook(after)

    def _ended(self, token: Tensor) -> None:
        super()._ended(token)
        self._release()

    def _release(self) -> None:
        for unit in self._units:
            unit.release()

    def get_all_parameters(self, convert2cpu: bool = False) -> None:
        """Let all parameters be whole until the next forward. Every process must call it."""
        for unit in self._units:
            unit.gather()

    def _with_all(self, function: Callable[..., Any], changes: bool) -> Callable[..., Any]:
        """A function of the layer that is called while all parameters are whole."""

        def called(*args: Any, **settings: Any) -> Any:
            self.get_all_parameters()
            try:
                found = function(*args, **settings)
                if changes:
                    for unit in self._units:
                        unit.keep()
                    return found
                owned = {id(p) for unit in self._units for p in unit.parameters}
                return {k: _copied(v) if id(v) in owned else v for k, v in found.items()}
            finally:
                self._release()

        return called


def _copied(parameter: Tensor) -> Tensor:
    copied = Tensor(torch.clone(parameter.data))
    copied.name = parameter.name
    return copied
