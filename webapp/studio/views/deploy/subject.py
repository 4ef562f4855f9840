"""What the page "Deploy" is about: a network, and the task that it was trained for. Independent of widgets; the library is
imported by the calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 0
CHUNK = 256  # inputs that are answered at once


@dataclass(frozen=True)
class Task:
    """Inputs [n, ...] and labels int64 [n], to train on and to test. name: of the page's words about it, and of the way in which
    a visitor asks; origin: "real" or "made", as on the card of a data set."""

    name: str
    origin: str
    train: NDArray[Any]
    train_labels: NDArray[np.int64]
    test: NDArray[Any]
    test_labels: NDArray[np.int64]

    def accuracy(self, network: Any) -> float:
        """The share of the test inputs that a network answers correctly."""
        return float((probabilities(network, self.test).argmax(1) == self.test_labels).mean())

    def beside(self) -> dict[str, str]:
        """Files by name, with their text, that a program needs beside the network to make an input."""
        return {}

    def usage(self, folder: str) -> list[str]:
        """Lines of a program that make an input with the files `beside` in a folder, and ask `network`; none if there are no
        such files."""
        return []


@dataclass
class Subject:
    """A network in evaluation mode. shape: of one input, without the batch. task: None for random weights. number: of the kept
    run."""

    kind: str
    network: Any
    shape: tuple[int, ...]
    task: Task | None = None
    number: int = 0

    def inputs(self, batch: int) -> Any:
        """A batch of inputs: of the test part, or normal numbers."""
        import sampan

        if self.task is not None:
            return sampan.to_tensor(self.task.test[np.arange(batch) % len(self.task.test)])
        drawn = np.random.default_rng(SEED).standard_normal((batch, *self.shape))
        return sampan.to_tensor(drawn.astype(np.float32))

    def usage(self, folder: str) -> list[str]:
        """Lines of a program that ask `network`, whose files are in a folder."""
        shape = ", ".join(map(str, (1, *self.shape)))
        made = self.task.usage(folder) if self.task is not None else []
        return made or [f"network(paddle.zeros([{shape}]))"]

    def specs(self) -> list[Any]:
        """The input of any batch size, for a file."""
        from sampan.jit import InputSpec

        dtype = "float32" if self.task is None else str(self.task.test.dtype)
        return [InputSpec([None, *self.shape], dtype, "input")]


def probabilities(network: Any, inputs: NDArray[Any]) -> NDArray[np.float32]:
    """[n, classes] of inputs [n, ...]."""
    import sampan

    parts = []
    with sampan.no_grad():
        for first in range(0, len(inputs), CHUNK):
            logits = network(sampan.to_tensor(inputs[first : first + CHUNK]))
            parts.append(sampan.nn.functional.softmax(logits, axis=-1).numpy())
    return np.concatenate(parts)
