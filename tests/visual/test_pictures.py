"""Pictures keep every pixel and caption."""

import numpy as np
import pytest

from sampan import visual


def test_images_keep_every_pixel_and_caption():
    pictures = np.arange(7 * 4 * 3).reshape(7, 4, 3)
    figure = visual.images(pictures, captions="abcdefg", columns=3)
    sheet = figure.data[0].z
    shown = sheet[~np.isnan(sheet)]
    assert sorted(shown.tolist()) == list(range(84))
    assert (sheet[:4, :3] == pictures[0]).all()
    assert [note.text for note in figure.layout.annotations] == list("abcdefg")


@pytest.mark.parametrize(
    ("pictures", "more", "words"),
    [
        (np.zeros((4, 4)), {}, r"\[number, height, width\], got \[4, 4\]"),
        (np.zeros((2, 4, 4)), {"captions": ["one"]}, "2 pictures need 2 captions, got 1"),
        (np.zeros((2, 4, 4)), {"columns": 0}, "columns must be at least 1"),
    ],
)
def test_images_refuses(pictures, more, words):
    with pytest.raises(ValueError, match=words):
        visual.images(pictures, **more)
