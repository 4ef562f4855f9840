"""`paddle.static.nn`."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static
from sampan.distributed.parameter_server import start_shards


def test_layers_make_their_parameters() -> None:
    main = static.Program()
    with static.program_guard(main):
        image: Any = static.data("image", [None, 3, 8, 8])
        ids: Any = static.data("ids", [None, 5], "int64")
        outputs = [
            static.nn.fc(image, 7, activation="relu"),
            static.nn.fc(ids.astype("float32"), 7, num_flatten_dims=-1, bias_attr=False),
            static.nn.conv2d(image, 4, 3, padding=1, act="relu"),
            static.nn.conv2d_transpose(image, 4, filter_size=2, stride=2),
            static.nn.batch_norm(image),
            static.nn.layer_norm(image, scale=False),
            static.nn.group_norm(image, 3),
            static.nn.instance_norm(image),
            static.nn.prelu(image, "channel"),
            static.nn.embedding(ids, [10, 6]),
        ]
    feed = {"image": np.ones([2, 3, 8, 8], "float32"), "ids": np.ones([2, 5], "int64")}
    shapes = [list(o.shape) for o in static.Executor().run(main, feed=feed, fetch_list=outputs)]
    image_shape = [2, 3, 8, 8]
    assert shapes == [
        [2, 7], [2, 7], [2, 4, 8, 8], [2, 4, 16, 16], image_shape, image_shape, image_shape, image_shape, image_shape,
        [2, 5, 6],
    ]  # fmt: skip  # a table
    assert [list(o.shape)[1:] for o in outputs] == [s[1:] for s in shapes]


def test_bad_input() -> None:
    with static.program_guard(static.Program()):
        x: Any = static.data("x", [None, 3])
        with pytest.raises(ValueError, match="expected the name of an activation, got 'nope'"):
            static.nn.fc(x, 2, activation="nope")
        with pytest.raises(ValueError, match="mode: expected 'all' or 'channel'"):
            static.nn.prelu(x, "element")
    with pytest.raises(NotImplementedError, match="sequence_pool"):
        static.nn.sequence_pool(x, "sum")
    assert paddle.static.nn.cond is static.nn.control_flow.cond


def click_losses(shards: int) -> tuple[list[float], Any, np.ndarray]:
    """Losses of a model with sparse_embedding, in this process (0) or on shards; its table; what the Program
    for evaluation reads for an id that is new and one that is not."""
    fleet = paddle.distributed.fleet
    fleet.init(is_collective=False)
    if shards:
        fleet.use_shards(start_shards(shards))
    paddle.seed(0)
    main, rng = static.Program(), np.random.default_rng(0)
    with static.program_guard(main):
        ids: Any = static.data("ids", [None, 4], "int64")
        label: Any = static.data("label", [None, 1])
        attr = paddle.ParamAttr("words", paddle.nn.initializer.Uniform(-0.1, 0.1))
        rows = static.nn.sparse_embedding(ids, [1000, 6], padding_idx=-1, param_attr=attr)
        assert rows.shape == [-1, 4, 6]
        logit = static.nn.fc(rows.sum(1), 1)
        loss = paddle.nn.functional.binary_cross_entropy_with_logits(logit, label)
        test = main.clone(for_test=True)
        fleet.distributed_optimizer(paddle.optimizer.Adagrad(0.2)).minimize(loss)
    run, found = static.Executor(), []
    run.run(static.default_startup_program())
    for _ in range(8):
        batch = rng.integers(0, 50, (16, 4))
        feed = {"ids": batch, "label": (batch % 2).max(1, keepdims=True).astype("float32")}
        found.append(float(run.run(main, feed, [loss])[0]))
    (asked,) = run.run(
        test, {"ids": np.array([[60, 1, 999, 1]]), "label": np.ones([1, 1], "float32")}, [rows]
    )
    table = fleet.fleet._tables().layers["words"]
    fleet.init()
    return found, table, asked


def test_rows_of_a_table_in_this_process_or_on_shards() -> None:
    alone, table, asked = click_losses(0)
    assert len(table) <= 50 and alone[-1] < alone[0]
    assert (asked[0, 0] == 0).all() and (asked[0, 2] == 0).all() and (asked[0, 1] != 0).all()
    served, _, read = click_losses(2)
    np.testing.assert_allclose(served, alone, rtol=0, atol=2e-6)
    np.testing.assert_allclose(read, asked, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"table_class": "Dense"}, ValueError, r"table_class must be in \[CommonSparseTable"),
        ({"entry": "count"}, ValueError, r"entry must be instance in \[paddle.distributed.Probab"),
        ({"dtype": "float64"}, TypeError, "dtype: expected float32, got float64"),
        ({"input": "ids"}, TypeError, "input: expected int64 ids, got str"),
    ],
)
def test_tables_that_there_are_not(given: dict[str, Any], error: type[Exception], text: str) -> None:
    with static.program_guard(static.Program()):
        ids = static.data("ids", [None], "int64")
        with pytest.raises(error, match=text):
            static.nn.sparse_embedding(**{"input": ids, "size": [9, 2], **given})
