"""Which values that left the graph are the same to a Program."""

import math
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.jit import to_static
from sampan.jit.guards import outcome

NAN = float("nan")
FIRST, OTHER = np.arange(6.0), np.arange(6.0)
OTHER[3] = -3.0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (NAN, -NAN * 0.0, True),
        (0.0, -0.0, False),
        (complex(0.0, 0.0), complex(0.0, -0.0), False),
        (True, 1, False),
        (1, 1.0, False),
        (0.1 + 0.2, 0.3, False),
        ([1, 2], [1, 2], True),
        ([0.0], [-0.0], False),
        (FIRST, FIRST[::1].copy(), True),
        (FIRST[::2], FIRST[::2].copy(), True),
        (FIRST, OTHER, False),
        (FIRST, FIRST.reshape(2, 3), False),
        (FIRST, FIRST.view(np.int64), False),
        (np.array([NAN]), np.array([NAN]), True),
    ],
)
def test_outcomes_are_equal_where_python_cannot_tell_values_apart(one: Any, other: Any, same: bool) -> None:
    assert (outcome(one) == outcome(other)) is same
    assert len({outcome(one), outcome(other)}) == (1 if same else 2)


def test_a_truth_value_is_its_own_outcome_and_an_array_may_be_written_to() -> None:
    assert outcome(True) is True and outcome(False) is False
    array = np.arange(3)
    before = outcome(array)
    array[0] = 7
    assert before == outcome(np.arange(3)) != outcome(array)


def test_a_program_is_not_run_for_a_zero_of_the_other_sign() -> None:
    def sign_added(x: Any) -> Any:
        return x + math.copysign(1.0, float(x[0]))

    static = to_static(sign_added)
    for zero in (0.0, 0.0, -0.0, 0.0, -0.0):
        assert static(paddle.to_tensor([zero])).item() == math.copysign(1.0, zero)
    assert len(static.programs) == 2
    scaled = to_static(lambda x, by: x * math.copysign(1.0, by))
    for by in (0.0, 0.0, -0.0, -0.0):
        assert scaled(paddle.to_tensor([2.0]), by).item() == math.copysign(2.0, by)


def test_nan_is_one_outcome() -> None:
    static = to_static(lambda x: x * (1.0 if math.isnan(float(x.max())) else 2.0))
    for _ in range(12):
        static(paddle.to_tensor([NAN, 1.0]))
    assert len(static.programs) == 1
