"""What each worker of a fleet trains: a network on digits, data parallel, which goes on after kills.

The arguments are the settings, the folder of the reports, and the name of the copies in memory.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from studio.fleet.data import digits
from studio.fleet.settings import Settings

BATCH = 64  # of all workers together
EVERY = 16  # steps between two copies of the state; a multiple of LOCAL
LOCAL = 8  # steps between two exchanges of parameters
SPARSITY = 0.99
RESULT = "result.json"


def made(settings: Settings, world: int) -> tuple[Any, Any, Any]:
    """The network, what is called in its place so that gradients are exchanged, and the optimizer."""
    import sampan
    from sampan.distributed.compression import HalfPrecision, LocalSGD, TopK
    from sampan.distributed.replicas import broadcast

    sampan.seed(0)
    layer = (
        sampan.models.MLP(64, hidden=(256, 128), num_classes=10)
        if settings.network == "mlp"
        else sampan.models.LeNet(image_size=8)
    )
    parameters = layer.parameters()
    if settings.exchange == "local":
        optimizer: Any = sampan.optimizer.SGD(0.1, parameters=parameters)
        if world > 1:
            broadcast(layer, None)
            # No step before the first exchange counts alone: copies of the state are made after exchanges.
            optimizer = LocalSGD(optimizer, LOCAL, begin_step=0)
        return layer, layer, optimizer
    parallel = sampan.DataParallel(layer)
    if settings.exchange == "dgc":  # it has the momentum
        parallel.compress_with(TopK(0.9, (SPARSITY,)))
        return layer, parallel, sampan.optimizer.SGD(0.01, parameters=parameters)
    if settings.exchange == "half":
        parallel.compress_with(HalfPrecision("bfloat16"))
    return layer, parallel, sampan.optimizer.Momentum(0.01, 0.9, parameters=parameters)


def train(settings: Settings, folder: Path, job: str) -> None:
    """Train to the last step; rank 0 then writes the accuracy on the test images."""
    import sampan
    import sampan.distributed as dist
    from sampan.distributed.elastic import Reporter, Run, Samples

    reporter = Reporter(folder)
    if reporter.world > 1:
        dist.init_parallel_env()
    images, labels, test_images, test_labels = digits()
    layer, network, optimizer = made(settings, reporter.world)
    run = Run(layer, optimizer, Samples(len(images), BATCH), every=EVERY, job=job, reporter=reporter)
    due = time.monotonic()
    for step in run.steps(settings.steps):
        x, y = sampan.to_tensor(images[step.samples]), sampan.to_tensor(labels[step.samples])
        loss = step.share(sampan.nn.functional.cross_entropy(network(x), y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if settings.pace:
            due = max(due + 1 / settings.pace, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
    if reporter.rank == 0:
        layer.eval()
        with sampan.no_grad():
            answers = layer(sampan.to_tensor(test_images)).numpy().argmax(1)
        (folder / RESULT).write_text(json.dumps({"accuracy": float((answers == test_labels).mean())}))
    reporter.close()


if __name__ == "__main__":
    train(Settings.of_text(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
