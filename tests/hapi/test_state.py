"""A run that was killed continues with the losses of one that never stopped. Real processes, killed for real."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sampan as paddle
from sampan import optimizer
from sampan.callbacks import EarlyStopping
from sampan.hapi import state
from tests.hapi.learning import Record, blobs, network, prepared

# Dropout, shuffling, a schedule and momentum: everything whose state could get lost.
PROGRAM = """
import sys, time
import numpy as np
import sampan as paddle
from sampan import io, nn, optimizer
from sampan.callbacks import Callback

folder, out, pause, save_steps = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]) or None
workers = int(sys.argv[5])
generator = np.random.default_rng(0)
labels = generator.integers(0, 3, 60)
points = (generator.normal(size=(60, 2)) + labels[:, None]).astype(np.float32)
paddle.seed(3)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Dropout(0.3), nn.BatchNorm1D(16), nn.Linear(16, 3))
rate = optimizer.lr.CosineAnnealingDecay(0.05, 40)
model = paddle.Model(net)
model.prepare(
    optimizer.AdamW(rate, parameters=net.parameters()), nn.CrossEntropyLoss(), paddle.metric.Accuracy())

class Log(Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, step, logs=None):
        with open(out, "a") as file:
            file.write(f"{self.epoch} {step} {logs['loss']!r} {logs['acc']!r} {rate()!r}\\n")
        time.sleep(pause)

data = io.TensorDataset([points, labels[:, None]])
model.fit(data, data, batch_size=8, epochs=4, verbose=0, save_dir=folder, save_steps=save_steps, resume=True,
          num_workers=workers, callbacks=[Log()])
np.savez(out + ".npz", **{k: v.numpy() for k, v in net.state_dict().items()})
"""


def start(folder, out, pause=0.0, save_steps=0, workers=0):
    arguments = [str(folder), str(out), str(pause), str(save_steps), str(workers)]
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], start_new_session=True)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def by_place(path):
    """Losses by epoch and step; a batch that ran twice, before and after the kill, must have the same."""
    found = {}
    for line in lines(path):
        epoch, step, *values = line.split()
        assert found.setdefault((int(epoch), int(step)), values) == values, f"epoch {epoch}, step {step}"
    return found


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Logs of runs that never stopped, by number of workers: those draw seeds, so dropout differs."""
    logs = {}
    for workers in (0, 1):
        folder = tmp_path_factory.mktemp("unbroken")
        assert start(folder / "save", folder / "log", workers=workers).wait() == 0
        logs[workers] = folder / "log"
    return logs


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("save_steps", "workers"), [(0, 0), (3, 0), (3, 1)])
def test_killed_in_the_middle_of_an_epoch(tmp_path, unbroken, save_steps, workers):
    log = tmp_path / "log"
    for target in (12, 21):  # batches after which the process is killed: in the second and in the third epoch
        process = start(tmp_path / "save", log, 0.05, save_steps, workers)
        until = time.monotonic() + 100
        while len({line.split()[0] + "." + line.split()[1] for line in lines(log)}) < target:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -9
    before = len(lines(log))
    assert start(tmp_path / "save", log, 0.0, save_steps, workers).wait() == 0
    ran_again = len(lines(log)) - before
    assert ran_again < 4 * 8  # it did not begin at the beginning
    assert by_place(log) == by_place(unbroken[workers])
    one, two = np.load(f"{log}.npz"), np.load(f"{unbroken[workers]}.npz")
    assert all((one[k] == two[k]).all() for k in one.files) and len(one.files) == len(two.files) == 8


def fit(model, folder, epochs, **settings):
    record = Record()
    callbacks = [record, *settings.pop("callbacks", [])]
    model.fit(
        blobs(),
        blobs(30, 1),
        batch_size=16,
        epochs=epochs,
        verbose=0,
        save_dir=folder,
        callbacks=callbacks,
        **settings,
    )
    return record


def test_a_longer_run_continues_a_finished_one(tmp_path):
    paddle.seed(1)
    whole = fit(prepared(), tmp_path / "a", 4).losses
    paddle.seed(1)
    first = fit(prepared(), tmp_path / "b", 2).losses
    paddle.seed(99)
    second = fit(prepared(), tmp_path / "b", 4, resume=True).losses
    assert first + second == whole
    assert fit(prepared(), tmp_path / "b", 4, resume=True).losses == []


def test_stopped_inside_an_epoch_and_continued(tmp_path):
    class Stop(Record):
        def on_train_batch_end(self, step, logs=None):
            if self.model._where.startswith(" at epoch 2") and step == 1:
                self.model.stop_training = True

    paddle.seed(1)
    whole = fit(prepared(), tmp_path / "a", 3).losses
    paddle.seed(1)
    first = fit(prepared(), tmp_path / "b", 3, callbacks=[Stop()]).losses
    assert len(first) == 6
    second = fit(prepared(), tmp_path / "b", 3, resume=True)
    assert first + second.losses == whole and second.events[1] == "epoch 1"


def test_accumulated_gradients_survive(tmp_path):
    paddle.seed(1)
    whole = fit(prepared(), tmp_path / "a", 2, accumulate_grad_batches=3).losses
    paddle.seed(1)
    first = fit(prepared(), tmp_path / "b", 2, accumulate_grad_batches=3, num_iters=2).losses
    second = fit(prepared(), tmp_path / "b", 2, accumulate_grad_batches=3, resume=True).losses
    assert first + second == whole


def test_early_stopping_stays_stopped(tmp_path):
    def model():
        net = network()
        made = paddle.Model(net)
        made.prepare(optimizer.SGD(0.0, net.parameters()), paddle.nn.CrossEntropyLoss())
        return made

    first = fit(model(), tmp_path, 9, callbacks=[EarlyStopping(patience=2, verbose=0)])
    assert len(first.losses) == 3 * 4
    again = fit(model(), tmp_path, 9, resume=True, callbacks=[EarlyStopping(patience=2, verbose=0)])
    assert again.losses == []


def test_without_a_state_it_begins_at_the_beginning(tmp_path):
    assert len(fit(prepared(), tmp_path, 1, resume=True).losses) == 4


def test_damaged_and_foreign_states_are_refused_and_nothing_changes(tmp_path):
    fit(prepared(), tmp_path, 1)
    path = tmp_path / state.FILE
    content = path.read_bytes()
    model = prepared()
    before = [p.numpy().copy() for p in model.parameters()]
    for damaged in (content[:-10], content[: len(content) // 2], b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"resume\.sampan"):
            fit(model, tmp_path, 2, resume=True)
        assert path.read_bytes() == damaged
    paddle.save({"epoch": 3}, path)
    with pytest.raises(ValueError, match="is not a training state"):
        fit(model, tmp_path, 2, resume=True)
    path.write_bytes(content)
    other = paddle.nn.Sequential(paddle.nn.Linear(2, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 3))
    with pytest.raises(ValueError, match="of another network"):
        fit(prepared(net=other), tmp_path, 2, resume=True)
    for p, b in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), b)


def test_another_batch_size_inside_an_epoch_is_refused(tmp_path):
    fit(prepared(), tmp_path, 2, num_iters=2)
    with pytest.raises(ValueError, match="inside an epoch of 4 batches, this run has 6"):
        prepared().fit(blobs(), batch_size=10, epochs=2, verbose=0, save_dir=tmp_path, resume=True)


def test_chance_of_every_kind_is_kept():
    import random

    import torch

    kept = state.chance()
    drawn = [random.random(), np.random.rand(), torch.rand(()).item()]
    state.set_chance(kept)
    assert [random.random(), np.random.rand(), torch.rand(()).item()] == drawn
