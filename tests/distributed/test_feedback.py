"""Error feedback: nothing is lost over many steps, and an overflow is not sent twice."""

import pytest
import torch

from sampan.distributed.feedback import largest, only_largest, with_feedback


@pytest.mark.parametrize(
    "compress",
    [
        lambda values: values.half(),
        lambda values: values.bfloat16(),
        lambda values: only_largest(values, 7),
        lambda values: values.sign() * values.abs().mean(),
        lambda values: values,
    ],
    ids=["float16", "bfloat16", "largest", "sign", "all"],
)
def test_what_was_sent_and_what_is_left_add_up_to_the_gradients(compress):
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(30, 50, generator=generator, dtype=torch.float64)
    gradients = (gradients * 2**20).round() / 2**20  # so that differences of float16 and float64 are exact
    residual, total = torch.zeros(50, dtype=torch.float64), torch.zeros(50, dtype=torch.float64)
    for gradient in gradients:
        before = gradient.clone()
        total += with_feedback(gradient, residual, compress)
        assert torch.equal(gradient, before)
    torch.testing.assert_close(total + residual, gradients.sum(0), rtol=1e-12, atol=1e-12)


def test_a_number_that_is_always_rounded_off_is_sent_in_time():
    # Between 1 and 2 the numbers of bfloat16 are 1/128 apart: 1 + 1/1024 is rounded to 1.
    gradient, residual, total = torch.tensor([1 + 1 / 1024]), torch.zeros(1), 0.0
    for _ in range(1024):
        total += with_feedback(gradient, residual, lambda values: values.bfloat16()).item()
    assert abs(total - 1025) < 1 / 64
    assert 1024 * gradient.bfloat16().item() == 1024


def test_an_overflow_and_nan_are_sent_once():
    residual = torch.zeros(3)
    sent = with_feedback(torch.tensor([1e6, float("nan"), 1.0]), residual, lambda values: values.half())
    assert sent[0] == float("inf") and sent[1].isnan() and sent.dtype is torch.float16
    assert residual.tolist() == [0, 0, 0]
    assert with_feedback(torch.ones(3), residual, lambda values: values.half()).tolist() == [1, 1, 1]


def test_the_largest_magnitudes():
    values = torch.tensor([0.5, -3.0, 2.0, 0.0])
    assert sorted(largest(values, 2).tolist()) == [1, 2]
    assert only_largest(values, 2).tolist() == [0, -3, 2, 0] and values.tolist() == [0.5, -3, 2, 0]
