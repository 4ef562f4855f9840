"""Recommenders: quality on real ratings, throughput compared with torch, and parameters saved by a growing table.

    python -m benchmarks.recommender [--quick] [--only quality|throughput|saved] [--threads 2]

Quality: MovieLens latest-small (real, from SAMPAN_DATA) compared with simple methods in NumPy. Retrieval holds out the last
film of each user and ranks it among all films, without sampling. Ranking classifies films rated 4 or more, on the newest
fifth of each user's ratings. Hyperparameters were chosen on the last film but one, and on the newest tenth of the training
ratings.

Throughput: generated logs (`datasets.interactions.made_log`), because no free real log has so many ids. The networks,
initial weights and batches are the same in torch; losses are compared before timing, and rounds are interleaved.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch

import sampan as paddle
from benchmarks import recommender_simple as simple
from benchmarks.recommender_throughput import DIM, throughput
from sampan import datasets
from sampan.datasets.interactions import Ratings, leave_last_out, made_log, split_by_time
from sampan.embedding import DynamicEmbedding
from sampan.models import recommender as recall
from sampan.models import recommender_ranking as ranking
from sampan.transport.threads import use_threads

NAME = "movielens_latest_small"


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
    """The inputs of each network for the rows of `asked`, whose fields are rows of `fields`."""
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
    )  # row numbers in place of values, to identify the rows of both parts
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
    # the history of a row is all earlier ratings, test ratings included, which are known at that time
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


# --- saved ----------------------------------------------------------------------------------------------------


def saved(quick: bool) -> None:
    """Growing tables for the ids that occur, compared with a table up to the largest id."""
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
    use_threads(options.threads)
    print(f"{options.threads} threads of {os.cpu_count()} cores\n")
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options.quick)


if __name__ == "__main__":
    main()
