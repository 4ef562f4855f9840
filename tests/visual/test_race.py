"""A race of optimizers: its paths, and who leaves the picture."""

import numpy as np
import pytest

from sampan import visual


def bowl(x, y):
    return x**2 + 10 * y**2


def test_a_race_ends_where_its_paths_end():
    slow, fast = np.linspace((2, 1), (1, 0.5), 100), np.linspace((2, 1), (0, 0), 30)
    figure = visual.loss_surface_race(bowl, {"slow": slow, "fast": fast}, (-3, 3), (-2, 2))
    assert 2 <= len(figure.frames) <= 60
    one, other = figure.frames[-1].data
    assert (one.x[-1], one.y[-1]) == (1, 0.5) and len(one.x) == 100 and one.name == "slow: 3.5"
    assert (other.x[-1], other.y[-1]) == (0, 0) and other.name == "fast: 0"
    first, _ = figure.frames[0].data
    assert list(first.x) == [2]
    hill = figure.data[0]
    row, column = np.unravel_index(np.argmin(hill.z), hill.z.shape)
    assert abs(hill.x[column]) < 0.1 and abs(hill.y[row]) < 0.1


def test_a_runner_that_leaves_the_picture_is_gone():
    away = np.array([[2.0, 1.0], [1.0, 0.0], [np.nan, 0.0], [0.0, 0.0]])
    last = visual.loss_surface_race(bowl, {"wild": away}, (-3, 3), (-2, 2)).frames[-1].data[0]
    assert last.name == "wild: gone" and list(last.x) == [2, 1]


@pytest.mark.parametrize("paths", [{}, {"a": np.zeros(3)}, {"a": np.zeros((3, 3))}, {"a": np.zeros((0, 2))}])
def test_a_race_without_runners(paths):
    with pytest.raises(ValueError, match="loss_surface_race"):
        visual.loss_surface_race(bowl, paths, (-1, 1), (-1, 1))
