"""What a network makes of one picture: its probabilities, the weights of its first layer as pictures, and how strongly
each of these units answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .drawing import Picture

SHOWN = 32  # units; a network for small images has 256 alike


@dataclass(frozen=True, slots=True)
class View:
    """`weights` float32 [shown, height, width] of the first layer, `units` its number of units in all. For a picture:
    `probabilities` [10] and `activations` [shown], after ReLU; a convolution's are the means over the picture."""

    weights: NDArray[np.float32]
    units: int
    probabilities: NDArray[np.float32] | None = None
    activations: NDArray[np.float32] | None = None

    @property
    def entropy(self) -> float:
        """Of the probabilities, in bits: 0 is one digit, log2(10) = 3.32 all ten alike."""
        assert self.probabilities is not None
        p = self.probabilities[self.probabilities > 0].astype(np.float64)
        return float(-(p * np.log2(p)).sum()) + 0.0


def view(network: Any, picture: Picture | None, image_size: int) -> View:
    """In the thread that uses the network: training and this must not run at once."""
    import sampan

    layer = _first(network)
    weight = layer.weight.numpy()
    linear = weight.ndim == 2
    weights = weight.T.reshape(-1, image_size, image_size) if linear else weight[:, 0]
    shown, units = np.ascontiguousarray(weights[:SHOWN], dtype=np.float32), len(weights)
    if picture is None:
        return View(shown, units)
    was_training = network.training
    network.eval()
    try:
        with sampan.no_grad():
            x = sampan.to_tensor(np.ascontiguousarray(picture[None, None], dtype=np.float32))
            probabilities = sampan.nn.functional.softmax(network(x), axis=-1).numpy()[0]
            answers = layer(x.reshape([1, -1]) if linear else x).numpy()[0, :SHOWN]
    finally:
        if was_training:
            network.train()
    answers = np.maximum(answers, 0).reshape(len(shown), -1).mean(axis=1)
    return View(shown, units, probabilities.astype(np.float32), answers.astype(np.float32))


def _first(network: Any) -> Any:
    """The first layer with a weight."""
    return next(layer for layer in network.sublayers() if getattr(layer, "weight", None) is not None)
