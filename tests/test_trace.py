"""What trace records: bytes and flops counted by hand, kernels, source lines, backward records."""

from __future__ import annotations

import inspect
import threading

import pytest

import sampan as paddle
from sampan.trace import Record, trace

F = paddle.nn.functional


def leaf(*shape: int):
    x = paddle.ones(list(shape))
    x.stop_gradient = False
    return x


def traced(function) -> list[Record]:
    with trace() as seen:
        result = function()
    forward = len(seen)
    with seen:
        result.backward()
    assert not any(r.backward for r in seen.records[:forward])
    assert all(r.backward for r in seen.records[forward:])
    return seen.records


def only(records: list[Record], operator: str, backward: bool = False) -> Record:
    (found,) = [r for r in records if r.operator == operator and r.backward is backward]
    return found


N, K, M = 3, 4, 5


@pytest.mark.parametrize(
    ("call", "operator", "batch"),
    [
        (lambda: leaf(N, K) @ leaf(K, M), "mm", 1),
        (lambda: leaf(7, N, K) @ leaf(K, M), "batched_matmul", 7),
        (lambda: paddle.matmul(leaf(K, N), leaf(K, M), transpose_x=True), "batched_matmul", 1),
        (lambda: paddle.matmul(leaf(N, K), leaf(M, K), transpose_y=True), "batched_matmul", 1),
        (lambda: paddle.matmul(leaf(2, K, N), leaf(2, M, K), True, True), "batched_matmul", 2),
        (lambda: F.linear(leaf(N, K), leaf(K, M), leaf(M)), "affine", 1),
    ],
)
def test_products(call, operator: str, batch: int) -> None:
    records = traced(call)
    forward, back = only(records, operator), only(records, operator, True)
    each = 2 * batch * N * K * M
    assert forward.flops == each
    bias = batch * N * M if operator == "affine" else 0
    assert back.flops == 2 * each + bias  # one product for each side
    assert forward.kernel == back.kernel == "torch" and back.sequence > 0 == forward.sequence


def test_bytes_of_a_product() -> None:
    records = traced(lambda: leaf(N, K) @ leaf(K, M))
    inside = 4 * (N * K + K * M + N * M)
    assert only(records, "mm").bytes == inside
    assert only(records, "mm", True).bytes == inside + 4 * (
        N * K + K * M
    )  # reads g, x, y; writes two gradients
    assert only(records, "mm").inputs == ((N, K), (K, M)) and only(records, "mm").output == (N, M)
    assert only(records, "mm").dtype == "float32"


def test_a_gradient_that_is_not_asked_for_costs_nothing() -> None:
    frozen = paddle.ones([K, M])
    back = only(traced(lambda: leaf(N, K) @ frozen), "mm", True)
    assert back.flops == 2 * N * K * M and back.bytes == 4 * (N * M + K * M + N * K)


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(groups: int) -> None:
    weight, bias = leaf(6, 4 // groups, 3, 2), leaf(6)
    records = traced(lambda: F.conv2d(leaf(2, 4, 7, 6), weight, bias, groups=groups))
    out = 2 * 6 * 5 * 5
    each = (
        2 * out * (4 // groups) * 3 * 2
    )  # a multiplication and an addition for each weight under the window
    assert only(records, "convolve").flops == each
    assert only(records, "convolve", True).flops == 2 * each + out
    assert only(records, "convolve").bytes == 4 * (2 * 4 * 7 * 6 + weight.size + 6 + out)
    weight.stop_gradient = bias.stop_gradient = True
    records = traced(lambda: F.conv2d(leaf(2, 4, 7, 6), weight, bias, groups=groups))
    assert only(records, "convolve", True).flops == each


def test_elementwise_and_views() -> None:
    x = leaf(10, 10)
    records = traced(lambda: (x * x).exp().reshape([100])[5:].sum())
    assert [r.operator for r in records if not r.backward] == ["multiply", "exp", "reshape", "getitem", "sum"]
    assert only(records, "multiply").flops == only(records, "exp").flops == 100
    assert only(records, "multiply").bytes == 4 * (100 + 100)  # x is read once
    assert only(records, "reshape").bytes == only(records, "reshape").flops == 0
    assert only(records, "getitem").bytes == 0
    assert only(records, "sum").flops == 95 and only(records, "sum").bytes == 4 * 96
    assert only(records, "multiply", True).flops == 200  # two gradients
    assert only(records, "exp", True).bytes == 4 * 300  # g and the kept result, and what is made
    assert [r.operator for r in records if r.backward] == ["sum", "getitem", "reshape", "exp", "multiply"]


def test_sums_and_the_table() -> None:
    with trace() as seen:
        _ = leaf(N, K) @ leaf(K, M)
        _ = paddle.ones([4]) + 1.0
    assert len(seen) == len(list(seen)) == 2 and seen.flops == 2 * N * K * M + 4
    assert seen.bytes == sum(r.bytes for r in seen) > 0
    lines = seen.table().splitlines()
    assert (
        len(lines) == 4
        and lines[1].startswith("mm")
        and "3x4 4x5" in lines[1]
        and lines[3].startswith("2 calls")
    )
    assert all(0 <= r.seconds < 10 for r in seen)


def test_the_line_is_the_callers() -> None:
    with trace() as seen:
        x = leaf(2)
        here = inspect.currentframe().f_lineno + 1
        y = x * 2.0
        z = F.softmax(y).sum()
        z.backward()
    assert seen.records[0].line == f"test_trace.py:{here}"
    assert {r.line for r in seen.records[1:3]} == {f"test_trace.py:{here + 1}"}
    assert {r.line for r in seen.records[3:]} == {f"test_trace.py:{here + 2}"}


def test_nothing_is_seen_outside_and_errors_leave_it_tidy() -> None:
    from sampan import kernels
    from sampan.engine.apply import observers

    before = len(observers), len(kernels.listeners)
    with pytest.raises(ValueError, match="add"), trace() as seen:
        _ = paddle.ones([2]) + paddle.ones([3])
    assert (len(observers), len(kernels.listeners)) == before and len(seen) == 0
    _ = paddle.ones([2]) + 1.0
    assert len(seen) == 0
    with seen:
        _ = paddle.ones([2]) + 1.0
    assert len(seen) == 1


def test_of_two_traces_the_inner_one_sees() -> None:
    with trace() as outer:
        _ = paddle.ones([2]) + 1.0
        with trace() as inner:
            _ = paddle.ones([2]) * 2.0
        _ = paddle.ones([2]) - 1.0
    assert [r.operator for r in outer] == ["add", "subtract"] and [r.operator for r in inner] == ["multiply"]


def test_results_are_the_same_under_a_trace() -> None:
    def gradients() -> list:
        x = paddle.linspace(0.1, 1.0, 12).reshape([3, 4])
        x.stop_gradient = False
        y = F.layer_norm(F.softmax(x @ x.T), 3)[::-1, [0, 2]].pow(2).sum()
        (g,) = paddle.grad(y, x, create_graph=True)
        (h,) = paddle.grad((g * g).sum(), x)
        return [y.tolist(), g.tolist(), h.tolist()]

    plain = gradients()
    with trace() as seen:
        assert gradients() == plain
    assert len(seen) > 10


def test_a_thread_misses_no_call_when_observers_of_another_thread_leave() -> None:
    """They leave while this thread looks for its own observer."""
    from sampan.engine.apply import observed_by, observers

    here, leave, other = threading.Event(), threading.Event(), []

    def come_and_leave() -> None:
        with trace() as seen, observed_by(object()):
            other.extend((seen, threading.get_ident()))
            here.set()
            leave.wait()

    class MakesThemLeave:
        def __getattr__(self, part: str) -> None:
            if part == "forward":
                leave.set()
                thread.join()
            raise AttributeError(part)

    thread = threading.Thread(target=come_and_leave)
    thread.start()
    here.wait()
    with trace() as seen, observed_by(MakesThemLeave()):
        assert list(observers) == [other[1], threading.get_ident()]
        paddle.exp(paddle.ones([1]))
        assert list(observers) == [threading.get_ident()]
    assert [r.operator for r in seen] == ["exp"]
    assert not other[0].records and not observers
