"""Points and batches on a grid of voxels."""

import numpy as np
import pytest

from sampan.datasets.point_clouds import (
    made_shapes,
    points_to_sparse,
    to_sparse,
    turned,
    voxelised,
)


def test_a_sparse_batch_is_the_grid():
    grids = made_shapes(3, size=16, seed=1).grids
    x = to_sparse(grids)
    assert x.shape == [3, 16, 16, 16, 4] and x.is_coalesced() and x.nnz() == grids.sum()
    dense = x.to_dense().numpy()
    np.testing.assert_array_equal(dense[..., 0], grids)
    at = np.stack(np.nonzero(grids)[1:], 1)
    np.testing.assert_allclose(dense[..., 1:][grids], at * 2 / 15 - 1, atol=1e-6)
    with pytest.raises(ValueError, match=r"expected bool \[batch, D, H, W\], got float64 \[2\]"):
        to_sparse(np.zeros(2))


def test_a_turn_keeps_each_voxel_and_its_part():
    shapes = made_shapes(6, size=16, seed=2)
    seen = set()
    for seed in range(12):
        for i, (grid, parts) in enumerate(
            zip(*turned(shapes, np.random.default_rng(seed))[::2], strict=True)
        ):
            levels = np.nonzero(grid)[2]
            before = np.nonzero(shapes.grids[i])[2]
            # z stays: each level has as many voxels of each part as before.
            pairs = (np.stack([levels, parts]), np.stack([before, shapes.parts[i]]))
            assert all(map(np.array_equal, *(np.unique(p, axis=1, return_counts=True) for p in pairs)))
            seen.add((i, grid.tobytes()))
    chair = [g for i, g in seen if i == 0]
    assert len(chair) > 4  # quarters and mirror images


def test_points_become_voxels_at_any_resolution():
    rng = np.random.default_rng(0)
    clouds = [rng.standard_normal((500, 3)) * (1, 2, 3) + 7, rng.random((40, 3)) * 1e-3]
    for size in (8, 64):
        x = points_to_sparse(clouds, size)
        for i, points in enumerate(clouds):
            grid = voxelised(points, size)
            np.testing.assert_array_equal(x.to_dense().numpy()[i, ..., 0], grid)
            spans = [np.ptp(axis) + 1 for axis in np.nonzero(grid)]
            assert 0.9 * size <= max(spans) <= size and 0 < grid.sum() <= len(points)
    assert points_to_sparse(clouds, 4096).shape == [2, 4096, 4096, 4096, 4]  # densely 1 TiB
    for bad in (np.zeros((0, 3)), np.zeros((4, 2)), np.full((2, 3), np.nan)):
        with pytest.raises(ValueError, match="points: expected finite numbers"):
            voxelised(bad)
