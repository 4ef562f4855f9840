"""Optimizers over 50 steps in float64, against torch's and against the published rules; and their state."""

from itertools import product

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn, optimizer
from sampan.regularizer import L2Decay
from tests.optimizer.steps import ours, same, values


def theirs(make):
    start, gradients = values()
    parameters = [torch.nn.Parameter(torch.tensor(s)) for s in start]
    optim = make(parameters)
    history = []
    for row in gradients:
        for p, g in zip(parameters, row, strict=True):
            p.grad = torch.tensor(g)
        optim.step()
        history.append([p.detach().numpy().copy() for p in parameters])
    return history


CASES = {
    "sgd": (
        lambda p: optimizer.SGD(0.1, p, weight_decay=0.05),
        lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.05),
    ),
    "momentum": (
        lambda p: optimizer.Momentum(0.1, 0.8, p, weight_decay=L2Decay(0.05)),
        lambda p: torch.optim.SGD(p, 0.1, 0.8, weight_decay=0.05),
    ),
    "nesterov": (
        lambda p: optimizer.Momentum(0.1, 0.8, p, use_nesterov=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.8, nesterov=True),
    ),
    "adam": (
        lambda p: optimizer.Adam(0.1, 0.8, 0.95, 1e-3, p, weight_decay=0.05),
        lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.95), 1e-3, weight_decay=0.05),
    ),
    "adamw": (
        lambda p: optimizer.AdamW(0.1, 0.8, 0.95, 1e-3, p, weight_decay=0.3),
        lambda p: torch.optim.AdamW(p, 0.1, (0.8, 0.95), 1e-3, weight_decay=0.3),
    ),
    "amsgrad": (
        lambda p: optimizer.Adam(0.1, 0.8, 0.9, 1e-3, p, amsgrad=True),
        lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.9), 1e-3, amsgrad=True),
    ),
    "adagrad": (
        lambda p: optimizer.Adagrad(0.1, 1e-3, p, 0.05, initial_accumulator_value=0.3),
        lambda p: torch.optim.Adagrad(p, 0.1, weight_decay=0.05, initial_accumulator_value=0.3, eps=1e-3),
    ),
    "adadelta": (
        lambda p: optimizer.Adadelta(0.7, 1e-3, 0.9, p),
        lambda p: torch.optim.Adadelta(p, 0.7, 0.9, 1e-3),
    ),
    "radam": (
        lambda p: optimizer.RAdam(0.1, 0.8, 0.95, 1e-3, p),
        lambda p: torch.optim.RAdam(p, 0.1, (0.8, 0.95), 1e-3),
    ),
    "rprop": (
        lambda p: optimizer.Rprop(0.1, (1e-4, 0.5), p, (0.4, 1.3)),
        lambda p: torch.optim.Rprop(p, 0.1, (0.4, 1.3), (1e-4, 0.5)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_torch_step_by_step(name):
    mine, other = CASES[name]
    same(ours(mine), theirs(other))


def rmsprop(p, g, s, t, centered):
    """Tieleman and Hinton 2012; epsilon stands under the root, as in Paddle."""
    s["h"] = 0.9 * s.get("h", 0) + 0.1 * g * g
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g if centered else 0
    s["v"] = 0.8 * s.get("v", 0) + 0.1 * g / np.sqrt(s["h"] - s["a"] ** 2 + 1e-3)
    return p - s["v"]


def adamax(p, g, s, t):
    """Kingma and Ba 2015, algorithm 2, with Paddle's epsilon."""
    s["m"] = 0.9 * s.get("m", 0) + (1 - 0.9) * g
    s["u"] = np.maximum(0.99 * s.get("u", 0) + 1e-3, abs(g))
    return p - 0.1 / (1 - 0.9**t) * s["m"] / s["u"]


def asgd(p, g, s, t):
    """Schmidt et al. 2017, algorithm 1, over three batches."""
    last = s.setdefault("y", [np.zeros_like(p)] * 3)
    s["d"] = s.get("d", 0) - last[(t - 1) % 3] + g
    s["y"] = [g if i == (t - 1) % 3 else y for i, y in enumerate(last)]
    return p - 0.1 / min(t, 3) * s["d"]


def lamb(p, g, s, t, decay, adapts):
    """You et al. 2020, algorithm 2."""
    s["m"] = 0.9 * s.get("m", 0) + (1 - 0.9) * g
    s["v"] = 0.99 * s.get("v", 0) + (1 - 0.99) * g * g
    r = s["m"] / (1 - 0.9**t) / (np.sqrt(s["v"] / (1 - 0.99**t)) + 1e-3) + decay * p
    return p - 0.1 * (np.linalg.norm(p) / np.linalg.norm(r) if adapts else 1) * r


def nadam(p, g, s, t):
    """Dozat 2016 with the schedule of momentum that torch and Paddle have (torch keeps its product in float32)."""
    mu, after = (0.8 * (1 - 0.5 * 0.96 ** (0.01 * i)) for i in (t, t + 1))
    s["product"] = s.get("product", 1) * mu
    s["m"] = 0.8 * s.get("m", 0) + (1 - 0.8) * g
    s["v"] = 0.95 * s.get("v", 0) + (1 - 0.95) * g * g
    mean = after * s["m"] / (1 - s["product"] * after) + (1 - mu) * g / (1 - s["product"])
    return p - 0.1 * mean / (np.sqrt(s["v"] / (1 - 0.95**t)) + 1e-3)


PUBLISHED = {
    "nadam": (lambda p: optimizer.NAdam(0.1, 0.8, 0.95, 1e-3, 0.01, p), nadam),
    "rmsprop": (
        lambda p: optimizer.RMSProp(0.1, 0.9, 1e-3, 0.8, parameters=p),
        lambda *a: rmsprop(*a, False),
    ),
    "centered": (
        lambda p: optimizer.RMSProp(0.1, 0.9, 1e-3, 0.8, True, p),
        lambda *a: rmsprop(*a, True),
    ),
    "adamax": (lambda p: optimizer.Adamax(0.1, 0.9, 0.99, 1e-3, p), adamax),
    "asgd": (lambda p: optimizer.ASGD(0.1, 3, p), asgd),
    "lamb": (lambda p: optimizer.Lamb(0.1, 0.2, 0.9, 0.99, 1e-3, p), lambda *a: lamb(*a, 0.2, True)),
    "lamb without decay": (
        lambda p: optimizer.Lamb(0.1, 0.2, 0.9, 0.99, 1e-3, p, exclude_from_weight_decay_fn=lambda p: True),
        lambda *a: lamb(*a, 0.0, False),
    ),
    "lamb always": (
        lambda p: optimizer.Lamb(0.1, 0.0, 0.9, 0.99, 1e-3, p, always_adapt=True),
        lambda *a: lamb(*a, 0.0, True),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_equals_the_published_rule(name):
    make, rule = PUBLISHED[name]
    start, gradients = values()
    state = [{} for _ in start]
    history = []
    for t, row in enumerate(gradients, 1):
        start = [rule(p, g, s, t) for p, g, s in zip(start, row, state, strict=True)]
        history.append(start)
    same(ours(make), history)


def test_clipping_comes_before_decay():
    parameter = nn.Parameter(np.array([1.0]))
    optim = optimizer.SGD(1.0, [parameter], weight_decay=0.25, grad_clip=nn.ClipGradByValue(0.5))
    parameter.grad = paddle.to_tensor([8.0], dtype="float64")
    optim.step()
    assert parameter.item() == pytest.approx(1 - (0.5 + 0.25))


def test_groups_have_settings_of_their_own():
    one, two = nn.Parameter(np.array([1.0])), nn.Parameter(np.array([1.0]))
    optim = optimizer.Momentum(
        0.1,
        0.9,
        [{"params": [one]}, {"params": [two], "learning_rate": 0.5, "weight_decay": 1.0, "momentum": 0.0}],
    )
    for _ in range(2):
        one.grad, two.grad = paddle.ones([1], "float64"), paddle.ones([1], "float64")
        optim.step()
    assert one.item() == pytest.approx(1 - 0.1 - 0.19)
    after = 1 - 0.05 * 2
    assert two.item() == pytest.approx(after - 0.05 * (1 + after))
    with pytest.raises(ValueError, match="unknown settings in a group: betas"):
        optimizer.SGD(0.1, [{"params": [one], "betas": 1}])


def test_a_parameters_own_rate_and_adamws_choices():
    slow = nn.Parameter(np.array([1.0]), learning_rate=0.5)
    optim = optimizer.SGD(0.2, [slow])
    slow.grad = paddle.ones([1], "float64")
    optim.step()
    assert slow.item() == pytest.approx(0.9)
    bias, weight = nn.Parameter(np.array([1.0]), name="b"), nn.Parameter(np.array([1.0]), name="w")
    optim = optimizer.AdamW(
        0.1, parameters=[bias, weight], weight_decay=0.5, apply_decay_param_fun=lambda name: name == "w",
        lr_ratio=lambda p: 2.0 if p.name == "w" else 1.0,
    )  # fmt: skip
    bias.grad, weight.grad = paddle.zeros([1], "float64"), paddle.zeros([1], "float64")
    optim.step()
    assert bias.item() == 1.0 and weight.item() == pytest.approx(1 - 0.2 * 0.5)


def test_parameters_without_gradient_and_frozen_ones_stay():
    used, unused, frozen = (nn.Parameter(np.array([1.0])) for _ in range(3))
    optim = optimizer.Adam(0.1, parameters=[used, unused, frozen])
    used.grad = frozen.grad = paddle.ones([1], "float64")
    frozen.stop_gradient = True
    optim.step()
    assert used.item() < 1 and unused.item() == 1 and frozen.item() == 1


def test_each_parameter_counts_its_own_steps():
    early, late = nn.Parameter(np.array([1.0])), nn.Parameter(np.array([1.0]))
    optim = optimizer.Adam(0.1, parameters=[early, late])
    early.grad = paddle.ones([1], "float64")
    optim.step()
    early.grad, late.grad = None, paddle.ones([1], "float64")
    optim.step()
    assert late.item() == pytest.approx(early.item(), abs=1e-15)


def test_a_cleared_gradient_is_zero_and_a_forgotten_one_is_none():
    parameter = nn.Parameter(np.array([1.0]))
    optim = optimizer.Momentum(0.1, 0.5, [parameter])
    parameter.grad = paddle.ones([1], "float64")
    optim.step()
    optim.clear_grad()
    optim.step()  # the velocity goes on: 0.1 * 0.5
    assert parameter.item() == pytest.approx(0.85)
    optim.clear_grad(set_to_zero=False)
    assert parameter.grad is None
    optim.step()
    assert parameter.item() == pytest.approx(0.85)


def test_half_precision_is_stepped_in_a_float32_copy():
    def run(multi_precision):
        parameter = nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
        optim = optimizer.SGD(1e-3, [parameter], multi_precision=multi_precision)
        for _ in range(100):
            parameter.grad = paddle.Tensor(torch.ones(1, dtype=torch.bfloat16))
            optim.step()
        return float(parameter.item())

    assert run(False) == 1.0  # 1 - 0.001 is 1 in bfloat16
    assert run(True) == pytest.approx(0.9, abs=0.004)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "rows"),
    [*product(["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Lamb"], ["dense", "rows"]), ("Adam", "lazy"), ("AdamW", "lazy")],
)  # fmt: skip
def test_moments_of_half_precision_are_float32_and_only_the_parameter_is_rounded(name, rows, kind):
    """As in PaddlePaddle: the square of a gradient of 1e-4 is 0 in float16, and bfloat16 has no 0.999 of a moment."""
    settings = {"lazy_mode": True} if rows == "lazy" else {}
    rng, rule = np.random.default_rng(0), getattr(optimizer, name)
    half = nn.Parameter(torch.from_numpy(rng.uniform(0.5, 1.5, (6, 2))).to(kind))
    before, exact = half.data.clone(), nn.Parameter(half.data.float())
    ours, oracle = (rule(0.1, parameters=[one], **settings) for one in (half, exact))
    for _ in range(12):
        ids = paddle.to_tensor(rng.permutation(6)[:3])
        factors = paddle.Tensor(torch.from_numpy(rng.normal(0, 1e-4, (3, 2))).to(kind))
        for one, own in ((half, factors), (exact, factors.astype("float32"))):
            (nn.functional.embedding(ids, one, sparse=rows != "dense") * own).sum().backward()
        for optim in (ours, oracle):
            optim.step()
            optim.clear_grad(set_to_zero=False)
        exact.data.copy_(exact.data.to(kind))
        np.testing.assert_array_equal(half.data.float(), exact.data)
    assert half.data.isfinite().all() and (half.data != before).any()
    assert {one.data.dtype for one in ours.state_dict().values()} == {torch.float32, torch.int64}
    assert all(slot.master is None for group in ours._groups for slot in group.slots)


def test_moments_of_low_precision():
    one = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    optim = optimizer.AdamW(0.1, parameters=[one], use_lowprecision_moment=True)
    one.grad = paddle.Tensor(torch.ones(2, dtype=torch.bfloat16))
    optim.step()
    assert optim.state_dict()[f"{one.name}_moment1_0"].dtype == paddle.bfloat16


def test_the_state_of_a_float32_copy_goes_by_the_names_that_paddle_gives_it():
    """PaddlePaddle 3.3.1 adds `_fp32_master_0` to the parameter's name, and keeps the copy under the plain name."""

    def step(optim, parameter):
        parameter.grad = paddle.Tensor(torch.ones(1, dtype=torch.bfloat16))
        optim.step()

    one = nn.Parameter(torch.ones(1, dtype=torch.bfloat16), name="w")
    optim = optimizer.Momentum(1e-3, parameters=[one], multi_precision=True)
    step(optim, one)
    state = optim.state_dict()
    assert [*state] == ["w_fp32_master_0_velocity_0", "steps", "master_weights"]
    assert [(k, m.name) for k, m in state["master_weights"].items()] == [("w", "w_fp32_master_0")]
    for left_out, prefix in [
        ("", "w_fp32_master_0"),
        ("steps", "w_fp32_master_0"),
        ("steps", "w"),
        ("", "w"),
    ]:
        given = {k.replace("w_fp32_master_0", prefix): v for k, v in state.items() if k != left_out}
        two = nn.Parameter(one.data.clone(), name="w")
        again = optimizer.Momentum(1e-3, parameters=[two], multi_precision=True)
        again.set_state_dict(given)
        step(again, two)
        found = again.state_dict()
        assert found["w_fp32_master_0_velocity_0"].item() == pytest.approx(1.9)
        assert found["master_weights"]["w"].item() == pytest.approx(1 - 0.0029)


def test_a_backward_through_a_stepped_parameter_is_refused():
    layer = nn.Linear(2, 2)
    optim = optimizer.SGD(0.1, layer.parameters())
    x = paddle.ones([1, 2])
    x.stop_gradient = False
    first, second = layer(x).sum(), layer(x * 2).sum()
    first.backward()
    optim.step()
    with pytest.raises(RuntimeError, match="overwritten"):
        second.backward()


def test_minimize_is_backward_and_step():
    weight = nn.ParamAttr(initializer=nn.initializer.Constant(0.25))  # sums with 0.5 are exact
    layer = nn.Linear(2, 1, weight_attr=weight, bias_attr=False)
    before = layer.weight.numpy().copy()
    optim = optimizer.SGD(0.5, layer.parameters())
    optim.minimize(layer(paddle.ones([1, 2])).sum())
    np.testing.assert_allclose(layer.weight.numpy(), before - 0.5)
    optim.zero_grad()
    loss = layer(paddle.ones([1, 2])).sum()
    loss.backward(retain_graph=True)
    optim.minimize(loss)  # the gradients are there: not a second time
    np.testing.assert_allclose(layer.weight.numpy(), before - 1)


def networks():
    paddle.seed(5)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    return net.to(dtype="float64")


KINDS = {
    name: getattr(optimizer, name)
    for name in (
        "SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSProp", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
        "Lamb",
    )
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scheduled", [False, True])
def test_state_round_trips_exactly_through_a_file(name, scheduled, tmp_path):
    def setting():
        net = networks()
        rate = optimizer.lr.StepDecay(0.05, 3) if scheduled else 0.05
        return net, KINDS[name](rate, parameters=net.parameters())

    def train(net, optim, start, stop):
        for i in range(start, stop):
            x = paddle.to_tensor(np.random.default_rng(i).normal(size=(5, 3)))
            (net(x) ** 2).sum().backward()
            optim.step()
            optim.clear_grad()
            if scheduled:
                optim._learning_rate.step()
        return [p.numpy().copy() for p in net.parameters()]

    unbroken = train(*setting(), 0, 10)
    net, optim = setting()
    train(net, optim, 0, 5)
    paddle.save({"net": net.state_dict(), "optim": optim.state_dict()}, tmp_path / "state")
    content = paddle.load(tmp_path / "state")
    net, optim = setting()
    net.set_state_dict(content["net"])
    optim.set_state_dict(content["optim"])
    for a, b in zip(train(net, optim, 5, 10), unbroken, strict=True):
        assert (a == b).all()


# What PaddlePaddle 3.3.1 keeps besides the moments after 7 steps with its own settings, and in which shape.
COUNTS = {
    "NAdam": {"momentum_decay_pow": ([2], 0.751447), "beta2_pow": ([2], 0.993021), "mu_product": ([2], 0.00375380)},
    "RAdam": {"beta1_pow": ([2], 0.478297), "beta2_pow": ([2], 0.993021), "rho": ([2], 996.0169)},
    "ASGD": {"m": ([1], 7)},
    "Adam": {"beta1_pow_acc": ([1], 0.430467), "beta2_pow_acc": ([1], 0.992028)},
    "Adamax": {"beta1_pow_acc": ([1], 0.430467)},
    "Lamb": {"beta1_pow_acc": ([1], 0.430467), "beta2_pow_acc": ([1], 0.992028)},
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_kept_as_in_paddle_and_tell_the_steps(name):
    def after(parameter, optim, steps):
        for i in range(steps):
            parameter.grad = parameter.detach() * 0.5 + i
            optim.step()

    one = nn.Parameter(np.array([1.0, 2.0]), name="w")
    optim = getattr(optimizer, name)(0.01, parameters=[one])
    after(one, optim, 7)
    state = optim.state_dict()
    own = {f"w_{k}_0" for k in optim.state_names} | {"steps"}
    assert set(state) - own == {f"w_{k}_0" for k in COUNTS[name]}
    for kind, (shape, value) in COUNTS[name].items():
        kept = state[f"w_{kind}_0"]
        assert kept.shape == shape
        assert kept.dtype == (paddle.int64 if isinstance(value, int) else paddle.float64)
        np.testing.assert_allclose(kept.numpy(), np.full(shape, value), rtol=2e-5)
    two = nn.Parameter(one.numpy(), name="w")
    again = getattr(optimizer, name)(0.01, parameters=[two])
    again.set_state_dict({k: v.numpy().copy() for k, v in state.items() if k != "steps"})
    after(one, optim, 3)
    after(two, again, 3)
    np.testing.assert_array_equal(two.numpy(), one.numpy())


def test_a_state_that_paddle_wrote_goes_by_names_and_tells_its_steps():
    """Keys and the powers as PaddlePaddle 3.3.1 writes them: beta^(t + 1) after t steps."""
    one = nn.Parameter(np.array([1.0, 2.0]), name="linear_7.w_0")
    adam = optimizer.Adam(0.1, parameters=[one], name="x")
    for _ in range(3):
        one.grad = paddle.ones([2], "float64")
        adam.step()
    after_three, state = one.numpy().copy(), adam.state_dict()
    assert state["linear_7.w_0_x_beta2_pow_acc_0"].item() == pytest.approx(0.999**4, rel=1e-12)
    assert all(isinstance(v, paddle.Tensor) for v in state.values())
    given = {k: v.numpy().copy() for k, v in state.items() if k != "steps"}
    assert (
        set(given)
        == {f"linear_7.w_0_x_{k}_0" for k in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")}
        == set(adam.get_opti_var_name_list())
    )
    adam.step()
    other = nn.Parameter(after_three, name="linear_7.w_0")
    again = optimizer.Adam(0.1, parameters=[other], name="x")
    again.set_state_dict(given)
    other.grad = paddle.ones([2], "float64")
    again.step()
    np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-15)


def test_a_state_of_an_earlier_version_with_lists_still_loads():
    """Names in order, counts and the rate as plain values; a parameter without a gradient has no state."""
    net, again = networks(), networks()
    made = [optimizer.Adam(0.1, parameters=n.parameters()) for n in (net, again)]
    (net(paddle.ones([1, 3], "float64"))).sum().backward()
    net.parameters()[1].clear_gradient(False)
    made[0].step()
    state = made[0].state_dict()
    names = [p.name for p in net.parameters()]
    assert state["steps"].tolist() == [1, 0, *[1] * (len(names) - 2)]
    made[1].set_state_dict(state)
    new = made[1].state_dict()
    made[1].set_state_dict(
        {**state, "steps": state["steps"].tolist(), "parameters": names, "learning_rate": 0.5}
    )
    old = made[1].state_dict()
    assert list(new) == list(old) and made[1].get_lr() == 0.5
    for key, value in new.items():
        np.testing.assert_array_equal(value.numpy(), old[key].numpy())
    for one, two in zip(list(state.values())[:-1], list(new.values())[:-1], strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_gradients_can_be_given():
    one, two = nn.Parameter(np.array([1.0])), nn.Parameter(np.array([1.0]))
    optim = optimizer.SGD(0.5, [one, two])
    optim.apply_gradients([(one, paddle.ones([1], "float64")), (two, None)])
    assert one.item() == 0.5 and two.item() == 1
    (pair,) = optim.append_regularization_ops([(two, paddle.ones([1], "float64"))], L2Decay(0.25))
    assert pair[1].item() == 1.25


def test_a_state_of_another_optimizer_is_refused_and_nothing_changes():
    net = networks()
    adam = optimizer.Adam(0.1, parameters=net.parameters())
    (net(paddle.ones([1, 3], "float64"))).sum().backward()
    adam.step()
    with pytest.raises(ValueError, match=r"state_dict: expected the state of 2 parameters, got 4"):
        optimizer.Adam(0.1, parameters=net.parameters()[:2]).set_state_dict(adam.state_dict())
    sgd = optimizer.SGD(0.1, net.parameters())
    sgd.step()
    before = adam.state_dict()
    with pytest.raises(ValueError, match="it has no moment1"):
        adam.set_state_dict(sgd.state_dict())
    assert adam.state_dict()["steps"].tolist() == before["steps"].tolist()
    other = optimizer.Adam(optimizer.lr.StepDecay(0.1, 3), parameters=net.parameters())
    with pytest.raises(ValueError, match="expected a scheduler"):
        other.set_state_dict(adam.state_dict())


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda p: optimizer.SGD("fast", p), TypeError, "learning_rate"),
        (lambda p: optimizer.SGD(float("inf"), p), ValueError, "learning_rate"),
        (lambda p: optimizer.SGD(0.1, {"params": [p]}), TypeError, "a single dict"),
        (lambda p: optimizer.SGD(float("nan"), p), ValueError, "learning_rate"),
        (lambda p: optimizer.SGD(0.1), ValueError, "parameters"),
        (lambda p: optimizer.SGD(0.1, p[0]), TypeError, "parameters"),
        (lambda p: optimizer.SGD(0.1, [3]), TypeError, "parameters"),
        (lambda p: optimizer.SGD(0.1, p * 2), ValueError, "more than once"),
        (lambda p: optimizer.SGD(0.1, p, weight_decay="l2"), TypeError, "weight_decay"),
        (lambda p: optimizer.SGD(0.1, p, weight_decay=-1.0), ValueError, "coeff"),
        (lambda p: optimizer.SGD(0.1, p, grad_clip=1.0), TypeError, "grad_clip"),
        (lambda p: optimizer.Momentum(0.1, "x", p), TypeError, "momentum"),
        (lambda p: optimizer.Adam(0.1, beta1=1.0, parameters=p), ValueError, "beta1"),
        (lambda p: optimizer.Adam(0.1, epsilon="x", parameters=p), TypeError, "epsilon"),
        (lambda p: optimizer.AdamW(0.1, parameters=p, weight_decay=-1.0), ValueError, "weight_decay"),
        (lambda p: optimizer.ASGD(0.1, 0, p), ValueError, "batch_num"),
        (lambda p: optimizer.Rprop(0.1, (0.2, 1.0), p), ValueError, "learning_rate_range"),
        (lambda p: optimizer.Rprop(0.1, parameters=p, etas=(1.5, 2.0)), ValueError, "etas"),
        (lambda p: optimizer.RMSProp(0.1, -1.0, parameters=p), ValueError, "rho"),
        (lambda p: optimizer.LBFGS(line_search_fn="golden", parameters=p), RuntimeError, "line_search_fn"),
    ],
)
def test_bad_settings_are_named(make, error, what):
    with pytest.raises(error, match=what):
        make([nn.Parameter(np.ones(1))])


def test_rates_are_set_and_read():
    optim = optimizer.SGD(0.1, [nn.Parameter(np.ones(1))])
    optim.set_lr(0.5)
    assert optim.get_lr() == 0.5
    optim.set_lr_scheduler(optimizer.lr.StepDecay(0.3, 2))
    assert optim.get_lr() == pytest.approx(0.3)
    with pytest.raises(RuntimeError, match="scheduler"):
        optim.set_lr(0.1)


def test_a_learners_kernel_takes_the_place(monkeypatch):
    seen = []
    monkeypatch.setattr(paddle.kernels, "sgd_step", lambda p, g, lr: seen.append((len(p), lr)))
    parameter = nn.Parameter(np.ones(1))
    optim = optimizer.SGD(0.1, [parameter])
    parameter.grad = paddle.ones([1], "float64")
    optim.step()
    assert seen == [(1, 0.1)] and parameter.item() == 1
