"""Filter pruning: whole channels go, with all that belongs to them, so that the network is really smaller.

Names are PaddleSlim's. Sources: Li et al., Pruning Filters for Efficient ConvNets, 2017 (norms); He et al.,
Filter Pruning via Geometric Median, 2019; the groups of channels are found as in `channels.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .. import nn
from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from .channels import Channels, inputs_of

__all__ = [
    "FPGMFilterPruner",
    "FilterPruner",
    "L1NormFilterPruner",
    "L2NormFilterPruner",
    "PruningPlan",
    "get_ratios_by_loss",
    "merge_sensitive",
]

Sensitivities = dict[str, dict[float, float]]


class PruningPlan:
    """What was removed: `removed` has the number of channels by the name of the weight, `pruned_flops` the
    share of the products that is saved. `restore()` puts everything back."""

    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self.pruned_flops = 0.0
        self._before: list[tuple[Tensor, torch.Tensor]] = []
        self._settings: list[tuple[Layer, dict[str, Any]]] = []
        self._channels: Channels | None = None  # of the network before

    def restore(self, model: Layer | None = None, opt: Any = None) -> None:
        """Put the parameters and the layers' sizes back. The arguments are PaddleSlim's, not needed."""
        for tensor, data in self._before:
            tensor.data = data
        for layer, settings in self._settings:
            for name, value in settings.items():
                setattr(layer, name, value)
        self._before, self._settings = [], []


class FilterPruner:
    """Removes the channels with the lowest scores; a subclass says what a filter's score is.

    model: is changed in place; parameters stay the same objects with smaller data. Make the optimizer after
    pruning. inputs: a shape such as [1, 3, 32, 32], InputSpecs or Tensors. Raises InvalidArgument for a
    network whose computation depends on values of Tensors.
    """

    def __init__(self, model: Layer, inputs: Any, sen_file: Any = None, opt: Any = None) -> None:
        self.model, self.inputs = model, inputs_of(inputs)
        self.plan: PruningPlan | None = None
        self._sensitivities: Sensitivities = {}
        self._use(Channels.of(self.model, self.inputs))

    def _use(self, channels: Channels) -> None:
        """Take the channels that the network has now."""
        self.channels = channels
        self._members = self.channels.members()
        self._axes = {place[0]: place[1] for place in self.channels.made}
        numbers = {id(t): i for i, t in enumerate(self.channels.outside.tensors)}
        self._weights: dict[str, int] = {}
        self._aliases: dict[str, str] = {}
        for name, parameter in self.model.named_parameters():
            number = numbers.get(id(parameter))
            if number is not None and number in self._axes:
                self._weights[name] = number
                self._aliases[parameter.name] = name

    @property
    def prunable(self) -> dict[str, int]:
        """Weights whose filters may go, by name, with the number of their channels that may go."""
        found = {name: len(self._candidates(number)) for name, number in self._weights.items()}
        return {name: count for name, count in found.items() if count > 1}

    def _candidates(self, number: int) -> list[int]:
        axis = self._axes[number]
        return [label for label in dict.fromkeys(self.channels.along(number, axis)) if label]

    def _named(self, name: str) -> str:
        """The name in the network's state of a weight given by that name or by its Paddle name."""
        name = self._aliases.get(name, name)
        if name not in self._weights:
            near = difflib.get_close_matches(name, [*self._weights, *self._aliases], 3, 0.0)
            raise InvalidArgument(f"no weight with filters has the name {name!r}; near it: {', '.join(near)}")
        return name

    def _importance(self, filters: torch.Tensor) -> torch.Tensor:
        """A score for each row of a matrix of filters."""
        raise NotImplementedError

    def weakest(
        self, filters: Mapping[int, torch.Tensor], channels: Sequence[Sequence[tuple[int, int]]], count: int
    ) -> list[int]:
        """Numbers of the `count` channels with the lowest scores, the lowest first; of equal ones the first.

        filters: weights by number, buffers [filters, ...] with their filters on the first axis. channels: for
        each the (number of the weight, index) of all its filters, the sum of whose scores is its score.
        """
        scores = {
            number: self._importance(weight.float().flatten(1)).tolist() for number, weight in filters.items()
        }
        totals = [sum(scores[number][index] for number, index in channel) for channel in channels]
        return sorted(range(len(channels)), key=totals.__getitem__)[:count]

    def _weakest(self, labels: Sequence[int], count: int) -> list[int]:
        """The labels of the channels that go first."""
        made = self.channels.made
        members = [[place for place in self._members[label] if place in made] for label in labels]
        axes = {number: axis for places in members for number, axis, _ in places}
        tensors = self.channels.outside.tensors
        filters = {number: tensors[number].data.detach().movedim(axis, 0) for number, axis in axes.items()}
        channels = [[(number, index) for number, _, index in places] for places in members]
        return [labels[place] for place in self.weakest(filters, channels, count)]

    # --- pruning ---

    @no_grad()
    def prune_vars(
        self, ratios: Mapping[str, float], axis: int | Sequence[int] = 0, apply: str = "impretive"
    ) -> PruningPlan:
        """Remove a share of the channels of each weight, given by name. axis: 0, the filters.

        At least one channel stays. Raises InvalidArgument, and changes nothing, for an unknown name (the
        message has near ones), a ratio outside 0 <= ratio < 1, a weight whose channels are fixed, such as
        that of the last layer, and a network that does not run afterwards.
        """
        if axis not in (0, [0], (0,)):
            raise InvalidArgument(f"axis: expected 0, the filters, got {axis!r}")
        plan, gone = PruningPlan(), set[int]()
        for name, ratio in ratios.items():
            if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio < 1:
                raise InvalidArgument(f"ratios: {name}: expected 0 <= ratio < 1, got {ratio!r}")
            name = self._named(name)
            labels = self._candidates(self._weights[name])
            if ratio and len(labels) < 2:
                raise InvalidArgument(
                    f"ratios: {name}: its channels are fixed: they reach the result or a call without a rule"
                )
            count = min(round(ratio * len(labels)), len(labels) - 1)
            left = [label for label in labels if label not in gone]
            # Another weight of the same group may have removed some of them already.
            chosen = self._weakest(left, max(0, count - (len(labels) - len(left))))
            gone.update(chosen)
            plan.removed[name] = len(labels) - len(left) + len(chosen)
        before = sum(self.channels.products.values())
        self._remove(plan, gone)
        plan.pruned_flops = 1 - sum(self.channels.products.values()) / before
        self.plan = plan
        return plan

    def prune_var(
        self, var_name: str, pruned_axis: int, pruned_ratio: float, apply: str = "impretive"
    ) -> PruningPlan:
        """Remove a share of the channels of one weight: see `prune_vars`."""
        return self.prune_vars({var_name: pruned_ratio}, pruned_axis)

    def _remove(self, plan: PruningPlan, gone: set[int]) -> None:
        cuts: dict[tuple[int, int], list[int]] = {}
        for (number, axis, index), label in self.channels.places.items():
            if self.channels.root(label) in gone:
                cuts.setdefault((number, axis), []).append(index)
        for (number, axis), indices in cuts.items():
            tensor: Any = self.channels.outside.tensors[number]
            keep = torch.ones(tensor.data.shape[axis], dtype=torch.bool)
            keep[indices] = False
            if all(known is not tensor for known, _ in plan._before):
                plan._before.append((tensor, tensor.data))
            tensor.data = tensor.data.index_select(axis, keep.nonzero().flatten()).contiguous()
            tensor.clear_gradient(False)
        changed = {id(tensor) for tensor, _ in plan._before}
        for layer in self.model.sublayers(include_self=True):
            if any(id(p) in changed for p in (*layer.parameters(False), *vars(layer).values())):
                _resize(layer, plan)
        try:
            plan._channels, after = self.channels, Channels.of(self.model, self.inputs)
        except Exception as error:
            plan.restore()
            raise InvalidArgument(f"the pruned network does not run, it is as it was: {error}") from error
        self._use(after)

    def restore(self) -> None:
        """Undo the last pruning."""
        if self.plan is not None:
            self.plan.restore()
            if self.plan._channels is not None:
                self._use(self.plan._channels)
            self.plan = None

    # --- how much each weight can lose ---

    def sensitive(
        self,
        eval_func: Callable[[], float] | None = None,
        sen_file: Any = None,
        target_vars: Sequence[str] | None = None,
        skip_vars: Sequence[str] = (),
        ratios: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    ) -> Sensitivities:
        """{name: {ratio: loss}}: the share of the score that pruning one weight alone costs, without tuning.

        eval_func() is the score of the model, above 0, more is better. Without it what was computed before.
        """
        if eval_func is None:
            return self._sensitivities
        skipped = {self._named(name) for name in skip_vars}
        names = [self._named(name) for name in (self.prunable if target_vars is None else target_vars)]
        baseline = float(eval_func())
        if not baseline > 0:
            raise InvalidArgument(f"eval_func: expected a score above 0 of the whole network, got {baseline}")
        for name in (name for name in names if name not in skipped):
            known = self._sensitivities.setdefault(name, {})
            for ratio in ratios:
                if ratio not in known:
                    self.prune_vars({name: ratio})
                    known[ratio] = (baseline - float(eval_func())) / baseline
                    self.restore()
        return self._sensitivities

    def get_ratios_by_sensitivity(
        self, pruned_flops: float, align: int | None = None, dims: int = 0, skip_vars: Sequence[str] = ()
    ) -> tuple[dict[str, float], float]:
        """The ratios of equal loss that save this share of the products, and the share that they save."""
        if not 0 < pruned_flops < 1:
            raise InvalidArgument(f"pruned_flops: expected 0 < share < 1, got {pruned_flops!r}")
        if not self._sensitivities:
            raise InvalidArgument("sensitivities: expected some: call sensitive(eval_func) first")
        skipped = {self._named(name) for name in skip_vars}
        known = {name: losses for name, losses in self._sensitivities.items() if name not in skipped}
        low, high, found = 0.0, 1.0, (dict[str, float](), 0.0)
        for _ in range(12):
            loss = (low + high) / 2
            ratios = {name: min(ratio, 0.95) for name, ratio in get_ratios_by_loss(known, loss).items()}
            if align:
                ratios = {name: self._aligned(name, ratio, align) for name, ratio in ratios.items()}
            share = self.prune_vars(ratios).pruned_flops
            self.restore()
            if not found[0] or abs(share - pruned_flops) < abs(found[1] - pruned_flops):
                found = ratios, share
            low, high = (loss, high) if share < pruned_flops else (low, loss)
        return found

    def _aligned(self, name: str, ratio: float, align: int) -> float:
        """The ratio after which the number of channels is a multiple of `align`."""
        count = len(self._candidates(self._weights[name]))
        kept = max(round((1 - ratio) * count / align), 1) * align
        return max(0.0, 1 - kept / count)

    def sensitive_prune(
        self, pruned_flops: float, skip_vars: Sequence[str] = (), align: int | None = None
    ) -> PruningPlan:
        """Save a share of the products by the ratios of `get_ratios_by_sensitivity`."""
        self.restore()
        ratios, _ = self.get_ratios_by_sensitivity(pruned_flops, align, 0, skip_vars)
        return self.prune_vars(ratios)


class L1NormFilterPruner(FilterPruner):
    """The score of a filter is the sum of its magnitudes."""

    def _importance(self, filters: torch.Tensor) -> torch.Tensor:
        return filters.abs().sum(1)


class L2NormFilterPruner(FilterPruner):
    """The score of a filter is the root of the sum of its squares."""

    def _importance(self, filters: torch.Tensor) -> torch.Tensor:
        return filters.norm(dim=1)


class FPGMFilterPruner(FilterPruner):
    """The score of a filter is the sum of its distances to the others: what they can stand in for goes."""

    def _importance(self, filters: torch.Tensor) -> torch.Tensor:
        return torch.cdist(filters, filters).sum(1)


def _resize(layer: Any, plan: PruningPlan) -> None:
    """Set the sizes of a layer to those of its parameters."""
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, Tensor):
        return
    shape, found = [*weight.data.shape], dict[str, Any]()
    if isinstance(layer, nn.Linear):
        found = {"in_features": shape[0], "out_features": shape[1]}
    elif hasattr(layer, "num_features"):
        found = {"num_features": shape[0]}
    elif hasattr(layer, "normalized_shape"):
        found = {"normalized_shape": type(layer.normalized_shape)(shape)}
    elif hasattr(layer, "groups") and hasattr(layer, "in_channels"):
        if "Transpose" in type(layer).__name__:
            found = {"in_channels": shape[0], "out_channels": shape[1]}
        else:
            depthwise = layer.groups > 1 and layer.groups == layer.in_channels
            groups = shape[0] * layer.in_channels // layer.out_channels if depthwise else layer.groups
            found = {"groups": groups, "in_channels": shape[1] * groups, "out_channels": shape[0]}
    plan._settings.append((layer, {name: getattr(layer, name) for name in found}))
    for name, value in found.items():
        setattr(layer, name, value)


def get_ratios_by_loss(sensitivities: Mapping[str, Mapping[float, float]], loss: float) -> dict[str, float]:
    """The greatest ratio of each weight whose loss is at most `loss`, between two ratios on a straight line;
    0 where every ratio costs more."""
    ratios: dict[str, float] = {}
    for name, losses in sensitivities.items():
        points = sorted((float(ratio), cost) for ratio, cost in losses.items())
        place = max((i for i, (_, cost) in enumerate(points) if cost <= loss), default=-1)
        ratio, cost = points[place] if place >= 0 else (0.0, 0.0)
        if 0 <= place < len(points) - 1:
            next_ratio, next_cost = points[place + 1]
            ratio += (loss - cost) * (next_ratio - ratio) / (next_cost - cost)
        ratios[name] = ratio
    return ratios


def merge_sensitive(sensitivities: Sequence[Mapping[str, Mapping[float, float]]]) -> Sensitivities:
    """One dictionary of several that `sensitive` returned; a later one goes before an earlier one."""
    if not sensitivities:
        raise InvalidArgument("sensitivities: expected at least one dictionary, got none")
    merged: Sensitivities = {}
    for one in sensitivities:
        for name, losses in one.items():
            merged.setdefault(name, {}).update(losses)
    return merged
