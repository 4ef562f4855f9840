"""Runs in one process that stop and go on; those of several processes are in test_kills.py."""

import resource
import threading

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.elastic import Run, Samples
from sampan.distributed.elastic.kept import Copies, memory_folder

COUNT, BATCH, STEPS = 50, 8, 23


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def job(tmp_path):
    name = f"test-{tmp_path.name}"
    yield name
    Copies(memory_folder(name)).remove()


def train(folder, job, stop=None, every=4, steps=STEPS, samples=None, **settings):
    """The losses by step; `stop` ends it in the middle of that step."""
    paddle.seed(5)
    rng = np.random.default_rng(0)
    xs = rng.standard_normal((COUNT, 6)).astype("float32")
    ys = rng.standard_normal((COUNT, 1)).astype("float32")
    model = paddle.nn.Sequential(paddle.nn.Linear(6, 8), paddle.nn.Dropout(0.5), paddle.nn.Linear(8, 1))
    model[0].weight.name, model[0].bias.name = "w0", "b0"
    model[2].weight.name, model[2].bias.name = "w2", "b2"
    rate = paddle.optimizer.lr.StepDecay(0.01, 5, 0.5)
    optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
    run = Run(model, optimizer, samples or Samples(COUNT, BATCH), folder, every, job=job, **settings)
    losses = {}
    for step in run.steps(steps):
        x, y = (paddle.to_tensor(v[step.samples]) for v in (xs, ys))
        loss = ((model(x) - y) ** 2).mean() + np.random.random() * 0.0 * model(x).sum()
        step.share(loss).backward()
        if step.number == stop:
            run.background.wait()
            raise Killed
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        losses[step.number] = (loss.item(), np.random.random())
    return losses, run


def test_the_steps_after_a_restart_are_those_of_a_run_that_nothing_disturbed(tmp_path, job):
    whole, _ = train(tmp_path / "whole", job + "-whole")
    with pytest.raises(Killed):
        train(tmp_path / "run", job, stop=14)
    losses, run = train(tmp_path / "run", job)
    assert run.restored == 12  # of the copies after 4, 8 and 12 steps
    assert losses == {step: whole[step] for step in range(12, STEPS)}
    assert not memory_folder(job).exists()
    assert Copies(tmp_path / "run").steps() == [STEPS, 20]
    again, run = train(tmp_path / "run", job)  # it has ended already
    assert again == {} and run.restored == STEPS
    more, _ = train(tmp_path / "run", job, steps=STEPS + 2)
    assert list(more) == [STEPS, STEPS + 1]


def test_from_the_disk_where_the_memory_is_gone(tmp_path, job):
    whole, _ = train(tmp_path / "whole", job + "-whole")
    with pytest.raises(Killed):
        train(tmp_path / "run", job, stop=14, every=2, to_disk=3)
    Copies(memory_folder(job)).remove()
    losses, run = train(tmp_path / "run", job, every=2)
    assert run.restored == 12 and losses == {step: whole[step] for step in range(12, STEPS)}


def test_a_disk_that_cannot_be_written_costs_the_copy_and_not_the_run(tmp_path, job):
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning, match="could not be written to the disk.*Not a directory"):
        losses, _ = train(tmp_path / "file" / "run", job, to_disk=1)
    assert len(losses) == STEPS


def test_other_samples_are_another_run(tmp_path, job):
    train(tmp_path, job)
    with pytest.raises(
        ValueError, match=r"samples: expected those of the run .*'batch': 8.* got .*'batch': 9"
    ):
        train(tmp_path, job, samples=Samples(COUNT, 9))


def test_a_loss_that_is_no_number_names_its_samples(tmp_path, job):
    run = Run(*_small(), Samples(6, 3, seed=None), job=job)
    step = next(run.steps(2))
    assert step.share(paddle.to_tensor(2.0)).item() == 2.0
    with pytest.raises(
        FloatingPointError, match=r"step 0: the loss of rank 0 is nan, of the samples 0, 1, 2"
    ):
        step.share(paddle.to_tensor(float("nan")))


def _small():
    model = paddle.nn.Linear(2, 1)
    return model, paddle.optimizer.SGD(0.1, parameters=model.parameters())


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"samples": 5}, TypeError, "samples: expected Samples, got int"),
        ({"every": 0}, ValueError, "every: expected a whole number of at least 1, got 0"),
        ({"to_disk": 1.5}, ValueError, "to_disk: expected a whole number"),
        ({"more": {"scaler": 3}}, TypeError, "scaler: expected state_dict and set_state_dict, got int"),
    ],
)
def test_what_is_no_run(given, error, text):
    with pytest.raises(error, match=text):
        Run(*_small(), **{"samples": Samples(4, 2), **given})


def limited(size):
    """No file of this process may be larger than this, as on a full disk. Returns the limits before."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    return before


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_full_disk_costs_a_copy_and_names_its_folder(tmp_path, job, monkeypatch, where):
    """From step 10 on nothing can be written, to memory or to the disk: the copies before that are read."""
    whole, _ = train(tmp_path / "whole", job + "-whole")
    memory = memory_folder(job)
    one_at_a_time = threading.RLock()  # the limit is that of all threads
    write, take, full = Copies.write, Copies.take, {"memory": memory, "disk": tmp_path / "run"}[where]

    def on_a_full_disk(function):
        def run(self, given, other):
            step = given if isinstance(given, int) else other
            with one_at_a_time:
                if step <= 10 or self.folder != full:
                    return function(self, given, other)
                before = limited(100)
                try:
                    return function(self, given, other)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)

        return run

    monkeypatch.setattr(Copies, "write", on_a_full_disk(write))
    monkeypatch.setattr(Copies, "take", on_a_full_disk(take))
    with pytest.warns(RuntimeWarning, match="elastic: the state .*") as seen, pytest.raises(Killed):
        train(tmp_path / "run", job, stop=14, to_disk=1)
    assert any(str(full) in str(one.message) and "File too large" in str(one.message) for one in seen)
    assert Copies(memory).steps() == ([8, 4] if where == "memory" else [12, 8])
    assert Copies(tmp_path / "run").steps() == ([12, 8] if where == "memory" else [8, 4])
    assert not list(full.glob(".step-*"))  # nothing half written
    Copies(tmp_path / "run" if where == "memory" else memory).remove()
    monkeypatch.undo()
    losses, run = train(tmp_path / "run", job)
    assert run.restored == 8
    assert losses == {step: whole[step] for step in range(8, STEPS)}
