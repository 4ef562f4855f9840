"""Fewer parameters for a trained recogniser: a block and channels that matter little go, then single entries.

Removed blocks and channels make the network smaller, so that it computes less. Entries that are 0 make the
file smaller alone (`packed.py`): a processor takes as long for them. Both cost accuracy that further
training wins back.
Sources: Li et al., Pruning Filters for Efficient ConvNets, 2017 (channels by norm); Han et al., Learning both
Weights and Connections, 2015; Zhu and Gupta, To prune, or not to prune, 2017 (the schedule);
Fan et al., Reducing Transformer Depth on Demand with Structured Dropout, 2020 (blocks).
"""

import re
from collections.abc import Mapping
from typing import Any

import torch

from .. import nn
from ..engine.tensor import InvalidArgument, Tensor
from .nn import FeedForward
from .pretrained import AudioClassifier

__all__ = ["Sparsity", "fewer_channels", "without_block"]
BLOCK = re.compile(r"(.*encoder\.blocks\.)(\d+)(\..*)")


def without_block(model: AudioClassifier, removed: int) -> AudioClassifier:
    """A Conformer that lacks one block of `model`, by its number from 0. Raises InvalidArgument for a number
    that no block has, and for the only block."""
    count = model.config["encoder"]["num_layers"]
    if count < 2 or not 0 <= removed < count:
        raise InvalidArgument(f"removed: expected one of {count} blocks, and not the only one, got {removed}")
    encoder = {**model.config["encoder"], "num_layers": count - 1}
    made = AudioClassifier.from_config({**model.config, "encoder": encoder})
    state = {}
    for name, value in model.state_dict().items():
        block = BLOCK.fullmatch(name)
        if block and int(block[2]) >= removed:
            if int(block[2]) == removed:
                continue
            name = f"{block[1]}{int(block[2]) - 1}{block[3]}"
        state[name] = Tensor(value.data)
    made.set_state_dict(state)
    return made


def _channels(layer: Any, count: int) -> torch.Tensor:
    """The numbers of the `count` hidden channels with the greatest product of norms before and after."""
    into, out = layer.linear1.weight.data, layer.linear2.weight.data
    return (into.norm(dim=0) * out.norm(dim=1)).topk(count).indices.sort().values


def fewer_channels(model: AudioClassifier, hidden: int) -> AudioClassifier:
    """A Conformer with `hidden` channels in each feed-forward network, the most important ones of `model`.

    The result is a network like any other: its config says how many channels it has. Raises InvalidArgument
    for a model without feed-forward networks, and for more channels than there are.
    """
    layers: list[Any] = [layer for layer in model.sublayers() if isinstance(layer, FeedForward)]
    if not layers:
        raise InvalidArgument("model: expected a Conformer, got a network without feed-forward layers")
    there = layers[0].linear1.weight.shape[1]
    if not 1 <= hidden <= there:
        raise InvalidArgument(f"hidden: expected 1 to {there}, got {hidden}")
    encoder = {**model.config["encoder"], "hidden": hidden}
    made = AudioClassifier.from_config({**model.config, "encoder": encoder})
    state = {name: value.data for name, value in model.state_dict().items()}
    for name, layer in model.named_sublayers():
        if isinstance(layer, FeedForward):
            kept = _channels(layer, hidden)
            for part in ("linear1.weight", "linear1.bias"):
                state[f"{name}.{part}"] = state[f"{name}.{part}"].index_select(-1, kept)
            state[f"{name}.linear2.weight"] = state[f"{name}.linear2.weight"].index_select(0, kept)
    made.set_state_dict({name: Tensor(value) for name, value in state.items()})
    return made


class Sparsity:
    """Sets the smallest entries of a network's matrices to 0, more of them with each step of a training.

    share: of the entries that are 0 in the end, from 0 to 1. steps: until then; the share rises by the cubic
    schedule of Zhu and Gupta 2017. every: steps between two choices of the entries. Matrices are compared
    with one another by their entries over the matrix's root mean square. keep: names of parameters, or parts
    of names, that stay as they are. Call `step(n)` after each step n of the optimizer.
    """

    def __init__(
        self, network: nn.Layer, share: float, steps: int, every: int = 10, keep: tuple[str, ...] = ()
    ) -> None:
        if not 0 <= share < 1:
            raise InvalidArgument(f"share: expected 0 to less than 1, got {share}")
        if steps < 1 or every < 1:
            raise InvalidArgument(f"steps, every: expected 1 or more, got {steps} and {every}")
        self.share, self.steps, self.every = share, steps, every
        self.matrices: Mapping[str, torch.Tensor] = {
            name: value.data
            for name, value in network.named_parameters()
            if value.ndim > 1 and not any(part in name for part in keep)
        }
        self.masks: dict[str, torch.Tensor] = {}

    def at(self, step: int) -> float:
        """The share after a step: share (1 - (1 - step / steps)^3)."""
        left: float = 1 - min(step / self.steps, 1.0)
        return self.share * (1 - left**3)

    def step(self, number: int) -> None:
        """Set the chosen entries to 0; choose again where it is due."""
        if not self.masks or (number % self.every == 0 and number <= self.steps + self.every):
            self._choose(self.at(number))
        for name, value in self.matrices.items():
            value.mul_(self.masks[name])

    def _choose(self, share: float) -> None:
        sizes = {n: value.abs() / value.square().mean().sqrt() for n, value in self.matrices.items()}
        every = torch.cat([size.flatten() for size in sizes.values()])
        count = int(share * every.numel())
        least: Any = every.kthvalue(count).values if count else -1.0
        self.masks = {name: (size > least).to(size.dtype) for name, size in sizes.items()}
