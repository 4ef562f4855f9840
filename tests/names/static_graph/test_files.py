"""Programs in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static


def test_a_program_is_saved_loaded_and_run_by_jit_too(tmp_path: Path) -> None:
    main = static.Program()
    with static.program_guard(main):
        other: Any = static.data("other", [None, 2])
        x: Any = static.data("x", [None, 6, 6])
        y = static.nn.batch_norm(static.nn.fc(x, 4))
        z = y.reshape([y.shape[0], 2, 2])
        paddle.optimizer.SGD(0.1).minimize(z.mean() + other.mean())
    exe, fed = static.Executor(), np.random.default_rng(0).standard_normal((5, 6, 6)).astype("float32")
    exe.run(main, feed={"x": fed, "other": np.ones([5, 2], "float32")}, fetch_list=[z])
    (wanted,) = exe.run(main.clone(for_test=True), feed={"x": fed}, fetch_list=[z])
    static.save_inference_model(str(tmp_path / "m"), [x], [z], exe, program=main)
    program, names, targets = static.load_inference_model(str(tmp_path / "m"), exe)
    assert names == ["x"]
    for n in (5, 2):
        (found,) = exe.run(program, feed={"x": fed[:n]}, fetch_list=targets)
        assert np.allclose(found, wanted[:n], atol=1e-6)
    static.save(main, str(tmp_path / "p"))
    parameter: Any = main.all_parameters()[0]
    kept = parameter.numpy()
    paddle.disable_static()
    parameter.zero_() if parameter.stop_gradient else parameter.set_value(np.zeros_like(kept))
    static.load(main, str(tmp_path / "p"))
    assert np.array_equal(parameter.numpy(), kept)
    layer: Any = paddle.jit.load(tmp_path / "m")
    with paddle.no_grad():
        assert np.allclose(layer(paddle.to_tensor(fed))[0].numpy(), wanted, atol=1e-6)


def test_bad_input(tmp_path: Path) -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [2])
        y: Any = static.data("y", [2])
        looped = static.nn.while_loop(lambda t: t.sum() < 1, lambda t: t + 1, [x])[0]
    with pytest.raises(ValueError, match="'y' is needed too"):
        static.save_inference_model(str(tmp_path / "m"), [x], [_sum(main, x, y)], program=main)
    with pytest.raises(ValueError, match="with a loop"):
        static.save_inference_model(str(tmp_path / "m"), [x], [looped], program=main)
    with pytest.raises(ValueError, match="no file"):
        static.load(main, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="expected a path"):
        static.load_inference_model(None)
    assert list(tmp_path.iterdir()) == []


def _sum(main: Any, x: Any, y: Any) -> Any:
    with static.program_guard(main):
        return x + y
