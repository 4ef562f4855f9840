"""Functions of torch in ONNX beside themselves."""

import sampan as paddle
from tests.onnx.exported import function_agrees


def test_made_from_lengths(tmp_path):
    def computed(x):
        n = x.shape[0]
        made = (
            paddle.arange(n),
            paddle.arange(1, 2 * n + 1, 2),
            paddle.zeros([n, 2]),
            paddle.ones([n], "int64"),
        )
        like = paddle.zeros_like(x), paddle.ones_like(x), paddle.full_like(x, 3), paddle.full([n, 2], 0.5)
        return made, like, paddle.arange(5), paddle.arange(0, 1, 0.25)

    function_agrees(tmp_path, computed)


def test_what_layers_do_with_buffers(tmp_path):
    def computed(x):
        buffer = x.data
        mask = (buffer[:, :1] > 0).logical_not()
        return paddle.Tensor(buffer.masked_fill(mask, -1.0)), paddle.Tensor(mask.float() * buffer.exp())

    function_agrees(tmp_path, computed)
