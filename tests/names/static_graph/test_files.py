"""Programs in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static
from sampan.distributed.parameter_server import Client, TableSettings, start_shards


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


def test_a_loop_with_a_branch_in_it_and_lengths_of_the_input_is_saved(tmp_path: Path) -> None:
    main = static.Program()
    with static.program_guard(main):
        static.data("other", [None, 2])
        limit: Any = static.data("limit", [1])
        x: Any = static.data("x", [None, 4])

        def turn(h: Any) -> Any:
            folded = h.reshape([-1, 2, 2]).flatten(1).exp()
            return static.nn.cond(h.mean() > 1, lambda: h + x, lambda: h + folded)

        (last,) = static.nn.while_loop(lambda h: h.sum() < limit, turn, [x])
    static.save_inference_model(str(tmp_path / "m"), [x, limit], [last], program=main)
    paddle.disable_static()
    layer: Any = paddle.jit.load(tmp_path / "m")
    for rows, most in ((2, 3.0), (5, 400.0), (1, 0.0)):
        fed = np.full([rows, 4], 0.25, "float32")
        wanted = fed
        while wanted.sum() < most:
            wanted = wanted + (fed if wanted.mean() > 1 else np.exp(wanted))
        with paddle.no_grad():
            (found,) = layer(paddle.to_tensor(fed), paddle.to_tensor([most]))
        assert np.allclose(found.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("shards", [0, 2])
def test_the_network_behind_rows_of_a_table_is_saved(shards: int, tmp_path: Path) -> None:
    fleet = paddle.distributed.fleet
    fleet.init(is_collective=False)
    if shards:
        fleet.use_shards(start_shards(shards))
    main, exe = static.Program(), static.Executor()
    with static.program_guard(main):
        ids: Any = static.data("ids", [None, 4], "int64")
        x: Any = static.data("x", [None, 3])
        rows = static.nn.sparse_embedding(ids, [50, 6], param_attr=paddle.ParamAttr("words"))
        both = paddle.concat([rows.reshape([ids.shape[0], 24]), x], 1)
        out = static.nn.fc(both, 2)
        fleet.distributed_optimizer(paddle.optimizer.Adagrad(0.2)).minimize(out.square().mean())
    fed = np.random.default_rng(0).integers(0, 50, (7, 4))
    feed = {"ids": fed, "x": np.ones([7, 3], "float32")}
    exe.run(main, feed=feed)
    (wanted,) = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[out])
    with pytest.raises(
        ValueError, match="save_inference_model: feed_vars: expected the rows that sparse_emb"
    ):
        static.save_inference_model(str(tmp_path / "m"), [ids, x], [out], exe, program=main)
    static.save_inference_model(str(tmp_path / "m"), [rows, x], [out], exe, program=main)
    fleet.save_persistables(exe, str(tmp_path / "tables"))
    fleet.init()

    program, names, targets = static.load_inference_model(str(tmp_path / "m"), exe)
    assert names == [rows.name, "x"]
    paddle.disable_static()
    given = saved_rows(tmp_path / "tables", "words", fed, 6)
    paddle.enable_static()
    for n in (7, 2):
        (found,) = exe.run(program, feed={names[0]: given[:n], "x": feed["x"][:n]}, fetch_list=targets)
        np.testing.assert_allclose(found, wanted[:n], rtol=0, atol=1e-6)


def saved_rows(folder: Path, name: str, ids: np.ndarray, width: int) -> np.ndarray:
    """Rows of a table that `fleet.save_persistables` wrote, in this process or from shards."""
    if (folder / name).exists():
        table = paddle.embedding.DynamicEmbedding(50, width)
        table.load(folder / name)
        return table(paddle.to_tensor(ids)).numpy()
    client = Client(start_shards(1))
    client.table(name, TableSettings(width, 50))
    client.load(name, str(folder))
    different, places = np.unique(ids, return_inverse=True)
    return client.pull(name, different, train=False)[places.reshape(ids.shape)]


def test_bad_input(tmp_path: Path) -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [2])
        y: Any = static.data("y", [2])
        x.stop_gradient = False
        (derived,) = static.gradients(x * 2, x)
    with pytest.raises(ValueError, match="'y' is needed too"):
        static.save_inference_model(str(tmp_path / "m"), [x], [_sum(main, x, y)], program=main)
    total = _sum(main, x, y)
    with pytest.raises(ValueError, match="feed_vars: expected inputs, or rows of sparse_embedding, got"):
        static.save_inference_model(str(tmp_path / "m"), [total], [total], program=main)
    with pytest.raises(ValueError, match="with gradients"):
        static.save_inference_model(str(tmp_path / "m"), [x], [derived], program=main)
    with pytest.raises(ValueError, match="no file"):
        static.load(main, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="expected a path"):
        static.load_inference_model(None)
    assert list(tmp_path.iterdir()) == []


def _sum(main: Any, x: Any, y: Any) -> Any:
    with static.program_guard(main):
        return x + y
