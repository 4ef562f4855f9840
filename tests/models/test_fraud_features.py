"""A neighbourhood small enough to count by hand; many drawn ones are in test_fraud.py."""

import math

import numpy as np
import pytest

from sampan.models.fraud_features import GROUPS, Neighbourhood, Side, columns, features


def side(*edges):
    """(other, rating, hours ago, number, worth) each."""
    others, ratings, ago, numbers, worth = np.array(edges).reshape(-1, 5).T
    return Side(1e9, others.astype(int), ratings, 1e9 - 3600 * ago, numbers.astype(int), worth)


def seen():
    given, returned = side((7, 0.5, 9, 0, 0.25)), side((2, -1.0, 3, 1, 0.5))
    received, passed = side((7, -0.4, 2, 2, 1.0), (8, 0.2, 1, 3, 0.5)), side((1, -1.0, 3, 1, 0.0))
    return Neighbourhood(1, 2, 1e9, given, returned, received, passed)


def test_a_case_counted_by_hand():
    found = dict(zip(columns(), features(seen()), strict=True))
    assert found["rating in return"] == -1 and found["rating in return is negative"] == 1
    assert found["time since rating in return"] == pytest.approx(math.log(4))
    assert found["those whom the giver rated, of the receiver"] == pytest.approx(0.5 * -0.4 / 0.6)
    assert found["giver's fairness"] == pytest.approx(1 - 0.25 / 2)
    assert found["receiver's goodness"] == pytest.approx((-0.4 + 0.1) / 2)
    assert found["receiver's received: share negative"] == pytest.approx(1.1 / 3)


def test_without_an_edge():
    whole = seen()
    less = whole.without(1)
    assert less.returned.edges.size == 0 == less.passed.edges.size and less.received is whole.received
    assert dict(zip(columns(), features(less), strict=True))["rating in return"] == 0


def test_each_group_has_as_many_numbers_as_names():
    for group, names in GROUPS.items():
        assert len(features(seen(), (group,))) == len(names)
