"""Transforms of images as functions: PIL images, NumPy arrays [height, width(, channels)] and Tensors
[channels, height, width].

The result has the type and dtype of the input. PIL images are transformed by Pillow; Tensors by operators,
with gradients. Arrays have OpenCV's results where it differs (`arrays`); else they are transformed as Tensors
that share their memory.
"""

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
import torch

from ...creation import ones_like
from ...engine.spelling import spell
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn import functional as F
from ...ops import concat, where
from . import arrays

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "affine",
    "center_crop",
    "crop",
    "erase",
    "hflip",
    "normalize",
    "pad",
    "perspective",
    "resize",
    "rotate",
    "to_grayscale",
    "to_tensor",
    "vflip",
]


def _is_numpy_image(img: Any) -> bool:
    return isinstance(img, np.ndarray) and img.ndim in (2, 3)


def _is_pil_image(img: Any) -> bool:
    if any(base.__module__ == "PIL.Image" for base in type(img).__mro__):
        return True
    if _is_numpy_image(img) or (isinstance(img, Tensor) and img.ndim in (3, 4)):
        return False
    raise InvalidType(
        f"img: expected a PIL image, an array with 2 or 3 axes or a Tensor with 3, got {type(img).__name__}"
    )


def _size(img: Any) -> tuple[int, int]:
    """(width, height)."""
    return (
        img.size
        if _is_pil_image(img)
        else (img.shape[1], img.shape[0])
        if _is_numpy_image(img)
        else (img.shape[-1], img.shape[-2])
    )


def _for_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a function of PIL images and Tensors to arrays."""

    @functools.wraps(function)
    def call(img: Any, *args: Any, **settings: Any) -> Any:
        if not _is_numpy_image(img):
            return function(img, *args, **settings)
        planes = torch.from_numpy(np.ascontiguousarray(img if img.ndim == 3 else img[..., None])).permute(
            2, 0, 1
        )
        result = function(Tensor(planes), *args, **settings).data.permute(1, 2, 0).numpy()
        return result if img.ndim == 3 else result[..., 0]

    return call


def _floating(img: Any) -> Any:
    return img if img.dtype.is_floating_point else img.astype("float32")


def _like(result: Any, img: Any) -> Any:
    """`result`, a floating Tensor, in the dtype of img."""
    return result if result.dtype == img.dtype else result.round().clip(0, 255).astype(img.dtype)


def _pillow(part: str, name: str) -> Any:
    """A constant of Pillow's, such as Image.Resampling.NEAREST."""
    from PIL import Image

    result = getattr(getattr(Image, part), name.upper(), None)
    if result is None:
        raise InvalidArgument(
            f"{part.lower()}: expected one of "
            f"{', '.join(n.lower() for n in getattr(Image, part).__members__)}, got {name!r}"
        )
    return result


# --- functions ----------------------------------------------------------------------------------------------


def to_tensor(pic, data_format="CHW"):
    """A Tensor [channels, height, width] (or "HWC"); uint8 becomes float32 from 0 to 1. A Tensor is returned
    unchanged."""
    if data_format.upper() not in ("CHW", "HWC"):
        raise InvalidArgument(f"data_format: expected 'CHW' or 'HWC', got {data_format!r}")
    if isinstance(pic, Tensor):
        return pic if data_format.upper() == "CHW" else pic.transpose([1, 2, 0])
    pixels = np.array(pic, np.int32 if _is_pil_image(pic) and pic.mode.startswith("I") else None)
    pixels = pixels.astype(np.uint8) * np.uint8(255) if pixels.dtype == bool else pixels
    planes = torch.from_numpy(pixels if pixels.ndim == 3 else pixels[..., None])
    planes = planes.permute(2, 0, 1).contiguous() if data_format.upper() == "CHW" else planes
    return Tensor(planes.to(torch.float32) / 255 if planes.dtype == torch.uint8 else planes)


def resize(img, size, interpolation="bilinear"):
    """Resize to (height, width), or to a number for the shorter side."""
    if not isinstance(size, int) and not (isinstance(size, Sequence) and len(size) == 2):
        raise InvalidType(f"size: expected an int or (height, width), got {size!r}")
    width, height = _size(img)
    if isinstance(size, int):
        if min(width, height) == size:
            return img
        size = (int(size * height / width), size) if width < height else (size, int(size * width / height))
    if _is_pil_image(img):
        return img.resize((size[1], size[0]), _pillow("Resampling", interpolation))
    if _is_numpy_image(img) and (
        interpolation == "area" or (interpolation == "bilinear" and img.dtype == np.uint8)
    ):
        return getattr(arrays, interpolation)(img, *size)
    return _interpolated(img, size, interpolation)


@_for_arrays
def _interpolated(img: Any, size: Any, interpolation: str) -> Any:
    return _like(
        F.interpolate(_floating(img).unsqueeze(0), list(size), mode=interpolation.lower()).squeeze(0), img
    )


def pad(img, padding, fill=0, padding_mode="constant"):
    """Pad the border. padding: a number, (left and right, top and bottom) or (left, top, right, bottom).

    padding_mode: "constant" (with `fill`), "edge", "reflect", or "symmetric" (not for Tensors).
    """
    _check_padding(padding, fill, padding_mode)
    sides = [padding] * 4 if isinstance(padding, Number) else list(padding) * (4 // len(padding))
    left, top, right, bottom = sides
    borders = [(top, bottom), (left, right), (0, 0)]
    if _is_numpy_image(img):
        colour = {"constant_values": fill} if padding_mode == "constant" else {}
        return np.pad(img, borders[: img.ndim], padding_mode, **colour)
    if not _is_pil_image(img):
        if padding_mode == "symmetric":
            raise InvalidArgument(
                "padding_mode: expected constant, edge or reflect for a Tensor, got symmetric"
            )
        mode = "replicate" if padding_mode == "edge" else padding_mode
        return F.pad(img.unsqueeze(0), [left, right, top, bottom], mode=mode, value=fill).squeeze(0)
    from PIL import Image, ImageOps

    if padding_mode == "constant":
        return ImageOps.expand(img, (left, top, right, bottom), fill)
    pixels = np.asarray(img)
    padded = Image.fromarray(np.pad(pixels, borders[: pixels.ndim], padding_mode))
    if img.mode == "P":
        padded.putpalette(img.getpalette())
    return padded


def _check_padding(padding: Any, fill: Any, padding_mode: Any) -> None:
    if not isinstance(padding, (Number, list, tuple)) or not isinstance(fill, (Number, str, list, tuple)):
        raise InvalidType(
            f"expected padding as numbers, and fill as numbers or a colour, got {padding!r} and {fill!r}"
        )
    if not isinstance(padding, Number) and len(padding) not in (2, 4):
        raise InvalidArgument(f"padding: expected 1, 2 or 4 numbers, got {padding!r}")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise InvalidArgument(
            f"padding_mode: expected constant, edge, reflect or symmetric, got {padding_mode!r}"
        )


@_for_arrays
def crop(img, top, left, height, width):
    """The region of this height and width whose corner is (top, left)."""
    if _is_pil_image(img):
        return img.crop((left, top, left + width, top + height))
    return img[..., top : top + height, left : left + width]


def center_crop(img, output_size):
    """The central region; output_size: (height, width), or a number for both."""
    height, width = (int(output_size),) * 2 if isinstance(output_size, Number) else output_size
    w, h = _size(img)
    return crop(img, round((h - height) / 2), round((w - width) / 2), height, width)


@_for_arrays
def hflip(img):
    """Mirror left and right."""
    return img.transpose(_pillow("Transpose", "flip_left_right")) if _is_pil_image(img) else img.flip([-1])


@_for_arrays
def vflip(img):
    """Mirror top and bottom."""
    return img.transpose(_pillow("Transpose", "flip_top_bottom")) if _is_pil_image(img) else img.flip([-2])


@_for_arrays
def _enhanced(img: Any, kind: str, factor: float, other: Callable[[Any], Any]) -> Any:
    """factor img + (1 - factor) other(img), clipped to the range of the dtype."""
    if factor < 0:
        raise InvalidArgument(f"{kind.lower()}_factor: expected 0 or more, got {factor}")
    if _is_pil_image(img):
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(img).enhance(factor)
    high = 1.0 if img.dtype.is_floating_point else 255.0
    return (_floating(img) * factor + other(_floating(img)) * (1 - factor)).clip(0, high).astype(img.dtype)


def _gray(img: Any) -> Any:
    """The luminance of a floating Tensor, with one channel (ITU-R BT.601)."""
    if img.shape[-3] == 1:
        return img
    red, green, blue = img.unbind(-3)
    return (red * 0.2989 + green * 0.587 + blue * 0.114).unsqueeze(-3)


def adjust_brightness(img, brightness_factor):
    """Multiply the brightness by brightness_factor."""
    if _is_numpy_image(img) and img.dtype == np.uint8:
        return arrays.mapped(img, np.arange(256) * brightness_factor)
    return _enhanced(img, "Brightness", brightness_factor, lambda i: i * 0)


def adjust_contrast(img, contrast_factor):
    """Multiply differences from the mean luminance by contrast_factor; for uint8 arrays from 74, as in
    Paddle."""
    if _is_numpy_image(img) and img.dtype == np.uint8:
        return arrays.mapped(img, (np.arange(256) - 74) * contrast_factor + 74)
    return _enhanced(img, "Contrast", contrast_factor, lambda i: _gray(i).mean([-3, -2, -1], keepdim=True))


def adjust_saturation(img, saturation_factor):
    """Multiply differences from gray by saturation_factor."""
    return _enhanced(img, "Color", saturation_factor, _gray)


@_for_arrays
def adjust_hue(img, hue_factor):
    """Shift the hue by hue_factor of the colour wheel, -0.5 to 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise InvalidArgument(f"hue_factor: expected -0.5 to 0.5, got {hue_factor}")
    if _is_pil_image(img):
        from PIL import Image

        if img.mode in ("L", "1", "I", "F"):
            return img
        hue, saturation, value = img.convert("HSV").split()
        shifted = Image.fromarray(((np.array(hue, np.int16) + int(hue_factor * 255)) % 256).astype(np.uint8))
        return Image.merge("HSV", (shifted, saturation, value)).convert(img.mode)
    if img.shape[-3] == 1:
        return img
    pixels = img if img.dtype.is_floating_point else img.astype("float32") / 255
    top, low = pixels.max(-3, keepdim=True), pixels.min(-3, keepdim=True)
    spread = where(top == low, ones_like(top), top - low)
    red, green, blue = ((top - channel.unsqueeze(-3)) / spread for channel in pixels.unbind(-3))
    sixths = (
        where(red == 0, blue - green, where(green == 0, red - blue + 2, green - red + 4)) + 6 * hue_factor
    )
    # The channel n of a colour: value - (value - low) min(k, 4 - k, 1), not below 0, with k = n + 6 hue (mod
    # 6).
    wheel = concat([(sixths + n) % 6.0 for n in (5, 3, 1)], -3)
    shifted = top - (top - low) * where(wheel < 4 - wheel, wheel, 4 - wheel).clip(0, 1)
    return shifted if img.dtype.is_floating_point else (shifted * 255).astype(img.dtype)


@_for_arrays
def to_grayscale(img, num_output_channels=1):
    """The luminance, in one channel or in three equal ones."""
    if num_output_channels not in (1, 3):
        raise InvalidArgument(f"num_output_channels: expected 1 or 3, got {num_output_channels}")
    if _is_pil_image(img):
        return img.convert("L") if num_output_channels == 1 else img.convert("L").convert("RGB")
    gray = _like(_gray(_floating(img)), img)
    return gray.expand([*gray.shape[:-3], num_output_channels, *gray.shape[-2:]])


def normalize(img, mean, std, data_format="CHW", to_rgb=False):
    """(img - mean) / std for each channel. to_rgb: first reverse the channels of an array [.., 3]."""
    shape = [-1, 1, 1] if data_format.upper() == "CHW" else [1, 1, -1]
    if isinstance(img, Tensor):
        mean, std = (
            Tensor(torch.tensor(v, dtype=img.data.dtype, device=img.data.device)).reshape(shape)
            for v in (mean, std)
        )
        return (img - mean) / std
    pixels = np.asarray(img, np.float32)
    return ((pixels[..., ::-1] if to_rgb else pixels) - np.float32(mean).reshape(shape)) / np.float32(
        std
    ).reshape(shape)


def erase(img, i, j, h, w, v, inplace=False):
    """Set the h rows from i and the w columns from j to the value v."""
    if _is_pil_image(img):
        from PIL import Image

        return Image.fromarray(erase(np.array(img, np.uint8), i, j, h, w, v, True))
    rows, columns = slice(i, i + h), slice(j, j + w)
    img = img if inplace else img.copy() if _is_numpy_image(img) else img.clone()
    img[(rows, columns) if _is_numpy_image(img) else (..., rows, columns)] = v
    return img


# --- geometric transforms -----------------------------------------------------------------------------------


def _warped(img: Any, matrix: Any, interpolation: str, fill: Any, size: tuple[int, int] | None = None) -> Any:
    """Projective warp: pixel (x, y) of the result is img's ((a x + b y + c) / s, (d x + e y + f) / s) with
    s = g x + h y + 1."""
    pixels = _floating(img if img.ndim == 4 else img.unsqueeze(0))
    (width, height), (w, h) = _size(img), size or _size(img)
    x, y = torch.meshgrid(torch.arange(w) + 0.5, torch.arange(h) + 0.5, indexing="xy")
    u, v, s = torch.tensor([*matrix, *[0.0] * (8 - len(matrix)), 1.0]).reshape(3, 3) @ torch.stack(
        [x, y, x * 0 + 1]
    ).flatten(1)
    grid = torch.stack([u / s * (2 / width) - 1, v / s * (2 / height) - 1], -1).reshape(1, h, w, 2)
    whole = Tensor(grid.to(pixels.data).expand(pixels.shape[0], -1, -1, -1))
    result = F.grid_sample(pixels, whole, interpolation, "zeros", False)
    if fill is not None:
        inside = F.grid_sample(ones_like(pixels[:, :1].detach()), whole, interpolation, "zeros", False)
        result = result * inside + (1 - inside) * Tensor(torch.tensor(fill).to(pixels.data)).reshape(
            [1, -1, 1, 1]
        )
    return _like(result if img.ndim == 4 else result.squeeze(0), img)


def _matrix(center: Any, angle: float, translate: Any, scale: float, shear: Any) -> list[float]:
    """The inverse affine matrix (6 numbers) of shearing, scaling, rotation about `center` and translation."""
    turn, (sx, sy), (cx, cy), (tx, ty) = math.radians(angle), map(math.radians, shear), center, translate
    across, down = math.cos(turn - sy) / math.cos(sy), math.sin(turn - sy) / math.cos(sy)
    a, b = (math.cos(turn) - down * math.tan(sx)) / scale, (math.sin(turn) + across * math.tan(sx)) / scale
    c, d = -down / scale, across / scale
    return [a, b, cx - a * (cx + tx) - b * (cy + ty), c, d, cy - c * (cx + tx) - d * (cy + ty)]


def _transformed(img: Any, kind: str, matrix: Any, interpolation: str, fill: Any) -> Any:
    if not _is_pil_image(img):
        return _warped(img, matrix, interpolation, fill)
    method, chosen = _pillow("Transform", kind), _pillow("Resampling", interpolation)
    return img.transform(img.size, method, matrix, chosen, fillcolor=_colour(fill, img))


def _colour(fill: Any, img: Any) -> Any:
    """`fill` in the form that Pillow takes for this image."""
    bands = len(img.getbands())
    return (
        (fill,) * bands
        if isinstance(fill, Number) and bands > 1
        else tuple(fill)
        if isinstance(fill, list)
        else fill
    )


@_for_arrays
def affine(img, angle, translate, scale, shear, interpolation="nearest", fill=0, center=None):
    """Rotate by `angle` degrees about `center` (x, y), translate, scale, and shear by angles in degrees."""
    for name, value, kind in (
        ("angle", angle, Number),
        ("translate", translate, Sequence),
        ("interpolation", interpolation, str),
        ("shear", shear, (Number, Sequence)),
    ):
        if not isinstance(value, kind):
            raise InvalidType(f"{name}: expected {kind}, got {value!r}")
    shear = [shear, 0.0] if isinstance(shear, Number) else list(shear) * (2 // len(shear))
    if len(translate) != 2 or scale <= 0 or len(shear) != 2:
        raise InvalidArgument(
            f"expected two numbers for translate, scale above 0 and one or two for shear, got {translate}, "
            f"{scale}, {shear}"
        )
    middle = [n / 2 for n in _size(img)] if center is None else center
    return _transformed(img, "affine", _matrix(middle, angle, translate, scale, shear), interpolation, fill)


@_for_arrays
def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    """Rotate counter-clockwise by `angle` degrees about `center`. expand: enlarge to the whole rotated
    image."""
    if _is_pil_image(img):
        return img.rotate(
            angle, _pillow("Resampling", interpolation), expand, center, fillcolor=_colour(fill, img)
        )
    width, height = _size(img)
    matrix = _matrix([width / 2, height / 2] if center is None else center, -angle, (0, 0), 1.0, (0, 0))
    across, down = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    w, h = (
        (2 * math.ceil(round((p * across + q * down) / 2, 6)) if expand else p)
        for p, q in ((width, height), (height, width))
    )
    for i in (0, 3):  # the centre of the new image is the centre of the old one
        matrix[i + 2] += matrix[i] * (width - w) / 2 + matrix[i + 1] * (height - h) / 2
    return _warped(img, matrix, interpolation, fill, (w, h))


@_for_arrays
def perspective(img, startpoints, endpoints, interpolation="nearest", fill=0):
    """Perspective transform that maps the four corners `startpoints` (x, y) to `endpoints`."""
    rows: list[Any] = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    matrix = np.linalg.lstsq(np.array(rows, float), np.array(startpoints, float).reshape(8), rcond=None)[
        0
    ].tolist()
    return _transformed(img, "perspective", matrix, interpolation, fill)


spell(globals())
