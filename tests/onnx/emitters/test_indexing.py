"""Places in ONNX beside the operators themselves."""

import sampan as paddle
import sampan.nn.functional as F
from tests.onnx.exported import function_agrees


def test_reading(tmp_path):
    def computed(x):
        order = x.argsort(-1)
        yield from (x[0], x[:, 1], x[..., ::2], x[:, None, 1:-1], x[:, -1, ..., None], x[: x.shape[0], 2:])
        yield from (
            x[:, order[0, 0, :3] % 4],
            x[:, order[0, 0] % 4, order[0, 1]],
            x[x > 0],
            x[:, :, 0][x[:, :, 0] > 0],
        )
        yield from (x.gather(order[0, 0] % 4, 1), x.take_along_axis(order, -1), paddle.nonzero(x > 0))
        yield from (F.one_hot(order, 6), x[:, [0, 2]], x[:, paddle.to_tensor([3, 1]), 1:, None])

    function_agrees(tmp_path, lambda x: list(computed(x)))


def test_writing(tmp_path):
    def computed(x):
        y = x * 2
        y[0] = 0.5
        y[:, 1:3] = x[:, 1:3] + 1
        y[y > 1] = 3.0
        z = x.put_along_axis(x.argsort(-1), x, -1)
        return y, z

    function_agrees(tmp_path, computed)
