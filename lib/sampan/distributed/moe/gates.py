"""Gates: a linear layer that scores the experts for each row, and the choice of the best."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...engine.backward import no_grad
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn import Layer, Linear
from ...nn.functional import one_hot, softmax
from ...ops.search import topk
from ...random import rand
from ..group import Group
from .routing import check_group, limited


class BaseGate(Layer):
    """A gate over the experts of all processes. num_expert: those of one process; world_size: processes."""

    def __init__(self, num_expert: int, world_size: int) -> None:
        super().__init__()
        self.world_size, self.num_expert = world_size, num_expert
        self.tot_expert = world_size * num_expert
        self.loss: Tensor | None = None

    def forward(self, x: Tensor) -> Any:
        """The scores [rows, k] of the chosen experts and their numbers, -1 for none."""
        raise NotImplementedError("BaseGate.forward: write it in the subclass")

    def set_loss(self, loss: Tensor) -> None:
        """Keep the loss that makes experts equally busy."""
        self.loss = loss

    def get_loss(self, clear: bool = True) -> Tensor | None:
        """That of the last forward, None without one; clear: it is then forgotten."""
        loss = self.loss
        if clear:
            self.loss = None
        return loss


class NaiveGate(BaseGate):
    """The `topk` experts with the largest scores. The scores are those of a Linear, without softmax.

    d_model: the length of a row.
    """

    def __init__(self, d_model: int, num_expert: int, world_size: int, topk: int = 2) -> None:
        super().__init__(num_expert, world_size)
        if not 0 < topk <= self.tot_expert:
            raise InvalidArgument(f"topk: expected 1 to {self.tot_expert}, the number of experts, got {topk}")
        self.gate: Any = Linear(d_model, self.tot_expert)
        for parameter in self.gate.parameters():
            parameter.name = f"gate_{parameter.name}"
        self.top_k = topk

    def forward(self, inp: Tensor, return_all_scores: bool = False) -> Any:
        """inp [rows, d_model]. Scores and numbers [rows, k]; with return_all_scores also all scores."""
        scores = self.gate(inp)
        best, chosen = topk(scores, self.top_k, axis=-1)
        return (best, chosen, scores) if return_all_scores else (best, chosen)


class GShardGate(NaiveGate):
    """Two experts for each row, of limited capacity (Lepikhin et al. 2021, GShard, algorithm 1).

    capacity: rows that an expert takes, as a part of the rows of a process, in training and in evaluation.
    random_routing: the second expert is left out at random where its score is small: 2 score < u of [0, 1).
    """

    def __init__(
        self,
        d_model: int,
        num_expert: int,
        world_size: int,
        topk: int = 2,
        capacity: tuple[float, float] = (1.2, 2.4),
        random_routing: bool = True,
        group: Group | None = None,
    ) -> None:
        if topk != 2:
            raise AssertionError("topk should be 2 in gshard")
        check_group("GShardGate", world_size, group)
        super().__init__(d_model, num_expert, world_size)
        self.capacity, self.random_routing, self.group = capacity, random_routing, group

    def forward(self, x: Tensor) -> Any:  # type: ignore[override]  # all scores are its own
        """x [rows, d_model]. Scores and numbers [rows, 2], -1 where an expert has no room."""
        best, chosen, scores = super().forward(x, return_all_scores=True)
        with no_grad():
            named = one_hot(chosen.flatten(), self.tot_expert).sum(0) / scores.shape[0]
        share = softmax(scores, axis=1).mean(axis=0)
        self.set_loss((named * share).mean() * self.num_expert**2)
        capacity = math.ceil(self.capacity[0 if self.training else 1] * x.shape[0])
        choice = limited(chosen.data, self.tot_expert, capacity, self.group)
        if self.random_routing:
            drawn = rand([scores.shape[0]], dtype="float32").data
            choice[:, 1] = torch.where(2 * best.data[:, 1] < drawn, -1, choice[:, 1])
        return best, Tensor(choice)


class SwitchGate(NaiveGate):
    """One expert for each row, of limited capacity (Fedus et al. 2021, Switch Transformers, section 2.2).

    switch_eps: in training a number of 1 - switch_eps to 1 + switch_eps is added to each score.
    capacity: as of GShardGate.
    """

    def __init__(
        self,
        d_model: int,
        num_expert: int,
        world_size: int,
        topk: int = 1,
        switch_eps: float = 0.1,
        capacity: tuple[float, float] = (1.2, 2.4),
        group: Group | None = None,
    ) -> None:
        if topk != 1:
            raise AssertionError("topk should be 1 in switch")
        check_group("SwitchGate", world_size, group)
        super().__init__(d_model, num_expert, world_size, topk=1)
        self.switch_eps, self.capacity, self.group = switch_eps, capacity, group

    def forward(self, inp: Tensor) -> Any:  # type: ignore[override]  # all scores are its own
        """inp [rows, d_model]. Probabilities and numbers [rows, 1], -1 where an expert has no room."""
        scores = self.gate(inp)
        if self.training:
            scores = scores + (rand(scores.shape) * (2 * self.switch_eps) + (1 - self.switch_eps))
        probabilities = softmax(scores, axis=-1)
        best, chosen = topk(probabilities, 1, axis=-1)
        capacity = math.ceil(self.capacity[0 if self.training else 1] * inp.shape[0])
        choice = limited(chosen.data, self.tot_expert, capacity, self.group)
        kept = choice[choice >= 0]
        count = max(len(kept), 1)
        named = Tensor(torch.bincount(kept, minlength=self.tot_expert).to(probabilities.data.dtype) / count)
        share = probabilities.sum(axis=0) / count
        self.set_loss((named * share).sum() * self.tot_expert)
        return best, Tensor(choice)
