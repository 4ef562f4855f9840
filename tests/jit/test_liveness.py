"""From where to where buffers live. Oracle: an interpreter that frees by counting the readers that are left."""

from typing import Any

import numpy as np
import torch

import sampan as paddle
from sampan import nn
from sampan.jit.code import read_by
from sampan.jit.evaluation import run
from sampan.jit.liveness import Buffer, alive, bound, buffers
from sampan.jit.program import Call, Ref, refs
from sampan.jit.stages import stages


def calls_of(*lines: tuple[Any, str, str]) -> list[Call]:
    """Calls such as (torch.exp, "x0", "v0")."""

    def ref(name: str) -> Ref:
        return Ref(name[0], int(name[1:]))

    return [Call(f, f.__name__, tuple(map(ref, given.split())), {}, ref(made)) for f, given, made in lines]


def test_a_chain_needs_two_buffers_and_a_result_that_is_read_late_one_more() -> None:
    x = torch.ones(256)
    calls = calls_of(
        (torch.exp, "x0", "v0"), (torch.sin, "v0", "v1"), (torch.cos, "v1", "v2"), (torch.add, "v0 v2", "v3")
    )
    given = {Ref("x", 0): x}
    made = buffers(calls, [Ref("v", 3)], run(dict(given), calls, [x]), given)
    v = [Ref("v", i) for i in range(4)]
    assert made == [
        Buffer((v[0],), 1024, 0, 3),
        Buffer((v[1],), 1024, 1, 2),
        Buffer((v[2],), 1024, 2, 3),
        Buffer((v[3],), 1024, 3, 4),
    ]
    assert alive(made, 4) == [1024, 2048, 3072, 3072] and bound(made, 4) == 3072


def test_views_live_in_the_memory_of_their_source() -> None:
    x = torch.ones(4, 8)
    calls = calls_of(
        (torch.t, "x0", "v0"), (torch.exp, "v0", "v1"), (torch.t, "v1", "v2"), (torch.sin, "v2", "v3")
    )
    given = {Ref("x", 0): x}
    made = buffers(calls, [Ref("v", 3)], run(dict(given), calls, [x]), given)
    assert made == [Buffer((Ref("v", 1), Ref("v", 2)), 128, 1, 3), Buffer((Ref("v", 3),), 128, 3, 4)]
    assert bound([], 0) == 0


def counted(calls: list[Call], outputs: list[Ref], sizes: dict[Ref, int]) -> int:
    """The peak of an interpreter that frees a value when no later call reads it."""
    left = {ref: sum(ref in set(read_by(call)) for call in calls) + (ref in outputs) for ref in sizes}
    now = peak = 0
    for call in calls:
        now += sum(sizes[ref] for ref in refs(call.result))
        peak = max(peak, now)
        for ref in set(read_by(call)) & set(sizes):
            left[ref] -= 1
            now -= sizes[ref] * (left[ref] == 0)
    return peak


def test_the_bound_is_the_peak_of_freeing_by_counting_readers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        calls = []
        for i in range(12):
            sources = [Ref("v", int(n)) for n in rng.integers(0, i, 2)] if i else [Ref("x", 0)]
            calls.append(Call(torch.cat, "cat", (sources,), {}, Ref("v", i)))
        given = {Ref("x", 0): torch.ones(1)}
        values = run(dict(given), calls, [given[Ref("x", 0)]])
        read = {ref for call in calls for ref in read_by(call)}
        outputs = [Ref("v", i) for i in range(12) if Ref("v", i) not in read]
        sizes = {Ref("v", i): values[Ref("v", i)].nbytes for i in range(12)}
        made = buffers(calls, outputs, values, given)
        assert bound(made, 12) == counted(calls, outputs, sizes)


def test_it_fits_to_a_network() -> None:
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    (recorded,) = stages(net, [paddle.ones([2, 8])], [])
    assert [b.bytes for b in recorded.buffers] == [256, 256, 32]
    assert (recorded.bytes, recorded.peak) == (544, 512)
