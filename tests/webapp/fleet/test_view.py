"""What the page shows of the files of workers."""

from __future__ import annotations

import numpy as np

from sampan.distributed.elastic.report import RECORD
from studio.fleet import view


def records(*lives: tuple[float, int, int, float]) -> np.ndarray:
    """(when the process started, first step, step after the last, time of the first): a step each second."""
    rows = [
        (started, step, 100.0 / (step + 1), begins + step - first)
        for started, first, after, begins in lives
        for step in range(first, after)
    ]
    return np.array(rows, RECORD)


def test_where_a_run_went_on_and_how_many_steps_it_computed_again() -> None:
    assert view.restarts(records((1, 0, 20, 0))) == []
    killed = records((1, 0, 20, 100), (2, 16, 30, 122), (3, 30, 33, 140))
    assert view.restarts(killed) == [
        {"at": 20, "again": 4, "seconds": 3.0, "time": 122.0},
        {"at": 30, "again": 0, "seconds": 5.0, "time": 140.0},
    ]
    assert view.restarts(records()) == []


def test_the_curve_is_the_mean_of_the_workers_and_of_neighbouring_steps() -> None:
    assert view.curve([]) == []
    one, other = records((1, 0, 4, 0)), records((1, 0, 4, 0))
    other["loss"] = [0, 0, 0, np.nan]  # a loss that is no number is left out
    assert view.curve([one, other]) == [(1, 50.0), (2, 25.0), (3, 16.667), (4, 25.0)]
    halves = view.curve([records((1, 0, 1000, 0))], points=10)
    assert len(halves) == 10
    assert halves[0] == (50.5, float(f"{np.mean(100 / np.arange(1, 101)):.5g}"))


def test_steps_that_were_computed_again_take_the_place_of_those_before() -> None:
    killed = records((1, 0, 20, 100), (2, 16, 24, 122))
    killed["loss"][16:20] = 999.0
    points = view.curve([killed])
    assert [x for x, _ in points] == list(range(1, 25))
    assert max(y for _, y in points) == 100
