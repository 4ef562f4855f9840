"""Canonical correlation beside SciPy, and offsets of rendered faces that were moved."""

import numpy as np
import pytest
import scipy.linalg

from sampan.datasets.speech_faces import Face, mouth_shapes, render_face
from sampan.speech.inputs import FbankInput
from sampan.speech.synchrony import Synchrony, canonical_directions, mouth_features, sound_features
from sampan.speech.visual import mouth_region


def test_correlations_are_the_cosines_of_angles_between_subspaces() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4))
    y = x @ rng.standard_normal((4, 6)) + 2 * rng.standard_normal((200, 6))
    a, b, found = canonical_directions(x, y, 4)
    centred = [v - v.mean(0) for v in (x, y)]
    np.testing.assert_allclose(
        found, np.sort(np.cos(scipy.linalg.subspace_angles(*centred)))[::-1], atol=1e-10
    )
    p, q = centred[0] @ a, centred[1] @ b
    np.testing.assert_allclose(p.T @ p / 200, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(p.T @ q / 200, np.diag(found), atol=1e-10)


def bursts(seed: int) -> np.ndarray:
    """Three seconds of a voice that comes and goes."""
    rng, time = np.random.default_rng(seed), np.arange(24000) / 8000
    gain = np.repeat(rng.random(20) < 0.5, 1200) * np.repeat(rng.uniform(0.3, 1, 20), 1200)
    return (0.2 * gain * (np.sin(2 * np.pi * 500 * time) + np.sin(2 * np.pi * 1500 * time))).astype(
        np.float32
    )


def clip(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(mouths, sound) of a rendered face."""
    x = bursts(seed)
    frames = render_face(mouth_shapes(x), Face.random(np.random.default_rng(seed)), seed=seed)
    return mouth_region(frames, 16, 0.35), np.maximum(FbankInput(8000, 40).features(x), 0)


def test_offsets_of_rendered_faces() -> None:
    learned = Synchrony().fit([clip(n) for n in range(6)])
    for late in (-6, 0, 5):
        mouths, sound = clip(9)
        found = learned.offset(mouths, np.roll(sound, 4 * late, 0))
        assert abs(found.frames - late) <= 1 and found.correlation > 0.3 and found.margin > 0


def test_shapes() -> None:
    mouths = np.random.default_rng(0).standard_normal((30, 16, 16))
    assert mouth_features(mouths).shape == (30, 35)
    np.testing.assert_allclose(mouth_features(mouths, 0).mean(0), 0, atol=1e-9)
    sound = np.arange(120.0).reshape(60, 2)
    found = sound_features(sound, 1)
    assert found.shape == (15, 6)
    np.testing.assert_allclose(found[:, 2:4] + sound.mean(0), sound.reshape(15, 4, 2).mean(1))
    np.testing.assert_array_equal(found[1:, :2], found[:-1, 2:4])  # the frame before


def test_errors() -> None:
    for call, message in [
        (lambda: Synchrony().offset(np.zeros((30, 8, 8)), np.zeros((120, 4))), r"call fit\(clips\) first"),
        (lambda: Synchrony().fit([]), "clips: expected at least one, got none"),
        (lambda: mouth_features(np.zeros((30, 8, 9))), r"mouths: expected \[time, size, size\]"),
        (lambda: sound_features(np.zeros((3, 4))), r"sound: expected \[frames, bins\] of at least 80 ms"),
        (
            lambda: canonical_directions(np.zeros((5, 2)), np.zeros((5, 2)), 3),
            "count: expected 1 to 2, got 3",
        ),
        (
            lambda: canonical_directions(np.zeros((5, 2)), np.zeros((4, 2)), 1),
            r"x, y: expected \[n, columns\]",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    rng = np.random.default_rng(0)
    same = np.repeat(rng.standard_normal((20, 1)), 2, 1)
    with pytest.raises(ValueError, match="columns depend on each other; give a ridge above 0"):
        canonical_directions(same, rng.standard_normal((20, 2)), 1)
