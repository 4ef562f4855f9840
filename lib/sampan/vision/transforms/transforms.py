"""Transforms of images as objects, deterministic and random, for the `transform` argument of data sets."""

import inspect
import math
import random
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn.function_layer import init_of
from . import functional as F

__all__ = [
    "BaseTransform",
    "BrightnessTransform",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "Grayscale",
    "HueTransform",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "SaturationTransform",
    "ToTensor",
    "Transpose",
]


class Compose:
    """Applies transforms in order."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, data: Any) -> Any:
        for transform in self.transforms:
            data = transform(data)
        return data

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {t}" for t in self.transforms), ")"])


class BaseTransform:
    """Base class. A subclass defines `_apply_image(img)`, and for boxes or masks `_apply_boxes`,
    `_apply_mask`.

    Called with a tuple, it transforms the values that `keys` names in their order ("image", "boxes", "mask",
    "coords") and returns the others unchanged. `_get_params(inputs)` is called first; its result is stored as
    `params`.
    """

    def __init_subclass__(cls, settings: str = "", applies: Any = None) -> None:
        """Define an __init__ that stores these settings, and the function that is applied with them."""
        if not settings:
            return

        def keep(self: BaseTransform, keys: Any, **given: Any) -> None:
            BaseTransform.__init__(self, keys)
            vars(self).update(given)
            if not 0 <= given.get("prob", 0) <= 1:
                raise InvalidArgument(f"prob: expected a probability from 0 to 1, got {self.prob}")
            vars(self).update(self._checked())

        # Defined from the settings.
        cls.__init__ = init_of(f"{settings}, keys=None", keep)  # type: ignore[method-assign]
        if applies is not None:
            cls.__doc__ = applies.__doc__
            names = list(inspect.signature(cls).parameters)[:-1]
            cls._apply_image = lambda self, img: applies(img, *(getattr(self, n) for n in names))

    def __init__(self, keys=None):
        self.keys, self.params = ("image",) if keys is None else keys, None
        if not isinstance(self.keys, Sequence):
            raise InvalidArgument(f"keys: expected a sequence of names, got {keys!r}")
        for key in self.keys:
            if not hasattr(self, f"_apply_{key}"):
                raise NotImplementedError(
                    f"{type(self).__name__}: keys: expected image, boxes, mask or coords, got {key!r}"
                )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The settings."""

    def _checked(self) -> dict[str, Any]:
        """Validate the settings; returns those that are stored in another form."""
        return {}

    def _get_params(self, inputs: Any) -> Any:
        return None

    def _missing(self, img: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to transform this")

    _apply_image = _apply_boxes = _apply_mask = _apply_coords = _missing

    def __call__(self, inputs: Any) -> Any:
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(inputs)
        outputs = [
            getattr(self, f"_apply_{key}")(value) for key, value in zip(self.keys, inputs, strict=False)
        ]
        outputs += inputs[len(self.keys) :]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _span(value: Any, name: str, lengths: tuple[int, ...] = (2,), center: float = 0.0) -> list[float]:
    """A range: (center - value, center + value) for a number, else the given range."""
    if isinstance(value, Number):
        if value < 0:  # type: ignore[operator]  # numbers.Number has no order
            raise InvalidArgument(f"{name}: expected 0 or more for a single number, got {value}")
        return [center - value, center + value]  # type: ignore[operator]  # numbers.Number has no sum
    if not isinstance(value, Sequence):
        raise InvalidType(f"{name}: expected a number or a sequence, got {value!r}")
    if len(value) not in lengths:
        raise InvalidArgument(f"{name}: expected {' or '.join(map(str, lengths))} numbers, got {value!r}")
    return [float(v) for v in value]


class ToTensor(BaseTransform, settings="data_format='CHW'", applies=F.to_tensor): ...


class Resize(BaseTransform, settings="size, interpolation='bilinear'", applies=F.resize): ...


class CenterCrop(BaseTransform, settings="size", applies=F.center_crop): ...


class Grayscale(BaseTransform, settings="num_output_channels=1", applies=F.to_grayscale): ...


class Pad(BaseTransform, settings="padding, fill=0, padding_mode='constant'", applies=F.pad):
    def _checked(self) -> dict[str, Any]:
        F._check_padding(self.padding, self.fill, self.padding_mode)
        return {}


class Normalize(
    BaseTransform, settings="mean=0.0, std=1.0, data_format='CHW', to_rgb=False", applies=F.normalize
):
    def _checked(self) -> dict[str, Any]:
        return {
            name: [v] * 3 if isinstance(v := getattr(self, name), Number) else v for name in ("mean", "std")
        }


class Transpose(BaseTransform, settings="order=(2, 0, 1)"):
    """Permute the axes. Images and arrays give arrays; a gray image first gets an axis for channels."""

    def _apply_image(self, img: Any) -> Any:
        if isinstance(img, Tensor):
            return img.transpose(self.order)
        pixels = np.asarray(img)
        return (pixels if pixels.ndim == 3 else pixels[..., None]).transpose(self.order)


class RandomHorizontalFlip(BaseTransform, settings="prob=0.5"):
    """Mirror left and right with probability `prob`."""

    def _apply_image(self, img: Any) -> Any:
        return F.hflip(img) if random.random() < self.prob else img


class RandomVerticalFlip(BaseTransform, settings="prob=0.5"):
    """Mirror top and bottom with probability `prob`."""

    def _apply_image(self, img: Any) -> Any:
        return F.vflip(img) if random.random() < self.prob else img


class _Colour(BaseTransform):
    """A random factor from 1 - value to 1 + value, or from the given range."""

    _adjust: Any
    _center, _low, _high = 1.0, 0.0, math.inf

    def _checked(self) -> dict[str, Any]:
        low, high = _span(self.value, type(self).__name__, center=self._center)
        low = max(low, 0) if self._low == 0 and isinstance(self.value, Number) else low
        if not self._low <= low <= high <= self._high:
            raise InvalidArgument(
                f"value: expected a range between {self._low} and {self._high}, got {self.value}"
            )
        return {"value": None if low == high == self._center else [low, high]}

    def _apply_image(self, img: Any) -> Any:
        return img if self.value is None else type(self)._adjust(img, random.uniform(*self.value))


class BrightnessTransform(_Colour, settings="value"):
    __doc__, _adjust = _Colour.__doc__, staticmethod(F.adjust_brightness)


class ContrastTransform(_Colour, settings="value"):
    __doc__, _adjust = _Colour.__doc__, staticmethod(F.adjust_contrast)


class SaturationTransform(_Colour, settings="value"):
    __doc__, _adjust = _Colour.__doc__, staticmethod(F.adjust_saturation)


class HueTransform(_Colour, settings="value"):
    """A random hue shift from -value to value (at most 0.5), or from the given range."""

    _adjust, _center, _low, _high = staticmethod(F.adjust_hue), 0.0, -0.5, 0.5


class ColorJitter(BaseTransform, settings="brightness=0, contrast=0, saturation=0, hue=0"):
    """Random changes of brightness, contrast, saturation and hue, in random order."""

    def _apply_image(self, img: Any) -> Any:
        kinds: Any = BrightnessTransform, ContrastTransform, SaturationTransform, HueTransform
        given = self.brightness, self.contrast, self.saturation, self.hue
        changes = [
            kind(value, self.keys) for kind, value in zip(kinds, given, strict=True) if value is not None
        ]
        random.shuffle(changes)
        return Compose(changes)(img)


def _part(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int] | None:
    """(top, left, height, width) of a random region with a random fraction of the area and a random width /
    height."""
    width, height = F._size(img)
    for _ in range(10):
        area, shape = np.random.uniform(*scale) * width * height, math.exp(np.random.uniform(*np.log(ratio)))
        w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    return None


def _ordered(low: float, values: Any, name: str, high: float = math.inf) -> None:
    if not isinstance(values, (list, tuple)) or not low <= values[0] <= values[1] <= high:
        raise InvalidArgument(
            f"{name}: expected (smallest, largest) between {low} and {high}, got {values!r}"
        )


class RandomResizedCrop(
    BaseTransform, settings="size, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3), interpolation='bilinear'"
):
    """Resize a random region: its fraction of the area is in `scale`, its width / height in `ratio` (Szegedy
    et al. 2014)."""

    def _checked(self) -> dict[str, Any]:
        _ordered(0, self.scale, "scale")
        _ordered(0, self.ratio, "ratio")
        return {"size": (self.size, self.size) if isinstance(self.size, int) else self.size}

    def _apply_image(self, img: Any) -> Any:
        part = _part(img, self.scale, self.ratio)
        if part is None:  # the central region with the nearest ratio
            width, height = F._size(img)
            w, h = min(width, round(height * max(self.ratio))), min(height, round(width / min(self.ratio)))
            part = (height - h) // 2, (width - w) // 2, h, w
        return F.resize(F.crop(img, *part), self.size, self.interpolation)


class RandomCrop(
    BaseTransform, settings="size, padding=None, pad_if_needed=False, fill=0, padding_mode='constant'"
):
    """A region of this size (height, width) at a random position, after padding."""

    def _checked(self) -> dict[str, Any]:
        return {"size": (self.size, self.size) if isinstance(self.size, Number) else self.size}

    def _apply_image(self, img: Any) -> Any:
        th, tw = self.size
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        w, h = F._size(img)
        if self.pad_if_needed and (w < tw or h < th):
            img = F.pad(img, (max(tw - w, 0), max(th - h, 0)), self.fill, self.padding_mode)
            w, h = F._size(img)
        return F.crop(img, random.randint(0, h - th), random.randint(0, w - tw), th, tw)


class RandomErasing(
    BaseTransform, settings="prob=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False"
):
    """With probability `prob`, fill a random region with `value` or "random" noise (Zhong et al. 2017)."""

    def _checked(self) -> dict[str, Any]:
        _ordered(0, self.scale, "scale", 1)
        _ordered(0, self.ratio, "ratio")
        if not isinstance(self.value, (Number, list, tuple)) and self.value != "random":
            raise InvalidArgument(f"value: expected numbers or 'random', got {self.value!r}")
        return {}

    def _apply_image(self, img: Any) -> Any:
        part = _part(img, self.scale, self.ratio) if random.random() < self.prob else None
        if part is None:
            return img
        planes = isinstance(img, Tensor)
        if self.value == "random":
            shape = (img.shape[-3], *part[2:]) if planes else (*part[2:], *np.asarray(img).shape[2:])
            value = np.random.normal(size=shape) * (1 if planes else 255)
        else:
            value = np.reshape(self.value, [-1, 1, 1] if planes else [-1])
        return F.erase(
            img, *part, Tensor(torch.tensor(value).to(img.data)) if planes else value, self.inplace
        )


class RandomAffine(
    BaseTransform,
    settings="degrees, translate=None, scale=None, shear=None, interpolation='nearest', fill=0, center=None",
):
    """Random rotation, translation (in fractions of the size), scaling and shearing within these ranges."""

    def _checked(self) -> dict[str, Any]:
        if self.translate is not None and not all(0 <= t <= 1 for t in _span(self.translate, "translate")):
            raise InvalidArgument(f"translate: expected two numbers from 0 to 1, got {self.translate}")
        if self.scale is not None and not all(s > 0 for s in _span(self.scale, "scale")):
            raise InvalidArgument(f"scale: expected two positive numbers, got {self.scale}")
        shear = None if self.shear is None else _span(self.shear, "shear", (2, 4))
        return {"degrees": _span(self.degrees, "degrees"), "shear": shear}

    def _apply_image(self, img: Any) -> Any:
        most = [t * n for t, n in zip(self.translate or (0, 0), F._size(img), strict=True)]
        moved = [int(random.uniform(-m, m)) for m in most]
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        low_x, high_x, low_y, high_y = [*(self.shear or (0, 0)), 0, 0][:4]
        shear = random.uniform(low_x, high_x), random.uniform(low_y, high_y)
        return F.affine(
            img,
            random.uniform(*self.degrees),
            moved,
            scale,
            shear,
            self.interpolation,
            self.fill,
            self.center,
        )


class RandomRotation(
    BaseTransform, settings="degrees, interpolation='nearest', expand=False, center=None, fill=0"
):
    """Rotation by a random angle from -degrees to degrees, or from the given range."""

    def _checked(self) -> dict[str, Any]:
        return {"degrees": _span(self.degrees, "degrees")}

    def _apply_image(self, img: Any) -> Any:
        return F.rotate(
            img, random.uniform(*self.degrees), self.interpolation, self.expand, self.center, self.fill
        )


class RandomPerspective(
    BaseTransform, settings="prob=0.5, distortion_scale=0.5, interpolation='nearest', fill=0"
):
    """With probability `prob`, move the corners inwards, each by up to distortion_scale of half the size."""

    def _checked(self) -> dict[str, Any]:
        if not 0 <= self.distortion_scale <= 1:
            raise InvalidArgument(f"distortion_scale: expected 0 to 1, got {self.distortion_scale}")
        return {}

    def _apply_image(self, img: Any) -> Any:
        if random.random() >= self.prob:
            return img
        w, h = F._size(img)
        corners = [[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]]
        most = [int(self.distortion_scale * (n // 2)) for n in (w, h)]
        moved = [
            [v + (1 if v == 0 else -1) * random.randint(0, m) for v, m in zip(c, most, strict=True)]
            for c in corners
        ]
        return F.perspective(img, corners, moved, self.interpolation, self.fill)
