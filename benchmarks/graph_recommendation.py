"""LightGCN on MovieLens latest-small: hit rate beside matrix factorization with the same loss, and popularity.

Part of `benchmarks.graph_results`. The protocol is that of `benchmarks.recommender`: the last film of each user is ranked
among all films that the user has not rated. Settings were chosen on the last film but one.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.recommender_simple import by_popularity
from sampan import datasets
from sampan.datasets.interactions import leave_last_out
from sampan.models.light_gcn import light_gcn_ranks, train_light_gcn, user_item_graph
from sampan.models.recommender import hit_rate, ranks

NETWORKS = {  # the best epochs differ
    "matrix factorization, BPR": {"layers": 0, "epochs": 20},
    "LightGCN, 2 layers, BPR": {"layers": 2, "epochs": 30},
}


def results(data: str, seeds: int | None, quick: bool) -> None:
    log = datasets.load_ratings(data)
    train, held = leave_last_out(log)
    count = seeds or (1 if quick else 5)
    print(f"## {log.card.title if log.card else data}: {len(log):,} ratings, {count} seeds\n")
    print("| method | HitRate@10 | HitRate@50 | mean 1 / rank | s for a run |")
    print("|---|---|---|---|---|")
    mine = [train.items[train.users == u] for u in held.users]
    seen = np.repeat(np.arange(len(held)), [len(m) for m in mine]), np.concatenate(mine)
    popular = np.repeat(by_popularity(train), len(held), 0)
    row("popularity", [ranks(popular, held.items, seen)], [])
    graph = user_item_graph(train)
    for name, how in NETWORKS.items():
        found, seconds = [], []
        for seed in range(count):
            began = time.perf_counter()
            settings = {**how, "epochs": 3} if quick else how
            for epoch in train_light_gcn(train, held=held, penalty=1e-2, seed=seed, **settings):  # noqa: B007  used after the loop
                pass
            seconds.append(time.perf_counter() - began)
            found.append(light_gcn_ranks(epoch.network, graph, train, held))
        row(name, found, seconds)
    print()


def row(name: str, found: list[np.ndarray], seconds: list[float]) -> None:
    measures = [[hit_rate(r, k) for r in found] for k in (10, 50)] + [[float((1 / r).mean()) for r in found]]
    cells = [f"{np.mean(v):.4f}" + (f" ± {np.std(v):.4f}" if len(v) > 1 else "") for v in measures]
    print(
        f"| {name} | {' | '.join(cells)} | {np.median(seconds):.1f} |"
        if seconds
        else f"| {name} | {' | '.join(cells)} | - |",
        flush=True,
    )
