"""States of the random generators of processes that hold parts of one layer (Paddle's module
`fleet.layers.mpu.random`).

What is cut over processes, such as a weight or the mask of its dropout, must be drawn from another state in
each of them; what all have, from the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...random import get_rng_state, set_rng_state
from ...random import seed as start
from .. import wire
from . import topology

__all__ = [
    "MODEL_PARALLEL_RNG",
    "RNGStatesTracker",
    "dropout",
    "get_rng_state_tracker",
    "model_parallel_random_seed",
]

MODEL_PARALLEL_RNG = "model_parallel_rng"


class RNGStatesTracker:
    """States of the generators by name, each of which goes on where it was left."""

    def __init__(self) -> None:
        self.states_: dict[str, Any] = {}
        self.seeds_: set[int] = set()

    def reset(self) -> None:
        """Forget all states."""
        self.states_, self.seeds_ = {}, set()

    def add(self, name: str, seed: int) -> None:
        """A new state, which begins at a seed. ValueError for a name or a seed that is there already."""
        if seed in self.seeds_:
            raise InvalidArgument(f"seed {seed} already exists")
        self.seeds_.add(seed)
        if name in self.states_:
            raise InvalidArgument(f"state {name} already exists")
        before = get_rng_state()
        torch.manual_seed(seed)
        self.states_[name] = get_rng_state()
        set_rng_state(before)

    def get_states_tracker(self) -> dict[str, Any]:
        """All states, for `set_states_tracker`."""
        return dict(self.states_)

    def set_states_tracker(self, states: dict[str, Any]) -> None:
        """Continue from states that were taken before. ValueError for an unknown name."""
        for name in states:
            self._known(name)
        self.states_.update(states)

    @contextlib.contextmanager
    def rng_state(self, name: str = MODEL_PARALLEL_RNG) -> Iterator[None]:
        """Within it random values are drawn from the state of this name. ValueError for an unknown one."""
        self._known(name)
        before = get_rng_state()
        set_rng_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = get_rng_state()
            set_rng_state(before)

    def _known(self, name: str) -> None:
        if name not in self.states_:
            raise InvalidArgument(f"state {name} does not exist")


_tracker = RNGStatesTracker()


def get_rng_state_tracker() -> RNGStatesTracker:
    """The states of this process."""
    return _tracker


def model_parallel_random_seed(seed: int | None = None) -> None:
    """Start the usual state from `seed`, as all processes do, and MODEL_PARALLEL_RNG from one that differs
    among the processes that hold parts of one model.

    None: one is drawn, the same within a group of tensor parallelism; all its processes must call it.
    """
    groups = topology.current("model_parallel_random_seed")
    if not seed:
        drawn = torch.tensor([np.random.randint(0, 10000)])
        wire.broadcast(drawn, 0, groups.get_model_parallel_group())
        seed = int(drawn)
    place = groups.get_model_parallel_rank() * groups.get_pipe_parallel_world_size() + groups.get_stage_id()
    _tracker.reset()
    _tracker.add(MODEL_PARALLEL_RNG, seed + 1 + place)
    start(seed)


def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    rng_name: str | None = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """`nn.functional.dropout`, whose mask is drawn from the state `rng_name`, or from the usual one.

    AssertionError for an axis with a rng_name, as in Paddle.
    """
    if rng_name is None:
        return F.dropout(x, p, axis=axis, training=training, mode=mode, name=name)
    if axis is not None:
        raise AssertionError("dropout: axis: expected None with rng_name")
    with _tracker.rng_state(rng_name):
        return F.dropout(x, p, training=training, mode=mode, name=name)
