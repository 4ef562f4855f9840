"""Clipping with experts on several processes."""

from typing import Any

import numpy as np
import pytest

from sampan.distributed.moe import ClipGradForMOEByGlobalNorm
from tests.distributed.moe import programs


@pytest.mark.servers
@pytest.mark.parametrize("norm", [1.0, 100.0])
def test_the_norm_has_the_experts_of_all(workers: Any, norm: float) -> None:
    """Shared (3, 0), experts (0, 4) and (0, 5)."""
    factor = min(1.0, norm / np.sqrt(9 + 16 + 25))
    for rank, (stepped, called) in enumerate(workers(2)(programs.clipped, norm)):
        for found in (stepped, called):
            assert np.allclose(found, [[3 * factor, 0], [0, (4 + rank) * factor]], rtol=1e-6)


def test_one_process(ready: Any) -> None:
    stepped, _ = programs.clipped(1.0)
    assert np.allclose(stepped, [[0.6, 0], [0, 0.8]], rtol=1e-6)
    assert str(ClipGradForMOEByGlobalNorm(2.0)) == "Gradient Clip By GlobalNorm, global_norm=2.000000"


@pytest.mark.servers
def test_several_processes_need_to_know_the_experts(workers: Any) -> None:
    for outcome in workers(2).outcomes(without_function):
        assert isinstance(outcome, AssertionError) and "a function for selecting expert params" in str(
            outcome
        )


def without_function() -> None:
    ClipGradForMOEByGlobalNorm(1.0, None, programs.group_of_all())
