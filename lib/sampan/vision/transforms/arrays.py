"""OpenCV's results for uint8 arrays [height, width(, channels)], because Paddle transforms arrays by
OpenCV."""

from typing import Any

import numpy as np


def _shares(old: int, new: int) -> Any:
    """[new, old]: the weights of area resampling from `old` to `new` pixels, by the overlap of the pixels."""
    low, cells = np.arange(new)[:, None] * (old / new), np.arange(old)
    shares = np.clip(np.minimum(low + old / new, cells + 1) - np.maximum(low, cells), 0, None)
    return shares / shares.sum(1, keepdims=True)


def area(img: np.ndarray, height: int, width: int) -> np.ndarray:
    """Area resampling: each pixel is the mean of the area that it covers."""
    lines = img.reshape(*img.shape[:2], -1).astype(np.float64)
    result = np.tensordot(_shares(img.shape[0], height), _shares(img.shape[1], width) @ lines, 1)
    result = np.rint(result) if np.issubdtype(img.dtype, np.integer) else result
    return result.astype(img.dtype).reshape(height, width, *img.shape[2:])


def _neighbours(old: int, new: int) -> tuple[Any, Any, Any, Any]:
    """The two neighbours of each of `new` positions among `old`, and their weights in units of 1/2048."""
    middle = ((np.arange(new) + 0.5) * (old / new) - 0.5).astype(np.float32)  # as OpenCV rounds it
    first = np.floor(middle).astype(int)
    far = np.rint((middle - first) * 2048).astype(int)
    return first.clip(0, old - 1), (first + 1).clip(0, old - 1), 2048 - far, far


def bilinear(img: np.ndarray, height: int, width: int) -> np.ndarray:
    """Bilinear resampling of uint8. OpenCV computes in integers and truncates the last bits of each
    product."""
    left, right, near, far = (v[:, None] for v in _neighbours(img.shape[1], width))
    lines = img.reshape(*img.shape[:2], -1).astype(np.int64)
    rows = lines[:, left[:, 0]] * near + lines[:, right[:, 0]] * far >> 4
    top, below, near, far = (v[:, None, None] for v in _neighbours(img.shape[0], height))
    result = (rows[top[:, 0, 0]] * near >> 16) + (rows[below[:, 0, 0]] * far >> 16) + 2 >> 2
    return result.astype(np.uint8).reshape(height, width, *img.shape[2:])


def mapped(img: np.ndarray, values: Any) -> np.ndarray:
    """Look-up table: each byte b becomes values[b], clipped to a byte."""
    return np.clip(values, 0, 255).astype(np.uint8)[img]
