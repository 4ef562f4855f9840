"""Rows that all processes have, of which each takes a part."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed.moe.shared import rows_of_all, rows_of_this
from tests.distributed.moe import programs

pytestmark = pytest.mark.servers


def taken() -> Any:
    group = programs.group_of_all()
    x = paddle.to_tensor(np.arange(8.0).reshape(4, 2), stop_gradient=False)
    part = rows_of_this(x, group)
    whole = rows_of_all(part * (dist.get_rank() + 1), group)
    (whole * whole).sum().backward()
    with pytest.raises(ValueError, match="expected rows that 2 processes of mp_group can divide, got 3"):
        rows_of_this(x[:3], group)
    return part.tolist(), whole.tolist(), x.grad.tolist()


def test_parts_and_their_derivatives(workers: Any) -> None:
    x = np.arange(8.0).reshape(4, 2)
    factor = np.array([1.0, 1, 2, 2])[:, None]
    for rank, (part, whole, gradient) in enumerate(workers(2)(taken)):
        assert np.array_equal(part, x[2 * rank : 2 * rank + 2])
        assert np.array_equal(whole, factor * x)
        assert np.array_equal(gradient, 2 * factor**2 * x)
