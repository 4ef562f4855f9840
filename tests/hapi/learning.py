"""A small Model that learns blobs, and a record of what happened to it."""

import numpy as np

import sampan as paddle
from sampan import io, nn, optimizer
from sampan.callbacks import Callback
from sampan.metric import Accuracy


def blobs(count=60, seed=0):
    """Three clouds of points."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, count)
    points = generator.normal(size=(count, 2)) + 3.0 * np.array([[0, 0], [2, 0], [0, 2]])[labels]
    return io.TensorDataset([points.astype(np.float32), labels[:, None]])


def network():
    paddle.seed(7)
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3))


def prepared(rate=0.05, net=None):
    net = net or network()
    optim = optimizer.Adam(rate, parameters=net.parameters())
    made = paddle.Model(net)
    made.prepare(optim, nn.CrossEntropyLoss(), Accuracy())
    return made


class Record(Callback):
    def __init__(self):
        super().__init__()
        self.events, self.losses = [], []

    def on_train_begin(self, logs=None):
        self.events.append("begin")

    def on_epoch_begin(self, epoch, logs=None):
        self.events.append(f"epoch {epoch}")

    def on_train_batch_end(self, step, logs=None):
        self.losses.append(logs["loss"])
        self.last = (step, logs)

    def on_eval_end(self, logs=None):
        self.events.append("eval")
        self.evaluated = logs

    def on_epoch_end(self, epoch, logs=None):
        self.events.append(f"end {epoch}")
        self.epoch_logs = logs

    def on_train_end(self, logs=None):
        self.events.append("finish")
