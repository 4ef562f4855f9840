"""Shapes, joining and cutting in ONNX beside the operators themselves."""

import sampan as paddle
import sampan.nn.functional as F
from tests.onnx.exported import function_agrees


def test_shapes(tmp_path):
    def computed(x):
        yield from (x.flatten(), x.flatten(1), x.reshape([0, -1]), x.reshape([x.shape[0] * 2, 12]))
        yield from (
            x.transpose([2, 0, 1]),
            x.expand([x.shape[0], 4, 6]),
            x.unsqueeze([0, 2]),
            x.unsqueeze(-1),
        )
        yield from (x.moveaxis(0, 1), x.unsqueeze(1).squeeze(1), x.flip(1), x.flip([0, 2]), x.roll(1, 1))
        yield from (x.roll(2), x.tile([2, 1, 1]), x.triu(1), x.tril(-1), paddle.swapaxes(x, 1, 2))
        yield from (F.pad(x.unsqueeze(1), [1, 1, 2, 0]), F.pad(x.unsqueeze(1), [1, 0, 0, 0], value=2.0))

    function_agrees(tmp_path, lambda x: list(computed(x)))


def test_joining_and_cutting(tmp_path):
    def computed(x):
        joined = paddle.concat([x, x * 2], 0), paddle.stack([x, x + 1], 1)
        return joined, x.split(2, 1), x.split([1, -1], 2), x.chunk(2, 1), paddle.unstack(x, 1)

    function_agrees(tmp_path, computed)


def test_pixels(tmp_path):
    def computed(x):
        image = x.unsqueeze(1).tile([1, 4, 1, 1])
        return F.pixel_shuffle(image, 2), F.pixel_unshuffle(image, 2)

    function_agrees(tmp_path, computed)
