"""The order in which each process of a pipeline computes, and how long it must wait.

A network is cut into stages. A batch is cut into m micro-batches, which pass through the stages one after
another (F: forward) and back (B: backward). With p processes and v stages in each (chunks), stage q belongs
to process q mod p.

- F-then-B: all forward passes, then all backward passes (GPipe, Huang et al. 2019). A process holds the
  activations of m micro-batches.
- 1F1B: after p - 1 - rank forward passes, one forward and one backward in turn (PipeDream-Flush, Narayanan et
  al. 2021, arXiv 2006.09503). It holds those of at most p micro-batches, and waits as long.
- interleaved 1F1B, with v > 1 (arXiv 2104.04473): waits a v-th of that time, and sends v times as much.

A process waits for (p - 1) / (v m + p - 1) of the time of a step, the bubble, where all stages take equally
long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...engine.errors import InvalidArgument

__all__ = ["Action", "Timed", "bubble", "formula", "order", "simulate"]

MODES = ("1F1B", "F-then-B")


class Action(NamedTuple):
    """One pass of one micro-batch through one stage. kind: "F" forward or "B" backward."""

    kind: str
    stage: int
    micro: int


class Timed(NamedTuple):
    """An Action and when it ran, in seconds. cpu: seconds in which its thread ran, 0 if not known."""

    kind: str
    stage: int
    micro: int
    start: float
    end: float
    cpu: float = 0.0


def order(rank: int, ranks: int, micros: int, chunks: int = 1, mode: str = "1F1B") -> list[Action]:
    """The passes of one process, in their order.

    ranks: processes, p. micros: micro-batches, m. chunks: stages in each process, v. mode: "1F1B" or
    "F-then-B". Raises InvalidArgument for another mode, and where interleaved 1F1B cannot deal m into
    m // p equal rounds.
    """
    if mode not in MODES:
        raise InvalidArgument(f"schedule_mode: expected one of {', '.join(MODES)}, got {mode!r}")
    if micros < 1:
        raise InvalidArgument(f"accumulate_steps: expected at least 1, got {micros}")
    rounds = max(1, micros // ranks) if mode == "1F1B" and chunks > 1 else 1
    if micros % rounds:
        raise InvalidArgument(
            f"accumulate_steps: with {chunks} stages in each of {ranks} processes expected a multiple of "
            f"{rounds}, the number of rounds, got {micros}"
        )
    in_round = micros // rounds
    forward = _passes("F", rank, ranks, range(chunks), rounds, in_round)
    backward = _passes("B", rank, ranks, range(chunks)[::-1], rounds, in_round)
    ahead = len(forward)  # forward passes before the first backward pass
    if mode == "1F1B":
        later = ranks - 1 - rank
        ahead = min(ahead, later if chunks == 1 else (chunks - 1) * in_round + 2 * later)
    pairs = zip(forward[ahead:], backward, strict=False)
    return [
        *forward[:ahead],
        *(action for pair in pairs for action in pair),
        *backward[len(forward) - ahead :],
    ]


def _passes(
    kind: str, rank: int, ranks: int, chunks: Sequence[int], rounds: int, in_round: int
) -> list[Action]:
    """All passes of one kind: in each round its micro-batches through one chunk after another."""
    return [
        Action(kind, chunk * ranks + rank, which * in_round + micro)
        for which in range(rounds)
        for chunk in chunks
        for micro in range(in_round)
    ]


def forward_only(rank: int, ranks: int, micros: int, chunks: int = 1) -> list[Action]:
    """The forward passes of one process: one chunk after another."""
    return _passes("F", rank, ranks, range(chunks), 1, micros)


def simulate(
    orders: Sequence[Sequence[Action]], duration: Callable[[Action], float] = lambda action: 1.0
) -> list[list[Timed]]:
    """When each process would run its passes if messages took no time, by process.

    orders: those of `order`, one for each process. duration: seconds of a pass. A forward pass waits for
    that of the stage before, a backward pass for that of the stage after. Raises InvalidArgument where
    processes would wait for one another for ever.
    """
    last = max(action.stage for each in orders for action in each)
    ended: dict[Action, float] = {}
    timed: list[list[Timed]] = [[] for _ in orders]
    left = sum(map(len, orders))
    while left:
        before = left
        for actions, done in zip(orders, timed, strict=True):
            while len(done) < len(actions):
                action = actions[len(done)]
                needed = _needed(action, last)
                if any(each not in ended for each in needed):
                    break
                start = max([done[-1].end if done else 0.0, *(ended[each] for each in needed)])
                ended[action] = start + duration(action)
                done.append(Timed(*action, start, ended[action]))
                left -= 1
        if left == before:
            waiting = [
                actions[len(done)]
                for actions, done in zip(orders, timed, strict=True)
                if len(done) < len(actions)
            ]
            raise InvalidArgument(f"orders: the processes wait for one another: {waiting}")
    return timed


def _needed(action: Action, last: int) -> list[Action]:
    """The passes whose results a pass needs."""
    kind, stage, micro = action
    if kind == "F":
        return [Action("F", stage - 1, micro)] if stage else []
    after = [Action("B", stage + 1, micro)] if stage < last else []
    return [Action("F", stage, micro), *after]


def bubble(timed: Sequence[Sequence[Timed]]) -> float:
    """The share of time in which the processes wait, from the first pass of any to the last of any."""
    every = [each for done in timed for each in done]
    span = max(each.end for each in every) - min(each.start for each in every)
    return 1 - sum(each.end - each.start for each in every) / (len(timed) * span)


def formula(ranks: int, micros: int, chunks: int = 1) -> float:
    """The share of time in which the processes wait where all stages take equally long:
    (p - 1) / (v m + p - 1)."""
    return (ranks - 1) / (chunks * micros + ranks - 1)
