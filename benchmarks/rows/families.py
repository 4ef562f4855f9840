"""At least one operator of every family, forward and backward, at a small and a large size.

A line lists the arguments of the operator: arrays by shape, where `n` is the size and a trailing letter is the kind (i:
integers below n, p: positive, none: normal). Gradients are computed for every floating array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import Row


class Case(NamedTuple):
    name: str
    arrays: Callable[[int], list[tuple[Any, ...]]]  # size -> shapes, each with a kind at its end
    paddle: Callable[..., Any]  # (module, *arrays), for Sampan and PaddlePaddle
    torch: Callable[..., Any]
    sizes: tuple[int, int] = (32, 512)
    backward: bool = True


def square(n: int) -> list[tuple[Any, ...]]:
    return [(n, n, "")]


def positive(n: int) -> list[tuple[Any, ...]]:
    return [(n, n, "p")]


def two(n: int) -> list[tuple[Any, ...]]:
    return [(n, n, ""), (n, n, "p")]


def same(name: str, arrays: Any = square, backward: bool = True, sizes: tuple[int, int] = (32, 512)) -> Case:
    """An operator with the same name and meaning in all frameworks."""
    return Case(
        name,
        arrays,
        lambda fw, *xs: getattr(fw, name)(*xs),
        lambda fw, *xs: getattr(fw, name)(*xs),
        sizes,
        backward,
    )


def of(name: str, arrays: Any, paddle: Any, torch: Any, sizes: tuple[int, int] = (32, 512), backward: bool = True) -> Case:  # fmt: skip
    return Case(name, arrays, paddle, torch, sizes, backward)


def F(fw: Any) -> Any:
    return fw.nn.functional


def images(n: int) -> list[tuple[Any, ...]]:
    return [(4, 16, n, n, "")]


PICTURES = (8, 56)
SMALL = (8, 128)
# fmt: off
CASES = [
    # elementwise
    *(same(name) for name in ("exp", "tanh", "sin", "abs", "square", "sigmoid", "erf", "floor")),
    *(same(name, positive) for name in ("log", "sqrt", "rsqrt", "digamma", "lgamma")),
    *(same(name, two) for name in ("divide", "maximum", "atan2", "subtract")),
    of("pow", positive, lambda fw, x: x**2.5, lambda fw, x: x**2.5),
    of("clip", square, lambda fw, x: x.clip(-1.0, 1.0), lambda fw, x: x.clamp(-1.0, 1.0)),
    of("broadcast add", lambda n: [(n, n, ""), (n, "")], lambda fw, x, y: x + y, lambda fw, x, y: x + y),
    of("where", two, lambda fw, x, y: fw.where(x > 0, x, y), lambda fw, x, y: fw.where(x > 0, x, y)),
    of("greater_than", two, lambda fw, x, y: x > y, lambda fw, x, y: x > y, backward=False),
    of("cast", square, lambda fw, x: x.astype("float64"), lambda fw, x: x.double()),
    # reductions and order
    of("sum axis 1", square, lambda fw, x: x.sum(1), lambda fw, x: x.sum(1)),
    of("mean axis 0", square, lambda fw, x: x.mean(0), lambda fw, x: x.mean(0)),
    of("max axis 1", square, lambda fw, x: x.max(1), lambda fw, x: x.amax(1)),
    of("prod axis 1", positive, lambda fw, x: x.prod(1), lambda fw, x: x.prod(1)),
    of("var", square, lambda fw, x: x.var(1), lambda fw, x: x.var(1)),
    of("logsumexp", square, lambda fw, x: x.logsumexp(1), lambda fw, x: x.logsumexp(1)),
    of("norm", square, lambda fw, x: fw.linalg.norm(x, 2.0, 1), lambda fw, x: fw.linalg.vector_norm(x, 2.0, 1)),
    of("cumsum", square, lambda fw, x: x.cumsum(1), lambda fw, x: x.cumsum(1)),
    of("cumprod", positive, lambda fw, x: x.cumprod(1), lambda fw, x: x.cumprod(1)),
    of("argmax", square, lambda fw, x: x.argmax(1), lambda fw, x: x.argmax(1), backward=False),
    of("sort", square, lambda fw, x: x.sort(1), lambda fw, x: x.sort(1)[0]),
    of("topk", square, lambda fw, x: x.topk(8, 1)[0], lambda fw, x: x.topk(8, 1)[0]),
    of("unique", lambda n: [(n, n, "i")], lambda fw, x: fw.unique(x), lambda fw, x: fw.unique(x), backward=False),
    # indexing and shape
    of("index_select", lambda n: [(n, n, ""), (n, "i")], lambda fw, x, i: x.index_select(i, 0), lambda fw, x, i: x.index_select(0, i)),
    of("take_along_axis", lambda n: [(n, n, ""), (n, n, "i")], lambda fw, x, i: x.take_along_axis(i, 1), lambda fw, x, i: x.gather(1, i)),
    of("gather_nd", lambda n: [(n, n, ""), (n, 2, "i")], lambda fw, x, i: x.gather_nd(i), lambda fw, x, i: x[i[:, 0], i[:, 1]]),
    of("scatter add", lambda n: [(n, n, ""), (n, "i"), (n, n, "")], lambda fw, x, i, y: fw.index_add(x, i, 0, y), lambda fw, x, i, y: x.index_add(0, i, y)),
    of("slice", square, lambda fw, x: x[1:-1, ::2], lambda fw, x: x[1:-1, ::2]),
    of("masked_fill", square, lambda fw, x: x.masked_fill(x > 0, 0.0), lambda fw, x: x.masked_fill(x > 0, 0.0)),
    of("concat", two, lambda fw, x, y: fw.concat([x, y], 1), lambda fw, x, y: fw.cat([x, y], 1)),
    of("stack", two, lambda fw, x, y: fw.stack([x, y]), lambda fw, x, y: fw.stack([x, y])),
    of("split", square, lambda fw, x: fw.split(x, 4, 1)[2] * 2.0, lambda fw, x: x.chunk(4, 1)[2] * 2.0),
    of("transpose", square, lambda fw, x: x.transpose([1, 0]) * 2.0, lambda fw, x: x.t() * 2.0),
    of("tile", square, lambda fw, x: x.tile([2, 2]), lambda fw, x: x.tile([2, 2])),
    of("pad", images, lambda fw, x: F(fw).pad(x, [1, 1, 1, 1]), lambda fw, x: F(fw).pad(x, [1, 1, 1, 1]), PICTURES),
    of("roll", square, lambda fw, x: fw.roll(x, 3, 1), lambda fw, x: fw.roll(x, 3, 1)),
    # products and linear algebra
    of("batched matmul", lambda n: [(8, n, n, ""), (8, n, n, "")], lambda fw, x, y: x @ y, lambda fw, x, y: x @ y, SMALL),
    of("einsum", lambda n: [(8, n, n, ""), (n, n, "")], lambda fw, x, y: fw.einsum("bij,jk->bik", x, y), lambda fw, x, y: fw.einsum("bij,jk->bik", x, y), SMALL),
    of("linear", lambda n: [(n, n, ""), (n, n, ""), (n, "")], lambda fw, x, w, b: F(fw).linear(x, w, b), lambda fw, x, w, b: F(fw).linear(x, w.t(), b)),
    of("solve", lambda n: [(n, n, "s"), (n, n, "")], lambda fw, a, b: fw.linalg.solve(a, b), lambda fw, a, b: fw.linalg.solve(a, b), SMALL),
    of("cholesky", lambda n: [(n, n, "s")], lambda fw, a: fw.linalg.cholesky(a), lambda fw, a: fw.linalg.cholesky(a), SMALL),
    of("svd", square, lambda fw, a: fw.linalg.svd(a)[1], lambda fw, a: fw.linalg.svd(a, full_matrices=False)[1], SMALL),
    of("fft", square, lambda fw, x: fw.abs(fw.fft.rfft(x)), lambda fw, x: fw.abs(fw.fft.rfft(x))),
    # networks
    of("softmax", square, lambda fw, x: F(fw).softmax(x, -1), lambda fw, x: F(fw).softmax(x, -1)),
    *(of(name, square, lambda fw, x, name=name: getattr(F(fw), name)(x), lambda fw, x, name=name: getattr(F(fw), name)(x)) for name in ("relu", "gelu", "silu", "elu", "hardswish", "mish", "softplus", "leaky_relu")),
    of("layer_norm", lambda n: [(n, n, ""), (n, "p"), (n, "")], lambda fw, x, w, b: F(fw).layer_norm(x, x.shape[-1:], w, b), lambda fw, x, w, b: F(fw).layer_norm(x, x.shape[-1:], w, b)),
    of("group_norm", lambda n: [*images(n), (16, "p"), (16, "")], lambda fw, x, w, b: F(fw).group_norm(x, 4, weight=w, bias=b), lambda fw, x, w, b: F(fw).group_norm(x, 4, w, b), PICTURES),
    of("conv1d", lambda n: [(8, 16, 4 * n, ""), (32, 16, 3, "")], lambda fw, x, w: F(fw).conv1d(x, w, padding=1), lambda fw, x, w: F(fw).conv1d(x, w, padding=1), PICTURES),
    of("conv2d", lambda n: [(4, 16, n, n, ""), (32, 16, 3, 3, "")], lambda fw, x, w: F(fw).conv2d(x, w, padding=1), lambda fw, x, w: F(fw).conv2d(x, w, padding=1), PICTURES),
    of("depthwise conv2d", lambda n: [(4, 16, n, n, ""), (16, 1, 3, 3, "")], lambda fw, x, w: F(fw).conv2d(x, w, padding=1, groups=16), lambda fw, x, w: F(fw).conv2d(x, w, padding=1, groups=16), PICTURES),
    of("conv3d", lambda n: [(2, 8, n, n, n, ""), (8, 8, 3, 3, 3, "")], lambda fw, x, w: F(fw).conv3d(x, w, padding=1), lambda fw, x, w: F(fw).conv3d(x, w, padding=1), (4, 16)),
    of("conv2d_transpose", lambda n: [(4, 16, n, n, ""), (16, 8, 2, 2, "")], lambda fw, x, w: F(fw).conv2d_transpose(x, w, stride=2), lambda fw, x, w: F(fw).conv_transpose2d(x, w, stride=2), PICTURES),
    of("max_pool2d", images, lambda fw, x: F(fw).max_pool2d(x, 2, 2), lambda fw, x: F(fw).max_pool2d(x, 2, 2), PICTURES),
    of("avg_pool2d", images, lambda fw, x: F(fw).avg_pool2d(x, 2, 2), lambda fw, x: F(fw).avg_pool2d(x, 2, 2), PICTURES),
    of("adaptive_avg_pool2d", images, lambda fw, x: F(fw).adaptive_avg_pool2d(x, 1), lambda fw, x: F(fw).adaptive_avg_pool2d(x, 1), PICTURES),
    of("interpolate bilinear", images, lambda fw, x: F(fw).interpolate(x, scale_factor=2, mode="bilinear"), lambda fw, x: F(fw).interpolate(x, scale_factor=2, mode="bilinear"), PICTURES),
    of("grid_sample", lambda n: [(4, 16, n, n, ""), (4, n, n, 2, "")], lambda fw, x, g: F(fw).grid_sample(x, g, align_corners=True), lambda fw, x, g: F(fw).grid_sample(x, g, align_corners=True), PICTURES),
    of("unfold", images, lambda fw, x: F(fw).unfold(x, 3), lambda fw, x: F(fw).unfold(x, 3), PICTURES),
    of("pixel_shuffle", images, lambda fw, x: F(fw).pixel_shuffle(x, 2), lambda fw, x: F(fw).pixel_shuffle(x, 2), PICTURES),
    of("embedding", lambda n: [(n, n, "i"), (n, 64, "")], lambda fw, i, w: F(fw).embedding(i, w), lambda fw, i, w: F(fw).embedding(i, w), (8, 128)),
    of("attention", lambda n: [(2, n, 4, 32, "")] * 3, lambda fw, q, k, v: F(fw).scaled_dot_product_attention(q, k, v, is_causal=True), lambda fw, q, k, v: F(fw).scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True).transpose(1, 2), (16, 256)),
    # losses
    of("cross_entropy", lambda n: [(n, n, ""), (n, "i")], lambda fw, x, y: F(fw).cross_entropy(x, y), lambda fw, x, y: F(fw).cross_entropy(x, y)),
    of("mse_loss", two, lambda fw, x, y: F(fw).mse_loss(x, y), lambda fw, x, y: F(fw).mse_loss(x, y)),
    of("smooth_l1_loss", two, lambda fw, x, y: F(fw).smooth_l1_loss(x, y), lambda fw, x, y: F(fw).smooth_l1_loss(x, y)),
    of("bce with logits", two, lambda fw, x, y: F(fw).binary_cross_entropy_with_logits(x, y), lambda fw, x, y: F(fw).binary_cross_entropy_with_logits(x, y)),
    of("kl_div", two, lambda fw, x, y: F(fw).kl_div(x, y, reduction="sum"), lambda fw, x, y: F(fw).kl_div(x, y, reduction="sum")),
]
# fmt: on


def drawn(specs: list[tuple[Any, ...]], size: int) -> list[np.ndarray]:
    """The same arrays for every framework."""
    generator = np.random.default_rng(size)
    arrays = []
    for *shape, kind in specs:
        if kind == "i":
            arrays.append(generator.integers(0, size, shape))
        elif kind == "p":
            arrays.append(generator.uniform(0.5, 1.5, shape).astype(np.float32))
        elif kind == "s":  # symmetric, well-conditioned
            half = generator.standard_normal(shape) / shape[-1] ** 0.5
            arrays.append((half @ half.T + 2 * np.eye(shape[-1])).astype(np.float32))
        else:
            arrays.append(generator.standard_normal(shape).astype(np.float32))
    return arrays


def wave(shape: Any) -> np.ndarray:
    """The output's gradient. It is not constant, because normalisation layers have gradient 0 for a constant."""
    return np.cos(np.arange(int(np.prod(shape)))).astype(np.float32).reshape(shape)


def step_paddle(fw: Any, case: Case, size: int) -> Callable[[], Any]:
    tensors = [fw.to_tensor(a) for a in drawn(case.arrays(size), size)]
    if not case.backward:
        return lambda: case.paddle(fw, *tensors)
    leaves = [t for t in tensors if "float" in str(t.dtype)]
    for leaf in leaves:
        leaf.stop_gradient = False
    result = case.paddle(fw, *tensors)
    gradient = fw.to_tensor(wave(result.shape)).astype(result.dtype)

    def step() -> Any:
        for leaf in leaves:
            leaf.clear_gradient(False)
        case.paddle(fw, *tensors).backward(gradient)
        return leaves[0].grad

    return step


def step_torch(fw: Any, case: Case, size: int) -> Callable[[], Any]:
    tensors = [fw.from_numpy(a) for a in drawn(case.arrays(size), size)]
    if not case.backward:
        return lambda: case.torch(fw, *tensors)
    leaves = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    result = case.torch(fw, *tensors)
    gradient = fw.from_numpy(wave(tuple(result.shape))).to(result.dtype)

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        case.torch(fw, *tensors).backward(gradient)
        return leaves[0].grad

    return step


ROWS = [
    Row(
        f"{case.name}, {size}",
        paddle=partial(step_paddle, case=case, size=size),
        torch=partial(step_torch, case=case, size=size),
    )
    for case in CASES
    for size in case.sizes
]
