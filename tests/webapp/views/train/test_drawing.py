"""Drawings become the pictures that networks were trained on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.ndimage
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import sampan.datasets
from studio.views.train import drawing

Points = list[tuple[float, float]]
SEVEN: Points = [(0.3, 0.2), (0.7, 0.2), (0.62, 0.4), (0.52, 0.6), (0.46, 0.82)]
ONE: Points = [(0.5, 0.15), (0.5, 0.85)]
ZERO: Points = [(0.5 + 0.2 * np.sin(a), 0.5 - 0.3 * np.cos(a)) for a in np.linspace(0, 2 * np.pi, 40)]


def draw(
    points: Points, side: int = 140, pen: float = 0.075, scale: float = 1.0, move: tuple = (0, 0)
) -> NDArray:
    """Ink [side, side] of a polyline with a round pen, straight from the definition of distance."""
    y, x = np.mgrid[:side, :side] + 0.5
    ends = [
        np.array([(0.5 + scale * (a - 0.5) + move[0]), (0.5 + scale * (b - 0.5) + move[1])])
        for a, b in points
    ]
    near = np.full((side, side), np.inf)
    for p, q in itertools.pairwise(ends):
        p, q = p * side, q * side
        t = ((x - p[0]) * (q - p)[0] + (y - p[1]) * (q - p)[1]) / ((q - p) @ (q - p))
        t = np.clip(t, 0, 1)
        near = np.minimum(near, np.hypot(x - p[0] - t * (q - p)[0], y - p[1] - t * (q - p)[1]))
    return np.clip(pen * scale * side / 2 - near + 0.5, 0, 1).astype(np.float32)


@pytest.mark.parametrize("points", [SEVEN, ONE, ZERO], ids=["seven", "one", "zero"])
def test_mnist_box_and_centre(points: Points) -> None:
    picture = drawing.as_input(draw(points), 28)
    assert picture.shape == (28, 28) and picture.dtype == np.float32
    rows, columns = np.flatnonzero(picture.any(axis=1)), np.flatnonzero(picture.any(axis=0))
    assert max(np.ptp(rows), np.ptp(columns)) + 1 == 20
    assert np.allclose(scipy.ndimage.center_of_mass(picture), 14, atol=0.51)
    assert picture.max() == 1 and picture.min() == 0


def apart(one: NDArray, other: NDArray) -> float:
    """Mean difference, up to the pixel by which a symmetric digit's centre may be rounded to either side."""
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return min(float(np.abs(one - np.roll(other, step, (0, 1))).mean()) for step in steps)


@pytest.mark.parametrize("size", [28, 8])
@pytest.mark.parametrize("points", [SEVEN, ONE, ZERO], ids=["seven", "one", "zero"])
def test_place_and_size_on_the_pad_do_not_matter(points: Points, size: int) -> None:
    large = drawing.as_input(draw(points), size)
    moved = drawing.as_input(draw(points, move=(0.12, -0.1)), size)
    small = drawing.as_input(draw(points, scale=0.5, move=(-0.2, 0.15)), size)
    most = {28: 0.03, 8: 0.06}[size]  # a sixteenth is the step of the 8 x 8 pictures
    assert apart(large, moved) < most
    assert apart(large, small) < most


def test_uci_picture_is_upright_full_height_and_counts_sixteenths() -> None:
    slanted: Points = [(0.65, 0.15), (0.35, 0.85)]
    picture = drawing.as_input(draw(slanted), 8)
    assert picture.shape == (8, 8)
    assert np.array_equal(picture * 16, np.rint(picture * 16))
    assert picture[0].any() and picture[7].any()
    assert abs(picture.mean() - drawing.UCI_INK) < 0.03
    rows, columns = np.mgrid[:8, :8]
    weights = picture.ravel()
    covariance = np.cov(rows.ravel(), columns.ravel(), aweights=weights)
    assert abs(covariance[0, 1] / covariance[0, 0]) < 0.2  # it leaned by 0.43


def test_resample_is_the_mean_of_areas() -> None:
    picture = np.random.default_rng(0).random((24, 36), np.float32)
    expected = torch.nn.functional.avg_pool2d(torch.from_numpy(picture)[None], (4, 3))[0].numpy()
    assert np.allclose(drawing.resample(picture, 6, 12), expected, atol=1e-6)
    assert np.isclose(drawing.resample(picture, 7, 5).mean(), picture.mean(), atol=1e-6)


def test_blur_is_a_convolution() -> None:
    picture = np.random.default_rng(1).random((9, 13), np.float32)
    kernel = np.outer([1, 2, 1], [1, 2, 1]) / 16
    expected = scipy.ndimage.convolve(
        scipy.ndimage.convolve(picture, kernel, mode="constant"), kernel, mode="constant"
    )
    assert np.allclose(drawing.blur(picture, 2), expected, atol=1e-6)


def test_test_pictures_through_the_pad_stay_what_they_are() -> None:
    """scikit-learn's own digits, laid on the pad and prepared again, are still known by a machine of scikit-learn."""
    digits = load_digits()
    pictures, labels = (digits.images / 16).astype(np.float32), digits.target
    machine = SVC(gamma=0.256, C=10).fit(pictures[:1437].reshape(-1, 64), labels[:1437])
    again = np.stack([drawing.as_input(drawing.resample(p, 140, 140), 8) for p in pictures[1437:]])
    plain = machine.score(pictures[1437:].reshape(-1, 64), labels[1437:])
    through_pad = machine.score(again.reshape(-1, 64), labels[1437:])
    assert plain > 0.95
    assert through_pad > plain - 0.08


@pytest.mark.skipif("mnist" not in sampan.datasets.available(), reason="MNIST is not here: set SAMPAN_DATA")
def test_mnist_pictures_through_the_pad() -> None:
    """MNIST's own preparation is undone and done again: the same pixels. And other people's digits, prepared for
    the UCI set, are mostly known by a machine that has only seen that set (65 % without the preparation)."""
    test = sampan.datasets.load("mnist").test
    pictures = np.stack([test[i][0][0] for i in range(600)])
    labels = test.labels[:600]
    pad = [drawing.resample(p, 140, 140) for p in pictures]
    again = np.stack([drawing.as_input(p, 28) for p in pad])
    assert np.abs(again - pictures).mean() < 0.002
    digits = load_digits()
    machine = SVC(gamma=0.256, C=10).fit(digits.images.reshape(-1, 64) / 16, digits.target)
    as_uci = np.stack([drawing.as_input(p, 8) for p in pad]).reshape(-1, 64)
    assert machine.score(as_uci, labels) > 0.78


def test_bytes_from_the_pad() -> None:
    picture = drawing.from_bytes(bytes(range(64)), 8)
    assert (
        picture.shape == (8, 8)
        and picture[0, 1] == np.float32(1 / 255)
        and picture[7, 7] == np.float32(63 / 255)
    )
    with pytest.raises(ValueError, match="expected 8 x 8 = 64 bytes, got 63"):
        drawing.from_bytes(bytes(63), 8)


@pytest.mark.parametrize(
    ("ink", "size", "message"),
    [
        (np.zeros((140, 140), np.float32), 28, "empty pad"),
        (np.zeros((140, 140), np.float32), 8, "empty pad"),
        (np.full((140, 140), np.nan, np.float32), 28, "NaN"),
        (np.zeros(140, np.float32), 28, r"shape \(140,\)"),
        (np.ones((140, 140), np.float32), 32, "expected 28 or 8, got 32"),
    ],
)
def test_what_cannot_be_a_digit_is_refused(ink: NDArray, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drawing.as_input(ink, size)


@pytest.mark.parametrize("size", [28, 8])
def test_a_speck_and_a_full_pad_give_finite_pictures(size: int) -> None:
    speck = np.zeros((140, 140), np.float32)
    speck[70, 70] = 1
    for ink in (speck, np.ones((140, 140), np.float32)):
        picture = drawing.as_input(ink, size)
        assert np.isfinite(picture).all() and picture.min() >= 0 and 0 < picture.max() <= 1
