"""Figures over the data of all workers."""

import math

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed import fleet
from sampan.engine.errors import InvalidArgument, InvalidType
from tests.distributed.fleet import hybrid_util_programs as programs

POSITIVE, NEGATIVE = np.array([[1, 0, 3, 5, 2.0]]), np.array([[4, 2, 2, 1, 0.0]])


def test_values_of_paddle():
    found = fleet.metrics.auc(POSITIVE, NEGATIVE)
    assert found == pytest.approx(0.8434343434343434, rel=1e-15)  # PaddlePaddle 3.3.1
    assert fleet.metrics.auc(POSITIVE * 0, NEGATIVE) == 0.5
    assert fleet.metrics.mae(np.array([3.0]), np.array([8.0])) == 0.375
    assert fleet.metrics.mse(np.array([3.0]), np.array([8.0])) == 0.375
    assert fleet.metrics.rmse(np.array([3.0]), np.array([8.0])) == math.sqrt(0.375)
    assert fleet.metrics.acc(paddle.to_tensor([3]), paddle.to_tensor([8])) == 0.375


def test_auc_is_the_share_of_pairs_in_order():
    scores = np.repeat(np.arange(5), POSITIVE[0].astype(int))[:, None]
    others = np.repeat(np.arange(5), NEGATIVE[0].astype(int))[None]
    share = ((scores > others) + 0.5 * (scores == others)).mean()
    assert fleet.metrics.auc(POSITIVE, NEGATIVE) == pytest.approx(share, rel=1e-15)


@pytest.mark.servers
def test_two_workers(workers):
    each = workers(2)(programs.metrics)
    assert each[0] == each[1]
    found = each[0]
    assert found["sum"] == [[1, 2], [3, 4]]  # of zeros and this
    assert found["max"] == [1, 2]  # of [0, 2] and [1, 1]
    assert found["min"] == [0, 1]
    assert found["acc"] == (3 + 5) / (4 + 8)
    assert found["rmse"] == math.sqrt(3 / 8)
    both = POSITIVE + POSITIVE[:, ::-1], NEGATIVE + NEGATIVE[:, ::-1]
    assert found["auc"] == fleet.metrics.auc(*both)


def test_names_of_variables():
    class Scope:
        def find_var(self, name):
            return Variable() if name == "correct" else None

    class Variable:
        def get_tensor(self):
            return np.array([[3, 4]])

    assert fleet.metrics.sum("correct", Scope()).tolist() == [[3, 4]]
    with pytest.raises(InvalidArgument, match=r"fleet.metrics.sum: input: the scope has no variable 'wrong'"):
        fleet.metrics.sum("wrong", Scope())


def test_errors():
    with pytest.raises(
        InvalidType, match=r"fleet.metrics.max: input: expected an array, a Tensor or the name"
    ):
        fleet.metrics.max(None)
    with pytest.raises(InvalidArgument, match=r"fleet.metrics.auc: stat_pos: expected counts \[1, buckets\]"):
        fleet.metrics.auc(POSITIVE[0], NEGATIVE[0])
    with pytest.raises(InvalidArgument, match=r"fleet.metrics.acc: correct: expected at least one element"):
        fleet.metrics.acc(np.zeros(0), np.ones(1))
    with pytest.raises(ZeroDivisionError, match=r"fleet.metrics.mae: total_ins_num: the workers have no"):
        fleet.metrics.mae(np.ones(1), np.zeros(1))
