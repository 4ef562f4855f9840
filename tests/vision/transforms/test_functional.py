"""Functions on arrays and Tensors: their kind stays, and gradients pass."""

import numpy as np
import pytest
import torch
from PIL import Image

import sampan as paddle
from sampan.vision import transforms as T

GRAY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5


COLOUR = np.stack([GRAY, GRAY[::-1], 255 - GRAY], -1)


@pytest.mark.parametrize("img", [GRAY, COLOUR, COLOUR.astype(np.float32)], ids=["gray", "bytes", "floats"])
def test_arrays_keep_their_kind(img):
    for change in (T.hflip, T.vflip, lambda i: T.adjust_brightness(i, 0.5), lambda i: T.rotate(i, 20)):
        found = change(img)
        assert isinstance(found, np.ndarray) and found.dtype == img.dtype and found.shape == img.shape
    assert T.resize(img, (3, 4)).shape == (3, 4, *img.shape[2:])
    np.testing.assert_array_equal(T.hflip(img), img[:, ::-1])
    np.testing.assert_array_equal(T.vflip(img), img[::-1])
    np.testing.assert_array_equal(T.crop(img, 1, 2, 3, 4), img[1:4, 2:6])
    np.testing.assert_array_equal(T.center_crop(img, 4), img[1:5, 2:6])
    widths = [(2, 4), (1, 3), (0, 0)][: img.ndim]
    np.testing.assert_array_equal(T.pad(img, [1, 2, 3, 4], 7), np.pad(img, widths, constant_values=7))
    np.testing.assert_array_equal(T.pad(img, 2, padding_mode="reflect"), np.pad(img, [(2, 2), (2, 2), (0, 0)][: img.ndim], "reflect"))  # fmt: skip


def test_a_quarter_turn_of_a_square_is_exact():
    square = COLOUR[:, :6]
    np.testing.assert_array_equal(T.rotate(square, 90), np.rot90(square))
    turned = T.rotate(paddle.to_tensor(square.transpose(2, 0, 1).copy()), 90, expand=True)
    np.testing.assert_array_equal(turned.numpy(), np.rot90(square).transpose(2, 0, 1))
    np.testing.assert_array_equal(np.array(T.rotate(Image.fromarray(square), 90)), np.rot90(square))


def test_erasing_in_place_or_not():
    img = COLOUR.copy()
    found = T.erase(img, 1, 2, 2, 3, 9)
    assert (found[1:3, 2:5] == 9).all() and (img == COLOUR).all()
    T.erase(img, 1, 2, 2, 3, 9, inplace=True)
    np.testing.assert_array_equal(img, found)


def test_gradients_pass_through_tensors():
    x = paddle.to_tensor(COLOUR.transpose(2, 0, 1).astype(np.float32) / 255)
    x.stop_gradient = False
    T.normalize(
        T.adjust_hue(T.rotate(T.resize(x, 5), 10, "bilinear"), 0.2), [0.5] * 3, [0.5] * 3
    ).sum().backward()
    assert float(x.grad.abs().sum()) > 0


def test_bytes_become_parts_of_one():
    np.testing.assert_allclose(T.to_tensor(COLOUR).numpy(), COLOUR.transpose(2, 0, 1) / np.float32(255))
    assert T.to_tensor(Image.fromarray(GRAY > 99)).numpy().max() == 1
    assert T.to_tensor(Image.fromarray(GRAY.astype(np.int32))).dtype == torch.int32
    assert T.Transpose()(GRAY).shape == (1, 6, 8)
