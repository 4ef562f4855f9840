"""Training throughput of the recommender's networks, compared with torch: `python -m benchmarks.recommender --only throughput`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import sampan as paddle
from benchmarks import recommender_torch as peers
from sampan.datasets.interactions import histories, made_log
from sampan.embedding import DynamicEmbedding
from sampan.models import recommender as recall
from sampan.models import recommender_ranking as ranking
from sampan.nn import functional as F

torch.sparse.check_sparse_tensor_invariants.disable()  # the default; set explicitly, it does not warn
DIM, PAST, BATCHES = 16, 20, 8
RATE, EPSILON = 0.02, 1e-8
Step = Callable[[int], float]


class DenseFM(ranking.DeepFM):
    def rows(self, ids: Any) -> Any:
        return F.embedding(paddle.Tensor(ids.data + self.tables._starts), self.tables.weight, sparse=False)


class GrowingFM(ranking.DeepFM):
    """Its tables in one DynamicEmbedding."""

    def __init__(self, field_sizes: list[int], dim: int) -> None:
        super().__init__([1] * len(field_sizes), dim)
        sizes = np.array(field_sizes)
        self.starts = torch.from_numpy(np.cumsum(sizes) - sizes)
        self.tables: Any = DynamicEmbedding(int(sizes.sum()), 1 + dim)

    def rows(self, ids: Any) -> Any:
        return self.tables(paddle.Tensor(ids.data + self.starts))


class DenseDIN(ranking.DIN):
    def rows(self, ids: Any) -> Any:
        return F.embedding(ids, self.items.weight, sparse=False)


class GrowingDIN(ranking.DIN):
    """Its items in a DynamicEmbedding."""

    def __init__(self, num_items: int, *rest: Any) -> None:
        super().__init__(1, *rest)
        self.num_items = num_items
        self.items: Any = DynamicEmbedding(num_items + 1, DIM, padding_idx=num_items)


def optimised(network: Any) -> Any:
    return paddle.optimizer.Adagrad(RATE, EPSILON, parameters=network.parameters())


def ours(network: Any, loss: Callable[..., Any], batches: list[tuple[np.ndarray, ...]]) -> Step:
    adagrad = optimised(network)
    tensors = [[paddle.Tensor(torch.from_numpy(a)) for a in batch] for batch in batches]

    def step(i: int) -> float:
        value = loss(network, *tensors[i])
        value.backward()
        adagrad.step()
        adagrad.clear_grad()
        return float(value)

    return step


def theirs(network: Any, loss: Callable[..., Any], batches: list[tuple[np.ndarray, ...]]) -> Step:
    adagrad = torch.optim.Adagrad(network.parameters(), RATE, eps=EPSILON)
    tensors = [[torch.from_numpy(a) for a in batch] for batch in batches]

    def step(i: int) -> float:
        adagrad.zero_grad()
        value = loss(network, *tensors[i])
        value.backward()
        adagrad.step()
        return float(value.detach())

    return step


def softmax_loss(module: Any) -> Callable[..., Any]:
    def loss(network: Any, users: Any, history: Any, items: Any, log_q: Any) -> Any:
        return module.sampled_softmax(*network(users, history, items), log_q)

    return loss


def entropy_loss(module: Any) -> Callable[..., Any]:
    def loss(network: Any, *given: Any) -> Any:
        return module.binary_cross_entropy_with_logits(network(*given[:-1]), given[-1])

    return loss


def cut(arrays: list[np.ndarray], size: int) -> list[tuple[np.ndarray, ...]]:
    return [tuple(np.ascontiguousarray(a[i * size : (i + 1) * size]) for a in arrays) for i in range(BATCHES)]


Case = tuple[str, int, list[tuple[np.ndarray, ...]], Any, dict[str, Callable[[], Any]]]


def cases(num_ids: int) -> Iterator[Case]:
    """Name, batch size, batches, (our loss, torch's), and the constructor of each network."""
    events = 200_000
    log = made_log(events, num_ids)
    chosen = np.random.default_rng(1).permutation(events)[: BATCHES * 4096]
    past = histories(log, PAST, log.pick(chosen))
    history = np.where(past >= 0, log.items[past], num_ids)
    users, items = log.users[chosen], log.items[chosen]
    labels = ranking.liked(log.pick(chosen))
    counts = np.bincount(np.unique(log.items, return_inverse=True)[1])
    log_q = np.log(counts / events).astype(np.float32)[np.unique(log.items, return_inverse=True)[1]][chosen]
    people = log.num_users

    def towers(**how: Any) -> Any:
        return recall.TwoTower(people, num_ids, DIM, PAST, **how)

    def growing(rows: int, dim: int) -> Any:
        return DynamicEmbedding(
            rows, dim, padding_idx=num_ids if rows > num_ids else None, initializer=("normal", 0.05)
        )

    makers = {
        "sparse": lambda: towers(), "dense": lambda: towers(sparse=False), "growing": lambda: towers(table=growing),
        "torch sparse": lambda: peers.TwoTower(people, num_ids, DIM, PAST, True),
        "torch dense": lambda: peers.TwoTower(people, num_ids, DIM, PAST, False),
    }  # fmt: skip
    yield (
        "TwoTower", 1024, cut([users, history, items, log_q], 1024), (softmax_loss(recall), softmax_loss(peers)), makers
    )  # fmt: skip
    # eight fields: user, item, and six more that share the same number of ids, by the same distribution
    sizes = [people, num_ids // 2] + [num_ids // 12] * 6
    rng = np.random.default_rng(2)
    more = [made_log(len(chosen), n, seed=int(rng.integers(1 << 30))).items for n in sizes[2:]]
    ids = np.stack([users, items % sizes[1], *more], 1)
    hidden = (64, 32)
    makers = {
        "sparse": lambda: ranking.DeepFM(sizes, DIM), "dense": lambda: DenseFM(sizes, DIM),
        "growing": lambda: GrowingFM(sizes, DIM),
        "torch sparse": lambda: peers.DeepFM(sizes, DIM, hidden, True),
        "torch dense": lambda: peers.DeepFM(sizes, DIM, hidden, False),
    }  # fmt: skip
    losses = entropy_loss(F), entropy_loss(torch.nn.functional)
    yield "DeepFM, 8 fields", 4096, cut([ids, labels], 4096), losses, makers
    marks = (log.values[past] * 2).astype(np.int64)
    fields = [people]
    makers = {
        "sparse": lambda: ranking.DIN(num_ids, 11, fields, DIM), "dense": lambda: DenseDIN(num_ids, 11, fields, DIM),
        "growing": lambda: GrowingDIN(num_ids, 11, fields, DIM),
        "torch sparse": lambda: peers.DIN(num_ids, 11, fields, DIM, (32,), hidden, True),
        "torch dense": lambda: peers.DIN(num_ids, 11, fields, DIM, (32,), hidden, False),
    }  # fmt: skip
    yield "DIN", 1024, cut([items, history, marks, users[:, None], labels], 1024), losses, makers


LARGEST = {"dense": 1_000_000, "torch dense": 1_000_000, "sparse": 10_000_000, "torch sparse": 10_000_000}


def programs(case: Case, num_ids: int) -> dict[str, Step]:
    """The step of each network that fits into memory. All but the growing one start with equal weights, and their losses
    are compared over the first batches."""
    _, _, batches, (our_loss, their_loss), makers = case
    found: dict[str, Step] = {}
    first: Any = None
    for kind, make in makers.items():
        if num_ids > LARGEST.get(kind, num_ids):
            continue
        paddle.seed(0)
        network = make()
        if kind.startswith("torch"):
            found[kind] = theirs(peers.copied(network, first), their_loss, batches)
            continue
        if kind == "sparse":
            first = network
        elif kind == "dense":
            network.set_state_dict(first.state_dict())
        found[kind] = ours(network, our_loss, batches)
    # construct all networks before the first step, because they copy the first one's weights
    losses = {kind: [step(i) for i in range(3)] for kind, step in found.items()}
    for kind, values in losses.items():
        if kind != "growing":
            np.testing.assert_allclose(values, losses["sparse"], rtol=1e-4, err_msg=kind)
    return found


def timed(found: dict[str, Step], size: int, rounds: int) -> dict[str, float]:
    """Rows a second, by the fastest of interleaved rounds over all batches."""
    best = dict.fromkeys(found, np.inf)
    for kind, step in found.items():  # one pass inserts the rows of growing tables
        for i in range(3, BATCHES):
            step(i)
            if kind.endswith("dense"):
                break
    for _ in range(rounds):
        for kind, step in found.items():
            some = range(2 if kind.endswith("dense") else BATCHES)
            began = time.perf_counter()
            for i in some:
                step(i)
            best[kind] = min(best[kind], (time.perf_counter() - began) / len(some))
    return {kind: size / seconds for kind, seconds in best.items()}


def throughput(quick: bool) -> None:
    print("## Training throughput on made logs\n")
    print(
        f"Thousands of rows a second, whole steps with Adagrad, width {DIM}; item ids by Zipf's law, 1.05. Made, not real."
    )
    print(
        "Equal first weights, batches and losses, but for the growing table, whose rows begin by its own rule."
    )
    print(
        "The dense paths stop at 1e6 ids; at 1e8 a whole table and its state take 13 GB: only the growing one is there.\n"
    )
    kinds = ["sparse", "dense", "growing", "torch sparse", "torch dense"]
    print(f"| network | ids | {' | '.join(kinds)} | sparse over dense | over the best of torch |")
    print("|---|---|---|---|---|---|---|---|---|")
    for num_ids in [1_000_000] if quick else [1_000_000, 10_000_000, 100_000_000]:
        for case in cases(num_ids):
            rates = timed(programs(case, num_ids), case[1], 2 if quick else 7)
            cells = [f"{rates[k] / 1e3:,.1f}" if k in rates else "-" for k in kinds]
            over = f"{rates['sparse'] / rates['dense']:.1f}" if "dense" in rates else "-"
            best = max((v for k, v in rates.items() if k.startswith("torch")), default=None)
            beside = f"{rates['sparse'] / best:.2f}" if best else "-"
            print(f"| {case[0]} | {num_ids:.0e} | {' | '.join(cells)} | {over} | {beside} |", flush=True)
    print()
