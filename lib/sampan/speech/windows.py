"""Windows for frames of a signal, by Paddle's names and values.

All are symmetric over their length; a periodic one is that of one sample more without its last.
Source: SciPy's signal.windows, which Paddle follows.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..creation import arange, linspace, ones, to_tensor
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..ops import concat, cos, exp, where
from ..ops.special import i0


def _general_cosine(count: int, dtype: str, a: Any) -> Tensor:
    angle = linspace(-math.pi, math.pi, count, dtype=dtype)
    total = angle * 0
    for k, weight in enumerate(np.asarray(a, np.float64).tolist()):
        total = total + cos(angle * k) * weight
    return total


def _general_hamming(count: int, dtype: str, alpha: float) -> Tensor:
    return _general_cosine(count, dtype, [alpha, 1.0 - alpha])


def _bartlett(count: int, dtype: str) -> Tensor:
    n = arange(0, count, dtype=dtype)
    return where(n <= (count - 1) / 2.0, n * 2.0 / (count - 1), 2.0 - n * 2.0 / (count - 1))


def _kaiser(count: int, dtype: str, beta: float) -> Tensor:
    alpha = (count - 1) / 2.0
    place = (arange(0, count, dtype=dtype) - alpha) / alpha
    top = to_tensor(beta, dtype=dtype)
    return i0(top * (1 - place * place).sqrt()) / i0(top)


def _general_gaussian(count: int, dtype: str, p: float, sig: float) -> Tensor:
    n = arange(0, count, dtype=dtype) - (count - 1.0) / 2.0
    return exp(((n / sig).abs() ** (2 * p)) * -0.5)


def _gaussian(count: int, dtype: str, std: float) -> Tensor:
    n = arange(0, count, dtype=dtype) - (count - 1.0) / 2.0
    return exp(-(n * n) / (2 * std * std))


def _exponential(count: int, dtype: str, center: float | None = None, tau: float = 1.0) -> Tensor:
    middle = (count - 1) / 2 if center is None else center
    return exp(-(arange(0, count, dtype=dtype) - middle).abs() / tau)


def _triang(count: int, dtype: str) -> Tensor:
    n = arange(1, (count + 1) // 2 + 1, dtype=dtype)
    if count % 2 == 0:
        rising = (n * 2 - 1.0) / count
        return concat([rising, rising.flip(0)])
    rising = n * 2 / (count + 1.0)
    return concat([rising, rising.flip(0)[1:]])


def _bohman(count: int, dtype: str) -> Tensor:
    place = linspace(-1, 1, count, dtype=dtype)[1:-1].abs()
    inside = (1 - place) * cos(place * math.pi) + (place * math.pi).sin() * (1.0 / math.pi)
    end = to_tensor([0.0], dtype=dtype)
    return concat([end, inside, end])


def _cosine(count: int, dtype: str) -> Tensor:
    return ((arange(0, count, dtype=dtype) + 0.5) * (math.pi / count)).sin()


def _tukey(count: int, dtype: str, alpha: float = 0.5) -> Tensor:
    if alpha <= 0:
        return ones([count], dtype=dtype)
    if alpha >= 1.0:
        return _general_hamming(count, "float64", 0.5)  # of this dtype in Paddle, whatever is asked for
    n = arange(0, count, dtype=dtype)
    width = int(alpha * (count - 1) / 2.0)
    rise = cos((n[: width + 1] * 2.0 / alpha / (count - 1) - 1) * math.pi)
    fall = cos((n[count - width - 1 :] * 2.0 / alpha / (count - 1) - 2.0 / alpha + 1) * math.pi)
    flat = ones([max(count - 2 * width - 2, 0)], dtype=dtype)
    return concat([(rise + 1) * 0.5, flat, (fall + 1) * 0.5])


def _taylor(count: int, dtype: str, nbar: int = 4, sll: float = 30, norm: bool = True) -> Tensor:
    """Side lobes `sll` dB below the main one, the nearest `nbar` nearly equal (T. T. Taylor, 1955)."""
    a = math.acosh(10 ** (sll / 20)) / math.pi
    s2 = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    m = np.arange(1, nbar)
    weights = []
    for i in range(nbar - 1):
        above = np.prod(1 - m[i] ** 2 / s2 / (a**2 + (m - 0.5) ** 2))
        below = np.prod(1 - m[i] ** 2 / np.delete(m, i) ** 2.0)
        weights.append((-1) ** i * above / (2 * below))

    def shape(n: Any) -> Any:
        return 1 + 2 * np.array(weights) @ np.cos(2 * math.pi * m[:, None] * (n - count / 2.0 + 0.5) / count)

    found = shape(np.arange(count)[None])
    return to_tensor(found / shape((count - 1) / 2) if norm else found, dtype=dtype)


_WINDOWS: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...]]] = {
    "hamming": (_general_hamming, (0.54,)),
    "hann": (_general_hamming, (0.5,)),
    "blackman": (_general_cosine, ([0.42, 0.50, 0.08],)),
    "nuttall": (_general_cosine, ([0.3635819, 0.4891775, 0.1365995, 0.0106411],)),
    "general_cosine": (_general_cosine, ()),
    "general_hamming": (_general_hamming, ()),
    "bartlett": (_bartlett, ()),
    "kaiser": (_kaiser, ()),
    "gaussian": (_gaussian, ()),
    "general_gaussian": (_general_gaussian, ()),
    "exponential": (_exponential, ()),
    "triang": (_triang, ()),
    "bohman": (_bohman, ()),
    "cosine": (_cosine, ()),
    "tukey": (_tukey, ()),
    "taylor": (_taylor, ()),
}


def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: str = "float64") -> Tensor:
    """A window [win_length] by name.

    window: "hamming", "hann", "blackman", "nuttall", "bartlett", "triang", "bohman", "cosine", "tukey" or
    "taylor", or a tuple of a name and its parameters: ("kaiser", beta), ("gaussian", std),
    ("general_gaussian", p, sig), ("exponential", center, tau), ("tukey", alpha), ("taylor", nbar, sll, norm),
    ("general_cosine", weights), ("general_hamming", alpha). fftbins: periodic, for a Fourier transform;
    False: symmetric, for the design of a filter. Raises ValueError for an unknown name, missing parameters or
    a negative length.
    Source: PaddlePaddle 3.3.1, audio.functional.get_window.

    >>> paddle.audio.functional.get_window("hann", 4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    parameters: tuple[Any, ...] = ()
    if isinstance(window, tuple):
        window, *rest = window
        parameters = tuple(rest)
    elif not isinstance(window, str):
        raise InvalidArgument(f"window: expected a name or a tuple, got {type(window).__name__}")
    elif window in ("gaussian", "exponential", "kaiser"):
        raise InvalidArgument(f"window: {window!r} needs parameters; pass a tuple ({window!r}, ...)")
    if window not in _WINDOWS:
        raise InvalidArgument(f"window: expected one of {', '.join(_WINDOWS)}, got {window!r}")
    if int(win_length) != win_length or win_length < 0:
        raise InvalidArgument(f"win_length: expected an integer of at least 0, got {win_length!r}")
    if window == "exponential" and not fftbins and parameters[:1] not in ((), (None,)):
        raise InvalidArgument(f"window: expected center None for a symmetric window, got {parameters[0]!r}")
    make, fixed = _WINDOWS[window]
    if win_length <= 1:
        return ones([int(win_length)], dtype=dtype)
    try:
        made = make(int(win_length) + fftbins, dtype, *fixed, *parameters)
    except TypeError as error:
        raise InvalidType(f"window: wrong parameters {parameters} for {window!r}: {error}") from None
    return made[:-1] if fftbins else made
