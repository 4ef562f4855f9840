"""The orders of passes against torch's schedules, and the time that they wait against the formula."""

import pytest
import torch.distributed as c10d
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import _PipelineStageBase
from torch.testing._internal.distributed.fake_pg import FakeStore

from sampan.distributed.pipeline.schedule import Action, bubble, formula, forward_only, order, simulate
from sampan.engine.errors import InvalidArgument


class Stage(_PipelineStageBase):
    """A stage that computes nothing: torch's schedules ask it where it is."""

    _prepare_forward_infra = _prepare_backward_infra = _create_grad_recv_info = None


def of_torch(kind, ranks, micros, chunks):
    """The passes of torch's schedule, by process."""
    c10d.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        stages = [Stage(None, place * ranks, chunks * ranks, "cpu") for place in range(chunks)]
        given = stages[0] if issubclass(kind, schedules.PipelineScheduleSingle) else stages
        found = kind(given, micros, loss_fn=print).pipeline_order
    finally:
        c10d.destroy_process_group()
    passes = [
        [
            Action(a.computation_type.value, a.stage_index, a.microbatch_index)
            for a in found[rank]
            if a is not None and a.computation_type.value in ("F", "B")
        ]
        for rank in range(ranks)
    ]
    if kind is schedules.Schedule1F1B:  # torch's table counts the forward passes of the last stage from 1
        passes[-1] = [a._replace(micro=a.micro - (a.kind == "F")) for a in passes[-1]]
    return passes


@pytest.mark.parametrize(
    ("kind", "mode", "chunks"),
    [
        (schedules.ScheduleGPipe, "F-then-B", 1),
        (schedules.Schedule1F1B, "1F1B", 1),
        (schedules.ScheduleInterleaved1F1B, "1F1B", 2),
        (schedules.ScheduleInterleaved1F1B, "1F1B", 3),
    ],
)
@pytest.mark.parametrize(("ranks", "micros"), [(2, 2), (2, 6), (4, 4), (4, 10), (8, 16)])
def test_the_orders_are_torchs(kind, mode, chunks, ranks, micros):
    ours = [order(rank, ranks, micros, chunks, mode) for rank in range(ranks)]
    assert ours == of_torch(kind, ranks, micros, chunks)


@pytest.mark.parametrize("mode", ["1F1B", "F-then-B"])
@pytest.mark.parametrize("backward", [1.0, 2.0])
@pytest.mark.parametrize(("ranks", "micros"), [(2, 1), (2, 7), (4, 8), (4, 3), (8, 16), (8, 64)])
def test_the_simulated_bubble_is_the_formula(mode, backward, ranks, micros):
    orders = [order(rank, ranks, micros, 1, mode) for rank in range(ranks)]
    timed = simulate(orders, lambda action: 1.0 if action.kind == "F" else backward)
    assert bubble(timed) == pytest.approx(formula(ranks, micros), rel=1e-12)


@pytest.mark.parametrize("chunks", [2, 4])
@pytest.mark.parametrize(("ranks", "micros"), [(2, 4), (4, 8), (8, 16)])
def test_interleaving_waits_less(chunks, ranks, micros):
    timed = simulate([order(rank, ranks, micros, chunks) for rank in range(ranks)])
    assert bubble(timed) == pytest.approx(formula(ranks, micros, chunks), rel=1e-12)
    assert formula(ranks, micros, chunks) < formula(ranks, micros)


def held(actions):
    """The most micro-batches whose activations are kept at once."""
    now = most = 0
    for action in actions:
        now += 1 if action.kind == "F" else -1
        most = max(most, now)
    return most, now


@pytest.mark.parametrize("rank", range(4))
def test_1f1b_keeps_no_more_than_there_are_stages_behind(rank):
    assert held(order(rank, 4, 32)) == (4 - rank, 0)
    assert held(order(rank, 4, 32, mode="F-then-B")) == (32, 0)


def test_forward_passes_alone():
    assert forward_only(1, 2, 2, 2) == [("F", 1, 0), ("F", 1, 1), ("F", 3, 0), ("F", 3, 1)]
    assert bubble(simulate([forward_only(rank, 4, 8) for rank in range(4)])) == pytest.approx(3 / 11)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0, 2, 4, 1, "zb"), "schedule_mode: expected one of 1F1B, F-then-B, got 'zb'"),
        ((0, 2, 5, 2), "expected a multiple of 2, the number of rounds, got 5"),
        ((0, 2, 0), "accumulate_steps: expected at least 1, got 0"),
    ],
)
def test_wrong_orders(given, text):
    with pytest.raises(InvalidArgument, match=text):
        order(*given)


def test_processes_that_wait_for_ever():
    with pytest.raises(InvalidArgument, match="wait for one another"):
        simulate([[Action("B", 0, 0), Action("F", 0, 0)]])
