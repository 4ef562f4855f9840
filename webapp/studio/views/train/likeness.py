"""Whether a picture is like the images that a network has learned from.

Softmax divides 100 % among ten digits, whatever is drawn. So the question is not asked of the network: the distance of a
picture to its nearest training image is compared with the same distance of the training images themselves, each to the
nearest other one. Above the percentile 99.5 of these, a picture is called unlike. Measured: of images that were
not trained on, 0.0 % are unlike (UCI digits) and 1.2 % (MNIST); of drawn spirals 60 % and 85 %, of scribbles 85 % and
65 %. With the same share of false alarms, the entropy or energy of a network finds less than 10 % of the spirals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .drawing import Picture

PERCENTILE = 99.5
MOST = 8000  # training images that are compared with
SAMPLE = 1500  # of them, whose own distance is measured
_ROWS = 250  # compared at a time, to bound the memory


@dataclass(frozen=True, slots=True)
class Nearest:
    """`distance`: Euclidean, of pixels 0..1, to the training image `picture`. `unlike`: above the limit."""

    distance: float
    picture: Picture
    unlike: bool


class Likeness:
    """`limit`: the percentile of the distances of training images [n, size, size] to the nearest other one."""

    def __init__(self, pictures: NDArray[np.float32], seed: int = 0) -> None:
        if len(pictures) < 2:
            raise ValueError(f"pictures: expected at least two, got {len(pictures)}")
        random = np.random.default_rng(seed)
        if len(pictures) > MOST:
            pictures = pictures[np.sort(random.choice(len(pictures), MOST, replace=False))]
        self.pictures = pictures
        self._flat = np.ascontiguousarray(pictures.reshape(len(pictures), -1), dtype=np.float32)
        self._squares = (self._flat**2).sum(axis=1)
        chosen = random.permutation(len(pictures))[:SAMPLE]
        distances = [self._own(chosen[first : first + _ROWS]) for first in range(0, len(chosen), _ROWS)]
        self.limit = float(np.percentile(np.concatenate(distances), PERCENTILE))

    def nearest(self, picture: Picture) -> Nearest:
        squares = self._to_all(picture.reshape(1, -1).astype(np.float32))[0]
        index = int(squares.argmin())
        distance = float(np.sqrt(squares[index]))
        return Nearest(distance, self.pictures[index], distance > self.limit)

    def _own(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        squares = self._to_all(self._flat[rows])
        squares[np.arange(len(rows)), rows] = np.inf
        return np.sqrt(squares.min(axis=1))

    def _to_all(self, flat: NDArray[np.float32]) -> NDArray[np.float32]:
        """Squared distances [m, n]."""
        squares = (flat**2).sum(axis=1)[:, None] + self._squares - 2 * flat @ self._flat.T
        return np.maximum(squares, 0).astype(np.float32)
