"""A program for parameter servers as PaddlePaddle's users write it: a static graph, roles from the environment.

Arguments: how many steps, and a folder. Each trainer takes its rows of a batch; without servers the program
takes all of them. Trainer 0 kills server 0 in the middle, if there are servers.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import static
from paddle.distributed import fleet

STEPS, FOLDER = int(sys.argv[1]), Path(sys.argv[2])


def network():
    ids = static.data("ids", [None, 4], "int64")
    label = static.data("label", [None, 1], "float32")
    rows = static.nn.sparse_embedding(
        ids,
        [10_000, 8],
        entry=paddle.distributed.CountFilterEntry(0),
        param_attr=paddle.ParamAttr(name="words", initializer=paddle.nn.initializer.Uniform(-0.1, 0.1)),
    )
    hidden = static.nn.fc(rows.reshape([-1, 32]), 16, activation="tanh")
    logit = static.nn.fc(hidden, 1)
    return paddle.nn.functional.binary_cross_entropy_with_logits(logit, label)


def main():
    paddle.enable_static()
    role = fleet.PaddleCloudRoleMaker()
    fleet.init(role)
    paddle.seed(7 + max(fleet.worker_index(), 0))
    loss = network()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(0.05, lazy_mode=True), strategy)
    optimizer.minimize(loss)
    if fleet.is_server():
        (FOLDER / f"server.{fleet.server_index()}").write_text(str(os.getpid()))
        fleet.init_server()
        fleet.run_server()
        return
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    fleet.init_worker()
    rng, losses = np.random.default_rng(0), []
    parts, mine = (fleet.worker_num(), fleet.worker_index()) if fleet.server_num() else (1, 0)
    for step in range(STEPS):
        batch = rng.integers(0, 300, (32, 4))
        label = (batch % 2).max(1, keepdims=True).astype("float32")
        feed = {"ids": batch[mine::parts], "label": label[mine::parts]}
        if fleet.server_num() and fleet.is_first_worker() and step == STEPS // 2:
            os.kill(int((FOLDER / "server.0").read_text()), signal.SIGKILL)
        losses.append(float(exe.run(feed=feed, fetch_list=[loss])[0]))
    found = {
        p.name: p.numpy().tolist()
        for p in static.default_main_program().all_parameters()
        if p.name != "words"
    }
    (FOLDER / f"trainer.{mine}").write_text(json.dumps([losses, list(found.values())]))
    if fleet.is_first_worker():
        fleet.save_persistables(exe, str(FOLDER / "saved"))
    fleet.stop_worker()


main()
