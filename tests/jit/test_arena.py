"""An arena for the results of a Program: no two that are needed together share bytes."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan as paddle
from sampan import nn
from sampan.jit.arena import aligned, lifetimes, offsets, run_in_arena
from sampan.jit.liveness import Buffer, bound
from sampan.jit.program import Ref, refs

from .passes.beside import rewriting_of


def program_of(layer: Any, x: torch.Tensor) -> tuple[Any, list[Ref], dict[Ref, torch.Tensor]]:
    """(calls, outputs, given) of a layer with one input."""
    rewriting = rewriting_of(layer, [*x.shape])
    return rewriting.calls, list(refs(rewriting.result)), {Ref("x", 0): x, **rewriting.frozen}


def at_once(lives: Sequence[Buffer]) -> int:
    """The bytes that are needed together: no arena can be smaller."""
    return bound(lives, 1 + max((life.last for life in lives), default=0))


class Residual(nn.Layer):
    """A sum of a long and a short way, a view, and a value that is written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = (
            nn.Conv2D(2, 4, 3, padding=1),
            nn.Conv2D(4, 4, 3, padding=1),
            nn.Linear(256, 5),
        )

    def forward(self, x: Any) -> Any:
        h = nn.functional.relu(self.first(x))
        h = nn.functional.relu_(self.second(h)) + h
        return self.last(h.flatten(1)), h.mean()


def test_lifetimes_of_a_chain_and_of_views() -> None:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Flatten(), nn.Linear(32, 1))
    lives = lifetimes(*program_of(net, torch.randn(2, 16)))
    assert [(life.bytes, life.born, life.last) for life in lives[:2]] == [(256, 0, 1), (256, 1, len(lives))]
    assert lives[-1].bytes == 8 and lives[-1].last == lives[-1].born + 1  # it is returned
    assert (aligned(0), aligned(8), aligned(64), aligned(65)) == (0, 64, 64, 128)


@pytest.mark.parametrize("batch", [1, 3])
def test_the_answer_in_an_arena_is_the_answer(batch: int) -> None:
    paddle.seed(0)
    net, x = Residual(), torch.randn(batch, 2, 8, 8)
    calls, outputs, known = program_of(net, x)
    with paddle.no_grad():
        wanted = net(paddle.to_tensor(x))
    found, height = run_in_arena(calls, outputs, known)
    lives = lifetimes(calls, outputs, known)
    assert all(torch.equal(a, b.data) for a, b in zip(found, wanted, strict=True))
    assert at_once(lives) <= height < sum(aligned(life.bytes) for life in lives)


def test_values_that_overlap_spoil_the_answer_and_bad_offsets_are_refused() -> None:
    calls, outputs, known = program_of(Residual(), torch.randn(1, 2, 8, 8))
    right, _ = run_in_arena(calls, outputs, known)
    wrong, _ = run_in_arena(calls, outputs, known, lambda sizes, born, last: [0] * len(sizes))
    assert not torch.allclose(right[0], wrong[0])
    chain = program_of(nn.Sequential(nn.Linear(16, 16), nn.Tanh()), torch.randn(1, 16))
    ((first,), _) = run_in_arena(*chain, lambda sizes, born, last: [0] * len(sizes))
    assert first.isnan().all()  # tanh would write where it reads
    for bad in (-64, 8):
        with pytest.raises(ValueError, match="multiples of 64"):
            run_in_arena(calls, outputs, known, lambda sizes, born, last, bad=bad: [bad] * len(sizes))


def overlaps(lives: Sequence[Buffer], places: Sequence[int]) -> bool:
    """Whether two values share a byte during a call, by marking every byte of 64 in every call."""
    taken = set()
    for life, at in zip(lives, places, strict=True):
        for call in range(life.born, life.last + 1):
            for line in range(at // 64, (at + life.bytes) // 64):
                if (call, line) in taken:
                    return True
                taken.add((call, line))
    return False


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9), st.integers(0, 4)), max_size=14))
def test_no_two_values_that_are_needed_together_overlap(drawn: list[tuple[int, int, int]]) -> None:
    lives = [Buffer((), 64 * size, born, born + more) for size, born, more in drawn]
    places = offsets([v.bytes for v in lives], [v.born for v in lives], [v.last for v in lives])
    assert not overlaps(lives, places) and all(at >= 0 and at % 64 == 0 for at in places)
    height = max((at + life.bytes for life, at in zip(lives, places, strict=True)), default=0)
    assert at_once(lives) <= height <= sum(life.bytes for life in lives)
