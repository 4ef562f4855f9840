"""Marks by the names of axes."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.auto_parallel import process_mesh
from sampan.distributed.fleet import auto
from sampan.engine.errors import InvalidArgument, InvalidType
from tests.distributed.auto_parallel import engine_programs as programs


@pytest.mark.servers
def test_how_tensors_lie(workers: Any) -> None:
    x = np.arange(24, dtype="float32").reshape(4, 6)
    for lies, total, gradient, names in workers(2)(programs.marks):
        whole = "[Replicate()]"
        assert lies[:5] == ["[Shard(dim=1)]", whole, whole, "[Shard(dim=0)]", "[Shard(dim=1)]"]
        assert lies[5] == "[Shard(dim=1), Replicate()]" and names == ["dp", "mp"]
        assert np.array_equal(total, x + 1) and np.array_equal(gradient, 2 * (x + 1))


def test_what_they_refuse(ready: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_mesh, "_global", [None])
    x, mesh = paddle.ones([4, 6]), auto.ProcessMesh([0], ["x"])
    with pytest.raises(AssertionError, match="Specify the process mesh argument"):
        auto.shard_tensor(x)
    with pytest.raises(InvalidType, match="process_mesh: expected a ProcessMesh, got int"):
        auto.shard_tensor(x, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"shard_spec: expected 2 entries for 2 axes, got \['x'\]"):
        auto.shard_tensor(x, mesh, ["x"])
    with pytest.raises(ValueError, match="Invalid shard_spec at index 1: 'q' is not a valid dimension name"):
        auto.shard_tensor(x, mesh, ["x", "q"])
    with pytest.raises(InvalidArgument, match="shard_spec: expected each name once"):
        auto.shard_tensor(x, mesh, ["x", "x"])
    with pytest.raises(InvalidType, match="shard_spec: expected a list, got 'xx'"):
        auto.shard_tensor(x, mesh, "xx")
    with pytest.raises(InvalidArgument, match="shard_op: in_shard_specs: expected 1 of them, got 2"):
        auto.shard_op(paddle.exp, mesh, [None, None])(x)


def test_what_is_computed_again() -> None:
    x = paddle.ones([2])
    x.stop_gradient = False
    auto.recompute(paddle.exp)(x).sum().backward()
    assert x.grad is not None and np.allclose(x.grad.numpy(), np.e)
    assert auto.exclude_ops_in_recompute(paddle.exp) is paddle.exp
