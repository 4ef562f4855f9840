"""Fourier transforms against torch's: complex input, norms, lengths, gradients; short-time transforms and frames."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import fft, signal
from sampan.engine.tensor import Tensor

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


def drawn(*shape: int, kind: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, dtype=kind, generator=torch.Generator().manual_seed(sum(shape)))


def agree(ours, theirs, x: torch.Tensor) -> None:
    """Values, and gradients of two orders (every transform is linear: a square makes the second one speak)."""
    mine, other = Tensor(x.clone(), stop_gradient=False), x.clone().requires_grad_()
    result, expected = ours(mine), theirs(other)
    torch.testing.assert_close(result.data.resolve_conj(), expected.detach().resolve_conj())
    size, reference = (result * result.conj()).real().sum(), (expected * expected.conj()).real.sum()
    (g,) = paddle.grad(size, [mine], create_graph=True)
    (w,) = torch.autograd.grad(reference, other, create_graph=True)
    torch.testing.assert_close(g.data.resolve_conj(), w.detach().resolve_conj())
    weight = drawn(*x.shape, kind=x.dtype)
    (h,) = paddle.grad((g * Tensor(weight)).real().sum(), [mine])
    (v,) = torch.autograd.grad((w * weight).real.sum(), other)
    torch.testing.assert_close(h.data.resolve_conj(), v.resolve_conj())


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_transforms_of_one_axis(name, norm) -> None:
    kind = torch.float64 if name in ("rfft", "ihfft") else torch.complex128
    for settings, theirs in (({}, {}), ({"n": 7, "axis": 0}, {"n": 7, "dim": 0}), ({"n": 3}, {"n": 3})):
        agree(
            lambda x, s=settings: getattr(fft, name)(x, norm=norm, **s),
            lambda x, s=theirs: getattr(torch.fft, name)(x, norm=norm, **s),
            drawn(4, 5, kind=kind),
        )


@pytest.mark.parametrize("name", ONE)
def test_transforms_of_several_axes(name) -> None:
    kind = torch.float64 if name in ("rfft", "ihfft") else torch.complex128
    x = drawn(2, 3, 4, kind=kind)
    agree(getattr(fft, f"{name}2"), getattr(torch.fft, f"{name}2"), x)
    agree(
        lambda x: getattr(fft, f"{name}n")(x, s=(4, 5), axes=(0, 2), norm="ortho"),
        lambda x: getattr(torch.fft, f"{name}n")(x, s=(4, 5), dim=(0, 2), norm="ortho"),
        x,
    )
    agree(lambda x: getattr(fft, f"{name}n")(x), lambda x: getattr(torch.fft, f"{name}n")(x), x)


def test_integers_count_as_floats() -> None:
    x = paddle.to_tensor([1, 2, 3])
    assert fft.fft(x).dtype == torch.complex64
    np.testing.assert_allclose(fft.fft(x).numpy(), np.fft.fft([1, 2, 3]), rtol=1e-6)


def test_what_a_transform_refuses() -> None:
    x = Tensor(drawn(3, 4))
    for call, message in (
        (lambda: fft.fft(x, norm="both"), "fft: norm"),
        (lambda: fft.fft(x, n=0), "fft: expected positive lengths"),
        (lambda: fft.fft(x, n=1.5), "fft: n: expected an int"),
        (lambda: fft.fft(x, axis=2), "fft: axis 2 is outside"),
        (lambda: fft.fft2(x, s=[3]), "fft2: s: expected two ints, got"),
        (lambda: fft.fftn(x, axes=(1, 1)), r"axes \[1, 1\] .* do not go together"),
        (lambda: fft.fftfreq(0), "expected n and d other than 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="rfft: x: expected a real tensor"):
        fft.rfft(fft.fft(x))


def test_frequencies() -> None:
    for n in (5, 6):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5, "float64").numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(fft.rfftfreq(n).numpy(), np.fft.rfftfreq(n), rtol=1e-6)
        x = Tensor(drawn(n))
        np.testing.assert_array_equal(fft.ifftshift(fft.fftshift(x)).numpy(), x.numpy())


def test_frames() -> None:
    x = Tensor(drawn(2, 9), stop_gradient=False)
    frames = signal.frame(x, 4, 2)
    np.testing.assert_array_equal(frames.numpy()[:, :, 1], x.numpy()[:, 2:6])
    turned = signal.frame(x.t(), 4, 2, axis=0)
    np.testing.assert_array_equal(turned.numpy(), frames.numpy().transpose(2, 1, 0))
    whole = signal.overlap_add(frames, 2)
    counts = np.array([1, 1, 2, 2, 2, 2, 1, 1])
    np.testing.assert_allclose(whole.numpy(), x.numpy()[:, :8] * counts)
    np.testing.assert_allclose(signal.overlap_add(turned, 2, axis=0).numpy(), whole.numpy().T)
    whole.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[0], [*counts, 0])
    for bad, message in (
        ((14, 2), "at most 9"),
        ((0, 2), "frame_length: expected a positive int"),
        ((4, 2, 1), "axis"),
    ):
        with pytest.raises(ValueError, match=message):
            signal.frame(x, *bad)


@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        ({}, {}),
        ({"hop_length": 3, "win_length": 6}, {"hop_length": 3, "win_length": 6}),
        ({"center": False, "onesided": False}, {"center": False, "onesided": False}),
        ({"pad_mode": "constant", "normalized": True}, {"pad_mode": "constant", "normalized": True}),
    ],
)
def test_short_time_transforms(settings, theirs) -> None:
    window = torch.hann_window(settings.get("win_length", 8), periodic=False, dtype=torch.float64) + 0.1
    agree(
        lambda x: signal.stft(x, 8, window=Tensor(window), **settings),
        lambda x: torch.stft(
            x, 8, **{"hop_length": 2, "win_length": 8, **theirs}, window=window, return_complex=True
        ),
        drawn(2, 40),
    )


@pytest.mark.parametrize("normalized", [False, True])
def test_a_signal_comes_back(normalized) -> None:
    x = Tensor(drawn(2, 40), stop_gradient=False)
    spectrum = signal.stft(x, 8, normalized=normalized)
    back = signal.istft(spectrum, 8, normalized=normalized)
    np.testing.assert_allclose(back.numpy(), x.numpy())
    back.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((2, 40)))
    assert signal.istft(spectrum, 8, normalized=normalized, length=11).shape == [2, 11]
    both = signal.stft(x[0], 8, onesided=False)
    np.testing.assert_allclose(signal.istft(both, 8, onesided=False).numpy(), x[0].numpy())
    complex_back = signal.istft(both, 8, onesided=False, return_complex=True)
    np.testing.assert_allclose(complex_back.numpy(), x[0].numpy(), atol=1e-12)
    assert x.stft(8).istft(8).shape == [2, 40]


def test_what_short_time_transforms_refuse() -> None:
    x = Tensor(drawn(40))
    spectrum = signal.stft(x, 8)
    for call, message in (
        (lambda: signal.stft(x[:4], 8), "time >= n_fft"),
        (lambda: signal.stft(x, 8, window=x[:5]), "window: expected 8 entries"),
        (lambda: signal.stft(x, 8, pad_mode="edge"), "pad_mode"),
        (lambda: signal.stft(fft.fft(x), 8, center=False, onesided=True), "onesided: expected False"),
        (lambda: signal.istft(spectrum, 10), r"istft: expected \[..., 6, frames\]"),
        (lambda: signal.istft(spectrum, 8, return_complex=True), "onesided: expected False"),
        (lambda: signal.istft(spectrum, 8, window=x[:8] * 0), "leave a gap"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
