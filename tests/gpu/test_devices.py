"""Where tensors are made, random numbers, moves between devices, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from tests.gpu.places import GPU, here, needs_gpu, on, same

pytestmark = needs_gpu

MADE = {
    "zeros": ([2, 3],), "ones": ([2, 3],), "full": ([2], 5.0), "eye": (3,), "arange": (5,), "linspace": (0, 1, 5),
    "logspace": (0, 1, 5), "empty": ([2],), "to_tensor": ([1.0, 2.0],), "rand": ([3],), "randn": ([3],),
    "randint": (0, 5, [3]), "randperm": (5,), "uniform": ([3],), "normal": (0.0, 1.0, [3]), "standard_normal": ([3],),
    "tril_indices": (3, 3, 0), "triu_indices": (3, 3, 0), "create_parameter": ([2, 3], "float32"), "complex": (),
    "meshgrid": (), "diag_embed": (), "one_hot": (), "zeros_like": (), "full_like": (), "bernoulli": (), "multinomial": (),
    "poisson": (), "assign": (np.ones(3),),
}  # fmt: skip  # one row of fields to a line
GIVEN = {
    "complex": lambda: paddle.complex(paddle.ones([2]), paddle.ones([2])),
    "meshgrid": lambda: paddle.meshgrid(paddle.arange(3), paddle.arange(2))[0],
    "diag_embed": lambda: paddle.diag_embed(paddle.ones([3])),
    "one_hot": lambda: nn.functional.one_hot(paddle.arange(3), 4),
    "zeros_like": lambda: paddle.zeros_like(paddle.ones([2])),
    "full_like": lambda: paddle.full_like(paddle.ones([2]), 3),
    "bernoulli": lambda: paddle.bernoulli(paddle.full([9], 0.5)),
    "multinomial": lambda: paddle.multinomial(paddle.ones([9]), 4),
    "poisson": lambda: paddle.poisson(paddle.full([9], 3.0)),
}


@pytest.mark.parametrize("name", MADE)
def test_tensors_are_made_on_the_device(name):
    make = GIVEN.get(name) or (lambda: getattr(paddle, name)(*MADE[name]))
    here(on(GPU, make))


@pytest.mark.parametrize("name", ["Normal", "Uniform", "XavierNormal", "KaimingUniform", "TruncatedNormal", "Orthogonal", "Constant", "Dirac", "Assign", "Bilinear"])  # fmt: skip  # one list
def test_initializers(name):
    settings = {"Assign": (np.ones((4, 4, 3, 3)),), "Constant": (2.0,)}.get(name, ())
    attr = paddle.ParamAttr(initializer=getattr(nn.initializer, name)(*settings))
    made = on(GPU, lambda: nn.Conv2D(4, 4, 3, weight_attr=attr).weight)
    here(made)
    assert np.isfinite(made.numpy()).all() and np.abs(made.numpy()).max() > 0


def test_a_seed_gives_the_same_numbers():
    def program():
        drop = nn.Dropout(0.5)
        found = [
            paddle.rand([50]),
            paddle.randn([50]),
            paddle.randint(0, 100, [50]),
            paddle.randperm(50),
            drop(paddle.ones([50])),
        ]
        state = paddle.get_rng_state()
        more = paddle.rand([50])
        paddle.set_rng_state(state)
        again = paddle.rand([50])
        return [*(t.numpy() for t in found), more.numpy(), again.numpy()]

    first, second = on(GPU, program), on(GPU, program)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first[-1], first[-2])
    assert len(np.unique(first[0])) > 40


def test_tensors_move():
    x = paddle.to_tensor([1.0, 2.0], place=paddle.CUDAPlace(0) if GPU == "gpu" else paddle.CPUPlace())
    here(x), here(x * 2), here(x.cpu().cuda() if GPU == "gpu" else x)
    assert x.cpu().place.is_cpu_place()
    layer = nn.Linear(2, 2)
    layer.to(GPU)
    here(layer.weight)
    assert layer.to("cpu").weight.place.is_cpu_place()


def test_operands_on_two_devices_meet_on_the_gpu():
    """As in PaddlePaddle, which copies inputs to the device of an operator."""

    def program():
        x = paddle.to_tensor([1.0, 2.0, 3.0], place="cpu", stop_gradient=False)
        y = paddle.to_tensor([4.0, 5.0, 6.0], stop_gradient=False)
        found = [
            x + y,
            x * y,
            paddle.dot(x, y),
            paddle.concat([x, y]),
            paddle.where(x > 2, y, x),
            y.matmul(x),
        ]
        for one in found:
            here(one) if paddle.get_device() != "cpu" else None
        sum(one.sum() for one in found).backward()
        assert x.grad.place == x.place
        assert y.grad.place == y.place
        return [*found, x.grad, y.grad]

    same(program)


def test_printing_and_plain_values():
    def program():
        x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        return [
            float(x.sum()),
            x.tolist(),
            x[0, 1].item(),
            np.asarray(x),
            len(x),
            bool((x > 0).all()),
            int(x.argmax()),
        ]

    same(program)
    assert "[1., 2.]" in repr(on(GPU, paddle.to_tensor, [1.0, 2.0]))


def test_indices_of_every_kind():
    def program():
        x = paddle.arange(24, dtype="float32").reshape([2, 3, 4])
        x.stop_gradient = False
        y = x * 1
        rows, mask = paddle.to_tensor([1, 0]), paddle.to_tensor(np.arange(24).reshape(2, 3, 4) % 3 == 0)
        found = [
            y[rows],
            y[mask],
            y[0],
            y[:, [0, 2]],
            y[..., None, 1],
            y[np.array([0, 1]), :, 2],
            y[rows, rows],
            y[-1, ::2],
            y[rows.cpu()],
        ]
        y[mask] = 0.0
        y[:, 1] = paddle.ones([2, 4])
        y[rows, 0] = 7
        sum(f.sum() for f in [*found, y]).backward()
        return [*found, y, x.grad]

    same(program)


def test_pickles_and_copies():
    import copy
    import pickle

    def program():
        x = paddle.to_tensor([1.0, 2.0])
        return [pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), paddle.to_tensor(x)]

    for made in on(GPU, program)[1:]:
        here(made)
    same(program)


def test_higher_derivatives():
    def program():
        x = paddle.to_tensor([0.3, 0.7], stop_gradient=False)
        y = (paddle.sin(x) * x**3).sum()
        (g,) = paddle.grad(y, x, create_graph=True)
        (h,) = paddle.grad(g.sum(), x)
        return [g, h, paddle.autograd.jacobian(paddle.tanh(x), x)[:]]

    same(program)


def test_functions_of_python():
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * 3 * x**2

    def program():
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        x.register_hook(lambda g: g * 2)
        Cube.apply(x).sum().backward()
        return x.grad

    same(program)


def test_memory_is_released():
    if GPU == "cpu":
        pytest.skip("counts a GPU's memory")

    def program():
        net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
        rule = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        found = []
        for _ in range(6):
            net(paddle.ones([64, 256])).sum().backward()
            rule.step()
            rule.clear_grad()
            found.append(paddle.device.cuda.memory_allocated())
        return found

    found = on(GPU, program)
    assert found[-1] == found[1] > 0
