"""A whole training step: forward, cross-entropy, backward, optimizer."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import Row

PARAMETERS, TENSORS = 1_000_000, 50


def batch(*shape):
    generator = np.random.default_rng(0)
    return generator.random(shape, dtype=np.float32), generator.integers(0, 10, shape[0])


def weights(shapes):
    """The same start for every framework, scaled by the number of inputs. A shape of one axis is a bias."""
    generator = np.random.default_rng(1)
    for shape in shapes:
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        yield (generator.standard_normal(shape) / fan_in**0.5 * (len(shape) > 1)).astype(np.float32)


def start_alike(fw, network):
    """Paddle keeps a linear weight as [inputs, outputs], PyTorch as [outputs, inputs]; the numbers agree."""
    kept = network.parameters()
    for tensor, value in zip(
        kept, weights([tuple(t.shape)[:: -1 if t.ndim == 2 else 1] for t in kept]), strict=True
    ):
        tensor.set_value(value.T.copy() if value.ndim == 2 else value)


def start_alike_torch(fw, network):
    kept = list(network.parameters())
    with fw.no_grad():
        for tensor, value in zip(kept, weights([tuple(t.shape) for t in kept]), strict=True):
            tensor.copy_(fw.from_numpy(value))


def mlp_paddle(fw):
    return fw.nn.Sequential(fw.nn.Linear(784, 256), fw.nn.ReLU(), fw.nn.Linear(256, 10))


def mlp_torch(fw):
    return fw.nn.Sequential(fw.nn.Linear(784, 256), fw.nn.ReLU(), fw.nn.Linear(256, 10))


def lenet_paddle(fw):
    nn = fw.nn
    features = [nn.Conv2D(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2)]
    features += [nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2)]
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10))


def lenet_torch(fw):
    nn = fw.nn
    features = [nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2)]
    features += [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2, 2)]
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10))


def step_paddle(fw, build, shape, optimizer):
    images, labels = batch(*shape)
    x, y = fw.to_tensor(images), fw.to_tensor(labels)
    network = build(fw)
    start_alike(fw, network)
    update = getattr(fw.optimizer, optimizer)(learning_rate=1e-3, parameters=network.parameters())
    loss_of = fw.nn.CrossEntropyLoss()

    def step():
        loss = loss_of(network(x), y)
        loss.backward()
        update.step()
        update.clear_grad()
        return loss

    return step


def step_torch(fw, build, shape, optimizer):
    images, labels = batch(*shape)
    x, y = fw.from_numpy(images), fw.from_numpy(labels)
    network = build(fw)
    start_alike_torch(fw, network)
    update = getattr(fw.optim, optimizer)(network.parameters(), lr=1e-3)
    loss_of = fw.nn.CrossEntropyLoss()

    def step():
        loss = loss_of(network(x), y)
        loss.backward()
        update.step()
        update.zero_grad()
        return loss

    return step


def tensors():
    generator = np.random.default_rng(2)
    return [generator.standard_normal(PARAMETERS // TENSORS).astype(np.float32) for _ in range(TENSORS)]


MLP, LENET = (32, 784), (64, 1, 28, 28)

ROWS = [
    *(
        Row(
            f"MLP step, 784-256-10, batch 32, {optimizer}",
            paddle=partial(step_paddle, build=mlp_paddle, shape=MLP, optimizer=optimizer),
            torch=partial(step_torch, build=mlp_torch, shape=MLP, optimizer=optimizer),
            goal=0.5,
        )
        for optimizer in ("SGD", "Adam")
    ),
    Row(
        "LeNet step, batch 64, Adam",
        paddle=partial(step_paddle, build=lenet_paddle, shape=LENET, optimizer="Adam"),
        torch=partial(step_torch, build=lenet_torch, shape=LENET, optimizer="Adam"),
    ),
]
