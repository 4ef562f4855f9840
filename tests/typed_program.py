"""A user's program for type checkers: tests/test_types.py runs mypy over it, and the program itself."""

from typing import assert_type

import sampan as paddle
from sampan import Tensor, nn

x = paddle.ones([2, 3])
assert_type(x, Tensor)
assert_type(paddle.add(x, x), Tensor)
assert_type(paddle.exp(x), Tensor)
assert_type(paddle.max(x, axis=1), Tensor)
assert_type(paddle.greater_than(x, x), Tensor)
assert_type(paddle.matmul(x, x, transpose_y=True), Tensor)
assert_type(paddle.concat([x, x], axis=0), Tensor)
assert_type(paddle.split(x, 2), list[Tensor])
assert_type(paddle.topk(x, 1), tuple[Tensor, Tensor])
assert_type(paddle.randn([2]), Tensor)
assert_type(paddle.uniform([2]), Tensor)
assert_type(paddle.linalg.norm(x), Tensor)
assert_type(paddle.fft.fft(x), Tensor)
assert_type(paddle.signal.stft(paddle.ones([64]), 16), Tensor)
assert_type(paddle.is_floating_point(x), bool)

assert_type(x + x, Tensor)
assert_type(2.0 * x, Tensor)
assert_type(x[0], Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.topk(1), tuple[Tensor, Tensor])
assert_type(x.split(2), list[Tensor])
assert_type(x.svd(), tuple[Tensor, Tensor, Tensor])
assert_type(x.is_dense(), bool)
assert_type(x.get_device(), int)
assert_type(x.is_cuda, bool)
assert_type(x.itemsize, int)
assert_type(x.add_(x), Tensor)
sizes: list[int] = x.shape

assert_type(nn.functional.relu(x), Tensor)
assert_type(nn.functional.linear(x, paddle.ones([3, 4])), Tensor)
assert_type(nn.functional.cross_entropy(x, paddle.zeros([2], "int64")), Tensor)
assert_type(nn.Linear(3, 2)(x), Tensor)
assert_type(nn.ReLU()(x), Tensor)
assert_type(nn.LayerNorm(3)(x), Tensor)
outputs, states = nn.LSTM(3, 4)(x.unsqueeze(0))
assert_type(outputs, Tensor)


class Pair(nn.Layer):
    """A layer of the user's own: a call returns what its `forward` does."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.linear(x)
        assert_type(y, Tensor)
        return y, y.softmax()


assert_type(Pair()(x), tuple[Tensor, Tensor])
