"""Made shapes: every kind and part, and the same again by the seed."""

import numpy as np
import pytest

from sampan.datasets.point_clouds import (
    KINDS,
    PARTS,
    Shapes,
    made_shapes,
)


def test_made_shapes_have_every_kind_and_part_and_a_seed_makes_them_again():
    shapes = made_shapes(24, seed=4)
    assert (
        isinstance(shapes, Shapes) and shapes.grids.shape == (24, 32, 32, 32) and shapes.grids.dtype == bool
    )
    np.testing.assert_array_equal(np.bincount(shapes.labels), [6] * len(KINDS))
    assert [len(p) for p in shapes.parts] == shapes.grids.sum((1, 2, 3)).tolist()
    belongs = {"chair": {"seat", "back", "arm", "leg", "foot"}, "table": {"top", "leg", "foot"}}
    belongs |= {"lamp": {"foot", "pole", "shade"}, "monitor": {"foot", "pole", "screen"}}
    for kind, names in belongs.items():
        found = np.concatenate(
            [p for p, k in zip(shapes.parts, shapes.labels, strict=True) if KINDS[k] == kind]
        )
        assert {PARTS[p] for p in found} == names
    assert 0.005 < shapes.grids.mean() < 0.1  # sparse, as real shapes are
    again, other, more = made_shapes(24, seed=4), made_shapes(24, seed=5), made_shapes(28, seed=4)
    np.testing.assert_array_equal(again.grids, shapes.grids)
    np.testing.assert_array_equal(np.concatenate(again.parts), np.concatenate(shapes.parts))
    assert (other.grids != shapes.grids).any((1, 2, 3)).all()
    np.testing.assert_array_equal(more.grids[:24], shapes.grids)
    assert made_shapes(0).grids.shape == (0, 32, 32, 32)
    with pytest.raises(ValueError, match="8 or more, got 4 and 7"):
        made_shapes(4, size=7)


def test_a_seat_lies_below_its_back_and_above_its_legs():
    for grid, parts in zip(*made_shapes(16, seed=6)[::2], strict=True):
        height = {PARTS[p]: np.nonzero(grid)[2][parts == p].mean() for p in np.unique(parts)}
        order = [height[n] for n in ("foot", "leg", "pole", "seat", "back", "shade", "top") if n in height]
        assert order == sorted(order) or ("pole" in height and height["foot"] < height["pole"])
