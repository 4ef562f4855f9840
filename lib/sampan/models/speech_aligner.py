"""Where each unit of a known text is spoken: the durations that an acoustic model learns from.

Every unit has two or three states in a row, every state a Gaussian over cepstra; the silence is CTC's blank.
`speech.align` finds the best path of a recording's states, the Gaussians are estimated again from the paths,
and so on from even durations (Viterbi training: Rabiner, A tutorial on hidden Markov models, 1989, section
VI).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument
from ..speech.alignment import align
from ..speech.mel import create_dct

__all__ = ["UnitAligner", "cepstra"]

Array = np.ndarray[Any, Any]
EDGE = 2  # frames of silence that a recording begins and ends with, before the first estimate
LEAST_VARIANCE = 0.05


def cepstra(log_mel: Array, count: int = 16) -> Array:
    """float64 [frames, 2 count]: the cosine transform of log mel frames, and its slope over five frames."""
    found = log_mel.astype(np.float64) @ create_dct(count, log_mel.shape[1], dtype="float64").numpy()
    padded = np.pad(found, ((2, 2), (0, 0)), mode="edge")
    slope = (2 * (padded[4:] - padded[:-4]) + padded[3:-1] - padded[1:-3]) / 10
    return np.concatenate([found, 3 * slope], 1)


class UnitAligner:
    """The states of `units` kinds of units. states: for each unit, how many it has; unit 0 is the silence."""

    def __init__(self, states: Sequence[int]) -> None:
        self.first = np.cumsum([0, *states])
        self.mean: Array | None = None
        self.precision: Array = np.zeros(0)

    def _states(self, units: Sequence[int]) -> Array:
        """The states of a text's units, in order."""
        return np.concatenate([np.arange(self.first[u], self.first[u + 1]) for u in units])

    def fits(self, frames: int, units: Sequence[int]) -> bool:
        """Whether a recording has enough frames for its units."""
        return frames >= len(self._states(units)) + 2

    def _path(self, frames: Array, units: Sequence[int]) -> Array:
        """The place of each frame's state among those of the text, -1 for silence."""
        states = self._states(units)
        if not self.fits(len(frames), units):
            raise InvalidArgument(f"frames: expected at least {len(states) + 2}, got {len(frames)}")
        if self.mean is None:
            path = np.full(len(frames), -1)
            inside = len(frames) - 2 * EDGE if len(frames) >= len(states) + 2 * EDGE else len(frames)
            start = (len(frames) - inside) // 2
            path[start : start + inside] = np.arange(inside) * len(states) // inside
            return path
        rows = np.concatenate([[0], states])
        off = frames[:, None] - self.mean[rows]
        logs = 0.5 * (np.log(self.precision[rows]).sum(1) - (off**2 * self.precision[rows]).sum(2))
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        found = align(np.maximum(logs, -200.0), np.arange(1, len(rows)).tolist())
        return found.path - 1

    def fit(self, features: Sequence[Array], texts: Sequence[Sequence[int]], rounds: int = 10) -> list[float]:
        """Estimate the states from recordings [frames, size] and their units; the part of frames whose state
        changed in each round."""
        changed, last = [], None
        for _ in range(rounds):
            places, rows = [], []
            for frames, units in zip(features, texts, strict=True):
                path, states = self._path(frames, units), self._states(units)
                places.append(np.where(path < 0, 0, states[np.maximum(path, 0)]))
                rows.append(frames)
            state, x = np.concatenate(places), np.concatenate(rows)
            counts = np.bincount(state, minlength=self.first[-1])[:, None] + 1e-3
            sums, squares = np.zeros((2, self.first[-1], x.shape[1]))
            np.add.at(sums, state, x)
            np.add.at(squares, state, x**2)
            self.mean = sums / counts
            variance = squares / counts - self.mean**2
            variance[counts[:, 0] < 20] = x.var(0)  # of rare units nothing better is known
            self.precision = 1 / np.maximum(variance, LEAST_VARIANCE)
            changed.append(1.0 if last is None else float((state != last).mean()))
            last = state
        return changed

    def durations(self, frames: Array, units: Sequence[int]) -> Array:
        """int64 [units + 2]: frames of the silence before, of each unit, of the silence after; at least 1 for
        a unit. Silence between two units belongs to the second: the closure of a stop.

        Raises ValueError for fewer frames than the units have states.
        """
        path = self._path(frames, units)
        sizes = [int(self.first[u + 1] - self.first[u]) for u in units]
        owner = np.repeat(np.arange(len(units)), sizes)
        begins = []
        spoken = np.flatnonzero(path >= 0)
        for unit in range(len(units)):
            begins.append(int(spoken[owner[path[spoken]] == unit][0]))
        for unit in range(1, len(units)):  # back over the silence before it
            while path[begins[unit] - 1] < 0:
                begins[unit] -= 1
        ends = [*begins, int(spoken[-1]) + 1, len(frames)]
        return np.diff([0, *ends])
