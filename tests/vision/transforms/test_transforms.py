"""Transforms of arrays, of random parts, by keys, and what they refuse.

Functions and objects on PIL images and Tensors are compared with PaddlePaddle in tests/parity/cases/vision.py.
"""

import random

import numpy as np
import pytest
from PIL import Image

import sampan as paddle
from sampan.vision import transforms as T

GRAY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
COLOUR = np.stack([GRAY, GRAY[::-1], 255 - GRAY], -1)


def seeded(transform, img, seed=3):
    random.seed(seed)
    np.random.seed(seed)
    return transform(img)


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
    with pytest.raises(
        NotImplementedError, match=r"^Shift: keys: expected image, boxes, mask or coords, got 'sound'"
    ):
        Shift(keys=("sound",))
    with pytest.raises(NotImplementedError, match="does not say how"):
        Shift(keys=("mask",))(1)
    composed = T.Compose([T.Resize(4), T.ToTensor()])
    assert composed(Image.fromarray(COLOUR)).shape == [3, 4, 5] and "Compose(" in repr(composed)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: T.hflip("x"), TypeError, "img: expected a PIL image"),
        (lambda: T.resize(GRAY, "5"), TypeError, "size: expected an int"),
        (
            lambda: T.resize(Image.fromarray(GRAY), 5, "area"),
            ValueError,
            "resampling: expected one of nearest.*, got 'area'",
        ),
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
