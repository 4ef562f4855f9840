"""The time that processes of a pipeline wait, beside the formula (p - 1) / (v m + p - 1): a Markdown table.

    python -m benchmarks.pipeline [--rounds 9] [--width 768] [--simulate] [--picture FILE.html]

Two processes, each with equal stages of matrix products on one thread. The schedule itself records when each pass runs
(`PipelineParallel.report`); time that is not in a pass counts as waiting, also that of messages, which the formula does not
count: their part is smaller the larger --width is. Other programs on the machine add to it. "replayed" has the same passes with
the fewest seconds of their threads in any round. --simulate: the formula against the orders of the schedules for 4 and 8
processes, without computing.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median
from typing import Any

CASES = ((1, "1F1B", 2), (1, "1F1B", 4), (1, "1F1B", 8), (1, "F-then-B", 4), (2, "1F1B", 4))  # v, mode, m


def steps(width: int, rounds: int, picture: str) -> list[tuple[Any, ...]]:
    """In each of two processes: the measured shares of every case, whose rounds take turns."""

    import sampan as paddle
    import sampan.distributed as dist
    from sampan import nn
    from sampan.distributed import fleet
    from sampan.distributed.pipeline import PipelineLayer, PipelineParallel
    from sampan.transport.threads import use_threads

    use_threads(1)
    dist.init_parallel_env()
    fleet.init(
        is_collective=True,
        strategy=_strategy(fleet, {"hybrid_configs": {"dp_degree": 1, "pp_degree": dist.get_world_size()}}),
    )

    class Start(
        nn.Layer
    ):  # so that the first product needs the gradient of its input too, as in other stages
        def __init__(self) -> None:
            super().__init__()
            self.bias = self.create_parameter([width], is_bias=True)

        def forward(self, x: Any) -> Any:
            return x + self.bias

    pipelines = []
    for chunks, mode, micros in CASES:
        layers = [Start(), *(nn.Linear(width, width) for _ in range(8))]
        model = PipelineLayer(
            layers,
            num_stages=dist.get_world_size(),
            loss_fn=lambda out, y: (out * y).mean(),
            seg_method="layer:Linear",
            num_virtual_pipeline_stages=chunks,
        )
        configs = {"accumulate_steps": micros, "micro_batch_size": width, "schedule_mode": mode}
        strategy = _strategy(fleet, {"pipeline_configs": configs})
        pipelines.append(PipelineParallel(model, fleet.get_hybrid_communicate_group(), strategy))
    found: list[list[Any]] = [[] for _ in CASES]
    for turn in range(rounds + 1):
        for place, (pipeline, (_, _, micros)) in enumerate(zip(pipelines, CASES, strict=True)):
            x = paddle.ones([micros * width, width])
            pipeline.forward_backward_pipeline((x, x))
            pipeline._layers.clear_gradients()
            if turn:  # the first one compiles
                found[place].append(pipeline.report())
    if picture and dist.get_rank() == 0:
        nearest = min(found[1], key=lambda report: abs(report.bubble - report.formula))
        nearest.figure().write_html(picture, include_plotlyjs="cdn")
    return [
        (median(r.bubble for r in each), _least(each), median(r.seconds for r in each), each[0].formula)
        for each in found
    ]


def _least(reports: list[Any]) -> float:
    """The share if each pass took the fewest seconds of its thread in any round."""
    from sampan.distributed.pipeline.schedule import Action, bubble, simulate

    orders = [[Action(*each[:3]) for each in done] for done in reports[0].timed]
    seconds: dict[Action, float] = {}
    for each in (each for report in reports for done in report.timed for each in done):
        action = Action(*each[:3])
        seconds[action] = min(each.cpu, seconds.get(action, each.cpu))
    return bubble(simulate(orders, seconds.__getitem__))


def _strategy(fleet: Any, settings: dict[str, Any]) -> Any:
    strategy = fleet.DistributedStrategy()
    for name, value in settings.items():
        setattr(strategy, name, value)
    return strategy


def _process(width: int, rounds: int, picture: str) -> None:
    import sampan.distributed as dist

    found = steps(width, rounds, picture)
    if dist.get_rank() == 0:
        print(
            "| stages in each of 2 processes | schedule | micro-batches | waits | replayed | formula | ms |"
        )
        print("|---|---|---|---|---|---|---|")
        for (chunks, mode, micros), (share, replayed, seconds, expected) in zip(CASES, found, strict=True):
            print(
                f"| {chunks} | {mode} | {micros} | {share:.1%} ({share / expected:.2f} of the formula) "
                f"| {replayed:.1%} ({replayed / expected:.2f}) | {expected:.1%} | {seconds * 1e3:.0f} |",
                flush=True,
            )


def simulated() -> None:
    """The share of the orders of 4 and 8 processes where each backward pass takes twice a forward pass."""
    from sampan.distributed.pipeline.schedule import bubble, formula, order, simulate

    print(
        "| processes | stages in each | schedule | micro-batches | waits, simulated | formula |\n|---|---|---|---|---|---|"
    )
    for ranks in (4, 8):
        for chunks, mode in ((1, "1F1B"), (1, "F-then-B"), (2, "1F1B")):
            for micros in (ranks, 4 * ranks):
                orders = [order(rank, ranks, micros, chunks, mode) for rank in range(ranks)]
                share = bubble(simulate(orders, lambda action: 1.0 if action.kind == "F" else 2.0))
                print(
                    f"| {ranks} | {chunks} | {mode} | {micros} | {share:.2%} | {formula(ranks, micros, chunks):.2%} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--picture", default="", metavar="FILE.html")
    options = parser.parse_args()
    if options.simulate:
        simulated()
        return
    os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    from sampan.distributed import spawn

    picture = str(Path(options.picture).resolve()) if options.picture else ""
    spawn(_process, args=(options.width, options.rounds, picture), nprocs=2)


if __name__ == "__main__":
    main()
