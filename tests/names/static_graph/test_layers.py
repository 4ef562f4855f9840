"""`paddle.static.nn`."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static


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
