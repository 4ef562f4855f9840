"""Whether sound and mouth belong together, and by how much one is late: canonical correlation.

The directions of mouth movement and of sound that correlate most are found on clips that are in time; of
another clip every offset is tried, and the best one has the largest correlation.
Source: Hotelling, Relations between two sets of variates, 1936; Sargin et al., Audiovisual synchronization
and fusion using canonical correlation analysis, 2007.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .waveform import whole

Array = np.ndarray[Any, Any]
PER_FRAME = 4  # frames of sound in one of the video


def canonical_directions(x: Any, y: Any, count: int, ridge: float = 0.0) -> tuple[Array, Array, Array]:
    """Directions [columns of x, count] and [columns of y, count] whose projections correlate most, and their
    correlations [count], the largest first.

    x, y: [n, columns], of which the mean is subtracted. ridge: added to both covariances, as a part of their
    mean variance. Projections have variance 1 (but for the ridge) and no correlation with each other.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise InvalidArgument(f"x, y: expected [n, columns] twice, got {list(x.shape)} and {list(y.shape)}")
    if not 1 <= count <= min(x.shape[1], y.shape[1]):
        raise InvalidArgument(f"count: expected 1 to {min(x.shape[1], y.shape[1])}, got {count}")
    x, y = x - x.mean(0), y - y.mean(0)

    def whitening(v: Array) -> Array:
        values, vectors = np.linalg.eigh(v.T @ v / len(v))
        values = values + ridge * values.mean()
        if values[0] <= 1e-12 * values[-1]:
            raise InvalidArgument("x, y: columns depend on each other; give a ridge above 0")
        made: Array = vectors / np.sqrt(values)
        return made

    a, b = whitening(x), whitening(y)
    u, s, v = np.linalg.svd(a.T @ (x.T @ y / len(x)) @ b)
    return a @ u[:, :count], b @ v[:count].T, s[:count]


def _around(x: Array, context: int) -> Array:
    """Each frame with `context` frames before and after it, those at the ends repeated: [time, columns]."""
    held = np.pad(x, ((context, context), (0, 0)), mode="edge")
    return np.concatenate([held[n : n + len(x)] for n in range(2 * context + 1)], 1)


def mouth_features(mouths: Any, context: int = 2) -> Array:
    """float64 [time, (2 * context + 1) * 7]: how much the mouth moves and how far it is open.

    mouths: [time, size, size], as `mouth_region` gives them. Seven numbers for each frame: the logarithm of
    the mean change of all pixels and of those in the middle; the 5, 15 and 95 % quantile of the pixels (an
    open mouth is dark) and their deviation; the mean difference between rows. Each with mean 0 and deviation
    1 over the clip, so that faces compare, and with `context` frames before and after.
    """
    x = np.asarray(mouths.numpy() if isinstance(mouths, Tensor) else mouths, np.float64)
    if x.ndim != 3 or x.shape[0] < 2 or x.shape[1] != x.shape[2] or x.shape[1] < 8:
        raise InvalidArgument(f"mouths: expected [time, size, size] of at least 8, got {list(x.shape)}")
    time, size = x.shape[:2]
    change = np.zeros_like(x)
    change[1:-1] = np.abs(x[2:] - x[:-2]) / 2
    middle = slice(size // 4, size - size // 4)
    pixels = x.reshape(time, -1)
    columns = [
        np.log(change.mean((1, 2)) + 1e-3),
        np.log(change[:, middle, middle].mean((1, 2)) + 1e-3),
        *np.quantile(pixels, (0.05, 0.15, 0.95), axis=1),
        pixels.std(1),
        np.abs(np.diff(x, axis=1)).mean((1, 2)),
    ]
    made = np.stack(columns, 1)
    return _around((made - made.mean(0)) / (made.std(0) + 1e-6), context)


def sound_features(sound: Any, context: int = 2) -> Array:
    """float64 [time, (2 * context + 1) * bins]: log energies [4 * time, bins] averaged to 25 a second, less
    their mean, with `context` frames before and after."""
    x = np.asarray(sound.numpy() if isinstance(sound, Tensor) else sound, np.float64)
    if x.ndim != 2 or len(x) < 2 * PER_FRAME:
        raise InvalidArgument(f"sound: expected [frames, bins] of at least 80 ms, got {list(x.shape)}")
    time = len(x) // PER_FRAME
    mean = x[: time * PER_FRAME].reshape(time, PER_FRAME, -1).mean(1)
    return _around(mean - mean.mean(0), context)


class Offset(NamedTuple):
    """frames: by so many video frames the sound is late (negative: early). correlation: there. margin: over
    the best offset that is more than two frames away."""

    frames: int
    correlation: float
    margin: float


class Synchrony:
    """Correlation of mouths and sound at every offset.

    components: pairs of directions whose correlations are averaged. ridge: see `canonical_directions`.
    `fit(clips)` with pairs (mouths, sound) that are in time, then `offset(mouths, sound)`.
    """

    def __init__(self, components: int = 2, ridge: float = 0.3) -> None:
        self.components, self.ridge = whole("components", components), ridge
        self._directions: tuple[Array, Array] | None = None

    def fit(self, clips: Sequence[tuple[Any, Any]]) -> "Synchrony":
        """Learn from clips: mouths [time, size, size] at 25 a second, log energies [4 * time, bins]."""
        if not clips:
            raise InvalidArgument("clips: expected at least one, got none")
        pairs = [(mouth_features(m), sound_features(s)) for m, s in clips]
        ends = [min(len(m), len(s)) for m, s in pairs]
        x, y = (np.concatenate([p[k][:n] for p, n in zip(pairs, ends, strict=True)]) for k in (0, 1))
        a, b, _ = canonical_directions(x, y, self.components, self.ridge)
        self._directions = a, b
        return self

    def correlations(self, mouths: Any, sound: Any, most: int = 12) -> Array:
        """float64 [2 * most + 1]: the mean correlation of the components where the sound is taken to be late
        by -most to most video frames."""
        if self._directions is None:
            raise InvalidArgument("call fit(clips) first")
        x = mouth_features(mouths) @ self._directions[0]
        y = sound_features(sound) @ self._directions[1]
        if min(len(x), len(y)) < most + 10:
            raise InvalidArgument(f"mouths: expected at least {most + 10} frames, got {min(len(x), len(y))}")
        found = np.empty(2 * most + 1)
        for n, late in enumerate(range(-most, most + 1)):
            first, start = max(-late, 0), max(late, 0)
            size = min(len(x) - first, len(y) - start)
            p, q = x[first : first + size], y[start : start + size]
            p, q = p - p.mean(0), q - q.mean(0)
            power = np.sqrt((p * p).sum(0) * (q * q).sum(0))
            found[n] = ((p * q).sum(0) / np.maximum(power, 1e-12)).mean()
        return found

    def offset(self, mouths: Any, sound: Any, most: int = 12) -> Offset:
        """By how many video frames the sound is late, among -most to most."""
        found = self.correlations(mouths, sound, most)
        best = int(found.argmax())
        away = np.abs(np.arange(len(found)) - best) > 2
        return Offset(best - most, float(found[best]), float(found[best] - found[away].max()))
