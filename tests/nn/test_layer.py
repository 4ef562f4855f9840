"""Layer: what it holds, names, state, hooks, modes."""

import copy
import pickle

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from tests.nn.drawn import random


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("seen", paddle.zeros([2]))
        self.register_buffer("scratch", paddle.zeros([2]), persistable=False)

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


def test_parameters_in_the_order_of_assignment_within_each_layer():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert len(net.parameters()) == 5
    assert [n for n, _ in net.named_sublayers()] == ["first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    assert all(isinstance(p, paddle.Tensor) and not p.stop_gradient and p.trainable for p in net.parameters())


def test_an_attribute_that_becomes_a_layer_or_parameter_is_ordered_by_that_assignment():
    class Late(nn.Layer):
        def __init__(self):
            super().__init__()
            self.blocks, self.scale, self.last = [], None, None  # plain attributes so far
            self.first, self.shift = nn.Linear(1, 1), self.create_parameter([1])
            self.blocks = nn.LayerList([nn.Linear(1, 1, bias_attr=False)])
            self.scale, self.last = self.create_parameter([1]), nn.Linear(1, 1, bias_attr=False)

    net = Late()
    order = ["shift", "scale", "first.weight", "first.bias", "blocks.0.weight", "last.weight"]
    assert [n for n, _ in net.named_parameters()] == order
    net.shift = net.first = None
    assert [n for n, _ in net.named_parameters()] == ["scale", "blocks.0.weight", "last.weight"]
    net.shift, net.first = net.create_parameter([1]), nn.Linear(1, 1)
    assert [n for n, _ in net.named_parameters()] == order


def test_a_shared_layer_counts_once():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.ReLU(), shared)
    assert len(net.parameters()) == 2
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    assert len(tied.parameters()) == 3


def test_state_dict_holds_parameters_and_persistable_buffers():
    state = Net().state_dict()
    assert sorted(state) == sorted([*NAMES, "seen"])


def test_set_state_dict_copies_values_and_reports_names():
    source, target = Net(), Net()
    state = dict(source.state_dict())
    missing, unexpected = target.set_state_dict(state)
    assert (missing, unexpected) == ([], [])
    for name, tensor in target.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), state[name].numpy())
        assert tensor is not state[name]
    del state["scale"]
    state["other"] = paddle.ones([1])
    with pytest.warns(UserWarning, match="'scale'"):
        missing, unexpected = target.set_state_dict(state)
    assert (missing, unexpected) == (["scale"], ["other"])


def test_set_state_dict_takes_arrays_and_own_names():
    net = nn.Linear(2, 3)
    net.set_state_dict({"weight": np.ones((2, 3), np.float32), "bias": np.zeros(3, np.float32)})
    assert net.weight.numpy().sum() == 6
    by_name = {net.weight.name: np.zeros((2, 3)), net.bias.name: np.ones(3)}
    net.set_state_dict(by_name, use_structured_name=False)
    assert net.weight.numpy().sum() == 0 and net.bias.numpy().sum() == 3


def test_what_does_not_fit_in_a_state_is_left_and_named():
    net = nn.Linear(2, 3)
    before = net.bias.numpy().copy()
    with pytest.warns(UserWarning, match=r"bias has shape \[4\] instead of \[3\]"):
        found = net.set_state_dict({"weight": np.ones((2, 3)), "bias": np.ones(4)})
    assert found == (["bias"], ["bias"]) and net.weight.tolist() == [[1, 1, 1], [1, 1, 1]]
    np.testing.assert_array_equal(net.bias.numpy(), before)
    with pytest.warns(UserWarning, match="nothing was given for 'weight', 'bias'"):
        found = net.set_state_dict({"conv.kernel": np.ones((2, 3))})
    assert found == (["weight", "bias"], ["conv.kernel"])


def test_an_attribute_that_holds_a_parameter_takes_nothing_else():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
    net.register_buffer("counts", paddle.ones([1]))
    for owner, name, value in (
        (net, "0", 1),
        (net[0], "weight", paddle.ones([2, 3])),
        (net[1], "_mean", 0),
        (net, "counts", 2),
    ):
        held = getattr(owner, name)
        with pytest.raises(TypeError, match=name):
            setattr(owner, name, value)
        assert getattr(owner, name) is held
    net.counts = None
    net[0].bias = None
    with pytest.raises(KeyError, match="layer or a buffer"):
        net.add_parameter("0", net[0].weight)


def test_statistics_are_parameters_that_are_not_trained():
    names = dict(nn.BatchNorm2D(3).named_parameters())
    assert [(n, p.trainable) for n, p in names.items()] == [
        ("weight", True), ("bias", True), ("_mean", False), ("_variance", False)
    ]  # fmt: skip
    assert nn.BatchNorm2D(3).buffers() == []
    assert nn.BatchNorm2D(3).full_name().startswith("batch_norm2d_")


def test_train_and_eval_reach_every_layer():
    net = Net()
    net.eval()
    assert not any(layer.training for layer in net.sublayers(include_self=True))
    net.train()
    assert all(layer.training for layer in net.sublayers(include_self=True))


def test_hooks_see_and_replace_inputs_and_outputs_until_removed():
    layer = nn.Identity()
    x = paddle.ones([2])
    seen = []
    pre = layer.register_forward_pre_hook(lambda _layer, inputs: (inputs[0] * 3,))
    post = layer.register_forward_post_hook(
        lambda _layer, inputs, outputs: seen.append(inputs) or outputs + 1
    )
    assert layer(x).numpy().tolist() == [4, 4]
    assert seen[0][0].numpy().tolist() == [3, 3]
    pre.remove()
    assert layer(x).numpy().tolist() == [2, 2]
    post.remove()
    assert layer(x) is x


def test_hooks_of_one_layer_leave_others_alone():
    one, other = nn.Identity(), nn.Identity()
    one.register_forward_post_hook(lambda _layer, _inputs, outputs: outputs * 0)
    assert other(paddle.ones([1])).item() == 1


def test_apply_visits_children_first():
    order = []
    Net().apply(lambda layer: order.append(type(layer).__name__))
    assert order == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_to_changes_floating_parameters_and_buffers():
    net = Net()
    net(paddle.ones([1, 3])).sum().backward()
    net.to(dtype="float64")
    assert {str(p.dtype) for p in [*net.parameters(), *net.buffers()]} == {"paddle.float64"}
    assert str(net.scale.grad.dtype) == "paddle.float64"
    assert net(paddle.ones([1, 3], dtype="float64")).dtype is paddle.float64
    assert {str(p.dtype).split(".")[-1] for p in net.astype("int8").parameters()} == {"int8"}


def test_names_and_full_names_are_unique():
    one, two = nn.Linear(1, 1), nn.Linear(1, 1)
    assert one.full_name().startswith("linear_") and one.full_name() != two.full_name()
    assert one.weight.name == f"{one.full_name()}.w_0" and one.bias.name == f"{one.full_name()}.b_0"


@pytest.mark.parametrize("name", ["forward", "training"])
def test_names_that_a_layer_cannot_hold(name):
    with pytest.raises(KeyError, match="name"):
        nn.Layer().add_sublayer(name, nn.ReLU())


@pytest.mark.parametrize("name", ["", "a.b", "forward", "training"])
def test_names_that_no_parameter_can_have(name):
    with pytest.raises(KeyError, match="name"):
        nn.Layer().add_parameter(name, nn.Linear(1, 1).weight)


def test_what_can_be_added():
    layer = nn.Layer()
    with pytest.raises(TypeError, match="parameter: expected a Parameter"):
        layer.add_parameter("p", paddle.ones([1]))
    with pytest.raises(TypeError, match="sublayer: expected a Layer"):
        layer.add_sublayer("s", 3)
    with pytest.raises(TypeError, match="tensor: expected a Tensor"):
        layer.register_buffer("b", 3)
    with pytest.raises(NotImplementedError, match="forward"):
        layer(1)


def test_deepcopy_and_pickle_make_independent_networks():
    net = Net()
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        x = paddle.ones([1, 3])
        np.testing.assert_array_equal(made(x).numpy(), net(x).numpy())
        assert [n for n, _ in made.named_parameters()] == NAMES
        made.scale.set_value(np.array([7.0], np.float32))
        assert net.scale.item() == 2.0


def test_repr_shows_the_tree():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, dtype=float32)\n  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )


class Shared(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.plain = paddle.ones([2])
        self.register_buffer("kept", paddle.zeros([1]))

    def forward(self, x, factor=1.0):
        return self.a(x) * factor


def test_what_stands_at_a_name():
    net = Shared()
    assert net.get_sublayer("a") is net.a and net.get_submodule("") is net
    assert net.get_parameter("a.weight") is net.a.weight and net.get_buffer("kept") is net.kept
    net.set_sublayer("a", nn.Linear(2, 5))
    assert net.a.weight.shape == [2, 5]
    for call, error in (
        (lambda: net.get_sublayer("zz"), AttributeError),
        (lambda: net.get_sublayer("plain"), AttributeError),
        (lambda: net.set_sublayer("", net.a), ValueError),
        (lambda: net.set_sublayer("kept", net.a), AttributeError),
        (lambda: net.set_sublayer("new", net.a, strict=True), AttributeError),
        (lambda: net.backward(), ValueError),
        (lambda: net.train("yes"), ValueError),
        (lambda: net.get_extra_state(), RuntimeError),
    ):
        with pytest.raises(error):
            call()


def test_shared_layers_buffers_and_state_hooks():
    net = Shared()
    assert sorted(net.state_dict()) == ["a.bias", "a.weight", "b.bias", "b.weight", "kept"]
    assert [n for n, _ in net.named_buffers()] == ["plain", "kept"]
    assert [n for n, _ in net.named_modules()] == ["", "a"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert net.load_state_dict(net.state_dict()).missing_keys == []
    with pytest.raises(RuntimeError, match="kept"):
        net.load_state_dict({"a.weight": net.a.weight})
    handle = net.register_state_dict_hook(lambda state: {k: v for k, v in state.items() if "a." in k})
    assert sorted(net.state_dict()) == ["a.bias", "a.weight"]
    handle.remove()
    assert len(net.state_dict()) == 5
    assert (
        net.double().plain.dtype == paddle.float64
        and net.bfloat16([nn.Linear]).a.weight.dtype == paddle.float64
    )
    net.requires_grad_(False)
    assert all(p.stop_gradient for p in net.parameters())


def test_hooks_with_keywords_first_and_always():
    net, seen = Shared(), []
    net.register_forward_pre_hook(lambda layer, inputs, kwargs: (inputs, {"factor": 3.0}), with_kwargs=True)
    net.register_forward_hook(lambda layer, inputs, out: seen.append("second"))
    net.register_forward_post_hook(
        lambda layer, inputs, kwargs, out: seen.append(kwargs["factor"]), prepend=True, with_kwargs=True
    )
    net(paddle.ones([1, 2]), factor=1.0)
    assert seen == [3.0, "second"]
    net.register_forward_hook(lambda layer, inputs, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="linear"):
        net(paddle.ones([1, 7]))
    assert seen[2:] == [None]


def test_a_hook_of_a_layer_goes_without_a_word():
    layer, seen = nn.Linear(2, 2), []
    handles = [
        layer.register_forward_pre_hook(lambda *given: seen.append("before")),
        layer.register_forward_post_hook(lambda *given: seen.append("after")),
        layer.register_state_dict_hook(lambda *given: seen.append("state")),
    ]
    assert [handle.remove() for handle in handles] == [None] * 3
    layer(random(1, 2))
    layer.state_dict()
    assert seen == []
