"""Training programs that begin with `paddle.set_device("gpu")` and change nothing else: their numbers are the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.datasets import load
from sampan.models.gpt import GPT
from sampan.models.lenet import LeNet
from sampan.nn import functional as F
from tests.gpu.places import GPU, filled, here, needs_gpu, on, same

pytestmark = needs_gpu
OPTIMIZERS = {
    "SGD": {}, "Momentum": {"momentum": 0.9, "use_nesterov": True}, "Adagrad": {}, "Adadelta": {}, "RMSProp": {"centered": True},
    "Adam": {"weight_decay": 0.01}, "AdamW": {"weight_decay": 0.1}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Lamb": {},
    "ASGD": {}, "Rprop": {}, "Ftrl": {},
}  # fmt: skip  # one row of fields to a line
RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((32, 12)).astype("float32"), RANDOM.integers(0, 5, 32)
IMAGES = RANDOM.standard_normal((8, 3, 16, 16)).astype("float32")
IDS = np.minimum(RANDOM.zipf(1.3, (32, 4)), 200) - 1


def mlp():
    return filled(nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5)))


def steps(net, optimizer, count, x, y, loss=F.cross_entropy):
    """Losses of a few steps, and the parameters afterwards."""
    found = []
    for _ in range(count):
        value = loss(net(paddle.to_tensor(x)), paddle.to_tensor(y))
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(value)
    for p in net.parameters():
        here(p) if paddle.get_device() != "cpu" else None
    return [found, [p.numpy() for p in net.parameters()]]


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, count):
    def program():
        net = mlp()
        rule = getattr(paddle.optimizer, name)
        clip = nn.ClipGradByGlobalNorm(0.5)
        return steps(
            net, rule(0.01, parameters=net.parameters(), grad_clip=clip, **OPTIMIZERS[name]), count, X, Y
        )

    same(program, tolerance=2e-4)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "name", ["SGD", "Momentum", "Adagrad", "RMSProp", "Adam", "AdamW", "Adamax", "NAdam"]
)
def test_gradients_of_rows(name, lazy):
    """nn.Embedding's gradient has the rows of the batch alone."""
    settings = {"lazy_mode": True} if lazy else {}
    if lazy and name not in ("Adam", "AdamW"):
        pytest.skip(f"{name} has no lazy mode")

    def program():
        net = filled(nn.Sequential(nn.Embedding(200, 8, sparse=True), nn.Flatten(), nn.Linear(32, 5)))
        return steps(
            net, getattr(paddle.optimizer, name)(0.01, parameters=net.parameters(), **settings), 5, IDS, Y
        )

    same(program, tolerance=2e-4)


def test_lbfgs():
    def program():
        net = mlp()
        rule = paddle.optimizer.LBFGS(
            0.5, max_iter=4, line_search_fn="strong_wolfe", parameters=net.parameters()
        )
        x, y = paddle.to_tensor(X), paddle.to_tensor(Y)

        def closure():
            rule.clear_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return [rule.step(closure) for _ in range(2)]

    same(program, tolerance=1e-3)


class Residual(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Conv2D(6, 6, 3, padding=1, bias_attr=False) for _ in "ab")
        self.norms = nn.LayerList([nn.BatchNorm2D(6), nn.BatchNorm2D(6)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


class Recurrent(nn.Layer):
    def __init__(self, kind, **settings):
        super().__init__()
        self.inner = getattr(nn, kind)(5, 8, num_layers=2, **settings)
        self.out = nn.Linear(16 if settings.get("direction") == "bidirect" else 8, 5)

    def forward(self, x):
        length = paddle.to_tensor([3, 6] * (x.shape[0] // 2))
        return self.out(self.inner(x, sequence_length=length)[0][:, -1])


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        block = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0)
        self.inner, self.out = nn.TransformerEncoder(block, 2), nn.Linear(12, 5)

    def forward(self, x):
        return self.out(self.inner(x).mean(1))


NETWORKS = {
    "convolutions": (lambda: nn.Sequential(nn.Conv2D(3, 6, 3), Residual(), Residual(), nn.AdaptiveAvgPool2D(2), nn.Flatten(), nn.Linear(24, 5)), IMAGES),
    "pooling": (lambda: nn.Sequential(nn.Conv2D(3, 6, 3, groups=3), nn.GroupNorm(3, 6), nn.Swish(), nn.MaxPool2D(2), nn.Conv2DTranspose(6, 4, 3, stride=2), nn.InstanceNorm2D(4), nn.Upsample(scale_factor=2, mode="bilinear"), nn.AvgPool2D(3), nn.Flatten(), nn.LazyLinear(5) if hasattr(nn, "LazyLinear") else nn.Linear(400, 5)), IMAGES),
    "lstm": (lambda: Recurrent("LSTM", direction="bidirect"), RANDOM.standard_normal((8, 6, 5)).astype("float32")),
    "gru": (lambda: Recurrent("GRU"), RANDOM.standard_normal((8, 6, 5)).astype("float32")),
    "rnn": (lambda: Recurrent("SimpleRNN"), RANDOM.standard_normal((8, 6, 5)).astype("float32")),
    "transformer": (Encoder, RANDOM.standard_normal((8, 6, 12)).astype("float32")),
}  # fmt: skip  # one row of fields to a line


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    make, x = NETWORKS[name]

    def program():
        net = filled(make())
        return steps(net, paddle.optimizer.Momentum(0.01, parameters=net.parameters()), 4, x, Y[:8])

    same(program, tolerance=1e-3)


def test_gpt():
    tokens = RANDOM.integers(0, 50, (2, 17))

    def program():
        net = filled(GPT(50, 16, num_layers=2, num_heads=2, width=16, dropout=0.0), scale=0.1)
        rule = paddle.optimizer.AdamW(1e-2, parameters=net.parameters())

        def loss(logits, y):
            return F.cross_entropy(logits.reshape([-1, 50]), y.reshape([-1]))

        return steps(net, rule, 4, tokens[:, :-1], tokens[:, 1:], loss)

    same(program, tolerance=2e-3)


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_learns(dtype, level):
    """With GradScaler; the loss falls as it does in float32, and nothing is skipped for long."""

    def program(kind):
        net = mlp()
        rule = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0, enable=kind == "float16")
        if kind and level == "O2":
            net, rule = paddle.amp.decorate(net, rule, level="O2", dtype=kind)
        losses = []
        for _ in range(40):
            with paddle.amp.auto_cast(enable=bool(kind), level=level, dtype=kind or "float16"):
                loss = F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
            scaler.scale(loss).backward()
            scaler.step(rule)
            scaler.update()
            rule.clear_grad()
            losses.append(float(loss))
        return losses

    exact, mixed = on("cpu", program, ""), on(GPU, program, dtype)
    assert mixed[-1] < 0.5 * mixed[0]
    np.testing.assert_allclose(mixed, exact, rtol=0.1, atol=0.05)


def test_a_scaler_skips_a_step_with_an_overflow():
    def program():
        net = mlp()
        rule = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=2.0**15, decr_every_n_nan_or_inf=1)
        before = net[0].weight.numpy()
        with paddle.amp.auto_cast(dtype="float16"):
            loss = F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
        scaler.scale(loss * float("inf")).backward()
        scaler.step(rule)
        scaler.update()
        return [net[0].weight.numpy() - before, scaler.state_dict()["scale"]]

    unchanged, scale = same(program)
    assert not np.abs(unchanged).any()
    assert np.asarray(scale).ravel()[0] == 2.0**14


def test_lenet_reads_digits():
    data = load("digits")

    def program():
        net = LeNet(10, 8)
        rule = paddle.optimizer.AdamW(2e-3, parameters=net.parameters())
        batches = paddle.io.DataLoader(data.train, batch_size=64, shuffle=True, drop_last=True)
        for _ in range(12):
            for x, y in batches:
                here(paddle.to_tensor(x)) if paddle.get_device() != "cpu" else None
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                rule.step()
                rule.clear_grad()
        net.eval()
        x, y = data.test.__getitems__(np.arange(len(data.test)))
        with paddle.no_grad():
            right = net(paddle.to_tensor(x)).argmax(-1) == paddle.to_tensor(y).squeeze(-1)
            return float(right.astype("float32").mean())

    exact, found = on("cpu", program), on(GPU, program)
    assert exact > 0.94 and found > exact - 0.02


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_gives_tensors_of_the_device(workers):
    data = paddle.io.TensorDataset([paddle.to_tensor(X), paddle.to_tensor(Y)])

    def program():
        return [list(batch) for batch in paddle.io.DataLoader(data, batch_size=8, num_workers=workers)]

    got = same(program)
    here(got[0][0]), here(got[0][1])


def test_model_fits():
    data = paddle.io.TensorDataset([paddle.to_tensor(X), paddle.to_tensor(Y[:, None])])

    def program():
        model = paddle.Model(mlp())
        rule = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        model.prepare(rule, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
        model.fit(data, batch_size=8, epochs=3, shuffle=False, verbose=0)
        found = model.evaluate(data, batch_size=16, verbose=0)
        return [
            found["loss"],
            found["acc"],
            model.predict(data, batch_size=32, stack_outputs=True, verbose=0)[0],
        ]

    same(program, tolerance=1e-3)


def test_model_fits_with_mixed_precision():
    data = paddle.io.TensorDataset([paddle.to_tensor(X), paddle.to_tensor(Y[:, None])])

    def program():
        model = paddle.Model(mlp())
        rule = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        model.prepare(rule, nn.CrossEntropyLoss(), amp_configs={"level": "O1", "dtype": "bfloat16"})
        model.fit(data, batch_size=8, epochs=3, shuffle=False, verbose=0)
        return model.evaluate(data, batch_size=16, verbose=0)["loss"]

    same(program, tolerance=0.1)


@pytest.mark.parametrize("saved_on", ["cpu", "gpu"])
def test_files_cross_devices(tmp_path, saved_on):
    """What is saved on one device is loaded on the other, and training goes on as it would have."""
    places = {"cpu": "cpu", "gpu": GPU}
    other = "cpu" if saved_on == "gpu" else "gpu"

    def first():
        net = mlp()
        rule = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        steps(net, rule, 3, X, Y)
        paddle.save(net.state_dict(), str(tmp_path / "net.pdparams"))
        paddle.save(rule.state_dict(), str(tmp_path / "net.pdopt"))
        return steps(net, rule, 3, X, Y)

    def second():
        net = mlp()
        rule = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        net.set_state_dict(paddle.load(str(tmp_path / "net.pdparams")))
        rule.set_state_dict(paddle.load(str(tmp_path / "net.pdopt")))
        return steps(net, rule, 3, X, Y)

    expected, got = on(places[saved_on], first), on(places[other], second)
    np.testing.assert_allclose([float(v) for v in got[0]], [float(v) for v in expected[0]], rtol=1e-4)


@pytest.mark.parametrize("full_graph", [True, False])
def test_recorded_functions(full_graph):
    def program():
        net = filled(
            nn.Sequential(
                nn.Conv2D(3, 6, 3),
                nn.BatchNorm2D(6),
                nn.ReLU(),
                nn.MaxPool2D(2),
                nn.Flatten(),
                nn.Linear(294, 5),
            )
        )
        fast = paddle.jit.to_static(net, full_graph=full_graph)
        return steps(fast, paddle.optimizer.SGD(0.01, parameters=net.parameters()), 4, IMAGES, Y[:8])

    same(program, tolerance=1e-3)


def test_recorded_branches_and_loops():
    @paddle.jit.to_static
    def turn(x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        for _ in range(3):
            y = paddle.tanh(y) + x
        while y.sum() > 10:
            y = y / 2
        return y

    def program():
        given = [paddle.to_tensor(X), paddle.to_tensor(-X), paddle.to_tensor(np.abs(X))]
        return [turn(x) for x in given for _ in range(2)]

    same(program)


def test_saved_programs(tmp_path):
    def save():
        net = filled(nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5)))
        net.eval()
        paddle.jit.save(net, str(tmp_path / "net"), [paddle.static.InputSpec([None, 12], "float32")])
        return net(paddle.to_tensor(X))

    def load_again():
        return paddle.jit.load(str(tmp_path / "net"))(paddle.to_tensor(X))

    for first, second in ((GPU, "cpu"), (GPU, GPU), ("cpu", GPU)):
        expected, got = on(first, save), on(second, load_again)
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_recompute():
    from sampan.distributed.fleet.utils import recompute

    def program():
        net = mlp()
        x = paddle.to_tensor(X, stop_gradient=False)
        recompute(net, x).sum().backward()
        return [x.grad, net[0].weight.grad]

    same(program)
