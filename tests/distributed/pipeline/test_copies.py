"""Gradients of several pipelines."""

import pytest

from tests.distributed.pipeline import programs

pytestmark = pytest.mark.servers


def test_gradients_are_means_whatever_their_kind(workers):
    for kinds, values in workers(2)(programs.means):
        assert kinds[0] == "RowSparse"
        assert kinds[4] == "NoneType"
        rows, mixed, doubles, missing, none = values
        assert rows == [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
        assert mixed == [[2.0, 2.0], [2.5, 2.5], [2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
        assert (doubles, missing, none) == ([1.5] * 3, [3.0] * 3, None)
