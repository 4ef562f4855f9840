"""Functions under `to_static` beside the same functions run eagerly: values, gradients, state and errors, bit for bit."""

import copy
import logging
import threading
from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.jit import to_static
from sampan.jit.function import KINDS, StaticFunction
from sampan.nn import functional as F

Tensor: Any = paddle.Tensor


def leaf(values: list[float]) -> Any:
    return paddle.to_tensor(values, stop_gradient=False)


def flat(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in parts for t in flat(part)]


def run(net: Any, forward: Any, make: Any, train: bool, calls: int) -> list[Any]:
    """All that calls leave behind: outputs, gradients, state."""
    seen: list[Any] = []
    for i in range(calls):
        paddle.seed(i)
        args = make(i)
        paddle.seed(100 + i)
        with paddle.set_grad_enabled(train):
            outputs = flat(forward(*args))
        seen += [t.data.clone() for t in outputs]
        if train:
            wanted = [(t.astype("float32") ** 2).mean() for t in outputs if not t.stop_gradient]
            sum(wanted[1:], wanted[0]).backward()
            seen += [None if p.grad is None else p.grad.data.clone() for p in net.parameters()]
            for p in net.parameters():
                p.clear_gradient(False)
    return seen + [v.data.clone() for v in net.state_dict().values()]


def same(net: Any, make: Any, train: bool = True, calls: int = 3) -> StaticFunction:
    """Assert that Programs leave behind what eager calls do; the StaticFunction."""
    state = {k: v.numpy() for k, v in net.state_dict().items()}
    eager = run(net, net.forward, make, train, calls)
    net.set_state_dict(state)
    static = StaticFunction(net.forward, owner=net)
    programs = run(net, static, make, train, calls)
    assert len(eager) == len(programs)
    for one, other in zip(eager, programs, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one.nan_to_num(), other.nan_to_num())
    return static


def recorded(static: StaticFunction) -> bool:
    return bool(static._kinds) and not any(kind.eager for kind in static._kinds.values())


def one(*shape: int) -> Any:
    return lambda i: (paddle.randn(list(shape)),)


NETWORKS: dict[str, Any] = {
    "lenet": (lambda: paddle.vision.models.LeNet(), one(2, 1, 28, 28)),
    "resnet18": (lambda: paddle.vision.models.resnet18(num_classes=4), one(2, 3, 32, 32)),
    "mobilenet": (lambda: paddle.vision.models.mobilenet_v2(scale=0.25, num_classes=4), one(2, 3, 32, 32)),
    "shufflenet": (
        lambda: paddle.vision.models.shufflenet_v2_x0_25(num_classes=4),
        one(1, 3, 32, 32),
    ),
    "lstm": (lambda: nn.LSTM(4, 8, 2, direction="bidirect", dropout=0.3), one(3, 5, 4)),
    "gru": (lambda: nn.GRU(4, 8), one(3, 5, 4)),
    "rnn, lengths": (
        lambda: nn.SimpleRNN(4, 8),
        lambda i: (paddle.randn([3, 5, 4]), None, paddle.to_tensor([5, 3, 2])),
    ),
    "encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2),
        lambda i: (paddle.randn([2, 5, 8]), paddle.randn([2, 1, 5, 5]) > 0.2),
    ),
    "transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16),
        lambda i: (paddle.randn([2, 5, 8]), paddle.randn([2, 4, 8])),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("train", [True, False])
def test_a_network_computes_what_it_computes_eagerly(name: str, train: bool) -> None:
    make, inputs = NETWORKS[name]
    paddle.seed(0)
    net = make()
    net.train() if train else net.eval()
    static = same(net, inputs, train)
    assert recorded(static) and len(static.programs) == 1


class Branches(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.a(x)
        if y.sum() > 0:
            y = self.b(y)
        n = 0
        while y.abs().mean() > 0.4 and n < 3:
            y, n = y * 0.5, n + 1
        return y, n


def test_values_that_python_reads_are_guards() -> None:
    paddle.seed(1)
    static = same(Branches(), lambda i: (paddle.randn([2, 4]) * 3,), calls=12)
    assert recorded(static) and len(static.programs) > 2
    assert all(p.guards and p.guards[0].line.startswith("test_function.py:") for p in static.programs)


def test_a_guard_that_fails_leaves_no_trace_of_the_first_attempt() -> None:
    class Counted(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1D(4)

        def forward(self, x: Any) -> Any:
            y = F.dropout(self.norm(x), 0.5) + paddle.rand([4])
            return y * 2 if x.sum() > 0 else y

    same(
        Counted(),
        lambda i: (paddle.full([3, 4], 1.0 if i % 3 else -1.0) + paddle.randn([3, 4]) / 9,),
        calls=8,
    )


class InPlace(nn.Layer):
    count: Any

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.register_buffer("count", paddle.zeros([1]))

    def forward(self, x: Any) -> Any:
        y = self.a(x) * 2
        y[0] = 0.5
        z = y.detach() * 3
        self.count.add_(paddle.ones([1]))
        with paddle.no_grad():
            w = y * 7
        y.tanh_()
        return {"y": y, "w": (w, z), "x": x, "count": self.count + 0, "n": 3, "none": None, "kind": y.dtype}


def test_changes_in_place_detach_and_no_grad() -> None:
    static = same(InPlace(), one(2, 4))
    assert recorded(static)
    x = paddle.ones([2, 4])
    answer = static(x)
    assert answer["x"] is x and answer["n"] == 3 and answer["none"] is None


def test_row_sparse_gradients_and_random_numbers() -> None:
    class Table(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.a = nn.Embedding(10, 4, sparse=True), nn.Linear(4, 4)

        def forward(self, ids: Any) -> Any:
            return F.dropout(self.a(self.rows(ids)), 0.5) + paddle.rand([4])

    assert recorded(same(Table(), lambda i: (paddle.randint(0, 10, [3]),)))


# --- what runs eagerly, and says why once ---


def told(caplog: Any, static: Any, calls: list[Any]) -> list[str]:
    with caplog.at_level(logging.WARNING, "sampan.jit"):
        for args in calls:
            static(*args)
    return [record.getMessage() for record in caplog.records]


def test_random_numbers_of_numpy(caplog: Any) -> None:
    static = to_static(lambda x: x * float(np.random.rand()))
    messages = told(caplog, static, [(paddle.ones([2]),)] * 4)
    assert len(messages) == 1 and "random numbers outside this library" in messages[0]
    assert static(paddle.ones([2])).tolist() != static(paddle.ones([2])).tolist()


def test_a_layer_that_counts_its_calls(caplog: Any) -> None:
    class Counts(nn.Layer):
        calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x * self.calls

    net = to_static(Counts())
    with caplog.at_level(logging.WARNING, "sampan.jit"):
        assert [net(paddle.ones([1])).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert len(caplog.records) == 1 and "assigns an attribute of a layer" in caplog.records[0].getMessage()


def test_a_list_that_is_changed(caplog: Any) -> None:
    def keep(x: Any, kept: list[Any]) -> Any:
        kept.append(x * 2)
        return kept

    static, seen = to_static(keep), []
    with caplog.at_level(logging.WARNING, "sampan.jit"):
        for n in range(1, 5):
            held: list[Any] = []
            assert static(paddle.full([1], float(n)), held) is held and held[0].item() == 2 * n

        @to_static
        def collect(x: Any) -> Any:
            seen.append(x)
            return x + 1

        for _ in range(4):
            collect(paddle.ones([1]))
    assert len(seen) == 4 and len(caplog.records) == 2
    assert all("changes a list" in record.getMessage() for record in caplog.records)


def test_too_many_outcomes(caplog: Any) -> None:
    static = to_static(lambda x: x * float(x.max()))
    messages = told(caplog, static, [(paddle.full([2], i + 0.5),) for i in range(12)])
    assert len(messages) == 1 and "more than 8 outcomes" in messages[0] and "test_function.py:" in messages[0]
    assert static(paddle.full([2], 3.0)).tolist() == [9, 9]


def test_a_hook_inside_and_a_pylayer(caplog: Any) -> None:
    class Square(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensor()[0]

    def hooked(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y

    for function, wanted in ((hooked, 20.0), (Square.apply, 6.0)):
        static = to_static(lambda x, function=function: function(x).sum())
        for _ in range(3):
            x: Any = paddle.to_tensor([3.0], stop_gradient=False)
            static(x).backward()
            assert x.grad.tolist() == [wanted]


# --- kinds of calls ---


def test_shapes_dtypes_arguments_and_modes_have_programs_of_their_own() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    static = StaticFunction(lambda x, flag=True, scale=2: net(x) * scale if flag else x)
    x = paddle.ones([2, 4])
    for _ in range(2):
        assert static(x, flag=False) is x
        assert static(paddle.ones([3, 4])).shape == [3, 4]
    net.eval()
    for scale in (2, 3, 2, 3):
        assert torch.equal(static(x, scale=scale).data, (net(x) * scale).data)
    net.train()
    assert (static(x).numpy() == 0).any()
    for _ in range(2):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            assert net[0](x).dtype == paddle.bfloat16 and static(x).dtype == paddle.bfloat16
        assert static(x).dtype == paddle.float32


def test_parameters_that_are_replaced_frozen_or_moved() -> None:
    net = to_static(nn.Linear(2, 2))
    x = paddle.ones([1, 2])
    for _ in range(2):
        net(x).sum().backward()
    net.weight.stop_gradient = True
    net.weight.clear_gradient(False)
    for _ in range(2):
        net(x).sum().backward()
    assert net.weight.grad is None
    net.weight = net.create_parameter([2, 2])
    for _ in range(2):
        assert torch.equal(net(x).data, (x @ net.weight + net.bias).data)
    net(x).sum().backward()
    assert net.weight.grad is not None
    net.to(dtype="float64")
    assert net(x.astype("float64")).dtype == paddle.float64
    net.register_forward_post_hook(lambda layer, inputs, output: output * 0)
    assert net(x.astype("float64")).tolist() == [[0, 0]]


FACTOR = 2


def scaled(x: Any) -> Any:
    return x * FACTOR


def test_numbers_that_the_function_names_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        k = 1

        def __init__(self) -> None:
            self.k = 5

        @to_static
        def method(self, x: Any) -> Any:
            return x * self.k

    n, x, static, plain = 3, paddle.ones([1]), to_static(scaled), Plain()
    inner = to_static(lambda x: x * n)
    for _ in range(3):
        assert (static(x).item(), inner(x).item(), plain.method(x).item()) == (2, 3, 5)
    monkeypatch.setitem(globals(), "FACTOR", 7)
    n, plain.k = 8, 9
    for _ in range(3):
        assert (static(x).item(), inner(x).item(), plain.method(x).item()) == (7, 8, 9)


def test_one_tensor_given_twice() -> None:
    def add(x: Any, y: Any) -> Any:
        x.add_(y)
        return x + y

    static = to_static(add)
    for _ in range(3):
        assert static(paddle.ones([1]), paddle.ones([1])).item() == 3
        x = paddle.ones([1])
        assert static(x, x).item() == 4


def test_memory_of_many_shapes_is_bounded() -> None:
    static = to_static(lambda x: x + 1)
    for _ in range(2):
        for n in range(3 * KINDS):
            assert static(paddle.ones([n])).shape == [n]
    assert len(static._kinds) <= KINDS


def test_threads() -> None:
    net = to_static(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    eager = net.forward.dygraph_function
    right: list[bool] = []

    def work(k: int) -> None:
        for n in range(20):
            x = paddle.full([n % 3 + 1, 3], float(k))
            right.append(torch.equal(net(x).data, eager(x).data))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 80


# --- gradients ---


def test_gradients_of_gradients() -> None:
    static = to_static(lambda x: (x**3).sum())
    for _ in range(3):
        x = leaf([1.0, 2.0])
        first: Any = paddle.grad(static(x), x, create_graph=True)[0]
        second: Any = paddle.grad(first.sum(), x)[0]
        assert first.tolist() == [3, 12] and second.tolist() == [6, 12]


def test_two_backwards_and_two_runs_before_them() -> None:
    static = to_static(lambda x: x.exp() * x)
    x, y = (leaf([v]) for v in (1.0, 2.0))
    for _ in range(3):
        a, b = static(x).sum(), static(y).sum()
        b.backward(retain_graph=True)
        a.backward()
        b.backward()
        assert np.allclose([x.grad.item(), y.grad.item()], [2 * np.e, 2 * 3 * np.e**2])
        x.clear_gradient()
        y.clear_gradient()
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        b.backward()


def test_a_parameter_overwritten_between_forward_and_backward() -> None:
    net = to_static(nn.Linear(2, 1))
    x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
    for _ in range(2):
        loss = net(x).sum()
        loss.backward()
    loss = net(x).sum()
    net.weight.set_value(paddle.zeros([2, 1]))
    with pytest.raises(RuntimeError, match="in-place operation"):
        loss.backward()


# --- errors and use ---


def test_errors_are_those_of_the_eager_call() -> None:
    table = to_static(nn.Embedding(5, 3))
    for _ in range(2):
        table(paddle.to_tensor([1, 2]))
    with pytest.raises(ValueError, match="expected an id from 0 to 4, got 7"):
        table(paddle.to_tensor([1, 7]))
    net = to_static(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="linear: expected x"):
        net(paddle.ones([2, 4]))


def test_arrays_are_taken_as_tensors_and_the_program_can_be_asked_for() -> None:
    static = to_static(lambda x, y=2.0: x + y, input_spec=[paddle.static.InputSpec([None, 2], name="x")])
    assert [i.name for i in static.concrete_program.inputs] == ["x"]
    for _ in range(2):
        answer = static(np.ones([3, 2], "float32"), y=np.ones([2], "float32"))
        assert isinstance(answer, Tensor) and answer.tolist() == [[2, 2]] * 3
    program, _ = static.get_concrete_program(paddle.ones([2]))
    assert program.main_program.calls[0].name == "add" and len(program.outputs) == 1
    assert static.main_program is program.main_program


def test_methods_copies_and_rollback() -> None:
    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 2)

        @to_static
        def forward(self, x: Any) -> Any:
            return self.a(x)

    net, x = Net(), paddle.ones([1, 2])
    assert net(x).tolist() == net(x).tolist()
    other: Any = copy.deepcopy(net)
    other.a.weight.set_value(paddle.zeros([2, 2]))
    assert other(x).tolist() == [[0, 0]] == other(x).tolist() != net(x).tolist()
    layer = to_static(nn.Linear(2, 2))
    layer(x)
    assert layer.forward.programs and "affine" in str(layer.forward.programs[0])
    layer(x)
    assert "affine(x0, p0, p1)" in layer.forward.code
    layer.forward.rollback()
    assert not isinstance(layer.forward, StaticFunction)


def test_an_observer_sees_every_operator() -> None:
    static = to_static(lambda x: x * 2 + 1)
    for _ in range(2):
        static(paddle.ones([2]))
    with paddle.trace() as seen:
        static(paddle.ones([2]))
    assert [r.operator for r in seen] == ["multiply", "add"]
