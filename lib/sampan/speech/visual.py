"""What a camera adds to a microphone: the region of the mouth, from the frames of a talking face.

Frames are grey, [time, height, width]. No detector of faces is used: while a face talks, its mouth moves
most.
"""

from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .waveform import whole

Array = np.ndarray[Any, Any]


def _frames(frames: Any) -> Array:
    """float32 [time, height, width] of at least two frames of 8 x 8."""
    x = np.asarray(frames.numpy() if isinstance(frames, Tensor) else frames)
    if x.ndim != 3 or x.shape[0] < 2 or min(x.shape[1:]) < 8 or x.dtype.kind not in "fu":
        raise InvalidArgument(
            "frames: expected uint8 or floating [time, height, width], at least two frames of 8 x 8, "
            f"got {x.dtype} {list(x.shape)}"
        )
    if not np.isfinite(x).all():
        raise InvalidArgument("frames: expected finite numbers, got NaN or infinity")
    return x.astype(np.float32)


def _box_sums(image: Array, side: int) -> Array:
    """The sum of each square of `side` pixels, [..., height - side + 1, width - side + 1]."""
    edges = [(0, 0)] * (image.ndim - 2) + [(1, 0), (1, 0)]
    total = np.pad(image.astype(np.float64), edges).cumsum(-2).cumsum(-1)
    rows = total[..., side:, :] - total[..., :-side, :]
    found: Array = rows[..., side:] - rows[..., :-side]
    return found


def mouth_box(frames: Any, part: float = 0.25) -> tuple[int, int, int]:
    """(top, left, side) in pixels of the square in which the picture changes most between frames.

    part: the side as a part of the smaller side of the picture. Frames are first averaged over squares of a
    sixth of the side, against the noise of the camera. The change of a pixel is its mean squared difference
    between frames, less the median over the picture. Only squares whose centre is in the lower half of the
    picture and the middle half of its width are taken: eyes blink, hair and collars move.
    """
    x = _frames(frames)
    if not 0 < part <= 1:
        raise InvalidArgument(f"part: expected above 0 to 1, got {part}")
    height, width = x.shape[1:]
    side = max(int(part * min(height, width)), 4)
    blur = max(side // 6, 1)
    smooth = _box_sums(x, blur) / blur**2
    change = (np.diff(smooth, axis=0) ** 2).mean(0)
    sums = _box_sums(np.maximum(change - np.median(change), 0), side - blur + 1)
    first, before = max(height // 2 - side // 2, 0), max(width // 4 - side // 2, 0)
    held = sums[first : first + height // 2, before : before + width // 2 + 1]
    top, left = np.unravel_index(int(held.argmax()), held.shape)
    return int(top) + first, int(left) + before, side


def mouth_region(frames: Any, size: int = 16, part: float = 0.25) -> Array:
    """float32 [time, size, size]: the square of `mouth_box`, its pixels averaged to size x size, with mean 0
    and deviation 1 over the whole clip (a clip without change is 0).

    frames: uint8 or floating [time, height, width]. Raises ValueError for other shapes and NaN.
    """
    whole("size", size, 2)
    top, left, side = mouth_box(frames, part)
    x = _frames(frames)[:, top : top + side, left : left + side]
    average = _averaging(side, size)
    made = average @ x @ average.T
    made = made - made.mean()
    deviation = float(made.std())
    found: Array = (made / deviation if deviation > 1e-6 else made * 0).astype(np.float32)
    return found


def _averaging(side: int, size: int) -> Array:
    """float32 [size, side]: rows that average `side` pixels to `size`, by the overlap of their intervals."""
    edges = np.arange(size + 1) * (side / size)
    pixel = np.arange(side)
    overlap = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    made: Array = (np.maximum(overlap, 0) * (size / side)).astype(np.float32)
    return made
