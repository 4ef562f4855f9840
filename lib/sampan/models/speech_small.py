"""What the recipes of small speech networks share: sounds at one rate, batches, and the loop over epochs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from .. import hapi, nn, optimizer
from ..engine.tensor import Tensor
from ..random import seed as set_seed
from ..speech.augment import add_noise
from ..speech.resample import resample

__all__ = ["mixed", "padded", "sounds", "train_network"]

Array = np.ndarray[Any, Any]
Batches = Callable[[np.random.Generator], Iterable[tuple[list[Any], list[Any]]]]


def sounds(recordings: Sequence[Any], sample_rate: int) -> list[Array]:
    """float32 [samples] of each `datasets.recordings.Recording`, channels averaged, the largest 0.5."""
    made = []
    for one in recordings:
        waveform, rate = one.load()
        mono = waveform.mean(0)
        array = (mono if rate == sample_rate else resample(mono, rate, sample_rate)).numpy()
        made.append(array * np.float32(0.5 / max(float(np.abs(array).max()), 1e-4)))
    return made


def mixed(sound: Array, noise: Array, snr: float) -> Array:
    """`add_noise` of arrays."""
    found: Array = add_noise(sound, noise, snr).numpy()
    return found


def padded(features: Sequence[Array]) -> tuple[Tensor, Tensor]:
    """Arrays [time, ...] as one float32 Tensor [batch, longest, ...], 0 in padding, and int64 lengths."""
    lengths = np.array([len(x) for x in features], np.int64)
    made = np.zeros((len(features), lengths.max(), *features[0].shape[1:]), np.float32)
    for row, x in enumerate(features):
        made[row, : len(x)] = x
    return Tensor(torch.from_numpy(made)), Tensor(torch.from_numpy(lengths))


def train_network(
    network: nn.Layer,
    batches: Batches,
    loss: Callable[..., Tensor],
    epochs: int,
    steps: int,
    learning_rate: float = 3e-3,
    weight_decay: float = 0.02,
    seed: int = 1,
    report: Callable[[str], None] | None = None,
) -> list[float]:
    """Train with AdamW and a cosine schedule; leaves the network in eval mode and returns the mean loss of
    each epoch.

    batches(rng): the batches of one epoch, pairs (inputs, labels) of lists of Tensors, about `steps` of them.
    loss(*outputs, *labels): a Tensor with one value. report: called with a line after each epoch.
    """
    set_seed(seed)
    rate = optimizer.lr.CosineAnnealingDecay(learning_rate, epochs * steps)
    adam = optimizer.AdamW(
        rate,
        parameters=network.parameters(),
        weight_decay=weight_decay,
        grad_clip=nn.ClipGradByGlobalNorm(5.0),
    )

    def value_of(outputs: Any, *labels: Any) -> Tensor:
        return loss(*(outputs if isinstance(outputs, tuple) else (outputs,)), *labels)

    found = []
    network.train()
    for epoch in range(epochs):
        losses: list[float] = []

        def after(value: Tensor, outputs: Any, labels: list[Any], into: list[float] = losses) -> None:
            into.append(float(value))
            rate.step()

        hapi.train_epoch(network, batches(np.random.default_rng([seed, epoch])), value_of, adam, after)
        found.append(float(np.mean(losses)))
        if report is not None:
            report(f"epoch {epoch + 1}: loss {found[-1]:.3f}")
    network.eval()
    return found
