"""The backend that loads images, and a function that loads one."""

from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_BACKENDS = ("pil", "cv2", "tensor")
_chosen = "pil"


def _known(backend: Any) -> str:
    if backend not in _BACKENDS:
        raise InvalidArgument(f"backend: expected one of {', '.join(_BACKENDS)}, got {backend!r}")
    return str(backend)


def set_image_backend(backend):
    """Choose what data sets return: PIL images ("pil"), arrays ("cv2") or Tensors ("tensor")."""
    global _chosen
    _chosen = _known(backend)


def get_image_backend():
    """The backend chosen by set_image_backend; by default "pil"."""
    return _chosen


def image_load(path, backend=None):
    """Load an image file: a PIL image ("pil"), or an array [height, width, 3] in OpenCV's channel order,
    blue, green, red ("cv2")."""
    from PIL import Image

    with Image.open(path) as image:
        image.load()
    if _known(backend or _chosen) == "pil":
        return image
    return np.ascontiguousarray(np.array(image.convert("RGB"))[..., ::-1])
