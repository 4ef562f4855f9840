"""Which rows an expert takes."""

from typing import Any

import numpy as np
import pytest
import torch

from sampan.distributed.moe.routing import check_group, counts_of, limited, places_by_expert
from tests.distributed.moe import programs


def by_hand(choice: np.ndarray, experts: int, capacity: int) -> np.ndarray:
    left, taken = choice.copy(), [0] * experts
    for at in np.ndindex(choice.shape):
        number = choice[at]
        if number >= 0:
            taken[number] += 1
            if taken[number] > capacity:
                left[at] = -1
    return left


@pytest.mark.parametrize("capacity", [0, 1, 3, 100])
def test_the_first_rows_are_taken(capacity: int) -> None:
    choice = np.random.RandomState(0).randint(-1, 5, (20, 2))
    found = limited(torch.from_numpy(choice), 5, capacity, None).numpy()
    assert np.array_equal(found, by_hand(choice, 5, capacity))


def test_rows_lie_by_expert() -> None:
    choice = torch.tensor([[1, -1], [0, 1], [-1, 2]])
    assert places_by_expert(choice).tolist() == [2, 0, 3, 5]
    sent, coming = counts_of(choice, 4, None)
    assert sent.tolist() == coming.tolist() == [1, 2, 1, 0]
    with pytest.raises(AssertionError, match="gate: group: expected 2 processes, got 1"):
        check_group("gate", 2, None)


@pytest.mark.servers
def test_an_expert_takes_the_rows_of_the_first_process_first(workers: Any) -> None:
    choices = [[[0], [0], [2], [1]], [[0], [0], [2], [3]]]
    first, second = workers(2)(programs.routed, choices, 3)
    assert first == ([[0], [0], [2], [1]], [[2, 1, 1, 0], [2, 1, 1, 0]])
    assert second == ([[0], [-1], [2], [3]], [[1, 0, 1, 1], [1, 0, 1, 1]])
