"""Rendered faces: the mouth follows the sound, and what is drawn follows the mouth."""

import numpy as np
import pytest

from sampan.datasets.speech_faces import Face, MouthShape, mouth_shapes, render_face


def tone(*pitches: float) -> np.ndarray:
    time = np.arange(2400) / 8000
    return sum(0.2 * np.sin(2 * np.pi * p * time) for p in pitches).astype(np.float32)


def test_the_mouth_follows_the_sound() -> None:
    quiet = np.zeros(2400, np.float32)
    shape = mouth_shapes(np.concatenate([quiet, tone(800, 1200), quiet]))
    assert [len(c) for c in shape] == [22] * 3 and all(c.min() >= 0 and c.max() <= 1 for c in shape)
    assert shape.opening[10] > 0.5 and shape.opening[0] == shape.opening[-1] == 0
    wide, round_ = mouth_shapes(tone(300, 2500)), mouth_shapes(tone(300, 1000))
    assert wide.width.mean() > round_.width.mean() + 0.3
    assert mouth_shapes(tone(800)).opening.mean() > mouth_shapes(tone(300)).opening.mean() + 0.2
    assert mouth_shapes(tone(3500)).teeth.mean() > 0.8 > mouth_shapes(tone(500)).teeth.mean()


def test_the_picture_follows_the_mouth() -> None:
    ones, none = np.ones(1, np.float32), np.zeros(1, np.float32)

    def dark(shape: MouthShape, face: Face) -> np.ndarray:
        return render_face(shape, face, 64)[0] < 20

    face = Face(noise=0.0)
    still = dark(MouthShape(none, ones, none), face)
    opened = dark(MouthShape(ones, ones, none), face)
    assert opened.sum() > still.sum() + 50
    assert opened.any(0).sum() > dark(MouthShape(ones, none, none), face).any(0).sum()  # wide against round
    assert dark(MouthShape(ones, ones, ones), face).sum() < opened.sum()  # teeth are bright
    assert dark(MouthShape(ones, ones, none), Face(noise=0.0, cover=0.5)).sum() < opened.sum()
    small = dark(MouthShape(ones, ones, none), Face(noise=0.0, scale=0.6))
    assert small.sum() < opened.sum()


def test_seeds_and_random_faces() -> None:
    shape = mouth_shapes(tone(500))
    frames = render_face(shape, seed=1)
    assert frames.dtype == np.uint8 and frames.shape == (len(shape.opening), 48, 48)
    np.testing.assert_array_equal(frames, render_face(shape, seed=1))
    assert (frames != render_face(shape, seed=2)).any()
    faces = [Face.random(np.random.default_rng(n)) for n in range(40)]
    assert len(set(faces)) == 40 and 2 <= sum(face.cover > 0 for face in faces) <= 16


def test_errors() -> None:
    with pytest.raises(ValueError, match="size: expected at least 24, got 8"):
        render_face(mouth_shapes(tone(500)), size=8)
    with pytest.raises(ValueError, match="sound: expected at least 55 ms, got 100 samples"):
        mouth_shapes(np.zeros(100, np.float32))
