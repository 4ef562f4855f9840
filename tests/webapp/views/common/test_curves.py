"""A curve that stays short, whatever is drawn into it."""

from __future__ import annotations

import numpy as np
import pytest

from studio.views.common.curves import Curve


def test_a_curve_stays_short_and_keeps_its_mean() -> None:
    curve = Curve(capacity=40)
    y = np.random.default_rng(0).random(10_007)
    for i, value in enumerate(y):
        curve.add(i / 100, float(value))
    x, means = curve.points()
    assert 20 <= len(means) <= 40 and len(curve) == len(means)
    assert x == sorted(x) and x[-1] > 99
    full = len(y) // curve.width * curve.width  # the last mean covers fewer points
    assert np.mean(means[: full // curve.width]) == pytest.approx(y[:full].mean())


def test_a_curve_shows_few_points_as_they_are_and_leaves_out_what_is_no_number() -> None:
    curve = Curve(capacity=8)
    for x, y in [(0, 1.0), (1, float("nan")), (2, 0.5), (3, float("inf"))]:
        curve.add(x, y)
    assert curve.points() == ([0, 2], [1.0, 0.5])
