"""A recommender at work: how good it is on real ratings, how fast beside torch, and what a table for any id saves.

    python -m benchmarks.recommender [--quick] [--only quality|throughput|saved] [--threads 2]

Quality: MovieLens latest-small (real, from SAMPAN_DATA) beside simple methods in NumPy. Recall leaves everyone's last film
out and ranks all films for it, none sampled. Ranking tells films rated 4 or more from the others, on the newest fifth of
everyone's ratings. Sizes and rates were chosen on the last but one film, and on the newest tenth of what is trained on.

Throughput: made logs, so said, since no free real log has so many ids: `datasets.interactions.made_log`. The same networks,
first weights and batches in torch; the losses are compared before anything is timed, and rounds are interleaved.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numba
import numpy as np
import torch

import sampan as paddle
from benchmarks import recommender_simple as simple
from benchmarks import recommender_torch as peers
from sampan import datasets
from sampan.datasets.interactions import Ratings, histories, leave_last_out, made_log, split_by_time
from sampan.embedding import DynamicEmbedding
from sampan.models import recommender as recall
from sampan.models import recommender_ranking as ranking
from sampan.nn import functional as F

NAME = "movielens_latest_small"
torch.sparse.check_sparse_tensor_invariants.disable()  # its default, said aloud, so that it does not warn


# --- quality --------------------------------------------------------------------------------------------------


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.4f}" + (f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else "")


def trained_towers(train: Ratings, held: Ratings, seed: int, **how: Any) -> recall.TwoTower:
    paddle.seed(seed)
    progress = None
    for progress in recall.train_two_tower(train, held=held, seed=seed, **how):  # noqa: B007
        pass
    assert progress is not None
    return progress.network


def quality(quick: bool) -> None:
    if NAME not in datasets.available():
        print(f"Quality: skipped, {NAME} is not in SAMPAN_DATA.\n")
        return
    log = datasets.load_ratings(NAME)
    seeds = range(1 if quick else 3)
    print(f"## Quality on {log.card.title if log.card else NAME}\n")  # real
    print(
        f"{len(log):,} ratings, {log.num_users} people, {log.num_items:,} films. Mean ± deviation over {len(seeds)} seeds.\n"
    )
    train, held = leave_last_out(log)
    mine = [train.items[train.users == u] for u in held.users]
    seen = np.repeat(np.arange(len(held)), [len(m) for m in mine]), np.concatenate(mine)
    memory = recall.TwoTower(log.num_users, log.num_items, 1, 5)
    memory.remember(train)
    newest = memory.recent.numpy()
    found: dict[str, list[np.ndarray]] = {}
    seconds: dict[str, float] = {}
    methods: dict[str, Callable[[], np.ndarray]] = {
        "popularity": lambda: np.repeat(simple.by_popularity(train), log.num_users, 0),
        "item-kNN, cosine, 100 neighbours": lambda: simple.by_neighbours(train),
        "ALS, implicit, 32 factors": lambda: simple.by_factors(train),
        "followers of the newest 5": lambda: simple.by_followers(train, newest),
    }
    for name, scores in methods.items():
        began = time.perf_counter()
        found[name] = [recall.ranks(scores()[held.users], held.items, seen)]
        seconds[name] = time.perf_counter() - began
    name = "TwoTower"
    found[name] = []
    began = time.perf_counter()
    for seed in seeds:
        network = trained_towers(
            train, held, seed, dim=WIDTH, weight_decay=DECAY, epochs=5 if quick else EPOCHS["TwoTower"]
        )
        found[name].append(recall.two_tower_ranks(network, held))
    seconds[name] = (time.perf_counter() - began) / len(seeds)
    print(f"Recall: everyone's last film among all that they had not, {len(held)} people.\n")
    print("| method | HitRate@10 | HitRate@50 | mean 1 / rank | s |")
    print("|---|---|---|---|---|")
    for name, every in found.items():
        cells = [spread([recall.hit_rate(r, k) for r in every]) for k in (10, 50)]
        cells.append(spread([float((1 / r).mean()) for r in every]))
        print(f"| {name} | {' | '.join(cells)} | {seconds[name]:.1f} |", flush=True)
    print()
    ranked(log, seeds, quick)


WIDTH, DECAY = 64, 0.3  # of the towers
EPOCHS = {"TwoTower": 10, "DeepFM": 4, "DIN": 2}
LENGTH = 30


def ranking_inputs(
    log: Ratings, asked: Ratings, fields: ranking.Fields, rows: np.ndarray
) -> dict[str, list[np.ndarray]]:
    """What each network takes for the rows of `asked`, whose fields are rows of `fields`."""
    history, marks = ranking.behaviour(log, LENGTH, asked)
    ids = fields.ids[rows]
    others = np.delete(ids, 1, 1)
    return {"DeepFM": [ids], "DIN": [asked.items, history, marks, others]}


def ranker(name: str, log: Ratings, fields: ranking.Fields) -> Any:
    if name == "DeepFM":
        return ranking.DeepFM(fields.sizes, dropout=0.2)
    return ranking.DIN(log.num_items, 11, [n for i, n in enumerate(fields.sizes) if i != 1], dropout=0.2)


def ranked(log: Ratings, seeds: range, quick: bool) -> None:
    fields = ranking.ranking_fields(log)
    numbered = replace(
        log, values=np.arange(len(log))
    )  # values as row numbers, to know the rows of both parts
    train, test = [p.values for p in split_by_time(numbered, 0.2, True)]
    before, after = log.pick(train), log.pick(test)
    labels, answers = ranking.liked(before), ranking.liked(after)
    found = {
        "share of the film's ratings that are 4 or more": [
            simple.means(before.items, labels, log.num_items)[after.items]
        ],
        "mean + person + film": [simple.by_biases(before, after)],
    }
    seconds = dict.fromkeys(found, 0.0)
    # the past is all that came before a row, also what the network is tested on: it is known by then
    given, asked = ranking_inputs(log, before, fields, train), ranking_inputs(log, after, fields, test)
    for name in ("DeepFM", "DIN"):
        began = time.perf_counter()
        found[name] = []
        for seed in seeds:
            paddle.seed(seed)
            network = ranker(name, log, fields)
            for _ in ranking.train_ranking(
                network, given[name], labels, 1 if quick else EPOCHS[name], seed=seed
            ):
                pass
            found[name].append(ranking.predict(network, asked[name]))
        seconds[name] = (time.perf_counter() - began) / len(seeds)
    print(f"Ranking: rated 4 or more or not, {len(before):,} rows to train on, {len(after):,} to test on.\n")
    print("| method | AUC | AUC within a person | s |")
    print("|---|---|---|---|")
    for name, every in found.items():
        whole = spread([ranking.auc(s, answers) for s in every])
        within = spread([ranking.grouped_auc(s, answers, after.users) for s in every])
        print(f"| {name} | {whole} | {within} | {seconds[name]:.1f} |", flush=True)
    print()


# --- throughput -----------------------------------------------------------------------------------------------

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
    """Name, rows a batch, batches, (our loss, theirs), and what makes each network."""
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
    # eight fields: person, item, and six more that share as many ids again, by the same law
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
    """What takes a step of each network that fits; all but the growing one begin with the same weights, and their losses
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
    # all networks stand before one takes a step: they have the first one's weights
    losses = {kind: [step(i) for i in range(3)] for kind, step in found.items()}
    for kind, values in losses.items():
        if kind != "growing":
            np.testing.assert_allclose(values, losses["sparse"], rtol=1e-4, err_msg=kind)
    return found


def timed(found: dict[str, Step], size: int, rounds: int) -> dict[str, float]:
    """Rows a second, by the fastest of interleaved rounds over all batches."""
    best = dict.fromkeys(found, np.inf)
    for kind, step in found.items():  # once through: rows that a growing table makes are made
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


# --- saved ----------------------------------------------------------------------------------------------------


def saved(quick: bool) -> None:
    """Tables for the ids as they come, against a whole table up to the largest id."""
    print("## Parameters saved by a table that grows\n")
    print("| log | table | ids from 0 to | rows | saved | HitRate@10 |")
    print("|---|---|---|---|---|---|")
    if NAME in datasets.available():
        log = datasets.load_ratings(NAME)
        raw = replace(log, items=log.raw_items[log.items], num_items=int(log.raw_items[-1]) + 1)
        train, held = leave_last_out(raw)
        for name, grows in (("whole", False), ("growing", True)):

            def table(rows: int, dim: int) -> Any:
                none = raw.num_items if rows > raw.num_items else None
                return DynamicEmbedding(rows, dim, none, initializer=("normal", 0.05))

            paddle.seed(0)
            network = recall.TwoTower(raw.num_users, raw.num_items, WIDTH, table=table if grows else None)
            epochs = 5 if quick else EPOCHS["TwoTower"]
            trained_towers(
                train, held, 0, network=network, epochs=epochs, weight_decay=DECAY, candidates=log.raw_items
            )
            rate = recall.hit_rate(recall.two_tower_ranks(network, held, log.raw_items))
            rows = len(network.items) if grows else raw.num_items
            share = network.items.statistics()["saved"] if grows else 0.0
            print(
                f"| MovieLens, real | {name} | {raw.num_items - 1:,} | {rows:,} | {share:.1%} | {rate:.4f} |",
                flush=True,
            )
    for num_ids in (10**6,) if quick else (10**6, 10**7, 10**8):
        made = made_log(1_000_000, num_ids)
        layer = DynamicEmbedding(num_ids, DIM)
        for start in range(0, len(made), 65_536):
            layer(paddle.Tensor(torch.from_numpy(made.items[start : start + 65_536])))
        facts = layer.statistics()
        print(
            f"| 1e6 rows, made | growing | {num_ids - 1:,} | {facts['ids']:,} | {facts['saved']:.1%} | - |",
            flush=True,
        )
    print()


PARTS = {"quality": quality, "throughput": throughput, "saved": saved}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, fewer epochs, the smallest tables")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    numba.set_num_threads(min(options.threads, numba.config.NUMBA_NUM_THREADS))
    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads of {os.cpu_count()} cores\n")
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options.quick)


if __name__ == "__main__":
    main()
