"""Images: PNG and JPEG with 8 bits a channel. The size in the header is checked before anything is decoded."""

from __future__ import annotations

import io
from typing import IO

import numpy as np
from PIL import Image, UnidentifiedImageError

from . import bounds
from .refusal import Refusal

GREY = ("1", "L", "LA")
_MODES = (*GREY, "P", "RGB", "RGBA", "CMYK", "YCbCr")


def read(stream: IO[bytes], name: str) -> Image.Image:
    """The decoded image, in "L" if it is grey, else in "RGB"."""
    Image.MAX_IMAGE_PIXELS = None  # ours is checked below, for every format in the same words
    try:
        image = Image.open(io.BytesIO(stream.read()), formats=("PNG", "JPEG"))
        width, height = image.size
        if width * height > bounds.MOST_PIXELS or max(width, height) > bounds.LONGEST_SIDE:
            raise Refusal("pixels", name=name, width=width, height=height, most=bounds.MOST_PIXELS)
        if image.mode not in _MODES:
            raise Refusal("image_mode", name=name, mode=image.mode)
        image.load()
        return image.convert("L" if image.mode in GREY else "RGB")
    except Refusal:
        raise
    # Pillow's decoders raise many kinds of errors.
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        IndexError,
        KeyError,
        TypeError,
    ) as error:
        raise Refusal("damaged", name=name, why=error) from error


def pixels(image: Image.Image) -> np.ndarray:
    """uint8 [H, W] or [H, W, 3]."""
    return np.asarray(image)
