"""Rows that travel to experts on other processes, and back."""

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.utils import moe_utils
from sampan.engine.errors import InvalidArgument
from tests.distributed.fleet import hybrid_util_programs as programs


@pytest.mark.servers
@pytest.mark.parametrize("counts", [[[2, 0, 1, 1], [1, 1, 0, 3]], [[0, 0, 2, 0], [0, 0, 0, 0]]])
def test_two_processes_with_two_experts(workers, counts):
    each = workers(2)(programs.experts, counts)
    rows = {}  # of (process, expert there): by the process that sent them
    for rank, (x, _, _, _) in enumerate(each):
        ends = np.cumsum([0, *counts[rank]])
        for at in range(4):
            rows.setdefault((at // 2, at % 2), []).extend(x[ends[at] : ends[at + 1]])
    for rank, (x, there, back, gradient) in enumerate(each):
        assert there == rows[rank, 0] + rows[rank, 1]
        assert back == x
        # each row was multiplied by the number of its new process + 1
        expected = [[1.0, 1.0]] * sum(counts[rank][:2]) + [[2.0, 2.0]] * sum(counts[rank][2:])
        assert gradient == expected


def test_one_process_sorts_by_expert(ready):
    x, counts = paddle.to_tensor([[1.0], [2.0], [3.0]]), paddle.to_tensor([1, 2], "int64")
    assert moe_utils.global_scatter(x, counts, counts).tolist() == [[1], [2], [3]]
    assert moe_utils.global_gather(x, counts, counts).tolist() == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("rows", "local", "received", "text"),
    [
        (2, [1, 2], [1, 2], "global_scatter: x: expected the 3 rows that local_count adds up to"),
        (3, [4, -1], [1, 2], "global_scatter: local_count: expected no negative counts"),
        (3, [1, 2], [3], "global_scatter: global_count: expected as many counts as local_count, 2, got 1"),
    ],
)
def test_errors(ready, rows, local, received, text):
    counts = [paddle.to_tensor(c, "int64") for c in (local, received)]
    with pytest.raises(InvalidArgument, match=text):
        moe_utils.global_scatter(paddle.ones([rows, 1]), *counts)
    with pytest.raises(InvalidArgument, match="local_count: expected int64 counts"):
        moe_utils.global_scatter(paddle.ones([2]), paddle.to_tensor([2], "int32"), counts[1])
