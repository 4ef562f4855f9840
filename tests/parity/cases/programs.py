"""Short programs: a layer's methods, training by Model with callbacks, mixed precision, data sets of files, optimizers
around others, names of Paddle's inside."""

from __future__ import annotations

import gzip
import os
import tempfile

import numpy as np

from tools.parity.spec import program


def small(P):
    """Two layers with fixed weights."""
    net = P.nn.Sequential(P.nn.Linear(4, 3), P.nn.BatchNorm1D(3), P.nn.Linear(3, 2))
    for place, p in enumerate(net.parameters()):
        if p.trainable:
            p.set_value(((P.arange(p.size, dtype="float32") * (place + 3)) % 7 / 7 - 0.4).reshape(p.shape))
    return net


def points(P, count=8):
    """A data set of points in two classes."""
    values = (np.arange(count * 4).reshape(count, 4) * 7 % 11 / 11 - 0.5).astype("float32")
    return P.io.TensorDataset(
        [P.to_tensor(values), P.to_tensor((values.sum(1, keepdims=True) > 0).astype("int64"))]
    )


def attempt(call, *args, **settings):
    """What a call returns, or that it is refused."""
    try:
        return call(*args, **settings)
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError, AssertionError):
        return "refused"


# --- layers ---


def contents(P):
    net = small(P)
    net.register_buffer("count", P.ones([1]))
    net.register_buffer("hidden", P.ones([2]), persistable=False)
    return [
        list(net.state_dict()), [n for n, _ in net.named_parameters()], [n for n, _ in net.named_buffers()],
        [n for n, _ in net.named_sublayers(include_self=True)], [n for n, _ in net.named_children()],
        [type(m).__name__ for m in net.sublayers()], list(net.state_dict(structured_name_prefix="a.")),
        [p.trainable for p in net.parameters()], repr(net),
    ]  # fmt: skip


def loaded(P):
    net = small(P)
    state = {"0.weight": np.ones([4, 3], "float32"), "0.bias": np.ones([5], "float32"), "more": np.ones(1)}
    missing, unexpected = net.set_state_dict(state)
    return [missing, unexpected, net[0].weight, net[0].bias]


def replaced(P):
    net = small(P)
    net.register_buffer("count", P.ones([1]))
    tried = [attempt(setattr, owner, name, value) for owner, name, value in (
        (net[0], "weight", P.ones([4, 3])), (net[0], "bias", 1), (net, "0", 1), (net, "count", 1))]  # fmt: skip
    net.count, net[0].bias = None, None
    return [tried, list(net.state_dict())]


def refused(P):
    net = small(P)
    weight = P.create_parameter([2], "float32")
    return [
        attempt(net.add_parameter, "0", weight), attempt(net.add_parameter, "a.b", weight), attempt(net.add_parameter, "p", 1),
        attempt(net.register_buffer, "0", P.ones([1])), attempt(net.register_buffer, "b", 1), attempt(net.register_buffer, "", P.ones([1])),
    ]  # fmt: skip


def hooked(P):
    net, seen = P.nn.Linear(2, 2), []
    net.weight.set_value(P.eye(2))
    before = net.register_forward_pre_hook(lambda layer, given: (given[0] * 2,))
    after = net.register_forward_post_hook(
        lambda layer, given, found: seen.append(given[0].shape[0]) or found + 1
    )
    first = net(P.ones([3, 2]))
    before.remove()
    second = net(P.ones([1, 2]))
    after.remove()
    return [first, second, net(P.ones([1, 2])), seen]


def applied(P):
    net, seen = small(P), []
    net.apply(lambda layer: seen.append(type(layer).__name__))
    modes = [layer.training for layer in net.eval().sublayers(include_self=True)]
    return [seen, modes, net.train().training, net.to(dtype="float64")[0].weight.numpy().dtype.name]


def made(P):
    layer = P.nn.Layer()
    chosen = P.ParamAttr(
        name="own", initializer=P.nn.initializer.Constant(3.0), trainable=False, learning_rate=0.5
    )
    own = layer.create_parameter([2], chosen)
    bias = layer.create_parameter([2], is_bias=True)
    return [
        own,
        own.name,
        own.trainable,
        own.optimize_attr,
        bias,
        layer.create_parameter([2], False),
        bias.persistable,
    ]


# --- training ---


def prepared(P, rate=0.1):
    model = P.Model(small(P))
    model.prepare(
        P.optimizer.SGD(rate, parameters=model.parameters()), P.nn.CrossEntropyLoss(), P.metric.Accuracy()
    )
    return model


def fitted(P):
    model = prepared(P)
    model.fit(points(P), batch_size=4, epochs=3, shuffle=False, verbose=0)
    found = model.evaluate(points(P), batch_size=8, verbose=0)
    outputs = model.predict(points(P), batch_size=4, stack_outputs=True, verbose=0)
    return [sorted(found), [float(v) for v in found["loss"]], float(found["acc"]), np.asarray(outputs[0])]


def batches(P):
    model = prepared(P)
    x, y = points(P)[:]
    found = []
    for _ in range(3):
        losses, accuracies = model.train_batch([x], [y])
        found += [float(losses[0]), float(accuracies[0])]
    losses, accuracies = model.eval_batch([x], [y])
    return [found, float(losses[0]), float(accuracies[0]), np.asarray(model.predict_batch([x])[0])]


def events(P):
    seen = []

    class Watch(P.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append(["train", self.params["epochs"], self.params["steps"], self.params["metrics"]])

        def on_epoch_begin(self, epoch, logs=None):
            seen.append(["epoch", epoch])

        def on_train_batch_end(self, step, logs=None):
            seen.append(["batch", step, "loss" in logs, "acc" in logs])

        def on_epoch_end(self, epoch, logs=None):
            seen.append(["end", epoch])

        def on_eval_begin(self, logs=None):
            seen.append(["eval"])

        def on_eval_end(self, logs=None):
            seen.append(["evaluated", "loss" in logs, "acc" in logs])

        def on_train_end(self, logs=None):
            seen.append(["done"])

    prepared(P).fit(points(P), points(P), batch_size=4, epochs=2, verbose=0, callbacks=Watch())
    return seen


def stopped(P, **settings):
    seen = []

    class Count(P.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(epoch)

    stop = P.callbacks.EarlyStopping("acc", verbose=0, save_best_model=False, **settings)
    prepared(P, 0.0).fit(points(P), points(P), batch_size=4, epochs=6, verbose=0, callbacks=[stop, Count()])
    return seen


def scheduled(P, by_step):
    rate = P.optimizer.lr.StepDecay(0.5, 1)
    callback = P.callbacks.LRScheduler(by_step=by_step, by_epoch=not by_step)
    prepared(P, rate).fit(points(P), batch_size=4, epochs=3, verbose=0, callbacks=[callback])
    return [rate.last_epoch, rate()]


def lowered(P):
    model = prepared(P)
    callback = P.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=100.0, verbose=0)
    model.fit(points(P), points(P), batch_size=4, epochs=4, verbose=0, callbacks=[callback])
    return float(model._optimizer.get_lr())


def summed(P):
    found = P.Model(small(P)).summary((2, 4))
    return {name: int(n) for name, n in found.items()}


# --- around the optimizer, and the scaler ---


def steps(P, optimizer, p, count=6):
    for i in range(count):
        ((p * (P.arange(3, dtype="float32") - i)).sum() + (p * p).sum()).backward()
        optimizer.step()
        optimizer.clear_grad()


def looked_ahead(P, alpha, k):
    p = P.create_parameter([3], "float32", default_initializer=P.nn.initializer.Assign([1.0, -2, 3]))
    optimizer = P.incubate.LookAhead(P.optimizer.SGD(0.1, parameters=[p]), alpha, k)
    steps(P, optimizer, p)
    return p


def averaged(P):
    p = P.create_parameter([3], "float32", default_initializer=P.nn.initializer.Assign([1.0, -2, 3]))
    average = P.incubate.ModelAverage(0.5, parameters=[p], min_average_window=2, max_average_window=4)
    optimizer = P.optimizer.SGD(0.1, parameters=[p])
    for _ in range(6):
        steps(P, optimizer, p, 1)
        average.step()
    with average.apply(need_restore=True):
        inside = p.numpy().copy()
    return [inside, p]


def scaler_refuses(P):
    scaler = P.amp.GradScaler(init_loss_scaling=8.0)
    optimizer = P.optimizer.SGD(0.1, parameters=small(P).parameters())
    return [
        attempt(P.amp.decorate, 1, optimizer), attempt(P.amp.decorate, small(P), level="O3"),
        attempt(scaler.set_incr_ratio, 0.5), attempt(scaler.set_decr_ratio, 2.0),
        P.amp.GradScaler(enable=False).scale(P.ones([1])), P.amp.GradScaler(enable=False).is_enable(),
    ]  # fmt: skip


# --- data sets of files ---


def pictures(P):
    from PIL import Image

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cat/a.png", "cat/b.png", "dog/c.png", "dog/notes.txt"):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Image.fromarray((np.arange(12).reshape(2, 2, 3) * 9).astype("uint8")).save(path, "png")
        data = P.vision.datasets.DatasetFolder(folder, transform=np.asarray)
        found += [
            len(data),
            data.classes,
            data.class_to_idx,
            [s[1] for s in data.samples],
            data[2][0],
            data[2][1],
        ]
        plain = P.vision.datasets.ImageFolder(folder, transform=np.asarray)
        found += [len(plain), plain[0][0]]
        empty = os.path.join(folder, "dog", "empty")
        os.makedirs(empty)
        found += [
            attempt(P.vision.datasets.ImageFolder, empty),
            attempt(P.vision.datasets.DatasetFolder, empty),
        ]
    return found


def digits(P):
    with tempfile.TemporaryDirectory() as folder:
        images, labels = os.path.join(folder, "i.gz"), os.path.join(folder, "l.gz")
        with gzip.open(images, "wb") as file:
            file.write(np.array([2051, 100, 28, 28], ">i4").tobytes() + bytes(range(200)) * 392)
        with gzip.open(labels, "wb") as file:
            file.write(np.array([2049, 100], ">i4").tobytes() + bytes([7, 2, 1, 0]) * 25)
        data = P.vision.datasets.MNIST(images, labels, mode="test", transform=np.asarray, backend="cv2")
        return [len(data), np.asarray(data[1][0], "float64").sum(), np.asarray(data[1][1]).ravel()]


# --- inside ---


def inside(P):
    base = P.base
    with base.unique_name.guard():
        names = [
            base.unique_name.generate("fc"),
            base.unique_name.generate("fc"),
            P.nn.Linear(1, 1).full_name(),
        ]
    with base.dygraph.guard():
        dynamic = [base.in_dygraph_mode(), base.framework.in_dygraph_mode(), base.framework.in_pir_mode()]
    return [
        names, dynamic, base.core.is_compiled_with_cuda() is P.is_compiled_with_cuda(), base.core.is_compiled_with_xpu(),
        isinstance(P.nn.Linear(1, 1).weight, base.framework.EagerParamBase), base.data_feeder.convert_dtype("float32"),
        P.utils.flatten([1, [2, (3,)]]), P.utils.map_structure(lambda v: v + 1, {"a": [1, 2]}),
        P.utils.pack_sequence_as([0, [0]], [1, 2]), P.tensor.math.multiplex is P.multiplex,
        P.nn.layer.norm.BatchNorm2D is P.nn.BatchNorm2D,
    ]  # fmt: skip


def printed(P):
    values = [
        P.to_tensor([[1.0, 2.5], [3.0, -4.0]]), P.arange(-5, 40), P.to_tensor([True, False]), P.to_tensor(1.5),
        P.to_tensor([1 + 2j]), P.arange(3000).reshape([30, 100]), P.to_tensor([float("nan"), float("inf")]),
        P.zeros([0, 3]), P.to_tensor([1.5], dtype="bfloat16"), P.to_tensor([1e10, 1e-10]),
    ]  # fmt: skip
    return [str(v) for v in values]


def asked(P):
    x = P.to_tensor([[1.0, 2.0, 3.0]], stop_gradient=False)
    (x * 2).sum().backward()
    return [
        int(x.size), list(x.size()), x.size(1), list(x.shape + (1,)), x.grad.stop_gradient, x._numel(), x._is_initialized(),
        f"{x.sum().detach()}", x.detach().astype(float).numpy().dtype.name, x.detach().astype(int).numpy().dtype.name,
        attempt(x.detach().set_value, np.ones(2, "float32")), attempt(bool, x), attempt(len, x.sum()),
    ]  # fmt: skip


CASES = {
    "Layer.state_dict": [program(contents)],
    "Layer.set_state_dict": [program(loaded)],
    "paddle.nn.Layer": [program(replaced), program(refused)],
    "Layer.register_forward_pre_hook": [program(hooked)],
    "Layer.apply": [program(applied)],
    "Layer.create_parameter": [program(made)],
    "Model.fit": [program(fitted).but(tolerance=1e-4)],
    "Model.train_batch": [program(batches).but(tolerance=1e-4)],
    "Model.summary": [program(summed)],
    "paddle.callbacks.Callback": [program(events)],
    "paddle.callbacks.EarlyStopping": [program(stopped, patience=n) for n in (0, 1, 3)],
    "paddle.callbacks.LRScheduler": [program(scheduled, by_step) for by_step in (True, False)],
    "paddle.callbacks.ReduceLROnPlateau": [program(lowered)],
    "paddle.incubate.LookAhead": [program(looked_ahead, alpha, k) for alpha, k in ((0.5, 2), (0.8, 3))],
    "paddle.incubate.ModelAverage": [program(averaged)],
    "paddle.amp.GradScaler": [program(scaler_refuses)],
    "paddle.vision.datasets.DatasetFolder": [program(pictures)],
    "paddle.vision.datasets.MNIST": [program(digits)],
    "paddle.in_dynamic_mode": [program(inside)],
    "paddle.set_printoptions": [program(printed)],
    "Tensor.size": [program(asked)],
}
