"""`paddle.Model` in several processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.callbacks import Callback

# Of PaddlePaddle 3.3.1, two processes, for `trained`.
WEIGHT = [
    1.77685,
    0.60234,
    -0.05755,
    -1.32183,
    -0.36747,
    -0.80634,
    0.01483,
    -0.57051,
    -0.19787,
    -0.41799,
    -1.16864,
]
LAST = 0.68017


class Rows(paddle.io.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        row = np.random.RandomState(at).rand(4).astype("float32")
        return row, np.array([at % 3], dtype="int64")


class Losses(Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_eval_end(self, logs=None):
        self.seen.append(logs["loss"])


def made(rank):
    network = paddle.nn.Linear(4, 3)
    if rank == 0:  # the others take over its parameters
        network.weight.set_value(np.random.RandomState(3).randn(4, 3).astype("float32"))
    model = paddle.Model(
        network,
        [paddle.static.InputSpec([None, 4], "float32", "x")],
        [paddle.static.InputSpec([None, 1], "int64", "y")],
    )
    optimizer = paddle.optimizer.SGD(0.5, parameters=model.parameters())
    model.prepare(optimizer, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    return network, model


def trained(folder):
    rank, losses = dist.get_rank(), Losses()
    network, model = made(rank)
    model.fit(
        Rows(13), Rows(7), batch_size=2, epochs=2, verbose=2, shuffle=False,
        save_dir=f"{folder}/{rank}", callbacks=[losses],
    )  # fmt: skip
    parts = model.predict(Rows(7), batch_size=2, verbose=0, stack_outputs=True)[0]
    own = [(0, 1, 4, 5), (2, 3, 6, 0)][rank]  # the last one is filled up with the first
    expected = network(paddle.to_tensor(np.stack([Rows(7)[at][0] for at in own])))
    model.save(f"{folder}/by hand {rank}")
    return {
        "weight": network.weight.numpy().ravel(),
        "found": model.evaluate(Rows(7), batch_size=2, verbose=0),
        "losses": losses.seen,
        "error": float(np.abs(parts - expected.numpy()).max()),
        "state": sorted(network.state_dict()),
    }


@pytest.mark.servers
def test_training_is_paddles(workers, tmp_path):
    each = workers(2)(trained, str(tmp_path))
    for found in each:
        np.testing.assert_allclose(found["weight"], [*WEIGHT, LAST], atol=6e-6)
        assert found["found"]["acc"] == 4 / 7
        assert found["error"] < 1e-6
        assert found["state"] == ["bias", "weight"]
    assert each[0]["losses"] == each[1]["losses"]  # so that callbacks decide the same
    assert each[0]["found"] == each[1]["found"]
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.pdparams"))
    assert written == ["0/0.pdparams", "0/1.pdparams", "0/final.pdparams", "by hand 0.pdparams"]


def with_a_loader():
    _, model = made(dist.get_rank())
    loader = paddle.io.DataLoader(Rows(6), batch_size=2)
    outputs = model.predict(loader, verbose=0)[0]
    return len(outputs), model.evaluate(loader, verbose=0)["acc"]


@pytest.mark.servers
def test_a_loader_is_taken_as_it_is(workers):
    # The metric sees the first 6 rows of both processes together, as in PaddlePaddle.
    (count, accuracy), other = workers(2)(with_a_loader)
    assert count == other[0] == 3
    assert accuracy == other[1]


PROGRAM = """
import paddle
from tests.distributed.test_shared_model import Rows, made
network, model = made(paddle.distributed.get_rank())
assert paddle.distributed.is_initialized()
model.fit(Rows(13), batch_size=2, epochs=2, verbose=0, shuffle=False)
print([round(float(v), 3) for v in network.weight.numpy().ravel()])
"""


@pytest.mark.servers
def test_the_first_model_of_a_launched_program_connects_the_processes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "sampan.distributed.launch", "--nproc_per_node=2", "program.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    logs = [(tmp_path / "log" / f"workerlog.{rank}").read_text() for rank in range(2)]
    assert logs[0] == logs[1] == f"{[round(value, 3) for value in (*WEIGHT, LAST)]}\n"
