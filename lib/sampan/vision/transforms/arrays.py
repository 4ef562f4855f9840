"""Arrays of bytes [height, width(, channels)] as OpenCV computes them, which Paddle calls for arrays."""

from typing import Any

import numpy as np


def _shares(old: int, new: int) -> Any:
    """[new, old]: the share of each pixel of a line of `old` in those of a line of `new`, by the length that
    both cover."""
    low, cells = np.arange(new)[:, None] * (old / new), np.arange(old)
    shares = np.clip(np.minimum(low + old / new, cells + 1) - np.maximum(low, cells), 0, None)
    return shares / shares.sum(1, keepdims=True)


def area(img: np.ndarray, height: int, width: int) -> np.ndarray:
    """In another size: each pixel is the mean of the area that it covers."""
    lines = img.reshape(*img.shape[:2], -1).astype(np.float64)
    found = np.tensordot(_shares(img.shape[0], height), _shares(img.shape[1], width) @ lines, 1)
    found = np.rint(found) if np.issubdtype(img.dtype, np.integer) else found
    return found.astype(img.dtype).reshape(height, width, *img.shape[2:])


def _neighbours(old: int, new: int) -> tuple[Any, Any, Any, Any]:
    """For each of `new` places the two of `old` beside it, and their weights in 1/2048."""
    middle = ((np.arange(new) + 0.5) * (old / new) - 0.5).astype(np.float32)  # as OpenCV rounds it
    first = np.floor(middle).astype(int)
    far = np.rint((middle - first) * 2048).astype(int)
    return first.clip(0, old - 1), (first + 1).clip(0, old - 1), 2048 - far, far


def bilinear(img: np.ndarray, height: int, width: int) -> np.ndarray:
    """Bytes in another size. OpenCV computes in integers and drops the last bits of each product."""
    left, right, near, far = (v[:, None] for v in _neighbours(img.shape[1], width))
    lines = img.reshape(*img.shape[:2], -1).astype(np.int64)
    across = lines[:, left[:, 0]] * near + lines[:, right[:, 0]] * far >> 4
    top, below, near, far = (v[:, None, None] for v in _neighbours(img.shape[0], height))
    found = (across[top[:, 0, 0]] * near >> 16) + (across[below[:, 0, 0]] * far >> 16) + 2 >> 2
    return found.astype(np.uint8).reshape(height, width, *img.shape[2:])


def mapped(img: np.ndarray, values: Any) -> np.ndarray:
    """Each byte b as values[b], cut to a byte."""
    return np.clip(values, 0, 255).astype(np.uint8)[img]
