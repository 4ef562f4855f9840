"""A mixture of experts over two processes beside the same one written with torch.distributed: a Markdown table.

    python -m benchmarks.experts [--rounds 15] [--width 256] [--rows 2048]

Each process has 4 experts (width -> 4 width -> width) and its own rows; the gate chooses 2 of the 8. Forward and backward,
gloo on loopback, one thread a process, rounds take turns. The networks have the same weights, and their outputs are compared
first. Bytes are those that a process sends to the other one in a step, by Sampan's counter.
"""

from __future__ import annotations

import argparse
import os
import time
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.distributed as c10d

OWN, TOP = 4, 2


class Exchange(torch.autograd.Function):
    """Rows to the other processes; the gradients come back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, sent: list[int], received: list[int]) -> torch.Tensor:
        ctx.sizes = sent, received
        out = x.new_empty(sum(received), x.shape[1])
        c10d.all_to_all_single(out, x, received, sent)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]  # one output
        sent, received = ctx.sizes
        out = gradient.new_empty(sum(sent), gradient.shape[1])
        c10d.all_to_all_single(out, gradient.contiguous(), sent, received)
        return out, None, None


class Mixture(torch.nn.Module):
    """The usual way in torch: sort the rows by expert, exchange, run the experts, exchange, add up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(width, OWN * c10d.get_world_size())
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
            )
            for _ in range(OWN)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        world = c10d.get_world_size()
        score, choice = self.gate(x).topk(TOP, -1)
        order = choice.flatten().argsort(stable=True)
        sent = torch.bincount(choice.flatten(), minlength=OWN * world)
        coming = torch.empty_like(sent)
        c10d.all_to_all_single(coming, sent)
        coming = coming.view(world, OWN)
        sizes = sent.view(world, OWN).sum(1).tolist(), coming.sum(1).tolist()
        rows = Exchange.apply(x[order // TOP], *sizes)
        by_expert = torch.arange(OWN).repeat(world).repeat_interleave(coming.flatten()).argsort(stable=True)
        parts = rows[by_expert].split(coming.sum(0).tolist())
        back = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        whole = Exchange.apply(torch.empty_like(back).index_copy(0, by_expert, back), *reversed(sizes))
        slots = torch.empty_like(whole).index_copy(0, order, whole).view(-1, TOP, x.shape[1])
        return (score.unsqueeze(-1) * slots).sum(1)


def _process(width: int, rows: int, rounds: int) -> None:
    import sampan as paddle
    import sampan.distributed as dist
    from sampan import nn
    from sampan.distributed import traffic
    from sampan.distributed.moe import MoELayer
    from sampan.transport.threads import use_threads

    use_threads(1)
    dist.init_parallel_env()
    group = dist.new_group()
    experts = [
        nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(OWN)
    ]
    ours = MoELayer(width, experts, {"type": "naive", "top_k": TOP}, group)
    theirs = Mixture(width)
    random = np.random.RandomState(1)
    for name, parameter in theirs.named_parameters():
        shared = random.randn(*parameter.shape).astype("float32") / np.sqrt(parameter.shape[-1])
        parameter.data.copy_(torch.from_numpy(shared))
        kept = dict(ours.named_parameters())[name if "experts" in name else f"gate.{name}"]
        kept.set_value(shared.T if shared.ndim == 2 else shared)
    given = np.random.RandomState(5 + dist.get_rank()).randn(1, rows, width).astype("float32")

    def sampan_step() -> Any:
        x = paddle.to_tensor(given, stop_gradient=False)
        y = ours(x)
        y.sum().backward()
        ours.clear_gradients()
        return y.numpy()[0]

    def torch_step() -> Any:
        x = torch.from_numpy(given[0]).requires_grad_()
        y = theirs(x)
        y.sum().backward()
        theirs.zero_grad()
        return y.detach().numpy()

    steps = {"sampan": sampan_step, "torch": torch_step}
    apart = float(np.abs(sampan_step() - torch_step()).max())
    assert apart < 1e-3, apart
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    before = traffic.totals()
    for turn in range(rounds):
        for name in list(steps) if turn % 2 else list(steps)[::-1]:
            dist.barrier()
            begin = time.perf_counter()
            steps[name]()
            seconds[name].append(time.perf_counter() - begin)
    if dist.get_rank() == 0:
        ratios = [a / b for a, b in zip(seconds["sampan"], seconds["torch"], strict=True)]
        named = [name for name in traffic.totals() if name.startswith("alltoall")]
        sent = sum(traffic.totals()[n].wire - (before[n].wire if n in before else 0) for n in named) / rounds
        least = 4 * TOP * rows * width * 4 / 2  # four exchanges; half of the rows stay
        print(
            "| mixture of 8 experts over 2 processes | / torch | ms | bytes a process sends | largest difference |"
        )
        print("|---|---|---|---|---|")
        print(
            f"| {rows} rows of {width}, 2 of 8, forward and backward | {median(ratios):.2f} "
            f"| {median(seconds['sampan']) * 1e3:.0f}, torch {median(seconds['torch']) * 1e3:.0f} "
            f"| {sent / 1e6:.2f} MB, {sent / least:.2f} of what evenly chosen rows need | {apart:.1e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=2048)
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    from sampan.distributed import spawn

    spawn(_process, args=(options.width, options.rows, options.rounds), nprocs=2)


if __name__ == "__main__":
    main()
