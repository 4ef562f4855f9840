"""Model: the same numbers as a loop written by hand, logs, callbacks, stopping, bad input."""

import math

import numpy as np
import pytest

import sampan as paddle
from sampan import hapi, io, nn, optimizer
from sampan.callbacks import Callback, EarlyStopping, LRScheduler, ModelCheckpoint
from sampan.metric import Accuracy
from tests.hapi.learning import Record, blobs, network, prepared


def test_fit_is_the_loop_one_would_write():
    data, record = blobs(), Record()
    paddle.seed(1)
    model = prepared()
    paddle.seed(2)
    model.fit(data, batch_size=16, epochs=3, verbose=0, callbacks=[record])

    net = network()
    optim = optimizer.Adam(0.05, parameters=net.parameters())
    paddle.seed(2)
    losses = []
    loader = io.DataLoader(data, batch_size=16, shuffle=True)
    for _ in range(3):
        for points, labels in loader:
            loss = nn.functional.cross_entropy(net(points), labels)
            loss.backward()
            optim.step()
            optim.clear_grad()
            losses.append(loss.item())
    assert record.losses == losses and len(losses) == 12
    for a, b in zip(model.parameters(), net.parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_logs_and_order_of_events():
    record = Record()
    model = prepared()
    model.fit(blobs(), blobs(30, 1), batch_size=16, epochs=2, verbose=0, callbacks=record)
    assert record.events == ["begin", "epoch 0", "end 0", "eval", "epoch 1", "end 1", "eval", "finish"]
    step, logs = record.last
    assert step == 3 and set(logs) == {"loss", "acc"} and all(isinstance(v, float) for v in logs.values())
    mean = (sum(record.losses[4:7]) * 16 + record.losses[7] * 12) / 60
    assert record.epoch_logs["loss"] == pytest.approx(mean) and record.epoch_logs["acc"] == logs["acc"]
    evaluated = model.evaluate(blobs(30, 1), batch_size=7, verbose=0)
    assert evaluated == record.evaluated | {"loss": [pytest.approx(record.evaluated["loss"], rel=1e-6)]}
    assert (
        record.params["steps"] == 4
        and record.params["epochs"] == 2
        and record.params["metrics"] == ["loss", "acc"]
    )


def test_evaluation_is_over_samples_and_leaves_the_modes():
    net = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    net[0].eval()
    model = paddle.Model(net)
    model.prepare(None, nn.CrossEntropyLoss(), Accuracy())
    data = blobs(25)
    result = model.evaluate(data, batch_size=10, verbose=0)
    assert [layer.training for layer in net] == [False, True]
    net.eval()
    points, labels = data[:]
    expected = nn.functional.cross_entropy(net(points), labels).item()
    assert result["loss"] == [pytest.approx(expected, rel=1e-6)]
    scores = net(points).numpy().argmax(1)
    assert result["acc"] == pytest.approx((scores == labels.numpy()[:, 0]).mean())


def test_predict_leaves_labels_out():
    model = prepared()
    data = blobs(25)
    (parts,) = model.predict(data, batch_size=10, verbose=0)
    assert isinstance(parts, tuple)
    assert [p.shape for p in parts] == [(10, 3), (10, 3), (5, 3)]
    (whole,) = model.predict(data, batch_size=10, stack_outputs=True, verbose=0)
    model.network.eval()
    np.testing.assert_allclose(whole, model.network(data[:][0]).numpy(), rtol=1e-5, atol=1e-6)


def test_prepare_gives_nothing_back():
    assert paddle.Model(network()).prepare() is None


def test_single_batches():
    model = prepared()
    points, labels = blobs(8)[:]
    losses, metrics = model.train_batch([points], [labels])
    assert len(losses) == 1 and isinstance(metrics[0], float)
    assert isinstance(losses[0], np.ndarray) and losses[0].shape == () and losses[0].dtype == np.float32
    before = model.parameters()[0].numpy().copy()
    model.train_batch(points.numpy(), labels.numpy(), update=False)
    np.testing.assert_array_equal(model.parameters()[0].numpy(), before)
    assert model.parameters()[0].grad is not None
    assert len(model.eval_batch([points], [labels])[0]) == 1
    assert model.predict_batch(points)[0].shape == (8, 3)


def test_accumulated_gradients_are_those_of_a_large_batch():
    data = blobs(32)

    def trained(batch_size, every, scale):
        net = network()
        loss = nn.CrossEntropyLoss(reduction="sum")
        optim = optimizer.SGD(0.01 * scale, net.parameters())
        model = paddle.Model(net)
        model.prepare(optim, loss)
        model.fit(data, batch_size=batch_size, shuffle=False, verbose=0, accumulate_grad_batches=every)
        return net[0].weight.numpy()

    np.testing.assert_allclose(trained(8, 4, 1), trained(32, 1, 1), rtol=1e-5)
    np.testing.assert_allclose(trained(8, 3, 1), trained(8, 3, 1))


def test_another_loop_takes_the_place(monkeypatch):
    seen = []

    def train_epoch(network, batches, loss_function, optimizer, after_batch):
        for inputs, labels in batches:
            seen.append(len(inputs[0]))
            outputs = network(*inputs)
            after_batch(loss_function(outputs, *labels), outputs, labels)

    monkeypatch.setattr(hapi, "train_epoch", train_epoch)
    record = Record()
    prepared().fit(blobs(20), batch_size=8, verbose=0, callbacks=[record])
    assert seen == [8, 8, 4] and len(record.losses) == 3


def test_stop_training_ends_after_the_batch():
    class Stop(Record):
        def on_train_batch_end(self, step, logs=None):
            super().on_train_batch_end(step, logs)
            if len(self.losses) == 6:
                self.model.stop_training = True

    record = Stop()
    prepared().fit(blobs(), batch_size=16, epochs=5, verbose=0, callbacks=[record])
    assert len(record.losses) == 6 and record.events[-2:] == ["end 1", "finish"]


def test_num_iters_is_a_number_of_batches():
    record = Record()
    prepared().fit(blobs(), batch_size=16, epochs=5, verbose=0, callbacks=[record], num_iters=6)
    assert len(record.losses) == 6


def test_a_loss_that_is_not_finite_stops_with_the_place_and_keeps_the_checkpoint(tmp_path):
    class Break(Callback):
        def on_train_batch_begin(self, step, logs=None):
            if len(list(tmp_path.glob("1.pdparams"))) and step == 2:
                self.model.network[2].bias.set_value(np.full(3, np.inf, np.float32))

    model = prepared(rate=0.125)
    with pytest.raises(
        FloatingPointError,
        match=r"the loss is nan at epoch 3 of 5, step 3 of 4 \(learning rate 0.125\).*last good checkpoint is .*resume",
    ):
        model.fit(blobs(), batch_size=16, epochs=5, verbose=0, save_dir=tmp_path, callbacks=[Break()])
    other = prepared()
    other.load(tmp_path / "1")
    assert all(np.isfinite(p.numpy()).all() for p in other.parameters())
    assert not (tmp_path / "2.pdparams").exists()


def test_parameters_that_are_not_finite_are_never_saved(tmp_path):
    class Break(Callback):
        def on_train_batch_end(self, step, logs=None):
            if step == 3:  # the last batch's loss was fine, what it did to the parameters is not
                self.model.network[0].weight.set_value(np.full((2, 16), np.nan, np.float32))

    model = prepared()
    model.save(tmp_path / "0")
    before = (tmp_path / "0.pdparams").read_bytes()
    with pytest.raises(FloatingPointError, match=r"0\.weight holds values that are not finite"):
        model.fit(blobs(), batch_size=16, epochs=2, verbose=0, save_dir=tmp_path, callbacks=[Break()])
    assert (tmp_path / "0.pdparams").read_bytes() == before and not (tmp_path / "resume.sampan").exists()


def test_save_and_load_with_the_optimizer(tmp_path):
    model = prepared()
    model.fit(blobs(), batch_size=16, verbose=0)
    model.save(tmp_path / "net")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.pdopt", "net.pdparams"]
    other = prepared(net=nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3)))
    other.load(tmp_path / "net")
    points, labels = blobs(8, 3)[:]
    for _ in range(3):
        assert model.train_batch([points], [labels])[0] == other.train_batch([points], [labels])[0]


def test_a_checkpoint_of_another_network_is_refused_and_nothing_is_overwritten(tmp_path):
    paddle.Model(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))).save(tmp_path / "other")
    model = prepared()
    before = [p.numpy().copy() for p in model.parameters()]
    with pytest.raises(ValueError, match=r"is not of this network.*0\.bias, 0\.weight, 2\.weight"):
        model.load(tmp_path / "other")
    paddle.save([1, 2], tmp_path / "list.pdparams")
    with pytest.raises(ValueError, match="holds a list"):
        model.load(tmp_path / "list")
    (tmp_path / "cut.pdparams").write_bytes((tmp_path / "other.pdparams").read_bytes()[:-5])
    with pytest.raises(ValueError, match="truncated"):
        model.load(tmp_path / "cut")
    with pytest.raises(FileNotFoundError):
        model.load(tmp_path / "absent")
    for p, b in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), b)
    model.load(tmp_path / "other", skip_mismatch=True)  # only the last bias fits
    np.testing.assert_array_equal(model.parameters()[0].numpy(), before[0])


def test_a_foreign_optimizer_state_changes_nothing(tmp_path):
    model = prepared()
    model.save(tmp_path / "net")
    paddle.save({"steps": []}, tmp_path / "net.pdopt")
    model.parameters()[0].set_value(np.ones((2, 16), np.float32))
    with pytest.raises(ValueError, match="expected the state of 4 parameters"):
        model.load(tmp_path / "net")
    assert model.parameters()[0].numpy().sum() == 32
    model.load(tmp_path / "net", reset_optimizer=True)
    assert model.parameters()[0].numpy().sum() != 32


@pytest.mark.parametrize(("callback", "expected"), [(None, 0.5**12), (LRScheduler(False, True), 0.5**3)])
def test_schedules_step_by_batch_or_by_epoch(callback, expected):
    net = network()
    rate = optimizer.lr.ExponentialDecay(1.0, 0.5)
    model = paddle.Model(net)
    model.prepare(optimizer.SGD(rate, net.parameters()), nn.CrossEntropyLoss())
    model.fit(blobs(), batch_size=16, epochs=3, verbose=0, callbacks=callback)
    assert rate() == pytest.approx(expected)


def test_plateau_is_given_the_evaluations_loss():
    net = network()
    rate = optimizer.lr.ReduceOnPlateau(1e-9, factor=0.5, patience=0, epsilon=0)
    model = paddle.Model(net)
    model.prepare(optimizer.SGD(rate, net.parameters()), nn.CrossEntropyLoss())
    model.fit(blobs(), blobs(20, 5), batch_size=16, epochs=3, verbose=0)  # such a rate improves nothing
    assert rate() == 0.25e-9 and math.isclose(
        rate.best, model.evaluate(blobs(20, 5), 16, verbose=0)["loss"][0], rel_tol=1e-6
    )


def test_networks_with_several_inputs_and_outputs():
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 3), nn.Linear(1, 3)

        def forward(self, x, y):
            return self.a(x) + self.b(y), self.a(x)

    data = io.TensorDataset(
        [np.ones((6, 2), np.float32), np.ones((6, 1), np.float32), np.zeros((6, 1), np.int64)]
    )
    net = Two()
    model = paddle.Model(net)
    model.prepare(
        optimizer.SGD(0.1, net.parameters()),
        lambda one, two, label: (
            nn.functional.cross_entropy(one, label) + nn.functional.cross_entropy(two, label)
        ),
    )
    model.fit(data, batch_size=3, verbose=0)
    assert [len(o) for o in model.predict(data, batch_size=3, verbose=0)] == [2, 2]
    with pytest.raises(ValueError, match="the network takes 2 inputs, the data set gives 1 fields"):
        model.fit(io.TensorDataset([np.ones((6, 2), np.float32)]), batch_size=3, verbose=0)


@pytest.mark.parametrize(
    ("run", "error", "what"),
    [
        (lambda: paddle.Model(3), TypeError, "network"),
        (lambda: paddle.Model(network()).fit(blobs()), RuntimeError, "prepare"),
        (lambda: paddle.Model(network()).prepare(optimizer=3), TypeError, "optimizer"),
        (lambda: paddle.Model(network()).prepare(loss=3), TypeError, "loss"),
        (lambda: paddle.Model(network()).prepare(metrics=3), TypeError, "metrics"),
        (lambda: prepared().fit(3), TypeError, "train_data"),
        (lambda: prepared().fit(blobs(), epochs=-1), ValueError, "epochs"),
        (lambda: prepared().fit(blobs(), resume=True), ValueError, "save_dir"),
        (lambda: prepared().fit(blobs(), save_steps=0), ValueError, "save_steps"),
        (lambda: prepared().fit(blobs(0), verbose=0), ValueError, "at least one batch"),
        (lambda: prepared().fit(blobs(), callbacks=[print]), TypeError, "callbacks"),
        (lambda: prepared().fit(blobs(), verbose=3), ValueError, "verbose"),
        (lambda: prepared().summary(), ValueError, "input_size"),
        (lambda: ModelCheckpoint(0), ValueError, "save_freq"),
        (lambda: EarlyStopping(mode="best"), ValueError, "mode"),
        (lambda: EarlyStopping(patience=-1), ValueError, "patience"),
        (lambda: LRScheduler(True, True), ValueError, "by_step"),
    ],
)
def test_bad_input_is_named(run, error, what):
    with pytest.raises(error, match=what):
        run()


def test_a_batch_is_measured_alone():
    model = prepared()
    points, labels = blobs()[:4]
    first = model.eval_batch([points], [labels])
    assert model.eval_batch([points], [labels]) == first and first[1][0] in (0.0, 0.25, 0.5, 0.75, 1.0)
    with pytest.raises(AssertionError, match="metrics"):
        paddle.Model(nn.Linear(2, 2)).prepare(None, None, 1)
