"""The programs of `distributed.py`: each runs in every one of several connected processes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as c10d
from torch.nn.parallel import DistributedDataParallel

import sampan as paddle
from benchmarks.rows.networks import fill, resnet18_torch
from sampan.distributed import compression, environment, traffic
from sampan.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear
from sampan.distributed.group import Group
from sampan.distributed.row_exchange import RowExchange
from sampan.distributed.sharding import group_sharded_parallel, held_bytes
from sampan.engine.tensor import Tensor
from sampan.row_sparse import RowGradient

VOCABULARY, WIDTH = 20_000, 64
KIND = "MLP of 8 x 1024"
COUNTED = 5  # steps whose bytes are counted


def sent_bytes() -> int:
    """Bytes that left this network namespace: exact where nothing else runs in it."""
    counters = Path("/proc/net/dev").read_text().splitlines()[2:]
    return sum(int(line.split(":")[1].split()[8]) for line in counters)


def interleaved(programs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each program, called in turn, from a barrier to the end of the slowest process; and as "NAME, cpu"
    those of this process's threads, which other programs of the machine hardly change."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, program in programs.items():
            c10d.barrier()
            began, used = time.perf_counter(), time.process_time()
            program()
            c10d.barrier()
            times.setdefault(name, []).append(time.perf_counter() - began)
            times.setdefault(f"{name}, cpu", []).append(time.process_time() - used)
    return {name: statistics.median(found) for name, found in times.items()}


class Recurrent(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = paddle.nn.LSTM(64, 256), paddle.nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(x)[0][:, -1])


class TorchRecurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = torch.nn.LSTM(64, 256, batch_first=True), torch.nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(x)[0][:, -1])


def stack(fw: Any, count: int, width: int) -> list[Any]:
    return [layer for _ in range(count) for layer in (fw.nn.Linear(width, width), fw.nn.ReLU())]


def networks(kind: str, wide: bool = False) -> tuple[Any, Any, np.ndarray]:
    """The same network for both, and inputs of this process. wide: in float64."""
    numbers = np.random.RandomState(c10d.get_rank())
    if kind == "MLP of 8 x 1024":
        pair = [fw.nn.Sequential(*stack(fw, 6, 1024), fw.nn.Linear(1024, 10)) for fw in (paddle, torch)]
        x = numbers.randn(64, 1024).astype("float32")
    elif kind == "ResNet-18":
        pair = [paddle.vision.models.resnet18(num_classes=10), resnet18_torch(torch)]
        x = numbers.randn(4, 3, 64, 64).astype("float32")
    elif kind == "LSTM":
        pair, x = [Recurrent(), TorchRecurrent()], numbers.randn(16, 20, 64).astype("float32")
    else:
        tables = (
            paddle.nn.Embedding(VOCABULARY, WIDTH),
            torch.nn.Embedding(VOCABULARY, WIDTH, sparse=True),
        )
        pair = [
            fw.nn.Sequential(table, fw.nn.Flatten(), fw.nn.Linear(WIDTH * 20, 10))
            for fw, table in zip((paddle, torch), tables, strict=True)
        ]
        x = np.minimum(numbers.zipf(1.2, (256, 20)), VOCABULARY) - 1
    fill(paddle, pair[0], False)
    fill(torch, pair[1], True)
    if kind == "LSTM":
        copied = dict(pair[1].lstm.named_parameters())
        for name, parameter in pair[0].lstm.named_parameters():
            if name in copied:
                parameter.set_value(copied[name].detach().numpy())
    if wide:
        pair[0].astype("float64"), pair[1].double()
        x = x.astype("float64") if x.dtype == np.float32 else x
    return pair[0], pair[1], x


def step_of(model: Any, optimizer: Any, x: Any, y: Any, loss_of: Any) -> Callable[[], float]:
    def step() -> float:
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        getattr(optimizer, "clear_grad", optimizer.zero_grad)()
        return loss.item()

    return step


def programs_of(kind: str, wide: bool = False) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """Our DataParallel, and a step with SGD of it and of torch's."""
    ours, theirs, x = networks(kind, wide)
    y = np.random.RandomState(9 + c10d.get_rank()).randint(0, 10, len(x))
    parallel = paddle.DataParallel(ours)
    ddp = DistributedDataParallel(theirs, forward_sync_buffers=False)
    return parallel, {
        "sampan": step_of(
            parallel,
            paddle.optimizer.SGD(0.01, parameters=ours.parameters()),
            paddle.to_tensor(x),
            paddle.to_tensor(y),
            paddle.nn.functional.cross_entropy,
        ),
        "torch": step_of(
            ddp,
            torch.optim.SGD(theirs.parameters(), lr=0.01),
            torch.from_numpy(x),
            torch.from_numpy(y),
            torch.nn.functional.cross_entropy,
        ),
    }


LOCAL_STEPS = 8


def compressed(kind: str) -> dict[str, Callable[[], Any]]:
    """A step with 0.1 % of the gradient's entries, and LOCAL_STEPS steps of LocalSGD with their exchange."""
    made = {}
    y = paddle.to_tensor(np.random.RandomState(9).randint(0, 10, len(networks(kind)[2])))
    for name in ("DGC", "LocalSGD"):
        model, _, x = networks(kind)
        called: Any = model
        optimizer: Any = paddle.optimizer.SGD(0.01, parameters=model.parameters())
        if name == "DGC":
            called = paddle.DataParallel(model)
            called.compress_with(compression.TopK(0.9, [0.999]))
        else:
            optimizer = compression.LocalSGD(optimizer, LOCAL_STEPS)
        made[name] = step_of(called, optimizer, paddle.to_tensor(x), y, paddle.nn.functional.cross_entropy)
    step = made["LocalSGD"]
    return {**made, "LocalSGD": lambda: [step() for _ in range(LOCAL_STEPS)]}


def losses(kind: str, steps: int) -> dict[str, float]:
    """How far losses are apart after so many steps from equal weights: ours from DDP's in float32 and in float64, and,
    because a network amplifies roundings, DDP's in float32 from its own in float64."""
    last: dict[str, dict[str, float]] = {}
    for width in ("float32", "float64"):
        _, programs = programs_of(kind, width == "float64")
        for _ in range(steps):
            last[width] = {name: program() for name, program in programs.items()}
    found = {width: abs(each["sampan"] / each["torch"] - 1) for width, each in last.items()}
    return {**found, "rounding": abs(last["float32"]["torch"] / last["float64"]["torch"] - 1)}


def data_parallel(kind: str, rounds: int, linked: bool = False) -> dict[str, Any]:
    """Seconds of a step with SGD, and the bytes that it sends. linked: also of a step with fewer bytes."""
    parallel, programs = programs_of(kind)
    found: dict[str, Any] = {}
    for _ in range(2):
        for program in programs.values():
            program()
    for name, program in programs.items():
        c10d.barrier()
        before, counted = sent_bytes(), sum(entry[-1] for entry in traffic.totals().values())
        for _ in range(COUNTED):
            program()
        c10d.barrier()
        found[f"{name} bytes"] = (sent_bytes() - before) / COUNTED
        if name == "sampan":
            found["counted"] = (sum(entry[-1] for entry in traffic.totals().values()) - counted) / COUNTED
    reducer: Any = parallel._reducer

    def without_overlap() -> None:
        kept, reducer.where = reducer.where, {}  # gradients that arrive are not put into buckets
        programs["sampan"]()
        reducer.where = kept

    others = compressed(kind) if linked else {}
    for program in others.values():
        program()
    times = interleaved({**programs, "sampan, after backward": without_overlap, **others}, rounds)
    if linked:
        times["LocalSGD"] /= LOCAL_STEPS
    return {**found, **times}


def rows(count: int, half: bool, rounds: int) -> dict[str, Any]:
    """One Zipf batch of ids over a table of 1M x 64: seconds and bytes."""
    table, width = 1_000_000, 64
    numbers = np.random.RandomState(c10d.get_rank())
    ids = torch.from_numpy(np.minimum(numbers.zipf(1.1, count), table) - 1)
    values = torch.from_numpy(numbers.randn(count, width).astype("float32"))
    weight = Tensor(torch.zeros(table, width), stop_gradient=False)
    exchange = RowExchange([weight], None, torch.bfloat16 if half else None)

    def sampan() -> None:
        weight._grad = RowGradient([(ids, values, None, None)], (table, width))
        exchange([False])

    def torch_sparse() -> None:
        gradient = torch.sparse_coo_tensor(ids[None], values, (table, width))
        c10d.all_reduce(gradient.coalesce())

    found: dict[str, Any] = {}
    programs = {"sampan": sampan, "torch": torch_sparse}
    for name, program in programs.items():
        program()
        c10d.barrier()
        before = sent_bytes()
        program()
        found[f"{name} bytes"] = sent_bytes() - before
    found["different"] = len(ids.unique())
    return {**found, **interleaved(programs, rounds)}


def all_processes() -> Group:
    """The group of all processes of the row."""
    group = Group(c10d.get_rank(), 0, range(c10d.get_world_size()), c10d.group.WORLD)
    group.checks = c10d.new_group(backend="gloo")
    environment.state["store"] = c10d.distributed_c10d._get_default_store()  # where waiting calls are noted
    return group


def sharded(rounds: int) -> dict[str, Any]:
    """An MLP of 8 x 1024 with AdamW: seconds of a step, and bytes of state, gradients and parameters after it,
    with DataParallel and with each level of sharding."""
    found: dict[str, Any] = {}
    programs: dict[str, Callable[[], Any]] = {}
    group = all_processes()
    for level in ("whole", "os", "os_g", "p_g_os"):
        layer, _, x = networks(KIND)
        optimizer: Any = paddle.optimizer.AdamW(1e-4, parameters=layer.parameters())
        if level == "whole":
            model: Any = paddle.DataParallel(layer)
        else:
            model, optimizer, _ = group_sharded_parallel(
                layer, optimizer, level, group=group, segment_size=1024
            )
        y = np.random.RandomState(9 + c10d.get_rank()).randint(0, 10, len(x))
        loss_of = paddle.nn.functional.cross_entropy
        programs[level] = step_of(model, optimizer, paddle.to_tensor(x), paddle.to_tensor(y), loss_of)
        for _ in range(3):
            programs[level]()
        loss_of(model(paddle.to_tensor(x)), paddle.to_tensor(y)).backward()
        found[f"{level} state"] = held_bytes(optimizer)
        found[f"{level} gradients"] = sum(p._grad.data.nbytes for p in layer.parameters())
        found[f"{level} parameters"] = sum(p.data.nbytes for p in layer.parameters())
        optimizer.clear_grad()
    return {**found, **interleaved(programs, rounds)}


def tensor_parallel(rounds: int) -> dict[str, Any]:
    """Seconds of forward and backward of a perceptron 1024 -> 4096 -> 1024 for 256 rows, cut over the
    processes, and whole in each."""
    group = all_processes()
    cut = paddle.nn.Sequential(
        ColumnParallelLinear(1024, 4096, has_bias=True, gather_output=False, mp_group=group),
        paddle.nn.GELU(),
        RowParallelLinear(4096, 1024, input_is_parallel=True, mp_group=group),
    )
    whole = paddle.nn.Sequential(paddle.nn.Linear(1024, 4096), paddle.nn.GELU(), paddle.nn.Linear(4096, 1024))
    x = paddle.to_tensor(np.random.RandomState(0).randn(256, 1024).astype("float32"), stop_gradient=False)

    def step(layer: Any) -> Callable[[], None]:
        def run() -> None:
            layer(x).mean().backward()
            for parameter in layer.parameters():
                parameter.clear_gradient(False)
            x.clear_gradient(False)

        return run

    programs = {"cut": step(cut), "whole": step(whole)}
    for program in programs.values():
        program()
    before = sum(entry[-1] for entry in traffic.totals().values())
    programs["cut"]()
    sent = sum(entry[-1] for entry in traffic.totals().values()) - before
    return {"bytes": sent, **interleaved(programs, rounds)}
