"""What a Recorder sees of a run."""

from typing import Any

import numpy as np
import torch

import sampan as paddle
from sampan.jit.program import Ref
from sampan.jit.record import Outside, Recorder, recording


def recorded(function: Any, *tensors: Any) -> Recorder:
    recorder = Recorder(list(tensors), Outside(), {})
    with recorder.watching():
        assert recording()
        function(*tensors)
    assert not recording()
    return recorder


def test_operators_and_functions_of_torch_are_calls_in_order() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        mask = y.data > 1  # outside any operator
        return paddle.where(paddle.Tensor(mask), y, paddle.zeros([x.shape[0], 2]))

    names = [call.name for call in recorded(function, paddle.ones([3, 2])).program.calls]
    assert names[:2] == ["multiply", "gt"] and names[-1] == "select" and len(names) == 4


def test_what_is_from_outside() -> None:
    weight, constant = paddle.ones([2]), torch.ones(2)
    recorder = recorded(lambda x: paddle.Tensor((x * weight).data + constant), paddle.ones([2]))
    assert recorder.outside.tensors == [weight] and recorder.outside.buffers[0] is constant
    first, second = recorder.program.calls
    assert first.args == (Ref("x", 0), Ref("p", 0)) and Ref("k", 0) in second.args


def test_writes_and_random_numbers_are_marked() -> None:
    def function(x: Any) -> Any:
        x.add_(paddle.ones([2]))
        return x + paddle.rand([2])

    calls = recorded(function, paddle.ones([2])).program.calls
    assert [c.writes for c in calls if c.writes] == [(Ref("x", 0),)]
    assert [c.random for c in calls].count(True) == 1


def test_values_that_leave_are_guards_with_their_line() -> None:
    def function(x: Any) -> Any:
        return bool(x.sum() > 0), float(x.max()), int(x.argmax()), x.tolist(), x.numpy(), x.item(1), len(x)

    guards = recorded(function, paddle.to_tensor([1.0, 3.0])).program.guards
    assert [g.outcome for g in guards[:3]] == [True, "3.0", "1"] and len(guards) == 6
    assert all(g.line.startswith("test_record.py:") for g in guards)


def test_metadata_are_no_guards() -> None:
    def function(x: Any) -> Any:
        return x.shape, x.dtype, x.ndim, x.size, x.is_contiguous(), x.strides, x.data.is_floating_point()

    assert recorded(function, paddle.ones([2])).program.steps == []


def test_random_numbers_of_numpy_and_python_are_refused() -> None:
    assert "random numbers" in recorded(lambda: np.random.rand()).refused[0]
    assert recorded(lambda: None).refused == []


def test_a_call_that_fails_is_no_call() -> None:
    def function(x: Any) -> Any:
        try:
            x.reshape([7])
        except ValueError:
            return x + 1

    assert [c.name for c in recorded(function, paddle.ones([2])).program.calls] == ["add"]


def test_other_threads_are_not_seen() -> None:
    from threading import Thread

    def function(x: Any) -> Any:
        thread = Thread(target=lambda: paddle.ones([2]) * 3)
        thread.start()
        thread.join()
        return x + 1

    assert [c.name for c in recorded(function, paddle.ones([2])).program.calls] == ["add"]
