"""Which rows go to which expert, and how many an expert takes.

A choice is an int64 [rows, k] of numbers of experts, of all processes together; -1 is no expert. Experts are
numbered by process: number p * n + e is expert e of the n on process p.
"""

from __future__ import annotations

import torch

from ..group import Group
from ..wire import all_to_all


def counts_of(choice: torch.Tensor, experts: int, group: Group | None) -> tuple[torch.Tensor, torch.Tensor]:
    """How many rows of this process go to each of all the experts, and how many come from each process to
    each expert here: two int64 [all experts]."""
    sent = torch.bincount(choice[choice >= 0], minlength=experts)
    return sent, exchanged(sent, group)


def exchanged(counts: torch.Tensor, group: Group | None) -> torch.Tensor:
    """Entry q of process p becomes entry p of process q."""
    if group is None or group.nranks == 1:
        return counts
    received = torch.empty_like(counts)
    all_to_all(received.chunk(group.nranks), counts.chunk(group.nranks), group)
    return received


def places_by_expert(choice: torch.Tensor) -> torch.Tensor:
    """The places in the flattened choice that name an expert, in the order of the experts."""
    flat = choice.flatten()
    order = flat.argsort(stable=True)
    return order[flat[order] >= 0]


def limited(choice: torch.Tensor, experts: int, capacity: int, group: Group | None) -> torch.Tensor:
    """The choice without the rows that an expert has no room for: it takes `capacity` rows, those of the
    first processes, and of one process those that come first."""
    _, coming = counts_of(choice, experts, group)
    table = coming.view(group_size(group), -1)
    before = table.cumsum(0) - table
    room = (capacity - before).clamp(min=0)
    granted = exchanged(torch.minimum(table, room).flatten(), group)
    flat = choice.flatten()
    order = places_by_expert(choice)
    named = flat[order]
    first = torch.searchsorted(named, torch.arange(experts))
    late = torch.arange(len(named)) - first[named] >= granted[named]
    flat = flat.clone()
    flat[order[late]] = -1
    return flat.view(choice.shape)


def group_size(group: Group | None) -> int:
    return 1 if group is None else group.nranks


def check_group(what: str, world_size: int, group: Group | None) -> None:
    """AssertionError unless the group has so many processes."""
    if world_size != group_size(group):
        raise AssertionError(f"{what}: group: expected {world_size} processes, got {group_size(group)}")
