"""Programs that test_faults.py runs in each of several processes. They return plain values."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import warnings
from datetime import timedelta

import numpy as np
from torch.distributed import TCPStore

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import agreement, environment
from sampan.distributed.agreement import CommunicationError
from sampan.distributed.elastic import Run, Samples
from sampan.distributed.sharding import group_sharded_parallel
from tests.distributed.relay import StoreRelay


def network():
    """(DataParallel, optimizer) of the same network in each call."""
    paddle.seed(11)
    layer = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 1))
    model = paddle.DataParallel(layer, comm_buffer_size=0.0003, last_comm_buffer_size=0.0001)
    return model, paddle.optimizer.Adam(0.01, parameters=model.parameters())


def batch(step):
    rng = np.random.default_rng([step, dist.get_rank()])
    return paddle.to_tensor(rng.standard_normal((8, 6)).astype("float32"))


def trained(steps, before=lambda step: None):
    """The losses, and the sum of the weights after them. before: called in each step before its backward."""
    model, optimizer = network()
    losses = []
    for step in range(steps):
        loss = (model(batch(step)) ** 2).mean()
        before(step)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses, float(sum(p.sum() for p in model.parameters()))


def stop_here(seconds):
    """Another process stops this one and lets it go on."""
    own = os.getpid()
    subprocess.run(["sh", "-c", f"kill -STOP {own}; sleep {seconds}; kill -CONT {own}"], check=True)


def stopped(who, seconds):
    """Training that nothing disturbs, and training in which one process stops; its warnings."""
    whole = trained(5)
    usual = agreement.NOTED_AFTER, agreement.WARNED_AFTER, agreement.ANSWER
    agreement.NOTED_AFTER, agreement.WARNED_AFTER, agreement.ANSWER = 0.2, 0.4, 0.3
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            disturbed = trained(
                5, lambda step: stop_here(seconds) if (step, dist.get_rank()) == (3, who) else None
            )
    finally:
        agreement.NOTED_AFTER, agreement.WARNED_AFTER, agreement.ANSWER = usual
    return disturbed == whole, [str(one.message) for one in seen], os.getpid()


def leaves_out_a_backward():
    """Rank 1 runs no backward in step 2. What both are told then, and as the others end their steps."""
    model, optimizer = network()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        start = time.monotonic()
        try:
            for step in range(4):
                loss = (model(batch(step)) ** 2).mean()
                if (step, dist.get_rank()) == (2, 1):
                    continue
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
            dist.barrier()
        except CommunicationError as error:
            ended = str(error)
    dist.restart_process_group()
    after = trained(1)[0]
    return [str(one.message) for one in seen], ended, time.monotonic() - start, len(after)


class Words(nn.Layer):
    """A table whose gradients are rows, and a layer over it."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(20, 4, sparse=True), nn.Linear(4, 1)

    def forward(self, ids):
        return self.out(self.table(ids))


def not_finite(everywhere):
    """What is said of a NaN that rank 1 computes in its second step, in one gradient or in all; whether the
    weights stay in that step, and change in the next one."""
    model = paddle.DataParallel(Words())
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    sums, text, mine = [], "", dist.get_rank() == 1
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        for step in range(3):
            factor = float("nan") if mine and step == 1 else 1.0
            poisoned = model._layers.out.bias.register_hook(lambda gradient, factor=factor: gradient * factor)
            outputs = model(paddle.to_tensor([1, 2, 2 + dist.get_rank()]))
            try:
                (outputs * (factor if everywhere else 1.0)).mean().backward()
                optimizer.step()
            except FloatingPointError as error:
                text = str(error)
            poisoned.remove()
            optimizer.clear_grad()
            sums.append(sum(float(p.sum()) for p in model.parameters()))
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})
    return text, sums[1] == sums[0], bool(np.isfinite(sums[2])) and sums[2] != sums[1]


def refusal(call):
    """The error of a call."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def destroyed():
    """Collectives in a group that this process is not in, in one that was destroyed, and after all were."""
    x = paddle.ones([2])
    other, part = dist.new_group([1 - dist.get_rank()]), dist.new_group()
    dist.all_reduce(x, group=part)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nothing = dist.all_reduce(x, group=other)
    dist.destroy_process_group(part)
    found = [refusal(lambda: dist.all_reduce(x, group=part)), refusal(lambda: dist.barrier(part))]
    task = dist.all_reduce(paddle.ones([1]), sync_op=False)
    task.wait()
    dist.destroy_process_group()
    found += [
        refusal(lambda: dist.all_reduce(x)),
        refusal(dist.barrier),
        refusal(lambda: dist.broadcast(x, 0, part)),
    ]
    found += [refusal(lambda: paddle.DataParallel(nn.Linear(2, 2)))]
    dist.init_parallel_env()
    found.append(refusal(lambda: dist.all_reduce(x, group=part)))
    dist.all_reduce(x)
    return found, (nothing, [str(one.message) for one in seen]), x.tolist()


def bad_network(how):
    """Training over a relay that becomes slow (1 Mbit/s), loses everything or breaks in step 2, and over a new
    connection; against training that nothing disturbs. The error, and how long it took."""
    whole = trained(4)
    direct = environment.state["server"]
    relay = None
    if dist.get_rank() == 1:
        relay = StoreRelay(direct.port)
        environment.state["server"] = TCPStore("127.0.0.1", relay.port, 2, False)
    os.environ[environment.TIMEOUT] = "6"
    try:
        dist.restart_process_group()
        error, seconds, found = "", 0.0, None
        start = time.monotonic()

        def disturb(step):
            nonlocal start
            if step == 2:
                start = time.monotonic()
                for one in relay.relays.values() if relay else ():
                    one.rate = 1e6 / 8 if how == "slow" else None
                    one.losing = how == "losing"
                    if how == "broken":
                        one.cut()

        try:
            found = trained(4, disturb)
        except CommunicationError as failed:
            error = str(failed)
        seconds = time.monotonic() - start
    finally:
        del os.environ[environment.TIMEOUT]
        environment.state["server"] = direct
        dist.restart_process_group()
    relayed = sum(len(one.pairs) for one in relay.relays.values()) if relay else None
    return found == whole, error, seconds, trained(4) == whole, relayed


def saved(folder):
    """A DataParallel's state after two steps with float16 and a scaler: through `save` and `load` into another one and
    into the layer alone; through `jit.save` of the inner layer. Whether all give the same outputs in all processes."""
    model, optimizer = network()
    scaler = paddle.amp.GradScaler(init_loss_scaling=256.0)
    for step in range(2):
        with paddle.amp.auto_cast(dtype="float16"):
            loss = (model(batch(step)) ** 2).mean()
        scaler.scale(loss.astype("float32")).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    model.eval()
    x = paddle.ones([3, 6])
    expected = model(x).numpy().tolist()
    heard = []
    dist.all_gather_object(heard, expected)
    if dist.get_rank() == 0:
        states = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),
        }
        paddle.save(states, f"{folder}/all.pdparams")
        paddle.jit.save(model._layers, f"{folder}/net", input_spec=[paddle.static.InputSpec([None, 6])])
    dist.barrier()
    states = paddle.load(f"{folder}/all.pdparams")
    other, its_optimizer = network()
    other.set_state_dict(states["model"])
    its_optimizer.set_state_dict(states["optimizer"])
    alone = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 1))
    alone.set_state_dict(states["model"])
    found = [list(states["model"]), heard == [expected] * len(heard)]
    for one in (other, alone, paddle.jit.load(f"{folder}/net")):
        one.eval()
        found.append(float(np.abs(one(x).numpy() - expected).max()) < 1e-6)
    # The next step is the same with the state that was read.
    model.train(), other.train()
    steps = []
    for each, its_own in ((model, optimizer), (other, its_optimizer)):
        paddle.seed(2)
        (each(batch(9)) ** 2).mean().backward()
        its_own.step()
        its_own.clear_grad()
        steps.append([p.numpy().tolist() for p in each.parameters()])
    return [*found, steps[0] == steps[1]]


def sharded_run(level, job):
    """Losses of a run whose optimizer is divided: undisturbed, and left in step 7 and begun anew. Where that began."""
    outcomes = []
    for name, stop in (("whole", None), ("left", 7), ("left", None)):
        paddle.seed(4)
        layer = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.3), nn.Linear(16, 1))
        for at, parameter in enumerate(layer.parameters()):
            parameter.name = f"p{at}"
        model, optimizer, _ = group_sharded_parallel(
            layer, paddle.optimizer.Adam(0.01, parameters=layer.parameters()), level
        )
        run = Run(model, optimizer, Samples(90, 8), every=3, job=f"{job}-{name}")
        losses = {}
        for step in run.steps(12):
            x = paddle.to_tensor(np.sin(np.arange(90 * 6).reshape(90, 6)).astype("float32")[step.samples])
            loss = step.share((model(x) ** 2).mean())
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses[step.number] = loss.item()
            if step.number == stop:
                break
        outcomes.append(losses)
    whole, _, rest = outcomes
    return min(rest), rest == {step: whole[step] for step in rest}, len(whole)


def in_threads(apart):
    """Sums in two threads at once, each in a group of its own, or with tensors of two sizes in one group."""
    groups = [dist.new_group(timeout=timedelta(seconds=5)) for _ in range(2)]
    found, ends = [None, None], []

    def run(number):
        x = paddle.full([2 + number], float(dist.get_rank() + number))
        try:
            for _ in range(20):
                dist.all_reduce(x, dist.ReduceOp.MAX, group=groups[number if apart else 0])
            found[number] = x.tolist()
        except Exception as error:
            found[number] = f"{type(error).__name__}: {error}"
        ends.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    if dist.get_rank():
        threads.reverse()  # which comes first differs between the processes
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    seconds = time.monotonic() - start
    dist.restart_process_group()
    return found, seconds, sorted(ends)
