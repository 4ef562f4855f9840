"""Both bodies of the operators in int8, beside each other and beside floats."""

from typing import Any

import numpy as np
import pytest
import torch

from sampan.engine.operator import operators
from sampan.quantization import int8

LINEAR, CONV = operators["int8_linear"].body, operators["int8_conv2d"].body


def both(monkeypatch: Any, operator: Any, *args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The answers of oneDNN's body and of the public one."""
    first = operator(*args)
    with monkeypatch.context() as patch:
        patch.setattr(int8, "onednn", lambda buffer: False)
        return first, operator(*args)


def fake(x: torch.Tensor, scale: float) -> torch.Tensor:
    """x as its integers stand for it, in float64."""
    return (x.double() / scale * 127).round().clamp(-128, 127) * scale / 127


@pytest.mark.parametrize("shape", [(5, 70), (2, 3, 70), (70,), (0, 70)], ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_linear(monkeypatch: Any, shape: Any, bias: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, generator=generator)
    weight = torch.randint(-127, 128, (70, 4), dtype=torch.int8, generator=generator)
    scales, b = torch.rand(4, generator=generator), torch.randn(4, generator=generator) if bias else None
    assert int8.onednn(x)
    private, public = both(monkeypatch, LINEAR, x, weight, b, torch.tensor([2.0]), scales)
    expected = fake(x, 2.0) @ (weight.double() * scales / 127) + (0 if b is None else b)
    assert private.shape == (*shape[:-1], 4)
    torch.testing.assert_close(private.double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(public.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("groups", "padding", "stride"), [(1, (1, 1, 1, 1), (1, 1)), (2, (0, 1, 2, 0), (2, 1)), (4, (1, 1, 0, 0), (1, 2))]
)  # fmt: skip  # a table
def test_convolution(monkeypatch: Any, groups: int, padding: Any, stride: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 4, 9, 8, generator=generator)
    weight = torch.randint(-127, 128, (8, 4 // groups, 3, 3), dtype=torch.int8, generator=generator)
    scales, bias = torch.rand(8, generator=generator), torch.randn(8, generator=generator)
    args = (x, weight, bias, torch.tensor(2.0), scales, stride, padding, (1, 1), groups)
    private, public = both(monkeypatch, CONV, *args)
    top, bottom, left, right = padding
    padded = torch.nn.functional.pad(fake(x, 2.0), (left, right, top, bottom))
    whole = weight.double() * scales.view(-1, 1, 1, 1) / 127
    expected = torch.conv2d(padded, whole, bias.double(), stride, 0, 1, groups)
    torch.testing.assert_close(private.double(), expected, rtol=1e-5, atol=1e-5, check_stride=False)
    torch.testing.assert_close(public.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["", "relu", "relu6"])
@pytest.mark.parametrize("last", [False, True], ids=["channels first", "channels last"])
def test_integers_from_one_to_the_next(monkeypatch: Any, activation: str, last: bool) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(2, 4, 9, 8, generator=generator)
    x = x.to(memory_format=torch.channels_last) if last else x
    weight = torch.randint(-127, 128, (8, 4, 3, 3), dtype=torch.int8, generator=generator)
    scales, scale = torch.rand(8, generator=generator) / 9, torch.tensor(1.5)
    args = (x, weight, None, torch.tensor(2.0), scales, (1, 1), (1, 1, 1, 1), (1, 1), 1)
    for q in both(monkeypatch, CONV, *args, activation, scale):
        floats = CONV(*args)
        floats = {"": floats, "relu": floats.relu(), "relu6": floats.clamp(0, 6)}[activation]
        off = (q.double() - 128) * 1.5 / 127 - fake(floats, 1.5)
        assert (
            q.dtype is torch.uint8 and int((off.abs() > 1e-6).sum()) <= 1
        )  # beside a half, a sum's last bit decides
    again = torch.randint(-127, 128, (2, 8, 1, 1), dtype=torch.int8, generator=generator)
    rest = (again, None, scale, torch.ones(1), (1, 1), (0,) * 4, (1, 1), 1)
    for found in both(monkeypatch, CONV, q, *rest):
        torch.testing.assert_close(found, CONV((q.float() - 128) * 1.5 / 127, *rest), check_stride=False)
    with pytest.raises(ValueError, match="expected float32 and int8"):
        CONV(q, again, None, None, *rest[3:])  # integers of no known scale
    with pytest.raises(ValueError, match=r"activation: expected one of .*, got 'tanh'"):
        LINEAR(torch.ones(1, 2), torch.ones(2, 3, dtype=torch.int8), None, None, torch.ones(1), "tanh")


def test_without_a_scale_the_largest_magnitude_is_it() -> None:
    x, weight = torch.tensor([[0.5, -4.0]]), torch.eye(2, dtype=torch.int8) * 127
    found = LINEAR(x, weight, None, None, torch.ones(1))
    np.testing.assert_allclose(found, [[16 * 4 / 127, -4]], rtol=1e-6)
    zeros = LINEAR(x * 0, weight, None, None, torch.ones(1))
    assert zeros.tolist() == [[0, 0]]


def test_a_weight_that_changes_in_place_is_packed_again() -> None:
    x, weight = torch.ones(1, 2), torch.full((2, 3), 127, dtype=torch.int8)
    args = None, torch.tensor(1.0), torch.ones(1)
    assert LINEAR(x, weight, *args).tolist() == [[2, 2, 2]]
    args[1].fill_(0.5)  # a smaller scale: 1 is limited to it
    assert LINEAR(x, weight, *args).tolist() == [[1, 1, 1]]
    args[2].fill_(2.0)
    assert LINEAR(x, weight, *args).tolist() == [[2, 2, 2]]
    weight.zero_()
    assert LINEAR(x, weight, *args).tolist() == [[0, 0, 0]]


def test_what_does_not_fit_is_refused() -> None:
    weight, rest = torch.ones(2, 3, dtype=torch.int8), (None, None, torch.ones(1))
    with pytest.raises(ValueError, match=r"x: expected 2 channels on axis -1, got shape \[1, 4\]"):
        int8.int8_linear(torch.ones(1, 4), weight, *rest)
    with pytest.raises(ValueError, match="expected float32 and int8"):
        int8.int8_linear(torch.ones(1, 2).double(), weight, *rest)
