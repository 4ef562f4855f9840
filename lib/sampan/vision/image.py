"""Which package loads pictures, and loading one."""

from typing import Any

import numpy as np

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_BACKENDS = ("pil", "cv2", "tensor")
_chosen = "pil"


def _known(backend: Any) -> str:
    if backend not in _BACKENDS:
        raise ValueError(f"backend: expected one of {', '.join(_BACKENDS)}, got {backend!r}")
    return str(backend)


def set_image_backend(backend):
    """What data sets give: PIL images ("pil"), or arrays ("cv2")."""
    global _chosen
    _chosen = _known(backend)


def get_image_backend():
    """The name that set_image_backend was given; "pil" at first."""
    return _chosen


def image_load(path, backend=None):
    """The picture in a file: a PIL image ("pil"), or an array [height, width, 3] of blue, green, red as cv2
    has it."""
    from PIL import Image

    with Image.open(path) as image:
        image.load()
    if _known(backend or _chosen) == "pil":
        return image
    return np.ascontiguousarray(np.array(image.convert("RGB"))[..., ::-1])
