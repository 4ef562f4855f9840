"""The results of a trained network on the test set: probabilities, confusion matrix, worst mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Mistake:
    """A test image with a wrong prediction. `picture` is float32 [height, width], 0..1."""

    index: int
    picture: NDArray[np.float32]
    true: int
    predicted: int
    probability: float


@dataclass(frozen=True, slots=True)
class Result:
    """`pictures` float32 [n, height, width], `labels` int64 [n], `probabilities` float32 [n, classes]."""

    pictures: NDArray[np.float32]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float32]

    def __post_init__(self) -> None:
        n = len(self.labels)
        if len(self.pictures) != n or len(self.probabilities) != n or n == 0:
            raise ValueError(
                "pictures, labels and probabilities: expected the same number of rows, at least one, got "
                f"{len(self.pictures)}, {n} and {len(self.probabilities)}"
            )

    @property
    def predictions(self) -> NDArray[np.int64]:
        return self.probabilities.argmax(axis=1).astype(np.int64)

    @property
    def accuracy(self) -> float:
        return float((self.predictions == self.labels).mean())

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        of_true = np.take_along_axis(self.probabilities, self.labels[:, None], axis=1)
        return float(-np.log(np.maximum(of_true, 1e-12)).mean())

    def confusion(self) -> NDArray[np.int64]:
        """[classes, classes]: how many images of class i (row) were predicted as class j (column)."""
        classes = self.probabilities.shape[1]
        flat = np.bincount(self.labels * classes + self.predictions, minlength=classes * classes)
        return flat.reshape(classes, classes).astype(np.int64)

    def worst(self, count: int) -> list[Mistake]:
        """The mistakes with the highest predicted probability, worst first."""
        predicted, sure = self.predictions, self.probabilities.max(axis=1)
        wrong = np.flatnonzero(predicted != self.labels)
        order = wrong[np.argsort(-sure[wrong], kind="stable")][:count]
        return [
            Mistake(
                index=int(i),
                picture=self.pictures[i],
                true=int(self.labels[i]),
                predicted=int(predicted[i]),
                probability=float(sure[i]),
            )
            for i in order
        ]
