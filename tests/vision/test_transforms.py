"""Transforms of arrays, of random parts, by keys, and what they refuse.

Functions and objects on PIL images and Tensors are compared with PaddlePaddle in tests/parity/cases/vision.py.
"""

import random

import numpy as np
import pytest
import torch
from PIL import Image

import sampan as paddle
from sampan.vision import transforms as T

GRAY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
COLOUR = np.stack([GRAY, GRAY[::-1], 255 - GRAY], -1)


def seeded(transform, img, seed=3):
    random.seed(seed)
    np.random.seed(seed)
    return transform(img)


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


def test_random_parts():
    pil = Image.fromarray(COLOUR)
    assert seeded(T.RandomCrop(4), pil).size == (4, 4)
    assert seeded(T.RandomCrop((8, 9), pad_if_needed=True), COLOUR).shape == (8, 9, 3)
    assert seeded(T.RandomResizedCrop(5), pil).size == (5, 5)
    wide = seeded(
        T.RandomResizedCrop(5, scale=(1.0, 1.0), ratio=(9.0, 9.5)), COLOUR
    )  # no such part: the middle
    np.testing.assert_array_equal(wide, T.resize(COLOUR[2:3], (5, 5)))
    for value in (0, [1, 2, 3], "random"):
        erased = seeded(T.RandomErasing(1.0, value=value), COLOUR)
        assert erased.shape == COLOUR.shape and (erased != COLOUR).any()
    planes = paddle.to_tensor(COLOUR.transpose(2, 0, 1).astype(np.float32))
    erased = seeded(T.RandomErasing(1.0, value=[1, 2, 3]), planes)
    changed = (erased.numpy() != planes.numpy()).any(0)
    assert changed.any() and all(set(np.unique(erased.numpy()[c][changed])) == {c + 1.0} for c in range(3))
    for transform in (
        T.RandomRotation(30),
        T.RandomPerspective(1.0),
        T.RandomAffine(10, (0.1, 0.2), (0.5, 2), 5),
    ):
        assert seeded(transform, pil).size == pil.size
        assert seeded(transform, planes).shape == planes.shape
        assert (seeded(transform, COLOUR) == seeded(transform, COLOUR)).all()
    assert seeded(T.ColorJitter(0.4, 0.4, 0.4, 0.1), pil).size == pil.size
    assert (seeded(T.RandomHorizontalFlip(0.0), COLOUR) == COLOUR).all()


def test_keys_say_what_is_transformed():
    class Shift(T.BaseTransform):
        def _get_params(self, inputs):
            return len(inputs)

        def _apply_image(self, img):
            return img + self.params

        def _apply_boxes(self, boxes):
            return boxes - 1

    image, boxes, label = Shift(keys=("image", "boxes"))((1, 10, "cat"))
    assert (image, boxes, label) == (4, 9, "cat") and Shift()(5) == 6
    with pytest.raises(NotImplementedError, match="keys: 'sound'"):
        Shift(keys=("sound",))
    with pytest.raises(NotImplementedError, match="does not say how"):
        Shift(keys=("mask",))(1)
    composed = T.Compose([T.Resize(4), T.ToTensor()])
    assert composed(Image.fromarray(COLOUR)).shape == [3, 4, 5] and "Compose(" in repr(composed)


def test_bytes_become_parts_of_one():
    np.testing.assert_allclose(T.to_tensor(COLOUR).numpy(), COLOUR.transpose(2, 0, 1) / np.float32(255))
    assert T.to_tensor(Image.fromarray(GRAY > 99)).numpy().max() == 1
    assert T.to_tensor(Image.fromarray(GRAY.astype(np.int32))).dtype == torch.int32
    assert T.Transpose()(GRAY).shape == (1, 6, 8)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: T.hflip("x"), TypeError, "img: expected a PIL image"),
        (lambda: T.resize(GRAY, "5"), TypeError, "size: expected an int"),
        (lambda: T.resize(Image.fromarray(GRAY), 5, "area"), ValueError, "resampling: 'area' is none of"),
        (lambda: T.Pad(1, padding_mode="wrap"), ValueError, "padding_mode: expected constant"),
        (lambda: T.RandomHorizontalFlip(2), ValueError, "prob: expected a probability"),
        (lambda: T.RandomRotation(-1), ValueError, "degrees: expected 0 or more"),
        (lambda: T.RandomAffine(1, translate=(2, 0)), ValueError, "translate: expected two numbers"),
        (lambda: T.RandomAffine(1, scale=(0, 1)), ValueError, "scale: expected two positive"),
        (lambda: T.RandomErasing(value="red"), ValueError, "value: expected numbers or 'random'"),
        (lambda: T.RandomResizedCrop(3, scale=(1, 0.5)), ValueError, "scale: expected"),
        (lambda: T.HueTransform([-1, 1]), ValueError, "value: expected a range between -0.5 and 0.5"),
        (lambda: T.adjust_contrast(GRAY / 255, -1), ValueError, "contrast_factor: expected 0 or more"),
        (lambda: T.to_tensor(GRAY, "WHC"), ValueError, "data_format: expected"),
    ],
)
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


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
