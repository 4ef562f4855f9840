"""Converts a drawing to the image format of a network's training data.

A network only recognises digits that were prepared like its data set. So a drawing is processed in the same way:
MNIST's (LeCun et al., 1998: fit into 20 x 20 keeping the aspect ratio, centre of mass at pixel 14 of 28), or those
of the UCI optical digits that scikit-learn ships (Alpaydin and Kaynak, 1998: a 32 x 32 bitmap over the full height,
4 x 4 blocks counted to 0..16).

Images here are float32 [height, width], 0 is paper and 1 is ink.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float32]

# A pixel with less ink counts as paper, so that a faint edge does not widen the box around a digit.
PAPER = 0.1
# Share of the 32 x 32 bitmap that becomes ink: 0.30 to 0.32 for each of the ten digits of the UCI set, because
# its makers thinned or thickened the strokes.
UCI_INK = 0.32
# Width of a digit in that bitmap, narrowest and widest (its boxes fill columns 1 to 6 of 8).
UCI_WIDTH = (12, 22)
# The fraction of a drawing's slant that is removed. Not all: a 7 is slanted by its shape, also in the UCI set.
UPRIGHT = 0.8
# Column of the centre of mass in that bitmap: 3.57 + 0.5 cells of 4 pixels, measured over all 1797 images.
UCI_CENTRE = 15.6


def from_bytes(pixels: bytes, side: int) -> Picture:
    """The pad's bytes (one per pixel, row by row, 255 is ink) as an image [side, side]."""
    if side < 8:
        raise ValueError(f"side: expected at least 8 pixels, got {side}")
    if len(pixels) != side * side:
        raise ValueError(f"pixels: expected {side} x {side} = {side * side} bytes, got {len(pixels)}")
    flat = np.frombuffer(pixels, dtype=np.uint8).astype(np.float32)
    return flat.reshape(side, side) / np.float32(255)


def as_input(ink: Picture, image_size: int) -> Picture:
    """The image [image_size, image_size] that a network of this image size expects: 28 (MNIST) or 8 (UCI digits).

    Raises ValueError for an empty pad.
    """
    if ink.ndim != 2:
        raise ValueError(f"ink: expected a picture [height, width], got shape {ink.shape}")
    if not np.isfinite(ink).all():
        raise ValueError("ink: expected numbers between 0 and 1, got NaN or infinity")
    if image_size == 28:
        return like_mnist(ink)
    if image_size == 8:
        return like_uci_digits(ink)
    raise ValueError(f"image_size: expected 28 or 8, got {image_size}")


def like_mnist(ink: Picture) -> Picture:
    """Fits the ink into 20 x 20 and puts its centre of mass on pixel (14, 14) of a 28 x 28 picture."""
    digit = crop(ink)
    scale = 20 / max(digit.shape)
    height, width = (max(1, round(side * scale)) for side in digit.shape)
    small = resample(digit, height, width)
    small /= small.max()
    rows, columns = centre_of_mass(small)
    top = int(np.clip(round(14 - rows), 0, 28 - height))
    left = int(np.clip(round(14 - columns), 0, 28 - width))
    picture = np.zeros((28, 28), np.float32)
    picture[top : top + height, left : left + width] = small
    return picture


def like_uci_digits(ink: Picture) -> Picture:
    """Stands the ink upright over the full height of a 32 x 32 bitmap and counts 4 x 4 blocks: 0..16, here 0..1.

    Chosen by measurement: a classifier trained only on the UCI set recognises 65 % of MNIST's test digits, by other
    people in another country, without the shear and the centre of mass, and 82 % with both.
    """
    digit = crop(upright(crop(ink)))
    height, width = digit.shape
    width = int(np.clip(round(32 * width / height), *UCI_WIDTH))
    digit = resample(digit, 32, width)
    left = int(np.clip(round(UCI_CENTRE - centre_of_mass(digit)[1]), 0, 32 - width))
    bitmap = np.zeros((32, 32), np.float32)
    bitmap[:, left : left + width] = digit
    # The darkest pixels of the blurred bitmap are the ink: so strokes of any pen get the same thickness.
    soft = blur(bitmap, passes=2)
    on = soft >= max(float(np.quantile(soft, 1 - UCI_INK)), 1e-6)
    counts = on.reshape(8, 4, 8, 4).sum(axis=(1, 3))
    return (counts / 16).astype(np.float32)


def upright(picture: Picture) -> Picture:
    """Removes most of the slant: shears the rows against the covariance of row and column of the ink."""
    height, width = picture.shape
    row, column = centre_of_mass(picture)
    rows, columns = np.arange(height) - row, np.arange(width) - column
    spread = float((picture.sum(axis=1) * rows**2).sum())
    slant = float(rows @ picture @ columns) / spread if spread > 0 else 0.0
    slant = float(np.clip(UPRIGHT * slant, -1, 1))
    margin = int(np.ceil(abs(slant) * height)) + 1
    target = np.arange(-margin, width + margin)
    sheared = np.zeros((height, target.size), np.float32)
    for i in range(height):
        sheared[i] = np.interp(target + slant * rows[i], np.arange(width), picture[i], left=0, right=0)
    return sheared


def crop(ink: Picture) -> Picture:
    """The part of the picture inside the box around its ink."""
    rows = np.flatnonzero(ink.max(axis=1) > PAPER)
    columns = np.flatnonzero(ink.max(axis=0) > PAPER)
    if rows.size == 0:
        raise ValueError("ink: expected some ink, got an empty pad")
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def centre_of_mass(picture: Picture) -> tuple[float, float]:
    """(row, column) of the centre of mass, in pixel indices."""
    total = float(picture.sum())
    rows = float(picture.sum(axis=1) @ np.arange(picture.shape[0])) / total
    columns = float(picture.sum(axis=0) @ np.arange(picture.shape[1])) / total
    return rows, columns


def resample(picture: Picture, height: int, width: int) -> Picture:
    """The picture at another size; each new pixel is the mean of the area it covers, so no ink is lost."""
    rows, columns = _coverage(picture.shape[0], height), _coverage(picture.shape[1], width)
    return np.asarray(rows @ picture @ columns.T, np.float32)


def _coverage(old: int, new: int) -> Picture:
    """[new, old]: the share of new cell i that old cell j covers; rows sum to one."""
    edges = np.linspace(0, old, new + 1)
    low, high = edges[:-1, None], edges[1:, None]
    cells = np.arange(old)[None, :]
    shared = np.clip(np.minimum(high, cells + 1) - np.maximum(low, cells), 0, None)
    share: Picture = (shared / shared.sum(axis=1, keepdims=True)).astype(np.float32)
    return share


def blur(picture: Picture, passes: int) -> Picture:
    """`passes` times the (1, 2, 1) / 4 filter along both axes; with paper beyond the edge."""
    down, across = (np.linalg.matrix_power(_neighbours(side), passes) for side in picture.shape)
    soft: Picture = (down @ picture @ across).astype(np.float32)
    return soft


def _neighbours(side: int) -> NDArray[np.float64]:
    """[side, side]: a quarter of the cell before, half of the cell itself, a quarter of the cell after."""
    return (np.eye(side, k=-1) + 2 * np.eye(side) + np.eye(side, k=1)) / 4
