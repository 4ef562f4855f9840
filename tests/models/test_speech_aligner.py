"""Alignment of made recordings whose true durations are known."""

import numpy as np
import pytest

from sampan.engine.errors import InvalidArgument
from sampan.models.speech_aligner import UnitAligner, cepstra

STATES = [1, 2, 3, 3]


def made(count: int, seed: int) -> tuple[list[np.ndarray], list[list[int]], list[list[int]]]:
    """Recordings of units 1 to 3 in random order, each with a cepstrum of its own that glides, silence
    around."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(0, 3, (4, 2, 6))
    centres[0] = 0
    sounds, texts, truth = [], [], []
    for _ in range(count):
        units = rng.permutation([1, 2, 3])[: rng.integers(1, 4)].tolist()
        lengths = [2, *rng.integers(6, 15, len(units)).tolist(), 3]
        rows = []
        for unit, length in zip([0, *units, 0], lengths, strict=True):
            part = np.linspace(0, 1, length)[:, None]
            rows.append(centres[unit][0] * (1 - part) + centres[unit][1] * part)
        sounds.append(np.concatenate(rows) + rng.normal(0, 0.4, (sum(lengths), 6)))
        texts.append(units)
        truth.append(lengths)
    return sounds, texts, truth


def test_the_durations_are_found_from_even_ones() -> None:
    sounds, texts, truth = made(60, 0)
    aligner = UnitAligner(STATES)
    changed = aligner.fit(sounds, texts, 8)
    assert changed[0] == 1.0 and changed[-1] < 0.02
    others, other_texts, other_truth = made(20, 1)
    off = []
    for frames, units, wanted in zip(
        [*sounds, *others], [*texts, *other_texts], [*truth, *other_truth], strict=True
    ):
        found = aligner.durations(frames, units)
        assert found.sum() == len(frames) and (found[1:-1] >= 1).all()
        off.append(np.abs(np.cumsum(found)[:-1] - np.cumsum(wanted)[:-1]).mean())
    assert np.mean(off) < 0.8  # frames


def test_too_short_a_recording_is_named() -> None:
    aligner = UnitAligner(STATES)
    assert not aligner.fits(6, [1, 2]) and aligner.fits(7, [1, 2])
    with pytest.raises(InvalidArgument, match="frames: expected at least 7, got 6"):
        aligner.durations(np.zeros((6, 4)), [1, 2])


def test_cepstra_and_their_slopes() -> None:
    time = np.arange(10)[:, None]
    frames = np.ones((1, 8)) * time * 0.5
    found = cepstra(frames, 4)
    assert found.shape == (10, 8)
    assert np.allclose(found[:, 0], np.sqrt(8) * 0.5 * time[:, 0])  # the orthonormal transform's first row
    assert np.allclose(found[2:-2, 4], 3 * np.sqrt(8) * 0.5) and np.allclose(found[:, 5:], 0)
