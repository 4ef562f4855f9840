"""The state of a training run in one file, from which it continues as if it had never stopped."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.tensor import InvalidArgument, Tensor
from ..random import get_rng_state, set_rng_state
from ..serialization import load, save_with_checksum

FILE = "resume.sampan"


def chance() -> dict[str, Any]:
    """The state of every random generator: torch's (CPU and GPUs), NumPy's and Python's."""
    name, keys, *rest = np.random.get_state(legacy=True)
    numpy = [name, np.asarray(keys).astype(np.int64), *rest]
    return {"torch": list(get_rng_state()), "numpy": numpy, "python": list(_lists(random.getstate()))}


def set_chance(state: dict[str, Any]) -> None:
    set_rng_state([t.data if isinstance(t, Tensor) else t for t in state["torch"]])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.asarray(keys).astype(np.uint32), *rest))
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))


def _lists(value: Any) -> Any:
    return [_lists(v) for v in value] if isinstance(value, tuple) else value


@contextmanager
def evaluating(network: Any) -> Iterator[None]:
    """Within the block every layer is in evaluation mode; then each is in its own mode again."""
    modes = [(layer, layer.training) for layer in network.sublayers(include_self=True)]
    network.eval()
    try:
        yield
    finally:
        for layer, mode in modes:
            layer.training = mode


def check_finite(network: Any, what: str) -> None:
    """FloatingPointError if a parameter or buffer is not finite: such a network must not replace a good
    checkpoint."""
    for name, tensor in network.state_dict().items():
        if tensor.data.is_floating_point() and not bool(torch.isfinite(tensor.data).all()):
            raise FloatingPointError(f"{what}: {name} holds values that are not finite; nothing was saved")


def write(folder: str | Path, state: dict[str, Any]) -> Path:
    """Atomically: a kill at any moment leaves the former state or the new one."""
    path = Path(folder) / FILE
    save_with_checksum(state, path)
    for left in path.parent.glob(f".{FILE}.*.tmp"):  # of runs that were killed while they wrote
        left.unlink(missing_ok=True)
    return path


def read(folder: str | Path) -> dict[str, Any] | None:
    """The state in `folder`, None if there is none. ValueError for a damaged or foreign file."""
    path = Path(folder) / FILE
    if not path.exists():
        return None
    state = load(path)
    expected = {"network", "optimizer", "metrics", "callbacks", "chance", "epoch", "step", "steps", "totals"}
    if not isinstance(state, dict) or not expected <= set(state):
        raise InvalidArgument(f"resume: {str(path)!r} is not a training state")
    return state
