"""LeNet: any size of picture, and what is too small."""

import pytest

import sampan as paddle
from sampan import models
from sampan.models import recipes


@pytest.mark.parametrize("size", [4, 8, 11, 12, 20, 32])
def test_lenet_takes_any_size(size):
    assert models.LeNet(image_size=size)(paddle.rand([2, 1, size, size])).shape == [2, 10]


def test_lenet_says_what_is_too_small():
    with pytest.raises(ValueError, match="image_size: expected at least 4, got 3"):
        models.LeNet(image_size=3)
    with pytest.raises(ValueError, match="name: expected one of digits, mnist"):
        recipes.train("letters")
