"""Arrays are resized as by OpenCV and padded as by NumPy."""

import numpy as np
import pytest

from sampan.vision import transforms as T

# What PaddlePaddle 3.3.1 gives with OpenCV 5.0, which it calls for arrays.
ROWS, COLUMNS = np.arange(5)[:, None], np.arange(7)


PATTERN = (ROWS * 37 + COLUMNS * 91 + ROWS * COLUMNS * 13).astype(np.uint8)


BY_OPENCV = {
    "nearest": [[0, 91, 17, 199], [37, 141, 93, 45], [111, 241, 245, 249]],
    "bilinear": [[48, 183, 126, 100], [118, 67, 47, 60], [124, 153, 171, 180]],
    "area": [[56, 148, 115, 105], [124, 135, 116, 97], [126, 143, 160, 177]],
    "bicubic": [[36, 201, 132, 102], [125, 56, 37, 66], [122, 162, 181, 185]],
}


LARGER = [[0, 61, 131, 145, 17, 88, 158, 144, 34], [16, 81, 156, 174, 50, 125, 138, 116, 84], [39, 109, 184, 203, 98, 167, 111, 81, 140]]  # fmt: skip


@pytest.mark.parametrize("mode", BY_OPENCV)
def test_arrays_are_resized_as_by_opencv(mode):
    np.testing.assert_array_equal(T.resize(PATTERN, (3, 4), mode), BY_OPENCV[mode])
    found = T.resize(np.stack([PATTERN, 255 - PATTERN], -1), (3, 4), mode)
    assert found.shape == (3, 4, 2) and found.dtype == np.uint8
    np.testing.assert_array_equal(found[..., 0], BY_OPENCV[mode])
    floats = T.resize(PATTERN.astype(np.float32), (3, 4), mode)
    assert floats.dtype == np.float32
    np.testing.assert_allclose(floats.clip(0, 255), BY_OPENCV[mode], atol=1.01)
    np.testing.assert_array_equal(T.resize(PATTERN, (5, 7), mode), PATTERN)
    assert (T.resize(np.full((5, 7), 93, np.uint8), (11, 3), mode) == 93).all()


def test_a_larger_array():
    np.testing.assert_array_equal(T.resize(PATTERN, (8, 9))[:3], LARGER)


def test_arrays_of_bytes_are_mapped_by_a_table():
    assert T.adjust_brightness(PATTERN, 1.3)[0].tolist() == [0, 118, 236, 22, 140, 255, 44]
    assert T.adjust_contrast(PATTERN, 0.6)[0].tolist() == [29, 84, 138, 39, 94, 149, 50]


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_arrays_are_padded_as_by_numpy(mode):
    borders = [(2, 4), (1, 3)]
    np.testing.assert_array_equal(T.pad(PATTERN, (1, 2, 3, 4), 0, mode), np.pad(PATTERN, borders, mode))
    stacked = np.stack([PATTERN] * 3, -1)
    np.testing.assert_array_equal(
        T.pad(stacked, (1, 2, 3, 4), 0, mode)[..., 1], np.pad(PATTERN, borders, mode)
    )
