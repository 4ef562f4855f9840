"""Fourier transforms of every kind over one, two or any number of axes, and signals cut into frames.

Three operators do all: complex to complex, real to complex, complex to real. The transpose of a transform is
the inverse one without its scale, so each is the gradient of another.
"""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

import numpy as np
import torch

from ..dtype import as_dtype, default_dtype
from ..engine.apply import describe
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .complex_numbers import complex as complex_of
from .complex_numbers import conj, real
from .indexing import getitem
from .shape import _free, _ints, moveaxis, pad_constant, reshape, swapaxes
from .slicing import unfold, unfolded_back

# torch's numbers, of a transform and its inverse
_NORMS = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}


def _fft_c2c_by_x(g: Any, axes: list[int], norm: int, forward: bool) -> Any:
    return fft_c2c(g, axes, norm, not forward)


@operator(_fft_c2c_by_x)
def fft_c2c(x, axes, norm, forward):
    """Complex to complex over `axes`. norm: 0 for none, 1 for 1 / sqrt(n), 2 for 1 / n."""
    return torch._fft_c2c(x, axes, norm, forward) if x.numel() else x.clone()


def _fft_r2c_by_x(g: Any, axes: list[int], norm: int, saved: int) -> Any:
    return real(fft_c2c(_resized(g, [saved], axes[-1:]), axes, norm, False))


@operator(_fft_r2c_by_x)
def fft_r2c(x, axes, norm, onesided):
    """Real to complex; `onesided`: the half of the last of `axes` that the rest follows from."""
    length = x.shape[axes[-1]]
    if x.numel() == 0:  # torch cannot plan a transform of nothing
        shape = _with_length(x, axes[-1], length // 2 + 1 if onesided else length)
        return x.new_zeros(shape, dtype=x.dtype.to_complex()), length
    return torch._fft_r2c(x, axes, norm, onesided), length


def _fft_c2r_by_x(g: Any, axes: list[int], norm: int, length: int) -> Any:
    half = length // 2 + 1
    # entries that represent two of the whole transform
    weight = torch.full((half,), 2.0, dtype=as_dtype(g.dtype), device=g.data.device)
    weight[0] = 1.0
    weight[(length + 1) // 2 :] = 1.0
    shape = [half if i == axes[-1] else 1 for i in range(g.ndim)]
    return fft_r2c(g, axes, norm, True) * weight.reshape(shape)


@operator(_fft_c2r_by_x)
def fft_c2r(x, axes, norm, length):
    """Complex to real of `length` along the last of `axes`, from the half that `fft_r2c` gives: an inverse
    transform."""
    if x.numel() == 0 or length == 0:
        shape = _with_length(x, axes[-1], length)
        return x.new_zeros(shape, dtype=x.dtype.to_real())
    return torch._fft_c2r(x, axes, norm, length)


def _with_length(x: Any, axis: int, length: int) -> list[int]:
    return [length if i == axis else n for i, n in enumerate(x.shape)]


def _resized(x: Any, sizes: list[int], axes: list[int]) -> Any:
    """x cut off or filled up with zeros at the end of each of `axes`."""
    widths = [0] * (2 * x.ndim)
    for n, axis in zip(sizes, axes, strict=True):
        widths[2 * (x.ndim - 1 - axis) + 1] = n - x.shape[axis]
    return pad_constant(x, widths, 0.0) if any(widths) else x


def _whole(name: str, given: Any) -> list[int]:
    """The numbers of a list, of a tensor, or of another sequence of ints; a single int is refused."""
    found = given if isinstance(given, range) else given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(found, (list, tuple, range)) or not all(_is_whole(n) for n in found):
        raise InvalidType(f"{name}: expected a list of ints, got {describe(given)}")
    return [int(n) for n in found]


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | np.integer | Tensor)


def _planned(x: Any, s: Any, axes: Any) -> tuple[list[int] | None, list[int]]:
    """The lengths of a transform, None for those of x, and its axes, none negative."""
    sizes = None if s is None else _whole("s", s)
    if sizes is not None and any(n <= 0 for n in sizes):
        raise InvalidArgument(f"expected positive lengths, got {sizes}")
    if axes is None:
        axes = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
    found = [_free(x, a) for a in _whole("axes", axes)]
    if len(set(found)) != len(found) or (sizes is not None and len(sizes) != len(found)):
        raise InvalidArgument(f"axes {found} and lengths {sizes} do not go together")
    return sizes, found


def _transform(kind: str, x: Any, s: Any, axes: Any, norm: str) -> Any:
    """The transform `kind` (of one axis) over several axes."""
    if not isinstance(norm, str) or norm not in _NORMS:
        raise InvalidArgument(f'norm: expected "forward", "backward" or "ortho", got {norm!r}')
    if x.data.dtype is torch.bool:
        raise InvalidType(f"x: expected numbers, got {describe(x)}")
    to_real, inverse = kind in ("irfft", "hfft"), kind.startswith("i")
    scale, kind = _NORMS[norm][inverse], kind.removeprefix("i")
    sizes, axes = _planned(x, s, axes)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.astype(default_dtype())
    if to_real:
        length = sizes[-1] if sizes else 2 * (x.shape[axes[-1]] - 1)
        if length < 0:
            raise InvalidArgument(
                f"x: expected at least 1 entry along axis {axes[-1]}, got shape {[*x.shape]}"
            )
        x = x if x.dtype.is_complex else complex_of(x, x * 0)
        x = _resized(x, [*sizes[:-1], length // 2 + 1], axes) if sizes else x
        return fft_c2r(conj(x) if kind == "hfft" else x, axes, scale, length)
    x = _resized(x, sizes, axes) if sizes else x
    if kind == "fft" and x.dtype.is_complex:
        return fft_c2c(x, axes, scale, not inverse)
    if x.dtype.is_complex:
        raise InvalidType(f"x: expected a real tensor, got {describe(x)}")
    found = fft_r2c(x, axes, scale, kind != "fft")
    return conj(found) if inverse else found


_DOCS = {
    "fft": "The Fourier transform, the sums of x exp(-2 pi i k t / n)",
    "ifft": "The inverse of `fft`, with a scale of 1 / n",
    "rfft": "The Fourier transform of real x: the half of the result that determines the rest",
    "irfft": "The inverse of `rfft`: a real result, of 2 (m - 1) entries unless given",
    "hfft": "The Fourier transform of x that equals its own conjugate mirror, given by its first half: "
    "a real result",
    "ihfft": "The inverse of `hfft`: half of the inverse Fourier transform of real x",
}


def _family(kind: str, ending: str, first: str, axis: str, default: Any, what: str) -> Callable[..., Any]:
    """Declare one transform. first, axis: what its parameters for lengths and axes are called; default: those
    axes."""

    def transform(x, s=None, axes=default, norm="backward", name=None):
        if ending == "2":
            for label, given in (("s", s), ("axes", axes)):
                if given is not None and len(_whole(label, given)) != 2:
                    raise InvalidArgument(f"{kind}2: {label}: expected two ints, got {describe(given)}")
        if ending == "":
            for label, given in (("n", s), ("axis", axes)):
                if given is not None and not (_is_whole(given) and not isinstance(given, Tensor)):
                    raise InvalidType(f"{kind}: {label}: expected an int, got {describe(given)}")
            s, axes = s if s is None else [s], [-1 if axes is None else axes]
        return _transform(kind, x, s, axes, norm)

    def call(x, *args, **settings) -> Tensor:
        try:
            bound = shown.bind(x, *args, **settings)
        except TypeError as error:
            raise InvalidType(str(error)) from None
        bound.apply_defaults()
        return transform(*bound.args)

    given, names = signature(transform).parameters.values(), {"s": first, "axes": axis}
    shown = Signature([p.replace(name=names.get(p.name, p.name)) for p in given])
    made: Any = call
    made.__name__, made.__signature__ = kind + ending, shown
    call.__doc__ = (
        f"{_DOCS[kind]}, over {what}. norm: where it is scaled: with 1 / n in the inverse "
        f'("backward") or in the transform itself ("forward"), or with 1 / sqrt(n) in both ("ortho"). '
        f"{first}: cut or fill up to so many entries first."
    )
    return composite(out=True)(call)


def _families(kind: str) -> tuple[Callable[..., Tensor], ...]:
    """A transform over one axis, over two and over any number of them."""
    return (
        _family(kind, "", "n", "axis", -1, "one axis"),
        _family(kind, "2", "s", "axes", (-2, -1), "two axes"),
        _family(kind, "n", "s", "axes", None, "axes, all of them when None"),
    )


fft, fft2, fftn = _families("fft")
ifft, ifft2, ifftn = _families("ifft")
rfft, rfft2, rfftn = _families("rfft")
irfft, irfft2, irfftn = _families("irfft")
hfft, hfft2, hfftn = _families("hfft")
ihfft, ihfft2, ihfftn = _families("ihfft")


# --- frames -------------------------------------------------------------------------------------------------


def _checked(axis: int = 0, **lengths: Any) -> list[int]:
    """The lengths, positive ints."""
    if axis not in (0, -1):
        raise InvalidArgument(f"axis: expected 0 or -1, got {describe(axis)}")
    for name, value in lengths.items():
        if isinstance(value, Tensor | np.ndarray) and value.size == 1:
            lengths[name] = value = value.item()
        if not _is_whole(value) or value <= 0:
            raise InvalidType(f"{name}: expected a positive int, got {describe(value)}")
    return [int(v) for v in lengths.values()]


@composite()
def frame(x, frame_length, hop_length, axis=-1, name=None) -> Tensor:
    """The frames of a signal [..., time], `hop_length` apart: [..., frame_length, frames].

    axis=0: of [time, ...], as [frames, frame_length, ...].
    """
    frame_length, hop_length = _checked(axis, frame_length=frame_length, hop_length=hop_length)
    if frame_length > x.shape[axis]:
        raise InvalidArgument(f"frame: frame_length: expected at most {x.shape[axis]}, got {frame_length}")
    frames = unfold(x, axis, frame_length, hop_length)
    return swapaxes(frames, -1, -2) if axis == -1 else moveaxis(frames, -1, 1)


@composite()
def overlap_add(x, hop_length, axis=-1, name=None) -> Tensor:
    """Frames [..., frame_length, frames] added up where they overlap: the signal [..., time]; axis as in
    `frame`."""
    (hop_length,) = _checked(axis, hop_length=hop_length)
    if x.ndim < 2:
        raise InvalidArgument(f"overlap_add: expected at least 2 axes, got shape {[*x.shape]}")
    frames = swapaxes(x, -1, -2) if axis == -1 else moveaxis(x, 1, -1)
    length, count = frames.shape[-1], frames.shape[0 if axis == 0 else -2]
    shape = list(frames.shape[:-1])
    shape[axis] = (count - 1) * hop_length + length
    at = _free(frames, axis) if axis == 0 else len(shape) - 1
    return unfolded_back(frames, shape, at, length, hop_length)


def _planned_frames(n_fft: Any, hop_length: Any, win_length: Any) -> list[int]:
    """The three lengths, the last two with their defaults: a quarter of the first, and the first."""
    (n_fft,) = _checked(n_fft=n_fft)
    hop_length = n_fft // 4 if hop_length is None else hop_length
    return _checked(
        n_fft=n_fft, hop_length=hop_length, win_length=n_fft if win_length is None else win_length
    )


def _window(window: Any, length: int, n_fft: int, like: Any) -> Any:
    """A window with zeros around it up to `n_fft`; ones when None."""
    if window is None:
        window = Tensor(like.data.real.new_ones(length))
    if not 0 < length <= n_fft or window.shape != [length]:
        raise InvalidArgument(
            f"window: expected {length} entries, 1 to n_fft={n_fft}, got shape {[*window.shape]}"
        )
    before = (n_fft - length) // 2
    return pad_constant(window, [before, n_fft - length - before], 0.0) if length < n_fft else window


@composite(method="")
def stft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    name=None,
) -> Tensor:
    """The Fourier transforms of windowed frames of a signal [batch, time] or [time]: [..., frequencies,
    frames].

    hop_length: n_fft // 4 when None. window: [win_length], ones when None, in the middle of n_fft entries.
    center: each frame is centred at its time, the signal is padded by `pad_mode` ("reflect" or "constant").
    normalized: scaled by 1 / sqrt(n_fft). onesided: n_fft // 2 + 1 frequencies; True for a real signal when
    None.
    """
    n_fft, hop_length, win_length = _planned_frames(n_fft, hop_length, win_length)
    if onesided is not None and not isinstance(onesided, bool):
        raise InvalidType(f"stft: onesided: expected a bool or None, got {describe(onesided)}")
    if x.ndim not in (1, 2) or not 0 < n_fft <= x.shape[-1] or hop_length <= 0:
        raise InvalidArgument(
            f"stft: expected [batch, time] or [time], time >= n_fft={n_fft}, got {[*x.shape]}"
        )
    window = _window(window, win_length, n_fft, x)
    if center:
        if pad_mode not in ("reflect", "constant"):
            raise InvalidArgument(f'stft: pad_mode: expected "reflect" or "constant", got {pad_mode!r}')
        n, around = x.shape[-1], n_fft // 2
        places = torch.arange(-around, n + around, device=x.data.device).abs()
        mirrored = torch.where(places >= n, 2 * (n - 1) - places, places)
        reflects = pad_mode == "reflect"
        x = getitem(x, (Ellipsis, mirrored)) if reflects else pad_constant(x, [around, around], 0.0)
    frames = swapaxes(frame(x, n_fft, hop_length), -1, -2) * window  # [..., frames, n_fft]
    onesided = not frames.dtype.is_complex if onesided is None else onesided
    if onesided and frames.dtype.is_complex:
        raise InvalidArgument("stft: onesided: expected False for a complex signal or window")
    kind = "rfft" if onesided else "fft"
    return swapaxes(_transform(kind, frames, None, [-1], _scaled(normalized)), -1, -2)


def _scaled(normalized: bool) -> str:
    return "ortho" if normalized else "backward"


@composite(method="")
def istft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=True,
    length=None,
    return_complex=False,
    name=None,
) -> Tensor:
    """The signal [..., time] whose `stft` is x [..., frequencies, frames], by overlapping frames divided by
    the window.

    length: of the result; the settings are those of `stft`. Raises ValueError where the windows leave a gap.
    """
    n_fft, hop_length, win_length = _planned_frames(n_fft, hop_length, win_length)
    if length is not None:
        (length,) = _checked(length=length)
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.ndim not in (2, 3) or x.size == 0 or x.shape[-2] != expected or not 0 < hop_length <= win_length:
        wanted = f"[..., {expected}, frames] and hop <= window"
        raise InvalidArgument(f"istft: expected {wanted}, got {[*x.shape]}, {hop_length}")
    window = _window(window, win_length, n_fft, x)
    frames = swapaxes(x, -1, -2)
    if return_complex:
        if onesided:
            raise InvalidArgument("istft: onesided: expected False for a complex signal")
        frames = _transform("ifft", frames, None, [-1], _scaled(normalized))
    else:
        half = getitem(frames, (Ellipsis, slice(n_fft // 2 + 1)))
        frames = _transform("irfft", half, [n_fft], [-1], _scaled(normalized))
    signal = overlap_add(swapaxes(frames * window, -1, -2), hop_length)
    square = reshape(window * window, [-1, 1]).expand([n_fft, x.shape[-1]])
    weight = overlap_add(square, hop_length)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else -start or None
    signal, weight = (getitem(t, (Ellipsis, slice(start, stop))) for t in (signal, weight))
    if not bool((weight.data.abs() >= 1e-11).all()):
        raise InvalidArgument("istft: the windows leave a gap: their overlapping squares are 0 somewhere")
    return signal / weight


@composite()
def fftshift(x, axes=None, name=None) -> Tensor:
    """The result of a transform with frequency 0 in the middle of `axes` (all when None)."""
    found = list(range(x.ndim)) if axes is None else _ints(axes, "axes")
    return x.roll([x.shape[a] // 2 for a in found], found)


@composite()
def ifftshift(x, axes=None, name=None) -> Tensor:
    """The inverse of `fftshift`."""
    found = list(range(x.ndim)) if axes is None else _ints(axes, "axes")
    return x.roll([-(x.shape[a] // 2) for a in found], found)
