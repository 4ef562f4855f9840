"""How parameters are cut."""

import pytest
import torch

from sampan.distributed.sharding.parts import Cut
from sampan.row_sparse import RowGradient


@pytest.mark.parametrize(
    ("shape", "count", "by_rows"),
    [
        ([4, 3], 2, True),
        ([33, 2, 2], 2, True),
        ([5, 3], 2, False),
        ([1], 2, False),
        ([], 3, False),
        ([0, 4], 2, False),
        ([1, 7], 4, False),
    ],
)
def test_parts_cover_a_parameter(shape, count, by_rows):
    buffer = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).view(shape)
    cut = Cut(shape, count)
    parts = [cut.of(buffer, rank) for rank in range(count)]
    assert cut.by_rows is by_rows
    assert torch.cat([part.reshape(-1) for part in parts]).tolist() == buffer.reshape(-1).tolist()
    assert max(part.numel() for part in parts) == cut.length()
    assert all(part.numel() == 0 or part.data_ptr() >= buffer.data_ptr() for part in parts)
    for part in parts:
        part += 1
    assert buffer.sum() == sum(range(buffer.numel() + 1))  # parts are views


@pytest.mark.parametrize("shape", [[40, 3], [7, 3]])
def test_parts_of_rows(shape):
    ids, rows = torch.tensor([6, 1, 6, 2]), torch.arange(12.0).view(4, 3)
    gradient = RowGradient([(ids, rows, None, None)], torch.Size(shape))
    cut = Cut(shape, 2)
    for rank in range(2):
        part = cut.rows_of(gradient, rank)
        dense = part.dense() if isinstance(part, RowGradient) else part
        assert dense.tolist() == cut.of(gradient.dense(), rank).tolist()
