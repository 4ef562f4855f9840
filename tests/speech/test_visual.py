"""The region of the mouth: found where it moves, for rendered faces of any size and in noise; errors."""

import numpy as np
import pytest

from sampan.datasets.speech_faces import Face, MouthShape, render_face
from sampan.speech.visual import mouth_box, mouth_region

TIME = np.linspace(0, 6, 30, dtype=np.float32)
SHAPE = MouthShape(
    (np.sin(TIME) ** 2).astype(np.float32), np.full(30, 0.5, np.float32), np.zeros(30, np.float32)
)


@pytest.mark.parametrize("scale, noise", [(0.7, 0.01), (0.85, 0.05), (1.0, 0.08)])
def test_the_mouth_of_a_rendered_face_is_found(scale, noise) -> None:
    face = Face(scale=scale, noise=noise)
    top, left, side = mouth_box(render_face(SHAPE, face, 64), 0.35)
    middle = (0.5 + 0.5 * scale / 2) * 64  # where the renderer puts the mouth
    assert top <= middle < top + side and left <= 32 < left + side
    assert abs(left + side / 2 - 32) < 0.35 * side and abs(top + side / 2 - middle) < 0.35 * side


def test_pixels_are_averaged_and_scaled() -> None:
    frames = np.random.default_rng(0).uniform(0, 255, (6, 40, 40)).astype(np.float32)
    top, left, side = mouth_box(frames, 0.4)
    assert side == 16
    found = mouth_region(frames, 8, 0.4)
    crop = frames[:, top : top + 16, left : left + 16].reshape(6, 8, 2, 8, 2).mean((2, 4))
    np.testing.assert_allclose(found, (crop - crop.mean()) / crop.std(), atol=1e-4)
    assert found.dtype == np.float32
    odd = mouth_region(frames, 5, 0.4)  # 16 pixels to 5: by the overlap of intervals
    assert (
        odd.shape == (6, 5, 5)
        and abs(float(odd.mean())) < 1e-4
        and float(odd.std()) == pytest.approx(1, abs=1e-3)
    )


def test_a_picture_that_stands_still() -> None:
    assert not mouth_region(np.full((4, 30, 30), 9, np.uint8)).any()


def test_errors() -> None:
    for call, message in [
        (
            lambda: mouth_box(np.zeros((1, 30, 30))),
            r"frames: expected uint8 or floating \[time, height, width\]",
        ),
        (lambda: mouth_box(np.zeros((4, 30, 4))), "at least two frames of 8 x 8"),
        (lambda: mouth_box(np.full((2, 9, 9), np.nan)), "frames: expected finite numbers"),
        (lambda: mouth_region(np.zeros((2, 9, 9)), 1), "size: expected an integer of at least 2, got 1"),
        (lambda: mouth_box(np.zeros((2, 9, 9)), 0), "part: expected above 0 to 1, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
