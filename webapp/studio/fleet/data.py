"""The data of a fleet. The host reads them before it forks the workers, which then have them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Training images [n, 1, 8, 8] and labels [n], then those of the test."""
    import sampan

    bundle = sampan.datasets.load("digits")
    found: list[Any] = []
    for part in (bundle.train, bundle.test):
        items = [part[i] for i in range(len(part))]
        found.append(np.stack([np.asarray(image, np.float32) for image, _ in items]))
        found.append(np.array([int(np.asarray(label).reshape(-1)[0]) for _, label in items], np.int64))
    return found[0], found[1], found[2], found[3]
