"""Fourier transforms by Paddle's names (see `ops.spectral`), and the frequencies of their results."""

from .creation import arange
from .dtype import default_dtype
from .engine.spelling import factory
from .engine.tensor import InvalidArgument, Tensor
from .ops.spectral import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

# fmt: off
__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]
# fmt: on


def _frequencies(first: int, count: int, n: int, d: float, dtype: object) -> Tensor:
    if n * d == 0:
        raise InvalidArgument(f"expected n and d other than 0, got {n} and {d}")
    return arange(first, first + count, dtype=default_dtype() if dtype is None else dtype) * (1.0 / (n * d))


@factory(without="pin_memory")
def fftfreq(n, d=1.0, dtype=None, name=None) -> Tensor:
    """The frequencies of `fft`'s result for n entries d apart: 0, 1, ..., then the negative ones, over n
    d."""
    return ifftshift(_frequencies(-(n // 2), n, n, d, dtype))


@factory(without="pin_memory")
def rfftfreq(n, d=1.0, dtype=None, name=None) -> Tensor:
    """The frequencies of `rfft`'s result for n entries d apart: 0, 1, ..., n // 2, over n d."""
    return _frequencies(0, n // 2 + 1, n, d, dtype)
