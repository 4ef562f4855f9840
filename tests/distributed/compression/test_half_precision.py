"""Gradients in 16 bits: close in each step, and closer in their sum."""

import pytest

from sampan.distributed.compression import HalfPrecision
from tests.distributed.compression import programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(("dtype", "error"), [("bfloat16", 4e-3), ("float16", 5e-4)])
def test_what_rounding_loses_is_sent_later(workers, dtype, error):
    with_it = workers(2)(programs.sums_of_gradients, "HalfPrecision", {"dtype": dtype}, 12)
    without = workers(2)(programs.sums_of_gradients, "HalfPrecision", {"dtype": dtype, "feedback": False}, 12)
    for (errors, late, size, equal), (_, lost, _, _) in zip(with_it, without, strict=True):
        assert 1e-6 < max(errors) < 2 * error
        assert late < 0.85 * lost  # the sum is rounded too: that is lost
        assert equal
        assert size == pytest.approx(0.5, abs=0.01)


def test_the_dtype_is_checked():
    with pytest.raises(ValueError, match="expected 'bfloat16' or 'float16', got 'int8'"):
        HalfPrecision("int8")


def test_an_overflow_is_seen_in_its_step_and_not_sent_again(workers):
    assert workers(2)(programs.after_an_overflow, "float16") == [[False, True, True]] * 2
    assert workers(2)(programs.after_an_overflow, "bfloat16") == [[True, True, True]] * 2
